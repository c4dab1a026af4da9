import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A reverse proxy that has a service under a path, as nginx or an ingress does. */
export class StrippingProxy {
  /** Paths that came and are not under its own. */
  readonly strays: string[] = [];
  /** What came under its own, without it. */
  readonly asked: string[] = [];
  private server: Server | null = null;
  private port = 0;

  /** `strips`: whether it takes the path away; `tells`: whether it says so by `x-forwarded-prefix`. */
  constructor(private readonly options: { to: number; prefix: string; strips: boolean; tells: boolean }) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}${this.options.prefix}`;
  }

  async start(): Promise<void> {
    const { to, prefix, strips, tells } = this.options;
    this.server = createServer((incoming, outgoing) => {
      const { url = '/', method, headers } = incoming;
      if (url !== prefix && !url.startsWith(`${prefix}/`)) {
        // Browsers ask for it by themselves.
        if (url !== '/favicon.ico') this.strays.push(url);
        outgoing.writeHead(404).end();
        return;
      }
      const inside = url.slice(prefix.length) || '/';
      this.asked.push(inside);
      const forwarded = request(
        {
          port: to,
          host: '127.0.0.1',
          method,
          path: strips ? inside : url,
          headers: { ...headers, ...(tells && { 'x-forwarded-prefix': prefix }) },
        },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        },
      );
      forwarded.on('error', () => outgoing.destroy());
      incoming.pipe(forwarded);
    });
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }
}
