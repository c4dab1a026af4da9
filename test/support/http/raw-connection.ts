import { connect, type Socket } from 'node:net';
import { connect as connectSecured } from 'node:tls';
import type { ApiTarget } from '../targets/api-target';

/** A bare connection for what no HTTP client would send. */
export class RawConnection {
  private received = '';
  private isClosed = false;
  private waiting: (() => void)[] = [];

  private constructor(readonly socket: Socket) {
    socket.on('data', (piece: Buffer) => {
      this.received += piece.toString('utf8');
      this.wake();
    });
    socket.on('close', () => {
      this.isClosed = true;
      this.wake();
    });
    // A reset is one of the ways in which a connection ends here.
    socket.on('error', () => undefined);
  }

  static async open(target: Pick<ApiTarget, 'baseUrl'>): Promise<RawConnection> {
    const { hostname, port } = new URL(target.baseUrl);
    const socket = connect({ host: hostname, port: Number(port) });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  /** With TLS, in whose handshake this protocol was chosen. `ca`: of the port's certificate, PEM. */
  static async openSecured({
    port,
    ca,
    protocol,
  }: {
    port: number;
    ca: string;
    protocol: 'h2' | 'http/1.1';
  }): Promise<RawConnection> {
    const socket = connectSecured({ host: '127.0.0.1', port, ca, ALPNProtocols: [protocol] });
    await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  get text(): string {
    return this.received;
  }

  send(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** Waits until what has arrived matches; fails when the connection closes first. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      if (this.isClosed) throw new Error(`closed after ${JSON.stringify(this.received.slice(-400))}`);
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    return this.received;
  }

  async closed(): Promise<string> {
    while (!this.isClosed) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.received;
  }

  private wake(): void {
    const woken = this.waiting;
    this.waiting = [];
    for (const resume of woken) resume();
  }
}
