import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { closeHttpServer, createHttpServer, type HttpServerParts } from '../../coordinator/http/http-server';
import type { AnsweredRequest } from '../../coordinator/http/observer';
import { StoreKeysService } from '../../coordinator/keys/store-keys-service';
import { StoreKeyUsage } from '../../coordinator/keys/usage/store-key-usage';
import { SlidingWindowLimiter } from '../../coordinator/limits/sliding-window-limiter';
import type { RunningService } from '../../coordinator/service-factory';
import { EmbeddedOperations } from '../../embedded/embedded-operations';
import { readConfig } from '../../shared/config/config';
import { systemClock } from '../../shared/time/clock';
import type { ApiTarget } from './api-target';
import { plainService } from './plain-service';

export interface PlainServer extends ApiTarget {
  server: Server;
  /** Tests put what they want to see answered in the place of its methods. */
  service: RunningService;
  /** What the observer was told, in order. */
  answered: AnsweredRequest[];
}

/**
 * The real HTTP layer in this process, listening on a port of its own, over a plain service: nothing is kept, and shards
 * are searched by brute force. `environment` as for the process.
 */
export async function startPlainServer(environment: Record<string, string> = {}, replace: Partial<HttpServerParts> = {}): Promise<PlainServer> {
  const limits = readConfig({ EMBEDDING_MODEL: 'builtin', RATE_LIMIT_PER_MINUTE: '0', BAD_KEY_LIMIT_PER_MINUTE: '0', ...environment }, 1);
  const adminKey = 'admin-secret';
  const clock = systemClock;
  const { service, store, embedding } = await plainService({ environment });
  const { keys } = await StoreKeysService.open({ store, clock, apiKey: adminKey });
  const usage = new StoreKeyUsage({ store, clock, coordinatorId: 'plain', keys, onFlushError: () => undefined });
  const answered: AnsweredRequest[] = [];
  const server = createHttpServer({
    service,
    keys,
    usage,
    rateLimiter: new SlidingWindowLimiter({ limit: limits.rateLimitPerMinute, clock }),
    addressLimiter: new SlidingWindowLimiter({ limit: limits.badKeyLimitPerMinute, clock }),
    operations: new EmbeddedOperations({
      process: { coordinatorId: 'plain', nodeId: 'plain', address: 'local', zone: '', pid: process.pid },
      clock,
      collections: () => service.collections.list(),
      shards: () => service.readShards(),
      embedding: () => embedding.status(),
    }),
    observer: { requestAnswered: (facts) => answered.push(facts) },
    metricsText: limits.apiMetrics === 'true' ? async () => ({ contentType: 'text/plain; version=0.0.4', text: 'vectordb_collections_total 0\n' }) : null,
    hasDocs: limits.apiDocs === 'true',
    limits,
    clock,
    ...replace,
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    await closeHttpServer(server, 1000);
    await usage.close();
    keys.close();
    service.close();
  };
  return { baseUrl: `http://127.0.0.1:${port}`, adminKey, stop, server, service, answered };
}
