import { type Metadata, type Server, status } from '@grpc/grpc-js';
import {
  constants,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Logger } from '../../base/logs/logger';
import { endLater } from '../../base/process/later-end';
import { ListenerGuard } from '../../base/process/listener-guard';
import { membersDefinition, metadataOfHeaders } from '../handshake/handshake-metadata';
import type { MemberAdmission, Refusal } from '../handshake/member-admission';
import { peerOf } from '../handshake/unproven-connections';

type StreamListener = (interceptors: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
type SessionListener = (session: ServerHttp2Session) => void;

/** What the library registers with each HTTP/2 server that it makes (grpc-js 1.14, `_setupHandlers`). */
interface Listeners {
  _streamHandler: StreamListener;
  _channelzHandler: StreamListener;
  _sessionHandler: (server: Http2Server) => SessionListener;
  _channelzSessionHandler: (server: Http2Server) => SessionListener;
}

const CONTENT_TYPE = 'application/grpc';
const HEAD = { ':status': 200, 'content-type': 'application/grpc+proto' };
/** A member says hello once or twice on a connection. Whoever opens so many streams without a proof is none. */
const STRANGE_STREAMS_MAX = 32;

/**
 * Stands before all of the gRPC library: a stream gets there once its caller has proven to be a member, and a
 * connection with the first such stream. Hello and refusals are answered here. (A connection
 * over which a member has proven itself before HTTP/2 gets there at once.) So what strangers send is read by Node and
 * this alone, and whatever goes wrong with a stream ends that stream. To be called before the server takes connections.
 * Throws when the library has other listeners than are known: then nobody would be refused. The gate is told of
 * connections that do not come to the server as sockets.
 *
 * Node tells of a stream while its library reads, and what ends one then may corrupt the heap of the process. So
 * streams are judged in a later turn, and the connection of a stranger ends in a later one (endLater).
 */
export function admitStreams(
  server: Server,
  parts: { admission: MemberAdmission; log: Pick<Logger, 'warn'> },
): StreamAdmission {
  const admission = new StreamAdmission(parts);
  const library = server as unknown as Listeners;
  for (const name of ['_streamHandler', '_channelzHandler'] as const) {
    const listen = listenerOf(library, name);
    library[name] = function (this: unknown, interceptors, stream, headers) {
      admission.arrived(stream, headers, () => listen.call(this, interceptors, stream, headers));
    };
  }
  for (const name of ['_sessionHandler', '_channelzSessionHandler'] as const) {
    const listenerFor = listenerOf(library, name);
    library[name] = function (this: unknown, http2Server) {
      const listen = listenerFor.call(this, http2Server);
      return (session) => admission.opened(session, () => listen(session));
    };
  }
  return admission;
}

/** What stands before the library. Made by admitStreams. */
export class StreamAdmission {
  private readonly admission: MemberAdmission;
  private readonly guard: ListenerGuard;
  /** What the library does with connections over which nobody has proven anything yet. */
  private readonly unproven = new WeakMap<Http2Session, { begin: () => void; isCut: boolean }>();
  private arrivingSocket: Socket | null = null;
  private isArrivingProven = false;

  constructor({ admission, log }: { admission: MemberAdmission; log: Pick<Logger, 'warn'> }) {
    this.admission = admission;
    this.guard = new ListenerGuard((error, untold) =>
      log.warn({ error, untold }, 'a stream of another process was broken off by an error'),
    );
  }

  /** `inject` gives the server the bytes of `socket`, by a stream that is none. */
  arriving(socket: Socket, inject: () => void): void {
    this.arrivingSocket = socket;
    this.guard.run(inject, () => socket.destroy());
    this.arrivingSocket = null;
  }

  /** `inject` gives the server `socket` itself, over which a member has proven itself before. */
  arrivingProven(socket: Socket, inject: () => void): void {
    this.isArrivingProven = true;
    this.guard.run(inject, () => socket.destroy());
    this.isArrivingProven = false;
  }

  opened(session: ServerHttp2Session, begin: () => void): void {
    if (this.isArrivingProven) {
      begin();
      return;
    }
    // What Node shows in its place has no address. It is told of within the arrival.
    if (this.arrivingSocket !== null) Object.defineProperty(session, 'socket', { value: this.arrivingSocket });
    const endAsEver = endLater(session);
    let streams = 0;
    const one = {
      begin: (): void => {
        session.off('stream', count);
        endAsEver();
        begin();
      },
      isCut: false,
    };
    // Of a stream that ends in the piece that it began in, nothing is left to be judged; so all that begin are counted.
    const count = (): void => {
      streams += 1;
      // Behind the judgement of those before it, which may prove the caller.
      if (streams === STRANGE_STREAMS_MAX + 1) setImmediate(cut);
    };
    const cut = (): void => {
      if (!this.unproven.has(session)) return;
      one.isCut = true;
      session.destroy();
    };
    session.on('stream', count);
    this.unproven.set(session, one);
  }

  arrived(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, serve: () => void): void {
    // Without a listener, an error of a stream would end the process.
    stream.on('error', () => undefined);
    const { session } = stream;
    setImmediate(() =>
      this.guard.run(
        () => this.judge(session, stream, headers, serve),
        () => stream.destroy(),
      ),
    );
  }

  private judge(
    session: Http2Session | undefined,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    serve: () => void,
  ): void {
    // The stream or the connection may have ended by now, also by what came in the same piece.
    if (stream.destroyed || stream.closed || session === undefined || session.destroyed) {
      stream.destroy();
      return;
    }
    const strange = this.unproven.get(session);
    // The connection ends in a moment, and its streams with it: none of those that are left is worth an answer.
    if (strange?.isCut === true) return;
    if (!headers['content-type']?.startsWith(CONTENT_TYPE)) {
      stream.respond({ ':status': constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE }, { endStream: true });
      stream.resume();
      return;
    }
    const path = headers[':path'] ?? '';
    const metadata = metadataOfHeaders(headers);
    const peer = peerOf(session.socket);
    if (path === membersDefinition.Hello.path) {
      let greeting: Metadata | null = null;
      const refusal = this.admission.hello(metadata, peer, (answer) => (greeting = answer));
      if (refusal === null && greeting !== null) this.greet(stream, greeting);
      else refuse(stream, refusal ?? { code: status.OK, details: '' });
      return;
    }
    const refusal = this.admission.stream(metadata, path, peer);
    if (refusal !== null) {
      refuse(stream, refusal);
      return;
    }
    this.unproven.delete(session);
    strange?.begin();
    serve();
  }

  private greet(stream: ServerHttp2Stream, greeting: Metadata): void {
    stream.once(
      'wantTrailers',
      this.guard.around(
        () => stream.sendTrailers({ 'grpc-status': status.OK, 'grpc-message': '' }),
        () => setImmediate(() => stream.destroy()),
      ),
    );
    stream.respond({ ...HEAD, ...greeting.toHttp2Headers() }, { waitForTrailers: true });
    stream.end();
    stream.resume();
  }
}

/** Sends the status alone. What else comes on this stream is dropped. */
function refuse(stream: ServerHttp2Stream, { code, details, metadata }: Refusal): void {
  stream.respond(
    { ...HEAD, 'grpc-status': code, 'grpc-message': encodeURI(details), ...metadata?.toHttp2Headers() },
    { endStream: true },
  );
  stream.resume();
}

function listenerOf<Name extends keyof Listeners>(library: Listeners, name: Name): Listeners[Name] {
  const listener = library[name];
  if (typeof listener !== 'function') throw new TypeError(`the gRPC library has no ${name}`);
  return listener;
}
