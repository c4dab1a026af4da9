import { join } from 'node:path';
import { DeepReads } from '../../../coordinator/service/routing/deep-reads';
import type { ApiCertificate } from '../../../coordinator/api/connections/tls-door';
import type { AnsweredRequest } from '../../../coordinator/api/http/observer';
import type { OneTimeSignIn } from '../../../coordinator/service/keys/sign-in';
import { type BodyScannerAddon, loadBodyScanner } from '../../../coordinator/api/native/body-scanner';
import { publishCollections } from '../../../coordinator/api/threads/http-thread-catalog';
import { httpThreadHandlers } from '../../../coordinator/api/threads/http-thread-handlers';
import { publishKeys } from '../../../coordinator/api/threads/http-thread-keys';
import { HttpThreads } from '../../../coordinator/api/threads/http-threads';
import type { ThreadPeer } from '../../../shared/base/threads/thread-peer';
import { systemClock } from '../../../shared/base/time/clock';
import type { ApiTarget } from '../targets/api-target';
import { plainParts } from '../shards/plain-parts';
import { LogMemory } from '../shards/shard-node';
import { answerBytesOf } from '../../../shared/base/process/capacity';
import { readMachineLimits } from '../../../shared/base/process/machine-limits';

export interface ThreadedServer extends ApiTarget {
  /** The threads that ever started, in order. */
  peers: ThreadPeer[];
  log: LogMemory;
  /** Requests that were counted, `endpoint code`, and those that were told whole. */
  counted: string[];
  answered: AnsweredRequest[];
  threads: HttpThreads;
  signIn: OneTimeSignIn;
}

/**
 * Real HTTP threads over a plain service in this process, which refuse nothing because a test keeps this thread busy.
 * `environment` as for the process.
 */
export async function startThreadedServer(
  environment: Record<string, string> = {},
  options: {
    lookMs?: number;
    heldMs?: number;
    connectionsMax?: number;
    entry?: string;
    certificate?: ApiCertificate;
  } = {},
): Promise<ThreadedServer> {
  const { config, adminKey, shards, answered, parts, close } = await plainParts({ HTTP_THREADS: '2', ...environment });
  const { catalog, quotas, embedder, stampMemory } = parts.service;
  const main = {
    ...parts,
    localLimiter: parts.rateLimiter,
    catalog,
    quotas,
    embedder,
    shardClient: shards,
    deep: new DeepReads(systemClock),
    languageModels: parts.service.languageModels,
    noteAnswer: () => undefined,
  };
  const log = new LogMemory();
  const peers: ThreadPeer[] = [];
  const counted: string[] = [];
  const threads = await HttpThreads.start({
    entry: options.entry ?? join(__dirname, '../threads/http-thread-worker.js'),
    threads: config.httpThreads,
    data: {
      config,
      answerBytesMax: answerBytesOf(config.answerBytesMax, readMachineLimits()),
      connectionsMax: options.connectionsMax ?? 1_000,
      stampMemory,
      cursorSecret: 'of this process',
      delayMsMax: Infinity,
    },
    handlers: (started, peer) => httpThreadHandlers(main, started, peer),
    reader: {
      request: (endpoint, code) => counted.push(`${endpoint} ${code}`),
      phase: () => undefined,
      use: (id, endpoint, wallMs) => parts.usage.record(id, endpoint, wallMs),
      repetition: () => undefined,
    },
    onLoad: () => undefined,
    onStarted: (peer) => {
      peers.push(peer);
      if (options.certificate !== undefined) peer.tell('api.certificate', options.certificate);
      const ends = [publishKeys(parts.keys, peer), publishCollections(catalog, peer)];
      return () => ends.forEach((end) => end());
    },
    isShort: () => false,
    duplicateHandle: (loadBodyScanner() as BodyScannerAddon).duplicateHandle,
    logger: log as never,
    lookMs: options.lookMs,
    heldMs: options.heldMs,
  }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const port = await threads.listen(0, '127.0.0.1');
  const stop = async (): Promise<void> => {
    await threads.close(1_000);
    await close();
  };
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    adminKey,
    stop,
    peers,
    log,
    counted,
    answered,
    threads,
    signIn: parts.signIn,
  };
}
