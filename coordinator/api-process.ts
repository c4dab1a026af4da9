import { join } from 'node:path';
import type { OpenTarget } from '../shared/backup-store/backup-target';
import type { UntilStoreAnswers } from '../shared/cluster-store/entries/store-retry';
import type { ClusterStore } from '../shared/cluster-store/cluster-store';
import { apiKeyIn, type Config } from '../shared/base/config/config';
import { QuiverError } from '../shared/base/errors/quiver-error';
import type { LineOutput } from '../shared/base/process/line-output';
import type { Logger } from '../shared/base/logs/logger';
import type { ProcessMetrics } from '../shared/base/metrics/process-metrics';
import { addThreadMetrics } from '../shared/base/metrics/thread-metrics';
import { addTraceMetrics, ThreadTraceCounts } from '../shared/base/metrics/trace-metrics';
import { answerBytesOf } from '../shared/base/process/capacity';
import type { ShutdownStack } from '../shared/base/process/shutdown-stack';
import { FollowedFiles } from '../shared/base/process/followed-files';
import { readMachineLimits } from '../shared/base/process/machine-limits';
import { openOpsPort } from '../shared/base/process/ops-port';
import { OpsServer, type Readiness } from '../shared/base/process/ops-server';
import type { SearchesAtOnce } from '../shared/contract/shard/inline-search';
import type { ShardClient } from '../shared/contract/shard/shard-client';
import type { Clock } from '../shared/base/time/clock';
import { openTracer } from '../shared/base/trace/open-tracer';
import type { TraceOrigin } from '../shared/base/trace/trace-origin';
import type { TraceCounts, Tracer } from '../shared/base/trace/span';
import type { SharedTenure } from './service/aliases/alias-tenure';
import type { AliasAudience, StoredAliases } from './service/aliases/stored-aliases';
import type { CollectionCatalog } from './service/collections/collection-catalog';
import type { CollectionObstacle } from './service/collections/collection-obstacle';
import type { CollectionQuota } from './service/collections/collection-quota';
import { fallbackNotice } from './models/fallback-notice';
import { type EmbeddingModelLoader, EmbeddingRegistry } from './models/embedding-registry';
import { ProviderKeys } from './models/remote/provider-keys';
import { RemoteProviders } from './models/remote/remote-providers';
import { rerankLoader } from './models/rerank/rerank-loader';
import { Rerankers, type RerankersElsewhere } from './models/rerank/rerankers';
import { transformersLoader, type TransformersOptions } from './models/transformers/transformers-loader';
import { embeddingProvidersIn } from '../shared/base/config/embedding-providers';
import { configuredModels } from './models/language/configured-models';
import { languageModelsIn } from '../shared/base/config/language-models';
import { rerankModelsIn, rerankNamesIn } from '../shared/base/config/rerank-models';
import { AnswerMemory } from './api/load/answer-memory';
import { sharedHeapGrowth, V8HeapGrowth } from './api/load/heap-growth';
import type { ConnectionBounds } from './api/connections/connection-admission';
import type { MetricsText } from './api/endpoints/public-endpoints';
import { dashboardFolderOf } from './api/pages/dashboard-folder';
import { ApiCertificates } from './api/connections/api-certificates';
import { type ApiServer, closeHttpServer, createHttpServer, listen } from './api/http/http-server';
import { TlsListener } from './api/connections/tls-listener';
import { StoreKeysService } from './service/keys/store-keys-service';
import { OWNER } from './service/keys/caller';
import { newSecret } from './service/keys/secret';
import { OneTimeSignIn } from './service/keys/sign-in';
import { openTokens, type OpenTokens } from './service/keys/tokens/open-tokens';
import { StoreKeyUsage } from './service/keys/usage/store-key-usage';
import type { ProcessLimiter } from './service/limits/process-limiter';
import type { RateLimiter } from './service/limits/rate-limiter';
import { ApiMetrics } from './api/metrics/api-metrics';
import { BackupMetrics } from './api/metrics/backup-metrics';
import { addClusterMetrics } from './api/metrics/cluster-metrics';
import { addCollectionMetrics } from './api/metrics/collection-metrics';
import { MeasuredAnswers } from './api/metrics/measured-answers';
import { MeasuredEmbedding } from './api/metrics/measured-embedding';
import { ProviderMetrics } from './api/metrics/provider-metrics';
import { MeasuredReranking } from './api/metrics/measured-reranking';
import { addQuotaMetrics } from './api/metrics/quota-metrics';
import { RecentActivity } from './api/metrics/recent-activity';
import { ProcessAudit } from './api/metrics/process-audit';
import { RequestReporter } from './api/metrics/request-reporter';
import { SlowRequests } from './api/metrics/slow-requests';
import { addTokenMetrics } from './api/metrics/token-metrics';
import type { OperationsService } from './cluster/operations/operations-service';
import { type BodyScannerAddon, loadBodyScanner } from './api/native/body-scanner';
import { CallProfiling } from './service/routing/call-profiling';
import { DeepReads } from './service/routing/deep-reads';
import type { WaitingFiles } from './jobs/documents/waiting-files';
import { DocumentParser } from './service/documents/formats/document-parser';
import { cursorSecretIn } from './service/search/cursor-seal';
import { createService, type RunningService } from './service-factory';
import { variantSearch } from './api/schema/judgement-schemas';
import { publishCollections } from './api/threads/http-thread-catalog';
import { httpThreadHandlers, type MainServices } from './api/threads/http-thread-handlers';
import { publishKeys } from './api/threads/http-thread-keys';
import { logHandlers } from '../shared/base/threads/thread-log';
import { publishTokenKeys, tokenHandlers } from './api/threads/http-thread-tokens';
import type { HttpThreadLoad } from './api/threads/http-thread-reports';
import { HttpThreads } from './api/threads/http-threads';
import type { ThreadHandlers, ThreadPeer } from '../shared/base/threads/thread-peer';

