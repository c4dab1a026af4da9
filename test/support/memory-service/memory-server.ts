import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { closeHttpServer, createHttpServer, type HttpServerParts } from '../../../coordinator/http/http-server';
import type { AnsweredRequest } from '../../../coordinator/http/observer';
import { SlidingWindowLimiter } from '../../../coordinator/limits/sliding-window-limiter';
import { readConfig } from '../../../shared/config/config';
import { systemClock } from '../../../shared/time/clock';
import type { ApiTarget } from '../api-target';
import { MemoryKeys } from './memory-keys';
import { MemoryOperations } from './memory-operations';
import { MemoryService } from './memory-service';

export interface MemoryServer extends ApiTarget {
  server: Server;
  service: MemoryService;
  keys: MemoryKeys;
  /** What the observer was told, in order. */
  answered: AnsweredRequest[];
}

/** The real HTTP layer over services in memory, listening on a port of its own. `environment` as for the process. */
export async function startMemoryServer(environment: Record<string, string> = {}, replace: Partial<HttpServerParts> = {}): Promise<MemoryServer> {
  const limits = readConfig({ RATE_LIMIT_PER_MINUTE: '0', BAD_KEY_LIMIT_PER_MINUTE: '0', ...environment }, 1);
  const adminKey = 'admin-secret';
  const keys = new MemoryKeys(adminKey);
  const service = new MemoryService();
  const answered: AnsweredRequest[] = [];
  const server = createHttpServer({
    service,
    keys,
    usage: keys,
    rateLimiter: new SlidingWindowLimiter({ limit: limits.rateLimitPerMinute, clock: systemClock }),
    addressLimiter: new SlidingWindowLimiter({ limit: limits.badKeyLimitPerMinute, clock: systemClock }),
    operations: new MemoryOperations(service.collections),
    observer: { requestAnswered: (facts) => answered.push(facts) },
    metricsText: limits.apiMetrics === 'true' ? async () => ({ contentType: 'text/plain; version=0.0.4', text: 'vectordb_collections_total 0\n' }) : null,
    hasDocs: limits.apiDocs === 'true',
    limits,
    clock: systemClock,
    ...replace,
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, adminKey, stop: () => closeHttpServer(server, 1000), server, service, keys, answered };
}
