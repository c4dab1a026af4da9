import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Serves one request; its answer ends whenever it ends. */
type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Requests that may wait on one connection. Node reads a connection on whenever a request is over, paused or not, so that
 * pausing alone does not bound them; clients that pipeline in earnest have some tens under way.
 */
const WAITING_MAX = 256;

interface Waiting {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Serves the requests of each connection one after the other. A client may send the next before it has the answer to the
 * last (pipelining, RFC 9112, section 9.3.2), and thousands of small ones fit into what is read at once: begun together
 * they would hold up all other connections. While one waits, its connection is read no further as far as Node lets it be, and
 * a connection with more than {@link WAITING_MAX} behind each other is cut.
 */
export class ConnectionQueue {
  /** Of each connection with a request under way, those behind it. */
  private readonly queues = new WeakMap<Socket, Waiting[]>();

  constructor(private readonly serve: Serve) {}

  /** Serves the request at once when it is alone on its connection, else in its turn. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // The rest of what was read before it was cut.
    if (socket.destroyed) return;
    const queue = this.queues.get(socket);
    if (queue !== undefined) {
      if (queue.length >= WAITING_MAX) {
        queue.length = 0;
        socket.destroy();
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
    // Comes after the answer is written, and also when the connection ends before.
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
