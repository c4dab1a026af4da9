import type { Filter } from '../../../shared/contract/filter/filter';
import type { CallOptions, ShardClient, ShardId } from '../../../shared/contract/shard/shard-client';
import type { ScanRequest, StoredItem } from '../../../shared/contract/shard/shard-read';
import type { CollectionRecord } from '../collections/collection-record';
import { type AnswerHold, countedElsewhere } from '../answer-hold';
import { CHUNK_INDEX, DOCUMENT_ID } from '../documents/chunk-paths';
import { chunkId } from '../documents/document-chunks';
import { type DeepReads, HITS_PER_ITEM } from '../routing/deep-reads';
import type { ScatterGather } from '../routing/scatter-gather';
import type { ShardSets } from '../routing/shard-sets';
import type { HitContext } from '../service';
import { isLastPage } from '../vectors/insertion-order-reader';
import type { OrderedItems } from '../vectors/ordered-items';
import {
  chunkPlaceOf,
  type ChunkText,
  type ChunkWindow,
  CONTEXT_CHARACTERS_MAX,
  contextOf,
  indexesOf,
  ownerKey,
  WINDOW_CHUNKS_MAX,
} from './chunk-windows';

/** Bytes that all shards together answer with at once, and each of them at least. */
const ROUND_BYTES = 512 * 1024;
const SHARD_BYTES_MIN = 32 * 1024;
/** Items that a scan asks for at least: some that pass the filter may be no chunks. */
const SCAN_MIN = 16;

/** The contexts that were read, by their windows. */
export type ReadContexts = Map<ChunkWindow, HitContext | null>;

interface ReadParts {
  collection: CollectionRecord;
  begin: () => CallOptions;
  hold: AnswerHold;
}

/** A chunk that a shard has. Of several with one index, the first inserted counts. */
interface FoundChunk extends ChunkText {
  stamp: number;
}

/**
 * Reads the chunks of windows: those of uploads by their ids, others by a filter on their metadata. Each way asks each
 * shard once, unless the texts are long.
 */
export class ChunkReader {
  constructor(
    private readonly parts: {
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      sets: ShardSets<CollectionRecord>;
      deep: Pick<DeepReads, 'run'>;
      ordered: OrderedItems<CollectionRecord>;
    },
  ) {}

  /** The contexts of the first windows of each kind, one at least, until they are long. Errors: those of the shards. */
  async read(windows: readonly ChunkWindow[], call: ReadParts): Promise<ReadContexts> {
    const contexts: ReadContexts = new Map();
    const named = windows.filter(({ isNamed }) => isNamed);
    const others = windows.filter(({ isNamed }) => !isNamed);
    await Promise.all([
      named.length > 0 && this.readNamed(named, contexts, call),
      others.length > 0 && this.readOthers(others, contexts, call),
    ]);
    return contexts;
  }

  private async readNamed(
    windows: readonly ChunkWindow[],
    contexts: ReadContexts,
    { collection, begin, hold }: ReadParts,
  ): Promise<void> {
    const places = windows.flatMap((window) => indexesOf(window).map((index) => ({ window, index })));
    const ids = places.map(({ window, index }) => chunkId(window.documentId as string, index));
    const wanted = { vectors: false, texts: true };
    let next = 0;
    let characters = 0;
    let chunks: ChunkText[] = [];
    for await (const items of this.parts.ordered.read(collection, ids, wanted, {
      begin,
      hold: countedElsewhere(hold),
    })) {
      for (const item of items) {
        const { window, index } = places[next++];
        if (item !== null && chunkPlaceOf(item.externalId, item.metadata)?.isNamed === true)
          chunks.push({ index, externalId: item.externalId, text: item.text ?? '' });
        if (index !== window.to) continue;
        const context = contextOf(chunks);
        contexts.set(window, context);
        characters += context?.text.length ?? 0;
        chunks = [];
      }
      if (characters >= CONTEXT_CHARACTERS_MAX) return;
    }
  }

