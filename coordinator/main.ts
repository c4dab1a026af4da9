import { randomUUID } from 'node:crypto';
import { availableParallelism, hostname } from 'node:os';
import { join } from 'node:path';
import { mustWorkWithMembers } from '../shared/cluster-store/entries/member-compatibility';
import { MemberName } from '../shared/cluster-store/entries/member-name';
import { followMemberFiles } from '../shared/member/member-files';
import { type BackupSeals, backupSealsOf } from '../shared/backup-store/backup-seals';
import { targetOpener } from '../shared/backup-store/open-target';
import {
  etcdAccess,
  memberAddress,
  memberCredentials,
  memberSecretsOf,
  memberStore,
} from '../shared/member/member-options';
import {
  CONTROLLER_PATH,
  COORDINATORS_PREFIX,
  type CoordinatorMember,
  LATER_ASSIGNMENTS_MAX,
  LATER_ASSIGNMENTS_PREFIX,
  STATE_PREFIX,
} from '../shared/cluster-store/entries/members';
import { PublishedList } from '../shared/cluster-store/entries/published-list';
import { retryUntilStoreAnswers } from '../shared/cluster-store/entries/store-retry';
import { RegisteredEntry } from '../shared/cluster-store/entries/registered-entry';
import { isAssignment } from '../shared/cluster-store/entries/shard-assignment';
import { type ClusterConfig, type Config, readClusterConfig, readConfig } from '../shared/base/config/config';
import { rerankNamesIn } from '../shared/base/config/rerank-models';
import { warnOfUnknownSettings } from '../shared/base/process/unknown-settings-warning';
import type { QuiverError } from '../shared/base/errors/quiver-error';
import type { LineOutput } from '../shared/base/process/line-output';
import type { Logger } from '../shared/base/logs/logger';
import { createLogger } from '../shared/base/logs/pino-logger';
import { sayOnStandardError, StandardOutput } from '../shared/base/process/standard-output';
import { EtcdMetrics } from '../shared/cluster-store/metrics/etcd-metrics';
import { addLogMetrics } from '../shared/base/metrics/log-metrics';
import { ProcessMetrics } from '../shared/base/metrics/process-metrics';
import { addRegistrationMetric } from '../shared/cluster-store/metrics/registration-metric';
import { capacityOf } from '../shared/base/process/capacity';
import { type ShutdownStack, startWithShutdown } from '../shared/base/process/shutdown-stack';
import { runUntilSignal } from '../shared/base/process/life-cycle';
import { listenHost, withPort } from '../shared/base/process/listen-host';
import { readMachineLimits } from '../shared/base/process/machine-limits';
import { OWN_VERSION, versionToFields } from '../shared/base/process/member-version';
import { programVersion } from '../shared/base/process/program-version';
import { RpcChannels } from '../shared/wire/streams/rpc-channels';
import { RpcServer } from '../shared/wire/streams/rpc-server';
import { systemClock } from '../shared/base/time/clock';
import { traceOrigin } from '../shared/base/trace/trace-origin';
import { ApiProcess } from './api-process';
import { AliasMembership } from './cluster/alias-membership';
import { ClusterJobs } from './cluster/cluster-jobs';
import { ClusterMap } from './cluster/cluster-map';
import { ClusterOperations } from './cluster/cluster-operations';
import { ClusterPlacement } from './cluster/placement/cluster-placement';
import { clusterQuota } from './cluster/cluster-quota';
import { Controller } from './cluster/controller/controller';
import { Election } from './cluster/controller/election';
import { GoneNodes } from './cluster/controller/gone-nodes';
import { CoordinatorAudience } from './cluster/coordinator-audience';
import { Drains } from './cluster/drains';
import { RemoteShardClient } from './cluster/calls/remote-shard-client';
import { Housekeeping } from './cluster/controller/housekeeping';
import { MapRepair } from './cluster/controller/map-repair';
import { featureObstacle } from './cluster/feature-obstacle';
import { MapShardRoutes } from './cluster/calls/map-shard-routes';
import { NodeReports } from './cluster/controller/node-reports';
import { StoreFiles } from './jobs/documents/store-files';
import { NodeWatch } from './cluster/controller/node-watch';
import { PeerAliases } from './cluster/calls/peer-aliases';
import { PeerLimits, peersService } from './cluster/calls/peer-limits';
import { Sealing } from './cluster/controller/sealing';
import { TombstoneSweep } from './cluster/controller/tombstone-sweep';
import { SharedTenure } from './service/aliases/alias-tenure';
import type { StoredAliases } from './service/aliases/stored-aliases';
import { OpenFilesWatch } from './service/limits/open-files-watch';
import { ProcessLimiter } from './service/limits/process-limiter';
import { SharedLimiter } from './service/limits/shared-limiter';
import { ControllerMetrics } from './api/metrics/cluster-metrics';
import { HealthReading } from './cluster/operations/health-reading';
import type { ClusterThreadData } from './cluster-http-thread';
import { threadCredentials, publishCertificates } from '../shared/wire/handshake/thread-credentials';
import { publishCoordinators } from './api/threads/http-thread-coordinators';
import type { HttpThreadLoad } from './api/threads/http-thread-reports';
import { sharedClock } from '../shared/base/time/shared-clock';
import { RoutePublisher } from './api/threads/http-thread-routes';
import { handlersOf } from '../shared/base/threads/thread-peer';

