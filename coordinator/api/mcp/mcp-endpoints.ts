import { z } from 'zod';
import { isAllowedOrigin } from '../../../shared/base/config/origin-list';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { defineEndpoint } from '../endpoints/define-endpoint';
import type { Endpoint } from '../endpoints/endpoint';
import type { McpHandler } from './mcp-handler';

const tag = 'Model Context Protocol';
const template = '/mcp';

/**
 * For language models and their tools. `handler` is asked for at the first message; pages of `origins` may send some.
 */
export function mcpEndpoints(parts: { handler: () => McpHandler; origins: readonly string[] }): Endpoint[] {
  /** Errors: forbidden. */
  const mustBeAllowed = ({ headers }: { headers: { origin?: string | undefined } }): void => {
    if (!isAllowedOrigin(headers.origin, parts.origins))
      throw new QuiverError('forbidden', 'pages of this origin may not use /mcp (MCP_ORIGINS, CORS_ORIGINS)');
  };
  return [
    defineEndpoint({
      method: 'POST',
      template,
      access: 'readonly',
      collections: { type: 'own' },
      failsAs: 'json-rpc',
      tag,
      summary: 'Answer one message of the Model Context Protocol',
      description:
        'Streamable HTTP without sessions. Its tools are calls of endpoints, under the caller’s key. ' +
        'Failures have their HTTP status, with an error of JSON-RPC.',
      body: {
        type: 'json',
        required: true,
        schema: message,
        example: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
      },
      answer: { type: 'text', contentType: 'application/json' },
      handle: async ({ body, key, ...call }) => {
        mustBeAllowed(call.request);
        if (key === null) throw new QuiverError('unauthenticated', 'missing API key');
        const { status, code, isReplayed, contentType, bytes } = await parts.handler().answer(body, { ...call, key });
        return {
          type: 'bare',
          status,
          ...(code === null ? {} : { code }),
          isReplayed,
          headers: contentType === null ? { 'content-type': 'application/json' } : { 'content-type': contentType },
          bytes,
        };
      },
    }),
    ...(['GET', 'DELETE'] as const).map((method) =>
      defineEndpoint({
        method,
        template,
        access: 'readonly',
        collections: { type: 'own' },
        failsAs: 'json-rpc',
        tag,
        summary: method === 'GET' ? 'No stream is offered: 405' : 'There are no sessions to end: 405',
        answer: { type: 'text', contentType: 'application/json' },
        handle: async ({ request }) => {
          mustBeAllowed(request);
          return {
            type: 'bare',
            status: 405,
            headers: { 'content-type': 'application/json', allow: 'POST' },
            bytes: NOT_OFFERED,
          };
        },
      }),
    ),
  ];
}

/** One message: a list of them would be many calls under one request of the rate limit. */
const message = z.looseObject({ jsonrpc: z.literal('2.0') });

const NOT_OFFERED = Buffer.from(
  JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_000, message: 'method not allowed: send messages by POST' },
  }),
);
