import { randomUUID } from 'node:crypto';
import { availableParallelism, hostname } from 'node:os';
import { join } from 'node:path';
import type { Replacement } from '../shared/wire/administration';
import { mustWorkWithMembers } from '../shared/cluster-store/entries/member-compatibility';
import { MemberName } from '../shared/cluster-store/entries/member-name';
import { followMemberFiles } from '../shared/member/member-files';
import {
  etcdAccess,
  memberAddress,
  memberCredentials,
  memberSecretsOf,
  memberStore,
} from '../shared/member/member-options';
import {
  FAILURES_PREFIX,
  holdsIn,
  LATER_ASSIGNMENTS_PREFIX,
  memberFromEntry,
  type NodeMember,
  NODES_PREFIX,
  STATE_PREFIX,
} from '../shared/cluster-store/entries/members';
import { PublishedList } from '../shared/cluster-store/entries/published-list';
import { retryUntilStoreAnswers } from '../shared/cluster-store/entries/store-retry';
import { RegisteredEntry } from '../shared/cluster-store/entries/registered-entry';
import { isAssignment } from '../shared/cluster-store/entries/shard-assignment';
import { WatchedEntries } from '../shared/cluster-store/entries/watched-entries';
import {
  type ClusterConfig,
  type Config,
  nodeEnvironment,
  readClusterConfig,
  readConfig,
} from '../shared/base/config/config';
import { warnOfUnknownSettings } from '../shared/base/process/unknown-settings-warning';
import { isDamage, QuiverError } from '../shared/base/errors/quiver-error';
import { bootTimeMs } from './engine/kv/boot-time';
import { duplicateHandle } from './engine/kv/duplicate-handle';
import { RocksKeyValueStore } from './engine/kv/rocks-key-value-store';
import { StoreBudget } from './engine/kv/store-budget';
import { shardNoteName, StoreNotes } from './engine/kv/store-notes';
import type { LineOutput } from '../shared/base/process/line-output';
import type { Logger } from '../shared/base/logs/logger';
import { createLogger } from '../shared/base/logs/pino-logger';
import { sayOnStandardError, StandardOutput } from '../shared/base/process/standard-output';
import { addDiskMetrics } from './hosting/metrics/disk-metrics';
import { EtcdMetrics } from '../shared/cluster-store/metrics/etcd-metrics';
import { addLogMetrics } from '../shared/base/metrics/log-metrics';
import { ProcessMetrics } from '../shared/base/metrics/process-metrics';
import { addRegistrationMetric } from '../shared/cluster-store/metrics/registration-metric';
import { addTraceMetrics, ThreadTraceCounts } from '../shared/base/metrics/trace-metrics';
import { type BackupSeals, backupSealsOf } from '../shared/backup-store/backup-seals';
import { targetOpener } from '../shared/backup-store/open-target';
import { answerBytesOf, capacityOf } from '../shared/base/process/capacity';
import { prepareDataFolder } from './engine/data-folder';
import { type ShutdownStack, startWithShutdown } from '../shared/base/process/shutdown-stack';
import { runUntilSignal } from '../shared/base/process/life-cycle';
import { listenHost, withPort } from '../shared/base/process/listen-host';
import { readMachineLimits } from '../shared/base/process/machine-limits';
import { OWN_VERSION, READ_THREADS, versionToFields } from '../shared/base/process/member-version';
import { programVersion } from '../shared/base/process/program-version';
import { openOpsPort } from '../shared/base/process/ops-port';
import { OpsServer, type Readiness } from '../shared/base/process/ops-server';
import { PATIENT_KEEPALIVE_MS } from '../shared/wire/streams/channel-options';
import { RpcChannels } from '../shared/wire/streams/rpc-channels';
import { RpcServer } from '../shared/wire/streams/rpc-server';
import { sleeplessClock, systemClock } from '../shared/base/time/clock';
import { openTracer } from '../shared/base/trace/open-tracer';
import { traceOrigin } from '../shared/base/trace/trace-origin';
import { Pace } from '../shared/base/time/pace';
import { administrationService } from './hosting/replicas/administration-service';
import { AssignmentChanges } from './hosting/replicas/assignment-changes';
import { CatchingUp } from './hosting/replicas/catching-up';
import { CLUSTER_PATH, clusterIdOf } from './hosting/replicas/cluster-identity';
import { diskSpaceOf, isNotable } from './hosting/replicas/disk-space';
import { KnownAssignments } from './hosting/replicas/known-assignments';
import { NodeAgent } from './hosting/replicas/node-agent';
import { mustBelongTo, readClusterId, readStoreId } from './hosting/replicas/node-identity';
import { ReplicaComparison } from './hosting/replicas/replica-comparison';
import { ReplicaRequests } from './hosting/replicas/replica-requests';
import { ReplicaShards } from './hosting/replicas/replica-shards';
import { ReplicatedShard } from './hosting/replicas/replicated-shard';
import { ShardStores } from './hosting/replicas/shard-stores';
import { ReplicaOpening } from './hosting/replicas/replica-opening';
import { indexFactories } from './engine/index-factories';
import {
  addCopyMetrics,
  comparisonCounter,
  NodeMetrics,
  followerReadCounter,
  threadSearchCounter,
} from './hosting/metrics/node-metrics';
import { addReplicaMetrics, addStoreMetrics } from './hosting/metrics/replica-metrics';
import { PermitReadings, ReadPermit } from './replication/read-permit';
import { StreamReplicationLinks } from './replication/links/stream-replication-links';
import { ReplicaTicks } from './replication/replica-ticks';
import { ReplicationService } from './replication/links/replication-service';
import { removeReplica } from './replication/shard-copy';
import { SettledWrites } from './replication/settled-writes';
import { KeptLogs } from './replication/shipping/kept-logs';
import { LogShipping } from './replication/shipping/log-shipping';
import { addShippingMetrics } from './hosting/metrics/shipping-metrics';
import { SnapshotReceiver } from './replication/links/snapshot-receiver';
import { SnapshotSender } from './replication/links/snapshot-sender';
import { AnswerBytes, sharedAnswerBytes } from './hosting/services/answer-bytes';
import { nodeLimits, shardServices } from './hosting/services/shard-service';
import type { ShardOptions } from './engine/shard/shard-options';
import { WriteBudget } from './engine/shard/writing/write-queue';
import { permitClocks } from './hosting/threads/permit-clocks';
import { ReplicaPublisher } from './hosting/threads/replica-publisher';
import { dealerTo, type ReadThreads, startReadThreads } from './hosting/threads/read-threads';