/** The composition root of a coordinator: the API of a cluster, and a candidate for its controller. */

/** How long a session outlives a coordinator that died; etcd's minimum is 2. */
const SESSION_SECONDS = 3;
/** After a reshard, added to the time that a call may take: for coordinators that have not heard of it. */
const RETIRE_ROOM_MS = 10_000;
/** What they hold is shipped by then, unless the target is away: one round may just have begun. */
const RETIRE_ROUNDS = 2;
/** How long running calls have when the server for other coordinators closes. */
const DRAIN_MS = 1_000;

/**
 * Each thread names its writes in a session of its own, and so does the main thread. A shard remembers 256 sessions, so
 * that a write that is sent again is applied once: enough for 15 coordinators with 16 threads each.
 */
const HTTP_THREADS_MAX = 16;

/** What the environment says of its service, and of its membership. */
interface CoordinatorSettings {
  config: Config;
  member: ClusterConfig;
}

async function build(
  { config: given, member }: CoordinatorSettings,
  log: Logger,
  output: LineOutput,
  shutdown: ShutdownStack,
  stopSignal: AbortSignal,
  refuse: (error: QuiverError) => void,
): Promise<void> {
  const config = { ...given, host: await listenHost(given.host, Boolean(process.env.HOST)) };
  const clock = systemClock;
  const machine = readMachineLimits();
  const capacity = capacityOf(config, machine);
  const files = new OpenFilesWatch(machine.openFilesMax);
  shutdown.defer(async () => files.close());
  const coordinatorId = member.memberId;
  const instanceId = randomUUID();
  const startedAt = new Date(clock.wallMs()).toISOString();
  const metrics = new ProcessMetrics({
    identity: { role: 'coordinator', member: coordinatorId, version: programVersion() },
    onMeasureError: (error) => log.warn({ error }, 'some gauges could not be measured'),
  });
  addLogMetrics(metrics, output);
  const traces = traceOrigin(
    process.env,
    { role: 'coordinator', member: coordinatorId, instanceId, version: programVersion() },
    log,
  );
  const httpThreads = Math.min(config.httpThreads, HTTP_THREADS_MAX);
  if (httpThreads < config.httpThreads)
    log.warn({ httpThreads }, 'a coordinator serves on fewer threads than HTTP_THREADS says; add coordinators instead');
  const api = new ApiProcess({
    config: { ...config, httpThreads },
    clock,
    log,
    shutdown,
    stopSignal,
    instanceId,
    coordinatorId,
    metrics,
    traces,
    output,
  });
  warnOfUnknownSettings(process.env, log);
  await api.openOperationsPort({ isGiven: Boolean(process.env.OPS_PORT) });

  const etcd = etcdAccess(member);
  const store = memberStore(member, { observer: new EtcdMetrics(metrics), etcd, log });
  shutdown.defer(() => store.close());
  const credentials = memberCredentials(member, log);
  followMemberFiles(member, { tls: credentials.tls, etcd, log, shutdown });
  const channels = new RpcChannels({ credentials });
  shutdown.defer(() => channels.close());
  const map = new ClusterMap({ store, log });
  shutdown.defer(() => map.close());
  /** What needs etcd, each by itself: what has begun by then does not begin again when etcd goes away. */
  const untilStoreAnswers = retryUntilStoreAnswers({ stopSignal, log });
  await untilStoreAnswers(() => store.mustBeOurs(STATE_PREFIX, isAssignment));
  await untilStoreAnswers(() => map.follow());

  const routes = new MapShardRoutes({ map, clock, readReplicas: member.readReplicas });
  shutdown.defer(() => routes.close());
  const routePublisher = new RoutePublisher({ routes, clock });
  shutdown.defer(() => routePublisher.close());
  const placement = new ClusterPlacement({ store, routes, clock });
  const shardClient = new RemoteShardClient({
    routes,
    placement,
    session: instanceId,
    credentials,
    clock,
    linkEnded: (address, end) => log.debug({ address, reason: end.reason }, 'the connection to a node ended'),
  });
  shutdown.defer(() => shardClient.close());
  let threadsLoad: Pick<HttpThreadLoad, 'nodeCalls' | 'nodeBytes'> = { nodeCalls: 0, nodeBytes: 0 };
  metrics.gauge(
    'quiver_node_calls_open',
    'Calls to storage nodes that wait for their answer',
    () => shardClient.load.open + threadsLoad.nodeCalls,
  );
  metrics.gauge(
    'quiver_node_queued_bytes',
    'Bytes of requests that wait to be sent to storage nodes',
    () => shardClient.load.queuedBytes + threadsLoad.nodeBytes,
  );
  const election = new Election({
    store,
    path: CONTROLLER_PATH,
    value: coordinatorId,
    ttlSeconds: SESSION_SECONDS,
    logger: log,
  });
  shutdown.defer(() => election.close());
  if (member.clusterSeals === 'adopt' || member.clusterSecretOther !== undefined) {
    const sealing = new Sealing({ store, leadership: election, log });
    shutdown.defer(() => sealing.close());
  }
  const changes = new ControllerMetrics(metrics);
  const drains = new Drains({ store, map, clock });
  const controller = new Controller({
    store,
    map,
    drains,
    leadership: election,
    clock,
    log,
    onChanged: (reason) => changes.changed(reason),
  });
  shutdown.defer(() => controller.close());
  const gone = new GoneNodes({ store, map, leadership: election, clock, log });
  shutdown.defer(() => gone.close());
  const tombstones = new TombstoneSweep({ store, map, leadership: election, clock, log });
  shutdown.defer(() => tombstones.close());

  const peers = new PeerLimits({
    addressOf: (id) => map.coordinators.get(COORDINATORS_PREFIX + id)?.value.peerAddress,
    channels,
  });
  shutdown.defer(() => peers.close());
  const localLimiter = new ProcessLimiter({ limit: config.rateLimitPerMinute, clock: sharedClock });
  const rateLimiter = new SharedLimiter({
    ownId: coordinatorId,
    limit: config.rateLimitPerMinute,
    local: localLimiter,
    askOwner: (id, subject) => peers.ask(id, subject),
  });
  const noteCoordinators = (): void => rateLimiter.setMembers(map.coordinators.all().map(({ value }) => value.id));
  noteCoordinators();
  map.coordinators.onChange(noteCoordinators);
  let aliases: StoredAliases | null = null;
  const server = new RpcServer({
    ...credentials,
    services: [peersService({ limiter: rateLimiter, aliases: () => aliases, log })],
    addressOf: (port) => memberAddress(member, port),
    duplicateHandle: api.duplicateHandle,
  });
  const rpcPort = await server.listen(withPort(config.host, member.rpcPort));
  shutdown.defer(() => server.close(DRAIN_MS));

  // Before it serves or suspects anybody. Clients of a coordinator that was killed need not wait: its address is the
  // same.
  const peerAddress = memberAddress(member, rpcPort);
  const isSame = (entry: CoordinatorMember): boolean =>
    entry.instance === instanceId || entry.peerAddress === peerAddress;
  const name = new MemberName<CoordinatorMember>({ store, key: COORDINATORS_PREFIX + coordinatorId, isSame });
  await untilStoreAnswers(() => name.free(stopSignal));
  await untilStoreAnswers(() => mustWorkWithMembers(store, { own: OWN_VERSION, ownKey: name.key, log }));

  const reports = new NodeReports({ channels });
  shutdown.defer(() => reports.close());
  const later = new PublishedList({
    store,
    key: `${LATER_ASSIGNMENTS_PREFIX}coordinator/${coordinatorId}`,
    ttlSeconds: SESSION_SECONDS,
    log,
  });
  shutdown.defer(() => later.close());
  map.assignments.onChange(() => later.publish(map.ownLater().slice(0, LATER_ASSIGNMENTS_MAX)));
  const repair = new MapRepair({
    store,
    map,
    leadership: election,
    askNode: (address) => reports.ask(address),
    log,
    onRepaired: () => changes.changed('repair'),
  });
  shutdown.defer(() => repair.close());
  const watch = new NodeWatch({ store, map, reports, coordinatorId, sessionSeconds: SESSION_SECONDS, log });
  shutdown.defer(() => watch.close());
  const rerankModels = rerankNamesIn(config.rerankModel);
  const aliasTenure = new SharedTenure();
  const peerAliases = new PeerAliases(channels);
  shutdown.defer(async () => peerAliases.close());
  map.coordinators.onChange(() =>
    peerAliases.keep(new Set(map.coordinators.all().map(({ value }) => value.peerAddress))),
  );
  const { port } = await api.serve({
    clusterStore: store,
    shardClient,
    rateLimiter,
    localLimiter,
    addressLimiter: new ProcessLimiter({ limit: config.badKeyLimitPerMinute, clock: sharedClock }),
    quota: clusterQuota(map, capacity.collectionsMax),
    collectionObstacle: (feature, what) => featureObstacle(map, feature, what),
    aliasTenure,
    aliasAudience: new CoordinatorAudience({
      store,
      ownId: coordinatorId,
      members: () => map.coordinators.all().map(({ value }) => value),
      peers: peerAliases,
      clock,
      timeoutMs: config.requestTimeoutMs,
    }),
    httpThreads: {
      entry: join(__dirname, 'cluster-http-thread.js'),
      // The threads that serve reach storage nodes, and never etcd.
      data: { memberId: coordinatorId, credentials: threadCredentials(credentials) } satisfies ClusterThreadData,
      handlers: { ...routePublisher.handlers, ...handlersOf('placement', placement, ['open', 'drop']) },
      onLoad: (load) => (threadsLoad = load),
      follow: (peer) => {
        const ends = [
          routePublisher.follow(peer),
          publishCoordinators(map, peer),
          publishCertificates(credentials.tls, peer),
        ];
        return () => ends.forEach((end) => end());
      },
    },
    connections: { connectionsMax: capacity.connectionsMax, isShort: () => files.isShort },
    operations: (service, embedding) => {
      const operations = new ClusterOperations({
        store,
        map,
        askNode: (address) => reports.ask(address),
        clock,
        log,
        reshards: () => service.reshards(),
        drains,
        health: new HealthReading({
          clock,
          collections: (caller) => service.collections.list(caller),
          embedding: () => embedding.status(),
          rerankModels,
        }),
      });
      service.addJobs(new ClusterJobs({ drains, clock, operations }));
      return operations;
    },
    reached: untilStoreAnswers,
    rerankersElsewhere: () =>
      map.coordinators
        .all()
        .filter(({ value }) => value.id !== coordinatorId)
        .map(({ value: { id, rerankModels = [] } }) => ({ id, models: rerankModels })),
    openTarget: targetOpener(config, sealsOf({ config, member })),
    documentFiles: new StoreFiles(store),
    recover: async (service) => {
      aliases = service.aliases;
      await untilStoreAnswers(() => service.follow());
      const housekeeping = new Housekeeping({
        service,
        leadership: election,
        map,
        log,
        requestTimeoutMs: config.requestTimeoutMs,
      });
      shutdown.defer(() => housekeeping.close());
      const resharder = await untilStoreAnswers(() => service.driveReshards(election, retireMsOf(config)));
      shutdown.defer(() => resharder.close());
      const isAlive = (instance: string): boolean =>
        map.coordinators.all().some(({ value }) => value.instance === instance);
      const jobs = await untilStoreAnswers(() => service.driveJobs(election, isAlive));
      shutdown.defer(() => jobs.close());
      const backups = await untilStoreAnswers(() => service.driveBackups(election, api.backupMetrics));
      shutdown.defer(() => backups.close());
      // Only now: what waits for the controller would wait for this process, which may have had a model to load first.
      election.begin();
    },
  });
  const entry: CoordinatorMember = {
    id: coordinatorId,
    address: `${peerAddress.replace(/:\d+$/, '')}:${port}`,
    peerAddress,
    instance: instanceId,
    pid: process.pid,
    startedAt,
    ...versionToFields(OWN_VERSION),
    ...(rerankModels.length > 0 && { rerankModels }),
  };
  const membership = new AliasMembership({ tenure: aliasTenure, read: () => aliases!.refresh() });
  shutdown.defer(async () => membership.close());
  const registration = new RegisteredEntry({
    store,
    tenure: membership,
    name,
    onTaken: refuse,
    key: name.key,
    value: JSON.stringify(entry),
    ttlSeconds: SESSION_SECONDS,
    logger: log,
  });
  shutdown.defer(() => registration.close());
  addRegistrationMetric(metrics, registration);
}

