import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Serves one request; it need not wait for the end of the answer. */
type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Requests that may wait on one connection. Pausing alone does not bound them, because Node resumes reading a
 * connection whenever a request has ended, paused or not. Real clients that pipeline have some tens of requests under
 * way.
 */
const WAITING_MAX = 256;

interface Waiting {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Serves the requests of each connection one after the other. A client may send the next request before it has the last
 * answer (pipelining, RFC 9112, section 9.3.2). One read may hold thousands of small requests; started together, they
 * would block all other connections. While a request waits, its connection is not read further, as far as Node allows
 * that, and a connection with more than {@link WAITING_MAX} waiting requests is cut.
 */
export class ConnectionQueue {
  /** For each connection with a request under way, the requests behind it. */
  private readonly queues = new WeakMap<Socket, Waiting[]>();

  constructor(private readonly serve: Serve) {}

  /** Whether no request of this connection is under way or waits. */
  isIdle(socket: Socket): boolean {
    return !this.queues.has(socket);
  }

  /** Serves the request at once if it is alone on its connection, otherwise in its turn. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // A request from data that was read before the connection was cut.
    if (socket.destroyed) return;
    const queue = this.queues.get(socket);
    if (queue !== undefined) {
      if (queue.length >= WAITING_MAX) {
        queue.length = 0;
        cut(socket);
        return;
      }
      queue.push({ request, response });
      socket.pause();
      return;
    }
    this.queues.set(socket, []);
    this.begin(socket, request, response);
  }

  private begin(socket: Socket, request: IncomingMessage, response: ServerResponse): void {
    // Emitted after the answer was written, and also when the connection ends before that.
    response.once('close', () => this.next(socket));
    this.serve(request, response);
  }

  private next(socket: Socket): void {
    const waiting = this.queues.get(socket)?.shift();
    if (waiting === undefined) {
      this.queues.delete(socket);
      return;
    }
    if (socket.destroyed) {
      this.queues.delete(socket);
      return;
    }
    // In a later round of the event loop, so that every connection has its turn before this one has its next.
    setImmediate(() => {
      this.begin(socket, waiting.request, waiting.response);
      if (this.queues.get(socket)?.length === 0) socket.resume();
    });
  }
}

/** Ends the connection at once. */
function cut(socket: Socket): void {
  // Node would parse what it has read already, hundreds of requests more. An answer of 2 says that what follows is no
  // HTTP, and the parser stops. If a later Node has no such field, nothing is lost but time.
  const { parser } = socket as Socket & { parser?: { onIncoming?: unknown } | null };
  if (parser !== null && parser !== undefined) parser.onIncoming = () => 2;
  socket.destroy();
}
