import type { ItemCondition, WordsCondition } from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { FilteredItems } from './filter-index';
import { matches } from './matches';

/** Ids that are looked up in one step: a fraction of a millisecond. */
const IDS_PER_STEP = 1_024;

/** Items, and which of them are in lists of values. */
interface IndexedItems {
  items: FilteredItems;
  has: (slot: number) => boolean;
}

/** The slots of the items that a condition on them means; `within`: others need not be in it. */
export function* slotsOfItems(
  condition: ItemCondition,
  { items, has }: IndexedItems,
  within: ChunkedSlotSet | null,
): Generator<undefined, ChunkedSlotSet> {
  if (condition.type === 'words') return yield* slotsWithWords(condition, { items, has }, within);
  if (condition.type === 'expiry') {
    yield;
    return ChunkedSlotSet.fromSorted(items.slotsExpiring?.(condition.low, condition.high) ?? []);
  }
  if (condition.type === 'updated') {
    if (items.slotsUpdated === undefined) return new ChunkedSlotSet();
    return ChunkedSlotSet.fromBitmap(yield* items.slotsUpdated(condition.low, condition.high));
  }
  const { ids } = condition;
  const found: Uint32Array[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_STEP) {
    yield;
    found.push(items.slotsOf?.(ids.slice(from, from + IDS_PER_STEP)) ?? new Uint32Array(0));
  }
  return ChunkedSlotSet.fromArray(found.length === 1 ? found[0] : found.flatMap((slots) => [...slots]));
}

/** Of words under some paths, the metadata of those are read that have the words anywhere. */
function* slotsWithWords(
  condition: WordsCondition,
  { items, has }: IndexedItems,
  within: ChunkedSlotSet | null,
): Generator<undefined, ChunkedSlotSet> {
  const candidates = items.slotsWithWords === undefined ? new ChunkedSlotSet() : yield* items.slotsWithWords(condition);
  if (condition.paths === undefined) return candidates;
  if (within !== null) candidates.andInPlace(within);
  const found = new ChunkedSlotSet();
  for (const slot of candidates.toArray()) {
    yield;
    if (has(slot) && matches(condition, items.metadataOf(slot), items.factsOf?.(slot))) found.add(slot);
  }
  return found;
}
