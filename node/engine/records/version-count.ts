import type { KeyValueChange } from '../kv/key-value-store';
import { VERSIONS_KEY } from './record-keys';

/**
 * How a shard counts versions. It follows from the operations before, in their order, and so is the same on every
 * replica: it begins with the first write that says so (operation-codec.ts), and each write gets as many versions as it
 * has operations, above all that were given before and not below the insertion stamp of its first item. So versions
 * rise over all items of the shard, and none is given twice. What was stored before has its stamp for a version.
 */
export interface VersionCount {
  isCounting: boolean;
  /** The highest version that was given; 0 while none was. */
  last: number;
}

export const UNCOUNTED: VersionCount = { isCounting: false, last: 0 };

/** The count at a start: what is stored, or the highest of the items if that is higher. */
export function countAfter(stored: number | null, highestVersion: () => number): VersionCount {
  return stored === null ? UNCOUNTED : { isCounting: true, last: Math.max(stored, highestVersion()) };
}

/**
 * What has to be stored of a count that a batch has changed: nothing if it follows from the items that are there then.
 * `highestPut`: the highest version that the batch puts. `hasLoss`: an item may go, or be replaced by a lower version.
 */
export function versionChanges(
  now: VersionCount,
  before: VersionCount,
  batch: { highestPut: number; hasLoss: boolean },
): KeyValueChange[] {
  if (!now.isCounting) return [];
  const isKnown = before.isCounting && (now.last === batch.highestPut || (now.last === before.last && !batch.hasLoss));
  return isKnown ? [] : [{ type: 'put', key: VERSIONS_KEY, value: versionToBytes(now.last) }];
}

export function versionToBytes(version: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleLE(version);
  return bytes;
}

/** Errors: those of bytes that are too short, as a plain Error. */
export function versionFromBytes(bytes: Buffer): number {
  return bytes.readDoubleLE();
}
