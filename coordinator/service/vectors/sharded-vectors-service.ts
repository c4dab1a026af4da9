import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import type { WritesEncoded } from '../routing/encoded-writes';
import { type Expiring, expiryTime } from '../../../shared/contract/writes/expiry';
import type {
  CallOptions,
  DeleteOperation,
  ItemOperation,
  PatchOperation,
  ShardClient,
  UpsertOperation,
} from '../../../shared/contract/shard/shard-client';
import type { OrderAnswer, OrderKey, OrderRequest } from '../../../shared/contract/shard/item-order';
import { itemBytes, type StoredItem } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionEmbedder, PassageVectors } from '../collections/collection-embedder';
import type { QuotaAdmission } from '../collections/quota-ledger';
import type { CollectionRecord } from '../collections/collection-record';
import type { Once } from '../idempotency/write-dedup';
import type { KeyQuotaAdmission, KeyWriter } from '../keys/quota/key-quota';
import { type AnswerHold, NO_HOLD } from '../answer-hold';
import { allTakenFrom } from '../pages';
import { type DeepReads, HITS_PER_ITEM, hitsOfLength } from '../routing/deep-reads';
import { ReadLengths } from '../routing/read-lengths';
import { collectionNotFound } from '../routing/collection-not-found';
import type { ScatterGather } from '../routing/scatter-gather';
import { mustHaveSameVectors, ofOneModel, ShardSets } from '../routing/shard-sets';
import type { StampClock } from '../routing/stamp-clock';
import type { CutText } from '../../models/cut-text';
import { PassageTemplate } from '../../models/passage-template';
import { filterIn } from '../synonyms/filter-in';
import type {
  CollectionsService,
  CollectionView,
  EncodedItems,
  ItemExchange,
  PatchResult,
  UpsertOptions,
  UpsertResult,
  UpsertStatus,
  VectorInput,
  VectorPatch,
  VectorsService,
  VectorView,
  WriteOptions,
} from '../service';
import { BoundedWrites } from './bounded-writes';
import { checkDimension, checkVectorModel, dimensionMismatch, vectorModelConflict } from './dimension-check';
import { type FilteredResult, type FilteredWrite, type StepBounds, writeMatching } from './filtered-write';
import { writeMatchingOnce } from './filtered-write-once';
import { storedBytesOf } from './stored-bytes';
import { InsertionOrderReader } from './insertion-order-reader';
import { asGiven, type ItemResult, ItemWrites, type Judged, partlyWritten, type RemakeVectors } from './item-writes';
import { OrderedItems } from './ordered-items';
import { NOTHING_SEEN, passageless, Passages, type SeenVersions } from './passages';
import { isOvertaken, PATCH_ATTEMPTS_MAX, type PatchedVector, RemadeVectors, UNTOUCHED_VECTOR } from './remade-vector';
import { repeatedOf, UnboundVectors, unboundOf } from './unbound-vectors';
import { vectorNotFound } from './vector-not-found';
import { zeroVectors } from './zero-vectors';
import { mergedPlaces, orderedPages } from './ordered-scroll';
import {
  cursorFromPlace,
  cursorFromPosition,
  placeFromCursor,
  positionFromCursor,
  type ScrollPosition,
} from './scroll-cursor';

/** Items in one page that is read over all shards. */
const PAGE_ITEMS_MAX = 1000;
/** Bytes in one: few at first, and more for whoever takes them, which saves round trips. */
const PAGE_BYTES = { first: 256 * 1024, most: 1024 * 1024 };
/** Of them from one shard at least: fewer would cost more calls than they save memory. */
const SHARD_BYTES_MIN = 32 * 1024;
/** What a write that can be revoked may take, at least. */
const REVOCABLE_WRITE_MS = 60_000;
/** After so many bytes of items, a page of a scroll ends. */
export const SCROLL_BYTES_MAX = 16 * 1024 * 1024;

/** What pages in insertion order are made of, and where they begin and end. */
interface OrderedPages {
  after: ScrollPosition | null;
  limit: number;
  bytesMax: number;
  filter: Filter | null;
  vectors: boolean;
  texts: boolean;
  hold: AnswerHold;
  /** The vectors are to be of the model that they are of now, from the first page on. */
  isOfModel?: boolean;
  ended: ((last: ScrollPosition | null) => void) | null;
}

const NOT_EMBEDDED: PassageVectors = { vectors: [], cut: [], unsettled: null };
const NO_ERRORS: ReadonlyMap<number, QuiverError> = new Map();

/** Stores, deletes and reads items: each goes to the shard of its external_id. */
export class ShardedVectorsService implements VectorsService {
  private readonly catalog: Pick<CollectionCatalog, 'known' | 'find'>;
  private readonly collections: Pick<CollectionsService, 'get'>;
  private readonly embedder: Pick<CollectionEmbedder, 'embedPassages' | 'settle'>;
  private readonly shards: Pick<ShardClient, 'read' | 'write'> & WritesEncoded;
  private readonly scatter: ScatterGather;
  private readonly sets: ShardSets<CollectionRecord>;
  private readonly writes: ItemWrites;
  private readonly bounded: BoundedWrites;
  private readonly remade: RemadeVectors;
  private readonly unbound: UnboundVectors;
  private readonly deep: Pick<DeepReads, 'run'>;
  private readonly ordered: OrderedItems<CollectionRecord>;
  private readonly passages: Passages;
  private readonly stamps: StampClock;
  private readonly clock: Clock;
  /** Of items as pages have them. */
  private readonly scannedLengths = new ReadLengths(1);

