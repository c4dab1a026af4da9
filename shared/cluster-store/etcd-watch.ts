import type { ClientDuplexStream } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { RetryBackoff } from '../time/retry-backoff';
import type { StoreEntry, StoreEvent } from './cluster-store';
import { isEtcdCallError } from './etcd-call-error';
import { entryFromKeyValue, eventFromMessage, prefixToRange } from './etcd-messages';
import type { WatchRequest, WatchResponse } from './etcd-protocol';
import type { EtcdTransport } from './etcd-transport';
import { WatchedKeys } from './watched-keys';

type Stream = ClientDuplexStream<WatchRequest, WatchResponse>;

/** Why following the stream ended. `gap`: the changes after the last seen revision can't be replayed. */
type Ending = 'lost' | 'gap';

/**
 * One watch of a prefix over etcd, which never ends by itself. After every loss it opens its stream again from the last
 * revision seen. Where etcd no longer has the changes since then (compaction, a restored backup), it reads all entries
 * and delivers the difference in one call.
 *
 *     knowing ──► following ──► lost ──► following (from the last revision)
 *                     └───────► gap ───► reading ──► following
 */
export class EtcdWatch {
  private readonly transport: EtcdTransport;
  private readonly prefix: string;
  private readonly listener: (events: StoreEvent[]) => void;
  private readonly backoff = new RetryBackoff();
  private readonly stopping = new AbortController();
  private stream: Stream | null = null;
  /** Every change up to this revision has been delivered. */
  private seenRevision: number;
  /** Null until the keys have been read as of the first revision. */
  private keys: WatchedKeys | null;
  /** Another cluster than last time has another history. */
  private clusterId: string | null = null;
  /** Events collected from a message that etcd has split. */
  private fragments: StoreEvent[] = [];

  /** `known`: the entries under the prefix at `afterRevision`, if the caller has them already. */
  constructor(options: { transport: EtcdTransport; prefix: string; afterRevision: number; known: WatchedKeys | null; listener: (events: StoreEvent[]) => void }) {
    this.transport = options.transport;
    this.prefix = options.prefix;
    this.seenRevision = options.afterRevision;
    this.keys = options.known;
    this.listener = options.listener;
    void this.run();
  }

  /** Nothing is delivered after this. */
  stop(): void {
    this.stopping.abort();
    const { stream } = this;
    setImmediate(() => stream?.cancel());
  }

  private get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      try {
        this.keys ??= await this.knownAtStart();
        if ((await this.follow(this.keys)) === 'gap') await this.catchUp(this.keys);
      } catch (error) {
        if (!isEtcdCallError(error)) throw error;
      }
      await this.backoff.pause(this.stopping.signal);
    }
  }

  /**
   * If etcd no longer has the first revision, keys that are older than it count as known. All changes since then are
   * delivered, except for keys that were deleted meanwhile: nothing here knows that they existed.
   */
  private async knownAtStart(): Promise<WatchedKeys> {
    if (this.seenRevision === 0) return new WatchedKeys();
    try {
      return new WatchedKeys((await this.read({ revision: this.seenRevision, keys_only: true })).entries);
    } catch (error) {
      if (!isEtcdCallError(error) || error.code !== status.OUT_OF_RANGE) throw error;
      const { entries } = await this.read({ keys_only: true });
      return new WatchedKeys(entries.filter((entry) => entry.revision <= this.seenRevision));
    }
  }

  private async catchUp(keys: WatchedKeys): Promise<void> {
    const { entries, revision } = await this.read({});
    if (this.isStopped) return;
    const events = keys.missed(entries, revision);
    this.seenRevision = revision;
    this.deliver(keys, events);
  }

  private async read(options: { revision?: number; keys_only?: boolean }): Promise<{ entries: StoreEntry[]; revision: number }> {
    const request = { ...prefixToRange(this.prefix), ...options };
    const response = await this.transport.call('KV.Range', request, { repeatable: true });
    return { entries: response.kvs.map(entryFromKeyValue), revision: Number(response.header.revision) };
  }

  /** Resolves when the stream has ended. */
  private async follow(keys: WatchedKeys): Promise<Ending> {
    const stream = await this.transport.stream('Watch.Watch');
    this.stream = stream;
    this.fragments = [];
    return new Promise((resolve) => {
      const end = (ending: Ending): void => {
        clearTimeout(silence);
        stream.removeListener('data', take);
        // Not within this callback: cancelling a stream while HTTP/2 delivers a frame or an end makes Node send for
        // ever (nodejs/node#39076).
        setImmediate(() => stream.cancel());
        resolve(ending);
      };
      const take = (response: WatchResponse): void => {
        if (response.created) clearTimeout(silence);
        const ending = this.isStopped ? 'lost' : this.take(response, keys);
        if (ending !== null) end(ending);
      };
      // A member that accepts the stream but never confirms the watch counts as lost.
      const silence = setTimeout(() => end('lost'), this.transport.callTimeoutMs);
      stream.on('data', take);
      stream.on('error', () => end('lost'));
      stream.on('end', () => end('lost'));
      if (this.isStopped) return end('lost');
      const { key, range_end } = prefixToRange(this.prefix);
      // Starts at the last revision seen, not after it: when etcd was compacted at exactly the first revision asked
      // for, older versions silently leave out the deletes of that revision (etcd issue 18089). 0 would mean "from now
      // on", hence at least 1.
      stream.write({ create_request: { key, range_end, start_revision: Math.max(1, this.seenRevision) } });
    });
  }

  /** Answers null to continue. */
  private take(response: WatchResponse, keys: WatchedKeys): Ending | null {
    if (response.canceled) {
      if (Number(response.compact_revision) > 0) return 'gap';
      this.transport.forgetToken();
      return 'lost';
    }
    if (response.created) {
      const { cluster_id, revision } = response.header;
      const sameCluster = this.clusterId === null || this.clusterId === cluster_id;
      this.clusterId = cluster_id;
      // The member may lag behind, or the store may have been restored. Reading tells which: a read waits for the
      // newest revision.
      if (!sameCluster || Number(revision) < this.seenRevision) return 'gap';
      this.backoff.reset();
    }
    this.fragments.push(...response.events.map(eventFromMessage));
    if (response.fragment) return null;
    const events = this.fragments;
    this.fragments = [];
    this.tellByRevision(keys, events);
    return null;
  }

  private tellByRevision(keys: WatchedKeys, events: StoreEvent[]): void {
    const byRevision = new Map<number, StoreEvent[]>();
    for (const event of events) {
      if (event.revision <= this.seenRevision) continue;
      const sameRevision = byRevision.get(event.revision);
      if (sameRevision === undefined) byRevision.set(event.revision, [event]);
      else sameRevision.push(event);
    }
    for (const [revision, together] of byRevision) {
      this.seenRevision = revision;
      this.deliver(keys, together);
    }
  }

  private deliver(keys: WatchedKeys, events: StoreEvent[]): void {
    keys.apply(events);
    if (this.isStopped || events.length === 0) return;
    try {
      this.listener(events);
    } catch (error) {
      // The listener threw. Rethrow it outside the watch, so that the error surfaces and the watch goes on.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
