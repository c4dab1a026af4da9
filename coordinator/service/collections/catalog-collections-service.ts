import assert from 'node:assert';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { type KeywordFields, ownAnalysers } from '../../../shared/contract/shard/keyword-fields';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { ShardStatus } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import type { StoreDedup } from '../idempotency/store-dedup';
import type { ScatterGather } from '../routing/scatter-gather';
import type { StampClock } from '../routing/stamp-clock';
import { ShardSets } from '../routing/shard-sets';
import {
  type CollectionChange,
  type CollectionPurge,
  type CollectionsService,
  type CollectionStats,
  type CollectionView,
  type NewCollection,
  type ReembedRequest,
  type ReshardView,
  type StorageQuota,
  type UnavailableShard,
  UNKNOWN_COUNT,
} from '../service';
import { modelNameOf } from '../../models/collection-embedding';
import type { JobView } from '../jobs-service';
import type { CollectionCatalog } from './collection-catalog';
import type { CollectionEmbedder } from './collection-embedder';
import { DEFAULT_METADATA_STORAGE } from '../../../shared/contract/shard/metadata-storage';
import { DEFAULT_QUANTIZATION } from '../../../shared/contract/vector/quantization';
import { DEFAULT_VECTOR_STORAGE } from '../../../shared/contract/vector/vector-storage';
import { roleFor, type Scoped } from '../keys/collection-scope';
import { inPool } from './call-pool';
import {
  checkFeatures,
  checkReindex,
  checkStopWords,
  checkSynonyms,
  type CollectionObstacle,
} from './collection-obstacle';
import { collectionProgress } from './collection-progress';
import type { CollectionQuota } from './collection-quota';
import type { Language } from '../../../shared/base/text/language';
import { faultOfStopWords, type StopWords } from '../synonyms/own-stop-words';
import { type SynonymRule, wordlessText } from '../synonyms/synonym-rules';
import {
  type CollectionRecord,
  defaultMinInSync,
  type DropIntent,
  quotaOrNone,
  shardSettings,
} from './collection-record';
import type { ShardReading } from './shard-reading';

/** What a new collection has that does not say it itself. */
export interface CollectionDefaults {
  shards: number;
  replicas: number;
  quota?: StorageQuota;
}

/** 128 random bits, so that two collections never get the same uid. */
const UID_BYTES = 16;
/**
 * How long a shard has to say what it holds when many collections are looked at: what does not answer by then is named,
 * and the others are shown.
 */
const STATE_MS = 3_000;
/** The same for one collection. A change of primaries is over by then. */
const ONE_STATE_MS = 7_000;
/** How long the shards of a collection are asked for their stamps where not all of them can be opened. */
const LEARN_MS = 5_000;

/** How long a creation waits for another one of the same name, and how often at most: in all some seconds. */
const CREATION_WAIT_MS = 100;
const CREATION_WAITS_MAX = 50;

/** Who begins reshards and gives them up, as CollectionsService says. */
interface Reshards {
  begin(name: string, shards: number, dedup?: StoreDedup): Promise<ReshardView>;
  beginReindex(
    name: string,
    change: { keywordFields: KeywordFields | null; besides: (current: CollectionRecord) => CollectionRecord },
    once?: { dedup: StoreDedup; outcomeOf: (record: CollectionRecord, job: string) => Promise<unknown> },
  ): Promise<{ record: CollectionRecord; revision: number; job: string } | null>;
  cancel(name: string, dedup?: StoreDedup): Promise<ReshardView>;
}

/** Who has texts embedded anew, as CollectionsService says. */
interface Reembeds {
  begin(name: string, request: ReembedRequest, dedup?: StoreDedup): Promise<JobView>;
}

/** Who has files and indexes put in order, as CollectionsService says. */
interface Upkeep {
  purge(name: string, start: boolean): Promise<CollectionPurge>;
  optimize(name: string): Promise<void>;
}

/**
 * Creates, shows and deletes collections: first the catalog changes, then the shards. A collection becomes visible once
 * its shards serve, and invisible before the first of them is dropped. {@link recover} finishes what a crash leaves
 * half done.
 */
