import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import {
  constants,
  createServer,
  type Http2Server,
  type Http2Session,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';

/** Requests of one connection that may be under way at once; RFC 9113 recommends no fewer than 100. */
const STREAMS_MAX = 128;
/**
 * Requests that begin in one round of the event loop, and that are under way. A connection that is the only one with
 * requests may have them all; otherwise they are shared equally, at least one each. Without that, a few connections with
 * all their streams in use made other clients wait for seconds.
 */
const BEGUN_A_ROUND = 8;
const UNDER_WAY_MAX = 64;
/** Bytes of a body that a client may send before any is read, for each request and for all of a connection. */
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 1024 * 1024;

/** What a client sends first (RFC 9113, section 3.4). Node's parser for HTTP/1.1 stops right behind it. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** Its error then. */
const PREFACE_SEEN = 'HPE_PAUSED_H2_UPGRADE';

type Serve = (request: IncomingMessage, response: ServerResponse, options: { socket: Socket; awaitsContinue: boolean }) => void;

interface Waiting {
  request: StreamRequest;
  response: StreamResponse;
  awaitsContinue: boolean;
}

interface Connection {
  socket: Socket;
  /** Requests that have not begun, and those that have and are not answered yet. */
  waiting: Waiting[];
  underWay: number;
  /** Requests begun in that round of the event loop. */
  begun: number;
  round: number;
}

/**
 * Connections of the public port that speak HTTP/2: over TLS by the client's choice in the handshake, else by prior
 * knowledge (RFC 9113, section 3.3). Without TLS, the port's
 * server reads each connection as HTTP/1.1; one that begins with HTTP/2's preface comes here. So HTTP/1.1 costs nothing
 * more. Requests get the form of HTTP/1.1 ({@link StreamRequest}, {@link StreamResponse}); several of a connection run
 * at once.
 */
export class Http2Connections {
  private readonly server: Http2Server<typeof IncomingMessage, typeof ServerResponse, typeof StreamRequest, typeof StreamResponse>;
  private readonly connections = new Map<Http2Session, Connection>();
  /** Those with requests that are not answered yet. */
  private readonly busy = new Set<Connection>();
  private round = 0;
  private isRoundAsked = false;
  private readonly sockets = new WeakSet<Socket>();
  private arriving: Socket | null = null;

  constructor(private readonly options: { serve: Serve; idleTimeoutMs: number; headerBytesMax: number }) {
    this.server = createServer({
      settings: { maxConcurrentStreams: STREAMS_MAX, initialWindowSize: STREAM_WINDOW_BYTES, maxHeaderListSize: options.headerBytesMax, enablePush: false },
      Http2ServerRequest: StreamRequest,
      Http2ServerResponse: StreamResponse,
    });
    this.server.on('session', (session) => this.opened(session));
    const take = (request: StreamRequest, response: StreamResponse): void => this.asked(request, response, false);
    this.server.on('request', take);
    this.server.on('connect', take);
    this.server.on('checkContinue', (request: StreamRequest, response: StreamResponse) => this.asked(request, response, true));
  }

  /**
   * Takes over a connection on which the parser of HTTP/1.1 has stopped. Answers false if it stopped for another reason,
   * or if an answer is under way.
   */
  takeOver(socket: Socket, error: NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number }): boolean {
    // The server of HTTP/1.1 still counts the time since the connection's first byte, and complains once.
    if (this.sockets.has(socket)) return true;
    const { parser, _httpMessage: begun } = socket as Socket & { parser?: { unconsume?: () => void } | null; _httpMessage?: unknown };
    if (error.code !== PREFACE_SEEN || error.rawPacket === undefined || (begun ?? null) !== null || !socket.writable) return false;
    this.sockets.add(socket);
    // The listeners of HTTP/1.1, except those for the end of the connection.
    for (const event of ['data', 'end', 'drain', 'timeout', 'pause', 'resume']) socket.removeAllListeners(event);
    // From here on the parser must see no bytes. If a later Node has no such method, the connection's new reader comes before it.
    parser?.unconsume?.();
    socket.pause();
    socket.unshift(Buffer.concat([PREFACE, error.rawPacket.subarray(error.bytesParsed ?? PREFACE.length)]));
    this.take(socket);
    return true;
  }

  /** Takes a connection on which nothing was read yet, and whose client is known to speak HTTP/2. */
  take(socket: Socket): void {
    this.arriving = socket;
    this.server.emit('connection', socket);
    this.arriving = null;
  }

  /** Closes the connections that have no request under way. */
  closeIdle(): void {
    for (const [session, connection] of this.connections) {
      if (!this.busy.has(connection)) session.close();
    }
  }

  private opened(session: ServerHttp2Session): void {
    const socket = this.arriving as Socket;
    this.connections.set(session, { socket, waiting: [], underWay: 0, begun: 0, round: this.round });
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.setTimeout(this.options.idleTimeoutMs, () => session.close());
    session.once('close', () => this.connections.delete(session));
  }

  private asked(request: StreamRequest, response: StreamResponse, awaitsContinue: boolean): void {
    const { session } = request.stream;
    const connection = session === undefined ? undefined : this.connections.get(session);
    if (connection === undefined) {
      response.destroy();
      return;
    }
    this.busy.add(connection);
    const waiting = { request, response, awaitsContinue };
    connection.waiting.push(waiting);
    request.stream.once('close', () => this.ended(connection, waiting));
    this.begin(connection);
  }

  private begin(connection: Connection): void {
    if (connection.round !== this.round) connection.begun = 0;
    connection.round = this.round;
    while (connection.begun < this.shareOf(BEGUN_A_ROUND) && connection.underWay < this.shareOf(UNDER_WAY_MAX)) {
      const next = connection.waiting.shift();
      if (next === undefined) return;
      const { request, response, awaitsContinue } = next;
      connection.begun += 1;
      connection.underWay += 1;
      this.askForRound();
      this.options.serve(request as unknown as IncomingMessage, response as unknown as ServerResponse, { socket: connection.socket, awaitsContinue });
    }
  }

  private shareOf(count: number): number {
    return Math.max(1, Math.floor(count / this.busy.size));
  }

  /** The request was answered, or cancelled, perhaps while it waited. */
  private ended(connection: Connection, request: Waiting): void {
    const at = connection.waiting.indexOf(request);
    if (at >= 0) connection.waiting.splice(at, 1);
    else connection.underWay -= 1;
    if (connection.waiting.length > 0) this.askForRound();
    else if (connection.underWay === 0) this.busy.delete(connection);
  }

  private askForRound(): void {
    if (this.isRoundAsked) return;
    this.isRoundAsked = true;
    setImmediate(() => {
      this.isRoundAsked = false;
      this.round += 1;
      for (const connection of this.busy) this.begin(connection);
    });
  }
}

