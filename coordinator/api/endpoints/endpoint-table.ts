import type { KeysService, KeyUsage } from '../../service/keys/keys-service';
import type { SignIn } from '../../service/keys/sign-in';
import type { ActivityService } from '../../cluster/operations/activity-service';
import type { OperationsService } from '../../cluster/operations/operations-service';
import type { Service } from '../../service/service';
import type { VectorFormats } from '../body/vector-format';
import type { Endpoint } from './endpoint';
import { answerEndpoints } from './answer-endpoints';
import { aggregateEndpoints } from './aggregate-endpoints';
import { aliasEndpoints } from './alias-endpoints';
import { analysisEndpoints } from './analysis-endpoints';
import { activityEndpoints } from './activity-endpoints';
import { backupEndpoints } from './backup-endpoints';
import { collectionEndpoints } from './collection-endpoints';
import { demoEndpoints } from './demo-endpoints';
import { describeEndpoints } from './describe-endpoints';
import { documentEndpoints } from './document-endpoints';
import { jobEndpoints } from './job-endpoints';
import { judgementEndpoints } from './judgement-endpoints';
import { keyEndpoints } from './key-endpoints';
import { operationsEndpoints } from './operations-endpoints';
import { type MetricsText, publicEndpoints } from './public-endpoints';
import { recallEndpoints } from './recall-endpoints';
import { reembedEndpoints } from './reembed-endpoints';
import { rerankEndpoints } from './rerank-endpoints';
import { sampleEndpoints } from './sample-endpoints';
import { searchEndpoints } from './search-endpoints';
import { signInEndpoints } from './sign-in-endpoints';
import { vectorEndpoints } from './vector-endpoints';
import { whyEndpoints } from './why-endpoints';
import type { HttpLimits } from '../requests/http-limits';
import { mcpEndpoints } from '../mcp/mcp-endpoints';
import { McpHandler } from '../mcp/mcp-handler';
import type { Clock } from '../../../shared/base/time/clock';
import type { JsonSchema } from '../openapi/json-schema';
import { openApiDocument, VERSION } from '../openapi/openapi-document';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { BasePath } from '../requests/base-path';

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
  const {
    service,
    keys,
    usage,
    operations,
    activity,
    metricsText,
    hasDocs,
    hasDashboard,
    mcpOrigins,
    basePath,
    signIn,
    formats,
    limits,
    clock,
  } = parts;
  let document: Promise<JsonSchema> | null = null;
  let last: { prefix: string; json: Buffer } | null = null;
  const describe = async (prefix: string): Promise<Buffer> => {
    const whole = await (document ??= inSlices(openApiDocument(table, limits)));
    if (last?.prefix !== prefix)
      last = {
        prefix,
        json: Buffer.from(JSON.stringify({ ...whole, servers: [{ url: prefix === '' ? '/' : prefix }] })),
      };
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
    ...collectionEndpoints({
      collections: service.collections,
      aliases: service.aliases,
      vectors: service.vectors,
      formats,
      limits,
    }),
    ...reembedEndpoints({ collections: service.collections, limits }),
    ...aliasEndpoints({ aliases: service.aliases }),
    ...vectorEndpoints({ vectors: service.vectors, search: service.search, formats, limits }),
    ...searchEndpoints({ search: service.search, limits }),
    ...answerEndpoints({ answers: service.answers, search: service.search, limits }),
    ...rerankEndpoints({ rerank: service.rerank, limits }),
    ...analysisEndpoints({ search: service.search, limits }),
    ...whyEndpoints({ search: service.search, limits }),
    ...judgementEndpoints({ judgements: service.judgements, limits }),
    ...recallEndpoints({ recall: service.recall, search: service.search, limits }),
    ...aggregateEndpoints({ aggregates: service.aggregates, search: service.search, limits }),
    ...sampleEndpoints({ samples: service.samples, search: service.search, limits }),
    ...describeEndpoints({
      collections: service.collections,
      samples: service.samples,
      vectors: service.vectors,
      search: service.search,
      limits,
    }),
    ...documentEndpoints({ documents: service.documents, limits }),
    ...backupEndpoints({ backups: service.backups }),
    ...jobEndpoints({ jobs: service.jobs, aliases: service.aliases }),
    ...demoEndpoints({ demo: service.demo }),
    ...keyEndpoints({ keys, usage, keyQuotas: service.keyQuotas }),
    ...signInEndpoints({ signIn, keyQuotas: service.keyQuotas }),
    ...operationsEndpoints({ operations, aliases: service.aliases }),
    ...activityEndpoints({ activity }),
  ];
  if (mcpOrigins !== null) {
    let handler: McpHandler | null = null;
    table.push(
      ...mcpEndpoints({
        origins: mcpOrigins,
        handler: () =>
          (handler ??= new McpHandler({
            endpoints: table,
            collectionNames: () => service.collections.names(),
            version: VERSION,
            outcomes: service.outcomes,
            clock,
          })),
      }),
    );
  }
  return table;
}