export class CatalogCollectionsService implements CollectionsService {
  private readonly catalog: CollectionCatalog;
  private readonly shards: ShardClient;
  private readonly scatter: ScatterGather;
  private readonly stamps: StampClock;
  /** By uid, the collections whose shards were opened and whose stamps are known. */
  private readonly opened = new Set<string>();
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly defaults: CollectionDefaults;
  private readonly quota: CollectionQuota;
  private readonly embedder: Pick<CollectionEmbedder, 'dimensionOf'>;
  private readonly obstacle: CollectionObstacle;
  private readonly reshards: Reshards;
  private readonly reembeds: Reembeds;
  private readonly upkeep: Upkeep;
  private readonly forget: (identity: string) => Promise<void>;
  private readonly aliasesSettled: () => Promise<void>;
  private readonly sets: ShardSets<CollectionRecord>;

  constructor(options: {
    catalog: CollectionCatalog;
    shards: ShardClient;
    scatter: ScatterGather;
    stamps: StampClock;
    clock: Clock;
    log: Logger;
    defaults: CollectionDefaults;
    quota: CollectionQuota;
    embedder: Pick<CollectionEmbedder, 'dimensionOf'>;
    collectionObstacle?: CollectionObstacle | undefined;
    reshards: Reshards;
    reembeds: Reembeds;
    upkeep: Upkeep;
    /** Removes what is kept beside a collection that is gone. Errors: unavailable. */
    forget?: (identity: string) => Promise<void>;
    /** Resolves when everybody knows the aliases as they are. Errors: unavailable. */
    aliasesSettled?: () => Promise<void>;
  }) {
    this.catalog = options.catalog;
    this.shards = options.shards;
    this.scatter = options.scatter;
    this.stamps = options.stamps;
    this.clock = options.clock;
    this.log = options.log;
    this.defaults = options.defaults;
    this.quota = options.quota;
    this.embedder = options.embedder;
    this.obstacle = options.collectionObstacle ?? (() => null);
    this.reshards = options.reshards;
    this.reembeds = options.reembeds;
    this.upkeep = options.upkeep;
    this.forget = options.forget ?? (async () => undefined);
    this.aliasesSettled = options.aliasesSettled ?? (async () => undefined);
    this.sets = new ShardSets(options);
  }

  /**
   * Errors: already_exists; limit_exceeded when the quota has no room; invalid_parameter when more replicas must be in
   * sync than there are, or for an embedding that can't be had; dimension_mismatch when that makes others;
   * embedding_unavailable when its model can't be loaded; unavailable when a member does not know what it has;
   * commit_unknown when answers of the cluster store were lost.
   */
  async create(input: NewCollection, dedup?: StoreDedup): Promise<CollectionView> {
    const replicas = input.replicas ?? this.defaults.replicas;
    const { minInSync = defaultMinInSync(replicas) } = input;
    if (minInSync > replicas)
      throw new QuiverError(
        'invalid_parameter',
        `min_in_sync is ${minInSync}, more than the collection's replicas (${replicas})`,
      );
    checkWords(input, input.language);
    const keywordFields = input.keywordFields && ownAnalysers(input.keywordFields, input.language);
    checkFeatures({ ...input, keywordFields }, this.obstacle);
    const metadata = input.metadata === DEFAULT_METADATA_STORAGE ? undefined : input.metadata;
    const vectors = input.vectors === DEFAULT_VECTOR_STORAGE ? undefined : input.vectors;
    const dim = await this.dimensionOf(input);
    const uid = randomBytes(UID_BYTES).toString('hex');
    const wanted: CollectionRecord = {
      uid,
      identity: uid,
      name: input.name,
      dim,
      metric: input.metric,
      description: input.description,
      language: input.language,
      ...(keywordFields !== undefined && { keywordFields }),
      ...(input.keywordPositions === false && { keywordPositions: false }),
      ...(hasRules(input.synonyms) && { synonyms: input.synonyms }),
      ...(hasStopWords(input.stopWords) && { stopWords: input.stopWords }),
      quantization: input.quantization ?? DEFAULT_QUANTIZATION,
      ...(metadata !== undefined && { metadata }),
      ...(vectors !== undefined && { vectors }),
      shards: input.shards ?? this.defaults.shards,
      replicas,
      minInSync,
      createdAt: new Date(this.clock.wallMs()).toISOString(),
      ttlSeconds: input.ttlSeconds ?? null,
      embeddingModel: input.embedding === undefined ? null : modelNameOf(input.embedding),
      ...(input.embedding !== undefined && { embedding: input.embedding }),
      state: 'creating',
      ...(dedup !== undefined && { once: dedup.token }),
      quota: quotaOrNone(input.quota === undefined ? this.defaults.quota : input.quota),
    };
    const reserved = await this.reserved(wanted);
    try {
      // Its name may be that of an alias which others still know; nobody can make another of this name any more.
      const known = this.aliasesSettled();
      known.catch(() => undefined);
      await this.openShards(reserved, 'make');
      await known;
      return viewOf(
        await this.catalog.publish(reserved, dedup && { dedup, resultOf: (record) => viewOf(record, 0) }),
        0,
      );
    } catch (error) {
      if (await this.isTakenBack(reserved)) throw error;
      return viewOf(reserved, 0);
    }
  }

