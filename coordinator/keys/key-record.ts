import { QuiverError } from '../../shared/errors/quiver-error';
import type { StoreEntry } from '../../shared/cluster-store/cluster-store';
import type { ApiKeyView, Role } from './keys-service';

/** Every key is one entry under this prefix. */
export const KEYS_PREFIX = '/q/keys/';
/** The highest id ever given, so that none is given twice. */
export const KEY_COUNTER_PATH = '/q/key-counter';
/** The key that belongs to the deployment: it always exists and is always an active admin. */
export const DEFAULT_KEY_ID = 1;

/** A key as the cluster store holds it. */
export interface KeyRecord {
  id: number;
  name: string;
  role: Role;
  /** SHA-256 of the secret, hexadecimal. */
  digest: string;
  /** ISO 8601, UTC, milliseconds. */
  createdAt: string;
  isActive: boolean;
  expiresAt: string | null;
  /** Key 1 only: digest of the last API_KEY that took effect, so that a restart does not undo a rotation. */
  environmentDigest?: string;
}

export function keyPath(id: number): string {
  return `${KEYS_PREFIX}${id}`;
}

export function keyToValue(record: KeyRecord): string {
  return JSON.stringify(record);
}

/** Errors: storage_failed when the text is not a key. */
export function keyFromEntry(entry: Pick<StoreEntry, 'key' | 'value'>): KeyRecord {
  try {
    const record = JSON.parse(entry.value) as KeyRecord;
    if (Number.isSafeInteger(record.id) && typeof record.digest === 'string') return record;
  } catch (cause) {
    throw new QuiverError('storage_failed', `the stored API key at ${entry.key} is unreadable`, { cause });
  }
  throw new QuiverError('storage_failed', `the stored API key at ${entry.key} is unreadable`);
}

/** The public part of a key, without the digest. `lastUsedMs` is wall time. */
export function keyToView(record: KeyRecord, lastUsedMs: number | null): ApiKeyView {
  return {
    id: record.id,
    name: record.name,
    role: record.role,
    createdAt: record.createdAt,
    isActive: record.isActive,
    expiresAt: record.expiresAt,
    lastUsedAt: lastUsedMs === null ? null : new Date(lastUsedMs).toISOString(),
  };
}