/** By which backups are sealed. */
function sealsOf({ config, member }: CoordinatorSettings): BackupSeals {
  return backupSealsOf({
    backupSecret: config.backupSecret,
    backupSecretOther: config.backupSecretOther,
    clusterSecret: member.clusterSecret,
    clusterSecretOther: member.clusterSecretOther,
  });
}

/** How long shards stay that others took the place of. */
function retireMsOf({ requestTimeoutMs, backupLog, backupLogSeconds }: Config): number {
  return (
    Math.max(requestTimeoutMs, backupLog === 'true' ? RETIRE_ROUNDS * backupLogSeconds * 1000 : 0) + RETIRE_ROOM_MS
  );
}

function main(): void {
  let settings: CoordinatorSettings;
  try {
    settings = {
      config: readConfig(process.env, availableParallelism()),
      member: readClusterConfig(process.env, hostname()),
    };
  } catch (error) {
    sayOnStandardError((error as Error).message);
    process.exitCode = 1;
    return;
  }
  const { config, member } = settings;
  const output = new StandardOutput(process.env);
  const log = createLogger({
    level: config.logLevel,
    secrets: memberSecretsOf({ ...config, ...member }),
    output,
    base: { coordinator: member.memberId },
  });
  runUntilSignal({
    start: (stopSignal, refuse) =>
      startWithShutdown((shutdown) => build(settings, log, output.lines, shutdown, stopSignal, refuse)),
    hardStopMs: config.shutdownTimeoutMs,
    logger: log,
  });
}

main();
