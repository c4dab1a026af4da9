import type { Filter } from '../../shared/filter/filter';
import { inLaterSlices } from '../../shared/time/work-slices';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';

/** Filters kept: those that are being answered. Whoever prepares one resolves it at once, and again for the next page. */
const FILTERS_MAX = 16;
/** Slots that changed since a filter was worked out; each is looked at by itself when it is asked for. */
const CHANGED_MAX = 1_024;

interface PreparedFilter {
  /** Null while it is worked out. */
  found: ChunkedSlotSet | null;
  /** Slots that changed since the work began: what was found says nothing of them. */
  changed: Set<number>;
  /** Whether a slot is in the answer as the index is now. */
  isMatch: (slot: number) => boolean;
  done: Promise<void>;
}

/**
 * Answers of filters that take long, worked out in slices while the index changes: what has changed meanwhile is looked at
 * item by item in the end. An answer stays for as long as few items change.
 */
export class PreparedFilters {
  private readonly filters = new Map<string, PreparedFilter>();

  /** Works the filter out by `steps`; those who ask for the same one at the same time wait for the same work. */
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

  /** What was worked out, a set of the caller's own, with what has changed since looked at; null when there is nothing. */
  get(key: string): ChunkedSlotSet | null {
    const prepared = this.filters.get(key);
    if (prepared === undefined || prepared.found === null) return null;
    for (const slot of prepared.changed) lookAt(slot, prepared.found, prepared.isMatch);
    prepared.changed.clear();
    // Asked for last is dropped last.
    this.filters.delete(key);
    this.filters.set(key, prepared);
    return prepared.found.clone();
  }

  /** Every change of the index must be told, before or after it happens but with no step of others in between. */
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

  /** Not the one that somebody is about to ask for. */
  private dropOldest(newest: string): void {
    for (const [key, { found }] of this.filters) {
      if (this.filters.size <= FILTERS_MAX) return;
      if (found !== null && key !== newest) this.filters.delete(key);
    }
  }
}

/**
 * The steps, then one for each slot that has changed since they began. What changes during these waits until the answer is
 * asked for: writers may be faster.
 */
function* putRight(prepared: PreparedFilter, steps: Iterator<unknown, ChunkedSlotSet>): Generator<undefined, ChunkedSlotSet> {
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
 * What a filter costs, in conditions: a list counts for as much as looking its values up. Walked before anything is worked
 * out, so that a filter of a few conditions is known for one by a few comparisons.
 */
export function conditionsIn(filter: Filter): number {
  switch (filter.type) {
    case 'and':
    case 'or': {
      let conditions = 0;
      for (const part of filter.filters) conditions += conditionsIn(part);
      return conditions;
    }
    case 'not':
      return conditionsIn(filter.filter);
    case 'in':
      return 1 + filter.values.length / VALUES_PER_CONDITION;
    default:
      return 1;
  }
}

/** Values that are looked up in the time of one condition over ten thousand slots. */
const VALUES_PER_CONDITION = 64;
