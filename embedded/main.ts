import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { addReplicaMetrics, addStoreMetrics } from '../node/hosting/metrics/replica-metrics';
import { LocalShardClient } from '../node/engine/shard/local-shard-client';
import { indexFactories } from '../node/engine/index-factories';
import { ShardHost } from '../node/engine/shard/opening/shard-host';
import { ShardViews } from '../node/engine/shard/reading/shard-views';
import type { ShardOptions } from '../node/engine/shard/shard-options';
import { SettledWrites } from '../node/replication/settled-writes';
import { KeptLogs } from '../node/replication/shipping/kept-logs';
import { LogShipping } from '../node/replication/shipping/log-shipping';
import type { ShippableLog } from '../node/engine/shard/backup/shippable-log';
import { addShippingMetrics } from '../node/hosting/metrics/shipping-metrics';
import { type Config, readConfig } from '../shared/base/config/config';
import { rerankNamesIn } from '../shared/base/config/rerank-models';
import { warnOfUnknownSettings } from '../shared/base/process/unknown-settings-warning';
import { RocksKeyValueStore } from '../node/engine/kv/rocks-key-value-store';
import { StoreBudget } from '../node/engine/kv/store-budget';
import { StoreNotes } from '../node/engine/kv/store-notes';
import type { LineOutput } from '../shared/base/process/line-output';
import type { Logger } from '../shared/base/logs/logger';
import { createLogger } from '../shared/base/logs/pino-logger';
import { sayOnStandardError, StandardOutput } from '../shared/base/process/standard-output';
import { addDiskMetrics } from '../node/hosting/metrics/disk-metrics';
import { addLogMetrics } from '../shared/base/metrics/log-metrics';
import { ProcessMetrics } from '../shared/base/metrics/process-metrics';
import { capacityOf } from '../shared/base/process/capacity';
import { describeUnknown, unknownSettings } from '../shared/base/config/unknown-settings';
import { prepareDataFolder } from '../node/engine/data-folder';
import { type ShutdownStack, startWithShutdown } from '../shared/base/process/shutdown-stack';
import { runUntilSignal } from '../shared/base/process/life-cycle';
import { listenHost, reachableHost, withPort } from '../shared/base/process/listen-host';
import { opsPortNotice } from '../shared/base/process/ops-port';
import { type MachineLimits, readMachineLimits } from '../shared/base/process/machine-limits';
import { OpenFilesWatch } from '../coordinator/service/limits/open-files-watch';
import { programVersion } from '../shared/base/process/program-version';
import { systemClock } from '../shared/base/time/clock';
import { traceOrigin } from '../shared/base/trace/trace-origin';
import { backupSealsOf } from '../shared/backup-store/backup-seals';
import type { OpenTarget } from '../shared/backup-store/backup-target';
import { targetOpener } from '../shared/backup-store/open-target';
import { Pace } from '../shared/base/time/pace';
import { ApiProcess } from '../coordinator/api-process';
import { processQuota } from '../coordinator/service/collections/collection-quota';
import { LINK_MINUTES } from '../coordinator/service/keys/sign-in';
import { FolderFiles } from '../coordinator/jobs/documents/folder-files';
import { ONLY_DRIVER } from '../coordinator/jobs/driving/owned-entry';
import { ProcessLimiter } from '../coordinator/service/limits/process-limiter';
import { sharedClock } from '../shared/base/time/shared-clock';
import type { SearchesAtOnce } from '../shared/contract/shard/inline-search';
import type { ShardClient } from '../shared/contract/shard/shard-client';
import { ownBackupSecret } from './backup-secret';
import { closeClusterFolder, collectionFolders, NOTES_FOLDER, openClusterFolder } from './cluster-folder';
import { CollectionNotes, unknownShards } from './collection-notes';
import { EmbeddedOperations } from './embedded-operations';
import { InlineShards } from './inline-shards';

/**
 * The embedded form's composition root: a coordinator and one node in one process, joined by the local shard client;
 * cluster state in RocksDB. The only file that sees both sides of the house.
 */

/** The one coordinator and the one node of this form. */
const COORDINATOR_ID = 'coordinator-0';
const NODE_ID = 'node-0';

/** After a reshard, for calls that the old shards are still answering. */
const RETIRE_MS = 2_000;

