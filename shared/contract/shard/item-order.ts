import { metadataScalars } from '../filter/chosen-metadata';
import type { Filter, JsonObject, Scalar } from '../filter/filter';
import { filterFromJson } from '../filter/filter-text';
import { lookUpPath, scalarsOf } from '../filter/metadata-path';
import { compareScalars } from './aggregate';
import { stringKey } from './value-key';

/** A field by whose values items are ordered: numbers, texts, false, true. Null, objects and nothing are no values. */
export interface OrderKey {
  field: string;
  descending: boolean;
  missingFirst: boolean;
}

/** By what an item is ordered, a value for each key; a long text by its key; null: it has no such value. */
export type OrderValues = readonly Scalar[];

/** Where an item is in an order that no two items share. */
export interface OrderPlace {
  values: OrderValues;
  externalId: string;
}

export interface OrderRequest {
  /** At least one. */
  keys: readonly OrderKey[];
  /** null: all items pass. */
  filter: Filter | null;
  /** Items behind it; null: from the first on. */
  after: OrderPlace | null;
  /** At least 1. */
  limit: number;
}

export interface OrderAnswer {
  /** In their order: `limit`, or fewer at the end, or for {@link PLACES_BYTES_MAX}. */
  places: OrderPlace[];
  /** Whether more may follow. If so, there is a place. */
  more: boolean;
}

/** Bytes of places in one answer, about: then it ends. */
export const PLACES_BYTES_MAX = 1024 * 1024;

/** Metadata of so many characters are parsed whole: to find the values alone takes longer. */
const PARSED_MAX = 2_048;

/** Of an array the least value, or the greatest where these come first. */
export function orderValuesOf(metadata: string, keys: readonly OrderKey[]): OrderValues {
  const parsed = metadata.length <= PARSED_MAX ? (JSON.parse(metadata) as JsonObject) : null;
  return keys.map(({ field, descending }) => {
    const scalars =
      parsed === null
        ? metadataScalars(metadata, field)
        : scalarsOf(lookUpPath(parsed, field)).filter((one) => one !== null);
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

export function orderRequestToText({ keys, filter, after, limit }: OrderRequest): string {
  return JSON.stringify({ keys, filter, after, limit });
}

/** null for text that is none. */
export function orderRequestFromText(text: string): OrderRequest | null {
  const { keys, filter, after, limit } = (jsonOf(text) ?? {}) as Partial<Record<keyof OrderRequest, unknown>>;
  const passes = filter === null ? null : filterFromJson(filter);
  if (passes === undefined || !Array.isArray(keys) || keys.length === 0 || !keys.every(isKey)) return null;
  if (!(after === null || isPlace(after, keys.length)) || !Number.isSafeInteger(limit) || (limit as number) < 1)
    return null;
  return { keys, filter: passes, after, limit: limit as number };
}

export function orderAnswerToText({ places, more }: OrderAnswer): string {
  return JSON.stringify({ places, more });
}

/** null for text that is none. */
export function orderAnswerFromText(text: string): OrderAnswer | null {
  const { places, more } = (jsonOf(text) ?? {}) as Partial<Record<keyof OrderAnswer, unknown>>;
  if (!Array.isArray(places) || typeof more !== 'boolean') return null;
  return places.every((place) => isPlace(place)) ? { places, more } : null;
}

function isKey(value: unknown): value is OrderKey {
  const { field, descending, missingFirst } = (value ?? {}) as Partial<Record<keyof OrderKey, unknown>>;
  return typeof field === 'string' && typeof descending === 'boolean' && typeof missingFirst === 'boolean';
}

function isPlace(value: unknown, count?: number): value is OrderPlace {
  const { values, externalId } = (value ?? {}) as Partial<Record<keyof OrderPlace, unknown>>;
  if (!Array.isArray(values) || typeof externalId !== 'string') return false;
  return (count === undefined || values.length === count) && values.every(isScalar);
}

function isScalar(value: unknown): boolean {
  return value === null || ['number', 'string', 'boolean'].includes(typeof value);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
