import { type Filter, isCondition, isOfItem, type PathCondition } from '../../../shared/contract/filter/filter';

/**
 * A condition as the lists have it that have an item where an element passes it; null: there are none.
 */
export type Told = (condition: PathCondition) => Filter | null;

/**
 * A filter that every item passes of which an element passes `filter`, made of what is told of its conditions; null:
 * nothing is.
 */
export function candidatesOf(filter: Filter, told: Told): Filter | null {
  if (isCondition(filter)) {
    if (isOfItem(filter) || filter.type === 'size' || filter.type === 'element' || filter.type === 'geo') return null;
    return told(filter);
  }
  if (filter.type === 'not') return null;
  const parts = filter.filters.map((part) => candidatesOf(part, told));
  const known = parts.filter((part) => part !== null);
  if (filter.type === 'or') return known.length === parts.length ? { type: 'or', filters: known } : null;
  return known.length === 0 ? null : { type: 'and', filters: known };
}

/** Whether the candidates of a filter pass it if those of its conditions do: nothing asks twice of one element. */
export function isByOne(filter: Filter): boolean {
  if (isCondition(filter)) return true;
  return filter.type === 'or' && filter.filters.every(isByOne);
}
