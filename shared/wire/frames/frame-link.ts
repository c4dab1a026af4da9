import type { Socket } from 'node:net';
import { MESSAGE_BYTES_MAX } from '../streams/message-bounds';
import { peerOf } from '../handshake/unproven-connections';

/**
 * Frames on a connection of their own, without HTTP/2:
 *
 *   u32 little-endian number of bytes of the content, u8 type, content
 *
 *   hello     client → server  fields of the handshake (handshake-metadata.ts), as JSON
 *   greeting  server → client  the answer to it, as JSON
 *   stream    client → server  what opens the stream, as JSON
 *   admitted  server → client  nothing
 *   refused   server → client  why a hello or a stream is refused, as JSON; the connection ends then
 *   message   both             once admitted: one message
 *   ping      both             nothing; answered by a pong
 */
export const FRAME_TYPES = {
  hello: 0,
  greeting: 1,
  stream: 2,
  admitted: 3,
  refused: 4,
  message: 5,
  ping: 6,
  pong: 7,
} as const;
export type FrameType = (typeof FRAME_TYPES)[keyof typeof FRAME_TYPES];

export const FRAME_HEAD_BYTES = 5;
/** The most that a frame of the handshake may hold: as much as HTTP/2 takes of metadata. */
const HANDSHAKE_BYTES_MAX = 16 * 1024;

/**
 * A connection on which nothing is heard is asked for a sign of life after one to two looks, and cut after three:
 * within 3 s, and not before the other side had two looks to answer in. Looks are counted, not time, so a pause of this
 * process is none of the other side's.
 */
const KEEP_ALIVE_MS = 700;
const SILENT_LOOKS_MAX = 3;
/**
 * On a connection that is quiet by intent, whoever owes no answer may say nothing for so many looks before it is asked:
 * longer than the pauses of what is said there (TIMINGS.dormantHeartbeatMs), or signs of life would be most of it.
 */
const QUIET_LOOKS = 8;

const NOTHING = Buffer.alloc(0);

/** A frame as it is sent. */
export function frameOf(type: FrameType, content: Buffer | null): Buffer {
  const length = content === null ? 0 : content.length;
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + length);
  frame.writeUInt32LE(length, 0);
  frame[4] = type;
  content?.copy(frame, FRAME_HEAD_BYTES);
  return frame;
}

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  /** The most that a frame may hold. */
  bytesMax = HANDSHAKE_BYTES_MAX;
  private isOver = false;
  private rest: Buffer[] = [];
  private restBytes = 0;
  /** Without so many bytes there is no further frame. */
  private wanted = FRAME_HEAD_BYTES;

  /** `frame`'s bytes are part of a chunk that was taken. */
  constructor(private readonly frame: (type: number, bytes: Buffer) => void) {}

  /**
   * Answers what follows the frame at which it was ended; nothing where it was not. Throws at a frame that is too long,
   * and what `frame` throws. Nothing may be taken after that.
   */
  take(chunk: Buffer): Buffer {
    let bytes = chunk;
    if (this.restBytes > 0) {
      this.rest.push(chunk);
      this.restBytes += chunk.length;
      if (this.restBytes < this.wanted) return NOTHING;
      bytes = Buffer.concat(this.rest, this.restBytes);
      this.rest = [];
      this.restBytes = 0;
    }
    let at = 0;
    this.wanted = FRAME_HEAD_BYTES;
    while (!this.isOver && bytes.length - at >= FRAME_HEAD_BYTES) {
      const length = bytes.readUInt32LE(at);
      if (length > this.bytesMax) throw new Error(`a frame of ${length} bytes; at most ${this.bytesMax} are taken`);
      const end = at + FRAME_HEAD_BYTES + length;
      if (end > bytes.length) {
        this.wanted = end - at;
        break;
      }
      const type = bytes[at + 4];
      const from = at + FRAME_HEAD_BYTES;
      at = end;
      this.frame(type, bytes.subarray(from, end));
    }
    if (at === bytes.length) return NOTHING;
    if (this.isOver) return bytes.subarray(at);
    this.rest = [at === 0 ? bytes : bytes.subarray(at)];
    this.restBytes = bytes.length - at;
    return NOTHING;
  }

  /** Takes no further frame, not even of a chunk that is being taken. */
  end(): void {
    this.isOver = true;
    this.rest = [];
    this.restBytes = 0;
  }
}