/**
 * The composition root of a storage node: the shards that the map gives to it, served to coordinators and other nodes.
 */

/** How long a session outlives a node that died; etcd's minimum is 2. */
const SESSION_SECONDS = 3;
/** How long running calls have when a server closes. */
const DRAIN_MS = 5_000;
/** The interval between two checks of the free disk space. */
const DISK_CHECK_MS = 10_000;
/** The interval between two looks whether the node is ready: well below that of a platform's probes. */
const READY_CHECK_MS = 500;

type NodeConfig = Config & ClusterConfig;

async function build(
  given: NodeConfig,
  log: Logger,
  output: LineOutput,
  shutdown: ShutdownStack,
  stopSignal: AbortSignal,
  refuse: (error: QuiverError) => void,
): Promise<void> {
  const config = { ...given, host: await listenHost(given.host, Boolean(process.env.HOST)) };
  const clock = sleeplessClock(systemClock, bootTimeMs);
  const nodeId = config.memberId;
  prepareDataFolder(config.dataDir, log, { expected: config.dataExpected === 'true' });
  const machine = readMachineLimits();
  const capacity = capacityOf({ collectionsMax: 0, shardsMax: config.shardsMax }, machine);
  let readiness: Readiness = { ready: false, reason: 'recovering' };
  const metrics = new ProcessMetrics({
    identity: { role: 'node', member: nodeId, version: programVersion() },
    onMeasureError: (error) => log.warn({ error }, 'some gauges could not be measured'),
  });
  addLogMetrics(metrics, output);
  metrics.gauge('quiver_ready', '1 when the process is ready, else 0', () => (readiness.ready ? 1 : 0));
  const ops = new OpsServer({
    readiness: () => readiness,
    metrics: () => metrics.read(),
    onError: (error) => log.error({ error }, 'the operations port failed'),
    duplicateHandle,
  });
  warnOfUnknownSettings(process.env, log);
  const opsPort = await openOpsPort(ops, {
    port: config.opsPort,
    host: config.host,
    isGiven: Boolean(process.env.OPS_PORT),
    log,
  });
  shutdown.defer(() => ops.close());
  const origin = traceOrigin(
    process.env,
    { role: 'node', member: nodeId, instanceId: randomUUID(), version: programVersion() },
    log,
  );
  const tracer = origin === null ? null : openTracer({ origin, clock, log });
  const spans = new ThreadTraceCounts();
  if (tracer !== null) {
    spans.take(tracer, tracer.counts);
    addTraceMetrics(metrics, () => spans.sum());
    shutdown.defer(() => tracer.close());
  }

  const folder = join(config.dataDir, 'node');
  const storeId = await readStoreId(folder, nodeId);
  const etcd = etcdAccess(config);
  const store = memberStore(config, { observer: new EtcdMetrics(metrics), etcd, log });
  shutdown.defer(() => store.close());
  const credentials = memberCredentials(config, log);
  followMemberFiles(config, { tls: credentials.tls, etcd, log, shutdown });
  // Questions have times of their own. Copies have connections of their own: who asks in vain for a moment takes a new
  // one, and what went over the old one would be cut.
  const channels = new RpcChannels({ credentials, keepaliveMs: PATIENT_KEEPALIVE_MS });
  shutdown.defer(() => channels.close());
  const copyChannels = new RpcChannels({ credentials, keepaliveMs: PATIENT_KEEPALIVE_MS });
  shutdown.defer(() => copyChannels.close());
  const members = new WatchedEntries<NodeMember>({
    store,
    prefix: NODES_PREFIX,
    decode: memberFromEntry<NodeMember>,
    onUnreadable: (error) => log.error({ error }, 'an entry of the cluster store is unreadable and left out'),
  });
  shutdown.defer(() => members.close());
  /** Addresses are kept, because a node that lost its session by mistake can still be reached. */
  const addresses = new Map<string, string>();
  members.onChange(() => {
    for (const { value } of members.all()) addresses.set(value.id, value.address);
  });

  const links = new StreamReplicationLinks({
    nodeId,
    addressOf: (node) => addresses.get(node) ?? null,
    credentials,
    clock,
    log,
  });
  shutdown.defer(() => links.close());
  const changes = new AssignmentChanges({ store });
  const copies = new SnapshotSender({ channels: copyChannels, bytesPerSecond: config.copyBytesPerSecond });
  addCopyMetrics(metrics, copies.counts);
  const storeBudget = new StoreBudget({
    cacheBytes: config.storeCacheBytes,
    writeBufferBytes: config.storeWriteBufferBytes,
  });
  addStoreMetrics(metrics, storeBudget);
  const shardOptions: ShardOptions = {
    factories: indexFactories,
    // A replica writes soon after it was opened.
    openStore: (path, how) => RocksKeyValueStore.open(path, storeBudget, { mustExist: how?.mustExist === true }),
    recallTarget: config.recallTarget,
    fieldsMax: config.collectionFieldsMax,
    buildThreads: config.indexThreads,
    logger: log,
    backups: backupAccessOf(config),
  };
  const budget = new WriteBudget();
  const ticks = new ReplicaTicks(clock);
  const stores = await ShardStores.load(folder, storeId);
  let register = (): void => undefined;

  const failures = new PublishedList({ store, key: FAILURES_PREFIX + nodeId, ttlSeconds: SESSION_SECONDS, log });
  shutdown.defer(() => failures.close());
  const later = new PublishedList({ store, key: LATER_ASSIGNMENTS_PREFIX + nodeId, ttlSeconds: SESSION_SECONDS, log });
  shutdown.defer(() => later.close());
  const known = await KnownAssignments.load(folder, log);
  const onFollowerRead = followerReadCounter(metrics);
  /** null: the main thread answers all reads. */
  const published = config.readThreads > 1 ? new ReplicaPublisher() : null;
  const permitReadings = new PermitReadings(clock, permitClocks);
  const notes = await StoreNotes.load(join(folder, 'notes'), log, { mayBeReplaced: true });
  const opening: ReplicaOpening = new ReplicaOpening({
    nodeId,
    stores,
    notes,
    onRenewed: () => register(),
    log,
    open: (spec, assignment, shardStore, mayBeNew, ended) =>
      ReplicatedShard.open({
        sharing: published === null ? null : { published, permit: new ReadPermit(clock, permitClocks, permitReadings) },
        folder: stores.pathOf(spec),
        spec,
        assignment,
        self: { node: nodeId, store: shardStore },
        mayBeNew,
        ended,
        changeIdPrefix: randomUUID(),
        shardOptions,
        budget,
        clock,
        ticks,
        log,
        isShipped: config.backupLog === 'true',
        dependencies: (hosted) => ({
          links,
          changeAssignment: (change) => changes.make(change),
          sendSnapshot: async (to) => {
            const address = addresses.get(to);
            if (address === undefined) throw new QuiverError('unavailable', `node ${to} is not known`);
            const copy = hosted.beginCopy();
            log.info({ collectionUid: spec.collectionUid, shard: spec.shard, to }, 'copying a shard');
            try {
              await copies.send({
                id: spec,
                epoch: hosted.replica.status().epoch,
                store: copy.store,
                besides: copy.besides,
                address,
                isOutrun: copy.pin.isOutrun,
              });
              log.info({ collectionUid: spec.collectionUid, shard: spec.shard, to }, 'copied a shard');
            } finally {
              copy.pin.release();
            }
          },
          onFollowerRead,
          onFailed: (error) => {
            log.error({ error, collectionUid: spec.collectionUid, shard: spec.shard }, 'a replica failed');
            if (isDamage(error)) opening.condemn(spec, null);
            agent.failed(spec, error);
          },
        }),
      }),
  });
  const agent: NodeAgent = new NodeAgent({
    publishFailures: (paths) => failures.publish(paths),
    known,
    promisedEpoch: (id) => stores.promisedEpoch(id),
    publishLater: (assignments) => later.publish(assignments),
    openReplicasMax: capacity.openShardsMax,
    nodeId,
    store,
    folder,
    clock,
    log,
    openReplica: (spec, assignment, ended) => opening.open(spec, assignment, ended),
    removeReplica: async (id) => {
      await removeReplica(stores.pathOf(id));
      await stores.forget(id);
      await notes.forget(shardNoteName(id));
    },
  });
  links.deliverTo(agent);
  addReplicaMetrics(metrics, () => agent.observe());
  addDiskMetrics(metrics, folder);
  metrics.gauge(
    'quiver_shards_behind',
    'Shards for which the shard map is earlier than what this node knows: the cluster store was put back',
    () => known.later().length,
  );
  metrics.gauge('quiver_replicas_closed', 'Replicas that are to be open and are not', () => agent.closedReplicas);

  const { backups } = shardOptions;
  const shipping =
    config.backupLog !== 'true' || backups === undefined
      ? null
      : new LogShipping({
          member: nodeId,
          logs: () => agent.openReplicas().map(({ replica }) => replica),
          target: backups.open(config.backupTarget),
          pace: backups.pace,
          clock,
          everyMs: config.backupLogSeconds * 1000,
          log,
        });
  const kept = new KeptLogs({
    logs: () => agent.openReplicas().map(({ replica }) => replica),
    folder,
    bytesMax: config.backupLogKeptBytes,
    log,
  });
  shutdown.defer(async () => kept.close());
  if (shipping !== null) addShippingMetrics(metrics, shipping, kept);

  const snapshots = new SnapshotReceiver({
    log,
    install: async (id, epoch, chunks) => {
      const hosted = agent.hosted(id);
      if (!(hosted instanceof ReplicatedShard)) throw new QuiverError('unavailable', 'the shard is not open here');
      return hosted.install(epoch, chunks);
    },
  });
  const requests = new ReplicaRequests({ addressOf: (node) => addresses.get(node) ?? null, channels });
  shutdown.defer(async () => requests.close());
  const comparison = new ReplicaComparison({
    nodeId,
    intervalMs: config.compareReplicasSeconds * 1000,
    open: () => agent.openReplicas(),
    ask: requests,
    log,
    onCompared: comparisonCounter(metrics),
  });
  /** The same as for a replica whose data turn out to be damaged; the primary has said what is wrong with it. */
  const replace = ({ shard: id, epoch, store: differing, atSequence }: Replacement): boolean => {
    const replica = agent.hosted(id)?.replica;
    if (
      replica === undefined ||
      replica.status().role === 'primary' ||
      replica.status().epoch !== epoch ||
      stores.idOf(id) !== differing
    )
      return false;
    if (replica.assignment?.epoch !== epoch || !opening.isHeldElsewhere(replica.assignment)) return false;
    log.error(
      { ...id, epoch, store: differing, atSequence },
      'this replica differs from its primary after the same entry of the log; it is put aside as <shard>.retired, and a copy is fetched',
    );
    opening.condemn(id, epoch);
    agent.failed(id, new QuiverError('storage_damaged', 'the replica differs from its primary'));
    return true;
  };

  const shards = new ReplicaShards({
    find: (id, call) => agent.find(id, call),
    hosted: (id) => agent.hosted(id),
    optimizeOn: (node, id) => void requests.optimize(node, id),
    purgeOn: (node, id, start) => requests.purge(node, id, start),
  });
  const answerBytes = sharedAnswerBytes(1 + config.readThreads);
  const answerBytesMax = answerBytesOf(config.answerBytesMax, machine);
  const limits = nodeLimits({ answers: new AnswerBytes({ bytesMax: answerBytesMax, shared: answerBytes }) });
  const observer = new NodeMetrics(metrics, limits);
  const replication = new ReplicationService({ links, snapshots });
  const server = new RpcServer({
    services: [
      ...shardServices({ shards, clock, logger: log, limits, observer, tracer }),
      replication,
      administrationService({
        report: () => agent.report(),
        digest: async (id, atSequence, ended) => {
          const hosted = agent.hosted(id);
          if (hosted === null) return null;
          return atSequence === 0 ? hosted.digest() : comparison.digestAt(hosted, atSequence, ended);
        },
        optimize: async (id) => void (await agent.hosted(id)?.shard.read('optimize', null)),
        purge: async (id, start) => (await agent.hosted(id)?.shard.read('purge', { start })) ?? null,
        replace,
        log,
      }),
    ],
    ...credentials,
    ...(published !== null && {
      version: { ...OWN_VERSION, features: [...OWN_VERSION.features, READ_THREADS] },
    }),
    addressOf: (port) => memberAddress(config, port),
    duplicateHandle,
  });
  let readThreads: ReadThreads | null = null;
  const listenAt = withPort(config.host, config.rpcPort);
  const deal = dealerTo(() => readThreads);
  const rpcPort = await server.listenBeside(listenAt, published === null ? null : deal, replication.frames);
  shutdown.defer(() => server.close(DRAIN_MS));
  if (published !== null) {
    const onThreadSearches = threadSearchCounter(metrics);
    readThreads = await startReadThreads({
      entry: join(__dirname, 'read-thread.js'),
      threads: config.readThreads,
      address: memberAddress(config, rpcPort),
      credentials,
      replicas: published,
      shards,
      limit: limits.reads,
      answerBytesMax,
      answerBytes,
      observer,
      onSearches: ({ primary, follower, passedOn }) => {
        onThreadSearches(primary + follower, passedOn);
        onFollowerRead('answered', follower);
      },
      traces: origin,
      spans,
      metrics,
      clock,
      logger: log,
    });
    const threads = readThreads;
    shutdown.defer(() => threads.close(DRAIN_MS));
  }

  const untilStoreAnswers = retryUntilStoreAnswers({ stopSignal, log });
  await untilStoreAnswers(() => store.mustBeOurs(STATE_PREFIX, (key) => isAssignment(key) || key === CLUSTER_PATH));
  const ownCluster = await readClusterId(folder);
  await mustBelongTo(folder, await untilStoreAnswers(() => clusterIdOf(store, ownCluster)));
  // Before anything is opened: another process may hold these shards under this name.
  const address = memberAddress(config, rpcPort);
  const incarnation = randomUUID();
  const isSame = (entry: NodeMember): boolean =>
    entry.incarnation === incarnation || (entry.store === storeId && entry.address === address);
  const name = new MemberName<NodeMember>({ store, key: NODES_PREFIX + nodeId, isSame });
  await untilStoreAnswers(() => name.free(stopSignal));
  await untilStoreAnswers(() => mustWorkWithMembers(store, { own: OWN_VERSION, ownKey: name.key, log }));
  await untilStoreAnswers(() => members.follow());
  shutdown.defer(async () => {
    const open = agent.openReplicas().map(({ shard }) => shard);
    await agent.close();
    await opening.noteClosed(open);
  });
  await untilStoreAnswers(() => agent.start(stopSignal));
  const space = await diskSpaceOf(folder);
  // From here to `register` nothing is awaited: a replica may begin again as another store meanwhile.
  const member: NodeMember = {
    id: nodeId,
    address,
    store: storeId,
    stores: stores.ownStores(),
    incarnation,
    zone: config.zone,
    pid: process.pid,
    startedAt: new Date(clock.wallMs()).toISOString(),
    ...space,
    shardsMax: capacity.shardsMax,
    ...versionToFields(OWN_VERSION),
  };
  const { replicaCount } = agent;
  if (replicaCount > capacity.shardsMax) {
    const facts = {
      replicas: replicaCount,
      notOpen: Math.max(0, replicaCount - capacity.openShardsMax),
      shardsMax: capacity.shardsMax,
      openFilesMax: machine.openFilesMax,
    };
    log.error(
      facts,
      `this node is given more replicas than it may hold, and takes no more; the limit comes from ${capacity.shardsMaxSource}`,
    );
  }
  const registration = new RegisteredEntry({
    store,
    name,
    onTaken: refuse,
    key: name.key,
    value: JSON.stringify(member),
    ttlSeconds: SESSION_SECONDS,
    logger: log,
  });
  shutdown.defer(() => registration.close());
  addRegistrationMetric(metrics, registration);
  register = () => {
    member.stores = stores.ownStores();
    registration.update(JSON.stringify(member));
  };
  const lookAtDisk = setInterval(() => {
    void diskSpaceOf(folder).then((now) => {
      if (!isNotable(member, now)) return;
      Object.assign(member, now);
      registration.update(JSON.stringify(member));
    });
  }, DISK_CHECK_MS);
  shutdown.defer(() => clearInterval(lookAtDisk));
  const catchingUp = new CatchingUp({
    assigned: () => agent.assigned(),
    own: (id) => ({ node: nodeId, store: stores.idOf(id) }),
    isThere: ({ node, store }, id) => holdsIn(members.get(NODES_PREFIX + node)?.value, id, store),
    clock,
    log,
  });
  const lookWhetherReady = (): void => {
    readiness = catchingUp.look();
    if (!readiness.ready) return;
    clearInterval(looking);
    log.info({ rpcPort, opsPort, dataDir: config.dataDir, node: nodeId, store: storeId }, 'ready');
  };
  const looking = setInterval(lookWhetherReady, READY_CHECK_MS);
  shutdown.defer(async () => {
    clearInterval(looking);
    readiness = { ready: false, reason: 'shutting down' };
    // First, because it cancels a handover of its own.
    await comparison.close();
    await shipping?.close();
    await agent.handOver();
  });
  shipping?.start();
  if (shipping !== null) kept.start();
  lookWhetherReady();
}