  constructor(options: {
    quotas: QuotaAdmission;
    keyQuotas: KeyQuotaAdmission;
    catalog: Pick<CollectionCatalog, 'known' | 'find'>;
    collections: Pick<CollectionsService, 'get'>;
    embedder: Pick<CollectionEmbedder, 'embedPassages' | 'settle'>;
    shards: Pick<ShardClient, 'read' | 'write'> & WritesEncoded;
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
    this.writes = new ItemWrites({ ...options, sets: this.sets });
    this.bounded = new BoundedWrites({ ...options, sets: this.sets, writes: this.writes });
    this.remade = new RemadeVectors({ ...options, sets: this.sets });
    this.deep = options.deep;
    this.ordered = new OrderedItems({ ...options, sets: this.sets });
    this.passages = new Passages(this.ordered, this.scatter);
    this.unbound = new UnboundVectors({ ...options, ordered: this.ordered, bounded: this.bounded });
    this.stamps = options.stamps;
    this.clock = options.clock;
  }

  async upsert(name: string, items: VectorInput[], options: UpsertOptions = {}): Promise<UpsertResult> {
    return ofOneModel(() => this.upsertOnce(name, items, options));
  }

  private async upsertOnce(
    name: string,
    items: VectorInput[],
    { skips = false, places, isSingle = false, once, writer }: UpsertOptions,
    attempt = 1,
  ): Promise<UpsertResult> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const errors = new Map<number, QuiverError>();
    let valid: VectorInput[] = [];
    let texts: string[] = [];
    const knownOf = (some: VectorInput[]): Promise<ItemResult[] | null> =>
      this.writes.known(collection, judgedOf(some, skips), call, once!);
    let known: ItemResult[] | null = null;
    for (let i = 0; i < items.length; i += 1) {
      const { source, vectorModel } = items[i];
      if ((source.vector !== undefined && source.vector.length !== collection.dim) || vectorModel !== undefined) {
        const error = misfitOf(collection, items[i], isSingle ? null : (places?.[i] ?? i));
        if (error !== null) {
          // All of it may have been done when it fitted.
          if (once !== undefined && errors.size === 0) known = await knownOf(items);
          if (known !== null) break;
          if (!skips) throw error;
          errors.set(i, error);
          continue;
        }
      }
      if (source.vector === undefined) texts.push(source.text);
      valid.push(items[i]);
    }
    if (known !== null) valid = items;
    // Making vectors takes most of a write of texts; and what was done once does not depend on what is there now.
    const isOnce = once !== undefined && texts.length > 0;
    // Others lose no turn: what is written goes out at once.
    if (isOnce && known === null) known = await knownOf(valid);
    const template = PassageTemplate.of(collection.embedding);
    let seen = NOTHING_SEEN;
    if (template !== null && texts.length > 0 && known === null) {
      const found = await this.passages.of(collection, template, valid);
      const failed = found.passages.flatMap((passage, i) => (passage === null ? [valid[i]] : []));
      if (failed.length > 0 && !skips) throw passageless(template, failed[0].externalId);
      for (const item of failed) errors.set(items.indexOf(item), passageless(template, item.externalId));
      valid = valid.filter((_, i) => found.passages[i] !== null);
      texts = found.passages.filter((passage) => typeof passage === 'string');
      // What is done once has one verdict, so it does not depend on a version that nobody asked for.
      if (once === undefined && attempt < PATCH_ATTEMPTS_MAX) seen = found.seen;
      if (isOnce && failed.length > 0) known = await knownOf(valid);
    }
    if (known !== null && template !== null) await this.unbound.mendRepeated(name, repeatedOf(valid, known));
    const embedded =
      texts.length === 0 || known !== null ? NOT_EMBEDDED : await this.embedder.embedPassages(collection, texts);
    // Where nothing is embedded, that takes exactly 0.
    const embeddedMs = texts.length === 0 || known !== null ? startMs : this.clock.monotonicMs();
    const written =
      known ??
      (valid.length === 0
        ? []
        : await this.writeUpserts(collection, { items: valid, texts, embedded, alone: skips, seen }, call, {
            once,
            writer,
          }));
    let again: UpsertResult | null = null;
    let retried: ReadonlyMap<number, VectorInput> = new Map();
    // Their metadata were changed between the look and the write.
    const overtaken = valid.flatMap(({ externalId, expected }, i) =>
      expected === undefined && seen.has(externalId) && written[i].outcome === 'conflict' ? [i] : [],
    );
    if (overtaken.length > 0) {
      const placeOf = valid.map((item) => items.indexOf(item));
      retried = new Map(overtaken.map((i) => [placeOf[i], valid[i]]));
      const isPart = overtaken.length < valid.length;
      again = await this.upsertOnce(name, [...retried.values()], { skips, isSingle, writer }, attempt + 1).catch(
        (error: unknown) => {
          throw isPart ? partlyWritten(error) : error;
        },
      );
      overtaken.forEach((i, n) => {
        written[i] = { outcome: again!.statuses[n] as ItemResult['outcome'], version: again!.versions[n] };
      });
    }
    const endMs = this.clock.monotonicMs();
    let cut = embedded.cut.length === 0 ? undefined : cutItems(embedded.cut, items, errors);
    if (again !== null) {
      const places = [...retried.keys()];
      // What was cut first, was not stored.
      cut = [
        ...(cut ?? []).filter(({ index }) => !retried.has(index)),
        ...(again.cut ?? []).map((one) => ({ ...one, index: places[one.index] })),
      ];
      if (cut.length === 0) cut = undefined;
    }
    const results = errors.size === 0 ? written : withSkipped(written, errors, items.length);
    again?.errors.forEach((error, n) => errors.set([...retried.keys()][n], error));
    const statuses: UpsertStatus[] = [];
    const versions: (number | null)[] = [];
    for (const result of results) {
      statuses.push(result === null ? 'invalid' : (result.outcome as UpsertStatus));
      versions.push(result?.version ?? null);
    }
    return {
      statuses,
      versions,
      errors,
      ...(cut !== undefined && { cut }),
      ...(collection.metric === 'cosine' && { zeros: zeroVectors(items.map(({ source }) => source.vector)) }),
      timing: { embeddingMs: embeddedMs - startMs, storageMs: endMs - embeddedMs, totalMs: endMs - startMs },
    };
  }

