import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import { inTime } from '../../../shared/base/time/deadline';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionRecord } from '../collections/collection-record';
import { type AnswerHold, NO_HOLD } from '../answer-hold';
import { allTakenFrom } from '../pages';
import { DeepReads } from '../routing/deep-reads';
import type { ScatterGather } from '../routing/scatter-gather';
import { ShardSets } from '../routing/shard-sets';
import type { SampleInput, SamplesService, SampleView } from '../service';
import { OrderedItems, roundBytesMax } from '../vectors/ordered-items';
import { keptMetadata } from '../../../shared/contract/filter/chosen-metadata';
import { filterIn } from '../synonyms/filter-in';
import { mergedSample, partSize, type SampledItem } from './merged-sample';
import { PROJECTION_WORKER, ProjectionThread } from './projection-thread';

/** Bytes of items that are read at once. */
const ROUND_BYTES = 2 * 1024 * 1024;

/** What one answer may hold. */
export interface SampleBounds {
  vectorBytesMax: number;
  /** Characters of ids and metadata together. */
  itemCharactersMax: number;
}

const BOUNDS: SampleBounds = { vectorBytesMax: 16 * 1024 * 1024, itemCharactersMax: 32 * 1024 * 1024 };

/**
 * Samples of collections. Every shard is asked for its items with the least keys, which are merged; then what is wanted
 * of these is read, page by page. Nothing holds a thread for long: shards look through their items in slices, and the
 * projection has a thread of its own. Two samples are drawn at once; the others wait.
 */
export class ShardedSamplesService implements SamplesService {
  private readonly catalog: Pick<CollectionCatalog, 'known' | 'find'>;
  private readonly shards: Pick<ShardClient, 'read'>;
  private readonly scatter: ScatterGather;
  private readonly sets: ShardSets<CollectionRecord>;
  private readonly ordered: OrderedItems<CollectionRecord>;
  private readonly clock: Clock;
  private readonly places: DeepReads;
  private readonly bounds: SampleBounds;
  private readonly workerFile: string;

  constructor(options: {
    catalog: Pick<CollectionCatalog, 'known' | 'find'>;
    shards: Pick<ShardClient, 'read'>;
    scatter: ScatterGather;
    deep: Pick<DeepReads, 'run'>;
    clock: Clock;
    bounds?: SampleBounds;
    workerFile?: string | undefined;
  }) {
    this.catalog = options.catalog;
    this.shards = options.shards;
    this.scatter = options.scatter;
    this.sets = new ShardSets(options);
    this.ordered = new OrderedItems({ ...options, sets: this.sets });
    this.clock = options.clock;
    this.places = new DeepReads(options.clock);
    this.bounds = options.bounds ?? BOUNDS;
    this.workerFile = options.workerFile ?? PROJECTION_WORKER;
  }

