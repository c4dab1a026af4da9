import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ListenerGuard } from '../../../shared/base/process/listener-guard';
import type { Clock } from '../../../shared/base/time/clock';
import { AnswerMemory } from '../load/answer-memory';
import { Exchange } from '../http/exchange';
import type { RequestObserver } from '../http/observer';

/** How many clients may be connected. */
export interface ConnectionBounds {
  connectionsMax: number;
  /** The bound to name to clients, where another thread counts the connections and `isShort` tells what it found. */
  shownMax?: number;
  /** Whether there are so few open files left that no further connection can be accepted. */
  isShort: () => boolean;
}

/**
 * How many connections beyond the bound are kept open to be refused with an answer. Further ones are closed without
 * one.
 */
export const REFUSED_MAX = 32;
/** A client that sends no request within this time gets no answer. */
const REFUSAL_MS = 2_000;
const REFUSED_PACE = { stallTimeoutMs: REFUSAL_MS, stallBytesPerSecond: 0 };
/** The least interval between two sweeps, which close idle connections when room is short. */
export const SWEEP_MS = 1_000;

/**
 * Bounds the connections of a server, so that they never take the files that others need. When all are taken, the first
 * request of a new connection is answered with 429 and the connection closed. Idle connections are closed to make room.
 */
export class ConnectionAdmission {
  private readonly turnedAway = new Set<Socket>();
  private readonly bounds: ConnectionBounds;
  private readonly server: Server;
  /** Few bytes, on few connections. */
  private readonly uncounted = new AnswerMemory({ bytesMax: Infinity, metadataBytesMax: 0, textBytesMax: 0 });
  private connections = 0;
  private sweptMs = -Infinity;

  /** Watches `server` and closes connections beyond the bounds. */
  constructor(options: { server: Server; guard: ListenerGuard; bounds: ConnectionBounds }) {
    const { server, guard, bounds } = options;
    this.bounds = bounds;
    server.maxConnections = bounds.connectionsMax + REFUSED_MAX;
    this.server = server;
    server.on(
      'connection',
      guard.around(
        (socket: Socket) => this.arrived(socket),
        (socket) => socket.destroy(),
      ),
    );
  }

  /** Whether requests of this connection must be refused. */
  isTurnedAway(socket: Socket): boolean {
    return this.turnedAway.size > 0 && this.turnedAway.has(socket);
  }

  /** Answers that there are too many connections, and closes this one. */
  refuse(
    request: IncomingMessage,
    response: ServerResponse,
    parts: { clock: Clock; observer: RequestObserver; hasRealStatuses: boolean },
    crossOrigin?: OutgoingHttpHeaders,
  ): void {
    response.shouldKeepAlive = false;
    const exchange = new Exchange({
      request,
      response,
      ...parts,
      awaitsContinue: false,
      isDraining: () => true,
      pace: REFUSED_PACE,
      memory: this.uncounted,
    });
    exchange.crossOrigin = crossOrigin ?? null;
    exchange.fail(
      new QuiverError(
        'overloaded',
        `server busy: more connections than it can hold (${this.bounds.shownMax ?? this.bounds.connectionsMax}, by its limit of open files); try again in a moment`,
      ),
    );
  }

  /** Counts a connection; the server's own arrive by themselves. */
  arrived(socket: Socket): void {
    this.connections += 1;
    socket.once('close', () => (this.connections -= 1));
    const admitted = this.connections - this.turnedAway.size;
    if (admitted <= this.bounds.connectionsMax && !this.bounds.isShort()) return;
    this.sweep();
    if (this.turnedAway.size >= REFUSED_MAX) {
      socket.destroy();
      return;
    }
    this.turnedAway.add(socket);
    const patience = setTimeout(() => socket.destroy(), REFUSAL_MS);
    socket.once('close', () => {
      clearTimeout(patience);
      this.turnedAway.delete(socket);
    });
  }

  private sweep(): void {
    const nowMs = performance.now();
    if (nowMs - this.sweptMs < SWEEP_MS) return;
    this.sweptMs = nowMs;
    this.server.closeIdleConnections();
  }
}