  private async dimensionOf({ dim, embedding }: NewCollection): Promise<number> {
    if (embedding !== undefined) return this.embedder.dimensionOf({ dim, embedding });
    assert(dim !== undefined, 'a collection without a dimension');
    return dim;
  }

  /**
   * The reservation of a name. Where another creation has it that is not done yet, its end is waited for: whoever is
   * told that a collection exists must find it.
   */
  private async reserved(wanted: CollectionRecord): Promise<CollectionRecord> {
    for (let waits = 0; ; waits += 1) {
      try {
        return await this.catalog.reserve(wanted, this.quota);
      } catch (error) {
        const isTaken = isQuiverError(error) && error.kind === 'already_exists';
        if (!isTaken || waits === CREATION_WAITS_MAX || !(await this.catalog.isReserved(wanted.name))) throw error;
        await sleep(CREATION_WAIT_MS);
      }
    }
  }

  async list(caller?: Scoped): Promise<CollectionView[]> {
    const records = (await this.catalog.allShown()).filter(
      ({ name }) => caller === undefined || roleFor(caller, name) !== null,
    );
    const call = this.scatter.begin();
    const views = await inPool(records, async (record) => {
      try {
        return await this.counted(record, STATE_MS, call.deadlineMs);
      } catch (error) {
        // The collection was deleted after it was listed.
        if (isQuiverError(error) && error.kind === 'not_found') return null;
        throw error;
      }
    });
    return views.filter((view) => view !== null);
  }

  async unreadable(caller?: Scoped): Promise<string[]> {
    return this.catalog.unreadable().filter((name) => caller === undefined || roleFor(caller, name) !== null);
  }

  async names(): Promise<string[]> {
    return this.catalog.names();
  }

  async get(name: string): Promise<CollectionView> {
    return this.counted(await this.catalog.shown(name), ONE_STATE_MS);
  }

  async update(
    name: string,
    { description, ttlSeconds, keywordFields, synonyms, stopWords }: CollectionChange,
    dedup?: StoreDedup,
  ): Promise<CollectionView & { job?: string }> {
    const changed = (current: CollectionRecord): CollectionRecord => ({
      ...current,
      ...(description !== undefined && { description }),
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...(synonyms !== undefined && { synonyms: hasRules(synonyms) ? synonyms : undefined }),
      ...(stopWords !== undefined && { stopWords: hasStopWords(stopWords) ? stopWords : undefined }),
    });
    if (hasRules(synonyms) || hasStopWords(stopWords))
      checkWords({ synonyms, stopWords }, (await this.catalog.shown(name)).language);
    checkSynonyms(hasRules(synonyms) ? synonyms : null, this.obstacle);
    checkStopWords(hasStopWords(stopWords) ? stopWords : null, this.obstacle);
    if (keywordFields !== undefined) {
      const { language } = await this.catalog.shown(name);
      const wantedFields = keywordFields && ownAnalysers(keywordFields, language);
      checkReindex(wantedFields, this.obstacle);
      const outcomeOf = async (record: CollectionRecord, job: string) => ({ ...(await this.counted(record)), job });
      const change = { keywordFields: wantedFields, besides: changed };
      const begun = await this.reshards.beginReindex(name, change, dedup && { dedup, outcomeOf });
      if (begun !== null) {
        this.catalog.noteStored(begun.record, begun.revision);
        return { ...(await this.counted(begun.record)), job: begun.job };
      }
    }
    return this.counted(
      await this.catalog.update(name, changed, dedup && { dedup, resultOf: (record) => this.counted(record) }),
    );
  }