async function build(
  given: Config,
  log: Logger,
  output: LineOutput,
  shutdown: ShutdownStack,
  stopSignal: AbortSignal,
): Promise<void> {
  const config = { ...given, host: await listenHost(given.host, Boolean(process.env.HOST)) };
  const clock = systemClock;
  prepareDataFolder(config.dataDir, log, { expected: config.dataExpected === 'true' });
  const machine = readMachineLimits();
  // What is kept for shipping is shipped from an open shard.
  const rests = config.idleShardSeconds > 0 && config.backupLog !== 'true';
  const capacity = capacityOf({ ...config, rests }, machine);
  const files = new OpenFilesWatch(machine.openFilesMax);
  shutdown.defer(async () => files.close());
  const metrics = new ProcessMetrics({
    identity: { role: 'embedded', member: NODE_ID, version: programVersion() },
    onMeasureError: (error) => log.warn({ error }, 'some gauges could not be measured'),
  });
  addLogMetrics(metrics, output);
  const instanceId = randomUUID();
  const traces = traceOrigin(
    process.env,
    { role: 'embedded', member: NODE_ID, instanceId, version: programVersion() },
    log,
  );
  const api = new ApiProcess({
    config,
    clock,
    log,
    shutdown,
    stopSignal,
    instanceId,
    coordinatorId: COORDINATOR_ID,
    metrics,
    traces,
    output,
  });
  warnOfUnknownSettings(process.env, log);
  const opsPort = await api.openOperationsPort({ isGiven: Boolean(process.env.OPS_PORT) });

  const stores = new StoreBudget({
    cacheBytes: config.storeCacheBytes,
    writeBufferBytes: config.storeWriteBufferBytes,
  });
  addStoreMetrics(metrics, stores);
  const notes = await StoreNotes.load(join(config.dataDir, NOTES_FOLDER), log);
  const clusterStore = await openClusterFolder(config.dataDir, stores, notes);
  shutdown.defer(() => closeClusterFolder(config.dataDir, clusterStore, notes));
  const openTarget = await targetsOf(config, log);
  let shipping: LogShipping | null = null;
  const host = await ShardHost.start(join(config.dataDir, 'node'), {
    factories: indexFactories,
    openStore: (folder, how) => RocksKeyValueStore.open(folder, stores, how),
    notes,
    recallTarget: config.recallTarget,
    fieldsMax: config.collectionFieldsMax,
    buildThreads: config.indexThreads,
    logger: log.child({ part: 'node' }),
    backups: backupAccessOf(config, openTarget),
    openShardsMax: capacity.openShardsMax,
    ...(rests && { rests: { afterMs: config.idleShardSeconds * 1000, openMax: capacity.restingFrom } }),
    ...(config.backupLog === 'true' && { beforeDrop: async (log: ShippableLog) => shipping?.shipRest(log) }),
  });
  shutdown.defer(() => host.close());
  if (config.backupLog === 'true') {
    const started = new LogShipping({
      member: NODE_ID,
      logs: () => host.logs(),
      target: openTarget(config.backupTarget),
      pace: new Pace(config.backupBytesPerSecond),
      clock,
      everyMs: config.backupLogSeconds * 1000,
      log: log.child({ part: 'backup-log' }),
    });
    started.start();
    const kept = new KeptLogs({
      logs: () => host.logs(),
      folder: config.dataDir,
      bytesMax: config.backupLogKeptBytes,
      log: log.child({ part: 'backup-log' }),
    });
    kept.start();
    shutdown.defer(async () => kept.close());
    addShippingMetrics(metrics, started, kept);
    shutdown.defer(() => started.close());
    shipping = started;
  }
  addReplicaMetrics(metrics, () => host.observe());
  addDiskMetrics(metrics, config.dataDir);
  metrics.gauge('quiver_replicas_closed', 'Replicas that are to be open and are not', () => host.closedReplicas);
  metrics.gauge(
    'quiver_shards_resting',
    'Shards that are closed because nobody uses them, until somebody does',
    () => host.restingShards,
  );
  metrics.gauge('quiver_write_queue_bytes', 'Bytes of writes that wait, of all shards', () => host.waitingWriteBytes);

  const rateLimiter = new ProcessLimiter({ limit: config.rateLimitPerMinute, clock: sharedClock });
  const { port, first, modelNotice } = await api.serve({
    clusterStore,
    openTarget,
    documentFiles: new FolderFiles(join(config.dataDir, 'documents')),
    shardClient: shardsOf(host, config, machine),
    rateLimiter,
    localLimiter: rateLimiter,
    addressLimiter: new ProcessLimiter({ limit: config.badKeyLimitPerMinute, clock: sharedClock }),
    quota: processQuota(capacity, () => files.isShort),
    connections: { connectionsMax: capacity.connectionsMax, isShort: () => files.isShort },
    httpThreads: {
      entry: join(__dirname, 'http-thread.js'),
      follow: (peer) => host.follow((message) => peer.tell('shards.published', message)),
    },
    operations: (service, embedding) =>
      new EmbeddedOperations({
        process: {
          coordinatorId: COORDINATOR_ID,
          nodeId: NODE_ID,
          address: withPort(config.host, config.port),
          zone: '',
          pid: process.pid,
        },
        clock,
        collections: (caller) => service.collections.list(caller),
        shards: () => service.readShards(),
        newShards: () => service.readNewShards(),
        reshards: () => service.reshards(),
        embedding: () => embedding.status(),
        rerankModels: rerankNamesIn(config.rerankModel),
      }),
    recover: async (service) => {
      const onOpened = async (): Promise<void> => {
        const resharder = await service.driveReshards(ONLY_DRIVER, RETIRE_MS);
        shutdown.defer(() => resharder.close());
        const jobs = await service.driveJobs(ONLY_DRIVER);
        shutdown.defer(() => jobs.close());
        const backups = await service.driveBackups(ONLY_DRIVER, api.backupMetrics);
        shutdown.defer(() => backups.close());
      };
      // Before anything makes or drops shards.
      const uids = await collectionFolders(config.dataDir);
      for (const folder of await unknownShards(config.dataDir, uids, clusterStore))
        log.warn({ folder }, 'shards on the disk belong to no collection; they are left alone');
      await service.recover({ onOpened, stop: stopSignal });
      const collections = new CollectionNotes({ dataDir: config.dataDir, catalog: service.catalog, log });
      await collections.start(uids);
      shutdown.defer(() => collections.close());
      const facts = {
        shards: host.shardCount,
        notOpen: host.leftShards,
        shardsMax: capacity.shardsMax,
        openFilesMax: machine.openFilesMax,
      };
      if (host.leftShards > 0)
        log.error(
          facts,
          'there are more shards than the limit of open files (ulimit -n) allows: some are not open, and no ' +
            'collection is created; raise the limit, or delete collections',
        );
      else if (host.shardCount > capacity.shardsMax)
        log.warn(
          facts,
          `there are more shards than are allowed: no collection is created before some are deleted; the limit comes from ${capacity.shardsMaxSource}`,
        );
    },
  });
  const notices = [
    ...unknownSettings(process.env).map(describeUnknown),
    config.opsPort === 0 || opsPort === config.opsPort ? null : opsPortNotice(config.opsPort, opsPort),
    modelNotice,
  ];
  announce(output, config, { port, first, notices: notices.filter((notice) => notice !== null) });
}

