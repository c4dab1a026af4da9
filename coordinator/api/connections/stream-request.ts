import { Http2ServerRequest, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

/** What a client sends that wants to be invited before it sends its body; in any letters, as over HTTP/1.1. */
const CONTINUE = '100-continue';

/** A request of HTTP/2 in the form of HTTP/1.1: a body of unknown length has the transfer encoding `chunked`. */
export class StreamRequest extends Http2ServerRequest {
  /** Whether the client waits for an invitation. Any other expectation is ignored, as over HTTP/1.1. */
  readonly awaitsContinue: boolean;

  /** `socket`: of the connection. */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[], socket: Socket) {
    super(stream, headers, {}, rawHeaders);
    this.awaitsContinue = headers.expect?.toLowerCase() === CONTINUE;
    if (headers['content-length'] === undefined && !stream.endAfterHeaders) headers['transfer-encoding'] = 'chunked';
    // Node's own finds the socket through the session, and throws once that is gone.
    Object.defineProperty(this, 'socket', { value: socket });
    // Of a body that ends early, `close` tells.
    this.on('error', () => undefined);
  }
}
