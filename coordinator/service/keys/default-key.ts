import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { DEFAULT_KEY_ID, KEY_COUNTER_PATH, keyFromEntry, keyPath, keyToValue, UNBOUNDED_KEY } from './key-record';
import { secretDigest, newSecret } from './secret';

/** Coordinators that start together conflict at most once each; more conflicts mean that the store misbehaves. */
const ATTEMPTS_MAX = 32;
/** The digest of no secret: of a key 1 that nobody has needed so far. */
const NO_SECRET = '';

/**
 * Ensures that key 1 exists, with the secret of `apiKey`, or else with `generated`, which is answered if it is the
 * key's: the caller shows it once, and it can't be read again. With null, a new key has no secret, and a later call
 * gives it one. A call that failed may have stored it, so the next one gets the same. A set `apiKey` takes effect only
 * if it is new to the store, so a key that was rotated since then stays rotated. Errors: unavailable.
 */
export async function ensureDefaultKey(options: {
  store: ClusterStore;
  clock: Clock;
  apiKey: string | undefined;
  generated?: string | null | undefined;
}): Promise<string | null> {
  const { store, clock, apiKey, generated = newSecret() } = options;
  const path = keyPath(DEFAULT_KEY_ID);
  const secret = apiKey ?? generated;
  const environmentDigest = apiKey === undefined ? undefined : digestOf(apiKey);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const entry = await store.get(path);
    if (entry === null) {
      const counter = await store.get(KEY_COUNTER_PATH);
      const record = {
        id: DEFAULT_KEY_ID,
        name: 'default',
        role: 'admin' as const,
        digest: secret === null ? NO_SECRET : digestOf(secret),
        createdAt: new Date(clock.wallMs()).toISOString(),
        isActive: true,
        expiresAt: null,
        ...UNBOUNDED_KEY,
        environmentDigest,
      };
      const made = await store.transact(
        [
          { key: path, revision: 0 },
          { key: KEY_COUNTER_PATH, revision: counter?.revision ?? 0 },
        ],
        [
          { type: 'put', key: path, value: keyToValue(record) },
          { type: 'put', key: KEY_COUNTER_PATH, value: String(Math.max(DEFAULT_KEY_ID, Number(counter?.value ?? 0))) },
        ],
      );
      if (made.applied) return apiKey === undefined ? generated : null;
      continue;
    }
    const record = keyFromEntry(entry);
    if (secret === null || record.environmentDigest === (environmentDigest ?? NO_SECRET)) return null;
    const digest = digestOf(secret);
    if (environmentDigest === undefined && record.digest !== NO_SECRET)
      return record.digest === digest ? generated : null;
    const value = keyToValue({ ...record, digest, previous: null, environmentDigest });
    const changed = await store.transact(
      [{ key: path, revision: entry.revision }],
      [{ type: 'put', key: path, value }],
    );
    if (changed.applied) return apiKey === undefined ? generated : null;
  }
  throw new QuiverError('unavailable', 'the default API key could not be set up: the cluster store is too busy');
}

function digestOf(secret: string): string {
  return secretDigest(secret).toString('hex');
}
