import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Bm25KeywordIndex } from '../node/keyword/bm25-keyword-index';
import { MemoryFilterIndex } from '../node/filter/memory-filter-index';
import { LocalShardClient } from '../node/shard/local-shard-client';
import { ShardHost } from '../node/shard/shard-host';
import type { IndexFactories } from '../node/shard/shard-indexes';
import { NativeVectorIndex } from '../node/vector/native-vector-index';
import { KeyValueClusterStore } from '../shared/cluster-store/key-value-cluster-store';
import { type Config, readConfig } from '../shared/config/config';
import { RocksKeyValueStore } from '../shared/kv/rocks-key-value-store';
import type { Logger } from '../shared/logs/logger';
import { createLogger, standardOutput } from '../shared/logs/pino-logger';
import { type RunningService, runUntilSignal } from '../shared/process/life-cycle';
import { OpsServer, type Readiness } from '../shared/process/ops-server';
import { systemClock } from '../shared/time/clock';
import { EmbeddingRegistry } from './embedding/embedding-registry';
import { closeHttpServer } from './http/close-http-server';
import { createHttpServer } from './http/http-server';
import { listen } from './http/listen';
import { StoreKeysService } from './keys/store-keys-service';
import { StoreKeyUsage } from './keys/usage/store-key-usage';
import { SlidingWindowLimiter } from './limits/sliding-window-limiter';
import { MetricsRecorder } from './metrics/metrics-recorder';
import { RequestReporter } from './metrics/request-reporter';
import { EmbeddedOperations } from './operations/embedded-operations';
import { createService } from './service-factory';

/**
 * The embedded form's composition root: a coordinator and one node in one process, joined by the local shard client;
 * cluster state in RocksDB. The only file that sees both sides of the house.
 */

/** The one coordinator and the one node of this form. */
const COORDINATOR_ID = 'coordinator-0';
const NODE_ID = 'node-0';
/**
 * libuv's threads run searches (as many as there are cores at a time) and RocksDB's calls; a waiting fsync must not keep
 * a search from its core.
 */
const STORAGE_THREADS = 4;

/** Of the time that a stop may take, what flushing and checkpoints need at the end; the rest is for running requests. */
const CLOSING_TIME_MS = 10_000;
const REQUEST_GRACE_MIN_MS = 1_000;

const indexFactories: IndexFactories = {
  openVectorIndex: (options, save) => NativeVectorIndex.open(options, save),
  loadFilterIndex: (bytes, metadataOf) => (bytes === null ? new MemoryFilterIndex({ metadataOf }) : MemoryFilterIndex.load(bytes, { metadataOf })),
  loadKeywordIndex: (bytes) => (bytes === null ? new Bm25KeywordIndex() : Bm25KeywordIndex.load(bytes)),
};

/** What has been started, ended in the reverse order. */
class Stack {
  private readonly endings: (() => void | Promise<void>)[] = [];

  defer(ending: () => void | Promise<void>): void {
    this.endings.push(ending);
  }

  async unwind(): Promise<void> {
    for (let ending = this.endings.pop(); ending !== undefined; ending = this.endings.pop()) await ending();
  }
}

async function start(config: Config, log: Logger): Promise<RunningService> {
  const stack = new Stack();
  try {
    await build(config, log, stack);
  } catch (error) {
    await stack.unwind();
    throw error;
  }
  return { stop: () => stack.unwind() };
}

