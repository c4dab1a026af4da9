import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { ListenerGuard } from '../../../shared/base/process/listener-guard';
import { bytesTakenOf, type PaceBounds } from './reader-pace';

/** A connection is cut after so many looks without a sign of life. */
const SILENT_LOOKS_MAX = 3;

interface Watched {
  socket: Socket;
  takenBytes: number;
  isAsked: boolean;
  silentLooks: number;
}

/**
 * Watches over connections of HTTP/2 with requests that are not answered yet. After some errors of a client, the
 * library below neither reads nor sends any more, and says so to nobody: not even the client's end would be noticed,
 * and its requests would never be over. So each is asked (PING), and cut when it neither answers nor takes what it must
 * take: whoever is slow answers only when all was taken that was sent before.
 */
export class LifeSigns {
  private readonly watched = new Map<ServerHttp2Session, Watched>();
  private timer: NodeJS.Timeout | null = null;

  private readonly lookMs: number;
  /** In the time between two looks, at least. */
  private readonly leastBytes: number;

  constructor(private readonly parts: { pace: PaceBounds; guard: ListenerGuard }) {
    const { stallTimeoutMs, stallBytesPerSecond } = parts.pace;
    this.lookMs = stallTimeoutMs / SILENT_LOOKS_MAX;
    this.leastBytes = Math.max(1, (stallBytesPerSecond * this.lookMs) / 1000);
  }

  begin(session: ServerHttp2Session, socket: Socket): void {
    if (!this.watched.has(session))
      this.watched.set(session, { socket, takenBytes: bytesTakenOf(socket), isAsked: false, silentLooks: 0 });
    this.timer ??= setInterval(() => this.lookAtAll(), this.lookMs).unref();
  }

  end(session: ServerHttp2Session): void {
    this.watched.delete(session);
    if (this.watched.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private lookAtAll(): void {
    for (const [session, watched] of this.watched) {
      this.parts.guard.run(
        () => this.look(session, watched),
        () => session.destroy(),
      );
    }
  }

  private look(session: ServerHttp2Session, watched: Watched): void {
    const takenBytes = bytesTakenOf(watched.socket);
    const isSilent = watched.isAsked && takenBytes - watched.takenBytes < this.leastBytes;
    watched.takenBytes = takenBytes;
    watched.silentLooks = isSilent ? watched.silentLooks + 1 : 0;
    if (watched.silentLooks >= SILENT_LOOKS_MAX || session.destroyed) {
      this.end(session);
      session.destroy();
    } else if (!watched.isAsked) {
      watched.isAsked = session.ping(() => (watched.isAsked = false));
    }
  }
}
