import type { Socket } from 'node:net';
import type { Config } from '../../../shared/base/config/config';
import type { WritesEncoded } from '../../service/routing/encoded-writes';
import type { SearchesAtOnce } from '../../../shared/contract/shard/inline-search';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import { type Clock, systemClock } from '../../../shared/base/time/clock';
import { sharedMs } from '../../../shared/base/time/shared-clock';
import { openTracer } from '../../../shared/base/trace/open-tracer';
import type { TraceOrigin } from '../../../shared/base/trace/trace-origin';
import { dashboardFolderOf } from '../pages/dashboard-folder';
import { HttpLoad } from '../load/http-load';
import { AnswerMemory } from '../load/answer-memory';
import { V8HeapGrowth } from '../load/heap-growth';
import { closeUnlistened, createHttpServer, overloadBounds, startUnlistened } from '../http/http-server';
import { type ApiCertificate, TlsDoor } from '../connections/tls-door';
import type { AnsweredRequest } from '../http/observer';
import type { KnownAlias } from '../../service/aliases/alias-names';
import { tenureIn } from '../../service/aliases/alias-tenure';
import { KeyDirectory } from '../../service/keys/key-directory';
import type { KeyRecord } from '../../service/keys/key-record';
import type { KeyUsage } from '../../service/keys/keys-service';
import type { PublicKey } from '../../service/keys/tokens/issuer-keys';
import type { SignIn } from '../../service/keys/sign-in';
import type { RateLimiter } from '../../service/limits/rate-limiter';
import type { ActivityService } from '../../cluster/operations/activity-service';
import type { OperationsService } from '../../cluster/operations/operations-service';
import { CallProfiling } from '../../service/routing/call-profiling';
import { DeepReads } from '../../service/routing/deep-reads';
import { httpThreadKeys } from './http-thread-keys';
import { threadLog } from '../../../shared/base/threads/thread-log';
import { httpThreadLimiter } from './http-thread-limiter';
import { HttpThreadReports, type NodeCalls } from './http-thread-reports';
import { httpThreadServices } from './http-thread-services';
import { httpThreadTokens } from './http-thread-tokens';
import { ReadRoom } from '../../../shared/base/threads/read-room';
import { endThread, takenConnection } from '../../../shared/base/threads/taken-connection';
import { THREAD_BEAT_MS } from '../../../shared/base/threads/thread-state';
import { HTTP_THREAD_STATE, MAIN_BEAT_MS } from './http-thread-state';
import {
  failureOf,
  remote,
  type ThreadHandlers,
  ThreadPeer,
  type ThreadPort,
} from '../../../shared/base/threads/thread-peer';

const NO_CALLS: NodeCalls = { open: 0, queuedBytes: 0 };

/** What an HTTP thread is started with. */
export interface HttpThreadData {
  config: Omit<
    Config,
    | 'apiKey'
    | 'backupS3AccessKeyId'
    | 'backupS3SecretAccessKey'
    | 'backupS3SessionToken'
    | 'backupSecret'
    | 'backupSecretOther'
    | 'embeddingProviders'
    | 'rerankApiKey'
    | 'llmApiKey'
  >;
  state: Int32Array;
  stampMemory: BigInt64Array;
  /** Which of the threads this is. */
  place: number;
  /**
   * Bytes of the bodies that each thread holds, by its place; float64 in shared memory. Its length is how many threads
   * share the limits of the process.
   */
  bodyBytes: Float64Array;
  /** What the answers of each thread hold, and the most of all (answer-memory.ts). */
  answerBytes: Float64Array;
  answerBytesMax: number;
  /** How the heaps of all threads grow (heap-growth.ts). */
  heapGrowth: Int32Array;
  /** How long the process is certain of aliases (alias-tenure.ts); undefined: always. */
  aliasTenure?: Float64Array | undefined;
  /** As of ShardedSearchService. */
  cursorSecret: string;
  /** Of the whole process. */
  connectionsMax: number;
  /** What traces are sent with; null: none are. */
  traces?: TraceOrigin | null;
  /** How late an event loop may run before requests are refused, in milliseconds; default: {@link overloadBounds}. */
  delayMsMax?: number;
}

