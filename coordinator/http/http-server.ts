import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../shared/time/clock';
import type { KeysService, KeyUsage } from '../keys/keys-service';
import type { RateLimiter } from '../limits/rate-limiter';
import type { OperationsService } from '../operations/operations-service';
import type { Service } from '../service';
import { BodyReader } from './body/body-reader';
import { openVectorCodec, type VectorCodec } from './body/vector-codec';
import { answerBrokenRequest, refuseTunnel } from './broken-request';
import { type ConnectionBounds, ConnectionGate } from './connection-gate';
import { ConnectionQueue } from './connection-queue';
import { EndpointMatcher } from './endpoint-matcher';
import { endpointTable } from './endpoint-table';
import type { MetricsText } from './endpoints/public-endpoints';
import { EventLoopLag } from './event-loop-lag';
import { expressLane } from './express-lane';
import type { HttpLimits } from './http-limits';
import type { HttpLoad } from './http-load';
import type { RequestObserver } from './observer';
import { type OverloadBounds, OverloadGate } from './overload-gate';
import { Pipeline } from './pipeline';
import { parseTarget } from './request-target';
import { Turns } from './turns';

export interface HttpServerParts {
  service: Service;
  keys: KeysService;
  usage: KeyUsage;
  rateLimiter: RateLimiter;
  /** Limits requests with a bad key, by client address. */
  addressLimiter: RateLimiter;
  operations: OperationsService;
  observer: RequestObserver;
  /** null: no metrics on this port. */
  metricsText: MetricsText | null;
  /** Whether there are /docs and /openapi.json. */
  hasDocs: boolean;
  limits: HttpLimits;
  clock: Clock;
  /** Default: the native codec when it is built. */
  codec?: VectorCodec;
  /** Where the requests at work are counted. */
  load?: HttpLoad;
  /** Default: {@link overloadBounds}. */
  overload?: OverloadBounds;
  connections?: ConnectionBounds;
}

/** Time for a request's headers, and for all of it: a slow upload over a thin line still fits. */
const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than the idle time of the usual load balancers (60 s), so that they and not the server end a connection. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Room for ids of 512 characters percent-encoded, twice, beside the usual headers. */
const HEADER_BYTES_MAX = 32 * 1024;
/** Where the process does not say how many its open files allow. */
const CONNECTIONS_MAX = 10_000;

/** A search's body, by far; as many as there may be requests take 256 MiB. */
const SMALL_BODY_BYTES = 64 * 1024;

/** Bodies of four requests of the largest size at once; parsing takes a few times that. */
export function overloadBounds(limits: Pick<HttpLimits, 'bodyBytesMax'>): OverloadBounds {
  return { bodyBytesMax: 4 * limits.bodyBytesMax, smallBodyBytes: SMALL_BODY_BYTES, requestsMax: 4096, delayMsMax: 1500 };
}

/** The server of the public port, not yet listening. Closed by {@link closeHttpServer}. */
export function createHttpServer(parts: HttpServerParts): Server {
  const { service, keys, usage, rateLimiter, operations, observer, metricsText, hasDocs, limits, clock } = parts;
  const turns = new Turns();
  const codec = parts.codec ?? openVectorCodec({ bounds: limits, turns });
  const lag = new EventLoopLag({ clock });
  const gate = new OverloadGate({ bounds: parts.overload ?? overloadBounds(limits), delayMs: () => lag.delayMs, load: parts.load });
  const endpoints = endpointTable({ service, keys, usage, operations, metricsText, hasDocs, format: codec.format, limits });
  const matcher = new EndpointMatcher(endpoints);

  // Nothing here depends on the host, and Node's own refusal of a request without one is a bare HTTP 400.
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX, noDelay: true, keepAlive: true, requireHostHeader: false });
  const pipeline = new Pipeline({
    keys,
    usage,
    rateLimiter,
    addressLimiter: parts.addressLimiter,
    observer,
    gate,
    bodies: new BodyReader({ scanner: codec.scanner, bounds: limits, turns, clock }),
    turns,
    limits,
    clock,
    isDraining: () => !server.listening,
  });
  const connections = new ConnectionGate({ server, bounds: parts.connections ?? { connectionsMax: CONNECTIONS_MAX, isShort: () => false } });
  const waiting = new WeakSet<IncomingMessage>();
  const serve = (request: IncomingMessage, response: ServerResponse, target = parseTarget(originalUrl(request))): void => {
    const match = matcher.match(request.method ?? '', target.segments);
    void pipeline.serve({ request, response, target, match, awaitsContinue: waiting.has(request) });
  };
  const app = expressLane(endpoints, (request, response) => serve(request, response), hasDocs);

  const queue = new ConnectionQueue((request, response) => {
    const target = parseTarget(request.url ?? '/');
    if (matcher.match(request.method ?? '', target.segments)?.endpoint.lane === 'direct') serve(request, response, target);
    else app(request, response);
  });
  const accept = (request: IncomingMessage, response: ServerResponse): void => {
    if (connections.isTurnedAway(request.socket)) connections.refuse(request, response, { clock, observer, turns });
    else queue.take(request, response);
  };
  server.on('request', accept);
  // A client that asks first is told about a wrong key or an oversized body before it sends it.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request);
    accept(request, response);
  });
  // Expectations that nobody knows are not met, and no reason to refuse (the default is a bare 417).
  server.on('checkExpectation', accept);
  server.on('connect', (_request, socket) => refuseTunnel(socket));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => answerBrokenRequest(error, socket));
  server.on('close', () => lag.stop());

  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  return server;
}

/** Express shortens `url` where it mounts; the request as sent is kept beside it. */
function originalUrl(request: IncomingMessage): string {
  return (request as IncomingMessage & { originalUrl?: string }).originalUrl ?? request.url ?? '/';
}
