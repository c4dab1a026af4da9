import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

/** A way between two processes that a test can cut or hold up. */
export class FlowProxy {
  private readonly pairs = new Set<[Socket, Socket]>();
  private readonly server: Server;
  /** Connections on which no answers come through. */
  private readonly held = new Set<[Socket, Socket]>();
  private holdsNext = false;
  /** Connections taken so far. */
  connections = 0;
  /** Bytes seen on the way to the target. */
  bytesUp = 0;

  private constructor(private readonly targetPort: number) {
    this.server = createServer((near) => this.join(near));
  }

  static async start(targetPort: number): Promise<FlowProxy> {
    const proxy = new FlowProxy(targetPort);
    await new Promise<void>((done) => proxy.server.listen(0, '127.0.0.1', done));
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resets all connections; new ones are taken. */
  cut(): void {
    for (const pair of [...this.pairs]) for (const socket of pair) socket.resetAndDestroy();
  }

  /**
   * The connections of the moment carry nothing any more and stay open, as when a machine vanishes; new ones are fine.
   */
  freeze(): void {
    for (const [near, far] of this.pairs) {
      near.removeAllListeners('data').on('data', () => undefined);
      far.removeAllListeners('data').on('data', () => undefined);
    }
  }

  /** Answers do not come through on the connections of the moment, or if there are none, on the next one. */
  holdAnswers(): void {
    for (const pair of this.pairs) this.held.add(pair);
    this.holdsNext = this.pairs.size === 0;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((done) => this.server.close(done));
  }

  private join(near: Socket): void {
    this.connections += 1;
    const far = connect(this.targetPort, '127.0.0.1');
    const pair: [Socket, Socket] = [near, far];
    this.pairs.add(pair);
    if (this.holdsNext) this.held.add(pair);
    this.holdsNext = false;
    near.on('data', (bytes) => {
      this.bytesUp += bytes.length;
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!this.held.has(pair)) near.write(bytes);
    });
    for (const [from, to] of [pair, [far, near]] as const) {
      from.on('error', () => undefined);
      from.on('close', () => {
        to.destroy();
        this.pairs.delete(pair);
        this.held.delete(pair);
      });
    }
  }
}
