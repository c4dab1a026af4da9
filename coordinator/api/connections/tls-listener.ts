import { createServer, type Server as TcpServer, type Socket } from 'node:net';
import type { DuplicateHandle } from '../../../shared/base/process/wide-accept';
import type { ApiCertificates } from './api-certificates';
import { REFUSED_MAX } from './connection-admission';
import { type ApiServer, closeUnlistened, listen, startUnlistened } from '../http/http-server';
import { TlsDoor } from './tls-door';

/** The API port with TLS, where one thread serves it. */
export class TlsListener {
  private readonly tcp: TcpServer;
  private readonly connections = new Set<Socket>();
  private readonly unfollow: () => void;
  private isClosing = false;

  /** `server` asks {@link isDraining}. */
  constructor(
    private readonly parts: { server: () => ApiServer; certificates: ApiCertificates; connectionsMax: number },
  ) {
    let door: TlsDoor | null = null;
    this.unfollow = parts.certificates.follow((certificate) => {
      if (door === null) door = new TlsDoor({ certificate, opened: (socket) => parts.server().takeSecured(socket) });
      else door.renew(certificate);
    });
    this.tcp = createServer({ noDelay: true, keepAlive: true }, (socket) => {
      this.connections.add(socket);
      socket.once('close', () => this.connections.delete(socket));
      parts.server().guard.run(
        () => door?.take(socket),
        () => socket.destroy(),
      );
    });
    this.tcp.maxConnections = parts.connectionsMax + REFUSED_MAX;
  }

  get isDraining(): boolean {
    return this.isClosing;
  }

  /** As `listen` of the HTTP server. */
  async listen(
    port: number,
    host: string,
    onError: (error: Error) => void,
    duplicateHandle: DuplicateHandle | null = null,
  ): Promise<number> {
    startUnlistened(this.parts.server());
    return listen(this.tcp, port, host, onError, duplicateHandle);
  }

  /** As closeHttpServer. */
  async close(graceMs: number): Promise<void> {
    this.isClosing = true;
    this.unfollow();
    const closed = new Promise<void>((resolve) => this.tcp.close(() => resolve()));
    await closeUnlistened(this.parts.server(), this.connections, graceMs);
    await closed;
  }
}
