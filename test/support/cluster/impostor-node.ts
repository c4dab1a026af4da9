import http2, {
  type ClientHttp2Session,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { FIELDS, membersDefinition } from '../../../shared/wire/handshake/handshake-metadata';

/** What somebody sent to an impostor: a call's headers, as they were before compression, and its body. */
export interface ReceivedCall {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/**
 * A server at an address that members take for one of theirs, of somebody who does not know the cluster's secret. It
 * answers a hello by what `answer` makes of it, takes every other call, and keeps all that it is sent.
 */
export class ImpostorNode {
  readonly received: ReceivedCall[] = [];
  private readonly sessions = new Set<ServerHttp2Session>();

  private constructor(
    private readonly server: Http2Server,
    private readonly answer: (
      headers: IncomingHttpHeaders,
      address: string,
    ) => Promise<Record<string, string | string[]>>,
  ) {}

  static async start(
    answer: (headers: IncomingHttpHeaders, address: string) => Promise<Record<string, string | string[]>>,
  ): Promise<ImpostorNode> {
    const server = http2.createServer();
    const impostor = new ImpostorNode(server, answer);
    server.on('session', (session) => {
      impostor.sessions.add(session);
      session.on('error', () => undefined);
      session.once('close', () => impostor.sessions.delete(session));
    });
    server.on('stream', (stream, headers) => {
      const call: ReceivedCall = { path: String(headers[':path']), headers, body: Buffer.alloc(0) };
      impostor.received.push(call);
      stream.on('error', () => undefined);
      stream.on('data', (bytes: Buffer) => (call.body = Buffer.concat([call.body, bytes])));
      const isHello = call.path === membersDefinition.Hello.path;
      const fields = isHello ? impostor.answer(headers, impostor.address) : Promise.resolve({});
      fields.then(
        (given) => {
          if (stream.destroyed) return;
          stream.respond(
            { ':status': 200, 'content-type': 'application/grpc', ...given },
            { waitForTrailers: isHello },
          );
          stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
          if (isHello) stream.end();
        },
        () => stream.close(),
      );
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return impostor;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Every value of every header of a call that is not gRPC's own. */
  static fieldsOf({ headers }: ReceivedCall): Record<string, string> {
    const usual = /^(:|te$|content-type$|user-agent$|accept-encoding$|grpc-)/;
    return Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (usual.test(name) ? [] : [[name, String(value)]])),
    );
  }

  async close(): Promise<void> {
    for (const session of this.sessions) session.destroy();
    await new Promise((done) => this.server.close(done));
  }
}

/** Sends a hello on to a real member, as it is or as one for another address, and gives the member's answer. */
export async function relayedHello(
  headers: IncomingHttpHeaders,
  member: string,
  address?: string,
): Promise<Record<string, string | string[]>> {
  const session: ClientHttp2Session = http2.connect(`http://${member}`);
  session.on('error', () => undefined);
  try {
    const sent = Object.fromEntries(
      Object.entries(headers).filter(([name]) => !name.startsWith(':') || name === ':path'),
    );
    const stream = session.request({
      ':method': 'POST',
      ...sent,
      ...(address === undefined ? {} : { [FIELDS.address]: address }),
    });
    stream.end();
    const answer = await new Promise<IncomingHttpHeaders>((done, fail) => {
      stream.on('response', done);
      stream.on('error', fail);
      stream.on('close', () => fail(new Error('no answer')));
    });
    stream.resume();
    return Object.fromEntries(Object.entries(answer).filter(([name]) => name.startsWith('quiver-'))) as Record<
      string,
      string | string[]
    >;
  } finally {
    session.close();
  }
}
