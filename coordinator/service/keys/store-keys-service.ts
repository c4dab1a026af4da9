import type { ClusterStore, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../readable-entries';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { sealText } from '../../../shared/base/secret/sealed-text';
import { outcomeTransaction, mustBeFirst, type StoreDedup } from '../idempotency/store-dedup';
import type { Clock } from '../../../shared/base/time/clock';
import { ensureDefaultKey } from './default-key';
import { KeyDirectory, type KeyFollower } from './key-directory';
import {
  DEFAULT_KEY_ID,
  deletedKeyPath,
  KEYS_PREFIX,
  KEY_COUNTER_PATH,
  keyFromEntry,
  keyPath,
  keyToValue,
  keyInUse,
  keyToView,
  type KeyRecord,
} from './key-record';
import { checkBounds, checkDefaultKey, checkExpiry, checkGrace, checkName, checkRole } from './key-rules';
import type { ApiKeyView, KeyChange, KeyInUse, KeysService, NewKey } from './keys-service';
import type { KeyQuota } from './quota/key-quota';
import { keyQuotaPath } from './quota/quota-entry';
import { secretDigest, newSecret } from './secret';
import { readLastRequests, removeUsage } from './usage/usage-entries';

/** Every failed attempt means that another change was made. So many in a row mean that the store is out of order. */
const ATTEMPTS_MAX = 32;
const NOTHING_BESIDES = outcomeTransaction(undefined, null);
const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/**
 * API keys in the cluster store. Administration reads and writes the store. `authenticate` reads a directory in memory
 * that follows the store's watch, so it keeps working while the store can't be reached. Every change is one
 * transaction, guarded by the entries on which it was decided, and decided again if they have changed.
 */
export class StoreKeysService implements KeysService {
  private readonly store: ClusterStore;
  private readonly clock: Clock;
  private readonly directory = new KeyDirectory();
  /** Wall time of each key's last use through this process. */
  private readonly lastUsedMs = new Map<number, number>();
  private stopWatching: () => void = () => undefined;

  private constructor(options: { store: ClusterStore; clock: Clock }) {
    this.store = options.store;
    this.clock = options.clock;
  }

  /**
   * Ensures that key 1 exists (its secret is `apiKey` if set, or else `generated`; null: it has none yet) and starts to
   * follow the store.
   * `firstSecret` is key 1's secret if that is the generated one, to be shown once; otherwise null. Errors:
   * unavailable; whoever tries again gives the same secret.
   */
  static async open(options: {
    store: ClusterStore;
    clock: Clock;
    apiKey: string | undefined;
    generated?: string | null | undefined;
  }): Promise<{ keys: StoreKeysService; firstSecret: string | null }> {
    const firstSecret = await ensureDefaultKey(options);
    const keys = new StoreKeysService(options);
    const { entries, revision } = await options.store.list(KEYS_PREFIX);
    keys.directory.load(entries, revision);
    keys.stopWatching = options.store.watch(KEYS_PREFIX, revision, (events) => keys.directory.apply(events));
    return { keys, firstSecret };
  }

  /**
   * As API_KEY at a start: makes it the secret of key 1 if it is new to the store. Answers whether it was. Errors:
   * unavailable.
   */
  async useEnvironmentKey(apiKey: string): Promise<boolean> {
    const before = (await this.entry(DEFAULT_KEY_ID)).revision;
    await ensureDefaultKey({ store: this.store, clock: this.clock, apiKey });
    const entry = await this.entry(DEFAULT_KEY_ID);
    this.directory.put(keyFromEntry(entry), entry.revision);
    return entry.revision !== before;
  }

  /** Stops following the store; `authenticate` answers from what was last known. */
  close(): void {
    this.stopWatching();
  }

  /** Id and name of every key, by id, as far as this process knows. */
  names(): { id: number; name: string }[] {
    return this.directory.names();
  }

  /** The keys that have a quota, by id, as far as this process knows. */
  withQuota(): { id: number; quota: KeyQuota }[] {
    return this.directory.records().flatMap(({ id, quota }) => (quota === null ? [] : [{ id, quota }]));
  }

  /** Whether the key exists, as far as this process knows. */
  exists(id: number): boolean {
    return this.directory.has(id);
  }

  /** Tells all keys, and from now on each change. Answers what ends that. */
  follow(follower: KeyFollower): () => void {
    return this.directory.follow(follower);
  }

  /** Notes a use of a key that another thread admitted. */
  used(id: number, wallMs: number): void {
    if (this.directory.has(id)) this.lastUsedMs.set(id, Math.max(wallMs, this.lastUsedMs.get(id) ?? 0));
  }

  authenticate(secret: string): KeyInUse | null {
    const nowMs = this.clock.wallMs();
    const record = this.directory.authenticate(secret, nowMs);
    if (record === null) return null;
    this.lastUsedMs.set(record.id, nowMs);
    return keyInUse(record);
  }

  async list(): Promise<ApiKeyView[]> {
    const [{ entries }, lastRequests] = await Promise.all([this.store.list(KEYS_PREFIX), readLastRequests(this.store)]);
    const records = readableEntries(entries, keyFromEntry).sort((a, b) => a.id - b.id);
    return records.map((record) => keyToView(record, this.lastUsed(record.id, lastRequests)));
  }

  async unreadable(): Promise<number[]> {
    return this.directory.unreadable();
  }

  async get(id: number): Promise<ApiKeyView> {
    return this.view(keyFromEntry(await this.entry(id)));
  }

  async create(input: NewKey, dedup?: StoreDedup): Promise<ApiKeyView & { key: string }> {
    checkName(input.name);
    checkRole(input.role);
    if (input.expiresInDays !== null) checkExpiry(input.expiresInDays);
    const { collections = null, allowedNetworks = null, rateLimitPerMinute = null, quota = null } = input;
    checkBounds({ role: input.role, collections, allowedNetworks, rateLimitPerMinute, quota });
    const key = newSecret();
    const nowMs = this.clock.wallMs();
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const counter = await this.store.get(KEY_COUNTER_PATH);
      const record: KeyRecord = {
        id: Math.max(DEFAULT_KEY_ID, Number(counter?.value ?? 0)) + 1,
        name: input.name,
        role: input.role,
        digest: secretDigest(key).toString('hex'),
        createdAt: new Date(nowMs).toISOString(),
        isActive: true,
        expiresAt: expiryIn(input.expiresInDays, nowMs),
        collections,
        allowedNetworks,
        rateLimitPerMinute,
        quota,
        previous: null,
      };
      const path = keyPath(record.id);
      const { guards, changes } = outcomeTransaction(
        dedup,
        dedup && { ...keyToView(record, null), sealedKey: sealText(key, dedup.sealingKey) },
      );
      const result = await this.store.transact(
        [{ key: KEY_COUNTER_PATH, revision: counter?.revision ?? 0 }, { key: path, revision: 0 }, ...guards],
        [
          { type: 'put', key: KEY_COUNTER_PATH, value: String(record.id) },
          { type: 'put', key: path, value: keyToValue(record) },
          ...changes,
        ],
      );
      mustBeFirst(dedup, result);
      if (result.applied) {
        this.directory.put(record, result.revision);
        return { ...keyToView(record, null), key };
      }
    }
    throw tooBusy();
  }

  async update(id: number, change: KeyChange, dedup?: StoreDedup): Promise<ApiKeyView> {
    if (change.name !== undefined) checkName(change.name);
    if (change.role !== undefined) checkRole(change.role);
    if (typeof change.expiresInDays === 'number') checkExpiry(change.expiresInDays);
    const record = await this.change(
      id,
      (current) => {
        const next = {
          ...current,
          name: change.name ?? current.name,
          role: change.role ?? current.role,
          isActive: change.isActive ?? current.isActive,
          expiresAt:
            change.expiresInDays === undefined
              ? current.expiresAt
              : expiryIn(change.expiresInDays, this.clock.wallMs()),
          collections: change.collections === undefined ? current.collections : change.collections,
          allowedNetworks: change.allowedNetworks === undefined ? current.allowedNetworks : change.allowedNetworks,
          rateLimitPerMinute:
            change.rateLimitPerMinute === undefined ? current.rateLimitPerMinute : change.rateLimitPerMinute,
          quota: change.quota === undefined ? current.quota : change.quota,
        };
        checkBounds(next);
        if (id === DEFAULT_KEY_ID) checkDefaultKey(current, next);
        return next;
      },
      dedup && { dedup, resultOf: (view) => view },
    );
    return this.view(record);
  }

  async rotate(id: number, graceSeconds = 0, dedup?: StoreDedup): Promise<ApiKeyView & { key: string }> {
    checkGrace(graceSeconds);
    const key = newSecret();
    const record = await this.change(
      id,
      (current) => {
        const previous =
          graceSeconds === 0
            ? null
            : {
                digest: current.digest,
                expiresAt: new Date(this.clock.wallMs() + graceSeconds * SECOND_MS).toISOString(),
              };
        return { ...current, digest: secretDigest(key).toString('hex'), previous };
      },
      dedup && { dedup, resultOf: (view) => ({ ...view, sealedKey: sealText(key, dedup.sealingKey) }) },
    );
    return { ...(await this.view(record)), key };
  }

  /** Deletes the key and its usage; the summary over all keys keeps its requests. */
  async delete(id: number, dedup?: StoreDedup): Promise<ApiKeyView> {
    if (id === DEFAULT_KEY_ID) throw new QuiverError('invalid_parameter', 'the default key (id 1) cannot be deleted');
    let entry = await this.entry(id);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const record = keyFromEntry(entry);
      const deleted = await this.view(record);
      const path = keyPath(id);
      const { guards, changes } = outcomeTransaction(dedup, deleted);
      const result = await this.store.transact(
        [{ key: path, revision: entry.revision }, ...guards],
        [
          { type: 'delete', key: path },
          { type: 'put', key: deletedKeyPath(record), value: record.createdAt },
          { type: 'delete', key: keyQuotaPath(id) },
          ...changes,
        ],
      );
      mustBeFirst(dedup, result);
      if (result.applied) {
        this.directory.remove(id);
        this.lastUsedMs.delete(id);
        // The key is gone, whether this succeeds or not. Counts that stay belong to an id that is never given again.
        await removeUsage(this.store, id).catch(() => undefined);
        return deleted;
      }
      entry = result.current[0] ?? unknownKey(id);
    }
    throw tooBusy();
  }

  /** `once`: what is kept as the outcome, of the key after the change. */
  private async change(
    id: number,
    decide: (current: KeyRecord) => KeyRecord,
    once?: { dedup: StoreDedup; resultOf: (view: ApiKeyView) => unknown },
  ): Promise<KeyRecord> {
    let entry = await this.entry(id);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const record = decide(keyFromEntry(entry));
      const path = keyPath(id);
      const { guards, changes } =
        once === undefined ? NOTHING_BESIDES : outcomeTransaction(once.dedup, once.resultOf(await this.view(record)));
      const result = await this.store.transact(
        [{ key: path, revision: entry.revision }, ...guards],
        [{ type: 'put', key: path, value: keyToValue(record) }, ...changes],
      );
      mustBeFirst(once?.dedup, result);
      if (result.applied) {
        this.directory.put(record, result.revision);
        return record;
      }
      entry = result.current[0] ?? unknownKey(id);
    }
    throw tooBusy();
  }

  private async entry(id: number): Promise<StoreEntry> {
    return (await this.store.get(keyPath(id))) ?? unknownKey(id);
  }

  private async view(record: KeyRecord): Promise<ApiKeyView> {
    return keyToView(record, this.lastUsed(record.id, await readLastRequests(this.store, record.id)));
  }

  private lastUsed(id: number, lastRequests: Map<number, number>): number | null {
    const latest = Math.max(this.lastUsedMs.get(id) ?? 0, lastRequests.get(id) ?? 0);
    return latest === 0 ? null : latest;
  }
}

/** null: never. */
function expiryIn(days: number | null, nowMs: number): string | null {
  return days === null ? null : new Date(nowMs + days * DAY_MS).toISOString();
}

function unknownKey(id: number): never {
  throw new QuiverError('not_found', `API key ${id} does not exist`);
}

function tooBusy(): QuiverError {
  return new QuiverError(
    'unavailable',
    'the key could not be changed: the cluster store is too busy; the call may be retried',
  );
}
