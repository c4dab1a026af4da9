import type { ClusterStore } from '../shared/cluster-store/cluster-store';
import type { Config } from '../shared/base/config/config';
import { QuiverError } from '../shared/base/errors/quiver-error';
import type { Logger } from '../shared/base/logs/logger';
import { programVersion } from '../shared/base/process/program-version';
import type { SearchesAtOnce } from '../shared/contract/shard/inline-search';
import type { ShardClient } from '../shared/contract/shard/shard-client';
import type { Clock } from '../shared/base/time/clock';
import { Pace } from '../shared/base/time/pace';
import type { OpenTarget } from '../shared/backup-store/backup-target';
import { BackupDriver } from './jobs/backup/backup-driver';
import type { BackupObserver } from './jobs/backup/backup-observer';
import { BackupJobs } from './jobs/backup/backup-jobs';
import { BACKUP_RIGHTS } from './jobs/backup/backup-record';
import { BackupRequests } from './jobs/backup/backup-requests';
import { VerifyKind } from './jobs/backup/verify-kind';
import { Cron } from './jobs/backup/cron';
import { type KeepRule, parseKeepRule } from './jobs/backup/kept-backups';
import { StoredRestores } from './jobs/restore/stored-restores';
import { AnswerService } from './service/answers/answer-service';
import type { AnswerFacts } from './service/answers-service';
import { ShardedAggregatesService } from './service/aggregates/sharded-aggregates-service';
import { type AliasTenure, OWN_ALIASES } from './service/aliases/alias-names';
import { type AliasAudience, NO_AUDIENCE, StoredAliases } from './service/aliases/stored-aliases';
import { CatalogCollectionsService } from './service/collections/catalog-collections-service';
import { CollectionCatalog } from './service/collections/collection-catalog';
import { CollectionEmbedder } from './service/collections/collection-embedder';
import { QuotaLedger } from './service/collections/quota-ledger';
import type { CollectionObstacle } from './service/collections/collection-obstacle';
import type { CollectionQuota } from './service/collections/collection-quota';
import type { DropIntent } from './service/collections/collection-record';
import { JobDriver } from './jobs/driving/job-driver';
import type { JobRecord } from './jobs/record/job-record';
import { JobRequests } from './jobs/record/job-requests';
import type { JobSource } from './jobs/record/job-source';
import { StoredJobs } from './jobs/record/stored-jobs';
import { RESHARD_JOB_RIGHTS } from './jobs/reshard/reshard-job-view';
import { ReshardJobs } from './jobs/reshard/reshard-jobs';
import { ReembedRequests } from './jobs/reshard/reembed-requests';
import { ItemEmbedder } from './jobs/reshard/item-embedder';
import { VectorComparison } from './jobs/reshard/vector-comparison';
import type { DriverLeadership } from './jobs/driving/owned-entry';
import { EvaluateKind, JudgementRequests, type VariantSearch } from './jobs/evaluate/evaluate-kind';
import { OptimizeKind } from './jobs/upkeep/optimize-kind';
import { PurgeKind } from './jobs/upkeep/purge-kind';
import { UpkeepRequests } from './jobs/upkeep/upkeep-requests';
import type { OtherProcesses } from './service/collections/other-processes';
import { type NewShardReading, ReshardRequests } from './jobs/reshard/reshard-requests';
import { Resharder } from './jobs/reshard/resharder';
import type { ShardReading } from './service/collections/shard-reading';
import { ShardUpkeep } from './service/collections/shard-upkeep';
import { CollectionDemoService } from './service/demo/collection-demo-service';
import { DocumentKind } from './jobs/documents/document-kind';
import { DocumentRequests, WAITING_MAX } from './jobs/documents/document-requests';
import { DocumentRoom } from './jobs/documents/document-room';
import { DocumentTurns } from './jobs/documents/document-turns';
import type { WaitingFiles } from './jobs/documents/waiting-files';
import { DocumentService } from './service/documents/document-service';
import type { DocumentParser } from './service/documents/formats/document-parser';
import { measuredBeside } from './service/documents/measured-passages';
import { StoredDocuments } from './service/documents/stored-documents';
import type { EmbeddingProvider } from './models/embedding-provider';
import type { LanguageModels } from './models/language/language-model';
import type { RerankProvider } from './models/rerank/reranker';
import type { CallProfiling } from './service/routing/call-profiling';
import { KeyQuotaLedger } from './service/keys/quota/key-quota-ledger';
import { presentWriter } from './service/keys/quota/present-writer';
import { StoredJudgements } from './service/judgements/stored-judgements';
import { StoredOutcomes } from './service/idempotency/stored-outcomes';
import { DeepReads } from './service/routing/deep-reads';
import { withProfiles } from './service/routing/profiled-shards';
import { ScatterGather } from './service/routing/scatter-gather';
import { newStampMemory, StampClock } from './service/routing/stamp-clock';
import { ShardedSamplesService } from './service/sampling/sharded-samples-service';
import type { SearchObserver } from './service/search/search-observer';
import { RecallCheck } from './service/search/recall-check';
import { ShardedSearchService } from './service/search/sharded-search-service';
import type { ReshardView, Service } from './service/service';
import { ShardedVectorsService } from './service/vectors/sharded-vectors-service';

