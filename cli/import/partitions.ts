import type { SourceRecord } from '../formats/record-source';
import { typedText } from './row-values';

/** A folder whose name is a column and its value, as Hive, Spark and others lay out tables: `lang=en`. */
const PARTITION = /^([^=]+)=(.*)$/s;
/** How they write that there is no value. */
const NO_VALUE = '__HIVE_DEFAULT_PARTITION__';

/**
 * Columns whose values the folders above a file say; `name` is the file's path in the folder that was named. Where
 * `isTyped`, a text that is a number or truth value is one.
 */
export function partitionsOf(name: string, isTyped: boolean): Record<string, unknown> {
  const pairs: [string, unknown][] = [];
  for (const folder of name.split(/[/\\]/).slice(0, -1)) {
    const [, key, text] = PARTITION.exec(folder) ?? [];
    if (key === undefined || text === NO_VALUE) continue;
    const value = decoded(text);
    pairs.push([decoded(key), isTyped ? typedText(value) : value]);
  }
  // Keys such as __proto__ are data.
  return Object.fromEntries(pairs);
}

/** The rows with these columns too, where they do not have them themselves. */
export function inPartition(records: SourceRecord[], partitions: Record<string, unknown>): SourceRecord[] {
  if (Object.keys(partitions).length === 0) return records;
  return records.map((record) => ({
    ...record,
    fields: Object.fromEntries([...Object.entries(partitions), ...Object.entries(record.fields)]),
  }));
}

/** Characters that no folder can have are written with percent signs. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