  async setQuota(name: string, quota: StorageQuota | null, dedup?: StoreDedup): Promise<CollectionView> {
    const changed = (current: CollectionRecord): CollectionRecord => ({ ...current, quota: quotaOrNone(quota) });
    return this.counted(
      await this.catalog.update(name, changed, dedup && { dedup, resultOf: (record) => this.counted(record) }),
    );
  }

  async stats(name: string): Promise<CollectionStats> {
    return this.statsOf(await this.catalog.shown(name));
  }

  purge(name: string, start: boolean): Promise<CollectionPurge> {
    return this.upkeep.purge(name, start);
  }

  async optimize(name: string): Promise<CollectionStats> {
    await this.upkeep.optimize(name);
    return this.stats(name);
  }

  reshard(name: string, shards: number, dedup?: StoreDedup): Promise<ReshardView> {
    return this.reshards.begin(name, shards, dedup);
  }

  cancelReshard(name: string, dedup?: StoreDedup): Promise<ReshardView> {
    return this.reshards.cancel(name, dedup);
  }

  reembed(name: string, request: ReembedRequest, dedup?: StoreDedup): Promise<JobView> {
    return this.reembeds.begin(name, request, dedup);
  }

  /** Resolves when the shards are gone, too. A shard that can't be reached is dropped by a later recovery. */
  async delete(name: string, dedup?: StoreDedup, withAliases = false, caller?: Scoped): Promise<string[]> {
    const { intent, aliases } = await this.catalog.remove(name, dedup, withAliases, caller);
    await this.dropShards(intent).catch((error: unknown) => this.leaveDrop(intent, error));
    return aliases;
  }

  /**
   * Finishes what a crash interrupted: takes half-made collections back and drops the shards of deleted ones. Then
   * opens the shards of all collections and learns their stamps. What can't be reached is logged and left: its
   * collection answers `unavailable`, the others serve. May be called again: the shards of a collection that all
   * answered are not asked again. Collections reserved within the last `creationMs` are left alone, because another
   * process may still be creating them. Once `stop` is aborted, no more are opened. `patienceMs`: one that takes longer
   * holds up no other; default: each waits for its turn, because this process has the work. Errors: unavailable when
   * the cluster store can't be reached.
   */
  async recover(creationMs = 0, stop?: AbortSignal, patienceMs = Infinity): Promise<void> {
    const pool = { patienceMs };
    await this.catalog.follow();
    await this.catalog.abandonReservations(
      (record) => record.seed === undefined && this.clock.wallMs() - Date.parse(record.createdAt) >= creationMs,
    );
    await inPool(
      await this.catalog.pendingDrops(),
      (intent) => this.dropShards(intent).catch((error: unknown) => this.leaveDrop(intent, error)),
      pool,
    );
    const records = await this.catalog.list();
    const uids = new Set(records.map(({ uid }) => uid));
    for (const uid of this.opened) if (!uids.has(uid)) this.opened.delete(uid);
    const open = async (record: CollectionRecord): Promise<void> => {
      // A cluster's controller comes by every few seconds, and asking every shard of a large one would be most of what
      // it does.
      if (stop?.aborted === true || this.opened.has(record.uid)) return;
      try {
        await this.openShards(record, 'open');
        await this.learnStamps(record);
        this.opened.add(record.uid);
      } catch (error) {
        this.log.error({ collection: record.name, error }, 'a collection could not be opened');
        // What is open takes writes.
        await this.learnStampsOfEach(record);
      }
    };
    await inPool(records, open, pool);
  }

