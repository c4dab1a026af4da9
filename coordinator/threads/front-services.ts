import { outcomesFromBytes } from '../../shared/rpc/outcome-codec';
import { operationsToBytesInSteps } from '../../shared/shard/operation-codec';
import type { InlineSearches } from '../../shared/shard/inline-search';
import type { CallOptions, ShardClient, ShardId, WriteOperation, WriteOutcome } from '../../shared/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf, VectorSearch } from '../../shared/shard/shard-read';
import type { Clock } from '../../shared/time/clock';
import { inSlices } from '../../shared/time/work-slices';
import type { CollectionEmbedder } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import { TURN_MS, Turns } from '../http/turns';
import { DeepReads } from '../routing/deep-reads';
import { ScatterGather } from '../routing/scatter-gather';
import { StampClock } from '../routing/stamp-clock';
import type { SearchObserver } from '../search/search-observer';
import { ShardedSearchService } from '../search/sharded-search-service';
import type { CollectionsService, DocumentsService, Service } from '../service';
import { ShardedVectorsService } from '../vectors/sharded-vectors-service';
import { sharedMs } from './front-state';
import { remote, type ThreadPeer } from './thread-peer';

/**
 * The use cases on a front thread. Searches, reads and writes of vectors run here: searches on the shards' shared memory
 * where that is enough; else the main thread does each shard's part. Collections and documents are the main thread's.
 */
export function frontServices(parts: { main: ThreadPeer; inline: InlineSearches | null; clock: Clock; requestTimeoutMs: number; stampMemory: BigInt64Array; observer: SearchObserver }): {
  service: Service;
  catalog: FrontCatalog;
} {
  const { main, inline, clock } = parts;
  const catalog = new FrontCatalog(main);
  const collections = remote<CollectionsService>(main, 'collections');
  const scatter = new ScatterGather({ clock, timeoutMs: parts.requestTimeoutMs, exists: ({ name, uid }) => main.ask('catalog.has', { name, uid }) });
  const embedder: Pick<CollectionEmbedder, 'embedQueries' | 'embedPassages'> = {
    embedQueries: ({ name, uid }, texts) => main.ask('embedder.embedQueries', { name, uid }, texts),
    embedPassages: ({ name, uid }, texts) => main.ask('embedder.embedPassages', { name, uid }, texts),
  };
  const shared = { catalog, embedder, shards: new FrontShards({ main, inline, clock }), scatter, deep: new DeepReads(), clock };
  const search = new ShardedSearchService({ ...shared, observer: parts.observer });
  const vectors = new ShardedVectorsService({ ...shared, collections, stamps: new StampClock({ clock, last: parts.stampMemory }) });
  return { catalog, service: { search, vectors, collections, documents: frontDocuments(main) } };
}

/**
 * The collections that calls of this thread have met. The main thread says which of them have changed, before it
 * answers whoever changed them.
 */
export class FrontCatalog {
  private readonly records = new Map<string, CollectionRecord>();
  private changes = 0;

  constructor(private readonly main: Pick<ThreadPeer, 'ask'>) {}

  known(name: string): CollectionRecord | null {
    return this.records.get(name) ?? null;
  }

  /** Errors: not_found. */
  async find(name: string): Promise<CollectionRecord> {
    const { changes } = this;
    const record = await this.main.ask<CollectionRecord>('catalog.find', name);
    // An answer may be older than a change that was told meanwhile.
    if (changes === this.changes) this.records.set(name, record);
    return record;
  }

  forget(name: string): void {
    this.changes += 1;
    this.records.delete(name);
  }
}

/**
 * The shards on a front thread. Vectors are searched here, in the shards' shared memory, where that is enough. Searches
 * here occupy the thread, so after some milliseconds of them in one round of the event loop, further ones wait for turns.
 */
export class FrontShards implements Pick<ShardClient, 'read' | 'write'> {
  private readonly main: Pick<ThreadPeer, 'ask' | 'hand'>;
  private readonly inline: InlineSearches | null;
  private readonly clock: Clock;
  private readonly turns = new Turns();
  /** Time of searches in this round of the event loop. */
  private spentMs = 0;