const NO_OTHERS: OtherProcesses = { isAlive: () => false, creationMs: 0, writesMs: 0 };

/** The use cases of a coordinator, with their start and end. */
export interface RunningService extends Service {
  catalog: CollectionCatalog;
  aliases: StoredAliases;
  quotas: QuotaLedger;
  keyQuotas: KeyQuotaLedger;
  embedder: CollectionEmbedder;
  languageModels: LanguageModels;
  /** The last insertion stamp, for other threads of the process (StampClock). */
  stampMemory: BigInt64Array;
  /**
   * Follows the cluster store. The service may be called once this resolves. Errors: unavailable when it can't be
   * reached.
   */
  follow(): Promise<void>;
  /**
   * Follows the store, finishes what a crash interrupted and opens every collection. May be called again, to clean up
   * what could not be reached. `others` describes processes that share the cluster store; none by default. Errors:
   * unavailable as above.
   */
  recover(others?: Partial<OtherProcesses>): Promise<void>;
  /**
   * The state of every shard of every collection, collections by name. A shard that does not answer in time (default:
   * some seconds) has no status. Errors: unavailable as for `recover`.
   */
  readShards(timeoutMs?: number): Promise<ShardReading[]>;
  /** Collections that change their number of shards, by name. Errors: unavailable. */
  reshards(): Promise<ReshardView[]>;
  /** The shards that they are to get. Errors: unavailable. */
  readNewShards(): Promise<NewShardReading[]>;
  /**
   * Drives the reshards from now on, as long as `leadership` is this process's. Old shards stay for `retireMs` after
   * others took their place. Errors: unavailable.
   */
  driveReshards(leadership: DriverLeadership, retireMs: number): Promise<Resharder>;
  /** Jobs that only the caller knows are shown with the others. */
  addJobs(source: JobSource): void;
  /** Drives the jobs whose record is the common one. Errors: unavailable. */
  driveJobs(leadership: DriverLeadership, isAlive?: OtherProcesses['isAlive']): Promise<JobDriver<JobRecord>>;
  /**
   * Does what is to be done for backups and restores, as long as `leadership` is this process's. Errors: unavailable.
   */
  driveBackups(leadership: DriverLeadership, observer: BackupObserver): Promise<BackupDriver>;
  /** Stops following the cluster store. Store, shards and models stay open: they belong to the caller. */
  close(): void;
}

