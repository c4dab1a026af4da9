import type { Scalar } from '../../../shared/contract/filter/filter';
import { compareScalars } from '../../../shared/contract/shard/aggregate';
import { stringKey } from '../../../shared/contract/shard/value-key';
import { metadataScalars } from '../chosen-metadata';
import type { OrderKey } from '../search-request';

/** Pure: the order of items by values of their metadata. */

/** By what an item is ordered, a value for each key; a long text by its key; null: it has no such value. */
export type OrderValues = readonly Scalar[];

/** Where an item is in an order that no two items share. */
export interface OrderPlace {
  values: OrderValues;
  externalId: string;
}

/** Of an array the least value, or the greatest where these come first. */
export function orderValuesOf(metadata: string, keys: readonly OrderKey[]): OrderValues {
  return keys.map(({ field, descending }) => {
    const scalars = metadataScalars(metadata, field);
    if (scalars.length === 0) return null;
    const value = scalars.reduce((best, one) => (compareScalars(one, best) < 0 === descending ? best : one));
    return typeof value === 'string' ? stringKey(value) : value;
  });
}

/** Negative if `a` comes first. */
export function compareOrderValues(keys: readonly OrderKey[], a: OrderValues, b: OrderValues): number {
  for (const [i, { descending, missingFirst }] of keys.entries()) {
    const [one, other] = [a[i], b[i]];
    if (one === null && other === null) continue;
    if (one === null || other === null) return (one === null) === missingFirst ? -1 : 1;
    const order = compareValues(one, other);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

/** The same, and then by the code units of external ids. */
export function comparePlaces(keys: readonly OrderKey[], a: OrderPlace, b: OrderPlace): number {
  const order = compareOrderValues(keys, a.values, b.values);
  return order !== 0 ? order : a.externalId < b.externalId ? -1 : a.externalId > b.externalId ? 1 : 0;
}

/** Texts are keys already. */
function compareValues(a: Scalar, b: Scalar): number {
  if (typeof a !== 'string' || typeof b !== 'string') return compareScalars(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
