import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePorts } from './free-ports';

/** A TCP connection to somewhere that a test can cut: on a port of its own, which stays the same. */
export class TcpProxy {
  private server: Server | null = null;
  private readonly sockets = new Set<Socket>();
  private silent = false;
  private swallowing = false;
  private deaf = false;
  private delayMs = 0;

  private constructor(
    /** Not one that the system may give to an outgoing connection while the way is cut. */
    private readonly port: number,
    /** May change; connections made after that go there. */
    public targetPort: number,
  ) {}

  /** Forwards to `targetPort` of 127.0.0.1. */
  static async start(targetPort: number): Promise<TcpProxy> {
    const [port] = await freePorts(1);
    const proxy = new TcpProxy(port, targetPort);
    await proxy.restore();
    return proxy;
  }

  get endpoint(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Resets every connection and refuses new ones. */
  async cut(): Promise<void> {
    const { server } = this;
    this.server = null;
    const closed = new Promise((done) => (server === null ? done(undefined) : server.close(done)));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /**
   * Keeps every connection, takes new ones, and passes nothing on, as when packets are lost. Ends by `restore`, which
   * cuts first.
   */
  silence(): void {
    this.silent = true;
    for (const socket of this.sockets) socket.pause();
  }

  /** Goes on passing on what clients say, and drops what they are answered. Ends by `restore`, which cuts first. */
  swallowAnswers(): void {
    this.swallowing = true;
  }

  /** Goes on passing on what clients are answered, and drops what they say. Ends by `restore`, which cuts first. */
  swallowRequests(): void {
    this.deaf = true;
  }

  /** Passes everything on later by this much, each way. Ends by `restore`, which cuts first. */
  slow(delayMs: number): void {
    this.delayMs = delayMs;
  }

  /** Takes connections again, on the same port. */
  async restore(): Promise<void> {
    if (this.silent || this.swallowing || this.deaf || this.delayMs > 0) await this.cut();
    this.silent = false;
    this.swallowing = false;
    this.deaf = false;
    this.delayMs = 0;
    if (this.server !== null) return;
    const server = createServer((client) => this.join(client));
    await new Promise<void>((listening, failed) =>
      server.once('error', failed).listen(this.port, '127.0.0.1', listening),
    );
    this.server = server;
  }

  async close(): Promise<void> {
    await this.cut();
  }

  private join(client: Socket): void {
    const target = connect(this.targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ]) {
      this.sockets.add(from);
      from.on('data', (chunk) => {
        if (from === client ? this.deaf : this.swallowing) return;
        if (this.delayMs === 0) to.write(chunk);
        else setTimeout(() => to.destroyed || to.write(chunk), this.delayMs);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      if (this.silent) from.pause();
    }
  }
}
