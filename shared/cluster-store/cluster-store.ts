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
  /** All entries whose key starts with `prefix`, by key, at one revision. */
  list(prefix: string): Promise<{ entries: StoreEntry[]; revision: number }>;
  /**
   * Applies all `changes` if every guard holds, else nothing. Durable when it resolves.
   * On failure `current` holds the present entry (or null) of each guarded key, in the guards' order.
   * A key may be changed once in a transaction (an assertion). Deleting an absent key is no change, and without any change
   * the revision stays. QuiverError `commit_unknown`: the write failed under way and is there as a whole or not at all.
   */
  transact(guards: Guard[], changes: StoreChange[]): Promise<TransactionResult>;
  /**
   * Calls `listener` with every change under `prefix` with a revision greater than `afterRevision`, in order, until
   * the returned function is called. The changes of one transaction arrive in one call, never inside of the call to
   * `watch` or `transact`. The past is kept for a while only: when `afterRevision` lies before it (always so before the
   * revision that the store was opened at), `watch` throws QuiverError `unavailable`: list again, and watch from there.
   */
  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void;
  close(): Promise<void>;
}

export interface StoreEntry {
  key: string;
  value: string;
  /** Revision of the last change of this key. */
  revision: number;
}

/** `revision` 0 means: the key must not exist. */
export interface Guard {
  key: string;
  revision: number;
}

/** `session`: the entry vanishes with this session of the store; only for stores that are SessionStores. */
export type StoreChange = { type: 'put'; key: string; value: string; session?: string } | { type: 'delete'; key: string };

export type TransactionResult = { applied: true; revision: number } | { applied: false; current: (StoreEntry | null)[] };

export type StoreEvent =
  | { type: 'put'; key: string; value: string; revision: number }
  | { type: 'delete'; key: string; revision: number };
