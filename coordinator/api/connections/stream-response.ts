import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { ListenerGuard } from '../../../shared/base/process/listener-guard';

/** What belongs to a connection of HTTP/1.1 and is an error over HTTP/2 (RFC 9113, section 8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);
/** Statuses whose answers have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * What `writeHead` takes beside the status: a message, which HTTP/2 has no place for, and headers by name, in turns, or
 * in pairs.
 */
type Head = OutgoingHttpHeaders | readonly unknown[] | string | undefined;

/**
 * An answer over HTTP/2 in the form of Node's ServerResponse, as far as it is used here. A client may end its stream at
 * any time, also before the request is looked at: to one that has ended, nothing is written, and nothing here throws
 * because of it. `connection: close` ends the connection when its answers are sent.
 *
 * Events of streams, and all that follows them in the same turn, come while the library reads. Some versions of Node
 * send at once what ends a stream or a connection then, and so free what is being read (nodejs/node#64113, #65093): a
 * stranger could corrupt the heap of the process. So all of that is done in a later turn.
 */
export class StreamResponse {
  statusCode = 200;
  shouldKeepAlive = true;
  writableEnded = false;
  private isRestUnwanted = false;
  /** The stream is about to be reset; the head is about to be sent, with the end of the answer. */
  private isReset = false;
  private isHeadPutOff = false;

  /**
   * `socket`: of the connection. `isHead`: whether it answers HEAD, so that it has no body. `leave`: ends the
   * connection after its answers. `guard`: for what is done later.
   */
  constructor(
    readonly stream: ServerHttp2Stream,
    readonly socket: Socket,
    private readonly parts: { isHead: boolean; leave: () => void; guard: ListenerGuard },
  ) {
    stream.once(
      'wantTrailers',
      parts.guard.around(
        () => this.endStream(),
        () => this.destroy(),
      ),
    );
  }

  get headersSent(): boolean {
    return this.stream.headersSent || this.isHeadPutOff;
  }

  /** Whether nothing more can be sent. */
  get destroyed(): boolean {
    return this.isReset || this.stream.destroyed || this.stream.closed;
  }

  get writableLength(): number {
    return this.stream.writableLength;
  }

  writeHead(status: number, ...head: Head[]): this {
    const { stream } = this;
    this.statusCode = status;
    if (this.destroyed || this.headersSent) return this;
    const headers: OutgoingHttpHeaders = {};
    for (const [name, value] of fieldsOf(head)) {
      const lower = name.toLowerCase();
      if (lower === 'connection' && value === 'close') this.shouldKeepAlive = false;
      if (!OF_CONNECTIONS.has(lower) && value !== undefined) headers[lower] = value;
    }
    if (!this.shouldKeepAlive) this.later(this.parts.leave);
    if (!this.hasBody) {
      this.isHeadPutOff = true;
      this.later(() => this.destroyed || stream.respond({ ...headers, ':status': status }, { endStream: true }));
      return this;
    }
    // Where the request is over, nobody has to know when the answer is.
    const isRequestOver = stream.endAfterHeaders || stream.readableEnded;
    stream.respond({ ...headers, ':status': status }, { waitForTrailers: !isRequestOver });
    return this;
  }

  /** Invites the client to send its body. */
  writeContinue(): void {
    if (!this.destroyed && !this.headersSent) this.stream.additionalHeaders({ ':status': 100 });
  }

  /** Answers whether the client takes more at once; otherwise `drain` follows. */
  write(text: string | Buffer): boolean {
    if (this.writableEnded) return true;
    this.sendHead();
    return this.destroyed || !this.hasBody || this.stream.write(text);
  }

  end(text?: string | Buffer): this {
    if (this.writableEnded) return this;
    this.sendHead();
    this.writableEnded = true;
    // Without a body, the head is the end.
    if (this.destroyed || !this.hasBody) return this;
    if (text === undefined || text.length === 0) this.stream.end();
    else this.stream.end(text);
    return this;
  }

  /** Ends the answer and says that the rest of the request's body is not wanted (RFC 9113, section 8.1). */
  endBeforeRequest(text: string | Buffer): void {
    this.isRestUnwanted = true;
    this.end(text);
  }

  /**
   * Breaks the answer off. Unlike the end of a connection, the end of a stream says by its code whether the answer is
   * whole.
   */
  destroy(): this {
    return this.reset(constants.NGHTTP2_INTERNAL_ERROR);
  }

  /** Tells the client to ask for this by HTTP/1.1 (RFC 9113, section 7). */
  askForHttp1(): void {
    this.reset(constants.NGHTTP2_HTTP_1_1_REQUIRED);
  }

  /** `drain`, `finish`, `close` and `error` are those of the stream. */
  on(event: string, listener: (...values: unknown[]) => void): this {
    this.stream.on(event, listener);
    return this;
  }

  off(event: string, listener: (...values: unknown[]) => void): this {
    this.stream.off(event, listener);
    return this;
  }

  /** Whether this answer may have a body. Node ends the sending side of a HEAD before it tells of it. */
  private get hasBody(): boolean {
    return !this.parts.isHead && !WITHOUT_BODY.has(this.statusCode);
  }

  private sendHead(): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
  }

  /** In a later turn, in which the library reads nothing. What goes wrong then breaks off the stream alone. */
  private later(work: () => unknown): void {
    setImmediate(() =>
      this.parts.guard.run(work, () => {
        this.isReset = true;
        this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      }),
    );
  }

  private reset(code: number): this {
    if (this.destroyed) return this;
    this.isReset = true;
    this.later(() => this.stream.close(code));
    return this;
  }

  /** All of the answer is with the connection but its end. A reset must not overtake that. */
  private endStream(): void {
    if (this.destroyed) return;
    this.stream.sendTrailers({});
    if (this.isRestUnwanted) this.later(() => this.reset(constants.NGHTTP2_NO_ERROR));
  }
}

function fieldsOf(head: readonly Head[]): [string, OutgoingHttpHeaders[string]][] {
  const given = head.find((each) => typeof each === 'object' && each !== null) as
    | OutgoingHttpHeaders
    | readonly unknown[]
    | undefined;
  if (given === undefined) return [];
  if (!Array.isArray(given)) return Object.entries(given as OutgoingHttpHeaders);
  const flat = (Array.isArray(given[0]) ? given.flat() : given) as string[];
  return Array.from({ length: Math.floor(flat.length / 2) }, (_, at) => [String(flat[2 * at]), flat[2 * at + 1]]);
}
