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

/** Why following the stream ended: `gap`: what comes after the last seen revision can't be replayed. */
type Ending = 'lost' | 'gap';

/**
 * One watch of a prefix over etcd, which never ends by itself: it opens its stream again after every loss, from the
 * last revision seen, and where etcd has forgotten the changes since (compaction, a restored backup) it reads all there
 * is and tells the difference in one call.
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
  /** Everything up to this revision has been told. */
  private seenRevision: number;
  /** Null until it is read as of the first revision. */
  private keys: WatchedKeys | null;
  /** Another cluster than the last time replays another past. */
  private clusterId: string | null = null;
  /** Events of a message that etcd has split. */
  private fragments: StoreEvent[] = [];

  /** `known`: the entries under the prefix at `afterRevision`, where the caller has them already. */
  constructor(options: {
    transport: EtcdTransport;
    prefix: string;
    afterRevision: number;
    known: WatchedKeys | null;
    listener: (events: StoreEvent[]) => void;
  }) {
    this.transport = options.transport;
    this.prefix = options.prefix;
    this.seenRevision = options.afterRevision;
    this.keys = options.known;
    this.listener = options.listener;
    void this.run();
  }

  /** Nothing is told after this. */
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
   * Where even the first revision is forgotten, what is older than it counts as known: all that came since is told, but
   * keys that vanished meanwhile were never heard of here.
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
    this.tell(keys, events);
  }

  private async read(options: { revision?: number; keys_only?: boolean }): Promise<{ entries: StoreEntry[]; revision: number }> {
    const request = { ...prefixToRange(this.prefix), ...options };
    const response = await this.transport.call('KV.Range', request, { repeatable: true });
    return { entries: response.kvs.map(entryFromKeyValue), revision: Number(response.header.revision) };
  }

  /** Resolves when the stream is over. */
  private async follow(keys: WatchedKeys): Promise<Ending> {
    const stream = await this.transport.stream('Watch.Watch');
    this.stream = stream;
    this.fragments = [];
    return new Promise((resolve) => {
      const end = (ending: Ending): void => {
        clearTimeout(silence);
        stream.removeListener('data', take);
        // In a turn of its own: within the callback that brings a frame or an end, Node's HTTP/2 sends for ever (nodejs/node#39076).
        setImmediate(() => stream.cancel());
        resolve(ending);
      };
      const take = (response: WatchResponse): void => {
        if (response.created) clearTimeout(silence);
        const ending = this.isStopped ? 'lost' : this.take(response, keys);
        if (ending !== null) end(ending);
      };
      /* A member that takes the stream but never confirms the watch is as good as away. */
      const silence = setTimeout(() => end('lost'), this.transport.callTimeoutMs);
      stream.on('data', take);
      stream.on('error', () => end('lost'));
      stream.on('end', () => end('lost'));
      if (this.isStopped) return end('lost');
      const { key, range_end } = prefixToRange(this.prefix);
      /*
       * Begins with the last one seen: after a compaction at exactly the first revision asked for, older etcds leave out
       * that revision's deletes without a word (etcd issue 18089). Zero would mean: from now on.
       */
      stream.write({ create_request: { key, range_end, start_revision: Math.max(1, this.seenRevision) } });
    });
  }

  /** Null: go on. */
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
      /* A member may lag behind, which reading tells from a store that was put back: it waits for the newest. */
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
      this.tell(keys, together);
    }
  }

  private tell(keys: WatchedKeys, events: StoreEvent[]): void {
    keys.apply(events);
    if (this.isStopped || events.length === 0) return;
    try {
      this.listener(events);
    } catch (error) {
      /* A fault of the listener's program: it surfaces, and costs the watch none of what follows. */
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
