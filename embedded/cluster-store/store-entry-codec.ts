import type { KeyValueChange, KeyValueEntry, KeyRange } from '../../node/kv/key-value-store';
import type { StoreEntry } from '../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../shared/errors/quiver-error';

/**
 * The key-value form of a cluster store: `e` + key (UTF-8) → revision of the entry (8 bytes, big-endian) + value
 * (UTF-8), and `r` → the global revision (8 bytes).
 */
const ENTRY_PREFIX = 0x65;
export const REVISION_KEY = Buffer.from('r');
export const ENTRY_RANGE: KeyRange = { from: Buffer.of(ENTRY_PREFIX), to: Buffer.of(ENTRY_PREFIX + 1) };

export function entryToChange(key: string, entry: StoreEntry | null): KeyValueChange {
  const bytes = Buffer.concat([Buffer.of(ENTRY_PREFIX), Buffer.from(key)]);
  if (entry === null) return { type: 'delete', key: bytes };
  return { type: 'put', key: bytes, value: Buffer.concat([revisionToBytes(entry.revision), Buffer.from(entry.value)]) };
}

export function entryFromBytes({ key, value }: KeyValueEntry): StoreEntry {
  return { key: key.toString('utf8', 1), value: value.toString('utf8', 8), revision: revisionFromBytes(value) };
}

export function revisionToBytes(revision: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(revision));
  return bytes;
}

/** Reads the first 8 bytes. Errors: storage_failed when there are fewer. */
export function revisionFromBytes(bytes: Buffer): number {
  if (bytes.length < 8) throw new QuiverError('storage_failed', 'the cluster store holds a broken entry');
  return Number(bytes.readBigUInt64BE());
}
