import { type IncomingMessage, Server, type ServerOptions, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, type Server as TcpServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { portRefused } from '../../../shared/base/errors/port-refused';
import { NetworkList } from '../../../shared/base/config/network-list';
import { silentLogger, type Logger } from '../../../shared/base/logs/logger';
import { withPort } from '../../../shared/base/process/listen-host';
import { ListenerGuard } from '../../../shared/base/process/listener-guard';
import { acceptWide, type DuplicateHandle } from '../../../shared/base/process/wide-accept';
import type { Clock } from '../../../shared/base/time/clock';
import type { Tracer } from '../../../shared/base/trace/span';
import type { Caller } from '../../service/keys/caller';
import type { KeysService, KeyUsage } from '../../service/keys/keys-service';
import type { Tokens } from '../../service/keys/tokens/token-verifier';
import type { SignIn } from '../../service/keys/sign-in';
import type { RateLimiter } from '../../service/limits/rate-limiter';
import type { ActivityService } from '../../cluster/operations/activity-service';
import type { OperationsService } from '../../cluster/operations/operations-service';
import { CallProfiling } from '../../service/routing/call-profiling';
import type { Service } from '../../service/service';
import { AnswerMemory, busy } from '../load/answer-memory';
import { BasePath } from '../requests/base-path';
import { BodyReader } from '../body/body-reader';
import { openVectorCodec, type VectorCodec } from '../body/vector-codec';
import { clientAddress, limitedAddress } from '../connections/client-address';
import { type ConnectionBounds, ConnectionAdmission } from '../connections/connection-admission';
import { ConnectionQueue } from '../connections/connection-queue';
import { Cors } from '../requests/cors';
import { DASHBOARD_SEGMENT, DashboardFiles } from '../pages/dashboard-files';
import { docsPage } from '../pages/docs-page';
import { EndpointMatcher } from '../endpoints/endpoint-matcher';
import { pathHint } from '../requests/path-hints';
import { endpointTable } from '../endpoints/endpoint-table';
import type { MetricsText } from '../endpoints/public-endpoints';
import { errorEnvelope } from '../answers/envelope';
import { EventLoopLag } from '../load/event-loop-lag';
import { Http2Connections } from '../connections/http2-connections';
import { isHttp2, refuseHttp2 } from '../connections/http2-refusal';
import type { HttpLimits } from '../requests/http-limits';
import type { HttpLoad } from '../load/http-load';
import type { RequestObserver } from './observer';
import { type OverloadBounds, OverloadGate } from '../load/overload-gate';
import { type Arrival, type AuditState, Pipeline } from './pipeline';
import { watchReader } from '../connections/reader-pace';
import { parseTarget } from '../requests/request-target';
import type { StreamResponse } from '../connections/stream-response';
import { Turns } from '../load/turns';
import { FastPathRequests } from '../fast-path/fast-path-requests';

/** How often idle connections are looked for while the server closes. */
const SWEEP_MS = 50;

export interface HttpServerParts {
  service: Service;
  keys: KeysService;
  /** Default: no bearer tokens are taken. */
  tokens?: Tokens | null;
  /** Who makes all requests; null, the default: each says it by a key. */
  owner?: Caller | null;
  usage: KeyUsage;
  rateLimiter: RateLimiter;
  /** Limits requests with a bad key, by client address. */
  addressLimiter: RateLimiter;
  operations: OperationsService;
  activity: ActivityService;
  observer: RequestObserver;
  /** null: no metrics on this port. */
  metricsText: MetricsText | null;
  /** Whether /docs and /openapi.json are served. */
  hasDocs: boolean;
  /** Origins whose pages may use /mcp; null, the default: it is not served. */
  mcpOrigins?: readonly string[] | null;
  /** Origins whose pages may use the API; default: none. */
  corsOrigins?: readonly string[];
  /** Whether errors have their code as HTTP status where a request asks for neither; default: no. */
  hasRealStatuses?: boolean;
  /** Path under which a proxy has the service, in the form of `prefixIn`; default: ''. */
  basePath?: string;
  /** The folder of the dashboard's built files; null: nothing is at /ui. */
  dashboardFolder: string | null;
  signIn: SignIn;
  limits: HttpLimits;
  /** Networks of the proxies whose `x-forwarded-for` is believed; default: none. */
  trustedProxies?: readonly string[];
  /** Default: there is no audit log. */
  audit?: AuditState | null;
  clock: Clock;
  /** For faults of this program that nobody is answered about. Default: they are told nobody. */
  log?: Pick<Logger, 'error'>;
  /** Default: nothing is traced. */
  tracer?: Tracer | null;
  /** Shared with the use cases; default: what is noted of requests stays without their calls of shards. */
  profiling?: CallProfiling;
  /** From how many milliseconds on a request is slow; default: none is. */
  slowMs?: number;
  /** Default: the native codec if it is built. */
  codec?: VectorCodec;
  /** Counts the requests under way. */
  load?: HttpLoad;
  /** Default: {@link overloadBounds}. */
  overload?: OverloadBounds;
  /** Counts what answers hold; default: up to {@link ANSWER_BYTES_MAX}, in this thread. */
  answerMemory?: AnswerMemory;
  connections?: ConnectionBounds;
  /** How late another event loop is on which requests depend; default: 0. */
  otherDelayMs?: () => number;
  /** Whether connections end with their next answer. Default: once the server does not listen any more. */
  isDraining?: () => boolean;
}

/** Time for a request's headers, and for the whole request: enough for a slow upload over a slow line. */
const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than the idle time of common load balancers (60 s), so that they, and not the server, end a connection. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Room for two ids of 512 characters, percent-encoded, beside the usual headers. */
const HEADER_BYTES_MAX = 32 * 1024;
/** Used if the process does not say how many connections its open files allow. */
const CONNECTIONS_MAX = 10_000;

/** Far more than a search's body. As many as there may be requests take 256 MiB. */
const SMALL_BODY_BYTES = 64 * 1024;

/** What an answer of the explorer may hold: a piece of a file, and what waits of it. */
const EXPLORER_BYTES = 256 * 1024;

/** What answers may hold where nobody says how much memory there is. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** Bodies of four requests of the largest size at once; parsing takes a few times that. */
export function overloadBounds(limits: Pick<HttpLimits, 'bodyBytesMax'>): OverloadBounds {
  return {
    bodyBytesMax: 4 * limits.bodyBytesMax,
    smallBodyBytes: SMALL_BODY_BYTES,
    requestsMax: 4096,
    delayMsMax: 1500,
  };
}

/** In the place of an answer that has ended and is not sent: Node closes no connection with an answer under way. */
const SENDING = { finished: false };

/** The server of the public port: of HTTP/1.1, with connections that may speak HTTP/2 over TLS. */
export class ApiServer extends Server {
  /** `guard`: around all that a connection sets off here. */
  constructor(
    options: ServerOptions,
    readonly guard: ListenerGuard,
  ) {
    super(options);
  }

  http2: Http2Connections | null = null;
  admission: ConnectionAdmission | null = null;
  /** Answers a request that came by no connection, see DirectCalls. */
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.destroy();
  private readonly served = new Set<Socket & { _httpMessage?: unknown }>();

  /** Notes a connection of HTTP/1.1, until it is closed. */
  noteServed(socket: Socket): void {
    this.served.add(socket);
    socket.once('close', () => this.served.delete(socket));
  }

  /** Takes a connection that was accepted elsewhere. */
  take(socket: Socket): void {
    this.guard.run(
      () => this.emit('connection', socket),
      () => socket.destroy(),
    );
  }

  /** Takes a connection whose TLS handshake is over, in which the client chose what it speaks. */
  takeSecured(socket: TLSSocket): void {
    if (socket.alpnProtocol === 'h2')
      this.guard.run(
        () => this.takeHttp2(socket),
        () => socket.destroy(),
      );
    else this.take(socket);
  }

  /**
   * Node takes a connection for idle as soon as its answer has ended, also while bytes of it wait for the client. Those
   * stay until they are sent.
   */
  override closeIdleConnections(): void {
    const sending = [...this.served]
      .filter((socket) => socket.writableLength > 0)
      .map((socket) => ({ socket, message: socket._httpMessage }));
    for (const { socket } of sending) socket._httpMessage = SENDING;
    super.closeIdleConnections();
    for (const { socket, message } of sending) socket._httpMessage = message;
    this.http2?.closeIdle();
  }

  private takeHttp2(socket: TLSSocket): void {
    this.admission?.arrived(socket);
    if (!socket.destroyed) this.http2?.take(socket);
  }
}

/** The server of the public port, not listening yet. Closed by {@link closeHttpServer}. */
export function createHttpServer(parts: HttpServerParts): ApiServer {
  const {
    service,
    keys,
    usage,
    rateLimiter,
    operations,
    activity,
    observer,
    metricsText,
    hasDocs,
    dashboardFolder,
    signIn,
    limits,
    clock,
  } = parts;
  const { log = silentLogger } = parts;
  const guard = new ListenerGuard((error, untold) =>
    log.error({ error, untold }, 'a fault of this program broke off a request or connection'),
  );
  const turns = new Turns();
  const codec = parts.codec ?? openVectorCodec(limits);
  const lag = new EventLoopLag({ clock });
  const gate = new OverloadGate({
    bounds: parts.overload ?? overloadBounds(limits),
    delayMs: () => Math.max(lag.delayMs, parts.otherDelayMs?.() ?? 0),
    load: parts.load,
  });
  const answerMemory = parts.answerMemory ?? new AnswerMemory({ ...limits, bytesMax: ANSWER_BYTES_MAX });
  const proxies = new NetworkList(parts.trustedProxies ?? []);
  const basePath = new BasePath({ own: parts.basePath ?? '', proxies });
  const { corsOrigins: origins = [], mcpOrigins = null, hasRealStatuses = false } = parts;
  const cors = Cors.of({ origins, mcpOrigins });
  const endpoints = endpointTable({
    service,
    keys,
    usage,
    operations,
    activity,
    metricsText,
    hasDocs,
    hasDashboard: dashboardFolder !== null,
    mcpOrigins: mcpOrigins === null ? null : [...mcpOrigins, ...origins],
    basePath,
    signIn,
    formats: codec.formats,
    limits,
    clock,
  });
  const matcher = new EndpointMatcher(endpoints);

  // Nothing here depends on the host. Node itself would refuse a request without one with a bare HTTP 400.
  const server = new ApiServer(
    { maxHeaderSize: HEADER_BYTES_MAX, noDelay: true, keepAlive: true, requireHostHeader: false },
    guard,
  );
  const pipeline = new Pipeline({
    keys,
    tokens: parts.tokens ?? null,
    owner: parts.owner ?? null,
    usage,
    outcomes: service.outcomes,
    rateLimiter,
    addressLimiter: parts.addressLimiter,
    observer,
    gate,
    bodies: new BodyReader({ scanner: codec.scanner, bounds: limits, turns, clock }),
    bodyMemory: codec.memory,
    answers: codec.answers,
    answerMemory,
    turns,
    limits,
    trustedProxies: proxies,
    cors,
    hasRealStatuses,
    audit: parts.audit ?? null,
    clock,
    isDraining: parts.isDraining ?? (() => !server.listening),
    aliases: service.aliases.names,
    collectionNames: () => service.collections.names(),
    pathHint: (method, target) => pathHint(matcher, method, target),
    tracer: parts.tracer ?? null,
    profiling: parts.profiling ?? new CallProfiling(),
    slowMs: parts.slowMs ?? Infinity,
  });
  const connections = new ConnectionAdmission({
    server,
    guard,
    bounds: parts.connections ?? { connectionsMax: CONNECTIONS_MAX, isShort: () => false },
  });
  const waiting = new WeakSet<IncomingMessage>();
  let explorer: ReturnType<typeof docsPage> | null = null;

  // Clients ask for the same again and again.
  let last = { method: '', url: '', target: parseTarget('/'), match: matcher.match('', []) };
  const arrivalOf = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): Arrival => {
    const { method = '', url = '/' } = request;
    if (method !== last.method || url !== last.url) {
      const { segments, query } = parseTarget(url);
      const target = { segments: basePath.without(segments), query };
      last = { method, url, target, match: matcher.match(method, target.segments) };
    }
    return { request, response, target: last.target, match: last.match, awaitsContinue };
  };
  const dashboard = dashboardFolder === null ? null : new DashboardFiles(dashboardFolder);
  const serve = (arrival: Arrival): void => {
    const { request, response, target } = arrival;
    const preflight = cors?.preflight(request, target) ?? null;
    const isPage = dashboard !== null && target.segments[0] === DASHBOARD_SEGMENT && isLook(request);
    guard.run(
      () => {
        if (preflight !== null) return pipeline.serveFile(arrival, 'preflight', async () => preflight);
        return isPage
          ? pipeline.serveFile(arrival, `/${DASHBOARD_SEGMENT}`, () =>
              dashboard.answer(request, target.segments.slice(1), basePath),
            )
          : pipeline.serve(arrival);
      },
      () => response.destroy(),
    );
  };
  const serveExplorer = (arrival: Arrival): void => {
    const { request, response, target } = arrival;
    const hold = answerMemory.holdOf({
      caller: `address:${limitedAddress(clientAddress(request, proxies))}`,
      isStranger: true,
      isGone: false,
      begunMs: null,
    });
    // Its files come from the disk, as fast as they are taken.
    if (!hold.takes(EXPLORER_BYTES)) {
      pipeline.refuse(arrival, busy());
      return;
    }
    hold.sending(EXPLORER_BYTES);
    watchReader(
      response,
      limits,
      () => clock.monotonicMs(),
      () => hold.sending(0),
    );
    (explorer ??= docsPage(basePath))(request, response, target, () => serve(arrival));
  };
  const isForExplorer = ({ target }: Arrival): boolean => hasDocs && target.segments[0] === 'docs';
  const queue = new ConnectionQueue(
    guard.around(
      (request, response) => {
        const arrival = arrivalOf(request, response, waiting.has(request));
        if (isForExplorer(arrival)) serveExplorer(arrival);
        else serve(arrival);
      },
      (_request, response) => response.destroy(),
    ),
  );
  const refuse = (request: IncomingMessage, response: ServerResponse): void =>
    connections.refuse(
      request,
      response,
      { clock, observer, hasRealStatuses },
      cors?.headersFor(request, arrivalOf(request, response, false).target),
    );
  const accept = guard.around(
    (request: IncomingMessage, response: ServerResponse) => {
      if (connections.isTurnedAway(request.socket)) refuse(request, response);
      else queue.take(request, response);
    },
    (request) => request.socket.destroy(),
  );
  const http2 = new Http2Connections({
    serve: (request, response, { socket, awaitsContinue }) => {
      const arrival = arrivalOf(request, response, awaitsContinue);
      if (connections.isTurnedAway(socket)) refuse(request, response);
      // Express, which serves the explorer, knows HTTP/1.1 only. Browsers ask again then.
      else if (isForExplorer(arrival) && isLook(request)) (response as unknown as StreamResponse).askForHttp1();
      else serve(arrival);
    },
    idleTimeoutMs: KEEP_ALIVE_TIMEOUT_MS,
    pace: limits,
    headerBytesMax: HEADER_BYTES_MAX,
    guard,
  });
  const fastPath = new FastPathRequests({
    isIdle: (socket) => queue.isIdle(socket),
    take: (request, response) => {
      const arrival = arrivalOf(request as unknown as IncomingMessage, response as unknown as ServerResponse, false);
      // Both read a request while it arrives.
      if (isForExplorer(arrival) || arrival.match?.endpoint.body.type === 'form') return false;
      serve(arrival);
      return true;
    },
    keepAliveTimeoutMs: KEEP_ALIVE_TIMEOUT_MS,
    guard,
  });
  server.answer = (request, response) => serve(arrivalOf(request, response, false));
  server.http2 = http2;
  server.admission = connections;
  server.on(
    'connection',
    guard.around(
      (socket: Socket) => {
        server.noteServed(socket);
        writeInOnePiece(socket);
        if (!connections.isTurnedAway(socket)) fastPath.watch(socket);
      },
      (socket) => socket.destroy(),
    ),
  );
  server.on('request', accept);
  // A client that asks first learns about a wrong key or an oversized body before it sends the body.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request);
    accept(request, response);
  });
  // An unknown expectation is ignored; by default, Node answers a bare 417.
  server.on('checkExpectation', accept);
  server.on(
    'connect',
    guard.around(
      (_request: IncomingMessage, socket: Duplex) => refuseTunnel(socket, hasRealStatuses),
      (_request, socket) => socket.destroy(),
    ),
  );
  server.on(
    'clientError',
    guard.around(
      (error: NodeJS.ErrnoException, socket: Socket) =>
        isHttp2(error, socket) ? refuseHttp2(socket) : answerBrokenRequest(error, socket, hasRealStatuses),
      (_error, socket) => socket.destroy(),
    ),
  );
  server.on('close', () => lag.stop());

  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  return server;
}

