import { outcomesFromBytes } from '../../shared/rpc/outcome-codec';
import { operationsToBytes } from '../../shared/shard/operation-codec';
import type { InlineSearches } from '../../shared/shard/inline-search';
import type { CallOptions, ShardClient, ShardId } from '../../shared/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf, VectorSearch } from '../../shared/shard/shard-read';
import type { Clock } from '../../shared/time/clock';
import type { CollectionEmbedder } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import { DeepReads } from '../routing/deep-reads';
import { ScatterGather } from '../routing/scatter-gather';
import { StampClock } from '../routing/stamp-clock';
import type { SearchObserver } from '../search/search-observer';
import { ShardedSearchService } from '../search/sharded-search-service';
import type { CollectionsService, DocumentsService, Service } from '../service';
import { ShardedVectorsService } from '../vectors/sharded-vectors-service';
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
  const shared = { catalog, embedder, shards: frontShards({ main, inline, clock }), scatter, deep: new DeepReads(), clock };
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

function frontShards({ main, inline, clock }: { main: ThreadPeer; inline: InlineSearches | null; clock: Clock }): Pick<ShardClient, 'read' | 'write'> {
  // The clocks of two threads start at different times.
  const leftMs = (call: CallOptions): number => call.deadlineMs - clock.monotonicMs();
  return {
    read<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: CallOptions): Promise<AnswerOf<Kind>> {
      if (kind === 'search' && inline !== null) {
        const found = inline.search(id, request as VectorSearch);
        if (found !== null) return Promise.resolve(found as AnswerOf<Kind>);
      }
      return main.ask('shards.read', id, kind, request, leftMs(call));
    },
    // One buffer goes over, instead of thousands of objects that would be copied one by one.
    write: async (id, operations, call) => outcomesFromBytes(await main.hand<Uint8Array>('shards.write', operationsToBytes(operations), id, leftMs(call))),
  };
}

function frontDocuments(main: ThreadPeer): DocumentsService {
  return {
    async upload(collection, { name, content }) {
      const file = new NotedFailure(content);
      try {
        return await main.ask('documents.upload', collection, { name, stream: main.offer(file) });
      } catch (error) {
        // What failed here came back as a copy.
        throw file.error ?? error;
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