/** By which backups are sealed. */
function sealsOf(config: NodeConfig): BackupSeals {
  return backupSealsOf({
    backupSecret: config.backupSecret,
    backupSecretOther: config.backupSecretOther,
    clusterSecret: config.clusterSecret,
    clusterSecretOther: config.clusterSecretOther,
  });
}

/** Where shards are backed up to; undefined: nowhere. */
function backupAccessOf(config: NodeConfig): ShardOptions['backups'] {
  if (config.backupTarget === '') return undefined;
  const access = {
    backupTarget: config.backupTarget,
    backupS3Endpoint: config.backupS3Endpoint,
    backupS3Region: config.backupS3Region,
    backupS3PathStyle: config.backupS3PathStyle,
    backupS3AccessKeyId: config.backupS3AccessKeyId,
    backupS3SecretAccessKey: config.backupS3SecretAccessKey,
    backupS3SessionToken: config.backupS3SessionToken,
    backupS3CredentialsFile: config.backupS3CredentialsFile,
    backupS3Encryption: config.backupS3Encryption,
  };
  const open = targetOpener(access, sealsOf(config));
  return {
    open,
    pace: new Pace(config.backupBytesPerSecond),
    log: 'replica',
    ledger: (stored) => SettledWrites.load(stored),
  };
}

function main(): void {
  const cores = availableParallelism();
  let config: NodeConfig;
  try {
    const environment = nodeEnvironment(process.env);
    config = { ...readConfig(environment, cores), ...readClusterConfig(environment, hostname(), cores) };
  } catch (error) {
    sayOnStandardError((error as Error).message);
    process.exitCode = 1;
    return;
  }
  const output = new StandardOutput(process.env);
  const log = createLogger({
    level: config.logLevel,
    secrets: memberSecretsOf(config),
    output,
    base: { node: config.memberId },
  });
  runUntilSignal({
    start: (stopSignal, refuse) =>
      startWithShutdown((shutdown) => build(config, log, output.lines, shutdown, stopSignal, refuse)),
    hardStopMs: config.shutdownTimeoutMs,
    logger: log,
  });
}

main();
