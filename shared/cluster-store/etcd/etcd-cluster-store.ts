import assert from 'node:assert';
import { status } from '@grpc/grpc-js';
import { isQuiverError, QuiverError } from '../../base/errors/quiver-error';
import type { ClusterStore, Guard, StoreChange, StoreEntry, StoreEvent, TransactionResult } from '../cluster-store';
import { isEtcdCallError } from './etcd-call-error';
import {
  currentFromMessage,
  entryFromKeyValue,
  keyToRange,
  prefixToRange,
  transactionToMessage,
} from './etcd-messages';
import type { RangeRequest, RangeResponse } from './etcd-protocol';
import { EtcdSession } from './etcd-session';
import { type EtcdOptions, EtcdTransport } from './etcd-transport';
import { EtcdWatch } from './etcd-watch';
import type { SessionStore, StoreSession } from '../session-store';
import { WatchedKeys } from '../watched-keys';

/** How many prefixes have their last list remembered for a watch that follows. Each process watches about a dozen. */
const LISTS_KEPT = 32;

/** How often the watches are held against the revision of the store. */
const CONFIRM_EVERY_MS = 5_000;

interface RememberedList {
  revision: number;
  entries: readonly { key: string; revision: number }[];
}

/**
 * The ClusterStore of the cluster form, over etcd (API 3.4 or later), with sessions. Reads are linearizable. A
 * transaction is one etcd transaction, sent at most once. Nothing is cached. While etcd is away, calls fail at their
 * deadline; they work again when it is back.
 *
 * A watch never throws because its past is too old, and it survives every loss of etcd. Changes that it can't replay
 * are delivered as a difference, in a single call whose events have several revisions: first the keys that changed, by
 * revision, then the keys that were deleted. The difference is complete if the prefix was listed through this store
 * just before it was watched. Nothing is listed again by itself; watches are held against the revision of the store.
 *
 * Limits: no empty key, and at most 128 guards and 128 changes in a transaction (assertions); etcd accepts requests of
 * up to 1.5 MiB.
 */
export class EtcdClusterStore implements ClusterStore, SessionStore {
  private readonly transport: EtcdTransport;
  private readonly watches = new Set<EtcdWatch>();
  private readonly confirmEveryMs: number;
  private readonly lists = new Map<string, RememberedList>();
  private confirming: NodeJS.Timeout | null = null;
  private closed = false;

  /**
   * Connects at the first call; etcd may be away until then. Reads the certificate files, and throws if it can't.
   * `confirmEveryMs`: for tests.
   */
  constructor(options: EtcdOptions & { confirmEveryMs?: number }) {
    this.confirmEveryMs = options.confirmEveryMs ?? CONFIRM_EVERY_MS;
    this.transport = new EtcdTransport(options);
  }

  async get(key: string): Promise<StoreEntry | null> {
    const { kvs } = await this.range(keyToRange(key));
    return kvs.length === 0 ? null : entryFromKeyValue(kvs[0]);
  }

  async list(prefix: string): Promise<{ entries: StoreEntry[]; revision: number }> {
    const { kvs, header } = await this.range(prefixToRange(prefix));
    const entries = kvs.map(entryFromKeyValue);
    const revision = Number(header.revision);
    this.remember(prefix, {
      revision,
      entries: entries.map((entry) => ({ key: entry.key, revision: entry.revision })),
    });
    return { entries, revision };
  }

  async transact(guards: Guard[], changes: StoreChange[]): Promise<TransactionResult> {
    this.mustBeOpen();
    assert(new Set(changes.map((change) => change.key)).size === changes.length, 'a transaction changes a key once');
    // Any etcd member would answer an empty transaction from its own state, which may be old.
    if (guards.length === 0 && changes.length === 0)
      return { applied: true, revision: Number((await this.range(NO_KEY)).header.revision) };
    const request = transactionToMessage(guards, changes);
    try {
      const response = await this.transport.call('KV.Txn', request, { repeatable: changes.length === 0 });
      if (response.succeeded) return { applied: true, revision: Number(response.header.revision) };
      return { applied: false, current: currentFromMessage(response.responses) };
    } catch (error) {
      throw transactionError(error, changes.length > 0);
    }
  }

  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void {
    this.mustBeOpen();
    const listed = this.lists.get(prefix);
    const known = listed?.revision === afterRevision ? new WatchedKeys(listed.entries) : null;
    const watch = new EtcdWatch({ transport: this.transport, prefix, afterRevision, known, listener });
    this.watches.add(watch);
    this.confirming ??= setInterval(() => void this.confirm(), this.confirmEveryMs);
    return () => {
      watch.stop();
      this.watches.delete(watch);
    };
  }

  async openSession(options: { ttlSeconds: number }): Promise<StoreSession> {
    this.mustBeOpen();
    try {
      return await EtcdSession.open(this.transport, options);
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Calls under way fail. Sessions that are still open expire by themselves. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.confirming !== null) clearInterval(this.confirming);
    for (const watch of this.watches) watch.stop();
    this.transport.close();
  }

  /** One small read for all watches. */
  private async confirm(): Promise<void> {
    const seen = [...this.watches].map((watch) => ({ watch, before: watch.seen }));
    if (seen.length === 0) return;
    try {
      const revision = Number(
        (await this.range(seen[0].watch.ownKey === '' ? NO_KEY : keyToRange(seen[0].watch.ownKey))).header.revision,
      );
      for (const { watch, before } of seen) watch.confirm(revision, before);
    } catch (error) {
      // The watches find out by themselves that etcd is away.
      if (!isQuiverError(error)) throw error;
    }
  }

  private async range(request: RangeRequest): Promise<RangeResponse> {
    this.mustBeOpen();
    try {
      return await this.transport.call('KV.Range', request, { repeatable: true });
    } catch (error) {
      throw unavailable(error);
    }
  }

  private remember(prefix: string, list: RememberedList): void {
    this.lists.delete(prefix);
    this.lists.set(prefix, list);
    for (const oldest of this.lists.keys()) {
      if (this.lists.size <= LISTS_KEPT) break;
      this.lists.delete(oldest);
    }
  }

  private mustBeOpen(): void {
    if (this.closed) throw new QuiverError('unavailable', 'the cluster store is closed');
  }
}

/** Nobody's key: what is wanted of the answer is its header. */
const NO_KEY: RangeRequest = { key: Buffer.of(0) };

function transactionError(error: unknown, changing: boolean): unknown {
  if (!isEtcdCallError(error)) return error;
  if (error.outcome === 'unknown' && changing) {
    return new QuiverError('commit_unknown', 'the change may or may not have been stored', {
      cause: error,
      details: { status: error.code },
    });
  }
  if (error.code === status.NOT_FOUND) {
    return new QuiverError('unavailable', 'the session that the change is bound to has ended', {
      cause: error,
      details: { status: error.code },
    });
  }
  return unavailable(error);
}

function unavailable(error: unknown): unknown {
  if (!isEtcdCallError(error)) return error;
  const message =
    error.outcome === 'refused'
      ? 'the cluster state refuses the request'
      : 'the cluster state can not be reached at present';
  return new QuiverError('unavailable', message, { cause: error, details: { status: error.code } });
}
