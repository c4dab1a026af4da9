import type { KeysService, KeyUsage } from '../keys/keys-service';
import type { SignIn } from '../keys/sign-in';
import type { ActivityService } from '../operations/activity-service';
import type { OperationsService } from '../operations/operations-service';
import type { Service } from '../service';
import type { VectorFormats } from './body/vector-format';
import type { Endpoint } from './endpoint';
import { activityEndpoints } from './endpoints/activity-endpoints';
import { backupEndpoints } from './endpoints/backup-endpoints';
import { collectionEndpoints } from './endpoints/collection-endpoints';
import { demoEndpoints } from './endpoints/demo-endpoints';
import { documentEndpoints } from './endpoints/document-endpoints';
import { keyEndpoints } from './endpoints/key-endpoints';
import { operationsEndpoints } from './endpoints/operations-endpoints';
import { type MetricsText, publicEndpoints } from './endpoints/public-endpoints';
import { recallEndpoints } from './endpoints/recall-endpoints';
import { sampleEndpoints } from './endpoints/sample-endpoints';
import { searchEndpoints } from './endpoints/search-endpoints';
import { signInEndpoints } from './endpoints/sign-in-endpoints';
import { vectorEndpoints } from './endpoints/vector-endpoints';
import type { HttpLimits } from './http-limits';
import { mcpEndpoints } from './mcp/mcp-endpoints';
import { McpHandler } from './mcp/mcp-handler';
import type { Clock } from '../../shared/time/clock';
import type { JsonSchema } from './openapi/json-schema';
import { openApiDocument, VERSION } from './openapi/openapi-document';
import type { BasePath } from './base-path';

/**
 * Every endpoint of the public port except /docs, with its handler bound to the services. `metricsText` null: no
 * metrics on this port.
 */
export function endpointTable(parts: {
  service: Service;
  keys: KeysService;
  usage: KeyUsage;
  operations: OperationsService;
  activity: ActivityService;
  metricsText: MetricsText | null;
  hasDocs: boolean;
  hasDashboard: boolean;
  /** Origins whose pages may use /mcp; null: it is not served. */
  mcpOrigins: readonly string[] | null;
  basePath: BasePath;
  signIn: SignIn;
  formats: VectorFormats;
  limits: HttpLimits;
  clock: Pick<Clock, 'wallMs'>;
}): Endpoint[] {
  const { service, keys, usage, operations, activity, metricsText, hasDocs, hasDashboard, mcpOrigins, basePath, signIn, formats, limits, clock } = parts;
  let document: JsonSchema | null = null;
  let last: { prefix: string; json: Buffer } | null = null;
  const describe = (prefix: string): Buffer => {
    document ??= openApiDocument(table, limits);
    if (last?.prefix !== prefix) last = { prefix, json: Buffer.from(JSON.stringify({ ...document, servers: [{ url: prefix === '' ? '/' : prefix }] })) };
    return last.json;
  };
  const table: Endpoint[] = [
    ...publicEndpoints({
      metricsText,
      endpoints: () => table,
      openapiJson: hasDocs ? describe : null,
      hasDashboard,
      basePath,
    }),
    ...collectionEndpoints({ collections: service.collections, vectors: service.vectors, formats, limits }),
    ...vectorEndpoints({ vectors: service.vectors, search: service.search, formats, limits }),
    ...searchEndpoints({ search: service.search, limits }),
    ...recallEndpoints({ recall: service.recall, search: service.search, limits }),
    ...sampleEndpoints({ samples: service.samples, search: service.search, limits }),
    ...documentEndpoints({ documents: service.documents, limits }),
    ...backupEndpoints({ backups: service.backups }),
    ...demoEndpoints({ demo: service.demo }),
    ...keyEndpoints({ keys, usage, keyQuotas: service.keyQuotas }),
    ...signInEndpoints({ signIn, keyQuotas: service.keyQuotas }),
    ...operationsEndpoints({ operations }),
    ...activityEndpoints({ activity }),
  ];
  if (mcpOrigins !== null) {
    let handler: McpHandler | null = null;
    table.push(
      ...mcpEndpoints({
        origins: mcpOrigins,
        handler: () => (handler ??= new McpHandler({ endpoints: table, collectionNames: () => service.collections.names(), version: VERSION, outcomes: service.outcomes, clock })),
      }),
    );
  }
  return table;
}
