import { type Filter, isCondition, isOfItem, type JsonValue } from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { PathConditions } from './path-conditions';
import type { FilteredItems } from './filter-index';
import { slotsOfItems } from './item-conditions';
import type { LongTexts } from './long-texts';

/** How many sets are collected before they are united: each may be a bitmap of all slots. */
const UNITED_AT_ONCE = 16;

/** How many values of a list are looked up in one step: a fraction of a millisecond, even with very long strings. */
const VALUES_PER_STEP = 64;

/** Passes everything. */
const ALL: Filter = { type: 'and', filters: [] };

/**
 * Turns a long filter into the set of slots that match it, in steps: one for each condition and for some values of a
 * list, so that the caller may let others run in between. If items change between two steps, the result is correct for
 * all slots except those that changed. `resolve` answers one condition.
 */
export class FilterEvaluation {
  constructor(
    private readonly resolve: (filter: Filter) => ChunkedSlotSet,
    private readonly beyond: {
      longTexts: LongTexts;
      paths: PathConditions;
      items: FilteredItems;
      has: (slot: number) => boolean;
    },
  ) {}

  /** The returned set belongs to the caller. `within`: others need not be in it. */
  *steps(filter: Filter, within: ChunkedSlotSet | null = null): Generator<undefined, ChunkedSlotSet> {
    if (isCondition(filter)) {
      if (filter.type === 'in') return yield* this.anyOf(filter.path, filter.values);
      if (isOfItem(filter)) return yield* slotsOfItems(filter, this.beyond, within);
      if (filter.type === 'size' || filter.type === 'element' || filter.type === 'geo')
        return yield* this.beyond.paths.passing(filter, within);
      yield;
      const found = this.resolve(filter);
      if (filter.type === 'text') found.orInPlace(yield* this.beyond.longTexts.passing(filter, within));
      return found;
    }
    switch (filter.type) {
      case 'and':
        return yield* this.conjunction(filter.filters);
      case 'or':
        return yield* this.disjunction(filter.filters);
      case 'not': {
        const excluded = yield* this.steps(filter.filter);
        return this.resolve(ALL).andNot(excluded);
      }
    }
  }

  /** Negations last, so that each step works on what the earlier ones left. */
  private *conjunction(filters: Filter[]): Generator<undefined, ChunkedSlotSet> {
    let left: ChunkedSlotSet | null = null;
    // What may have to read metadata comes behind what has lists.
    for (const part of [...filters].sort((a, b) => readsIn(a) - readsIn(b))) {
      if (part.type === 'not') continue;
      const found: ChunkedSlotSet = yield* this.steps(part, left);
      left = left === null ? found : left.and(found);
      if (left.size === 0) return left;
    }
    left ??= this.resolve(ALL);
    for (const part of filters)
      if (part.type === 'not' && left.size > 0) left = left.andNot(yield* this.steps(part.filter, left));
    return left;
  }

  private *disjunction(filters: Filter[]): Generator<undefined, ChunkedSlotSet> {
    const found: ChunkedSlotSet[] = [];
    for (const part of filters) add(yield* this.steps(part), found);
    return united(found);
  }

  private *anyOf(path: string, values: JsonValue[]): Generator<undefined, ChunkedSlotSet> {
    const found: ChunkedSlotSet[] = [];
    for (let from = 0; from < values.length; from += VALUES_PER_STEP) {
      add(this.resolve({ type: 'in', path, values: values.slice(from, from + VALUES_PER_STEP) }), found);
      yield;
    }
    return united(found);
  }
}

/** How much of the metadata a condition may have to read: what has lists comes first. */
function readsIn(filter: Filter): number {
  const { type } = filter;
  if (type === 'element' || (type === 'words' && filter.paths !== undefined)) return 3;
  return type === 'text' ? 2 : type === 'and' || type === 'or' ? 1 : 0;
}

function add(set: ChunkedSlotSet, sets: ChunkedSlotSet[]): void {
  sets.push(set);
  if (sets.length >= UNITED_AT_ONCE) sets.splice(0, sets.length, united(sets));
}

function united(sets: readonly ChunkedSlotSet[]): ChunkedSlotSet {
  const all = sets.length === 0 ? new ChunkedSlotSet() : sets[0];
  for (const set of sets.slice(1)) all.orInPlace(set);
  return all;
}