/** The part of the stop time that flushing and checkpoints need at the end. The rest is for running requests. */
const CLOSING_TIME_MS = 10_000;
const REQUEST_GRACE_MIN_MS = 1_000;
/**
 * A shard that takes longer to report its state counts as down in a scrape. This is shorter than the time after which
 * Prometheus gives up on the whole scrape.
 */
const SCRAPE_SHARDS_MS = 3_000;
/** Of a document's text: more than any that becomes one write. */
const DOCUMENT_CHARACTERS_MAX = 32 * 1024 * 1024;

/** What HTTP threads are in one form of the service. */
export interface HttpThreadForm {
  /** The JavaScript file of the worker. */
  entry: string;
  /** What its threads are started with besides what all are; to be cloned. */
  data?: object;
  /** What its threads may ask besides what all may. */
  handlers?: ThreadHandlers;
  /** The load of all threads changed. */
  onLoad?: (load: HttpThreadLoad) => void;
  /** Tells a thread what it must know of this form; answers what ends that. */
  follow(peer: ThreadPeer): () => void;
}

/**
 * How calls come in where nothing listens for strangers: those of whoever owns the data, who needs no key and has no
 * limits.
 */
export interface OwnEntrance {
  /** Lets calls in. Errors: invalid_parameter where that can't be. */
  open(server: ApiServer, onError: (error: Error) => void): Promise<void>;
  /** Lets none in any more, and resolves when those under way are answered, or after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/**
 * The API and everything that it needs on top of a cluster store and shards: what the embedded form and a coordinator
 * have in common. It is built in steps, because the operations port must answer before the rest exists.
 */
export class ApiProcess {
  private readonly config: Config;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly shutdown: ShutdownStack;
  private readonly stopSignal: AbortSignal;
  private readonly instanceId: string;
  private readonly coordinatorId: string;
  private readonly metrics: ProcessMetrics;
  private readonly apiMetrics: ApiMetrics;
  /** What traces are sent with; null: none are. */
  private readonly traces: TraceOrigin | null;
  /** Standard output, for an audit log that goes there. */
  private readonly output: LineOutput;
  /** Whom to tell what becomes of backups. */
  readonly backupMetrics: BackupMetrics;
  /** For ports that take many connections at a time. */
  readonly duplicateHandle = loadBodyScanner().duplicateHandle;
  private readiness: Readiness = { ready: false, reason: 'recovering' };
  private opsPort = 0;
  private service: RunningService | null = null;
  private operations: OperationsService | null = null;

