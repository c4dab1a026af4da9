import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';

/** Pure: what fields the metadata of some items have, and what is in them. */

export type FieldKind = 'text' | 'date' | 'number' | 'boolean' | 'list' | 'object' | 'null';

export interface FieldProfile {
  /** As filters name it: keys of objects with dots between them. */
  path: string;
  /** Of its values, and of the elements of its lists; ascending by name. */
  kinds: FieldKind[];
  /** Items that have it. */
  items: number;
  /** The most frequent ones, each with the number of items that have it. */
  values: { value: string | number | boolean; count: number }[];
  /** Whether it has other values, too. */
  more: boolean;
  /** Of its numbers; absent: it has none. */
  range?: { least: number; greatest: number };
}

/** Paths that are told, and values that are counted of each. */
const FIELDS_MAX = 200;
const COUNTED_MAX = 2000;
const VALUES_SHOWN = 10;
/** A longer text is no value to filter by. */
const VALUE_UNITS_MAX = 80;
const DEPTH_MAX = 4;
/** ISO 8601, from the day on. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

interface Counts {
  kinds: Set<FieldKind>;
  items: number;
  values: Map<string | number | boolean, number>;
  more: boolean;
  least: number;
  greatest: number;
}

/** The fields of metadata, those of most items first. */
export function fieldProfiles(all: readonly JsonObject[]): FieldProfile[] {
  const fields = new Map<string, Counts>();
  for (const metadata of all) noteObject(fields, metadata, '', 1);
  const profiles = [...fields].map(([path, counts]) => profileOf(path, counts));
  return profiles.sort((a, b) => b.items - a.items || (a.path < b.path ? -1 : 1));
}

function noteObject(fields: Map<string, Counts>, object: JsonObject, before: string, depth: number): void {
  for (const [key, value] of Object.entries(object)) {
    const path = before + key;
    let counts = fields.get(path);
    if (counts === undefined) {
      if (fields.size >= FIELDS_MAX) continue;
      counts = { kinds: new Set(), items: 0, values: new Map(), more: false, least: Infinity, greatest: -Infinity };
      fields.set(path, counts);
    }
    counts.items += 1;
    const isList = Array.isArray(value);
    if (isList) counts.kinds.add('list');
    const seen = new Set<JsonValue>();
    for (const one of isList ? value : [value]) {
      counts.kinds.add(kindOf(one));
      if (isObject(one)) {
        if (!isList && depth < DEPTH_MAX) noteObject(fields, one, `${path}.`, depth + 1);
      } else if (!seen.has(one)) {
        seen.add(one);
        noteValue(counts, one);
      }
    }
  }
}

function noteValue(counts: Counts, value: JsonValue): void {
  if (typeof value === 'number') {
    counts.least = Math.min(counts.least, value);
    counts.greatest = Math.max(counts.greatest, value);
  }
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return;
  const isLong = typeof value === 'string' && value.length > VALUE_UNITS_MAX;
  const before = counts.values.get(value);
  if (isLong || (before === undefined && counts.values.size >= COUNTED_MAX)) counts.more = true;
  else counts.values.set(value, (before ?? 0) + 1);
}

function profileOf(path: string, { kinds, items, values, more, least, greatest }: Counts): FieldProfile {
  const frequent = [...values].sort(([a, times], [b, others]) => others - times || (String(a) < String(b) ? -1 : 1));
  return {
    path,
    kinds: [...kinds].sort(),
    items,
    values: frequent.slice(0, VALUES_SHOWN).map(([value, count]) => ({ value, count })),
    more: more || frequent.length > VALUES_SHOWN,
    ...(least <= greatest && { range: { least, greatest } }),
  };
}

function kindOf(value: JsonValue): FieldKind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string') return DATE.test(value) ? 'date' : 'text';
  return typeof value as 'number' | 'boolean' | 'object';
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
