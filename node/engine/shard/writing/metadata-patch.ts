import type { JsonValue } from '../../../../shared/contract/filter/filter';
import type { MetadataPatch } from '../../../../shared/contract/shard/shard-client';
import { mergedObject } from '../../../../shared/contract/writes/merged-object';
import { parsedMetadata } from '../shard-indexes';

/** The metadata after a patch, as JSON; null if they would be more than they may be. */
export function patchedMetadata(
  metadata: string,
  { json, replaces, bytesMax, fieldsMax }: MetadataPatch,
): string | null {
  if (replaces) return json;
  const merged = mergedObject(parsedMetadata(metadata), parsedMetadata(json));
  const text = JSON.stringify(merged);
  // A code unit takes at most three bytes, so most texts need no counting.
  const isLong = text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax;
  return isLong || fieldsIn(merged) > fieldsMax ? null : text;
}

/** Keys and array elements, at every level. */
function fieldsIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  const parts = Object.values(value);
  return parts.reduce<number>((count, part) => count + fieldsIn(part), parts.length);
}