  /**
   * `ending` is aborted when the process is asked to end while it starts. `instanceId` is unique to this process. Adds
   * metrics of its own to `metrics`, which it serves.
   */
  constructor(options: {
    config: Config;
    clock: Clock;
    log: Logger;
    shutdown: ShutdownStack;
    stopSignal: AbortSignal;
    instanceId: string;
    coordinatorId: string;
    metrics: ProcessMetrics;
    traces: TraceOrigin | null;
    output: LineOutput;
  }) {
    this.output = options.output;
    this.traces = options.traces;
    this.config = options.config;
    this.clock = options.clock;
    this.log = options.log;
    this.shutdown = options.shutdown;
    this.stopSignal = options.stopSignal;
    this.instanceId = options.instanceId;
    this.coordinatorId = options.coordinatorId;
    this.metrics = options.metrics;
    this.apiMetrics = new ApiMetrics(this.metrics);
    this.backupMetrics = new BackupMetrics(this.metrics);
    this.metrics.gauge('quiver_ready', '1 when the process is ready, else 0', () => (this.readiness.ready ? 1 : 0));
    addCollectionMetrics(this.metrics, async () =>
      this.readiness.ready ? ((await this.service?.readShards(SCRAPE_SHARDS_MS)) ?? null) : null,
    );
    addClusterMetrics(this.metrics, {
      coordinatorId: this.coordinatorId,
      read: async () => (this.readiness.ready ? ((await this.operations?.cluster()) ?? null) : null),
    });
  }

  /** Opens the operations port, alive, not ready, and answers it. `isGiven`: whether OPS_PORT is set. */
  async openOperationsPort({ isGiven }: { isGiven: boolean }): Promise<number> {
    const ops = new OpsServer({
      readiness: () => this.readiness,
      metrics: () => this.metrics.read(),
      onError: (error) => this.log.error({ error }, 'the operations port failed'),
      duplicateHandle: this.duplicateHandle,
    });
    this.opsPort = await openOpsPort(ops, {
      port: this.config.opsPort,
      host: this.config.host,
      isGiven,
      log: this.log,
    });
    this.shutdown.defer(() => ops.close());
    return this.opsPort;
  }

