import type { Server } from '@grpc/grpc-js';
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Logger } from '../logs/logger';
import { ListenerGuard } from '../process/listener-guard';

type StreamListener = (interceptors: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
type SessionListener = (session: ServerHttp2Session) => void;

/** What the library registers with each HTTP/2 server that it makes (grpc-js 1.14, `_setupHandlers`). */
interface Listeners {
  _streamHandler: StreamListener;
  _channelzHandler: StreamListener;
  _sessionHandler: (server: Http2Server) => SessionListener;
  _channelzSessionHandler: (server: Http2Server) => SessionListener;
}

/**
 * Stands before the library's listeners for streams and sessions, which run before a caller is proven. They answer unknown
 * methods and other content types at once, and throw when the stream has ended by then: of what came in one piece, Node tells
 * a stream when its end is read, too. Whatever goes wrong ends that stream or session alone. To be called before the server
 * takes connections; throws when the library has other listeners.
 */
export function guardStreams(server: Server, log: Pick<Logger, 'warn'>): void {
  const library = server as unknown as Listeners;
  const guard = new ListenerGuard((error, untold) => log.warn({ error, untold }, 'a stream of another process was broken off by an error'));
  for (const name of ['_streamHandler', '_channelzHandler'] as const) {
    const listen = listenerOf(library, name);
    library[name] = function (this: unknown, interceptors, stream, headers) {
      stream.on('error', () => undefined);
      if (stream.destroyed || stream.closed) {
        stream.destroy();
        return;
      }
      guard.run(
        () => listen.call(this, interceptors, stream, headers),
        () => stream.destroy(),
      );
    };
  }
  for (const name of ['_sessionHandler', '_channelzSessionHandler'] as const) {
    const listenerFor = listenerOf(library, name);
    library[name] = function (this: unknown, http2Server) {
      const listen = listenerFor.call(this, http2Server);
      return guard.around(listen, (session) => session.destroy());
    };
  }
}

function listenerOf<Name extends keyof Listeners>(library: Listeners, name: Name): Listeners[Name] {
  const listener = library[name];
  if (typeof listener !== 'function') throw new TypeError(`the gRPC library has no ${name}`);
  return listener;
}