  /**
   * The items go to their shards as they are encoded. What is done once by a key, and an error of a dimension, go the
   * way of all items.
   */
  async upsertEncoded(
    name: string,
    items: EncodedItems,
    options: UpsertOptions = {},
  ): Promise<{ ids: string[]; result: UpsertResult }> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const { writeEncoded } = this.shards;
    if (writeEncoded === undefined || items.dim !== collection.dim || options.once !== undefined) {
      const decoded = items.items();
      const ids = decoded.map(({ externalId }) => externalId);
      const result = await this.upsert(name, decoded, options);
      items.done();
      return { ids, result };
    }
    const zeros = collection.metric === 'cosine' ? items.zeros() : undefined;
    const ids = items.stamp(this.stamps.reserve(items.count));
    const { ttlMs } = expiryOf(collection, undefined);
    const encoded = { writer: options.writer, ids, write: writeEncoded, ttlMs };
    const { statuses, versions } = await this.bounded.writeEncoded(collection, items, call, encoded);
    items.done();
    const endMs = this.clock.monotonicMs();
    return {
      ids,
      result: {
        statuses,
        versions,
        errors: NO_ERRORS,
        zeros,
        timing: { embeddingMs: 0, storageMs: endMs - startMs, totalMs: endMs - startMs },
      },
    };
  }

  async delete(
    name: string,
    externalIds: string[],
    expected?: ReadonlyMap<string, number>,
    once?: Once,
  ): Promise<{ deleted: string[]; notFound: string[] }> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const distinct = [...new Set(externalIds)];
    const operations = distinct.map((externalId): DeleteOperation =>
      expected === undefined
        ? { type: 'delete', externalId }
        : { type: 'delete', externalId, expected: expected.get(externalId) },
    );
    const results = await this.writes.write(collection, operations, call, once);
    return {
      deleted: distinct.filter((_, i) => results[i].outcome === 'deleted'),
      notFound: distinct.filter((_, i) => results[i].outcome !== 'deleted'),
    };
  }

  async exchange(
    name: string,
    { identity, vectorsSince, puts, gone, token }: ItemExchange,
    writer?: KeyWriter,
  ): Promise<void> {
    // Nobody waits for one that can be revoked, and one of 128 MiB takes its time.
    const call = token === undefined ? this.scatter.begin() : this.scatter.beginLong(REVOCABLE_WRITE_MS);
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    if (collection.identity !== identity) throw collectionNotFound(name);
    if (puts.length > 0) mustHaveSameVectors({ name, vectorsSince }, collection);
    const operations: ItemOperation[] = puts.length === 0 ? [] : this.upsertsOf(collection, puts, [], false);
    for (const { externalId, expected } of gone) operations.push({ type: 'delete', externalId, expected });
    const remake: RemakeVectors = async (current) => {
      if (puts.length > 0) mustHaveSameVectors(collection, current);
    };
    await this.bounded.write(collection, operations, call, { writer, token, remake });
  }

  async revoke(name: string, { identity, token, externalId }: Parameters<VectorsService['revoke']>[1]): Promise<void> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    if (collection.identity !== identity) throw collectionNotFound(name);
    await this.writes.revoke(collection, token, externalId, call);
  }

  async deleteByFilter(name: string, given: Filter, once?: Once): Promise<{ deletedCount: number }> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const filter = filterIn(collection, given);
    const { done } = await this.writeMatching(
      collection,
      { filter, done: 'deleted', operationOf: (externalId) => ({ type: 'delete', externalId, filter }) },
      call,
      once,
    );
    return { deletedCount: done };
  }

  async isBegun(name: string, once: Once): Promise<boolean> {
    const call = this.scatter.begin();
    return this.bounded.isBegun(this.catalog.known(name) ?? (await this.catalog.find(name)), once, call);
  }

  async patch(name: string, patch: VectorPatch, options: WriteOptions = {}): Promise<PatchResult> {
    return ofOneModel(() => this.patchOnce(name, patch, options));
  }

  private async patchOnce(name: string, patch: VectorPatch, { once, writer }: WriteOptions): Promise<PatchResult> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const { externalId, vector, vectorModel, text, metadata, expected, expiresAt } = patch;
    const misfit = errorOf(() => {
      if (vectorModel !== undefined) checkVectorModel(collection, vectorModel, 'the item');
      if (vector !== undefined) checkDimension(collection, vector, 'the vector');
    });
    const isOfVersion = expected !== undefined && expected > 0;
    // It may have been done when it fitted, or made a vector then.
    const known =
      once === undefined || (misfit === null && !RemadeVectors.concerns(collection, patch))
        ? null
        : await this.writes.known(
            collection,
            [{ externalId, ...(expected !== undefined && { expected }) }],
            call,
            once,
          );
    if (misfit !== null && known === null) throw misfit;
    // Of others, nobody knows by now whether a vector was made.
    const done = known?.[0].version ?? null;
    if (done !== null && patch.embeds === true && vector === undefined && !isOfVersion)
      await this.unbound.mendRepeated(name, new Map([[externalId, done]]));
    for (let attempt = 1; ; attempt += 1) {
      // What is done once has one verdict, so it does not depend on a version that nobody asked for.
      const mayBind = expected === undefined && once === undefined && attempt < PATCH_ATTEMPTS_MAX;
      const {
        embedded,
        kept,
        version: seen,
        passage,
      } = known === null ? await this.remade.of(collection, patch, call, mayBind || isOfVersion) : UNTOUCHED_VECTOR;
      const isBound = mayBind && seen !== undefined;
      const operation: PatchOperation = {
        type: 'patch',
        externalId,
        vector: embedded?.vectors[0] ?? vector,
        metadata,
        text,
        ...expiryOf(collection, expiresAt),
      };
      if (isBound || expected !== undefined) operation.expected = isBound ? seen : expected;
      const settle =
        embedded === null
          ? undefined
          : this.settling(collection, embedded, [passage ?? (text as string)], ([other]) => (operation.vector = other));
      try {
        const [{ outcome, version }] =
          known ??
          (await this.bounded.write(collection, [operation], call, {
            once,
            writer,
            settle,
            remake: saying(
              this.remakingPatch(collection, patch, { operation, embedded, kept }),
              new Map(vectorModel === undefined ? [] : [[operation, vectorModel]]),
            ),
          }));
        if (outcome === 'absent') throw vectorNotFound(name, externalId);
        if (outcome === 'excess') throw excessError(1, externalId);
        if (passage !== undefined && embedded !== null && !isBound && !isOfVersion)
          await this.unbound.mend(name, new Map([[externalId, { passage, vector: operation.vector! }]]));
        return {
          version,
          kept,
          ...(embedded !== null && embedded.cut.length > 0 && { cut: embedded.cut }),
          ...(collection.metric === 'cosine' && { zeros: zeroVectors([vector]) }),
        };
      } catch (error) {
        if (!isBound || !isOvertaken(error)) throw error;
      }
    }
  }

  /** Of a patch, whose vector was `embedded` or `kept`. */
  private remakingPatch(
    collection: CollectionRecord,
    patch: VectorPatch,
    { operation, embedded, kept }: Pick<PatchedVector, 'embedded' | 'kept'> & { operation: PatchOperation },
  ): RemakeVectors {
    const { externalId, text, metadata } = patch;
    const item: VectorInput = { externalId, source: { text: text ?? '' }, metadata: metadata?.json, text };
    return async (current, operations) => {
      // What it is made of there was not looked at; and that it was given was seen beside the model of before.
      const isOfTemplate = [collection, current].some((one) => PassageTemplate.of(one.embedding) !== null);
      if ((isOfTemplate && patch.vector === undefined) || kept === 'given') mustHaveSameVectors(collection, current);
      await (embedded === null ? asGiven : this.remaking(new Map([[operation, item]])))(current, operations);
    };
  }

  async updateByFilter(
    name: string,
    given: Filter,
    { metadata, expiresAt }: Pick<VectorPatch, 'metadata' | 'expiresAt'>,
    { once, writer }: WriteOptions = {},
  ): Promise<{ updatedCount: number }> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const filter = filterIn(collection, given);
    const operationOf = (externalId: string): PatchOperation => ({
      type: 'patch',
      externalId,
      vector: undefined,
      metadata,
      text: undefined,
      filter,
      ...expiryOf(collection, expiresAt),
    });
    // Items that are changed are stored with the vectors that there are then.
    let { dim } = collection;
    const bounds = this.boundsOf(collection, writer, (item) =>
      storedBytesOf(operationOf(item.externalId), dim, item.metadata),
    );
    const mayGoOn = (current: CollectionRecord): void => {
      ({ dim } = current);
      const template = PassageTemplate.of(current.embedding);
      if (template !== null && metadata !== undefined && template.isTouchedBy(metadata))
        throw new QuiverError(
          'invalid_parameter',
          `vectors of collection "${name}" are made of ${JSON.stringify(template.source)} (embedding.template), and no ` +
            'update by a filter makes others: leave its fields out, or patch or upsert these items',
        );
    };
    const { done, excess } = await this.writeMatching(
      collection,
      { filter, done: 'updated', operationOf, bounds },
      call,
      once,
      mayGoOn,
    );
    if (excess.first !== null) throw excessError(excess.count, excess.first, done);
    return { updatedCount: done };
  }

  /** undefined: there are no quotas. */
  private boundsOf(
    collection: CollectionRecord,
    writer: KeyWriter | undefined,
    bytesOf: StepBounds['bytesOf'],
  ): StepBounds | undefined {
    if (!BoundedWrites.areBounded(collection, writer)) return undefined;
    return {
      bytesOf,
      within: (written, done, make) => this.bounded.part(collection, writer, { written, isPart: done > 0 }, make),
    };
  }

  private writeMatching(
    collection: CollectionRecord,
    write: FilteredWrite,
    call: CallOptions,
    once: Once | undefined,
    mayGoOn: (current: CollectionRecord) => void = () => undefined,
  ): Promise<FilteredResult> {
    const { shards, scatter, clock, sets } = this;
    if (once !== undefined)
      return writeMatchingOnce({ shards, scatter, sets, clock, mayGoOn }, collection, write, call, once);
    const checked: Pick<ShardSets<CollectionRecord>, 'inOne'> = {
      inOne: (given, within, run) =>
        sets.inOne(given, within, async (current) => {
          mayGoOn(current);
          return run(current);
        }),
    };
    return writeMatching({ shards, scatter, sets: checked }, collection, write, call);
  }

  async fetch(
    name: string,
    externalIds: string[],
    { vectors, hold = NO_HOLD }: { vectors: boolean; hold?: AnswerHold | undefined },
  ): Promise<AsyncIterable<VectorView[]>> {
    return ofOneModel(async () => {
      const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
      return begun(this.fetchedPages(collection, externalIds, { vectors, filter: null, hold }));
    });
  }

  private async *fetchedPages(
    collection: CollectionRecord,
    externalIds: string[],
    { vectors, filter, hold }: { vectors: boolean; filter: Filter | null; hold: AnswerHold },
  ): AsyncGenerator<VectorView[]> {
    const wanted = { vectors, versions: true, expiries: true, filter: filter ?? undefined };
    for await (const page of this.ordered.read(collection, externalIds, wanted, {
      begin: () => this.scatter.begin(),
      hold,
    }))
      yield allTakenFrom(page, (item) => (item === null ? undefined : viewOf(item)));
  }

  async scroll(
    name: string,
    { cursor, limit, filter: given, vectors, order, hold = NO_HOLD }: Parameters<VectorsService['scroll']>[1],
  ): Promise<{ pages: AsyncIterable<VectorView[]>; nextCursor: () => string | null }> {
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const filter = filterIn(collection, given);
    if (order !== undefined) return this.orderedScroll(collection, order, { cursor, limit, filter, vectors, hold });
    const after = cursor === null ? null : positionFromCursor(collection.identity, cursor);
    let next: string | null = null;
    const ended = (last: ScrollPosition | null): void =>
      void (next = last === null ? null : cursorFromPosition(collection.identity, last));
    const pages = this.pagesOf(collection, {
      after,
      limit,
      bytesMax: SCROLL_BYTES_MAX,
      filter,
      vectors,
      texts: true,
      hold,
      ended,
    });
    return { pages: await begun(pages), nextCursor: () => next };
  }

  private async orderedScroll(
    collection: CollectionRecord,
    keys: readonly OrderKey[],
    wanted: { cursor: string | null; limit: number; filter: Filter | null; vectors: boolean; hold: AnswerHold },
  ): Promise<{ pages: AsyncIterable<VectorView[]>; nextCursor: () => string | null }> {
    const { cursor, limit, filter, vectors, hold } = wanted;
    const after = cursor === null ? null : placeFromCursor(collection.identity, keys, cursor);
    let next: string | null = null;
    const pages = orderedPages({
      keys,
      after,
      limit,
      bytesMax: SCROLL_BYTES_MAX,
      first: (behind, most) => this.firstPlaces(collection, { keys, filter, after: behind, limit: most }),
      read: (externalIds) => this.fetchedPages(collection, externalIds, { vectors, filter, hold }),
      ended: (last) => void (next = last === null ? null : cursorFromPlace(collection.identity, keys, last)),
    });
    return { pages: await begun(pages), nextCursor: () => next };
  }

  private firstPlaces(collection: CollectionRecord, request: OrderRequest): Promise<OrderAnswer> {
    const { shards, scatter, sets, deep } = this;
    const call = scatter.begin();
    const ask = async (current: CollectionRecord): Promise<OrderAnswer> => {
      const answers = await scatter.readAll(current, call, (id) => shards.read(id, 'order', request, call));
      return mergedPlaces(request.keys, answers, request.limit);
    };
    return deep.run(request.limit * collection.shards, call, () => sets.inOne(collection, call, ask));
  }

  /** Each page has a deadline of its own, because a slow reader may take its time between them. */
  async export(
    name: string,
    limit: number,
    hold: AnswerHold = NO_HOLD,
  ): Promise<{ collection: CollectionView; pages: AsyncIterable<VectorView[]> }> {
    return ofOneModel(async () => {
      const collection = await this.catalog.find(name);
      const view = await this.collections.get(name);
      const pages = this.pagesOf(collection, {
        after: null,
        limit,
        bytesMax: Infinity,
        filter: null,
        vectors: true,
        texts: false,
        hold,
        isOfModel: true,
        ended: null,
      });
      // What is told of the collection goes for the first page.
      const begin = await begun(pages);
      mustHaveSameVectors(collection, this.catalog.known(name) ?? (await this.catalog.find(name)));
      return { collection: view, pages: begin };
    });
  }

  /**
   * Items in insertion order, the next page when the one before was taken. If shards are replaced meanwhile, it
   * continues with the new ones after the last item that it gave: places in the insertion order stay. `ended` gets the
   * last item, where more follow; null: none do.
   */
  private async *pagesOf(collection: CollectionRecord, wanted: OrderedPages): AsyncGenerator<VectorView[]> {
    const { limit, bytesMax, hold, ended } = wanted;
    let current = collection;
    let { after } = wanted;
    let reader: InsertionOrderReader | null = null;
    let pageBytes = PAGE_BYTES.first;
    let leftBytes = bytesMax;
    for (let left = limit; left > 0 && leftBytes > 0;) {
      const most = this.pageBytesMax(current, pageBytes, wanted);
      // Whoever waits holds nothing meanwhile, or all might wait for each other.
      if (!hold.hasRoom(most)) {
        reader = null;
        hold.keep(0);
        pageBytes = PAGE_BYTES.first;
      }
      const room = hold.reserve(Math.min(most, this.pageBytesMax(current, pageBytes, wanted)));
      if (room !== undefined) await room;
      const count = Math.min(left, PAGE_ITEMS_MAX);
      const bytes = Math.min(pageBytes, leftBytes);
      // What was given had the vectors of before.
      const isOfModel = wanted.isOfModel === true || (wanted.vectors && after !== wanted.after);
      const how = isOfModel ? 'ofModel' : 'inOne';
      const page: GivenPage | null = await this.sets[how](current, this.scatter.begin(), async (now) => {
        // What one had taken when it failed is lost with it: another begins after what was given.
        const present = (now === current ? reader : null) ?? this.readerOf(now, { ...wanted, after, pageBytes });
        reader = null;
        current = now;
        present.pageBytes = shardBytes(pageBytes, now.shards);
        const given = await present.take(count, bytes).then(givenPage);
        reader = present;
        return given;
      });
      if (page === null) break;
      after = page.last;
      left -= page.views.length;
      leftBytes -= page.bytes;
      hold.keep(reader!.bytes + page.bytes);
      yield page.views;
      pageBytes = Math.min(2 * pageBytes, PAGE_BYTES.most);
    }
    if (ended !== null)
      ended(after === null || (await this.isAtEnd(current, reader, { ...wanted, after })) ? null : after);
  }

  /** Whether nothing follows behind what `reader` gave; null: behind the place `after`. */
  private async isAtEnd(
    collection: CollectionRecord,
    reader: InsertionOrderReader | null,
    wanted: OrderedPages,
  ): Promise<boolean> {
    return this.sets.inOne(collection, this.scatter.begin(), (now) => {
      const present =
        (now === collection ? reader : null) ??
        this.readerOf(now, { ...wanted, limit: 1, pageBytes: 1, vectors: false, texts: false });
      return present.atEnd();
    });
  }

  /** The most that a page and what is read for it hold. */
  private pageBytesMax(
    collection: CollectionRecord,
    pageBytes: number,
    { vectors, texts, hold }: OrderedPages,
  ): number {
    const itemMax = hold.itemBytesMax(texts) + (vectors ? collection.dim * Float32Array.BYTES_PER_ELEMENT : 0);
    return pageBytes + itemMax + collection.shards * (shardBytes(pageBytes, collection.shards) + itemMax);
  }

  private async writeUpserts(
    collection: CollectionRecord,
    {
      items,
      texts,
      embedded,
      alone,
      seen,
    }: { items: VectorInput[]; texts: string[]; embedded: PassageVectors; alone: boolean; seen: SeenVersions },
    call: CallOptions,
    options: WriteOptions,
  ): Promise<ItemResult[]> {
    const operations = this.upsertsOf(collection, items, embedded.vectors, alone, seen);
    const settle = this.settling(collection, embedded, texts, (others) => {
      let next = 0;
      items.forEach(({ source }, i) => {
        if (source.vector === undefined) operations[i].vector = others[next++];
      });
    });
    /** In a collection that has a template. */
    const passageOf = new Map<ItemOperation, string>();
    if (PassageTemplate.of(collection.embedding) !== null) {
      let next = 0;
      items.forEach(({ source }, i) => {
        if (source.vector === undefined) passageOf.set(operations[i], texts[next++]);
      });
    }
    // Made only where shards refused some of it, and the model is another one by then.
    const remake: RemakeVectors = (current, left) => {
      const ofTexts = new Map(
        items.flatMap((item, i): [ItemOperation, VectorInput][] =>
          item.source.vector === undefined ? [[operations[i], item]] : [],
        ),
      );
      const said = new Map(
        items.flatMap(({ vectorModel }, i) => (vectorModel === undefined ? [] : [[operations[i], vectorModel]])),
      );
      return saying(this.remaking(ofTexts, passageOf), said)(current, left);
    };
    const results = await this.bounded.write(collection, operations, call, { ...options, settle, remake });
    if (passageOf.size > 0) await this.unbound.mend(collection.name, unboundOf(items, operations, passageOf, results));
    return results;
  }

  /**
   * What makes vectors again of the texts of operations; other vectors were given. `passageOf` gets what they are made
   * of, where that is more than the texts.
   */
  private remaking(
    itemOf: ReadonlyMap<ItemOperation, VectorInput>,
    passageOf = new Map<ItemOperation, string>(),
  ): RemakeVectors {
    return async (collection, operations) => {
      const ofTexts = operations.filter((operation) => itemOf.has(operation)) as (UpsertOperation | PatchOperation)[];
      await asGiven(
        collection,
        operations.filter((operation) => !itemOf.has(operation)),
      );
      if (ofTexts.length === 0) return;
      const items = ofTexts.map((operation) => itemOf.get(operation)!);
      const template = PassageTemplate.of(collection.embedding);
      const passages =
        template === null
          ? items.map(({ source }) => source.text!)
          : (await this.passages.of(collection, template, items)).passages;
      const texts = passages.map((passage, i) => {
        if (typeof passage !== 'string') throw passageless(template!, items[i].externalId);
        return passage;
      });
      const { vectors } = await this.embedder.embedPassages(collection, texts);
      ofTexts.forEach((operation, i) => {
        operation.vector = vectors[i];
        if (template !== null) passageOf.set(operation, texts[i]);
        else passageOf.delete(operation);
      });
    };
  }

  /**
   * What makes the model of the vectors that of the collection; `take` gets other vectors if that has another by now.
   * undefined: it has been before.
   */
  private settling(
    collection: CollectionRecord,
    { unsettled }: PassageVectors,
    texts: string[],
    take: (others: Float32Array[]) => void,
  ): (() => Promise<void>) | undefined {
    if (unsettled === null) return undefined;
    return async () => {
      const others = await this.embedder.settle(collection, unsettled, texts);
      if (others !== null) take(others);
    };
  }

  private upsertsOf(
    collection: CollectionRecord,
    items: VectorInput[],
    embedded: Float32Array[],
    alone: boolean,
    seen = NOTHING_SEEN,
  ): UpsertOperation[] {
    const firstStamp = this.stamps.reserve(items.length);
    let nextEmbedded = 0;
    const hasExpiry = typeof collection.ttlSeconds === 'number';
    const operations: UpsertOperation[] = [];
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      const operation: UpsertOperation = {
        type: 'upsert',
        externalId: item.externalId,
        vector: item.source.vector ?? embedded[nextEmbedded++],
        stamp: firstStamp + i,
        metadata: item.metadata,
        text: item.text ?? item.source.text,
      };
      if (hasExpiry || item.expiresAt !== undefined) Object.assign(operation, expiryOf(collection, item.expiresAt));
      if (item.expected !== undefined) operations.push({ ...operation, expected: item.expected, alone });
      else if (item.source.vector === undefined && seen.has(item.externalId))
        operations.push({ ...operation, expected: seen.get(item.externalId)!, alone: true });
      else operations.push(operation);
    }
    return operations;
  }

  private readerOf(
    collection: CollectionRecord,
    { after, limit, pageBytes, filter, vectors, texts }: OrderedPages & { pageBytes: number },
  ): InsertionOrderReader {
    return new InsertionOrderReader({
      shards: collection.shards,
      after,
      // One more than wanted shows whether there is a next page.
      pageItems: itemsPerShard(Math.min(limit, PAGE_ITEMS_MAX) + 1, collection.shards),
      pageBytes: shardBytes(pageBytes, collection.shards),
      readPages: async (positions, items, bytesMax) => {
        const call = this.scatter.begin();
        const length = this.scannedLengths.of(collection, texts);
        const bytes = Math.min(items * (length ?? 0), bytesMax);
        const hits = positions.length * Math.max(items * HITS_PER_ITEM, hitsOfLength(1, bytes));
        const pages = await this.deep.run(hits, call, () =>
          this.scatter.read(
            collection,
            positions.map((position) => position.shard),
            call,
            (id, i) =>
              this.shards.read(
                id,
                'scan',
                {
                  after: positions[i].after,
                  limit: items,
                  filter,
                  vectors,
                  texts,
                  versions: true,
                  expiries: true,
                  bytesMax,
                },
                call,
              ),
          ),
        );
        for (const page of pages) this.scannedLengths.note(collection, texts, page.length, bytesOf(page));
        return pages;
      },
    });
  }
}