  /**
   * Serves the API; resolves when it does. `recover` prepares the service for its first call. `operations` and the
   * limiters depend on the form. Answers the port, and the secret of the first key if it was made now, with the token
   * of a link by which it can be had once, and what people should know about the model of texts. Errors: unavailable
   * when the process is asked to end meanwhile.
   */
  async serve(parts: {
    clusterStore: ClusterStore;
    shardClient: ShardClient & SearchesAtOnce;
    rateLimiter: RateLimiter;
    /** The part of it that is counted in this process. */
    localLimiter: ProcessLimiter;
    addressLimiter: ProcessLimiter;
    quota: CollectionQuota;
    /** As of createService. */
    collectionObstacle?: CollectionObstacle;
    aliasTenure?: SharedTenure;
    aliasAudience?: AliasAudience;
    connections: ConnectionBounds;
    /** Where calls come from in the place of the port; null, the default: it listens. */
    entrance?: OwnEntrance | null;
    operations: (service: RunningService, embedding: EmbeddingRegistry) => OperationsService;
    /** Opens targets of backups. */
    openTarget: OpenTarget;
    documentFiles: WaitingFiles;
    recover: (service: RunningService) => Promise<void>;
    /** Has an attempt that needs the cluster store succeed, as long as the store may be away at a start. */
    reached?: UntilStoreAnswers;
    /** What other processes rerank with; default: there are none. */
    rerankersElsewhere?: () => readonly RerankersElsewhere[];
    /** How HTTP threads are made, if HTTP_THREADS asks for them. */
    httpThreads: HttpThreadForm;
  }): Promise<{ port: number; first: { secret: string; token: string } | null; modelNotice: string | null }> {
    const { config, clock, log, shutdown, instanceId } = this;
    const { reached = (attempt) => attempt(), entrance = null } = parts;
    const generated = newSecret();
    const { keys, firstSecret } = await reached(() =>
      StoreKeysService.open({
        store: parts.clusterStore,
        clock,
        apiKey: config.apiKey,
        generated: entrance === null ? generated : null,
      }),
    );
    const cursorSecret = await reached(() => cursorSecretIn(parts.clusterStore));
    shutdown.defer(() => keys.close());
    this.followApiKey(keys);
    const usage = new StoreKeyUsage({
      store: parts.clusterStore,
      clock,
      coordinatorId: this.coordinatorId,
      keys,
      onFlushError: (error, isLast) =>
        log.warn(
          { error },
          isLast
            ? 'the last usage counts could not be written, and are lost'
            : 'usage counts could not be written; they are kept and tried again',
        ),
    });
    shutdown.defer(() => usage.close());
    const embedding = new EmbeddingRegistry({
      configured: config.embeddingModel,
      loader: this.embeddingLoader(),
      others: config.embeddingModels,
      remote: this.remoteProviders(parts.clusterStore),
      log,
      clock,
      patienceMs: config.requestTimeoutMs,
    });
    shutdown.defer(() => embedding.close());
    const reranker = this.rerankers(parts.rerankersElsewhere);
    shutdown.defer(() => reranker.close());
    // One after the other: both may name the same model, which is fetched into one folder.
    await embedding.defaultModel();
    await reranker.open();

    const parser = new DocumentParser({
      limits: {
        memoryMiB: config.parserMemoryMiB,
        timeMs: config.parserTimeoutMs,
        bytesMax: config.uploadBytesMax,
        charactersMax: DOCUMENT_CHARACTERS_MAX,
      },
      log,
    });
    shutdown.defer(() => parser.close());
    const measured = new MeasuredEmbedding(embedding, this.metrics);
    const languageModels = configuredModels(config);
    shutdown.defer(() => languageModels.close());
    const answers = new MeasuredAnswers(languageModels, languageModelsIn(config.llmModels) ?? [], this.metrics);
    const profiling = new CallProfiling();
    const service = createService({
      clusterStore: parts.clusterStore,
      shardClient: parts.shardClient,
      embedding: measured,
      reranker: new MeasuredReranking(reranker, reranker.names, this.metrics),
      languageModels: answers,
      answerObserver: (facts) => answers.note(facts),
      clock,
      config,
      log,
      quota: parts.quota,
      collectionObstacle: parts.collectionObstacle,
      aliasTenure: parts.aliasTenure,
      aliasAudience: parts.aliasAudience,
      openTarget: parts.openTarget,
      documentFiles: parts.documentFiles,
      cursorSecret,
      parser,
      searchOf: variantSearch(config),
      instanceId,
      searchObserver: this.apiMetrics.searches,
      profiling,
    });
    shutdown.defer(() => service.keyQuotas.close());
    shutdown.defer(() => service.close());
    await parts.recover(service);
    // It may have left collections closed, and whoever asked for one would be told that it is not there.
    if (this.stopSignal.aborted) throw new QuiverError('unavailable', 'the process was asked to end');
    this.service = service;
    addQuotaMetrics(this.metrics, {
      quotas: service.quotas,
      keyQuotas: service.keyQuotas,
      keys: () => keys.withQuota(),
      collections: () => service.catalog.allShown(),
    });
    const operations = parts.operations(service, embedding);
    this.operations = operations;

    const { rateLimiter, localLimiter, addressLimiter, connections } = parts;
    const slow = new SlowRequests({ slowMs: config.logSlowMs, clock });
    const audit = await this.openAuditLog();
    const observer = new RequestReporter({
      metrics: this.apiMetrics.requests,
      searches: this.apiMetrics.searches,
      slow,
      logger: log,
      rule: config,
      audit: audit?.log ?? null,
    });
    const { load, requests } = this.apiMetrics;
    const activity = new RecentActivity({ id: this.coordinatorId, clock, requests, embedding: measured, load, slow });
    shutdown.defer(async () => activity.close());
    const metricsText: MetricsText = () => this.metrics.read();
    const signIn = new OneTimeSignIn({ keys, clock });
    const tokens = openTokens({ config, clock, log });
    shutdown.defer(async () => tokens.close());
    addTokenMetrics(this.metrics, tokens.keys);
    const main = { service, keys, usage, rateLimiter, addressLimiter, operations, activity, signIn, observer, clock };
    const graceMs = Math.max(REQUEST_GRACE_MIN_MS, config.shutdownTimeoutMs - CLOSING_TIME_MS);
    const certificates =
      config.apiTlsCertFile === ''
        ? null
        : new ApiCertificates({ certFile: config.apiTlsCertFile, keyFile: config.apiTlsKeyFile, log });
    if (certificates !== null) shutdown.defer(() => certificates.close());
    let port: number;
    let close: () => Promise<void>;
    const { duplicateHandle } = this;
    if (config.httpThreads > 1 && entrance === null) {
      const { catalog, aliases, embedder, stampMemory, quotas } = service;
      const threads = await this.startThreads(
        {
          ...main,
          localLimiter,
          addressLimiter,
          catalog,
          aliases,
          aliasTenure: parts.aliasTenure?.memory,
          cursorSecret,
          quotas,
          embedder,
          stampMemory,
          shardClient: parts.shardClient,
          metricsText,
          deep: new DeepReads(clock),
          languageModels: service.languageModels,
          noteAnswer: (facts) => answers.note(facts),
        },
        parts.httpThreads,
        certificates,
        audit,
        tokens,
        { ...connections, duplicateHandle },
      );
      aliases.servedBy(() => threads.synced());
      port = await threads.listen(config.port, config.host);
      close = () => threads.close(graceMs);
    } else {
      const tls =
        certificates === null
          ? null
          : new TlsListener({ server: () => server, certificates, connectionsMax: connections.connectionsMax });
      const answerMemory = new AnswerMemory({
        ...config,
        bytesMax: answerBytesOf(config.answerBytesMax, readMachineLimits()),
        growth: new V8HeapGrowth(sharedHeapGrowth()),
      });
      load.answerBytes = () => answerMemory.bytes;
      const server: ApiServer = createHttpServer({
        ...main,
        answerMemory,
        tokens: tokens.verifier,
        metricsText: config.apiMetrics === 'true' ? metricsText : null,
        hasDocs: config.apiDocs === 'true',
        mcpOrigins: config.mcp === 'true' ? config.mcpOrigins : null,
        corsOrigins: config.corsOrigins,
        hasRealStatuses: config.httpStatus === 'real',
        basePath: config.basePath,
        dashboardFolder: dashboardFolderOf(config),
        load: this.apiMetrics.load,
        tracer: this.openTracer(),
        profiling,
        slowMs: config.logSlowMs,
        limits: config,
        trustedProxies: config.trustedProxies,
        audit,
        log,
        connections,
        owner: entrance === null ? null : OWNER,
        ...(tls === null ? {} : { isDraining: () => tls.isDraining }),
      });
      const onError = (error: Error): void => log.error({ error }, 'the API port could not take a connection');
      if (entrance !== null) {
        port = 0;
        await entrance.open(server, onError);
        close = () => entrance.close(graceMs);
      } else {
        port = await (tls === null
          ? listen(server, config.port, config.host, onError, duplicateHandle)
          : tls.listen(config.port, config.host, onError, duplicateHandle));
        close = () => (tls === null ? closeHttpServer(server, graceMs) : tls.close(graceMs));
      }
    }
    shutdown.defer(() => {
      this.readiness = { ready: false, reason: 'shutting down' };
      return close();
    });
    this.readiness = { ready: true };
    log.info({ port, opsPort: this.opsPort, dataDir: config.dataDir }, 'ready');
    return {
      port,
      first: firstSecret === null ? null : { secret: firstSecret, token: signIn.offer(firstSecret) },
      modelNotice: fallbackNotice(embedding.status()),
    };
  }