async function build(config: Config, log: Logger, stack: Stack): Promise<void> {
  const clock = systemClock;
  let readiness: Readiness = { ready: false, reason: 'recovering' };
  const metricsText = async (): Promise<{ contentType: string; text: string }> => ({ contentType: metrics.contentType, text: await metrics.text() });
  const metrics = new MetricsRecorder({
    measure: async () => {
      const [collections, shards] = readiness.ready ? await Promise.all([service.collections.list(), service.readShards()]) : [[], []];
      return { collections, shards };
    },
    onMeasureError: (error) => log.warn({ error }, 'the gauges could not be measured'),
  });

  const ops = new OpsServer({
    readiness: () => readiness,
    metrics: metricsText,
    onError: (error) => log.error({ error }, 'the operations port failed'),
  });
  await ops.listen(config.opsPort, config.host);
  stack.defer(() => ops.close());

  const clusterStore = await KeyValueClusterStore.open({ store: await RocksKeyValueStore.open(join(config.dataDir, 'cluster')) });
  stack.defer(() => clusterStore.close());
  const { keys, firstSecret } = await StoreKeysService.open({ store: clusterStore, clock, apiKey: config.apiKey });
  stack.defer(() => keys.close());
  const usage = new StoreKeyUsage({
    store: clusterStore,
    clock,
    coordinatorId: COORDINATOR_ID,
    keys,
    onFlushError: (error) => log.warn({ error }, 'usage counts could not be written; they are kept and tried again'),
  });
  stack.defer(() => usage.close());

  const host = await ShardHost.start(join(config.dataDir, 'node'), {
    factories: indexFactories,
    openStore: (folder) => RocksKeyValueStore.open(folder),
    recallTarget: config.recallTarget,
    buildThreads: config.indexThreads,
    logger: log.child({ part: 'node' }),
  });
  stack.defer(() => host.close());
  const embedding = new EmbeddingRegistry({ configured: config.embeddingModel, loader: null, log, clock });
  await embedding.defaultModel();

  const service = createService({
    clusterStore,
    shardClient: new LocalShardClient({ host, clock }),
    embedding,
    clock,
    config,
    log,
    instanceId: randomUUID(),
  });
  stack.defer(() => service.close());
  await service.recover();

  const operations = new EmbeddedOperations({
    process: { coordinatorId: COORDINATOR_ID, nodeId: NODE_ID, address: `${config.host}:${config.port}`, zone: '', pid: process.pid },
    clock,
    collections: () => service.collections.list(),
    shards: () => service.readShards(),
    embedding: () => embedding.status(),
  });
  const server = createHttpServer({
    service,
    keys,
    usage,
    rateLimiter: new SlidingWindowLimiter({ limit: config.rateLimitPerMinute, clock }),
    addressLimiter: new SlidingWindowLimiter({ limit: config.rateLimitPerMinute, clock }),
    operations,
    observer: new RequestReporter({ metrics, logger: log }),
    metricsText,
    limits: config,
    clock,
  });
  const port = await listen(server, config.port, config.host);
  stack.defer(() => {
    readiness = { ready: false, reason: 'shutting down' };
    return closeHttpServer(server, Math.max(REQUEST_GRACE_MIN_MS, config.shutdownTimeoutMs - CLOSING_TIME_MS));
  });
  readiness = { ready: true };
  announce(config, port, firstSecret);
  log.info({ port, opsPort: config.opsPort, dataDir: config.dataDir }, 'ready');
}

/** Tells the person at the terminal where the service is; the only time that a key's secret is shown. */
function announce(config: Config, port: number, firstSecret: string | null): void {
  const shownHost = config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : config.host;
  const lines = [`Quiver serves on http://${shownHost}:${port}  (explorer: http://${shownHost}:${port}/docs)`];
  if (firstSecret !== null) lines.push(`Admin key, shown this once: ${firstSecret}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function main(): void {
  const cores = availableParallelism();
  process.env.UV_THREADPOOL_SIZE ??= String(cores + STORAGE_THREADS);
  let config: Config;
  try {
    config = readConfig(process.env, cores);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
    return;
  }
  const log = createLogger({ level: config.logLevel, secrets: config.apiKey === undefined ? [] : [config.apiKey], output: standardOutput(process.env) });
  runUntilSignal({ start: () => start(config, log), hardStopMs: config.shutdownTimeoutMs, logger: log });
}

main();