/** Bytes to read from each shard for a page of `pageBytes`. */
function shardBytes(pageBytes: number, shardCount: number): number {
  return Math.max(SHARD_BYTES_MIN, Math.floor(pageBytes / shardCount));
}

/** The same pages, the first of which is read now: what is wrong is known before an answer begins. */
async function begun<Page>(pages: AsyncGenerator<Page>): Promise<AsyncIterable<Page>> {
  const first = await pages.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* pages;
  })();
}

/**
 * Items to read from each shard for a page of `limit`. Ids are spread by a hash, so one and a half times the average
 * and a few more are seldom too few; if they are, reading on costs one more round.
 */
function itemsPerShard(limit: number, shardCount: number): number {
  return Math.min(limit, Math.ceil((limit / shardCount) * 1.5) + 4);
}

/** The results in the places of their items, null in those of items that were skipped. */
function withSkipped(
  written: ItemResult[],
  skipped: { has(index: number): boolean },
  count: number,
): (ItemResult | null)[] {
  let next = 0;
  return Array.from({ length: count }, (_, i) => (skipped.has(i) ? null : written[next++]));
}

/** `done`: how many others were updated. */
/** What conditions the items have. */
function errorOf(check: () => void): QuiverError | null {
  try {
    check();
    return null;
  } catch (error) {
    if (isQuiverError(error)) return error;
    throw error;
  }
}

