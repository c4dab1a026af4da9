import type { StoredItem } from '../api/shapes';

/** A column by its metadata field; null is the id. */
export interface Sort {
  field: string | null;
  isRising: boolean;
}

/** More columns than that are hidden until somebody asks for them. */
const COLUMNS_MAX = 6;
/** The text has a place of its own. */
const NOT_COLUMNS = ['text'];

/** Fields of the items' metadata, those of most items first. */
export function fieldsOf(items: StoredItem[]): string[] {
  const counts = new Map<string, number>();
  for (const { metadata } of items)
    for (const field of Object.keys(metadata))
      if (!NOT_COLUMNS.includes(field)) counts.set(field, (counts.get(field) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([field]) => field);
}

/** What is shown: what nobody hid, up to a number that fits unless somebody chose. */
export function columnsOf(fields: string[], hidden: string[]): string[] {
  return hidden.length === 0 ? fields.slice(0, COLUMNS_MAX) : fields.filter((field) => !hidden.includes(field));
}

/** Numbers before texts, what is missing last whichever way. */
export function sorted(items: StoredItem[], sort: Sort | null): StoredItem[] {
  if (sort === null) return items;
  const { field, isRising } = sort;
  const valueOf = (item: StoredItem): unknown => (field === null ? item.external_id : item.metadata[field]);
  return [...items].sort((a, b) => {
    const [x, y] = [valueOf(a), valueOf(b)];
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined);
    return isRising ? compared(x, y) : compared(y, x);
  });
}

function compared(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'number' || typeof b === 'number') return typeof a === 'number' ? -1 : 1;
  const [x, y] = [String(a), String(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}