  /**
   * Every shard of every collection, with those that do not answer within the time, which each collection has; all
   * together take no more than half as long again. Errors: unavailable, of a cluster store that is not followed yet.
   */
  async readShards(timeoutMs = STATE_MS): Promise<ShardReading[]> {
    const overall = this.scatter.begin(timeoutMs * 1.5);
    const readings = await inPool(await this.catalog.allShown(), async (record) => {
      const begun = this.scatter.begin(timeoutMs);
      const call = { ...begun, deadlineMs: Math.min(begun.deadlineMs, overall.deadlineMs) };
      return Promise.all(
        Array.from({ length: record.shards }, async (_, shard) => {
          const answers = await this.scatter
            .read(record, [shard], call, (id) => this.shards.read(id, 'status', null, call))
            .catch(() => [null]);
          return { collection: record.name, collectionUid: record.uid, shard, status: answers[0] };
        }),
      );
    });
    return readings.flat();
  }

  /**
   * Takes back a collection that could not be created. If that fails, too, the next start does it. False when it turns
   * out to be visible.
   */
  private async isTakenBack(reserved: CollectionRecord): Promise<boolean> {
    try {
      const intent = await this.catalog.abandon(reserved);
      if (intent === null) return false;
      await this.dropShards(intent);
    } catch (error) {
      this.log.warn(
        { collection: reserved.name, error },
        'a collection that could not be created is left to be cleaned up',
      );
    }
    return true;
  }

  private async openShards(record: CollectionRecord, how: 'make' | 'open'): Promise<void> {
    const settings = shardSettings(record);
    await this.scatter.readAll(record, this.scatter.begin(), (id) => this.shards[how]({ ...id, ...settings }));
  }

  /** Drops the shards, then the intent to do so. Errors: unavailable; it is done by a later recovery then. */
  async dropShards(intent: DropIntent): Promise<void> {
    await this.scatter.readAll(intent, this.scatter.begin(), (id) => this.shards.drop(id));
    if (intent.identity !== undefined) await this.forget(intent.identity);
    await this.catalog.dropped(intent);
  }

  private leaveDrop(intent: DropIntent, error: unknown): void {
    this.log.warn(
      { collection: intent.name, collectionUid: intent.uid, error },
      'shards of a deleted collection are left to be dropped later',
    );
  }

  /**
   * The collection with what its shards say within `patienceMs`, and by `untilMs`. Whatever is wrong with a shard, it
   * is named, and the count is not known. Errors: not_found.
   */
  private async counted(record: CollectionRecord, patienceMs = STATE_MS, untilMs = Infinity): Promise<CollectionView> {
    const begun = this.scatter.begin(patienceMs);
    const call = { ...begun, deadlineMs: Math.min(begun.deadlineMs, untilMs) };
    try {
      const found = await this.sets.inOne(record, call, (current) => this.statusesInTime(current, call));
      const unavailable = found.filter((one) => 'reason' in one);
      const vectorCount =
        unavailable.length > 0
          ? UNKNOWN_COUNT
          : found.reduce((total, one) => total + ('reason' in one ? 0 : one.vectorCount), 0);
      return viewOf(record, vectorCount, unavailable);
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'not_found') throw error;
      const reason = this.reasonOf(record, error);
      return viewOf(
        record,
        UNKNOWN_COUNT,
        Array.from({ length: record.shards }, (_, shard) => ({ shard, reason })),
      );
    }
  }

  /**
   * Of each shard its status, or why it has none. Errors: not_found and resharded, which say that these are not the
   * shards any more.
   */
  private statusesInTime(record: CollectionRecord, call: CallOptions): Promise<(ShardStatus | UnavailableShard)[]> {
    return Promise.all(
      Array.from({ length: record.shards }, async (_, shard) => {
        try {
          const [status] = await this.scatter.read(record, [shard], call, (id) =>
            this.shards.read(id, 'status', null, call),
          );
          this.stamps.observe(status.lastStamp);
          return status;
        } catch (error) {
          if (isQuiverError(error) && (error.kind === 'not_found' || error.kind === 'resharded')) throw error;
          return { shard, reason: this.reasonOf(record, error) };
        }
      }),
    );
  }

  private reasonOf({ name }: CollectionRecord, error: unknown): string {
    if (isQuiverError(error)) return error.message;
    this.log.error({ collection: name, error }, 'a collection could not be looked at');
    return 'it failed; the log says why';
  }

  private async statsOf(record: CollectionRecord): Promise<CollectionStats> {
    const statuses = await this.statuses(record, ONE_STATE_MS);
    const sum = (count: (status: ShardStatus) => number) =>
      statuses.reduce((total, status) => total + count(status), 0);
    return {
      name: record.name,
      quantization: record.quantization,
      vectorCount: sum((status) => status.vectorCount),
      diskBytes: sum((status) => status.diskBytes),
      memoryBytes: sum((status) => status.memoryBytes),
      quota: record.quota ?? null,
      index: collectionProgress(statuses.map((status) => status.index)),
    };
  }

  /** Shards that a reshard has closed answer once it goes on: nobody waits for that here, or it would not. */
  private async learnStamps(record: CollectionRecord): Promise<void> {
    const call = this.scatter.begin();
    try {
      const statuses = await this.scatter.readAll(record, call, (id) => this.shards.read(id, 'status', null, call));
      for (const status of statuses) this.stamps.observe(status.lastStamp);
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'resharded') throw error;
      void this.statuses(record).catch((later: unknown) =>
        this.log.warn(
          { collection: record.name, error: later },
          'a collection whose number of shards changes did not answer in time',
        ),
      );
    }
  }

  /** Of the shards that answer soon. */
  private async learnStampsOfEach(record: CollectionRecord): Promise<void> {
    const call = this.scatter.begin(LEARN_MS);
    const shards = Array.from({ length: record.shards }, (_, shard) => shard);
    const answers = await Promise.allSettled(
      shards.map((shard) =>
        this.scatter.read(record, [shard], call, (id) => this.shards.read(id, 'status', null, call)),
      ),
    );
    for (const answer of answers) if (answer.status === 'fulfilled') this.stamps.observe(answer.value[0].lastStamp);
  }

  private async statuses(record: CollectionRecord, timeoutMs?: number): Promise<ShardStatus[]> {
    const call = this.scatter.begin(timeoutMs);
    const statuses = await this.sets.inOne(record, call, (current) =>
      this.scatter.readAll(current, call, (id) => this.shards.read(id, 'status', null, call)),
    );
    for (const status of statuses) this.stamps.observe(status.lastStamp);
    return statuses;
  }
}