function judgedOf(items: readonly VectorInput[], alone: boolean): Judged[] {
  return items.map(({ externalId, expected }) =>
    expected === undefined ? { externalId } : { externalId, expected, alone },
  );
}

function excessError(count: number, first: string, done?: number): QuiverError {
  const what = `the metadata of ${count === 1 ? '' : `${count} vectors, of them `}${JSON.stringify(first)} would have more than MAX_METADATA_BYTES or MAX_METADATA_FIELDS`;
  return new QuiverError(
    'limit_exceeded',
    done === undefined
      ? `${what}; nothing was changed`
      : `${done} vectors were updated; ${what}, and stayed as they were`,
  );
}

/** What a write of the collection says of when an item expires. */
function expiryOf({ ttlSeconds }: CollectionRecord, expiresAt: number | null | undefined): Expiring {
  return {
    ...(expiresAt !== undefined && { expiresAt }),
    ...(typeof ttlSeconds === 'number' && { ttlMs: ttlSeconds * 1000 }),
  };
}

/** Some items as they are answered. */
interface GivenPage {
  views: VectorView[];
  bytes: number;
  last: ScrollPosition;
}

function givenPage(items: StoredItem[]): GivenPage | null {
  const last = items.at(-1);
  if (last === undefined) return null;
  const { stamp, externalId } = last;
  const bytes = bytesOf(items);
  return { views: allTakenFrom(items, viewOf), bytes, last: { stamp, externalId } };
}