/**
 * HTTP threads search by themselves. Where there are none and one processor, searches have no other thread to go to
 * either.
 */
function shardsOf(
  host: ShardHost,
  { httpThreads }: Config,
  { processors }: MachineLimits,
): ShardClient & SearchesAtOnce {
  const shards = new LocalShardClient({ host, clock: systemClock });
  if (httpThreads > 1 || processors >= 2) return shards;
  const views = new ShardViews();
  host.follow((message) => views.take(message));
  return new InlineShards({ shards, inline: views, clock: systemClock });
}

/** Opens targets of backups. Who has none gets no secret for them. */
async function targetsOf(config: Config, log: Logger): Promise<OpenTarget> {
  const kept = config.backupTarget === '' ? '' : await ownBackupSecret(config.dataDir, log);
  const { backupSecret = kept, backupSecretOther } = config;
  return targetOpener(config, backupSealsOf({ backupSecret, backupSecretOther, clusterSecret: kept }));
}

/** Where shards are backed up to; undefined: nowhere. */
function backupAccessOf(config: Config, open: OpenTarget): ShardOptions['backups'] {
  if (config.backupTarget === '') return undefined;
  return {
    open,
    pace: new Pace(config.backupBytesPerSecond),
    log: config.backupLog === 'true' ? 'own' : undefined,
    ledger: (stored) => SettledWrites.load(stored),
  };
}

/** Tells the person at the terminal where the service is; the only time that a key's secret is shown. */
function announce(
  output: LineOutput,
  config: Config,
  { port, first, notices }: { port: number; first: { secret: string; token: string } | null; notices: string[] },
): void {
  const origin = `${config.apiTlsCertFile === '' ? 'http' : 'https'}://${withPort(reachableHost(config.host), port)}${config.basePath}`;
  const lines = [`Quiver serves on ${origin}  (explorer: ${origin}/docs)`];
  if (config.apiUi === 'true') lines.push(`Dashboard: ${origin}/ui`);
  if (first !== null) lines.push(`Admin key, shown this once: ${first.secret}`);
  if (first !== null && config.apiUi === 'true')
    lines.push(
      `Or open the dashboard by this link, which works once and for ${LINK_MINUTES} minutes: ${origin}/ui#sign-in=${first.token}`,
    );
  if (config.rateLimitPerMinute > 0)
    lines.push(
      `Each key may make ${config.rateLimitPerMinute} requests a minute (RATE_LIMIT_PER_MINUTE; 0: any number).`,
    );
  output.write(`${[...lines, ...notices].join('\n')}\n`);
}

function main(): void {
  let config: Config;
  try {
    config = readConfig(process.env, availableParallelism());
  } catch (error) {
    sayOnStandardError((error as Error).message);
    process.exitCode = 1;
    return;
  }
  const output = new StandardOutput(process.env);
  const log = createLogger({
    level: config.logLevel,
    secrets: [
      config.apiKey,
      config.backupS3SecretAccessKey,
      config.backupS3SessionToken,
      config.backupSecret,
      config.backupSecretOther,
      config.rerankApiKey,
      config.llmApiKey,
    ].filter((secret) => secret !== undefined),
    output,
  });
  runUntilSignal({
    start: (stopSignal) => startWithShutdown((shutdown) => build(config, log, output.lines, shutdown, stopSignal)),
    hardStopMs: config.shutdownTimeoutMs,
    logger: log,
  });
}

main();
