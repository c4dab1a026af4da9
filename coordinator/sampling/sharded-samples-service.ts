import { QuiverError } from '../../shared/errors/quiver-error';
import type { CallOptions, ShardClient } from '../../shared/shard/shard-client';
import type { StoredItem } from '../../shared/shard/shard-read';
import type { Clock } from '../../shared/time/clock';
import { inTime } from '../../shared/time/deadline';
import { inSlices } from '../../shared/time/work-slices';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionRecord } from '../collections/collection-record';
import { DeepReads, HITS_PER_ITEM } from '../routing/deep-reads';
import type { ScatterGather } from '../routing/scatter-gather';
import { groupByShard, inCallOrder } from '../routing/shard-router';
import { ShardSets } from '../routing/shard-sets';
import type { SampleInput, SamplesService, SampleView } from '../service';
import { chosenMetadata } from './chosen-metadata';
import { mergedSample, partSize, type SampledItem } from './merged-sample';
import { PROJECTION_WORKER, ProjectionThread } from './projection-thread';

/** Items whose contents are read at once, and bytes of their vectors. */
const PAGE_ITEMS_MAX = 1000;
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/** What one answer may hold. */
export interface SampleBounds {
  vectorBytesMax: number;
  /** Characters of ids and metadata together. */
  itemCharactersMax: number;
}

const BOUNDS: SampleBounds = { vectorBytesMax: 16 * 1024 * 1024, itemCharactersMax: 32 * 1024 * 1024 };

/**
 * Samples of collections. Every shard is asked for its items with the least keys, which are merged; then what is wanted of
 * these is read, page by page. Nothing holds a thread for long: shards look through their items in slices, and the projection
 * has a thread of its own. Two samples are drawn at once; the others wait.
 */
export class ShardedSamplesService implements SamplesService {
  private readonly catalog: Pick<CollectionCatalog, 'known' | 'find'>;
  private readonly shards: Pick<ShardClient, 'read'>;
  private readonly scatter: ScatterGather;
  private readonly sets: ShardSets<CollectionRecord>;
  private readonly deep: Pick<DeepReads, 'run'>;
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
    this.deep = options.deep;
    this.clock = options.clock;
    this.places = new DeepReads(options.clock);
    this.bounds = options.bounds ?? BOUNDS;
    this.workerFile = options.workerFile ?? PROJECTION_WORKER;
  }

  async sample(name: string, request: SampleInput): Promise<SampleView> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const { dimensions } = request;
    if (dimensions !== null && dimensions > collection.dim) {
      throw new QuiverError('invalid_parameter', `projection.dimensions must be at most ${collection.dim}, the dimension of collection "${name}"`);
    }
    return this.places.run(Infinity, call, async () => {
      const { population, drawn } = await this.sets.inOne(collection, call, (current) => this.draw(current, request, call));
      if (request.vectors) this.checkVectorBytes(drawn.length, collection.dim);
      return { population, dim: collection.dim, ...(await this.contents(collection, drawn, request, call)) };
    });
  }

  private async draw(collection: CollectionRecord, { size, seed, filter }: SampleInput, call: CallOptions): Promise<{ population: number; drawn: SampledItem[] }> {
    for (let asked = partSize(size, collection.shards); ; asked = Math.min(size, asked * 2)) {
      const parts = await this.scatter.readAll(collection, call, (id) => this.shards.read(id, 'sample', { size: asked, seed, filter }, call));
      const drawn = await inSlices(mergedSample(parts, asked, size));
      const population = parts.reduce((sum, part) => sum + part.population, 0);
      if (drawn !== null) return { population, drawn };
    }
  }

  private async contents(collection: CollectionRecord, drawn: SampledItem[], request: SampleInput, call: CallOptions): Promise<Omit<SampleView, 'population' | 'dim'>> {
    const { dim, metric } = collection;
    const { fields, dimensions } = request;
    const wantsVectors = request.vectors || dimensions !== null;
    if (!wantsVectors && fields?.length === 0) return { items: drawn.map(({ externalId }) => ({ externalId, metadata: '{}' })), vectors: null, projection: null };
    const items: SampleView['items'] = [];
    const vectors = request.vectors ? new Float32Array(drawn.length * dim) : null;
    const thread = dimensions === null || drawn.length === 0 ? null : new ProjectionThread({ dim, dimensions, rowsMax: drawn.length, normalised: metric === 'cosine' }, this.workerFile);
    try {
      let characters = 0;
      for await (const page of this.pages(collection, drawn, wantsVectors, call)) {
        if (vectors !== null) page.forEach(({ vector }, i) => vectors.set(vector as Float32Array, (items.length + i) * dim));
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
            ? { coordinates: new Float32Array(0), shares: new Array<number>(dimensions).fill(0), minima: [], maxima: [] }
            : await this.timely(thread.finish(), call);
      return { items, vectors: vectors?.subarray(0, items.length * dim) ?? null, projection: projected === null || dimensions === null ? null : { dimensions, ...projected } };
    } finally {
      thread?.close();
    }
  }

  /** The items as they are stored now, without those that are gone; the next page is read while one is worked on. */
  private async *pages(collection: CollectionRecord, drawn: SampledItem[], vectors: boolean, call: CallOptions): AsyncGenerator<StoredItem[]> {
    const pageItems = vectors ? Math.max(1, Math.min(PAGE_ITEMS_MAX, Math.floor(PAGE_BYTES_MAX / (collection.dim * Float32Array.BYTES_PER_ELEMENT)))) : PAGE_ITEMS_MAX;
    const readFrom = (from: number): Promise<StoredItem[]> | null => (from < drawn.length ? this.page(collection, drawn.slice(from, from + pageItems), vectors, call) : null);
    let next = readFrom(0);
    for (let from = pageItems; next !== null; from += pageItems) {
      const page = await next;
      next = readFrom(from);
      // It is awaited later, or never if this page can't be used.
      next?.catch(() => undefined);
      yield page;
    }
  }

  private page(collection: CollectionRecord, drawn: SampledItem[], vectors: boolean, call: CallOptions): Promise<StoredItem[]> {
    const ids = drawn.map(({ externalId }) => externalId);
    const read = async (current: CollectionRecord): Promise<StoredItem[]> => {
      const groups = groupByShard(ids, current.shards, (externalId) => externalId);
      const answers = await this.scatter.read(
        current,
        groups.map(({ shard }) => shard),
        call,
        (id, i) => this.shards.read(id, 'fetch', { externalIds: groups[i].items, vectors, texts: false }, call),
      );
      return inCallOrder(groups, answers).filter((item) => item !== null);
    };
    return this.deep.run(ids.length * HITS_PER_ITEM, call, () => this.sets.inOne(collection, call, read));
  }

  private timely<Result>(work: Promise<Result>, { deadlineMs }: CallOptions): Promise<Result> {
    return inTime(work, deadlineMs - this.clock.monotonicMs(), () => new QuiverError('unavailable', 'the sample was not projected in time (REQUEST_TIMEOUT_MS); the call may be retried'));
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

/** The items of a page with the metadata that are wanted. In steps: the metadata of one item may be long. */
function* chosenOf(page: StoredItem[], fields: SampleInput['fields']): Generator<undefined, SampleView['items']> {
  const items: SampleView['items'] = [];
  for (const { externalId, metadata } of page) {
    items.push({ externalId, metadata: chosenMetadata(metadata, fields) });
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
