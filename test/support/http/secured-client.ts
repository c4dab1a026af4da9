import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';

/** A client of the API over TLS, on a connection of its own that it keeps. */
export class SecuredClient {
  private readonly agent: Agent;

  constructor(private readonly parts: { port: number; ca: string; key: string }) {
    this.agent = new Agent({ ca: parts.ca, keepAlive: true, maxSockets: 1 });
  }

  /** The envelope, and the name in the certificate that was shown. */
  call(method: string, path: string, body?: unknown): Promise<{ json: any; text: string; subject: string }> {
    const { port, key } = this.parts;
    const payload = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((done, fail) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port,
          method,
          path,
          agent: this.agent,
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
        },
        (incoming) => {
          // Once the answer is read, the socket is another request's.
          const subject = subjectOf(incoming.socket as TLSSocket);
          const pieces: Buffer[] = [];
          incoming.on('data', (piece: Buffer) => pieces.push(piece));
          incoming.on('error', fail);
          incoming.on('end', () => {
            const text = Buffer.concat(pieces).toString();
            done({ text, json: text.startsWith('{') ? JSON.parse(text) : null, subject });
          });
        },
      );
      outgoing.on('error', fail);
      outgoing.end(payload);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

/** One request by HTTP/2, chosen in the handshake; fails with the code of a stream that was reset. */
export function callByHttp2(parts: {
  port: number;
  ca: string;
  key: string;
  method: string;
  path: string;
  body?: unknown;
}): Promise<string> {
  const { port, ca, key, method, path, body } = parts;
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca });
  return new Promise<string>((done, fail) => {
    session.on('error', fail);
    const stream = session.request(
      { ':method': method, ':path': path, 'x-api-key': key, 'content-type': 'application/json' },
      { endStream: body === undefined },
    );
    let text = '';
    stream.setEncoding('utf8');
    stream.on('data', (piece: string) => (text += piece));
    stream.on('error', fail);
    stream.on('end', () => done(text));
    if (body !== undefined) stream.end(JSON.stringify(body));
  }).finally(() => session.destroy());
}

/** A handshake that begins a session. Answers it, for others to take it up again. */
export function firstSession(parts: { port: number; ca: string }): Promise<Buffer> {
  return new Promise((done, fail) => {
    const socket = connect({ host: '127.0.0.1', ...parts, ALPNProtocols: ['http/1.1'] });
    socket.on('error', fail);
    // Tickets of TLS 1.3 come after the handshake.
    socket.once('session', (session: Buffer) => {
      done(session);
      socket.destroy();
    });
  });
}

/** A handshake: whether it took that session up again, and whose certificate was shown. */
export function handshake(parts: {
  port: number;
  ca: string;
  session?: Buffer;
}): Promise<{ isReused: boolean; subject: string }> {
  return new Promise((done, fail) => {
    const socket = connect({ host: '127.0.0.1', ...parts, ALPNProtocols: ['http/1.1'] }, () => {
      done({ isReused: socket.isSessionReused(), subject: subjectOf(socket) });
      socket.destroy();
    });
    socket.on('error', fail);
  });
}

function subjectOf(socket: TLSSocket): string {
  return String(socket.getPeerCertificate().subject?.CN);
}