function viewOf(
  record: CollectionRecord,
  vectorCount: number,
  unavailableShards: UnavailableShard[] = [],
): CollectionView {
  return {
    name: record.name,
    dim: record.dim,
    metric: record.metric,
    description: record.description,
    language: record.language,
    keywordFields: record.keywordFields ?? null,
    synonyms: record.synonyms ?? null,
    stopWords: record.stopWords ?? null,
    keywordPositions: record.keywordPositions !== false,
    quantization: record.quantization,
    metadata: record.metadata ?? DEFAULT_METADATA_STORAGE,
    vectors: record.vectors ?? DEFAULT_VECTOR_STORAGE,
    vectorCount,
    unavailableShards,
    createdAt: record.createdAt,
    shards: record.shards,
    replicas: record.replicas,
    minInSync: record.minInSync,
    ttlSeconds: record.ttlSeconds ?? null,
    embeddingModel: record.embeddingModel,
    embedding: record.embedding ?? null,
    quota: record.quota ?? null,
  };
}

function hasRules(synonyms: readonly SynonymRule[] | null | undefined): synonyms is readonly SynonymRule[] {
  return synonyms !== undefined && synonyms !== null && synonyms.length > 0;
}

function hasStopWords(stopWords: StopWords | null | undefined): stopWords is StopWords {
  return stopWords !== undefined && stopWords !== null && stopWords.add.length + stopWords.remove.length > 0;
}

/** Errors: schema_violation for what is no word in the language. */
function checkWords(
  { synonyms, stopWords }: Pick<CollectionChange, 'synonyms' | 'stopWords'>,
  language: Language | null,
): void {
  const wordless = hasRules(synonyms) ? wordlessText(synonyms, language) : undefined;
  if (wordless !== undefined)
    throw new QuiverError(
      'schema_violation',
      `synonyms has ${JSON.stringify(wordless)}, which has no word to look for`,
    );
  const fault = hasStopWords(stopWords) ? faultOfStopWords(stopWords, language) : null;
  if (fault !== null) throw new QuiverError('schema_violation', fault);
}
