import { ChunkedSlotSet } from '../slots/chunked-slot-set';

/**
 * The slots that have one value. A single slot is a plain number: a key with a distinct value per item has as many
 * postings as items, and a set object for each would take more memory than the items' metadata.
 */
export type Posting = number | ChunkedSlotSet;

/** The posting of no slots; not a valid slot, because slots are not negative. */
export const NO_SLOTS = -1;

export function postingWith(posting: Posting, slot: number): Posting {
  if (typeof posting === 'number') {
    if (posting === NO_SLOTS || posting === slot) return slot;
    return ChunkedSlotSet.fromSorted(posting < slot ? [posting, slot] : [slot, posting]);
  }
  posting.add(slot);
  return posting;
}

export function postingWithout(posting: Posting, slot: number): Posting {
  if (typeof posting === 'number') return posting === slot ? NO_SLOTS : posting;
  posting.remove(slot);
  return condensed(posting);
}

export function postingWithoutAll(posting: Posting, slots: ChunkedSlotSet): Posting {
  if (typeof posting === 'number') return posting !== NO_SLOTS && slots.has(posting) ? NO_SLOTS : posting;
  posting.andNotInPlace(slots);
  return condensed(posting);
}

export function postingUnion(a: Posting, b: Posting): Posting {
  if (a === NO_SLOTS) return b;
  if (b === NO_SLOTS) return a;
  if (typeof b === 'number') return postingWith(a, b);
  if (typeof a === 'number') return postingWith(b, a);
  a.orInPlace(b);
  return a;
}

export function postingSize(posting: Posting): number {
  if (typeof posting === 'number') return posting === NO_SLOTS ? 0 : 1;
  return posting.size;
}

/** A set of the posting's slots that does not change when the posting does. */
export function postingToSet(posting: Posting): ChunkedSlotSet {
  if (typeof posting === 'number') return ChunkedSlotSet.fromSorted(posting === NO_SLOTS ? [] : [posting]);
  return posting.clone();
}

function condensed(set: ChunkedSlotSet): Posting {
  if (set.size > 1) return set;
  return set.size === 0 ? NO_SLOTS : set.first();
}
