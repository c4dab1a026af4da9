import type { Socket } from 'node:net';

/** A member sends its first bytes at once, and its first stream a few round trips later. */
const PROVEN_WITHIN_MS = 10_000;
/** Far more than members connect at the same time. */
const UNPROVEN_MAX = 4_096;
/** Far more than the members behind one address connect at the same time. */
const UNPROVEN_OF_ADDRESS_MAX = 512;

/** The other end of a connection, by which it is known as long as it is there: address:port, as gRPC says it. */
export function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}

/** `withinMs`: for each; `most`: of them in all, `mostOfAddress`: from one address. */
export interface UnprovenBounds {
  withinMs?: number;
  most?: number;
  mostOfAddress?: number;
}

/**
 * Connections over which nobody has proven to be a member yet. Anybody can make them, and each costs a handle. So each
 * has a little time for all that comes first (its first bytes, TLS, the handshake), and of too many the oldest is cut.
 * Of too many from one address, the oldest of these is: whoever has few addresses pushes nobody else out.
 */
export class UnprovenConnections {
  private readonly bounds: Required<UnprovenBounds>;
  /** By the peer's address and port, the oldest first. */
  private readonly waiting = new Map<string, { socket: Socket; timer: NodeJS.Timeout; address: string }>();
  /** By address, the peers of these, the oldest first. */
  private readonly byAddress = new Map<string, Set<string>>();

  constructor({
    withinMs = PROVEN_WITHIN_MS,
    most = UNPROVEN_MAX,
    mostOfAddress = UNPROVEN_OF_ADDRESS_MAX,
  }: UnprovenBounds = {}) {
    this.bounds = { withinMs, most, mostOfAddress };
  }

  add(socket: Socket): void {
    const address = `${socket.remoteAddress}`;
    const peer = peerOf(socket);
    // One of the same peer is gone already, and its end was not heard of yet.
    this.cut(peer);
    const timer = setTimeout(() => this.cut(peer), this.bounds.withinMs);
    timer.unref();
    this.waiting.set(peer, { socket, timer, address });
    let peers = this.byAddress.get(address);
    if (peers === undefined) this.byAddress.set(address, (peers = new Set()));
    peers.add(peer);
    socket.once('close', () => {
      if (this.waiting.get(peer)?.socket === socket) this.proven(peer);
    });
    if (peers.size > this.bounds.mostOfAddress) this.cut(oldestOf(peers));
    if (this.waiting.size > this.bounds.most) this.cut(oldestOf(this.waiting.keys()));
  }

  /** Whether nobody has proven anything over the connection of this peer, which is there. */
  has(peer: string): boolean {
    return this.waiting.has(peer);
  }

  /** A member has proven itself, or the connection is gone. `peer`: its address and port, as gRPC says them. */
  proven(peer: string): void {
    const one = this.waiting.get(peer);
    if (one === undefined) return;
    clearTimeout(one.timer);
    this.waiting.delete(peer);
    const peers = this.byAddress.get(one.address)!;
    peers.delete(peer);
    if (peers.size === 0) this.byAddress.delete(one.address);
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

function oldestOf(peers: Iterable<string>): string {
  const [oldest] = peers;
  return oldest;
}