  async sample(name: string, given: SampleInput, hold: AnswerHold = NO_HOLD): Promise<SampleView> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const request = { ...given, filter: filterIn(collection, given.filter) };
    const { dimensions } = request;
    if (dimensions !== null && dimensions > collection.dim) {
      throw new QuiverError(
        'invalid_parameter',
        `projection.dimensions must be at most ${collection.dim}, the dimension of collection "${name}"`,
      );
    }
    return this.places.run(Infinity, call, async () => {
      const { population, drawn } = await this.sets.inOne(collection, call, (current) =>
        this.draw(current, request, call),
      );
      if (request.vectors) this.checkVectorBytes(drawn.length, collection.dim);
      const room = hold.reserve(this.bytesMax(collection, drawn.length, request, hold));
      if (room !== undefined) await room;
      const contents = await this.contents(collection, drawn, request, call);
      hold.keep(bytesOf(contents));
      return { population, dim: collection.dim, ...contents };
    });
  }

  /** The most that the answer and what is read for it hold. */
  private bytesMax(
    collection: CollectionRecord,
    count: number,
    { vectors, fields, dimensions }: SampleInput,
    hold: AnswerHold,
  ): number {
    const { itemCharactersMax } = this.bounds;
    const characters = fields?.length === 0 ? 0 : Math.min(count * hold.itemBytesMax(false), itemCharactersMax);
    const floats = count * ((vectors ? collection.dim : 0) + (dimensions ?? 0));
    return (
      characters +
      floats * Float32Array.BYTES_PER_ELEMENT +
      roundBytesMax(
        collection,
        collection.shards,
        { vectors: vectors || dimensions !== null, texts: false },
        hold,
        ROUND_BYTES,
      )
    );
  }

  private async draw(
    collection: CollectionRecord,
    { size, seed, filter }: SampleInput,
    call: CallOptions,
  ): Promise<{ population: number; drawn: SampledItem[] }> {
    for (let asked = partSize(size, collection.shards); ; asked = Math.min(size, asked * 2)) {
      const parts = await this.scatter.readAll(collection, call, (id) =>
        this.shards.read(id, 'sample', { size: asked, seed, filter }, call),
      );
      const drawn = await inSlices(mergedSample(parts, asked, size));
      const population = parts.reduce((sum, part) => sum + part.population, 0);
      if (drawn !== null) return { population, drawn };
    }
  }

  private async contents(
    collection: CollectionRecord,
    drawn: SampledItem[],
    request: SampleInput,
    call: CallOptions,
  ): Promise<Omit<SampleView, 'population' | 'dim'>> {
    const { dim, metric } = collection;
    const { fields, dimensions } = request;
    const wantsVectors = request.vectors || dimensions !== null;
    if (!wantsVectors && fields?.length === 0)
      return {
        items: drawn.map(({ externalId }) => ({ externalId, metadata: '{}' })),
        vectors: null,
        projection: null,
      };
    const items: SampleView['items'] = [];
    const vectors = request.vectors ? new Float32Array(drawn.length * dim) : null;
    const thread =
      dimensions === null || drawn.length === 0
        ? null
        : new ProjectionThread(
            { dim, dimensions, rowsMax: drawn.length, normalised: metric === 'cosine' },
            this.workerFile,
          );
    try {
      let characters = 0;
      for await (const page of this.pages(collection, drawn, wantsVectors, call)) {
        if (vectors !== null)
          page.forEach(({ vector }, i) => vectors.set(vector as Float32Array, (items.length + i) * dim));
        for (const item of await inSlices(chosenOf(page, fields))) {
          characters += item.externalId.length + item.metadata.length;
          items.push(item);
        }
        this.checkCharacters(characters);
        if (thread !== null) await this.timely(thread.take(rowsOf(page, dim)), call);
      }
      const projected =
        dimensions === null
          ? null
          : thread === null
            ? {
                coordinates: new Float32Array(0),
                shares: new Array<number>(dimensions).fill(0),
                minima: [],
                maxima: [],
              }
            : await this.timely(thread.finish(), call);
      return {
        items,
        vectors: vectors?.subarray(0, items.length * dim) ?? null,
        projection: projected === null || dimensions === null ? null : { dimensions, ...projected },
      };
    } finally {
      thread?.close();
    }
  }

  /** The items as they are stored now, without those that are gone; the next page is read while one is worked on. */
  private async *pages(
    collection: CollectionRecord,
    drawn: SampledItem[],
    vectors: boolean,
    call: CallOptions,
  ): AsyncGenerator<StoredItem[]> {
    const ids = drawn.map(({ externalId }) => externalId);
    const pages = this.ordered.read(
      collection,
      ids,
      { vectors, texts: false },
      { begin: () => call, hold: NO_HOLD, roundBytes: ROUND_BYTES },
    );
    for (let next = pages.next(); ;) {
      const { done, value } = await next;
      if (done) return;
      next = pages.next();
      // It is awaited later, or never if this page can't be used.
      next.catch(() => undefined);
      yield allTakenFrom(value, (item) => item ?? undefined);
    }
  }

  private timely<Result>(work: Promise<Result>, { deadlineMs }: CallOptions): Promise<Result> {
    return inTime(
      work,
      deadlineMs - this.clock.monotonicMs(),
      () =>
        new QuiverError(
          'unavailable',
          'the sample was not projected in time (REQUEST_TIMEOUT_MS); the call may be retried',
        ),
    );
  }

  private checkVectorBytes(count: number, dim: number): void {
    const { vectorBytesMax } = this.bounds;
    const itemBytes = dim * Float32Array.BYTES_PER_ELEMENT;
    if (count * itemBytes <= vectorBytesMax) return;
    throw new QuiverError(
      'limit_exceeded',
      `include_vectors: the vectors of ${count} items of dimension ${dim} take ${count * itemBytes} bytes, more than the maximum of ${vectorBytesMax}: take a size of at most ${Math.floor(vectorBytesMax / itemBytes)}, or a projection`,
    );
  }

  private checkCharacters(characters: number): void {
    if (characters <= this.bounds.itemCharactersMax) return;
    throw new QuiverError(
      'limit_exceeded',
      `the ids and metadata of the sample have more than the maximum of ${this.bounds.itemCharactersMax} characters: name the metadata_fields that are needed, or take a smaller size`,
    );
  }
}

function bytesOf({ items, vectors, projection }: Pick<SampleView, 'items' | 'vectors' | 'projection'>): number {
  const characters = items.reduce((sum, { externalId, metadata }) => sum + externalId.length + metadata.length, 0);
  return characters + (vectors?.byteLength ?? 0) + (projection?.coordinates.byteLength ?? 0);
}

/** The items of a page with the metadata that are wanted. In steps: the metadata of one item may be long. */
function* chosenOf(page: StoredItem[], fields: SampleInput['fields']): Generator<undefined, SampleView['items']> {
  const items: SampleView['items'] = [];
  for (const { externalId, metadata } of page) {
    items.push({ externalId, metadata: keptMetadata(metadata, fields) });
    yield;
  }
  return items;
}

/** The vectors of a page in memory of their own. */
function rowsOf(page: StoredItem[], dim: number): Float32Array {
  const rows = new Float32Array(page.length * dim);
  page.forEach(({ vector }, i) => rows.set(vector as Float32Array, i * dim));
  return rows;
}
