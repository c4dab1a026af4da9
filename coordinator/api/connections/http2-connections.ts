import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { endLater } from '../../../shared/base/process/later-end';
import type { ListenerGuard } from '../../../shared/base/process/listener-guard';
import { Http2Bytes } from './http2-bytes';
import { LifeSigns } from './life-signs';
import type { PaceBounds } from './reader-pace';
import { RequestTurns } from './request-turns';
import { StreamRequest } from './stream-request';
import { StreamResponse } from './stream-response';

/** Requests of one connection that may be under way at once; RFC 9113 recommends no fewer than 100. */
const STREAMS_MAX = 128;
/**
 * Requests that begin in one round of the event loop, and that are under way. A connection that is the only one with
 * requests may have them all; otherwise they are shared equally, at least one each. Without that, a few connections
 * with all their streams in use made other clients wait for seconds.
 */
const BEGUN_A_ROUND = 8;
const UNDER_WAY_MAX = 64;
/** Bytes of a body that a client may send before any is read, for each request and for all of a connection. */
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 1024 * 1024;

type Serve = (
  request: IncomingMessage,
  response: ServerResponse,
  options: { socket: Socket; awaitsContinue: boolean },
) => void;

interface Waiting {
  request: StreamRequest;
  response: StreamResponse;
}

interface Connection {
  session: ServerHttp2Session;
  socket: Socket;
  bytes: Http2Bytes;
  /** Its client was told that no more requests are taken: it ends when those that were taken are answered. */
  isLeaving: boolean;
  /** Requests that have not begun, and those that have and are not answered yet. */
  waiting: Waiting[];
  underWay: number;
  /** Requests begun in that round of the event loop. */
  begun: number;
  round: number;
}

/**
 * Connections of the public port that speak HTTP/2, over TLS by the client's choice in the handshake. Requests get the
 * form of HTTP/1.1 ({@link StreamRequest}, {@link StreamResponse}); several of a connection run at once. Node's own
 * form of them is not used: it answers some requests by itself, and throws when a stream has ended before it was looked
 * at. Whatever goes wrong with a stream breaks off that stream alone.
 */
export class Http2Connections {
  private readonly server: Http2Server;
  private readonly connections = new Map<Http2Session, Connection>();
  /** Those with requests that are not answered yet. */
  private readonly busy = new Set<Connection>();
  private round = 0;
  private isRoundAsked = false;
  private arriving: { socket: Socket; bytes: Http2Bytes } | null = null;
  private readonly turns = new RequestTurns();
  private readonly signs: LifeSigns;

  /** `pace`: what a client that gives no other sign of life must take of its answers. */
  constructor(
    private readonly options: {
      serve: Serve;
      idleTimeoutMs: number;
      pace: PaceBounds;
      headerBytesMax: number;
      guard: ListenerGuard;
    },
  ) {
    const { guard, headerBytesMax, pace } = options;
    this.signs = new LifeSigns({ guard, pace });
    this.server = createServer({
      settings: {
        maxConcurrentStreams: STREAMS_MAX,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxHeaderListSize: headerBytesMax,
        enablePush: false,
      },
    });
    this.server.on(
      'session',
      guard.around(
        (session: ServerHttp2Session) => this.opened(session),
        (session) => session.destroy(),
      ),
    );
    // With this event alone: a listener for `request` would bring Node's form of requests with it.
    this.server.on(
      'stream',
      guard.around(
        (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) =>
          this.asked(stream, headers, rawHeaders),
        (stream) => setImmediate(() => stream.destroy()),
      ),
    );
  }

  /** Takes a connection on which nothing was read yet, and whose client is known to speak HTTP/2. */
  take(socket: Socket): void {
    const bytes = new Http2Bytes(socket, this.turns);
    this.arriving = { socket, bytes };
    try {
      this.server.emit('connection', bytes);
    } finally {
      this.arriving = null;
    }
  }

  /** Closes the connections that have no request under way. */
  closeIdle(): void {
    for (const connection of this.connections.values()) {
      if (!this.busy.has(connection)) this.leave(connection);
    }
  }

  private opened(session: ServerHttp2Session): void {
    const { socket, bytes } = this.arriving as { socket: Socket; bytes: Http2Bytes };
    endLater(session);
    session.once('close', () => {
      this.connections.delete(session);
      this.signs.end(session);
    });
    const connection = {
      session,
      socket,
      bytes,
      isLeaving: false,
      waiting: [],
      underWay: 0,
      begun: 0,
      round: this.round,
    };
    this.connections.set(session, connection);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.setTimeout(this.options.idleTimeoutMs, () => this.leave(connection));
  }

  /**
   * Takes no more requests, and ends the connection when those that were taken are answered. `session.close()` is no
   * way: what comes behind it is refused while the library reads (see StreamResponse); what comes behind a GOAWAY is
   * ignored.
   */
  private leave(connection: Connection): void {
    if (connection.isLeaving) return;
    connection.isLeaving = true;
    if (!connection.session.destroyed) connection.session.goaway();
    this.endIfOver(connection);
  }

  private endIfOver(connection: Connection): void {
    if (!connection.isLeaving || connection.waiting.length > 0 || connection.underWay > 0) return;
    // What the library has to send, it sends before these.
    setImmediate(() => setImmediate(() => connection.bytes.finish(this.options.pace)));
  }

  private asked(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    // Without a listener, an error of a stream would end the process. That the stream ends is told by `close`.
    stream.on('error', () => undefined);
    const { session } = stream;
    const connection = session === undefined ? undefined : this.connections.get(session);
    // Of what came in one piece, Node tells when all of it is read. The stream or the connection may have ended by
    // then.
    if (connection === undefined || stream.destroyed || stream.closed) {
      setImmediate(() => stream.destroy());
      return;
    }
    const { socket } = connection;
    this.busy.add(connection);
    this.signs.begin(connection.session, socket);
    const waiting = {
      request: new StreamRequest(stream, headers, rawHeaders, socket),
      response: new StreamResponse(stream, socket, {
        isHead: headers[':method'] === 'HEAD',
        leave: () => this.leave(connection),
        guard: this.options.guard,
      }),
    };
    connection.waiting.push(waiting);
    stream.once('close', () => this.ended(connection, waiting));
    // Not at once: the library is reading, and what ends a stream or the connection then corrupts its memory
    // (StreamResponse).
    this.askForRound();
  }

  private begin(connection: Connection): void {
    if (connection.round !== this.round) connection.begun = 0;
    connection.round = this.round;
    while (connection.begun < this.shareOf(BEGUN_A_ROUND) && connection.underWay < this.shareOf(UNDER_WAY_MAX)) {
      const next = connection.waiting.shift();
      if (next === undefined) return;
      const { request, response } = next;
      connection.begun += 1;
      connection.underWay += 1;
      this.askForRound();
      // One that was cancelled while it waited; its end is told in a moment.
      if (response.destroyed) continue;
      this.options.guard.run(
        () =>
          this.options.serve(request as unknown as IncomingMessage, response as unknown as ServerResponse, {
            socket: connection.socket,
            awaitsContinue: request.awaitsContinue,
          }),
        () => response.destroy(),
      );
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
    else if (connection.underWay === 0) {
      this.busy.delete(connection);
      this.signs.end(connection.session);
      this.endIfOver(connection);
    }
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