/** Builds the use cases over the given store, shards and models. */
export function createService(options: {
  clusterStore: ClusterStore;
  shardClient: ShardClient & SearchesAtOnce;
  embedding: EmbeddingProvider;
  reranker: RerankProvider;
  /** What LLM_BASE_URL names; where that names nothing, none is called. */
  languageModels: LanguageModels;
  /** Told of each answer that was made of texts. */
  answerObserver?: (facts: AnswerFacts) => void;
  clock: Clock;
  config: Pick<
    Config,
    | 'llmBaseUrl'
    | 'llmModels'
    | 'llmTokensPerDay'
    | 'llmPromptCharacters'
    | 'llmTimeoutMs'
    | 'backupTarget'
    | 'defaultShards'
    | 'defaultReplicas'
    | 'collectionQuotaItems'
    | 'collectionQuotaBytes'
    | 'requestTimeoutMs'
    | 'chunkSize'
    | 'chunkOverlap'
    | 'uploadBytesMax'
    | 'metadataBytesMax'
    | 'metadataFieldsMax'
    | 'backupBytesPerSecond'
    | 'backupSchedule'
    | 'backupKeep'
    | 'backupLog'
  >;
  log: Logger;
  quota: CollectionQuota;
  collectionObstacle?: CollectionObstacle | undefined;
  /** How long this process is certain of aliases; default: always. */
  aliasTenure?: AliasTenure | undefined;
  /** Other processes that use the aliases; default: there are none. */
  aliasAudience?: AliasAudience | undefined;
  /** Identifies this process among those that share the cluster store; a new one at each start. */
  instanceId: string;
  searchObserver?: SearchObserver;
  /** Hands over what is noted of requests; default: nothing is. */
  profiling?: CallProfiling;
  /** The file of the worker that projects samples; default: the compiled one. */
  projectionWorker?: string;
  /** Opens targets of backups. */
  openTarget: OpenTarget;
  /** The searches of evaluations. */
  searchOf: VariantSearch;
  /** Files of documents that wait for their jobs. */
  documentFiles: WaitingFiles;
  /** As of ShardedSearchService. */
  cursorSecret: string;
  parser: Pick<DocumentParser, 'parse'>;
}): RunningService {
  const { clock, config, instanceId, log, clusterStore: store } = options;
  const shards = withProfiles(options.shardClient);
  const catalog = new CollectionCatalog({ store });
  const scatter = new ScatterGather({
    clock,
    timeoutMs: config.requestTimeoutMs,
    uidOf: (collection) => catalog.uidOf(collection),
    profiling: options.profiling,
  });
  const obstacle = options.collectionObstacle ?? (() => null);
  const aliases = new StoredAliases({
    store,
    catalog,
    clock,
    log,
    tenure: options.aliasTenure ?? OWN_ALIASES,
    obstacle,
    audience: options.aliasAudience ?? NO_AUDIENCE,
  });
  const stampMemory = newStampMemory();
  const stamps = new StampClock({ clock, last: stampMemory });
  const embedder = new CollectionEmbedder({ catalog, provider: options.embedding });
  const quota = { items: config.collectionQuotaItems || null, bytes: config.collectionQuotaBytes || null };
  const defaults = { shards: config.defaultShards, replicas: config.defaultReplicas, quota };
  const quotas = new QuotaLedger({ catalog, shards, scatter, clock, requestTimeoutMs: config.requestTimeoutMs });
  const keyQuotas = new KeyQuotaLedger({ store, clock });
  const reshards = new ReshardRequests({ store, shards, clock, quota: options.quota });
  const { openTarget } = options;
  const schedule = scheduleOf(config);
  const pace = new Pace(config.backupBytesPerSecond);
  let leadership: DriverLeadership = { guard: null };
  let { isAlive } = NO_OTHERS;
  const rightsOf = {
    backup: BACKUP_RIGHTS,
    restore: BACKUP_RIGHTS,
    ...RESHARD_JOB_RIGHTS,
  };
  const upkeep = new ShardUpkeep({ catalog, shards, scatter, clock });
  const deep = new DeepReads(clock);
  const search = new ShardedSearchService({
    catalog,
    embedder,
    shards,
    scatter,
    deep,
    reranker: options.reranker,
    clock,
    observer: options.searchObserver,
    cursorSecret: options.cursorSecret,
  });
  const judgements = new StoredJudgements({ store, catalog, clock });
  const reembeds = new ReembedRequests({
    store,
    clock,
    reshards,
    collection: (name) => catalog.shown(name),
    dimensionOf: (embedding) => options.embedding.dimensionOf(embedding),
    mustBeJudged: (collection, judged) => judgements.find(collection, judged),
    obstacle,
  });
  const itemEmbedder = new ItemEmbedder({ embedding: options.embedding, clock });
  const outcomes = new StoredOutcomes({ store, clock });
  const { documentFiles: files, parser } = options;
  const room = new DocumentRoom({ store, clock, bounds: { ...files.bounds, filesMax: WAITING_MAX } });
  const { metadataBytesMax, metadataFieldsMax } = config;
  // The vectors need the collections, which need the jobs.
  const documents = new StoredDocuments({
    catalog,
    vectors: {
      scroll: (...args) => vectors.scroll(...args),
      fetch: (...args) => vectors.fetch(...args),
      exchange: (...args) => vectors.exchange(...args),
      revoke: (...args) => vectors.revoke(...args),
    },
  });
  const stored = new StoredJobs({
    store,
    clock,
    log,
    leadership: () => leadership,
    kinds: [
      new VerifyKind({ openTarget, pace, clock, log }),
      new PurgeKind({ upkeep, store }),
      new OptimizeKind({ upkeep }),
      new EvaluateKind({ judgements, search, searchOf: options.searchOf }),
      new DocumentKind({
        files,
        room,
        parser,
        turns: { lastGeneration: () => turns.lastGeneration() },
        stored: documents,
        catalog,
        embedder,
        presentWriter: (then) => presentWriter(store, then),
        metadataBytesMax,
        metadataFieldsMax,
        clock,
        worker: instanceId,
        isAlive: (other) => isAlive(other),
      }),
    ],
    rightsOf,
  });
  const turns = new DocumentTurns({ store, jobs: stored, stamps });
  const collections = new CatalogCollectionsService({
    reshards,
    reembeds,
    upkeep: new UpkeepRequests({ upkeep, jobs: stored }),
    catalog,
    shards,
    scatter,
    stamps,
    clock,
    log,
    defaults,
    quota: options.quota,
    embedder,
    collectionObstacle: options.collectionObstacle,
    forget: (identity) => judgements.forget(identity),
    aliasesSettled: () => aliases.settled(),
  });
  const backups = new BackupRequests({
    store,
    clock,
    target: config.backupTarget,
    openTarget,
    reshards,
    jobs: stored,
    collectionObstacle: options.collectionObstacle,
  });
  const jobs = new JobRequests([
    new BackupJobs({ store, clock, requests: backups }),
    new ReshardJobs({ store, clock, requests: reshards, reembeds }),
    stored,
  ]);
  const vectors = new ShardedVectorsService({
    quotas,
    keyQuotas,
    catalog,
    collections,
    embedder,
    shards,
    scatter,
    deep,
    stamps,
    clock,
  });
  const samples = new ShardedSamplesService({
    catalog,
    shards,
    scatter,
    deep,
    clock,
    workerFile: options.projectionWorker,
  });
  const aggregates = new ShardedAggregatesService({ catalog, shards, scatter, search, clock });
  const measuring = async (name: string, metadata: string) => {
    const collection = catalog.known(name) ?? (await catalog.find(name));
    return measuredBeside(collection.embedding, metadata, (texts) =>
      embedder.measure(catalog.known(name) ?? collection, texts),
    );
  };
  const uploads = new DocumentService({
    collections,
    measuring,
    vectors,
    keyQuotas,
    store,
    outcomes,
    config,
    clock,
    log,
    instanceId,
  });
  const requests = new DocumentRequests({
    uploads,
    stored: documents,
    files,
    room,
    jobs: stored,
    turns,
    catalog,
    obstacle,
    config,
    clock,
    log,
  });
  return {
    catalog,
    aliases,
    quotas,
    keyQuotas,
    embedder,
    stampMemory,
    collections,
    vectors,
    search,
    samples,
    aggregates,
    recall: new RecallCheck({ catalog, shards, scatter, samples, clock }),
    judgements: new JudgementRequests({
      stored: judgements,
      jobs: stored,
      searchOf: options.searchOf,
      reranker: options.reranker,
    }),
    documents: requests,
    demo: new CollectionDemoService({ collections, vectors, embedding: options.embedding }),
    backups,
    jobs,
    outcomes,
    rerank: options.reranker,
    languageModels: options.languageModels,
    answers: new AnswerService({
      search,
      models: options.languageModels,
      keyQuotas,
      clock,
      config,
      note: options.answerObserver ?? (() => undefined),
    }),
    follow: () => Promise.all([catalog.follow(), aliases.follow()]).then(() => undefined),
    recover: async (given = {}) => {
      const others = { ...NO_OTHERS, ...given };
      await aliases.follow();
      await collections.recover(others.creationMs, others.stop, others.patienceMs);
      // What follows would take collections that are not open for gone.
      if (others.stop?.aborted === true) return;
      await others.onOpened?.();
      await uploads.recoverUploads(others);
      await outcomes
        .sweep()
        .catch((error: unknown) =>
          log.warn({ error }, 'outcomes of earlier requests could not be cleaned up; it is tried again'),
        );
    },
    readShards: (timeoutMs) => collections.readShards(timeoutMs),
    reshards: () => reshards.list(),
    readNewShards: () => reshards.newShards(),
    addJobs: (source) => jobs.add(source),
    driveJobs: async (given, isOtherAlive = NO_OTHERS.isAlive) => {
      leadership = given;
      isAlive = isOtherAlive;
      requests.sweepWhile(() => leadership.guard !== null);
      return started(new JobDriver(stored, { leadership, clock, log }));
    },
    driveReshards: async (leadership, retireMs) => {
      const resharder = new Resharder({
        store,
        shards,
        clock,
        log,
        leadership,
        retireMs,
        drop: (intent) => collections.dropShards(intent),
        restores: new StoredRestores(store),
        reembedding: {
          vectors: itemEmbedder,
          comparison: (name, transfers, stop) =>
            new VectorComparison({
              transfers,
              vectors: itemEmbedder,
              judged: async (judged) => (await judgements.find(name, judged)).judged,
              clock,
              stop,
            }),
        },
      });
      return started(resharder);
    },
    driveBackups: async (leadership, observer) => {
      const drop = (intent: DropIntent): Promise<void> => collections.dropShards(intent);
      const driver = new BackupDriver({
        store,
        shards,
        catalog,
        reshards,
        quota: options.quota,
        clock,
        log,
        leadership,
        observer,
        target: config.backupTarget,
        jobs: stored,
        schedule,
        openTarget,
        shipsLogs: config.backupLog === 'true',
        drop,
        aliasesSettled: () => aliases.settled(),
        version: programVersion(),
      });
      return started(driver);
    },
    close: () => {
      stored.entries.close();
      uploads.close();
      requests.close();
      aliases.close();
      catalog.close();
    },
  };
}

/** Leaves nothing behind that drives when it can't start. */
async function started<Driver extends { start(): Promise<void>; close(): Promise<void> }>(
  driver: Driver,
): Promise<Driver> {
  try {
    await driver.start();
  } catch (error) {
    await driver.close();
    throw error;
  }
  return driver;
}

/** Errors: invalid_parameter for what is none. */
function scheduleOf({
  backupSchedule,
  backupKeep,
}: Pick<Config, 'backupSchedule' | 'backupKeep'>): { cron: Cron; keep: KeepRule | null } | null {
  const keep = backupKeep === '' ? null : parseKeepRule(backupKeep);
  if (keep === null && backupKeep !== '')
    throw new QuiverError(
      'invalid_parameter',
      `BACKUP_KEEP=${JSON.stringify(backupKeep)} is not valid: expected numbers of hours, days, weeks, months or years, as 7d,4w,12m`,
    );
  if (backupSchedule === '') return null;
  const cron = Cron.parse(backupSchedule);
  if (cron === null)
    throw new QuiverError(
      'invalid_parameter',
      `BACKUP_SCHEDULE=${JSON.stringify(backupSchedule)} is not valid: expected the five fields of cron, as 0 3 * * *`,
    );
  return { cron, keep };
}
