import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { Clock } from '../../shared/time/clock';
import { Exchange } from './exchange';
import type { RequestObserver } from './observer';
import type { Turns } from './turns';

/** How many clients may be connected. */
export interface ConnectionBounds {
  connectionsMax: number;
  /** Whether open files have become so few that no connection beyond those there are can be afforded. */
  isShort: () => boolean;
}

/** Connections beyond the bound that are there just to be told so; what comes on top is closed without a word. */
const TOLD_MAX = 32;
/** A client that does not ask within this time is not told. */
const TELL_MS = 2_000;
/** Between two sweeps of connections on which nothing happens, made when room is short. */
const SWEEP_MS = 1_000;

/**
 * Bounds the connections of a server, so that the files they take are never those of somebody else. Who comes when all are
 * taken has his first request answered with 429, and the connection closed; connections that idle are closed to make room.
 */
export class ConnectionGate {
  private readonly turnedAway = new Set<Socket>();
  private readonly bounds: ConnectionBounds;
  private connections = 0;
  private sweptMs = -Infinity;

  /** Watches `server`, and closes what is too much. */
  constructor(options: { server: Server; bounds: ConnectionBounds }) {
    const { server, bounds } = options;
    this.bounds = bounds;
    server.maxConnections = bounds.connectionsMax + TOLD_MAX;
    server.on('connection', (socket: Socket) => this.arrived(server, socket));
  }

  /** Whether requests of this connection are to be refused. */
  isTurnedAway(socket: Socket): boolean {
    return this.turnedAway.size > 0 && this.turnedAway.has(socket);
  }

  /** Answers that there are too many connections and closes this one. */
  refuse(request: IncomingMessage, response: ServerResponse, parts: { clock: Clock; observer: RequestObserver; turns: Turns }): void {
    response.shouldKeepAlive = false;
    const exchange = new Exchange({ request, response, ...parts, awaitsContinue: false, isDraining: () => true, stallTimeoutMs: TELL_MS });
    exchange.fail(new QuiverError('overloaded', `server busy: more connections than it can hold (${this.bounds.connectionsMax}, by its limit of open files); try again in a moment`));
  }

  private arrived(server: Server, socket: Socket): void {
    this.connections += 1;
    socket.once('close', () => (this.connections -= 1));
    const admitted = this.connections - this.turnedAway.size;
    if (admitted <= this.bounds.connectionsMax && !this.bounds.isShort()) return;
    this.sweep(server);
    if (this.turnedAway.size >= TOLD_MAX) {
      socket.destroy();
      return;
    }
    this.turnedAway.add(socket);
    const patience = setTimeout(() => socket.destroy(), TELL_MS);
    socket.once('close', () => {
      clearTimeout(patience);
      this.turnedAway.delete(socket);
    });
  }

  private sweep(server: Server): void {
    const nowMs = performance.now();
    if (nowMs - this.sweptMs < SWEEP_MS) return;
    this.sweptMs = nowMs;
    server.closeIdleConnections();
  }
}