  /** Of a process whose main thread serves. */
  private openTracer(): Tracer | null {
    const { traces: origin, clock, log, shutdown, metrics } = this;
    if (origin === null) return null;
    const tracer = openTracer({ origin, clock, log });
    addTraceMetrics(metrics, () => tracer.counts);
    shutdown.defer(() => tracer.close());
    return tracer;
  }

  /** null without AUDIT_LOG. Errors: invalid_parameter for a file that can't be opened. */
  private async openAuditLog(): Promise<ProcessAudit | null> {
    const { config, log, output, metrics, shutdown } = this;
    if (config.auditLog === '') return null;
    const audit = await ProcessAudit.open({ config, log, output, metrics });
    shutdown.defer(() => audit.close());
    return audit;
  }

  /** Makes the secret in API_KEY_FILE that of key 1, whenever it is another one. */
  private followApiKey(keys: StoreKeysService): void {
    const { config, log, shutdown } = this;
    const { apiKeyFile } = config;
    if (apiKeyFile === '') return;
    const files = new FollowedFiles({
      paths: [apiKeyFile],
      // Its first content is looked at, too: it may have been replaced since the configuration was read.
      first: [Buffer.alloc(0)],
      onChange: async ([content]) => {
        if (await keys.useEnvironmentKey(apiKeyIn(content)))
          log.info({}, 'API_KEY_FILE has another secret, which is now that of key 1');
      },
      onError: (error) => log.error({ error }, 'API_KEY_FILE could not be used; the secret of key 1 stays as it is'),
    });
    shutdown.defer(() => files.close());
  }

