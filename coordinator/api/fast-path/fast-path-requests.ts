import type { Socket } from 'node:net';
import type { ListenerGuard } from '../../../shared/base/process/listener-guard';
import { type RequestHead, RequestHeads } from './request-head';
import { FastPathRequest } from './fast-path-request';
import { FastPathResponse } from './fast-path-response';

/**
 * What the server of HTTP/1.1 adds to a socket, for itself, and the handle of one without TLS. `parser` is null when
 * the server reads nothing more of it, as behind a request for a tunnel.
 */
type ServedSocket = Socket & { _httpMessage?: unknown; parser?: unknown; _handle?: { fd?: number } | null };

type Listener = (chunk: Buffer) => void;

/** A larger one comes in several pieces in any case. */
const WHOLE_BYTES_MAX = 64 * 1024;
/**
 * Some clients send head and body one after the other. What has not come whole by then is the server's, which counts
 * the time of slow ones.
 */
const REST_WITHIN_MS = 2_000;
/** Bytes of requests that a client may send before it has its answer, beyond which it is not read from. */
const AHEAD_BYTES_MAX = 256 * 1024;

export interface FastPathRequestsParts {
  /** Whether the server of HTTP/1.1 has no request of this connection under way. */
  isIdle: (socket: Socket) => boolean;
  /** Serves it, later; or answers false, and the server does. */
  take: (request: FastPathRequest, response: FastPathResponse) => boolean;
  keepAliveTimeoutMs: number;
  /** For all that the bytes of a connection set off here. */
  guard: ListenerGuard;
}

/**
 * Requests that arrive whole, in one piece or two, on connections of Node's server of HTTP/1.1: most that are small.
 * For these, its streams for requests and answers cost more than all else but the search. They are read and answered
 * here; the server gets every byte of all others, from the first to the last, and every connection's first request. So
 * it watches over the times of connections and requests as ever, and judges all that is rare or wrong.
 *
 * It is always known at which byte the server's last request ends: from its head, if that is a plain one. As soon as it
 * is not known (another kind of head, several requests in one piece), the connection is the server's for good.
 */
export class FastPathRequests {
  private readonly keepAlive: string;

  constructor(private readonly parts: FastPathRequestsParts) {
    this.keepAlive = `Keep-Alive: timeout=${Math.floor(parts.keepAliveTimeoutMs / 1000)}\r\n`;
  }

  /** Reads this connection, which the server has just taken, before the server does. */
  watch(socket: Socket): void {
    const [server, ...others] = socket.listeners('data') as Listener[];
    // A Node that reads its connections in another way: it serves all of them.
    if (server === undefined || others.length > 0) return;
    socket.removeListener('data', server);
    const connection = new WatchedConnection(socket, server, this.parts, this.keepAlive);
    // With this listener, the server's parser takes no bytes from the system by itself any more.
    socket.on(
      'data',
      this.parts.guard.around(
        (chunk: Buffer) => connection.arrived(chunk),
        () => socket.destroy(),
      ),
    );
  }
}

class WatchedConnection {
  private readonly heads = new RequestHeads();
  /** Whether it is known where the server's requests end. */
  private isTracked = true;
  /** Whether a request has come. */
  private isBegun = false;
  /** Bytes that the server has still to get of its request. */
  private serverBytes = 0;
  /** What has come of a request whose rest is awaited. */
  private held: { head: RequestHead; pieces: Buffer[]; bytes: number; timer: NodeJS.Timeout } | null = null;
  private isAnswering = false;
  /** What came before the answer to the request under way was sent. */
  private ahead: Buffer[] = [];
  private aheadBytes = 0;
  /** Where TLS encrypts what is sent, there is none to send to directly. */
  private readonly handle: number;

  constructor(
    private readonly socket: ServedSocket,
    private readonly server: Listener,
    private readonly parts: FastPathRequestsParts,
    private readonly keepAlive: string,
  ) {
    const { _handle: inner } = socket;
    this.handle = 'encrypted' in socket || !Number.isInteger(inner?.fd) ? -1 : inner!.fd!;
  }

