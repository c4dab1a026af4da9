import { type Filter, isCondition } from '../../../shared/contract/filter/filter';
import { inLaterSlices } from '../../../shared/base/time/work-slices';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';

/** Filters kept: those being answered. A filter that was prepared is resolved at once, and again for the next page. */
const FILTERS_MAX = 16;
/** Slots that may change after a filter was evaluated; each is checked by itself when the filter is asked for. */
const CHANGED_MAX = 1_024;

interface PreparedFilter {
  /** Null while it is being evaluated. */
  found: ChunkedSlotSet | null;
  /** Slots that changed since the work began: `found` is not valid for them. */
  changed: Set<number>;
  /** Whether a slot matches the filter in the present state of the index. */
  isMatch: (slot: number) => boolean;
  done: Promise<void>;
}

/**
 * Results of filters that take long. They are evaluated in slices while the index changes; slots that have changed
 * meanwhile are checked one by one at the end. A result is kept as long as few slots change.
 */
export class PreparedFilters {
  private readonly filters = new Map<string, PreparedFilter>();

  /** Evaluates the filter by `steps`. Concurrent calls for the same filter wait for the same work. */
  prepare(key: string, steps: Iterator<unknown, ChunkedSlotSet>, isMatch: (slot: number) => boolean): Promise<void> {
    const known = this.filters.get(key);
    if (known !== undefined) return known.done;
    const prepared: PreparedFilter = { found: null, changed: new Set(), isMatch, done: Promise.resolve() };
    this.filters.set(key, prepared);
    prepared.done = inLaterSlices(putRight(prepared, steps)).then(
      (found) => {
        prepared.found = found;
        this.dropOldest(key);
      },
      (error: unknown) => {
        this.filters.delete(key);
        throw error;
      },
    );
    return prepared.done;
  }

  /** The result, as a set of the caller's own, with later changes checked; null if there is none. */
  get(key: string): ChunkedSlotSet | null {
    const prepared = this.filters.get(key);
    if (prepared === undefined || prepared.found === null) return null;
    for (const slot of prepared.changed) lookAt(slot, prepared.found, prepared.isMatch);
    prepared.changed.clear();
    // Move it to the end: the filter asked for last is dropped last.
    this.filters.delete(key);
    this.filters.set(key, prepared);
    return prepared.found.clone();
  }

  /** Must be called for every change of the index, before or after it, but with no step of others in between. */
  slotChanged(slot: number): void {
    for (const [key, prepared] of this.filters) {
      prepared.changed.add(slot);
      if (prepared.found !== null && prepared.changed.size > CHANGED_MAX) this.filters.delete(key);
    }
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const [key, { found }] of this.filters) bytes += 2 * key.length + (found?.memoryBytes ?? 0);
    return bytes;
  }

  /** Never drops the newest, which is about to be asked for. */
  private dropOldest(newest: string): void {
    for (const [key, { found }] of this.filters) {
      if (this.filters.size <= FILTERS_MAX) return;
      if (found !== null && key !== newest) this.filters.delete(key);
    }
  }
}

/**
 * Runs the steps, then one step for each slot that has changed since they began. Slots that change during these wait
 * until the result is asked for: writers may be faster than this.
 */
function* putRight(
  prepared: PreparedFilter,
  steps: Iterator<unknown, ChunkedSlotSet>,
): Generator<undefined, ChunkedSlotSet> {
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) yield;
  for (const slot of [...prepared.changed]) {
    prepared.changed.delete(slot);
    lookAt(slot, step.value, prepared.isMatch);
    yield;
  }
  return step.value;
}

function lookAt(slot: number, found: ChunkedSlotSet, isMatch: (slot: number) => boolean): void {
  if (isMatch(slot)) found.add(slot);
  else found.remove(slot);
}

/**
 * The cost of a filter in conditions; a list counts as much as looking its values up. Computed before anything is
 * evaluated, and cheap: a filter of a few conditions takes a few comparisons.
 */
export function conditionsIn(filter: Filter): number {
  if (isCondition(filter)) {
    // To read the list of a word takes as long as some conditions, about two for each of its characters.
    if (filter.type === 'words') return 1 + 2 * filter.query.length;
    return 'values' in filter ? 1 + filter.values.length / VALUES_PER_CONDITION : 1;
  }
  switch (filter.type) {
    case 'and':
    case 'or': {
      let conditions = 0;
      for (const part of filter.filters) conditions += conditionsIn(part);
      return conditions;
    }
    case 'not':
      return conditionsIn(filter.filter);
  }
}

/** How many values can be looked up in the time of one condition over ten thousand slots. */
const VALUES_PER_CONDITION = 64;
