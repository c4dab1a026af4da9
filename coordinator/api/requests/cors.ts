import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { EVERY_ORIGIN, isAllowedOrigin, isListedOrigin } from '../../../shared/base/config/origin-list';
import { type BareAnswer, METHODS } from '../endpoints/endpoint';
import type { RequestTarget } from './request-target';

/** The first segment of the path of the Model Context Protocol, which has origins of its own. */
const MCP_SEGMENT = 'mcp';
/** What pages may send besides what every page may. */
const REQUEST_HEADERS = [
  'accept',
  'authorization',
  'content-encoding',
  'content-type',
  'idempotency-key',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'prefer',
  'traceparent',
  'tracestate',
  'x-api-key',
  'x-request-id',
  'x-strict',
].join(', ');
/** What pages may read of an answer besides what every page may. */
const ANSWER_HEADERS = [
  'idempotency-replayed',
  'mcp-session-id',
  'preference-applied',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
  'www-authenticate',
  'x-request-id',
].join(', ');
/** How long a browser remembers what it asked, in seconds: as long as any does. */
const REMEMBERED_SECONDS = '7200';

/**
 * Which pages of other origins may use the API (Cross-Origin Resource Sharing, in the Fetch standard). Keys come in
 * headers and never from the browser itself, so no page gets credentials. Pages that may use /mcp may read its answers.
 */
export class Cors {
  private readonly origins: readonly string[];
  private readonly mcpOrigins: readonly string[] | null;

  /** `origins`: as CORS_ORIGINS has them. `mcpOrigins`: of /mcp besides those; null: it is not served. */
  constructor({ origins, mcpOrigins }: { origins: readonly string[]; mcpOrigins: readonly string[] | null }) {
    this.origins = origins;
    this.mcpOrigins = mcpOrigins === null ? null : [...origins, ...mcpOrigins];
  }

  /** What it says where nobody of another origin may use anything: null. */
  static of(rules: { origins: readonly string[]; mcpOrigins: readonly string[] | null }): Cors | null {
    return rules.origins.length === 0 && rules.mcpOrigins === null ? null : new Cors(rules);
  }

  /** Headers of the answer to a request that is no preflight. */
  headersFor(
    { headers: { origin } }: Pick<IncomingMessage, 'headers'>,
    { segments }: Pick<RequestTarget, 'segments'>,
  ): OutgoingHttpHeaders {
    const allowed = this.allowedFor(origin, segments);
    // Whatever stores answers must not give one page that of another, nor of none.
    if (allowed === null) return this.dependsOnOrigin(segments) ? { vary: 'origin' } : {};
    return {
      'access-control-allow-origin': allowed,
      'access-control-expose-headers': ANSWER_HEADERS,
      ...(allowed !== EVERY_ORIGIN && { vary: 'origin' }),
    };
  }

  /**
   * The answer to what a browser asks before it sends a request of a page; null: the request asks nothing of the kind,
   * or the page may not.
   */
  preflight(
    { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
    { segments }: Pick<RequestTarget, 'segments'>,
  ): BareAnswer | null {
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return null;
    const allowed = this.allowedFor(headers.origin, segments);
    if (allowed === null) return null;
    const answer: OutgoingHttpHeaders = {
      'access-control-allow-origin': allowed,
      'access-control-allow-methods': METHODS.join(', '),
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': REMEMBERED_SECONDS,
      vary: 'origin, access-control-request-method, access-control-request-headers, access-control-request-private-network',
    };
    // Of a service in a private network; not where nobody said whose pages are meant.
    if (headers['access-control-request-private-network'] === 'true' && allowed !== EVERY_ORIGIN)
      answer['access-control-allow-private-network'] = 'true';
    return { type: 'bare', status: 204, headers: answer, bytes: null };
  }

  /** What the header of an answer says; null: the page may not, or there is none. */
  private allowedFor(origin: string | undefined, segments: readonly string[]): string | null {
    if (origin === undefined) return null;
    const isMcp = segments[0] === MCP_SEGMENT && this.mcpOrigins !== null;
    const list = isMcp ? this.mcpOrigins! : this.origins;
    if (list.includes(EVERY_ORIGIN)) return EVERY_ORIGIN;
    return (isMcp ? isAllowedOrigin(origin, list) : isListedOrigin(origin, list)) ? origin : null;
  }

  private dependsOnOrigin(segments: readonly string[]): boolean {
    if (segments[0] === MCP_SEGMENT && this.mcpOrigins !== null) return !this.mcpOrigins.includes(EVERY_ORIGIN);
    return this.origins.length > 0 && !this.origins.includes(EVERY_ORIGIN);
  }
}