  arrived(chunk: Buffer): void {
    if (this.isAnswering || this.ahead.length > 0) {
      this.ahead.push(chunk);
      this.aheadBytes += chunk.length;
      if (this.aheadBytes > AHEAD_BYTES_MAX) this.socket.pause();
      return;
    }
    if (this.held !== null) {
      this.continued(chunk);
      return;
    }
    if (!this.isTracked) {
      this.pass(chunk);
      return;
    }
    if (this.serverBytes > 0) {
      this.serverBytes -= chunk.length;
      this.isTracked = this.serverBytes >= 0;
      this.pass(chunk);
      return;
    }
    const head = this.heads.read(chunk);
    const missing = head === null ? -1 : head.bytes + head.bodyBytes - chunk.length;
    if (head === null || missing < 0) {
      this.isTracked = false;
      this.pass(chunk);
      return;
    }
    const isServers = !this.isBegun || head.bytes + head.bodyBytes > WHOLE_BYTES_MAX || !this.parts.isIdle(this.socket);
    this.isBegun = true;
    if (isServers) {
      this.serverBytes = missing;
      this.pass(chunk);
    } else if (missing > 0) {
      this.hold(head, chunk);
    } else {
      this.serve(head, chunk);
    }
  }

  private hold(head: RequestHead, chunk: Buffer): void {
    const timer = setTimeout(() => this.guarded(() => this.release()), REST_WITHIN_MS).unref();
    this.held = { head, pieces: [chunk], bytes: chunk.length, timer };
    this.socket._httpMessage = HELD;
  }

  private continued(chunk: Buffer): void {
    const held = this.held!;
    held.pieces.push(chunk);
    held.bytes += chunk.length;
    const missing = held.head.bytes + held.head.bodyBytes - held.bytes;
    if (missing > 0) return;
    if (missing < 0) {
      this.isTracked = false;
      this.release();
      return;
    }
    this.letGo();
    this.serve(held.head, Buffer.concat(held.pieces, held.bytes));
  }

  /** Gives what was held to the server. */
  private release(): void {
    const { head, pieces, bytes } = this.held!;
    this.letGo();
    this.serverBytes = Math.max(0, head.bytes + head.bodyBytes - bytes);
    for (const piece of pieces) this.pass(piece);
  }

  private letGo(): void {
    clearTimeout(this.held!.timer);
    this.held = null;
    this.socket._httpMessage = null;
  }

  private serve(head: RequestHead, bytes: Buffer): void {
    const request = new FastPathRequest(head, bytes.subarray(head.bytes), this.socket);
    const response = new FastPathResponse(this.socket, this.keepAlive, this.answered, this.handle);
    this.isAnswering = true;
    this.socket._httpMessage = response;
    if (this.parts.take(request, response)) return;
    this.isAnswering = false;
    this.socket._httpMessage = null;
    this.pass(bytes);
  }

  private readonly answered = (): void => {
    this.isAnswering = false;
    this.socket._httpMessage = null;
    // In a later round of the event loop, so that every connection has its turn before this one has its next.
    if (this.ahead.length > 0) setImmediate(() => this.guarded(() => this.goOn()));
  };

  private guarded(work: () => void): void {
    this.parts.guard.run(work, () => this.socket.destroy());
  }

  private goOn(): void {
    const { ahead, aheadBytes } = this;
    if (this.isAnswering || this.socket.destroyed || ahead.length === 0) return;
    this.ahead = [];
    this.aheadBytes = 0;
    this.socket.resume();
    this.arrived(ahead.length === 1 ? ahead[0] : Buffer.concat(ahead, aheadBytes));
  }

  private pass(chunk: Buffer): void {
    if (!this.socket.destroyed && this.socket.parser !== null) this.server.call(this.socket, chunk);
  }
}

/** Of a connection with a request that has come in part. */
const HELD = { finished: false, emit: (event: string): boolean => event === 'timeout' };