/**
 * What is different on the HTTP threads of each form of the service: how they reach the shards, and who counts limits.
 */
export interface ThreadForm {
  shards: Pick<ShardClient, 'read' | 'write'> & SearchesAtOnce & WritesEncoded;
  /** How many deep reads run at once; by default, this thread counts its own. */
  deep?: Pick<DeepReads, 'run'>;
  /** The limiter of keys, from that which counts in this process alone; the same by default. */
  limiterAround?: (local: RateLimiter) => RateLimiter;
  /** What the main thread tells of it. */
  handlers?: ThreadHandlers;
  /** What waits for storage nodes; in the embedded form, there are none. */
  nodeCalls?: () => NodeCalls;
  /** Called when the last request is over. */
  close?: () => void;
}

/** Serves the API on this worker thread, with the connections that the main thread hands over. */
export function serveHttpThread(parts: {
  port: ThreadPort;
  data: HttpThreadData;
  form: (main: ThreadPeer) => ThreadForm;
}): void {
  const { data } = parts;
  const { config, state } = data;
  const clock: Clock = systemClock;
  const keys = new KeyDirectory();
  const load = new HttpLoad({ bytes: data.bodyBytes, place: data.place });
  let isDraining = false;
  let isTurningAway = false;
  let isRefusingChanges = false;
  /** Told before the first connection, where the port speaks TLS. */
  const isSecured = config.apiTlsCertFile !== '';
  let door: TlsDoor | null = null;
  /** What TLS reads, it reads by itself. */
  const room = isSecured ? undefined : new ReadRoom();
  const main = new ThreadPeer(parts.port, {
    'keys.put': (record: KeyRecord, place: number) => keys.put(record, place),
    'keys.remove': (id: number, place: number) => keys.remove(id, place),
    'tokens.keys': (known: readonly PublicKey[]) => tokens?.useKeys(known),
    'catalog.forget': (name: string) => catalog.forget(name),
    'aliases.put': (aliases: KnownAlias[]) => aliasNames.put(aliases),
    flush: () => {
      reportSpans();
      reports.flush();
    },
    synced: () => undefined,
    connection: (handle: number, isTurnedAway: boolean) => take(handle, isTurnedAway),
    'api.certificate': (certificate: ApiCertificate) => {
      if (door === null) door = new TlsDoor({ certificate, opened: (socket) => server.takeSecured(socket) });
      else door.renew(certificate);
    },
    'audit.refusing': (isRefusing: boolean) => (isRefusingChanges = isRefusing),
    sweep: () => server.closeIdleConnections(),
    end: endThread,
    close: async (graceMs: number) => {
      isDraining = true;
      await closeUnlistened(server, connections, graceMs);
      clearInterval(beat);
      form.close?.();
      await tracer?.close();
      reportSpans();
      reports.close();
    },
  });
  const { traces: origin = null } = data;
  const tracer = origin === null ? null : openTracer({ origin, clock, log: threadLog(main) });
  const reportSpans = (): void => {
    if (tracer !== null) main.tell('traces.counts', { ...tracer.counts });
  };
  const profiling = new CallProfiling();
  const tokens = httpThreadTokens({ main, config, clock });
  const form = parts.form(main);
  main.handle(form.handlers ?? {});
  const reports = new HttpThreadReports({
    rule: config,
    clock,
    load,
    nodeCalls: form.nodeCalls ?? (() => NO_CALLS),
    send: (report) => main.tell('report', report),
    notable: (facts) => reportRequest(main, facts),
  });
  const { service, catalog, aliasNames } = httpThreadServices({
    main,
    shards: form.shards,
    deep: form.deep ?? new DeepReads(clock),
    clock,
    config,
    stampMemory: data.stampMemory,
    observer: reports,
    profiling,
    aliasTenure: tenureIn(data.aliasTenure),
    cursorSecret: data.cursorSecret,
  });
  const { ofKey, summary } = remote<KeyUsage>(main, 'usage');
  const bounds = overloadBounds(config);
  const answerMemory = new AnswerMemory(
    { ...config, bytesMax: data.answerBytesMax, growth: new V8HeapGrowth(data.heapGrowth) },
    data.answerBytes,
    data.place,
  );
  load.answerBytes = () => answerMemory.bytes;
  const { delayMsMax = bounds.delayMsMax } = data;
  const localLimiter = httpThreadLimiter(main, 'localLimiter', config.rateLimitPerMinute);
  const server = createHttpServer({
    service,
    keys: httpThreadKeys({ main, directory: keys, clock }),
    tokens,
    usage: { record: (keyId, endpoint) => reports.record(keyId, endpoint), ofKey, summary },
    rateLimiter: form.limiterAround?.(localLimiter) ?? localLimiter,
    addressLimiter: httpThreadLimiter(main, 'addressLimiter', config.badKeyLimitPerMinute),
    operations: remote<OperationsService>(main, 'operations'),
    activity: remote<ActivityService>(main, 'activity'),
    observer: reports,
    metricsText: config.apiMetrics === 'true' ? () => main.ask('metrics.text') : null,
    hasDocs: config.apiDocs === 'true',
    mcpOrigins: config.mcp === 'true' ? config.mcpOrigins : null,
    corsOrigins: config.corsOrigins,
    hasRealStatuses: config.httpStatus === 'real',
    basePath: config.basePath,
    dashboardFolder: dashboardFolderOf(config),
    signIn: remote<SignIn>(main, 'signIn'),
    load,
    tracer,
    profiling,
    slowMs: config.logSlowMs,
    limits: config,
    answerMemory,
    trustedProxies: config.trustedProxies,
    audit: config.auditLog === '' ? null : { isRefusing: () => isRefusingChanges },
    log: threadLog(main),
    overload: { ...bounds, delayMsMax, requestsMax: Math.ceil(bounds.requestsMax / data.bodyBytes.length) },
    otherDelayMs: () => mainDelayMs(state),
    // The main thread counts the connections of all threads, and says which are too many.
    connections: { connectionsMax: Infinity, shownMax: data.connectionsMax, isShort: () => isTurningAway },
    clock,
    isDraining: () => isDraining,
  });
  startUnlistened(server);
  const connections = new Set<Socket>();
  const beat = setInterval(() => Atomics.add(state, HTTP_THREAD_STATE.beat, 1), THREAD_BEAT_MS);

  const take = (handle: number, isTurnedAway: boolean): void => {
    const closed = (): void => {
      if (isTurnedAway) Atomics.add(state, HTTP_THREAD_STATE.closedTurnedAway, 1);
    };
    const socket = takenConnection(state, handle, { closed, room });
    if (socket === null) return;
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    socket.setNoDelay(true);
    socket.setKeepAlive(true);
    // A handshake only to say that there is no room would cost more than it is worth.
    if (isSecured && isTurnedAway) socket.destroy();
    else if (isSecured) {
      server.guard.run(
        () => door?.take(socket),
        () => socket.destroy(),
      );
    } else {
      // While the gate hears of this one, and no longer: another may still be in its handshake.
      isTurningAway = isTurnedAway;
      server.take(socket);
      isTurningAway = false;
    }
  };
  main.tell('ready');
}

function reportRequest(main: ThreadPeer, { error, ...facts }: AnsweredRequest): void {
  main.tell('request', facts, error === null || error === undefined ? null : failureOf(error));
}

/** How late the main thread's event loop is, which does what this thread can't. */
function mainDelayMs(state: Int32Array): number {
  const sinceMs = (Math.floor(sharedMs()) - Atomics.load(state, HTTP_THREAD_STATE.mainBeat)) | 0;
  return Math.max(0, sinceMs - MAIN_BEAT_MS);
}
