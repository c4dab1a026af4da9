import assert from 'node:assert';
import type { KeyRange, KeyValueChange, KeyValueEntry, KeyValueStore } from '../../node/engine/kv/key-value-store';
import type {
  ClusterStore,
  Guard,
  StoreChange,
  StoreEntry,
  StoreEvent,
  TransactionResult,
} from '../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import { StoreDraft } from './store-draft';
import { StoreState, type Transition } from './store-state';
import { WatchHub } from './watch-hub';

/**
 * The key-value form of a cluster store: `e` + key (UTF-8) → revision of the entry (8 bytes, big-endian) + value
 * (UTF-8), and `r` → the global revision (8 bytes).
 */
const ENTRY_PREFIX = 0x65;
const REVISION_KEY = Buffer.from('r');
const ENTRY_RANGE: KeyRange = { from: Buffer.of(ENTRY_PREFIX), to: Buffer.of(ENTRY_PREFIX + 1) };

/** Transactions that share one synced write; more would make the first wait for the last. */
const BATCH_TRANSACTIONS_MAX = 512;
/** Transactions waiting at once: seconds of work; beyond, a caller had better hear "overloaded" than wait. */
const QUEUE_MAX = 10_000;

interface Waiting {
  guards: Guard[];
  changes: StoreChange[];
  resolve: (result: TransactionResult) => void;
  reject: (error: QuiverError) => void;
}

/**
 * The ClusterStore of the embedded form: state in memory, durable in a KeyValueStore that it alone uses and closes.
 * Transactions are decided one after the other; those that wait while a write is under way share the next one. Reads,
 * watches and answers show nothing before it is on stable storage.
 */
export class KeyValueClusterStore implements ClusterStore {
  private readonly hub: WatchHub;
  private readonly waiting: Waiting[] = [];
  /** The running writer; null when there is nothing to write. */
  private writer: Promise<void> | null = null;
  /** Transitions of a write that failed: on storage or not, to be found out before the next. */
  private unsettled: readonly Transition[] = [];
  private closed = false;

  private constructor(
    private readonly store: KeyValueStore,
    private readonly state: StoreState,
    /** Done once; errors of it fail nothing. */
    private beforeWrite: (() => Promise<void>) | null,
  ) {
    this.hub = new WatchHub(state.revision);
  }

  /** Reads the state. Errors: storage_failed when it can't be read. */
  static async open(options: {
    store: KeyValueStore;
    beforeFirstWrite?: () => Promise<void>;
  }): Promise<KeyValueClusterStore> {
    const entries: StoreEntry[] = [];
    for await (const page of options.store.scan(ENTRY_RANGE))
      for (const entry of page) entries.push(entryFromBytes(entry));
    const revision = await options.store.get(REVISION_KEY);
    return new KeyValueClusterStore(
      options.store,
      new StoreState(entries, revision === undefined ? 0 : revisionFromBytes(revision)),
      options.beforeFirstWrite ?? null,
    );
  }

  /** The number of its last change. */
  get revision(): number {
    return this.state.revision;
  }

  async get(key: string): Promise<StoreEntry | null> {
    this.mustBeOpen();
    return this.state.get(key);
  }

  async list(prefix: string): Promise<{ entries: StoreEntry[]; revision: number }> {
    this.mustBeOpen();
    return { entries: this.state.list(prefix), revision: this.state.revision };
  }

  async transact(guards: Guard[], changes: StoreChange[]): Promise<TransactionResult> {
    this.mustBeOpen();
    assert(new Set(changes.map((change) => change.key)).size === changes.length, 'a transaction changes a key once');
    assert(
      changes.every((change) => change.type === 'delete' || change.session === undefined),
      'this store has no sessions',
    );
    if (this.waiting.length >= QUEUE_MAX)
      throw new QuiverError('overloaded', 'too many changes of the cluster state at once');
    return new Promise((resolve, reject) => {
      this.waiting.push({ guards: [...guards], changes: [...changes], resolve, reject });
      this.writer ??= this.writeAll();
    });
  }

  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void {
    this.mustBeOpen();
    return this.hub.watch(prefix, afterRevision, listener);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.writer;
    this.hub.close();
    await this.store.close();
  }

