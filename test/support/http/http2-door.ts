import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { TlsDoor } from '../../../coordinator/api/connections/tls-door';
import type { ApiServer } from '../../../coordinator/api/http/http-server';
import { CertificateAuthority } from '../cluster/certificate-authority';
import { Http2Caller } from './http2-caller';

/** A port with TLS before a server of this process, which clients choose HTTP/2 at, and one such client. */
export class Http2Door {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly tcp: Server,
    private readonly authority: CertificateAuthority,
    readonly caller: Http2Caller,
    readonly port: number,
    readonly ca: string,
  ) {
    tcp.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  static async open(server: ApiServer): Promise<Http2Door> {
    const authority = new CertificateAuthority('door');
    const door = new TlsDoor({
      certificate: { ...authority.issue('door'), ticketKeys: new Uint8Array(48) },
      opened: (socket) => server.takeSecured(socket),
    });
    const tcp = createServer({ noDelay: true }, (socket) => door.take(socket));
    await new Promise<void>((done) => tcp.listen(0, '127.0.0.1', done));
    const { port } = tcp.address() as AddressInfo;
    const ca = authority.pem;
    return new Http2Door(tcp, authority, new Http2Caller({ port, ca }), port, ca);
  }

  /** Connections that are open. */
  get connections(): number {
    return this.sockets.size;
  }

  async close(): Promise<void> {
    this.caller.close();
    const closed = new Promise<void>((done) => this.tcp.close(() => done()));
    for (const socket of this.sockets) socket.destroy();
    await closed;
    this.authority.destroy();
  }
}
