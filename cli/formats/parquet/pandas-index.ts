import type { FileMetaData } from 'hyparquet' with { 'resolution-mode': 'import' };

/** An index of pandas that is noted instead of being stored: whole numbers at one distance. */
export interface RangeIndex {
  name: string;
  start: number;
  step: number;
}

const NOTE = 'pandas';

/**
 * The indexes with a name that pandas noted of a file, whose rows are all of those that it wrote: the values are
 * nowhere else, and may be ids. One without a name counts rows.
 */
export function rangeIndexes(metadata: FileMetaData, columns: readonly string[]): RangeIndex[] {
  const note = metadata.key_value_metadata?.find(({ key }) => key === NOTE)?.value;
  if (note === undefined) return [];
  return noted(note).flatMap((index): RangeIndex[] => {
    const { kind, name, start, stop, step } = index as Record<string, unknown>;
    if (kind !== 'range' || typeof name !== 'string' || name === '' || columns.includes(name)) return [];
    if (!isWhole(start) || !isWhole(stop) || !isWhole(step) || step === 0) return [];
    return Math.ceil((stop - start) / step) === Number(metadata.num_rows) ? [{ name, start, step }] : [];
  });
}

function noted(note: string): object[] {
  try {
    const { index_columns: indexes } = JSON.parse(note) as { index_columns?: unknown };
    return Array.isArray(indexes)
      ? indexes.filter((index): index is object => typeof index === 'object' && index !== null)
      : [];
  } catch {
    return [];
  }
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
