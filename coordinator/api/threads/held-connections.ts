import type { Socket } from 'node:net';

/**
 * Enough for the clients that ask in the second in which no thread serves. Each holds a handle, and nothing is read of
 * it.
 */
const HELD_MAX = 1_024;
/** Clients ask again after that, if not before. */
const HELD_MS = 10_000;

/** Connections that come while no thread serves, because all of them are being replaced. */
export class HeldConnections {
  private readonly held = new Map<Socket, NodeJS.Timeout>();

  constructor(private readonly heldMs = HELD_MS) {}

  /** Holds it until it is taken, which is soon, or closes it: where there are too many, or it takes too long. */
  hold(socket: Socket): void {
    if (this.held.size >= HELD_MAX) {
      socket.destroy();
      return;
    }
    const patience = setTimeout(() => socket.destroy(), this.heldMs);
    patience.unref();
    this.held.set(socket, patience);
    // Nothing is read, so nothing of it is heard but this.
    socket.on('error', () => undefined);
    socket.once('close', () => this.forget(socket));
  }

  /** All that are held, the oldest first. */
  take(): Socket[] {
    const sockets = [...this.held.keys()];
    for (const socket of sockets) this.forget(socket);
    return sockets;
  }

  private forget(socket: Socket): void {
    clearTimeout(this.held.get(socket));
    this.held.delete(socket);
  }
}
