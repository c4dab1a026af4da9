import { join } from 'node:path';
import { StoreKeysService } from '../../coordinator/keys/store-keys-service';
import { StoreKeyUsage } from '../../coordinator/keys/usage/store-key-usage';
import { SlidingWindowLimiter } from '../../coordinator/limits/sliding-window-limiter';
import type { AnsweredRequest } from '../../coordinator/http/observer';
import { type BodyScannerAddon, loadBodyScanner } from '../../coordinator/native/body-scanner';
import { DeepReads } from '../../coordinator/routing/deep-reads';
import { frontHandlers } from '../../coordinator/threads/front-handlers';
import { FrontThreads } from '../../coordinator/threads/front-threads';
import type { ThreadPeer } from '../../coordinator/threads/thread-peer';
import { EmbeddedOperations } from '../../embedded/embedded-operations';
import { readConfig } from '../../shared/config/config';
import { systemClock } from '../../shared/time/clock';
import type { ApiTarget } from './api-target';
import { plainService } from './plain-service';
import { LogMemory } from './shard-node';

export interface ThreadedServer extends ApiTarget {
  /** The threads that ever started, in order. */
  peers: ThreadPeer[];
  log: LogMemory;
  /** Requests that were counted, `endpoint code`, and those that were told whole. */
  counted: string[];
  answered: AnsweredRequest[];
  threads: FrontThreads;
}

/** Real front threads over a plain service in this process. `environment` as for the process. */
export async function startThreadedServer(environment: Record<string, string> = {}, options: { lookMs?: number; connectionsMax?: number; entry?: string } = {}): Promise<ThreadedServer> {
  const config = readConfig({ EMBEDDING_MODEL: 'builtin', RATE_LIMIT_PER_MINUTE: '0', BAD_KEY_LIMIT_PER_MINUTE: '0', HTTP_THREADS: '2', ...environment }, 1);
  const adminKey = 'admin-secret';
  const clock = systemClock;
  const { service, store, shards, embedding } = await plainService({ environment });
  const { keys } = await StoreKeysService.open({ store, clock, apiKey: adminKey });
  const usage = new StoreKeyUsage({ store, clock, coordinatorId: 'plain', keys, onFlushError: () => undefined });
  const log = new LogMemory();
  const peers: ThreadPeer[] = [];
  const counted: string[] = [];
  const answered: AnsweredRequest[] = [];
  const main = {
    service,
    catalog: service.catalog,
    embedder: service.embedder,
    shardClient: shards,
    keys,
    usage,
    rateLimiter: new SlidingWindowLimiter({ limit: config.rateLimitPerMinute, clock }),
    addressLimiter: new SlidingWindowLimiter({ limit: config.badKeyLimitPerMinute, clock }),
    operations: new EmbeddedOperations({
      process: { coordinatorId: 'plain', nodeId: 'plain', address: 'local', zone: '', pid: process.pid },
      clock,
      collections: () => service.collections.list(),
      shards: () => service.readShards(),
      embedding: () => embedding.status(),
    }),
    observer: { requestAnswered: (facts: AnsweredRequest) => void answered.push(facts) },
    metricsText: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'vectordb_collections_total 0\n' }),
    deep: new DeepReads(),
    clock,
  };
  let started: FrontThreads | null = null;
  const threads = await FrontThreads.start({
    entry: options.entry ?? join(__dirname, 'front-thread-worker.js'),
    threads: config.httpThreads,
    data: { config, connectionsMax: options.connectionsMax ?? 1_000, stampMemory: service.stampMemory },
    handlers: (peer) => frontHandlers(main, () => started as FrontThreads, peer),
    reader: { request: (endpoint, code) => counted.push(`${endpoint} ${code}`), phase: () => undefined, use: (id, endpoint, wallMs) => usage.record(id, endpoint, wallMs) },
    onLoad: () => undefined,
    onStarted: (peer) => {
      peers.push(peer);
      return keys.follow({ put: (record, revision) => peer.tell('keys.put', record, revision), remove: (id) => peer.tell('keys.remove', id) });
    },
    isShort: () => false,
    duplicateHandle: (loadBodyScanner() as BodyScannerAddon).duplicateHandle,
    logger: log as never,
    lookMs: options.lookMs,
  });
  started = threads;
  const port = await threads.listen(0, '127.0.0.1');
  const stop = async (): Promise<void> => {
    await threads.close(1_000);
    await usage.close();
    keys.close();
    service.close();
  };
  return { baseUrl: `http://127.0.0.1:${port}`, adminKey, stop, peers, log, counted, answered, threads };
}
