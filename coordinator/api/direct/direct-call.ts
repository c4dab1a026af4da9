import { EventEmitter } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { FastPathRequest } from '../fast-path/fast-path-request';
import type { FromService } from './direct-messages';

/** Characters that may be on their way to a reader, as of a connection of HTTP. */
const UNREAD_MAX = 256 * 1024;

/** In the place of a connection, of which each call has its own. */
class DirectConnection extends EventEmitter {
  readonly remoteAddress = '127.0.0.1';
  destroyed = false;
  /** What the reader has taken. */
  bytesWritten = 0;

  destroy(): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.emit('close');
    return this;
  }
}

/** One call: its request and its answer, in the forms that those of HTTP have here. */
export class DirectCall {
  readonly request: FastPathRequest | DirectUpload;
  readonly response: DirectResponse;
  private readonly connection = new DirectConnection();

  /** `body` null: it comes in pieces. `over` is called once, when nothing more is to be said of it. */
  constructor(
    id: number,
    head: { method: string; target: string; headers: Record<string, string> },
    body: Buffer | null,
    parts: { send: (message: FromService) => void; over: () => void },
  ) {
    const socket = this.connection as unknown as Socket;
    const { method, target, headers } = head;
    if (body === null) headers['transfer-encoding'] = 'chunked';
    else if (body.length > 0) headers['content-length'] = String(body.length);
    this.request =
      body === null
        ? new DirectUpload(head, socket, () => parts.send(['wanted', id]))
        : new FastPathRequest({ method, target, headers, bytes: 0, bodyBytes: body.length }, body, socket);
    this.response = new DirectResponse(id, this.connection, parts);
  }

  /** Nobody waits for it any more. */
  gone(): void {
    if (this.request instanceof DirectUpload) this.request.destroy();
    this.response.destroy();
  }
}

/** A request whose body comes in pieces, in the form of Node's IncomingMessage as far as it is used here. */
export class DirectUpload extends Readable {
  readonly httpVersion = '1.1';
  readonly httpVersionMajor = 1;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether all of it has come. */
  complete = false;

  constructor(
    head: { method: string; target: string; headers: Record<string, string> },
    readonly socket: Socket,
    private readonly want: () => void,
  ) {
    super();
    this.method = head.method;
    this.url = head.target;
    this.headers = head.headers;
    // Of a body that ends early, `close` tells.
    this.on('error', () => undefined);
  }

  /** null: it is over. */
  arrived(bytes: Uint8Array | null): void {
    if (this.destroyed) return;
    this.complete = bytes === null;
    this.push(bytes);
  }

  override _read(): void {
    this.want();
  }
}

/** The answer of a call, in the form of Node's ServerResponse as far as it is used here. */
export class DirectResponse {
  headersSent = false;
  shouldKeepAlive = true;
  statusCode = 200;
  writableEnded = false;
  writableLength = 0;
  private head: OutgoingHttpHeaders = {};
  private isBegun = false;

  constructor(
    private readonly id: number,
    private readonly connection: DirectConnection,
    private readonly parts: { send: (message: FromService) => void; over: () => void },
  ) {}

  get socket(): Socket {
    return this.connection as unknown as Socket;
  }

  get destroyed(): boolean {
    return this.connection.destroyed;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): this {
    this.statusCode = status;
    this.headersSent = true;
    this.head = headers;
    return this;
  }

  /** Answers whether more is taken at once; otherwise `drain` follows. */
  write(text: string | Buffer): boolean {
    if (this.destroyed || text.length === 0) return true;
    if (!this.isBegun) this.parts.send(['head', this.id, this.statusCode, this.head]);
    this.isBegun = true;
    const piece = textOf(text);
    this.writableLength += piece.length;
    this.parts.send(['data', this.id, piece]);
    return this.writableLength <= UNREAD_MAX;
  }

  end(text: string | Buffer = ''): this {
    if (this.writableEnded) return this;
    this.writableEnded = true;
    if (this.destroyed) return this;
    if (this.isBegun) {
      this.writableEnded = false;
      this.write(text);
      this.writableEnded = true;
      this.parts.send(['over', this.id]);
    } else this.parts.send(['answer', this.id, this.statusCode, this.head, textOf(text)]);
    if (this.writableLength === 0) this.parts.over();
    return this;
  }

  /** The reader has read so many characters. */
  taken(characters: number): void {
    if (this.destroyed) return;
    this.writableLength -= characters;
    this.connection.bytesWritten += characters;
    if (this.writableEnded && this.writableLength === 0) {
      this.parts.over();
      this.connection.emit('finish');
    } else if (this.writableLength <= UNREAD_MAX) this.connection.emit('drain');
  }

  /** Breaks it off. */
  destroy(): this {
    if (this.destroyed) return this;
    if (!this.writableEnded || this.writableLength > 0) {
      if (!this.writableEnded) this.parts.send(['broken', this.id]);
      this.parts.over();
    }
    this.connection.destroy();
    return this;
  }

  on(event: string, listener: (...values: unknown[]) => void): this {
    if (event !== 'error') this.connection.on(event, listener);
    return this;
  }

  off(event: string, listener: (...values: unknown[]) => void): this {
    if (event !== 'error') this.connection.off(event, listener);
    return this;
  }
}

/** All that the API answers without HTTP is text. */
function textOf(text: string | Buffer): string {
  return typeof text === 'string' ? text : text.toString();
}