/**
 * All connections of a process are looked at together: timers of their own would wake a node with a hundred of them all
 * the time.
 */
class KeepAliveTimer {
  private readonly links = new Set<() => void>();
  private timer: NodeJS.Timeout | null = null;

  begin(look: () => void): void {
    this.links.add(look);
    this.timer ??= setInterval(() => {
      for (const one of this.links) one();
    }, KEEP_ALIVE_MS).unref();
  }

  end(look: () => void): void {
    this.links.delete(look);
    if (this.links.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }
}

const keepAlive = new KeepAliveTimer();

/** One end of a connection that carries frames. It watches over whether the other end is there. */
export class FrameLink {
  private readonly reader: FrameReader;
  private readonly look = (): void => this.watch();
  private hasHeard = true;
  private silentLooks = 0;
  private quietLooks = 0;
  /** A message was sent that is answered, and nothing was heard since. */
  private isOwed = false;
  private isAdmitted = false;
  private isOver = false;
  private error: Error | null = null;

  /**
   * `frame` may throw: the connection is cut then. `ended` is called once, not within the constructor; nothing follows.
   */
  constructor(
    private readonly socket: Socket,
    private readonly parts: {
      frame: (type: number, bytes: Buffer) => void;
      ended: (reason: string) => void;
      /** What is said here comes seldom: this end asks or answers. Absent: often. */
      quiet?: 'asks' | 'answers' | undefined;
    },
  ) {
    this.reader = new FrameReader((type, bytes) => this.take(type, bytes));
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.hear(chunk));
    socket.on('end', () => this.end('the other side ended the stream'));
    socket.on('error', (error) => (this.error = error));
    socket.on('close', () => this.end(this.error?.message ?? 'the connection was lost'));
    keepAlive.begin(this.look);
    // Whoever greeted has paused it.
    socket.resume();
  }

  get peer(): string {
    return peerOf(this.socket);
  }

  /** The other side has proven itself: messages may follow. */
  admit(): void {
    this.reader.bytesMax = MESSAGE_BYTES_MAX;
    this.isAdmitted = true;
  }

  /** Sends a frame. `taken` is called when the connection has it, but never after the end. */
  send(type: FrameType, bytes: Buffer | null, taken?: () => void): void {
    if (this.isOver) return;
    if (type === FRAME_TYPES.message) this.isOwed = this.parts.quiet === 'asks';
    const frame = frameOf(type, bytes);
    if (taken === undefined) this.socket.write(frame);
    else this.socket.write(frame, (error) => void (!error && !this.isOver && taken()));
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  isPaused(): boolean {
    return this.socket.isPaused();
  }

  /** Sends what was sent before, and then the end. */
  finish(): void {
    this.socket.end();
  }

  /** Cuts the connection. */
  cut(reason: string): void {
    this.socket.destroy();
    this.end(reason);
  }

  private hear(chunk: Buffer): void {
    this.hasHeard = true;
    this.isOwed = false;
    try {
      this.reader.take(chunk);
    } catch (error) {
      this.cut((error as Error).message);
    }
  }

  private take(type: number, bytes: Buffer): void {
    if (type === FRAME_TYPES.ping) this.send(FRAME_TYPES.pong, null);
    else if (type !== FRAME_TYPES.pong) this.parts.frame(type, bytes);
  }

  private watch(): void {
    // Whoever is not read from can't be heard.
    if (this.hasHeard || this.socket.isPaused()) {
      this.hasHeard = false;
      this.silentLooks = 0;
      this.quietLooks = 0;
      return;
    }
    if (this.maySayNothing()) {
      this.quietLooks += 1;
      return;
    }
    this.silentLooks += 1;
    if (this.silentLooks < SILENT_LOOKS_MAX) return this.send(FRAME_TYPES.ping, null);
    // What came while this process stood still is read first.
    setImmediate(() => !this.hasHeard && this.cut('the other side says nothing'));
  }

  private maySayNothing(): boolean {
    return (
      this.parts.quiet !== undefined &&
      this.isAdmitted &&
      !this.isOwed &&
      this.silentLooks === 0 &&
      this.quietLooks < QUIET_LOOKS
    );
  }

  private end(reason: string): void {
    if (this.isOver) return;
    this.isOver = true;
    keepAlive.end(this.look);
    this.reader.end();
    this.parts.ended(reason);
  }
}
