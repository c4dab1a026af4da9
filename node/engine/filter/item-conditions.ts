import type { ItemCondition } from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { FilteredItems } from './filter-index';

/** Ids that are looked up in one step: a fraction of a millisecond. */
const IDS_PER_STEP = 512;

/** The slots of the items that a condition on them means. */
export function* slotsOfItems(condition: ItemCondition, items: FilteredItems): Generator<undefined, ChunkedSlotSet> {
  if (condition.type === 'expiry') {
    yield;
    return ChunkedSlotSet.fromSorted(items.slotsExpiring?.(condition.low, condition.high) ?? []);
  }
  const { ids } = condition;
  const found: number[] = [];
  for (let i = 0; i < ids.length; i++) {
    if (i % IDS_PER_STEP === 0) yield;
    const slot = items.slotOf?.(ids[i]) ?? -1;
    if (slot >= 0) found.push(slot);
  }
  return ChunkedSlotSet.fromSorted([...new Set(found)].sort((a, b) => a - b));
}
