/**
 * The small, strongly consistent store of cluster state: collections, keys, usage, membership, the shard map.
 * Shaped after etcd's model so that etcd can be one of its implementations: every change raises one global revision,
 * a transaction names what it expects of the keys it touches, and a watch delivers every change once and in order.
 * Implementations: over a KeyValueStore (embedded: RocksDB; tests: memory), and over etcd (cluster). All pass
 * test/contract/cluster-store.
 *
 * Keys are `/`-separated UTF-8 paths; values are UTF-8 JSON texts that the callers' converters own.
 * Errors: QuiverError `unavailable` when the store can't be reached; a failed guard is a result, not an error.
 */
export interface ClusterStore {
  get(key: string): Promise<StoreEntry | null>;
  /** All entries whose key starts with `prefix`, sorted by key, as of one revision. */
  list(prefix: string): Promise<{ entries: StoreEntry[]; revision: number }>;
  /**
   * Applies all `changes` if every guard holds, otherwise none. Durable when it resolves. On failure `current` holds
   * the present entry (or null) of each guarded key, in the order of the guards. A transaction may change a key only
   * once (an assertion). Deleting an absent key is not a change; a transaction without changes leaves the revision as
   * it is. Errors: QuiverError `commit_unknown` when the write failed under way: it was applied as a whole or not at
   * all.
   */
  transact(guards: Guard[], changes: StoreChange[]): Promise<TransactionResult>;
  /**
   * Calls `listener` with every change under `prefix` whose revision is greater than `afterRevision`, in order, until
   * the returned function is called. The changes of one transaction arrive in one call, and never during the call to
   * `watch` or `transact`. Past changes are kept only for a while. If `afterRevision` is older than that (always so
   * when it is before the revision at which the store was opened), `watch` fails: list again, and watch from the new
   * revision. Errors: QuiverError `unavailable`.
   */
  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void;
  close(): Promise<void>;
}

export interface StoreEntry {
  key: string;
  value: string;
  /** Revision of the last change to this key. */
  revision: number;
}

/** `revision` 0 means: the key must not exist. */
export interface Guard {
  key: string;
  revision: number;
}

/** `session`: the entry is deleted when this session of the store ends. Only for stores that are SessionStores. */
export type StoreChange =
  | { type: 'put'; key: string; value: string; session?: string }
  | { type: 'delete'; key: string };

export type TransactionResult =
  | { applied: true; revision: number }
  | { applied: false; current: (StoreEntry | null)[] };

export type StoreEvent =
  | { type: 'put'; key: string; value: string; revision: number }
  | { type: 'delete'; key: string; revision: number };