function bytesOf(items: readonly StoredItem[]): number {
  return items.reduce((sum, item) => sum + itemBytes(item), 0);
}

function viewOf({ externalId, metadata, text, vector, version, expiry }: StoredItem): VectorView {
  const view: VectorView = { externalId, metadata, text };
  if (vector !== undefined) view.vector = vector;
  if (expiry !== undefined) view.expiresAt = expiryTime(expiry);
  if (version !== undefined) view.version = version;
  return view;
}

/** The same, where callers said of which model the vectors of some operations are: they can't be of another one. */
function saying(remake: RemakeVectors, said: ReadonlyMap<ItemOperation, string>): RemakeVectors {
  if (said.size === 0) return remake;
  return async (collection, operations) => {
    for (const operation of operations) {
      const model = said.get(operation);
      if (model !== undefined)
        checkVectorModel(collection, model, `external_id ${JSON.stringify(operation.externalId)}`);
    }
    await remake(collection, operations);
  };
}

/** Why an item can't be in the collection; null: it can. `place`: among others; null: it is the only one. */
function misfitOf(
  collection: CollectionRecord,
  { externalId, source: { vector }, vectorModel }: VectorInput,
  place: number | null,
): QuiverError | null {
  const name = `items[${place}] (external_id ${JSON.stringify(externalId)})`;
  if (vector !== undefined && vector.length !== collection.dim)
    return dimensionMismatch(collection, vector, place === null ? 'the vector' : `the vector of ${name}`);
  return vectorModel === undefined
    ? null
    : vectorModelConflict(collection, vectorModel, place === null ? 'the item' : name);
}

/** By the index of the item, what is known by that of the text. */
function cutItems(
  cut: readonly CutText[],
  items: readonly VectorInput[],
  errors: ReadonlyMap<number, unknown>,
): CutText[] {
  const places: number[] = [];
  for (let i = 0; i < items.length; i++) if (items[i].source.vector === undefined && !errors.has(i)) places.push(i);
  return cut.map((one) => ({ ...one, index: places[one.index] }));
}
