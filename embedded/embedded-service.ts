import { randomUUID } from 'node:crypto';
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
import type { Config } from '../shared/base/config/config';
import { rerankNamesIn } from '../shared/base/config/rerank-models';
import { warnOfUnknownSettings } from '../shared/base/process/unknown-settings-warning';
import { RocksKeyValueStore } from '../node/engine/kv/rocks-key-value-store';
import { StoreBudget } from '../node/engine/kv/store-budget';
import { StoreNotes } from '../node/engine/kv/store-notes';
import type { LineOutput } from '../shared/base/process/line-output';
import type { Logger } from '../shared/base/logs/logger';
import { addDiskMetrics } from '../node/hosting/metrics/disk-metrics';
import { addLogMetrics } from '../shared/base/metrics/log-metrics';
import { ProcessMetrics } from '../shared/base/metrics/process-metrics';
import { capacityOf } from '../shared/base/process/capacity';
import { prepareDataFolder } from '../node/engine/data-folder';
import type { ShutdownStack } from '../shared/base/process/shutdown-stack';
import { withPort } from '../shared/base/process/listen-host';
import { type MachineLimits, readMachineLimits } from '../shared/base/process/machine-limits';
import { OpenFilesWatch } from '../coordinator/service/limits/open-files-watch';
import { programVersion } from '../shared/base/process/program-version';
import { systemClock } from '../shared/base/time/clock';
import { traceOrigin } from '../shared/base/trace/trace-origin';
import { backupSealsOf } from '../shared/backup-store/backup-seals';
import type { OpenTarget } from '../shared/backup-store/backup-target';
import { targetOpener } from '../shared/backup-store/open-target';
import { Pace } from '../shared/base/time/pace';
import { ApiProcess, type OwnEntrance } from '../coordinator/api-process';
import { processQuota } from '../coordinator/service/collections/collection-quota';
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
import { noteOwner } from './folder-owner';
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

/** What the service is opened with. */
export interface EmbeddedParts {
  config: Config;
  /** What `config` was read from. */
  environment: Readonly<Record<string, string | undefined>>;
  log: Logger;
  output: LineOutput;
  /** Gets what ends it all. */
  shutdown: ShutdownStack;
  /** Aborted when it is asked to end while it starts. */
  stopSignal: AbortSignal;
  /** Where calls come from in the place of the port; null: it listens. */
  entrance?: OwnEntrance | null;
  /** The command line, for a message to who wants the folder meanwhile; default: this process's. */
  words?: readonly string[];
}

/** What people are told of an open service. */
export interface OpenedService {
  port: number;
  /** 0 where there is none. */
  opsPort: number;
  /** The secret of the first key if it was made now, and the token of a link by which it can be had once. */
  first: { secret: string; token: string } | null;
  /** About the model of texts. */
  modelNotice: string | null;
}

/** Opens the folder and serves it; resolves when it does. Errors: those of a wrong environment, as QuiverErrors. */
export async function openEmbedded(parts: EmbeddedParts): Promise<OpenedService> {
  const { config, environment, log, output, shutdown, stopSignal, entrance = null } = parts;
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
    environment,
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
  warnOfUnknownSettings(environment, log);
  const opsPort = entrance === null ? await api.openOperationsPort({ isGiven: Boolean(environment.OPS_PORT) }) : 0;

  const stores = new StoreBudget({
    cacheBytes: config.storeCacheBytes,
    writeBufferBytes: config.storeWriteBufferBytes,
  });
  addStoreMetrics(metrics, stores);
  const notes = await StoreNotes.load(join(config.dataDir, NOTES_FOLDER), log);
  const clusterStore = await openClusterFolder(config.dataDir, stores, notes);
  shutdown.defer(() => closeClusterFolder(config.dataDir, clusterStore, notes));
  shutdown.defer(noteOwner(config.dataDir, parts.words));
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
    shardClient: shardsOf(host, machine, config.httpThreads > 1, entrance !== null),
    rateLimiter,
    localLimiter: rateLimiter,
    addressLimiter: new ProcessLimiter({ limit: config.badKeyLimitPerMinute, clock: sharedClock }),
    quota: processQuota(capacity, () => files.isShort),
    entrance,
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
  return { port, opsPort, first, modelNotice };
}

/**
 * HTTP threads search by themselves. Where there are none and one processor, searches have no other thread to go to
 * either. A program calls its own service (`isOwn`) mostly once at a time, and would wait for each change of threads.
 */
function shardsOf(
  host: ShardHost,
  { processors }: MachineLimits,
  hasThreads: boolean,
  isOwn: boolean,
): ShardClient & SearchesAtOnce {
  const shards = new LocalShardClient({ host, clock: systemClock });
  if (!isOwn && (hasThreads || processors >= 2)) return shards;
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
