import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import type { Filter } from '../../shared/filter/filter';
import type { CallOptions, ItemOperation, ShardClient, UpsertOperation, WriteOutcome } from '../../shared/shard/shard-client';
import type { StoredItem } from '../../shared/shard/shard-read';
import type { Clock } from '../../shared/time/clock';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionEmbedder } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import { type DeepReads, HITS_PER_ITEM } from '../routing/deep-reads';
import type { ScatterGather } from '../routing/scatter-gather';
import { groupByShard, inCallOrder } from '../routing/shard-router';
import { ShardSets } from '../routing/shard-sets';
import type { StampClock } from '../routing/stamp-clock';
import type { CollectionsService, CollectionView, VectorInput, VectorsService, VectorView, WriteTiming } from '../service';
import { checkDimension } from './dimension-check';
import { deleteMatching } from './filtered-delete';
import { InsertionOrderReader } from './insertion-order-reader';
import { cursorFromPosition, positionFromCursor, type ScrollPosition } from './scroll-cursor';

/** Vector bytes in one page of an export over all shards: large enough for few round trips, small enough for memory. */
const EXPORT_PAGE_BYTES = 4 * 1024 * 1024;
/** Items in one page of an export over all shards: vectors may be short while metadata are long. */
const EXPORT_PAGE_ITEMS_MAX = 1000;

/** Stores, deletes and reads items: each goes to the shard of its external_id. */
export class ShardedVectorsService implements VectorsService {
  private readonly catalog: Pick<CollectionCatalog, 'known' | 'find'>;
  private readonly collections: Pick<CollectionsService, 'get'>;
  private readonly embedder: Pick<CollectionEmbedder, 'embedPassages'>;
  private readonly shards: Pick<ShardClient, 'read' | 'write'>;
  private readonly scatter: ScatterGather;
  private readonly sets: ShardSets<CollectionRecord>;
  private readonly deep: Pick<DeepReads, 'run'>;
  private readonly stamps: StampClock;
  private readonly clock: Clock;

  constructor(options: {
    catalog: Pick<CollectionCatalog, 'known' | 'find'>;
    collections: Pick<CollectionsService, 'get'>;
    embedder: Pick<CollectionEmbedder, 'embedPassages'>;
    shards: Pick<ShardClient, 'read' | 'write'>;
    scatter: ScatterGather;
    deep: Pick<DeepReads, 'run'>;
    stamps: StampClock;
    clock: Clock;
  }) {
    this.catalog = options.catalog;
    this.collections = options.collections;
    this.embedder = options.embedder;
    this.shards = options.shards;
    this.scatter = options.scatter;
    this.sets = new ShardSets(options);
    this.deep = options.deep;
    this.stamps = options.stamps;
    this.clock = options.clock;
  }