  private async readOthers(
    windows: readonly ChunkWindow[],
    contexts: ReadContexts,
    { collection, begin }: ReadParts,
  ): Promise<void> {
    let characters = 0;
    for (let from = 0; from < windows.length && characters < CONTEXT_CHARACTERS_MAX;) {
      const some = firstOf(windows.slice(from), WINDOW_CHUNKS_MAX);
      from += some.length;
      const found = await this.scanned(collection, some, begin());
      for (const window of some) {
        const chunks = indexesOf(window).flatMap((index) => found.get(placeKey(window, index)) ?? []);
        const context = contextOf(chunks);
        contexts.set(window, context);
        characters += context?.text.length ?? 0;
      }
    }
  }

  /** The chunks of windows, by their {@link placeKey}s. */
  private async scanned(
    collection: CollectionRecord,
    windows: readonly ChunkWindow[],
    call: CallOptions,
  ): Promise<Map<string, FoundChunk>> {
    const { scatter, sets, deep } = this.parts;
    const count = windows.reduce((sum, { from, to }) => sum + to - from + 1, 0);
    const found = await deep.run(count * HITS_PER_ITEM, call, () =>
      sets.inOne(collection, call, (current) => {
        const bytesMax = Math.max(SHARD_BYTES_MIN, Math.floor(ROUND_BYTES / current.shards));
        return scatter.readAll(current, call, (id) => this.ofShard(id, windows, bytesMax, call));
      }),
    );
    const first = new Map<string, FoundChunk>();
    for (const [key, chunk] of found.flatMap((chunks) => [...chunks])) {
      const known = first.get(key);
      if (known === undefined || isBefore(chunk, known)) first.set(key, chunk);
    }
    return first;
  }

  /** What a shard has of them. Once a place is found, no other item with the same is asked for. */
  private async ofShard(
    id: ShardId,
    windows: readonly ChunkWindow[],
    bytesMax: number,
    call: CallOptions,
  ): Promise<Map<string, FoundChunk>> {
    const found = new Map<string, FoundChunk>();
    let after: { stamp: number; externalId: string } | null = null;
    for (;;) {
      const left = windows.map((window) => ({
        window,
        indexes: indexesOf(window).filter((index) => !found.has(placeKey(window, index))),
      }));
      const wanted = left.filter(({ indexes }) => indexes.length > 0);
      const count = wanted.reduce((sum, { indexes }) => sum + indexes.length, 0);
      if (count === 0) return found;
      const limit = Math.max(SCAN_MIN, count);
      const filter = filterOf(wanted);
      const request: ScanRequest = { after, limit, filter, vectors: false, texts: true, bytesMax };
      const items: StoredItem[] = await this.parts.shards.read(id, 'scan', request, call);
      const keys = new Set(wanted.flatMap(({ window, indexes }) => indexes.map((index) => placeKey(window, index))));
      for (const { externalId, stamp, metadata, text } of items) {
        const place = chunkPlaceOf(externalId, metadata);
        // An upload of that name is another document, which would be found in place of the hit itself.
        if (place === null || place.isNamed) continue;
        const key = placeKey(place, place.index);
        if (keys.has(key) && !found.has(key))
          found.set(key, { index: place.index, text: text ?? '', stamp, externalId });
      }
      if (isLastPage(items, limit, bytesMax)) return found;
      const last = items.at(-1)!;
      after = { stamp: last.stamp, externalId: last.externalId };
    }
  }
}

/** The first windows that have so many chunks together, one at least. */
export function firstOf(windows: readonly ChunkWindow[], chunksMax: number): ChunkWindow[] {
  let chunks = 0;
  const end = windows.findIndex(({ from, to }, i) => (chunks += to - from + 1) > chunksMax && i > 0);
  return windows.slice(0, end < 0 ? windows.length : end);
}

function filterOf(wanted: readonly { window: ChunkWindow; indexes: number[] }[]): Filter {
  const filters = wanted.map(({ window: { documentId }, indexes }): Filter => ({
    type: 'and',
    filters: [
      { type: 'equals', path: DOCUMENT_ID, value: documentId },
      { type: 'in', path: CHUNK_INDEX, values: indexes },
    ],
  }));
  return filters.length === 1 ? filters[0] : { type: 'or', filters };
}

function placeKey(owner: Pick<ChunkWindow, 'documentId' | 'isNamed'>, index: number): string {
  return `${index} ${ownerKey(owner)}`;
}

function isBefore(a: FoundChunk, b: FoundChunk): boolean {
  return a.stamp !== b.stamp ? a.stamp < b.stamp : a.externalId < b.externalId;
}
