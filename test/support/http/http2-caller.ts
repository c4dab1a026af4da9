import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';

interface Http2Request {
  method: string;
  path: string;
  headers: Record<string, string>;
  payload?: string | Buffer;
  signal?: AbortSignal;
}

export interface Http2Answer {
  httpStatus: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Sends requests over one connection of HTTP/2, chosen in the handshake of TLS; opens it again when it has ended. */
export class Http2Caller {
  private session: ClientHttp2Session | null = null;

  /** `ca`: of the port's certificate, PEM. */
  constructor(private readonly at: { port: number; ca: string }) {}

  call({ method, path, headers, payload, signal }: Http2Request): Promise<Http2Answer> {
    return new Promise((resolve, reject) => {
      const stream = this.open().request(
        { ':method': method, ':path': path, ...headers },
        { endStream: payload === undefined, signal },
      );
      let status = 0;
      let received: IncomingHttpHeaders = {};
      const pieces: Buffer[] = [];
      stream.on('response', ({ ':status': code, ...rest }) => {
        status = Number(code);
        received = rest;
      });
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('error', reject);
      stream.on('end', () =>
        status === 0
          ? reject(new Error(`no answer, reset code ${stream.rstCode}`))
          : resolve({ httpStatus: status, headers: received, text: Buffer.concat(pieces).toString('utf8') }),
      );
      if (payload !== undefined) stream.end(payload);
    });
  }

  close(): void {
    this.session?.destroy();
  }

  /** The connection; a new one if the server has said that it takes no more requests on it. */
  open(): ClientHttp2Session {
    if (this.session === null || this.session.closed || this.session.destroyed) {
      this.session = connect(`https://127.0.0.1:${this.at.port}`, { ca: this.at.ca });
      this.session.on('error', () => undefined);
      this.session.on('goaway', () => this.session?.close());
    }
    return this.session;
  }
}
