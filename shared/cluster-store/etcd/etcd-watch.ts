import type { ClientDuplexStream } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { RetryBackoff } from '../../base/time/retry-backoff';
import type { StoreEntry, StoreEvent } from '../cluster-store';
import { isEtcdCallError } from './etcd-call-error';
import { entryFromKeyValue, eventFromMessage, prefixToRange } from './etcd-messages';
import type { WatchRequest, WatchResponse } from './etcd-protocol';
import type { EtcdTransport } from './etcd-transport';
import { WatchedKeys } from '../watched-keys';

type Stream = ClientDuplexStream<WatchRequest, WatchResponse>;

/** Why following the stream ended. `gap`: the changes after the last seen revision can't be replayed. */
type Ending = 'lost' | 'gap';

/**
 * How often the keys are compared with etcd's, one watch at another time than the next. Events are not lost, so this is
 * only to notice if they were.
 */
const COMPARE_EVERY_MS = 15 * 60_000;

/**
 * One watch of a prefix over etcd, which never ends by itself. After every loss it opens its stream again from the last
 * revision seen. Where etcd no longer has the changes since then (compaction, a restored backup), it reads all entries
 * and delivers the difference in one call.
 *
 *     knowing ──► following ──► lost ──► following (from the last revision)
 *                     └───────► gap ───► reading ──► following
 *
 * Nothing is read again while all is well. Instead, whoever owns the watch reads the store's revision now and then and
 * passes it to `confirm`: a stream that is not that far, and does not get there in time, counts as lost. After each
 * loss, and every quarter of an hour, the keys are compared with those that etcd had at the last revision seen. They
 * differ if the store was put back to an earlier state and has come as far again meanwhile.
 */
export class EtcdWatch {
  private readonly transport: EtcdTransport;
  private readonly prefix: string;
  private readonly listener: (events: StoreEvent[]) => void;
  private readonly backoff = new RetryBackoff();
  private readonly stopping = new AbortController();
  private stream: Stream | null = null;
  private seenRevision: number;
  /** Null until the keys have been read as of the first revision. */
  private keys: WatchedKeys | null;
  /** Another cluster than last time has another history. */
  private clusterId: string | null = null;
  /** Events collected from a message that etcd has split. */
  private fragments: StoreEvent[] = [];
  /** How far the store was when it last said anything over this stream. */
  private heardRevision = 0;
  /** Ends the present stream; null while there is none that etcd has confirmed. */
  private endStream: ((ending: Ending) => void) | null = null;
  private lag: NodeJS.Timeout | null = null;
  private compareAtMs = nextComparisonMs();
  private isComparing = false;
  private streams = 0;

  /** `known`: the entries under the prefix at `afterRevision`, if the caller has them already. */
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

  /** The prefix as a key, which whoever may watch may read. */
  get ownKey(): string {
    return this.prefix;
  }

  /** Every change up to this revision has been delivered. */
  get seen(): number {
    return this.seenRevision;
  }

  /** The store has come to `revision`, as a read said that began when `seen` was `before`. */
  confirm(revision: number, before: number): void {
    if (this.endStream === null || this.keys === null) return;
    // The store was put back.
    if (revision < before) return this.endStream('gap');
    if (this.heardRevision < revision) this.askHowFar(revision, this.endStream);
    if (performance.now() >= this.compareAtMs) void this.compare(this.keys, this.endStream);
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

  private async read(options: {
    revision?: number;
    keys_only?: boolean;
  }): Promise<{ entries: StoreEntry[]; revision: number }> {
    const request = { ...prefixToRange(this.prefix), ...options };
    const response = await this.transport.call('KV.Range', request, { repeatable: true });
    return { entries: response.kvs.map(entryFromKeyValue), revision: Number(response.header.revision) };
  }

  private askHowFar(revision: number, end: (ending: Ending) => void): void {
    if (this.lag !== null) return;
    this.lag = setTimeout(() => {
      this.lag = null;
      if (this.heardRevision < revision) end('lost');
    }, this.transport.callTimeoutMs);
    this.stream?.write({ progress_request: {} });
  }

  /** Ends the stream by `gap` if etcd has, or had at the last revision seen, other keys than are known here. */
  private async compare(keys: WatchedKeys, end: (ending: Ending) => void): Promise<void> {
    if (this.isComparing) return;
    this.isComparing = true;
    const seen = this.seenRevision;
    try {
      const entries = await this.keysAt(seen);
      // Otherwise something came meanwhile, and the next call compares.
      if (this.endStream !== end || this.seenRevision !== seen) return;
      this.compareAtMs = nextComparisonMs();
      if (!keys.equal(entries)) end('gap');
    } catch (error) {
      if (!isEtcdCallError(error)) throw error;
    } finally {
      this.isComparing = false;
    }
  }

  /** The keys at a revision, or at present if etcd does not have them of that time any more. */
  private async keysAt(revision: number): Promise<StoreEntry[]> {
    try {
      return (await this.read({ revision, keys_only: true })).entries;
    } catch (error) {
      if (!isEtcdCallError(error) || error.code !== status.OUT_OF_RANGE) throw error;
      return (await this.read({ keys_only: true })).entries;
    }
  }

  /** Resolves when the stream has ended. */
  private async follow(keys: WatchedKeys): Promise<Ending> {
    const stream = await this.transport.stream('Watch.Watch');
    this.stream = stream;
    this.fragments = [];
    this.heardRevision = 0;
    return new Promise((resolve) => {
      let isOver = false;
      const end = (ending: Ending): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(silence);
        if (this.lag !== null) clearTimeout(this.lag);
        this.lag = null;
        this.endStream = null;
        stream.removeListener('data', take);
        // Not within this callback: cancelling a stream while HTTP/2 delivers a frame or an end makes Node send for
        // ever (nodejs/node#39076).
        setImmediate(() => stream.cancel());
        resolve(ending);
      };
      const take = (response: WatchResponse): void => {
        if (response.created) {
          clearTimeout(silence);
          this.endStream = end;
        }
        const ending = this.isStopped ? 'lost' : this.take(response, keys);
        if (ending !== null) end(ending);
        else if (response.created && this.streams++ > 0) this.compareAtMs = 0;
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
    this.heardRevision = Number(response.header.revision);
    if (response.created) {
      const { cluster_id, revision } = response.header;
      const sameCluster = this.clusterId === null || this.clusterId === cluster_id;
      this.clusterId = cluster_id;
      // The member may lag behind, or the store may have been restored. Reading tells which: a read waits for the
      // newest revision.
      if (!sameCluster || Number(revision) < this.seenRevision) return 'gap';
      this.backoff.reset();
    }
    // An answer to how far the member is may come between two parts of a revision.
    if (response.events.length === 0) return null;
    this.fragments.push(...response.events.map(eventFromMessage));
    if (response.fragment) return null;
    const events = this.fragments;
    this.fragments = [];
    this.emitByRevision(keys, events);
    return null;
  }

  private emitByRevision(keys: WatchedKeys, events: StoreEvent[]): void {
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

/**
 * Anywhere between half and one and a half times later, by `performance.now()`, so that the members of a cluster don't
 * read at once.
 */
function nextComparisonMs(): number {
  return performance.now() + COMPARE_EVERY_MS * (0.5 + Math.random());
}
