import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { type BasePath, PREFIX_HEADER } from '../requests/base-path';
import { toDashboard, wantsPage } from '../pages/dashboard-files';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

const tag = 'Service';
const JSON_TYPE = 'application/json; charset=utf-8';

/** The answer of the metrics registry, in Prometheus's text format. */
export type MetricsText = () => Promise<{ contentType: string; text: string | Buffer }>;

/**
 * Endpoints that need no key. Without metrics or documentation if those are null. `openapiJson` and `endpoints` are
 * functions, because they describe the table that these endpoints are a part of.
 */
export function publicEndpoints(parts: {
  metricsText: MetricsText | null;
  /** Gets what stands before the paths of the API. */
  openapiJson: ((prefix: string) => Promise<Buffer>) | null;
  hasDashboard: boolean;
  basePath: BasePath;
  endpoints: () => readonly Endpoint[];
}): Endpoint[] {
  const { metricsText, openapiJson, hasDashboard, basePath } = parts;
  const table = [
    defineEndpoint({
      method: 'GET',
      template: '/',
      access: 'public',
      vary: [...(hasDashboard ? ['accept'] : []), ...(basePath.dependsOnProxy ? [PREFIX_HEADER] : [])].join(', '),
      tag,
      summary: 'What this is and where to go on',
      description: 'A browser, which accepts text/html, is sent to the dashboard at /ui.',
      answer: {
        type: 'data',
        schema: z.object({
          message: z.string(),
          docs: z.string().nullable(),
          ui: z.string().nullable(),
          endpoints: z.array(z.object({ method: z.string(), path: z.string(), summary: z.string() })),
        }),
      },
      handle: async ({ request }) =>
        hasDashboard && wantsPage(request)
          ? toDashboard(basePath, request)
          : dataAnswer({
              message: 'Quiver: a vector collection service',
              docs: openapiJson === null ? null : `${basePath.of(request)}/docs`,
              ui: hasDashboard ? `${basePath.of(request)}/ui` : null,
              endpoints: parts
                .endpoints()
                .map(({ method, template, summary }) => ({ method, path: template, summary })),
            }),
    }),
  ];
  if (metricsText !== null) table.push(metricsEndpoint(metricsText));
  if (openapiJson !== null)
    table.push(
      openapiEndpoint((request) => openapiJson(basePath.of(request)), basePath.dependsOnProxy ? PREFIX_HEADER : ''),
    );
  return table;
}

function metricsEndpoint(metricsText: MetricsText): Endpoint {
  return defineEndpoint({
    method: 'GET',
    template: '/metrics',
    access: 'public',
    sheds: false,
    tag,
    summary: 'Metrics in Prometheus text format',
    description: 'At most a second old.',
    answer: { type: 'text', contentType: 'text/plain' },
    handle: async () => ({ type: 'text', ...(await metricsText()) }),
  });
}

function openapiEndpoint(openapiJson: (request: IncomingMessage) => Promise<Buffer>, vary: string): Endpoint {
  return defineEndpoint({
    method: 'GET',
    template: '/openapi.json',
    access: 'public',
    vary,
    tag,
    summary: 'This document',
    answer: { type: 'text', contentType: 'application/json' },
    handle: async ({ request }) => ({ type: 'text', contentType: JSON_TYPE, text: await openapiJson(request) }),
  });
}