  private async startThreads(
    main: MainServices & {
      keys: StoreKeysService;
      catalog: CollectionCatalog;
      aliases: StoredAliases;
      aliasTenure: Float64Array | undefined;
      cursorSecret: string;
      stampMemory: BigInt64Array;
    },
    form: HttpThreadForm,
    certificates: ApiCertificates | null,
    audit: ProcessAudit | null,
    tokens: OpenTokens,
    connections: ConnectionBounds & Pick<BodyScannerAddon, 'duplicateHandle'>,
  ): Promise<HttpThreads> {
    const { log, apiMetrics } = this;
    const {
      apiKey: _apiKey,
      backupS3AccessKeyId: _id,
      backupS3SecretAccessKey: _secret,
      backupS3SessionToken: _token,
      backupSecret: _seal,
      backupSecretOther: _otherSeal,
      rerankApiKey: _rerankKey,
      embeddingProviders: _providers,
      llmApiKey: _llmKey,
      ...config
    } = this.config;
    const { keys, usage, catalog, aliases } = main;
    // What the packages read comes as their environment, and nowhere else.
    const { variables = {}, ...rest } = this.traces ?? {};
    const origin = this.traces === null ? null : ({ ...rest, variables: {} } as TraceOrigin);
    const spans = new ThreadTraceCounts();
    if (this.traces !== null) addTraceMetrics(this.metrics, () => spans.sum());
    const threads = await HttpThreads.start({
      entry: form.entry,
      threads: config.httpThreads,
      data: {
        config,
        answerBytesMax: answerBytesOf(config.answerBytesMax, readMachineLimits()),
        connectionsMax: connections.connectionsMax,
        stampMemory: main.stampMemory,
        aliasTenure: main.aliasTenure,
        cursorSecret: main.cursorSecret,
        traces: origin,
        ...form.data,
      },
      environment: variables,
      handlers: (started, peer) => ({
        ...httpThreadHandlers(main, started, peer),
        ...logHandlers(log),
        'traces.counts': (counts: TraceCounts) => spans.take(peer(), counts),
        ...tokenHandlers(tokens.keys),
        ...form.handlers,
      }),
      reader: {
        request: (endpoint, code, durationMs) => apiMetrics.requests.observeRequest(endpoint, code, durationMs),
        repetition: () => apiMetrics.requests.observeRepetition(),
        phase: (phase, durationMs) => apiMetrics.searches.phase(phase, durationMs),
        use: (keyId, endpoint, wallMs) => {
          usage.record(keyId, endpoint, wallMs);
          keys.used(keyId, wallMs);
        },
      },
      onLoad: (load) => {
        const { requests, bodyBytes, answerBytes, refused } = load;
        Object.assign(apiMetrics.load, { requests, bodyBytes, answerBytes: () => answerBytes, refused });
        form.onLoad?.(load);
      },
      onStarted: (peer) => {
        const ends = [
          publishKeys(keys, peer),
          publishCollections(catalog, peer),
          aliases.onChange((pairs) => peer.tell('aliases.put', pairs)),
          publishTokenKeys(tokens.keys, peer),
          form.follow(peer),
        ];
        if (audit !== null) ends.push(audit.follow((isRefusing) => peer.tell('audit.refusing', isRefusing)));
        if (certificates !== null)
          ends.push(certificates.follow((certificate) => peer.tell('api.certificate', certificate)));
        return () => {
          for (const end of ends) end();
        };
      },
      isShort: connections.isShort,
      duplicateHandle: connections.duplicateHandle,
      logger: log,
    });
    this.metrics.beforeRead(() => threads.flush());
    addThreadMetrics(this.metrics, threads);
    return threads;
  }

