import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * Of a stranger's connection, what is read at once: some thirty of the shortest requests fit in, each of which takes
 * Node tens of microseconds. A member's hello is as long.
 */
const PIECE_BYTES = 512;
/**
 * Connections of strangers that are read from in one turn of the event loop, so that it takes no more than a few
 * milliseconds.
 */
const PIECES_A_TURN = 4;

const NOTHING = Buffer.alloc(0);

/** Connections with bytes that are to be read, the longest waiting first. Each gets one piece in its turn. */
class Turns {
  private readonly waiting = new Set<StrangeBytes>();
  private isAsked = false;

  ask(one: StrangeBytes): void {
    this.waiting.add(one);
    if (this.isAsked) return;
    this.isAsked = true;
    setImmediate(() => this.take());
  }

  private take(): void {
    this.isAsked = false;
    const some: StrangeBytes[] = [];
    for (const one of this.waiting) {
      if (some.length === PIECES_A_TURN) break;
      some.push(one);
    }
    for (const one of some) {
      this.waiting.delete(one);
      // Asks again, behind all others, where it has more.
      one.takeTurn();
    }
    const [next] = this.waiting;
    if (next !== undefined) this.ask(next);
  }
}

const turns = new Turns();

/**
 * The bytes of a connection on their way to Node's HTTP/2. From the socket, Node would read 64 KiB at once and up to 32
 * times in a turn of the event loop: thousands of streams, before anything could be refused. So as long as its other
 * end has not proven to be a member (`isProven`), a connection is read in small pieces, in turns with all such
 * connections of the thread; then as it comes.
 */
export class StrangeBytes extends Duplex {
  private isStrange = true;
  /** What came and was not passed on; the socket is paused as long as there is any. */
  private later: Buffer = NOTHING;
  /** The client sends nothing more. */
  private isLast = false;
  private isWanted = true;

  constructor(
    private readonly socket: Socket,
    private readonly isProven: () => boolean,
  ) {
    super();
    // Node's HTTP/2 would have it so, and does not find the socket behind this.
    socket.setNoDelay(true);
    socket.on('data', (piece: Buffer) => this.arrived(piece));
    socket.on('end', () => {
      this.isLast = true;
      if (this.later.length === 0) this.push(null);
    });
    socket.on('close', () => this.destroy());
    // `close` follows.
    socket.on('error', () => undefined);
  }

  /** Passes the next piece on. */
  takeTurn(): void {
    if (this.destroyed) return;
    this.isStrange = !this.isProven();
    const piece = this.isStrange ? this.later.subarray(0, PIECE_BYTES) : this.later;
    this.later = this.later.subarray(piece.length);
    this.isWanted = this.push(piece);
    this.goOn();
  }

  override _read(): void {
    this.isWanted = true;
    this.goOn();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(bytes, done);
  }

  override _writev(pieces: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    const { socket } = this;
    socket.cork();
    pieces.forEach(({ chunk }, i) => socket.write(chunk, i === pieces.length - 1 ? done : undefined));
    socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.later = NOTHING;
    this.socket.destroy();
    done(error);
  }

  private arrived(piece: Buffer): void {
    if (!this.isStrange) {
      this.isWanted = this.push(piece);
      if (!this.isWanted) this.socket.pause();
      return;
    }
    // One that was read before it was paused may follow another.
    this.later = this.later.length === 0 ? piece : Buffer.concat([this.later, piece]);
    this.socket.pause();
    if (this.isWanted) turns.ask(this);
  }

  private goOn(): void {
    if (this.later.length > 0) {
      if (this.isWanted) turns.ask(this);
    } else if (this.isLast) this.push(null);
    else if (this.isWanted) this.socket.resume();
  }
}
