import { join } from 'node:path';
import type { ClusterStore } from '../shared/cluster-store/cluster-store';
import type { Config } from '../shared/config/config';
import type { Logger } from '../shared/logs/logger';
import type { ProcessMetrics } from '../shared/metrics/process-metrics';
import type { Endings } from '../shared/process/endings';
import { OpsServer, type Readiness } from '../shared/process/ops-server';
import type { ShardClient } from '../shared/shard/shard-client';
import type { Clock } from '../shared/time/clock';
import type { CollectionQuota } from './collections/collection-quota';
import { type EmbeddingModelLoader, EmbeddingRegistry } from './embedding/embedding-registry';
import { transformersLoader } from './embedding/transformers/transformers-loader';
import type { ConnectionBounds } from './http/connection-gate';
import { closeHttpServer, createHttpServer, listen } from './http/http-server';
import { StoreKeysService } from './keys/store-keys-service';
import { StoreKeyUsage } from './keys/usage/store-key-usage';
import type { RateLimiter } from './limits/rate-limiter';
import { ApiMetrics } from './metrics/api-metrics';
import { addClusterMetrics } from './metrics/cluster-metrics';
import { addCollectionMetrics } from './metrics/collection-metrics';
import { MeasuredEmbedding } from './metrics/measured-embedding';
import { RequestReporter } from './metrics/request-reporter';
import type { OperationsService } from './operations/operations-service';
import { createService, type RunningService } from './service-factory';

/** The part of the stop time that flushing and checkpoints need at the end. The rest is for running requests. */
const CLOSING_TIME_MS = 10_000;
const REQUEST_GRACE_MIN_MS = 1_000;
/**
 * A shard that takes longer to report its state counts as down in a scrape. This is shorter than the time after which
 * Prometheus gives up on the whole scrape.
 */
const SCRAPE_SHARDS_MS = 3_000;

/**
 * The API and everything that it needs on top of a cluster store and shards: what the embedded form and a coordinator
 * have in common. It is built in steps, because the operations port must answer before the rest exists.
 */
export class ApiProcess {
  private readonly config: Config;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly endings: Endings;
  private readonly ending: AbortSignal;
  private readonly instanceId: string;
  private readonly coordinatorId: string;
  private readonly metrics: ProcessMetrics;
  private readonly apiMetrics: ApiMetrics;
  private readiness: Readiness = { ready: false, reason: 'recovering' };
  private service: RunningService | null = null;
  private operations: OperationsService | null = null;

  /**
   * `ending` is aborted when the process is asked to end while it starts. `instanceId` is unique to this process. Adds
   * metrics of its own to `metrics`, which it serves.
   */
  constructor(options: { config: Config; clock: Clock; log: Logger; endings: Endings; ending: AbortSignal; instanceId: string; coordinatorId: string; metrics: ProcessMetrics }) {
    this.config = options.config;
    this.clock = options.clock;
    this.log = options.log;
    this.endings = options.endings;
    this.ending = options.ending;
    this.instanceId = options.instanceId;
    this.coordinatorId = options.coordinatorId;
    this.metrics = options.metrics;
    this.apiMetrics = new ApiMetrics(this.metrics);
    this.metrics.gauge('quiver_ready', '1 when the process takes requests, else 0', () => (this.readiness.ready ? 1 : 0));
    addCollectionMetrics(this.metrics, async () => (this.readiness.ready ? ((await this.service?.readShards(SCRAPE_SHARDS_MS)) ?? null) : null));
    addClusterMetrics(this.metrics, {
      coordinatorId: this.coordinatorId,
      read: async () => (this.readiness.ready ? ((await this.operations?.cluster()) ?? null) : null),
    });
  }

  /** Opens the operations port: alive, not ready. */
  async openOperationsPort(): Promise<void> {
    const ops = new OpsServer({
      readiness: () => this.readiness,
      metrics: () => this.metrics.read(),
      onError: (error) => this.log.error({ error }, 'the operations port failed'),
    });
    await ops.listen(this.config.opsPort, this.config.host);
    this.endings.defer(() => ops.close());
  }

  /**
   * Serves the API; resolves when it does. `recover` prepares the service for its first call. `operations` and the
   * limiters depend on the form. Answers the port, and the secret of the first key if it was made now.
   */
  async serve(parts: {
    clusterStore: ClusterStore;
    shardClient: ShardClient;
    rateLimiter: RateLimiter;
    addressLimiter: RateLimiter;
    quota: CollectionQuota;
    connections: ConnectionBounds;
    operations: (service: RunningService, embedding: EmbeddingRegistry) => OperationsService;
    recover: (service: RunningService) => Promise<void>;
  }): Promise<{ port: number; firstSecret: string | null }> {
    const { config, clock, log, endings, instanceId } = this;
    const { keys, firstSecret } = await StoreKeysService.open({ store: parts.clusterStore, clock, apiKey: config.apiKey });
    endings.defer(() => keys.close());
    const usage = new StoreKeyUsage({
      store: parts.clusterStore,
      clock,
      coordinatorId: this.coordinatorId,
      keys,
      onFlushError: (error) => log.warn({ error }, 'usage counts could not be written; they are kept and tried again'),
    });
    endings.defer(() => usage.close());
    const embedding = new EmbeddingRegistry({ configured: config.embeddingModel, loader: this.embeddingLoader(), log, clock, patienceMs: config.requestTimeoutMs });
    endings.defer(() => embedding.close());
    await embedding.defaultModel();

    const service = createService({
      clusterStore: parts.clusterStore,
      shardClient: parts.shardClient,
      embedding: new MeasuredEmbedding(embedding, this.metrics),
      clock,
      config,
      log,
      quota: parts.quota,
      instanceId,
      searchObserver: this.apiMetrics.searches,
    });
    endings.defer(() => service.close());
    await parts.recover(service);
    this.service = service;
    const operations = parts.operations(service, embedding);
    this.operations = operations;

    const server = createHttpServer({
      service,
      keys,
      usage,
      rateLimiter: parts.rateLimiter,
      addressLimiter: parts.addressLimiter,
      operations,
      observer: new RequestReporter({ metrics: this.apiMetrics.requests, searches: this.apiMetrics.searches, logger: log, rule: config }),
      metricsText: config.apiMetrics === 'true' ? () => this.metrics.read() : null,
      hasDocs: config.apiDocs === 'true',
      load: this.apiMetrics.load,
      limits: config,
      connections: parts.connections,
      clock,
    });
    const port = await listen(server, config.port, config.host, (error) => log.error({ error }, 'the API port could not take a connection'));
    endings.defer(() => {
      this.readiness = { ready: false, reason: 'shutting down' };
      return closeHttpServer(server, Math.max(REQUEST_GRACE_MIN_MS, config.shutdownTimeoutMs - CLOSING_TIME_MS));
    });
    this.readiness = { ready: true };
    log.info({ port, opsPort: config.opsPort, dataDir: config.dataDir }, 'ready');
    return { port, firstSecret };
  }

  private embeddingLoader(): EmbeddingModelLoader {
    const { clock, config, ending, log } = this;
    return transformersLoader({
      dtype: config.embeddingDtype,
      cacheDir: config.embeddingCacheDir === '' ? join(config.dataDir, 'models') : config.embeddingCacheDir,
      isOffline: config.embeddingOffline === 'true',
      hub: config.embeddingHub,
      pin: { model: config.embeddingModel, revision: config.embeddingRevision, sha256: config.embeddingSha256 },
      threads: config.embeddingThreads,
      timeoutMs: config.requestTimeoutMs,
      clock,
      ending,
      log: log.child({ part: 'embedding' }),
    });
  }
}