  private embeddingLoader(): EmbeddingModelLoader {
    const { config } = this;
    return transformersLoader({
      ...this.modelOptions('embedding'),
      pin: { model: config.embeddingModel, revision: config.embeddingRevision, sha256: config.embeddingSha256 },
      threads: config.embeddingThreads,
    });
  }

  /** The models of EMBEDDING_PROVIDERS. Errors: invalid_parameter for a key that can't be read. */
  private remoteProviders(store: ClusterStore): RemoteProviders {
    const { clock, config, shutdown } = this;
    const { log, cacheDir, timeoutMs } = this.modelOptions('embedding');
    const providers = embeddingProvidersIn(config.embeddingProviders);
    const keys = new ProviderKeys({ providers, log });
    shutdown.defer(async () => keys.close());
    const remote = new RemoteProviders({
      providers,
      keyOf: (provider) => keys.of(provider),
      store,
      cacheDir: join(cacheDir, 'vectors'),
      timeoutMs,
      dimMax: config.vectorDimMax,
      clock,
      log,
      observer: new ProviderMetrics(
        providers.map(({ name }) => name),
        this.metrics,
      ),
    });
    void remote.tidy();
    return remote;
  }

  /** The models of RERANK_MODEL; none is loaded by this. */
  private rerankers(elsewhere: () => readonly RerankersElsewhere[] = () => []): Rerankers {
    const { clock, config } = this;
    const models = rerankModelsIn(config.rerankModel) ?? [];
    const options = this.modelOptions('rerank');
    const { rerankRevision: revision, rerankSha256: sha256 } = config;
    const load = rerankLoader({
      ...options,
      models,
      ...(models.length > 0 && { pin: { model: models[0].model, revision, sha256, setting: 'RERANK_SHA256' } }),
      threads: config.rerankThreads,
      apiKey: config.rerankApiKey ?? '',
    });
    const names = rerankNamesIn(config.rerankModel);
    return new Rerankers({ names, load, elsewhere, patienceMs: config.requestTimeoutMs, clock, log: options.log });
  }

  private modelOptions(part: string): Omit<TransformersOptions, 'threads'> {
    const { clock, config, stopSignal, log } = this;
    return {
      dtype: config.embeddingDtype,
      cacheDir: config.embeddingCacheDir === '' ? join(config.dataDir, 'models') : config.embeddingCacheDir,
      isOffline: config.embeddingOffline === 'true',
      hub: config.embeddingHub,
      timeoutMs: config.requestTimeoutMs,
      clock,
      stopSignal,
      log: log.child({ part }),
    };
  }
}