  private async writeAll(): Promise<void> {
    /* The transactions of one turn of the event loop share the first write, too. */
    await Promise.resolve();
    while (this.waiting.length > 0) await this.writeBatch(this.waiting.splice(0, BATCH_TRANSACTIONS_MAX));
    this.writer = null;
  }

  /** Answers every transaction of the batch; never throws. */
  private async writeBatch(batch: Waiting[]): Promise<void> {
    try {
      await this.settle();
    } catch (cause) {
      for (const transaction of batch)
        transaction.reject(
          failure(
            'unavailable',
            'the cluster state can not be changed until its disk takes writes again; the call may be retried',
            cause,
          ),
        );
      return;
    }
    const draft = new StoreDraft(this.state);
    const results = batch.map(({ guards, changes }): TransactionResult => {
      if (!draft.holds(guards)) return { applied: false, current: guards.map((guard) => draft.get(guard.key)) };
      draft.apply(changes);
      return { applied: true, revision: draft.revision };
    });
    try {
      await this.persist(draft);
    } catch (cause) {
      this.unsettled = draft.transitions;
      for (const transaction of batch)
        transaction.reject(failure('commit_unknown', 'the change may or may not have been stored', cause));
      return;
    }
    this.show(draft.transitions);
    batch.forEach((transaction, i) => transaction.resolve(results[i]));
  }

  private async persist(draft: StoreDraft): Promise<void> {
    if (draft.transitions.length === 0) return;
    const changes = Array.from(draft.changes, ([key, entry]) => entryToChange(key, entry));
    changes.push({ type: 'put', key: REVISION_KEY, value: revisionToBytes(draft.revision) });
    if (this.beforeWrite !== null) await this.beforeWrite().catch(() => undefined);
    this.beforeWrite = null;
    await this.store.write(changes, { sync: true });
  }

  /** Finds out whether the write that failed is on storage all the same: a batch is atomic, so its revision tells. */
  private async settle(): Promise<void> {
    if (this.unsettled.length === 0) return;
    await this.store.recover();
    const bytes = await this.store.get(REVISION_KEY);
    const stored = bytes === undefined ? 0 : revisionFromBytes(bytes);
    if (stored !== this.state.revision) this.show(this.unsettled);
    assert(stored === this.state.revision, 'the cluster store has a single writer');
    this.unsettled = [];
  }

  private show(transitions: readonly Transition[]): void {
    for (const transition of transitions) {
      this.state.apply(transition);
      this.hub.publish(transition);
    }
  }

  private mustBeOpen(): void {
    if (this.closed) throw new QuiverError('unavailable', 'the cluster store is closed');
  }
}

function failure(kind: 'unavailable' | 'commit_unknown', message: string, cause: unknown): QuiverError {
  return new QuiverError(kind, message, { cause, details: isQuiverError(cause) ? cause.details : {} });
}

function entryToChange(key: string, entry: StoreEntry | null): KeyValueChange {
  const bytes = Buffer.concat([Buffer.of(ENTRY_PREFIX), Buffer.from(key)]);
  if (entry === null) return { type: 'delete', key: bytes };
  return { type: 'put', key: bytes, value: Buffer.concat([revisionToBytes(entry.revision), Buffer.from(entry.value)]) };
}

function entryFromBytes({ key, value }: KeyValueEntry): StoreEntry {
  return { key: key.toString('utf8', 1), value: value.toString('utf8', 8), revision: revisionFromBytes(value) };
}

function revisionToBytes(revision: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(revision));
  return bytes;
}

/** Reads the first 8 bytes. Errors: storage_failed when there are fewer. */
function revisionFromBytes(bytes: Buffer): number {
  if (bytes.length < 8) throw new QuiverError('storage_failed', 'the cluster store holds a broken entry');
  return Number(bytes.readBigUInt64BE());
}