  async upsert(name: string, items: VectorInput[]): Promise<{ statuses: ('inserted' | 'updated')[]; timing: WriteTiming }> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const texts: string[] = [];
    for (let i = 0; i < items.length; i += 1) {
      const { externalId, source } = items[i];
      if (source.vector === undefined) texts.push(source.text);
      else checkDimension(collection, source.vector, `the vector of items[${i}] (external_id ${JSON.stringify(externalId)})`);
    }
    const embedded = texts.length === 0 ? [] : await this.embedder.embedPassages(collection, texts);
    // Where nothing is embedded, that takes exactly 0.
    const embeddedMs = texts.length === 0 ? startMs : this.clock.monotonicMs();
    const outcomes = items.length === 0 ? [] : await this.write(collection, this.upsertsOf(items, embedded), call);
    const endMs = this.clock.monotonicMs();
    return {
      statuses: outcomes as ('inserted' | 'updated')[],
      timing: { embeddingMs: embeddedMs - startMs, storageMs: endMs - embeddedMs, totalMs: endMs - startMs },
    };
  }

  async delete(name: string, externalIds: string[]): Promise<{ deleted: string[]; notFound: string[] }> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const distinct = [...new Set(externalIds)];
    const outcomes = await this.write(
      collection,
      distinct.map((externalId) => ({ type: 'delete', externalId })),
      call,
    );
    return {
      deleted: distinct.filter((_, i) => outcomes[i] === 'deleted'),
      notFound: distinct.filter((_, i) => outcomes[i] !== 'deleted'),
    };
  }

  async deleteByFilter(name: string, filter: Filter): Promise<{ deletedCount: number }> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    return { deletedCount: await deleteMatching({ shards: this.shards, scatter: this.scatter, sets: this.sets }, collection, filter, call) };
  }

  async fetch(name: string, externalIds: string[], options: { vectors: boolean }): Promise<VectorView[]> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    if (externalIds.length === 0) return [];
    const found = await this.sets.inOne(collection, call, async (current) => {
      const groups = groupByShard(externalIds, current.shards, (externalId) => externalId);
      const answers = await this.scatter.read(
        current,
        groups.map((group) => group.shard),
        call,
        (id, i) => this.shards.read(id, 'fetch', { externalIds: groups[i].items, vectors: options.vectors }, call),
      );
      return inCallOrder(groups, answers);
    });
    return found.filter((item) => item !== null).map(viewOf);
  }

  async scroll(name: string, page: { cursor: string | null; limit: number; filter: Filter | null; vectors: boolean }): Promise<{ vectors: VectorView[]; nextCursor: string | null }> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const after = page.cursor === null ? null : positionFromCursor(collection.identity, page.cursor);
    return this.sets.inOne(collection, call, async (current) => {
      // One more than requested shows whether there is a next page.
      const pageItems = itemsPerShard(page.limit + 1, current.shards);
      const reader = this.readerOf(current, { after, pageItems, filter: page.filter, vectors: page.vectors }, () => call);
      const items = await reader.take(page.limit);
      const last = items.at(-1);
      const nextCursor = last === undefined || (await reader.atEnd()) ? null : cursorFromPosition(current.identity, last);
      return { vectors: items.map(viewOf), nextCursor };
    });
  }

  /** Each page has a deadline of its own, because a slow reader may take its time between them. */
  async export(name: string, limit: number): Promise<{ collection: CollectionView; pages: AsyncIterable<VectorView[]> }> {
    const collection = await this.catalog.find(name);
    const view = await this.collections.get(name);
    const pageLimit = Math.max(1, Math.min(limit, EXPORT_PAGE_ITEMS_MAX, Math.floor(EXPORT_PAGE_BYTES / (collection.dim * Float32Array.BYTES_PER_ELEMENT))));
    return { collection: view, pages: this.pagesOf(collection, limit, pageLimit) };
  }

  /** An export whose shards are replaced meanwhile continues with the new ones after the last item that it gave: places in the insertion order stay. */
  private async *pagesOf(collection: CollectionRecord, limit: number, pageLimit: number): AsyncGenerator<VectorView[]> {
    let current = collection;
    let after: ScrollPosition | null = null;
    let reader: InsertionOrderReader | null = null;
    for (let left = limit; left > 0;) {
      const wanted = Math.min(left, pageLimit);
      const items: StoredItem[] = await this.sets.inOne(current, this.scatter.begin(), async (now) => {
        // What one had taken when it failed is lost with it: another begins after what was given.
        const present = (now === current ? reader : null) ?? this.readerOf(now, { after, pageItems: itemsPerShard(pageLimit, now.shards), filter: null, vectors: true }, () => this.scatter.begin());
        reader = null;
        current = now;
        const taken = await present.take(wanted);
        reader = present;
        return taken;
      });
      const last = items.at(-1);
      if (last === undefined) return;
      after = { stamp: last.stamp, externalId: last.externalId };
      left -= items.length;
      yield items.map(viewOf);
    }
  }

  private upsertsOf(items: VectorInput[], embedded: Float32Array[]): UpsertOperation[] {
    const firstStamp = this.stamps.reserve(items.length);
    let nextEmbedded = 0;
    return items.map((item, i) => ({
      type: 'upsert',
      externalId: item.externalId,
      vector: item.source.vector ?? embedded[nextEmbedded++],
      stamp: firstStamp + i,
      metadata: item.metadata,
      text: item.text ?? item.source.text,
    }));
  }

  private async write(collection: CollectionRecord, operations: ItemOperation[], call: CallOptions): Promise<WriteOutcome[]> {
    if (operations.length === 0) return [];
    const outcomes = await this.writeTo(collection, operations, call);
    return outcomes.includes('refused') ? this.writeRefused(collection, operations, outcomes, call) : outcomes;
  }

  private async writeTo(collection: CollectionRecord, operations: ItemOperation[], call: CallOptions): Promise<WriteOutcome[]> {
    const groups = groupByShard(operations, collection.shards, (operation) => operation.externalId);
    const answers = await this.scatter.write(
      collection,
      groups.map((group) => group.shard),
      call,
      (id, i) => this.shards.write(id, groups[i].items, call),
    );
    return inCallOrder(groups, answers);
  }

  /**
   * Shards that are about to be replaced refused some of the operations, without doing anything of them: those, and only
   * those, go to the shards that replace them. Errors: commit_unknown, when that did not succeed in time and others were done.
   */
  private async writeRefused(collection: CollectionRecord, operations: ItemOperation[], outcomes: WriteOutcome[], call: CallOptions): Promise<WriteOutcome[]> {
    let current = collection;
    let refused = outcomes.flatMap((outcome, i) => (outcome === 'refused' ? [i] : []));
    for (let attempt = 0; refused.length > 0; attempt += 1) {
      const isPart = refused.length < outcomes.length;
      if (this.clock.monotonicMs() >= call.deadlineMs) throw inNoSet(collection, isPart);
      current = await this.sets.next(current, call, attempt);
      const again = await this.writeTo(
        current,
        refused.map((i) => operations[i]),
        call,
      ).catch((error: unknown) => {
        throw isPart ? partlyWritten(error) : error;
      });
      again.forEach((outcome, n) => (outcomes[refused[n]] = outcome));
      refused = refused.filter((_, n) => again[n] === 'refused');
    }
    return outcomes;
  }

  private readerOf(
    collection: CollectionRecord,
    request: { after: ScrollPosition | null; pageItems: number; filter: Filter | null; vectors: boolean },
    begin: () => CallOptions,
  ): InsertionOrderReader {
    const { filter, vectors } = request;
    return new InsertionOrderReader({
      shards: collection.shards,
      after: request.after,
      pageItems: request.pageItems,
      readPages: (positions, limit) => {
        const call = begin();
        return this.deep.run(positions.length * limit * HITS_PER_ITEM, call, () =>
          this.scatter.read(
            collection,
            positions.map((position) => position.shard),
            call,
            (id, i) => this.shards.read(id, 'scan', { after: positions[i].after, limit, filter, vectors }, call),
          ),
        );
      },
    });
  }
}

/**
 * Items to read from each shard for a page of `limit`. Ids are spread by a hash, so one and a half times the average
 * and a few more are seldom too few; if they are, reading on costs one more round.
 */
function itemsPerShard(limit: number, shardCount: number): number {
  return Math.min(limit, Math.ceil((limit / shardCount) * 1.5) + 4);
}

function inNoSet({ name }: CollectionRecord, isPart: boolean): QuiverError {
  const message = `collection "${name}" is changing its number of shards, and did not take the write in time`;
  return new QuiverError(isPart ? 'commit_unknown' : 'unavailable', `${message}; ${isPart ? 'it may have been applied in part, and ' : ''}the call may be retried`);
}

/** What says that nothing was written is not true of the whole call. */
function partlyWritten(error: unknown): unknown {
  if (!isQuiverError(error) || error.kind === 'not_found') return error;
  return new QuiverError('commit_unknown', `${error.message}; the write may have been applied in part, and the call may be retried`, { cause: error });
}

function viewOf(item: StoredItem): VectorView {
  const { externalId, metadata, text } = item;
  return item.vector === undefined ? { externalId, metadata, text } : { externalId, vector: item.vector, metadata, text };
}
