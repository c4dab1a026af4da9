import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { ListenerGuard } from '../../shared/process/listener-guard';

/** A connection is cut after so many looks without a sign of life. */
const SILENT_LOOKS_MAX = 3;

interface Watched {
  socket: Socket;
  sentBytes: number;
  isAsked: boolean;
  silentLooks: number;
}

/**
 * Watches over connections of HTTP/2 with requests that are not answered yet. After some errors of a client, the library below
 * neither reads nor sends any more, and says so to nobody: not even the client's end would be noticed, and its requests would
 * never be over. So each is asked (PING), and cut when it neither answers nor takes anything for `silentMs`.
 */
export class LifeSigns {
  private readonly watched = new Map<ServerHttp2Session, Watched>();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly parts: { silentMs: number; guard: ListenerGuard }) {}

  begin(session: ServerHttp2Session, socket: Socket): void {
    if (!this.watched.has(session)) this.watched.set(session, { socket, sentBytes: socket.bytesWritten, isAsked: false, silentLooks: 0 });
    this.timer ??= setInterval(() => this.lookAtAll(), this.parts.silentMs / SILENT_LOOKS_MAX).unref();
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
    const { bytesWritten } = watched.socket;
    const isSilent = watched.isAsked && bytesWritten === watched.sentBytes;
    watched.sentBytes = bytesWritten;
    watched.silentLooks = isSilent ? watched.silentLooks + 1 : 0;
    if (watched.silentLooks >= SILENT_LOOKS_MAX || session.destroyed) {
      this.end(session);
      session.destroy();
    } else if (!watched.isAsked) {
      watched.isAsked = session.ping(() => (watched.isAsked = false));
    }
  }
}
