import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { ApiKeyView, KeyInUse, KeyBounds, Role } from './keys-service';

/** Every key is one entry under this prefix. */
export const KEYS_PREFIX = '/q/keys/';
/** The highest id ever given, so that none is given twice. */
export const KEY_COUNTER_PATH = '/q/key-counter';
/**
 * Keys that were deleted here, by id, with when they were made: a backup that has one of them does not bring it back.
 */
const DELETED_KEYS_PREFIX = '/q/deleted-keys/';
/** The key that belongs to the deployment: it always exists and is always an active admin. */
export const DEFAULT_KEY_ID = 1;

/** A key as the cluster store holds it. */
export interface KeyRecord extends KeyBounds {
  id: number;
  /**
   * Its number in the service that it was made in, where it came here by a backup and that was taken; absent: the same.
   */
  origin?: number;
  name: string;
  role: Role;
  /** SHA-256 of the secret, hexadecimal. */
  digest: string;
  /** ISO 8601, UTC, milliseconds. */
  createdAt: string;
  isActive: boolean;
  expiresAt: string | null;
  /** The secret before the last rotation, while it works. */
  previous: { digest: string; expiresAt: string } | null;
  /** Key 1 only: digest of the last API_KEY that took effect, so that a restart does not undo a rotation. */
  environmentDigest?: string;
}

export function keyPath(id: number): string {
  return `${KEYS_PREFIX}${id}`;
}

/** Also of an entry that can't be read. */
export function idOfKeyEntry({ key }: Pick<StoreEntry, 'key'>): number {
  return Number(key.slice(KEYS_PREFIX.length));
}

/**
 * What says that a key was deleted here. One that has another number here than in backups has an entry that no other
 * key has.
 */
export function deletedKeyPath({ id, origin, createdAt }: Pick<KeyRecord, 'id' | 'origin' | 'createdAt'>): string {
  return origin === undefined ? `${DELETED_KEYS_PREFIX}${id}` : `${DELETED_KEYS_PREFIX}${origin}/${createdAt}`;
}

/** A key without any of the limits that it may have. */
export const UNBOUNDED_KEY = {
  collections: null,
  allowedNetworks: null,
  rateLimitPerMinute: null,
  quota: null,
  previous: null,
} as const satisfies Partial<KeyRecord>;

/**
 * The role that the entry of a key shows which is limited to collections or networks: none. An earlier version does not
 * know such limits, and must not let the key do everything; a role that it does not know may do nothing there.
 */
const NO_ROLE = 'limited';

export function keyToValue(record: KeyRecord): string {
  const isLimited = record.collections !== null || record.allowedNetworks !== null;
  return JSON.stringify(isLimited ? { ...record, role: NO_ROLE, limitedRole: record.role } : record);
}

/** Errors: storage_failed when the text is not a key. */
export function keyFromEntry(entry: Pick<StoreEntry, 'key' | 'value'>): KeyRecord {
  try {
    const { limitedRole, ...stored } = JSON.parse(entry.value) as KeyRecord & { limitedRole?: Role };
    const record = { ...UNBOUNDED_KEY, ...stored, role: limitedRole ?? stored.role };
    if (Number.isSafeInteger(record.id) && typeof record.digest === 'string') return record;
  } catch (cause) {
    throw new QuiverError('storage_failed', `the stored API key at ${entry.key} is unreadable`, { cause });
  }
  throw new QuiverError('storage_failed', `the stored API key at ${entry.key} is unreadable`);
}

/** The public part of a key, without the digest. `lastUsedMs` is wall time. */
export function keyToView(record: KeyRecord, lastUsedMs: number | null): ApiKeyView {
  return { ...keyInUse(record), lastUsedAt: lastUsedMs === null ? null : new Date(lastUsedMs).toISOString() };
}

const inUse = new WeakMap<KeyRecord, KeyInUse>();

/**
 * The public part of a key that does not change as long as its record does not. Made once for each record, because
 * every request asks for it.
 */
export function keyInUse(record: KeyRecord): KeyInUse {
  let key = inUse.get(record);
  if (key === undefined) {
    const {
      id,
      name,
      role,
      createdAt,
      isActive,
      expiresAt,
      collections,
      allowedNetworks,
      rateLimitPerMinute,
      quota,
      previous,
    } = record;
    key = Object.freeze({
      id,
      name,
      role,
      createdAt,
      isActive,
      expiresAt,
      collections,
      allowedNetworks,
      rateLimitPerMinute,
      quota,
      previousExpiresAt: previous?.expiresAt ?? null,
    });
    inUse.set(record, key);
  }
  return key;
}
