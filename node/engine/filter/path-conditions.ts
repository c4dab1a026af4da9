import { inLaterSlices } from '../../../shared/base/time/work-slices';
import {
  type ElementCondition,
  type GeoCondition,
  type SizeCondition,
  type Filter,
  isCondition,
  type JsonObject,
} from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { AddonFilterIndex } from '../vector/native-filters';
import { candidatesOf, isByOne } from './element-candidates';
import { type ElementFacts, ElementIndex } from './element-index';
import { matches } from './matches';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { geoTest } from './geo-points';
import { GeoIndex } from './geo-index';
import type { PathIndex } from './path-index';

/** Conditions of which lists of values tell nothing. */
export type KeptCondition = ElementCondition | GeoCondition | SizeCondition;

/** What an index has in lists. */
interface Listed {
  /** Empty ones. */
  newLists: () => AddonFilterIndex;
  has: (slot: number) => boolean;
  metadataOf: (slot: number) => JsonObject;
  /** The slots of a filter that needs nothing but lists, to be changed by who asks. */
  resolve: (filter: Filter) => ChunkedSlotSet;
}

/** Paths of which more is kept than items have under them; the one asked for longest ago goes first. */
const PATHS_MAX = 16;

interface KeptIndex {
  path: string;
  index: PathIndex;
  /** Until it is whole. */
  making: Promise<void> | null;
}

/**
 * Which items have an array of a size, or with an element that passes a filter, or a point of a shape. The lists of
 * values know none of it, so more is kept of a path when it is first asked for (PathIndex), from the metadata, in
 * slices, and kept up to date from then on. Where that leaves more than one condition to be passed by the same element,
 * metadata are read.
 */
export class PathConditions {
  private readonly kept = new Map<string, KeptIndex>();

  constructor(private readonly listed: Listed) {}

  /** Lists what the conditions of a filter profit from; null: it is there. */
  prepare(filter: Filter): Promise<void> | null {
    const waits: Promise<void>[] = [];
    this.prepareAll(filter, waits);
    return waits.length === 0 ? null : Promise.all(waits).then(() => {});
  }

  /** After the item is in the lists. */
  put(slot: number, metadata: JsonObject): void {
    for (const { path, index } of this.kept.values()) {
      const value = lookUpPath(metadata, path);
      if (value !== undefined) index.put(slot, value);
    }
  }

  remove(slot: number, metadata: JsonObject): void {
    for (const { path, index } of this.kept.values()) {
      const value = lookUpPath(metadata, path);
      if (value !== undefined) index.remove(slot, value);
    }
  }

  /** Forgets what it has listed. */
  clear(): void {
    this.kept.clear();
  }

  /** The slots that pass; `within`: others need not be in it. A slot that changes meanwhile may be wrong. */
  *passing(condition: KeptCondition, within: ChunkedSlotSet | null): Generator<undefined, ChunkedSlotSet> {
    const { slots, isExact } = yield* this.candidates(condition);
    if (within !== null) slots.andInPlace(within);
    if (isExact) return slots;
    const { has, metadataOf } = this.listed;
    const found = new ChunkedSlotSet();
    for (const slot of slots.toArray()) {
      if (has(slot) && matches(condition, metadataOf(slot))) found.add(slot);
      yield;
    }
    return found;
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const { index } of this.kept.values()) bytes += index.memoryBytes;
    return bytes;
  }

  /** The set belongs to the caller. */
  private *candidates(condition: KeptCondition): Generator<undefined, { slots: ChunkedSlotSet; isExact: boolean }> {
    const { path } = condition;
    const index = this.kept.get(keyOf(condition))?.index;
    if (index?.isWhole === true && !index.isFull) {
      if (index instanceof GeoIndex && condition.type === 'geo')
        return { slots: yield* index.passing(geoTest(condition.shape)), isExact: true };
      if (index instanceof ElementIndex && condition.type === 'size')
        return { slots: index.ofSize(condition.low, condition.high), isExact: true };
      if (index instanceof ElementIndex && condition.type === 'element') {
        const told = candidatesOf(condition.filter, (one) => (index.canTell(one) ? one : null));
        return { slots: index.resolve(told ?? ALL), isExact: told !== null && isByOne(condition.filter) };
      }
    }
    return { slots: this.listed.resolve({ type: 'exists', path }), isExact: false };
  }

  private prepareAll(filter: Filter, waits: Promise<void>[]): void {
    if (!isCondition(filter)) {
      for (const part of filter.type === 'not' ? [filter.filter] : filter.filters) this.prepareAll(part, waits);
      return;
    }
    if (filter.type !== 'size' && filter.type !== 'element' && filter.type !== 'geo') return;
    const kept = this.keptFor(filter);
    if (kept.making !== null) waits.push(kept.making);
    else if (filter.type === 'element' && this.hasMore(kept.index, filter))
      waits.push(inLaterSlices(this.prepareSteps(kept.index, filter)));
  }

  private keptFor(condition: KeptCondition): KeptIndex {
    const key = keyOf(condition);
    const known = this.kept.get(key);
    if (known !== undefined) {
      this.kept.delete(key);
      this.kept.set(key, known);
      return known;
    }
    for (const [oldest] of this.kept) {
      if (this.kept.size < PATHS_MAX) break;
      this.kept.delete(oldest);
    }
    const made: KeptIndex = {
      path: condition.path,
      index: condition.type === 'geo' ? new GeoIndex() : new ElementIndex(factsFor(condition), this.listed.newLists()),
      making: null,
    };
    this.kept.set(key, made);
    made.making = inLaterSlices(this.makeSteps(made, condition)).then(
      () => {
        made.making = null;
      },
      (error: unknown) => {
        this.kept.delete(key);
        throw error;
      },
    );
    return made;
  }

  /** Puts every value that is not there yet; those of items put meanwhile are. */
  private *makeSteps({ path, index }: KeptIndex, condition: KeptCondition): Generator<undefined, void> {
    const { has, metadataOf, resolve } = this.listed;
    for (const slot of resolve({ type: 'exists', path }).toArray()) {
      if (index.isFull) return;
      yield;
      if (index.has(slot) || !has(slot)) continue;
      const value = lookUpPath(metadataOf(slot), path);
      if (value !== undefined) index.put(slot, value);
    }
    index.isWhole = true;
    if (condition.type === 'element') yield* this.prepareSteps(index, condition);
  }

  private *prepareSteps(index: PathIndex, condition: ElementCondition): Generator<undefined, void> {
    while (this.hasMore(index, condition)) yield;
  }

  private hasMore(index: PathIndex, { filter }: ElementCondition): boolean {
    if (!(index instanceof ElementIndex) || index.isFull) return false;
    const told = candidatesOf(filter, (one) => one);
    return told !== null && index.prepareSome(told);
  }
}

const ALL: Filter = { type: 'and', filters: [] };

function factsFor(condition: ElementCondition | SizeCondition): ElementFacts {
  if (condition.type === 'size') return 'sizes';
  return condition.of === 'members' ? 'members' : 'values';
}

function keyOf(condition: KeptCondition): string {
  return `${condition.type === 'geo' ? 'points' : factsFor(condition)} ${condition.path}`;
}
