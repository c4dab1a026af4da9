import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where a request is stopped: it is not passed on; the first part of its body is; all is but the answer. */
export type StopPlace = 'request' | 'body' | 'answer';

/** A reverse proxy that stops single requests at a place that a test chooses. They stay open and get nowhere. */
export class GatedProxy {
  /** As `POST /v1/documents`, in order. */
  readonly asked: string[] = [];
  /** `count`: how many of the same there are with this one. */
  stopAt: (asked: string, count: number) => StopPlace | undefined = () => undefined;
  private readonly stopped: ServerResponse[] = [];

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {}

  static async start(targetPort: number): Promise<GatedProxy> {
    const server = createServer((incoming, outgoing) => proxy.pass(incoming, outgoing));
    const proxy = new GatedProxy(server, targetPort);
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Whether a request has come as far as it is let. */
  get hasStopped(): boolean {
    return this.stopped.length > 0;
  }

  /** Ends the connections of those that were stopped, and counts from none again. */
  reset(): void {
    this.stopAt = () => undefined;
    for (const outgoing of this.stopped.splice(0)) outgoing.destroy();
    this.asked.length = 0;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method, url = '', headers } = incoming;
    const asked = `${method} ${url.split('?')[0]}`;
    this.asked.push(asked);
    const place = this.stopAt(asked, this.asked.filter((other) => other === asked).length);
    if (place === 'request') {
      this.stopped.push(outgoing);
      return;
    }
    const forwarded = request({ port: this.targetPort, host: '127.0.0.1', method, path: url, headers }, (answer) => {
      if (place === 'answer') {
        answer.resume().once('end', () => this.stopped.push(outgoing));
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    if (place === 'body')
      incoming.once('data', (piece: Buffer) => {
        incoming.pause();
        forwarded.write(piece, () => this.stopped.push(outgoing));
      });
    else incoming.pipe(forwarded);
  }
}
