import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { bytesTakenOf, type PaceBounds } from './reader-pace';
import { RequestTurns } from './request-turns';

/**
 * What a client sends first, and the head of each frame: three bytes of length, the type, and more (RFC 9113, sections
 * 3.4 and 4.1).
 */
const PREFACE_BYTES = 24;
const FRAME_HEAD_BYTES = 9;
const TYPE_AT = 3;
const HEADERS = 1;
const GOAWAY = 7;

const NOTHING = Buffer.alloc(0);
/** In its place among what is given to be sent, nothing more is. */
const END = Buffer.alloc(0);

/**
 * The bytes of a connection on their way to Node's HTTP/2, which gets them from JavaScript. It could read them from the
 * socket by itself; then it would go on reading after its thread is ended, tell nobody of the next request, and end the
 * whole process at the first bytes of its body (nodejs/node#38418). Here a thread that is ended reads nothing any more.
 *
 * A client's GOAWAY is left out. It changes nothing for a server, which opens no streams, but in some versions of Node
 * a request behind one, in the same piece, is refused in the midst of reading, and that corrupts the heap of the
 * process (nodejs/node#64113; StreamResponse has the other half).
 */
export class Http2Bytes extends Duplex {
  /** Bytes that are left of the preface or of a frame, and whether they are passed on. */
  private left = PREFACE_BYTES;
  private isPassed = true;
  /** The beginning of a frame's head. */
  private begun = NOTHING;
  /** What is read in the next turns, and whether the client sends nothing behind it. */
  private later: Buffer = NOTHING;
  private isLast = false;
  private isReadOver = false;
  private isSentOver = false;

  /** `turns`: of all connections of the thread. */
  constructor(
    private readonly socket: Socket,
    private readonly turns: RequestTurns = new RequestTurns(),
  ) {
    super();
    socket.on('data', (piece: Buffer) => {
      if (!this.isReadOver && !this.pass(piece, () => turns.take())) socket.pause();
    });
    socket.on('end', () => {
      this.isLast = true;
      if (this.later.length === 0) this.push(null);
    });
    socket.on('close', () => this.destroy());
    // `close` follows.
    socket.on('error', () => undefined);
  }

  /**
   * Sends what was given, and ends the connection; cuts it when the client takes that too slowly, or does not end it.
   * What follows is neither passed on nor sent.
   */
  finish({ stallTimeoutMs, stallBytesPerSecond }: PaceBounds): void {
    const { socket } = this;
    this.isReadOver = true;
    this.later = NOTHING;
    if (socket.destroyed) return;
    socket.resume();
    this.write(END);
    const leastBytes = Math.max(1, (stallBytesPerSecond * stallTimeoutMs) / 1000);
    let takenBytes = bytesTakenOf(socket);
    const look = setInterval(() => {
      const nowTaken = bytesTakenOf(socket);
      if (nowTaken - takenBytes < leastBytes) socket.destroy();
      takenBytes = nowTaken;
    }, stallTimeoutMs).unref();
    socket.once('close', () => clearInterval(look));
  }

  override _read(): void {
    if (this.later.length === 0) this.socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.send([bytes], done);
  }

  override _writev(pieces: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.send(
      pieces.map(({ chunk }) => chunk),
      done,
    );
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }

  private send(pieces: readonly Buffer[], done: (error?: Error | null) => void): void {
    if (this.isSentOver) return done();
    const { socket } = this;
    const end = pieces.indexOf(END);
    const given = end < 0 ? pieces : pieces.slice(0, end);
    socket.cork();
    given.forEach((piece, i) => socket.write(piece, i === given.length - 1 ? done : undefined));
    if (end >= 0) {
      this.isSentOver = true;
      socket.end();
    }
    socket.uncork();
    if (given.length === 0) done();
    return undefined;
  }

  /** Answers whether more is wanted at once. `mayRead`: whether one more request may be read in this turn. */
  private pass(piece: Buffer, mayRead: () => boolean): boolean {
    const bytes = this.begun.length === 0 ? piece : Buffer.concat([this.begun, piece]);
    this.begun = NOTHING;
    let isWanted = true;
    // Where what is passed on begins, and where this is.
    let from = 0;
    let at = 0;
    const passUpTo = (end: number): void => {
      if (this.isPassed && end > from) isWanted = this.push(bytes.subarray(from, end));
      from = end;
    };
    while (at < bytes.length) {
      if (this.left === 0) {
        if (bytes.length - at < FRAME_HEAD_BYTES) {
          passUpTo(at);
          this.begun = Buffer.from(bytes.subarray(at));
          return isWanted;
        }
        const type = bytes[at + TYPE_AT];
        if (type === HEADERS && !mayRead()) {
          this.passLater(bytes.subarray(at));
          passUpTo(at);
          return false;
        }
        const isPassed = type !== GOAWAY;
        if (isPassed !== this.isPassed) passUpTo(at);
        this.isPassed = isPassed;
        this.left = FRAME_HEAD_BYTES + bytes.readUIntBE(at, TYPE_AT);
      }
      const bytesHere = Math.min(this.left, bytes.length - at);
      this.left -= bytesHere;
      at += bytesHere;
    }
    passUpTo(at);
    return isWanted;
  }

  /** In a later turn. Until then the socket is paused, as when nothing more is wanted. */
  private passLater(bytes: Buffer): void {
    this.later = bytes;
    this.turns.wait((requests) => {
      const { later } = this;
      this.later = NOTHING;
      if (this.destroyed || later.length === 0) return;
      let left = requests;
      const isWanted = this.pass(later, () => left-- > 0);
      if (!isWanted) this.socket.pause();
      if (this.later.length > 0) return;
      if (this.isLast) this.push(null);
      else if (isWanted) this.socket.resume();
    });
  }
}
