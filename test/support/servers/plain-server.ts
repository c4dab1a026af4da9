import type { AddressInfo } from 'node:net';
import { dashboardFolderOf } from '../../../coordinator/api/pages/dashboard-folder';
import {
  type ApiServer,
  closeHttpServer,
  createHttpServer,
  type HttpServerParts,
  overloadBounds,
} from '../../../coordinator/api/http/http-server';
import type { AnsweredRequest } from '../../../coordinator/api/http/observer';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { RunningService } from '../../../coordinator/service-factory';
import type { ApiTarget } from '../targets/api-target';
import { plainParts } from '../shards/plain-parts';

export interface PlainServer extends ApiTarget {
  server: ApiServer;
  /** Tests put what they want to see answered in the place of its methods. */
  service: RunningService;
  store: ClusterStore;
  /** What the observer was told, in order. */
  answered: AnsweredRequest[];
}

/**
 * The real HTTP layer in this process, listening on a port of its own, over a plain service: nothing is kept, and
 * shards are searched by brute force. `environment` as for the process. It refuses nobody because the event loop runs
 * late: that is the tests' own, which stands still for seconds while modules are loaded on a busy machine.
 */
export async function startPlainServer(
  environment: Record<string, string> = {},
  replace: Partial<HttpServerParts> = {},
): Promise<PlainServer> {
  const { config, adminKey, answered, parts, store, close } = await plainParts(environment);
  const server = createHttpServer({
    ...parts,
    metricsText: config.apiMetrics === 'true' ? parts.metricsText : null,
    hasDocs: config.apiDocs === 'true',
    mcpOrigins: config.mcp === 'true' ? config.mcpOrigins : null,
    corsOrigins: config.corsOrigins,
    hasRealStatuses: config.httpStatus === 'real',
    basePath: config.basePath,
    dashboardFolder: dashboardFolderOf(config),
    limits: config,
    trustedProxies: config.trustedProxies,
    overload: { ...overloadBounds(config), delayMsMax: Infinity },
    ...replace,
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    await closeHttpServer(server, 1000);
    await close();
  };
  return { baseUrl: `http://127.0.0.1:${port}`, adminKey, stop, server, service: parts.service, store, answered };
}