/**
 * Makes a connection write a short answer as one string. Node ends an answer with an empty chunk, so that each one
 * would go the slower way for several chunks.
 */
function writeInOnePiece(socket: Socket): void {
  socket._writev = writeChunks;
}

function writeChunks(
  this: Socket,
  chunks: Parameters<NonNullable<Socket['_writev']>>[0],
  done: (error?: Error | null) => void,
): void {
  const [first, second] = chunks;
  if (chunks.length === 2 && second.chunk.length === 0) this._write(first.chunk, first.encoding, done);
  else Socket.prototype._writev?.call(this, chunks, done);
}

/** Whether it asks for a file. */
function isLook({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The message for an error of Node's parser. */
function messageFor(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'request headers are too large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request did not arrive in time';
  return 'malformed HTTP request';
}

/**
 * Answers a connection whose bytes are not an HTTP request, or came too slowly, with the envelope, and closes it. If an
 * answer has begun or the client is gone, it only closes the connection.
 */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket, hasRealStatuses: boolean): void {
  const { _httpMessage: begun } = socket as Socket & { _httpMessage?: { headersSent: boolean } | null };
  if (!socket.writable || error.code === 'ECONNRESET' || begun?.headersSent) {
    socket.destroy();
    return;
  }
  endWithError(socket, 400, messageFor(error.code), hasRealStatuses);
}

/** Answers CONNECT, for which Node passes the bare connection: this server offers no tunnels. */
function refuseTunnel(socket: Duplex, hasRealStatuses: boolean): void {
  // A reset while the answer is on its way concerns only the caller.
  socket.on('error', () => undefined);
  endWithError(socket, 404, 'there is no CONNECT: this is no proxy', hasRealStatuses);
}

/** What the request says of statuses is not known. */
function endWithError(socket: Duplex, code: number, message: string, hasRealStatuses: boolean): void {
  const body = errorEnvelope(code, message);
  const status = hasRealStatuses ? code : 200;
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\nx-content-type-options: nosniff\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}

/**
 * Opens the public port and answers its number. `onError` gets errors of later connections that could not be accepted
 * (without a listener, such an event would end the process). With `duplicateHandle`, many connections can be taken at
 * a time. Errors: invalid_parameter when the port or address can't be used.
 */
export function listen(
  server: TcpServer,
  port: number,
  host: string,
  onError: (error: Error) => void = () => undefined,
  duplicateHandle: DuplicateHandle | null = null,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const refused = (cause: Error): void => reject(portRefused(`port ${withPort(host, port)}`, 'PORT', cause));
    server.once('error', refused);
    server.listen(port, host, () => {
      server.off('error', refused);
      server.on('error', onError);
      if (duplicateHandle !== null) acceptWide(server, duplicateHandle);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/**
 * Prepares a server that gets its connections by `connection` events and never listens. Node begins to watch over slow
 * and idle connections when a server listens; this says so without a port.
 */
export function startUnlistened(server: Server): void {
  server.emit('listening');
}

/**
 * Stops accepting, lets running requests finish, and closes their connections as they do. After `graceMs` it cuts the
 * rest. Resolves when every connection is closed. A server that never listened is closed at once.
 */
export async function closeHttpServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) {
    server.emit('close');
    return;
  }
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  await sweepUntil(closed, { server, graceMs, cut: () => server.closeAllConnections() });
}

/**
 * As {@link closeHttpServer} for a server that never listened (startUnlistened), to which no connection comes any more.
 * `connections` are those that it has; whoever opened them removes each when it is closed.
 */
export async function closeUnlistened(
  server: Server,
  connections: ReadonlySet<Socket>,
  graceMs: number,
): Promise<void> {
  const closed = Promise.all(
    [...connections].map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))),
  );
  await sweepUntil(closed, {
    server,
    graceMs,
    cut: () => {
      for (const socket of connections) socket.destroy();
    },
  });
  server.emit('close');
}

/** Closes idle connections again and again until `closed` resolves; after `graceMs` it cuts the rest. */
async function sweepUntil(
  closed: Promise<unknown>,
  parts: { server: Server; graceMs: number; cut: () => void },
): Promise<void> {
  const sweep = setInterval(() => parts.server.closeIdleConnections(), SWEEP_MS);
  const deadline = setTimeout(parts.cut, parts.graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(deadline);
}
