import type { Socket } from 'node:net';

/** A member sends its first bytes at once, and its first stream a few round trips later. */
const PROVEN_WITHIN_MS = 10_000;
/** Far more than members connect at the same time. */
const UNPROVEN_MAX = 4_096;

/**
 * Connections over which nobody has proven to be a member yet. Anybody can make them, and each costs a handle. So each has a
 * little time for all that comes first (its first bytes, TLS, the handshake), and of too many the oldest is cut.
 */
export class UnprovenConnections {
  private readonly bounds: { withinMs: number; most: number };
  /** By the peer's address and port, the oldest first. */
  private readonly waiting = new Map<string, { socket: Socket; timer: NodeJS.Timeout }>();

  constructor({ withinMs = PROVEN_WITHIN_MS, most = UNPROVEN_MAX }: { withinMs?: number; most?: number } = {}) {
    this.bounds = { withinMs, most };
  }

  add(socket: Socket): void {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    // One of the same peer is gone already, and its end was not heard of yet.
    this.cut(peer);
    const timer = setTimeout(() => this.cut(peer), this.bounds.withinMs);
    timer.unref();
    this.waiting.set(peer, { socket, timer });
    socket.once('close', () => {
      if (this.waiting.get(peer)?.socket === socket) this.proven(peer);
    });
    const [oldest] = this.waiting.keys();
    if (this.waiting.size > this.bounds.most) this.cut(oldest);
  }

  /** A member has proven itself, or the connection is gone. `peer`: its address and port, as gRPC says them. */
  proven(peer: string): void {
    clearTimeout(this.waiting.get(peer)?.timer);
    this.waiting.delete(peer);
  }

  /** Cuts them all. */
  close(): void {
    for (const peer of [...this.waiting.keys()]) this.cut(peer);
  }

  private cut(peer: string): void {
    const one = this.waiting.get(peer);
    this.proven(peer);
    one?.socket.destroy();
  }
}
