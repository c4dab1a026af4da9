import { inSlices } from '../../../../shared/base/time/work-slices';
import type { SlotAllocator } from '../../directory/slot-allocator';
import { type IndexedItem, type ShardIndexes, addToIndexes, removeFromIndexes } from '../shard-indexes';
import type { ShardExpiry } from '../removal/shard-expiry';
import type { PriorItem } from './write-plan';

/** One item's change: the version that is removed, if any, and the version that is added, if any. */
export interface IndexChange {
  prior: PriorItem | null;
  item: IndexedItem | null;
}

/**
 * Changes are applied together up to this weight, which takes at most a few milliseconds: many small items in one call
 * of the vector index, or few large ones.
 */
const GROUP_WEIGHT = 32_768;
/** Weight of an item besides its text and metadata; a bulk load of vectors is applied in one step. */
const ITEM_WEIGHT = 16;
/** Weight of removing an item whose text is not available. */
const PRIOR_WEIGHT = 1024;

/**
 * Brings the indexes of a shard up to date with a durable write, in slices. Each item changes in one step, so that a
 * reader sees either its old or its new state, with vector, metadata and keywords of one version. Readers may see
 * different items of one write change one after the other, unless they are held off (WholeWrites). One write at a time.
 */
export class IndexApplication {
  constructor(
    private readonly parts: { indexes: ShardIndexes; slots: SlotAllocator; dim: number; expiry: ShardExpiry },
  ) {}

  /** Errors: what an index throws; the indexes then show a part of the write. */
  async run(changes: IndexChange[]): Promise<void> {
    const groups = [...groupsOf(changes)];
    // Nearly every write: no reader comes in between.
    if (groups.length === 1) return this.apply(groups[0]);
    await inSlices(this.steps(groups));
  }

  /** The same for a write that readers see whole: other threads answer nothing meanwhile. */
  async runWhole(changes: IndexChange[]): Promise<void> {
    const counter = this.parts.indexes.directory.changes;
    counter.begin();
    await this.run(changes);
    counter.end();
  }

  private *steps(groups: IndexChange[][]): Generator<undefined, void> {
    for (const group of groups) {
      this.apply(group);
      yield;
    }
  }

  private apply(group: IndexChange[]): void {
    const { indexes, slots, dim } = this.parts;
    const freed: number[] = [];
    const successors = new Map<number, number>();
    const items: IndexedItem[] = [];
    for (const { prior, item } of group) {
      if (item !== null) items.push(item);
      if (prior === null) continue;
      freed.push(prior.slot);
      if (item !== null) successors.set(prior.slot, item.slot);
    }
    // Items that are only new make no answer wrong that another thread is about to give. After an error, every answer
    // is.
    const { changes } = indexes.directory;
    if (freed.length > 0) changes.begin();
    removeFromIndexes(indexes, freed);
    this.parts.expiry.note(items);
    addToIndexes(indexes, items, dim);
    if (freed.length > 0) changes.end();
    slots.release(freed, successors);
  }
}

function* groupsOf(changes: IndexChange[]): Generator<IndexChange[]> {
  let group: IndexChange[] = [];
  let weight = 0;
  for (const change of changes) {
    group.push(change);
    weight += weightOf(change);
    if (weight < GROUP_WEIGHT) continue;
    yield group;
    group = [];
    weight = 0;
  }
  if (group.length > 0) yield group;
}

function weightOf({ prior, item }: IndexChange): number {
  const goes = prior === null ? 0 : PRIOR_WEIGHT + prior.metadata.length;
  return goes + (item === null ? 0 : ITEM_WEIGHT + item.metadata.length + (item.text?.length ?? 0));
}
