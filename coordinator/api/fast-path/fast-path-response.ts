import { EventEmitter } from 'node:events';
import { type OutgoingHttpHeaders, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { AnswerRoom } from '../load/answer-room';

/** Statuses whose answers have no body and say no length (RFC 9110, 6.4.1). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304]);
/** What Node's own answers refuse, too: it would end the header. */
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const LAST_CHUNK = '0\r\n\r\n';

/** As Node's server says it: the whole seconds of the time. */
let dateSecond = NaN;
let dateText = '';

function dateNow(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}

/**
 * The answer to a FastPathRequest, in the form of Node's ServerResponse as far as it is used here. A short one is
 * written as one string. It can't be the answer to a request that is still arriving, nor to HEAD.
 */
export class FastPathResponse {
  headersSent = false;
  shouldKeepAlive = true;
  statusCode = 200;
  writableEnded = false;
  private head = '';
  private isHeadWritten = false;
  private hasLength = false;
  private isChunked = false;
  /** For `finish`; made for the few answers of which somebody waits for the end. */
  private emitter: EventEmitter | null = null;

  /**
   * `keepAlive`: the line of the header of that name. `handle`: of the open connection, if bytes may be given to it
   * directly. `done` is called once, when all of the answer was given to the system, or the client is gone.
   */
  constructor(
    readonly socket: Socket,
    private readonly keepAlive: string,
    private readonly done: () => void,
    private readonly handle = -1,
  ) {}

  get destroyed(): boolean {
    return this.socket.destroyed;
  }

  get writableLength(): number {
    return this.socket.writableLength;
  }

  /** Node's server asks so of an answer under way: such a connection is not idle. */
  get finished(): boolean {
    return this.writableEnded;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): this {
    this.statusCode = status;
    this.headersSent = true;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    for (const name in headers) {
      const value = headers[name];
      if (value === undefined) continue;
      if (name === 'connection') {
        this.shouldKeepAlive &&= value !== 'close';
        continue;
      }
      if (name === 'content-length') this.hasLength = true;
      if (typeof value === 'object') for (const one of value) head += line(name, one);
      else head += line(name, value);
    }
    this.head = `${head}Date: ${dateNow()}\r\n${this.shouldKeepAlive ? `Connection: keep-alive\r\n${this.keepAlive}` : 'Connection: close\r\n'}`;
    return this;
  }

  /** Answers whether the client takes more at once; otherwise `drain` follows. */
  write(text: string | Buffer): boolean {
    if (this.socket.destroyed || text.length === 0) return true;
    if (!this.isHeadWritten && !this.hasLength) {
      this.isChunked = true;
      this.head += 'Transfer-Encoding: chunked\r\n';
    }
    this.socket.cork();
    this.sendHead();
    const isTaken = this.isChunked ? this.writeChunk(text) : this.socket.write(text);
    this.socket.uncork();
    return isTaken;
  }

  end(text: string | Buffer): this {
    if (this.writableEnded) return this;
    this.writableEnded = true;
    if (this.socket.destroyed) return this;
    if (!this.isHeadWritten && !this.hasLength && !WITHOUT_BODY.has(this.statusCode))
      this.head += `Content-Length: ${Buffer.byteLength(text)}\r\n`;
    if (!this.isHeadWritten && typeof text === 'string') {
      this.isHeadWritten = true;
      this.socket.write(`${this.head}\r\n${text}`, this.sent);
    } else {
      this.socket.cork();
      this.sendHead();
      if (this.isChunked) {
        if (text.length > 0) this.writeChunk(text);
        this.socket.write(LAST_CHUNK, this.sent);
      } else {
        this.socket.write(text, this.sent);
      }
      this.socket.uncork();
    }
    if (!this.shouldKeepAlive) this.socket.destroySoon();
    return this;
  }

  /**
   * Ends the answer with what `room` holds, whose length its head says. What the system takes at once costs no writing
   * of a stream.
   */
  endWith(room: AnswerRoom): void {
    const { socket } = this;
    this.writableEnded = true;
    this.isHeadWritten = true;
    if (socket.destroyed) return;
    const isTogether = room.writeHead(`${this.head}\r\n`);
    if (!isTogether) socket.write(`${this.head}\r\n`, 'latin1');
    // Behind what is still to be written, it has to wait in any case.
    const left = socket.writableLength > 0 || this.handle < 0 ? null : room.sendNow(this.handle);
    if (left === 0) this.sent();
    else socket.write(room.copy(left ?? undefined), this.sent);
    if (!this.shouldKeepAlive) socket.destroySoon();
  }

  /** Breaks the connection off, and with it an answer that has begun. */
  destroy(): this {
    this.socket.destroy();
    return this;
  }

  /**
   * `drain` and `close` are those of the connection. There are no errors: of one that breaks, it is enough to know that
   * it is closed.
   */
  on(event: string, listener: (...values: unknown[]) => void): this {
    if (event === 'finish') (this.emitter ??= new EventEmitter()).on(event, listener);
    else if (event !== 'error') this.socket.on(event, listener);
    return this;
  }

  off(event: string, listener: (...values: unknown[]) => void): this {
    if (event === 'finish') this.emitter?.off(event, listener);
    else if (event !== 'error') this.socket.off(event, listener);
    return this;
  }

  /** Of Node's server, about this connection: that nothing moves on it says nothing of an answer that is being made. */
  emit(event: string): boolean {
    return event === 'timeout' && !this.writableEnded;
  }

  private readonly sent = (): void => {
    this.done();
    this.emitter?.emit('finish');
  };

  private sendHead(): void {
    if (this.isHeadWritten) return;
    this.isHeadWritten = true;
    this.socket.write(`${this.head}\r\n`);
  }

  private writeChunk(text: string | Buffer): boolean {
    this.socket.write(`${Buffer.byteLength(text).toString(16)}\r\n`);
    this.socket.write(text);
    return this.socket.write('\r\n');
  }
}

function line(name: string, value: string | number): string {
  if (typeof value === 'string' && BAD_VALUE.test(value))
    throw new TypeError(`the header ${name} has characters that no header may have`);
  return `${name}: ${value}\r\n`;
}