  constructor(parts: { main: Pick<ThreadPeer, 'ask' | 'hand'>; inline: InlineSearches | null; clock: Clock }) {
    this.main = parts.main;
    this.inline = parts.inline;
    this.clock = parts.clock;
  }

  read<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: CallOptions): Promise<AnswerOf<Kind>> {
    if (kind !== 'search' || this.inline === null) return this.ask(id, kind, request, call);
    if (this.spentMs < TURN_MS) return this.search(id, kind, request, call);
    return this.turns.next().then(() => this.search(id, kind, request, call));
  }

  /** One buffer goes over, instead of thousands of objects that would be copied one by one. */
  async write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteOutcome[]> {
    const bytes = await inSlices(operationsToBytesInSteps(operations));
    return outcomesFromBytes(await this.main.hand<Uint8Array>('shards.write', bytes, id, this.deadlineOf(call)));
  }

  private async search<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: CallOptions): Promise<AnswerOf<Kind>> {
    const startMs = this.clock.monotonicMs();
    const found = this.inline?.search(id, request as VectorSearch) ?? null;
    if (this.spentMs === 0) setImmediate(() => (this.spentMs = 0));
    this.spentMs += this.clock.monotonicMs() - startMs;
    return found === null ? this.ask(id, kind, request, call) : (found as AnswerOf<Kind>);
  }

  private async ask<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: CallOptions): Promise<AnswerOf<Kind>> {
    // A thread takes all messages that are there in one go, and what they carry is copied then: long ones come one by one.
    if (isLong(request)) await this.main.ask('turn');
    return this.main.ask('shards.read', id, kind, withOwnVector(request), this.deadlineOf(call));
  }

  /** By the clock that all threads share: what waits for the main thread has no more time than it had here. */
  private deadlineOf(call: CallOptions): number {
    return sharedMs() + call.deadlineMs - this.clock.monotonicMs();
  }
}

/** Parts of a request beyond which it waits for its turn: copying so many takes some hundred microseconds. */
const SHORT_PARTS_MAX = 512;
/** A text counts as one part for each so many characters. */
const PART_CHARACTERS = 256;

function isLong(request: unknown): boolean {
  return partsLeft(request, SHORT_PARTS_MAX) < 0;
}

/** `left` less the parts of the value, as far as they are counted: negative if it has more. */
function partsLeft(value: unknown, left: number): number {
  if (typeof value === 'string') return left - 1 - value.length / PART_CHARACTERS;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return left - 1;
  let rest = left - 1;
  for (const name in value) {
    if (rest < 0) return rest;
    rest = partsLeft((value as Record<string, unknown>)[name], rest - name.length / PART_CHARACTERS);
  }
  return rest;
}

/** The request with a vector in memory of its own. One from a body is a view of all vectors there, which would all be copied. */
function withOwnVector<Request>(request: Request): Request {
  const { vector } = (request ?? {}) as { vector?: unknown };
  if (!(vector instanceof Float32Array) || vector.byteLength === vector.buffer.byteLength) return request;
  return { ...request, vector: vector.slice() };
}

function frontDocuments(main: ThreadPeer): DocumentsService {
  return {
    async upload(collection, { name, content }) {
      const file = new NotedFailure(content);
      const stream = main.offer(file);
      try {
        return await main.ask('documents.upload', collection, { name, stream });
      } catch (error) {
        // What failed here came back as a copy.
        throw file.error ?? error;
      } finally {
        main.withdraw(stream);
      }
    },
  };
}

/** A file on its way, which remembers why it broke off. */
class NotedFailure implements AsyncIterable<Uint8Array> {
  error: unknown = null;

  constructor(private readonly content: AsyncIterable<Buffer>) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      // A piece is a view of a larger buffer, all of which would be copied to the other thread.
      for await (const piece of this.content) yield Uint8Array.prototype.slice.call(piece);
    } catch (error) {
      this.error = error;
      throw error;
    }
  }
}
