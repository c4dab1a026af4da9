import { closeSync, openSync, readSync } from 'node:fs';

/** What is read and kept at once. Chunks begin at multiples of it, so a frame holds bytes of one chunk alone. */
export const CHUNK_FRAME_BYTES = 4096;
/** 16 MiB for each thread that reads; behind them is the system's page cache. */
const FRAME_BITS = 12;
const FRAMES = 1 << FRAME_BITS;

/** Frames of a thread's files, each at the one place that its file and number lead to. */
interface FrameCache {
  bytes: Buffer;
  files: Uint32Array;
  numbers: Uint32Array;
  /** How many bytes of the frame the file had. */
  lengths: Uint16Array;
}

let frameCache: FrameCache | null = null;
let lastFile = 0;

/**
 * A file of chunks (ChunkStore) as one thread reads it: through frames that the thread keeps, in bounded memory. What was
 * written to a place once never changes, so nothing that is kept has to be forgotten. Reads block the thread.
 */
export class ChunkFile {
  /** Of no other file that this thread ever reads. */
  private readonly number = ++lastFile;
  private file = -1;

  constructor(readonly path: string) {}

  /** `length` bytes as text. Throws what the system says, and a plain Error where the file ends before them. */
  text(encoding: BufferEncoding, position: number, length: number): string {
    if (length === 0) return '';
    const within = position % CHUNK_FRAME_BYTES;
    if (within + length > CHUNK_FRAME_BYTES) return this.read(position, length).toString(encoding);
    const at = this.frame((position - within) / CHUNK_FRAME_BYTES, within + length);
    return cache().bytes.toString(encoding, at + within, at + within + length);
  }

  /** `length` bytes, which are the caller's until the next call of any file. Throws as {@link text}. */
  read(position: number, length: number): Buffer {
    const within = position % CHUNK_FRAME_BYTES;
    if (within + length <= CHUNK_FRAME_BYTES) {
      const at = length === 0 ? 0 : this.frame((position - within) / CHUNK_FRAME_BYTES, within + length);
      return cache().bytes.subarray(at + within, at + within + length);
    }
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      const from = (position + done) % CHUNK_FRAME_BYTES;
      const count = Math.min(CHUNK_FRAME_BYTES - from, length - done);
      const at = this.frame((position + done - from) / CHUNK_FRAME_BYTES, from + count);
      cache().bytes.copy(bytes, done, at + from, at + from + count);
      done += count;
    }
    return bytes;
  }

  /** The same past the frames: for what is read once and is long. */
  readLong(position: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let done = 0; done < length;) {
      const got = readSync(this.open(), bytes, done, length - done, position + done);
      if (got === 0) throw new Error(`${this.path} ends early`);
      done += got;
    }
    return bytes;
  }

  /** From here on it can be read although it is removed. */
  hold(): void {
    this.open();
  }

  close(): void {
    if (this.file >= 0) closeSync(this.file);
    this.file = -1;
  }

  /** Where the frame is among those that are kept; `needed`: how many of its bytes must be there. */
  private frame(number: number, needed: number): number {
    const { bytes, files, numbers, lengths } = cache();
    const place = (Math.imul(this.number, 0x9e3779b1) + Math.imul(number, 0x85ebca6b)) >>> (32 - FRAME_BITS);
    const at = place * CHUNK_FRAME_BYTES;
    if (files[place] !== this.number || numbers[place] !== number || lengths[place] < needed) {
      files[place] = 0;
      lengths[place] = readSync(this.open(), bytes, at, CHUNK_FRAME_BYTES, number * CHUNK_FRAME_BYTES);
      if (lengths[place] < needed) throw new Error(`${this.path} ends early`);
      files[place] = this.number;
      numbers[place] = number;
    }
    return at;
  }

  private open(): number {
    if (this.file < 0) this.file = openSync(this.path, 'r');
    return this.file;
  }
}

function cache(): FrameCache {
  frameCache ??= { bytes: Buffer.allocUnsafeSlow(FRAMES * CHUNK_FRAME_BYTES), files: new Uint32Array(FRAMES), numbers: new Uint32Array(FRAMES), lengths: new Uint16Array(FRAMES) };
  return frameCache;
}