/** Tells a client to ask for this by HTTP/1.1 (RFC 9113, section 7). */
export function askForHttp1(response: ServerResponse): void {
  (response as unknown as StreamResponse).stream.close(constants.NGHTTP2_HTTP_1_1_REQUIRED);
}

/** A request of HTTP/2 in the form of HTTP/1.1: a body of unknown length has the transfer encoding `chunked`. */
export class StreamRequest extends Http2ServerRequest {
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, options: object, rawHeaders: readonly string[]) {
    super(stream, headers, options, rawHeaders);
    if (headers['content-length'] === undefined && !stream.endAfterHeaders) headers['transfer-encoding'] = 'chunked';
  }
}

/** An answer over HTTP/2 in the form of HTTP/1.1: `connection: close` ends the connection when its answers are sent. */
export class StreamResponse extends Http2ServerResponse {
  shouldKeepAlive = true;

  constructor(stream: ServerHttp2Stream) {
    super(stream);
    this.destroyed = false;
    stream.once('close', () => (this.destroyed = true));
  }

  /** Breaks the answer off. Unlike the end of a connection, the end of a stream says by its code whether the answer is whole. */
  override destroy(): this {
    this.destroyed = true;
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    return this;
  }

  override writeHead(code: number, head?: OutgoingHttpHeaders | string): this {
    const { connection, ...headers } = head as OutgoingHttpHeaders;
    if (connection === 'close') this.stream.session?.close();
    return super.writeHead(code, headers);
  }

  /** Ends the answer and says that the rest of the request's body is not wanted (RFC 9113, section 8.1). */
  endBeforeRequest(text: string | Buffer): void {
    // With this event, Node sends the end of the answer, which a reset must not overtake.
    this.stream.once('wantTrailers', () => setImmediate(() => this.stream.close(constants.NGHTTP2_NO_ERROR)));
    this.end(text);
  }
}
