import { inSlices } from '../../shared/time/work-slices';
import type { SlotAllocator } from '../records/slot-allocator';
import { type IndexedItem, type ShardIndexes, addToIndexes, removeFromIndexes } from './shard-indexes';
import type { PriorItem } from './write-plan';

/** One item's change: the version that goes, if there is one, and the version that comes, if there is one. */
export interface IndexChange {
  prior: PriorItem | null;
  item: IndexedItem | null;
}

/**
 * Changes are applied together up to this weight, which stands for a few milliseconds at most: one call of the vector
 * index for many small items, and few large ones at a time.
 */
const GROUP_WEIGHT = 32_768;
/** What an item weighs beside its text and metadata; a bulk load of vectors goes in one step. */
const ITEM_WEIGHT = 16;
/** What it weighs to take an item out whose text is not at hand. */
const PRIOR_WEIGHT = 1024;

interface ChangeGroup {
  changes: IndexChange[];
  isApplied: boolean;
}

/**
 * Brings the indexes of a shard to what a durable write says, in slices. An item changes in one step, so that a reader
 * sees it as it was or as it will be, with vector, metadata and keywords of one version; different items of one write
 * may be seen to change one after the other. One write at a time.
 */
export class IndexApplication {
  /** Groups to be applied yet, by the slots of the versions that go. */
  private readonly pending = new Map<number, ChangeGroup>();
  /** Of a group that was brought forward; the indexes are of no more use then. */
  private failure: unknown = null;

  constructor(private readonly parts: { indexes: ShardIndexes; slots: SlotAllocator; dim: number }) {}

  /** Errors: what an index throws; it then shows part of the write. */
  async run(changes: IndexChange[]): Promise<void> {
    const groups = [...groupsOf(changes)];
    // Nearly every write: no reader comes between.
    if (groups.length === 1) return this.apply(groups[0]);
    for (const group of groups) for (const { prior } of group.changes) if (prior !== null) this.pending.set(prior.slot, group);
    try {
      await inSlices(this.steps(groups));
    } finally {
      this.pending.clear();
    }
  }

  /** Applies now the groups that these slots' versions go with. Answers whether there were any. */
  bringForward(slots: number[]): boolean {
    if (this.pending.size === 0) return false;
    let isAny = false;
    for (const slot of slots) {
      const group = this.pending.get(slot);
      if (group === undefined) continue;
      try {
        this.apply(group);
      } catch (error) {
        // The writer's to tell: `run` fails with it.
        this.failure ??= error;
      }
      isAny = true;
    }
    return isAny;
  }

  private *steps(groups: ChangeGroup[]): Generator<undefined, void> {
    for (const group of groups) {
      if (this.failure !== null) throw this.failure;
      this.apply(group);
      yield;
    }
    if (this.failure !== null) throw this.failure;
  }

  private apply(group: ChangeGroup): void {
    if (group.isApplied) return;
    group.isApplied = true;
    const { indexes, slots, dim } = this.parts;
    const freed: number[] = [];
    const successors = new Map<number, number>();
    const items: IndexedItem[] = [];
    for (const { prior, item } of group.changes) {
      if (item !== null) items.push(item);
      if (prior === null) continue;
      freed.push(prior.slot);
      this.pending.delete(prior.slot);
      if (item !== null) successors.set(prior.slot, item.slot);
    }
    removeFromIndexes(indexes, freed);
    addToIndexes(indexes, items, dim);
    slots.release(freed, successors);
  }
}

function* groupsOf(changes: IndexChange[]): Generator<ChangeGroup> {
  let group: IndexChange[] = [];
  let weight = 0;
  for (const change of changes) {
    group.push(change);
    weight += weightOf(change);
    if (weight < GROUP_WEIGHT) continue;
    yield { changes: group, isApplied: false };
    group = [];
    weight = 0;
  }
  if (group.length > 0) yield { changes: group, isApplied: false };
}

function weightOf({ prior, item }: IndexChange): number {
  const goes = prior === null ? 0 : PRIOR_WEIGHT + prior.metadata.length;
  return goes + (item === null ? 0 : ITEM_WEIGHT + item.metadata.length + (item.text?.length ?? 0));
}
