import { closeSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/** What is read and kept at once. Chunks begin with a frame, so a frame holds bytes of one chunk alone. */
export const CHUNK_FRAME_BYTES = 4096;
const CHECKSUM_BYTES = 4;
/** Bytes of a chunk in a frame; the checksum of all of them is behind them. */
export const FRAME_CONTENT_BYTES = CHUNK_FRAME_BYTES - CHECKSUM_BYTES;
/** 16 MiB for each thread that reads; behind them is the system's page cache. */
const FRAME_BITS = 12;
const FRAMES = 1 << FRAME_BITS;

/** Frames of a thread's files, each at the one place that its file and number lead to. */
interface FrameCache {
  bytes: Buffer;
  files: Uint32Array;
  numbers: Uint32Array;
}

let frameCache: FrameCache | null = null;
let lastFile = 0;

/** The bytes of a chunk as they are in a file: whole frames, the last one filled up with zeros. */
export function framesOf(bytes: Buffer): Buffer {
  const count = Math.ceil(bytes.length / FRAME_CONTENT_BYTES);
  const frames = Buffer.alloc(count * CHUNK_FRAME_BYTES);
  for (let i = 0; i < count; i++) {
    const content = frames.subarray(i * CHUNK_FRAME_BYTES, i * CHUNK_FRAME_BYTES + FRAME_CONTENT_BYTES);
    bytes.copy(content, 0, i * FRAME_CONTENT_BYTES, (i + 1) * FRAME_CONTENT_BYTES);
    frames.writeUInt32LE(crc32(content), i * CHUNK_FRAME_BYTES + FRAME_CONTENT_BYTES);
  }
  return frames;
}

/**
 * A file of chunks (ChunkStore) as one thread reads it: through frames that the thread keeps, in bounded memory. What
 * was written to a place once never changes, so nothing that is kept has to be forgotten; what is not as it was written
 * is no answer. Positions count the bytes of chunks alone, without checksums. Reads block the thread.
 */
export class ChunkFile {
  /** Of no other file that this thread ever reads. */
  private readonly number = ++lastFile;
  private file = -1;

  constructor(readonly path: string) {}

  /** `length` bytes as text. Throws what the system says, and a plain Error where they are not there or are damaged. */
  text(encoding: BufferEncoding, position: number, length: number): string {
    if (length === 0) return '';
    const within = position % FRAME_CONTENT_BYTES;
    if (within + length > FRAME_CONTENT_BYTES) return this.read(position, length).toString(encoding);
    const at = this.frame((position - within) / FRAME_CONTENT_BYTES);
    return cache().bytes.toString(encoding, at + within, at + within + length);
  }

  /** `length` bytes, which are the caller's until the next call of any file. Throws as {@link text}. */
  read(position: number, length: number): Buffer {
    const within = position % FRAME_CONTENT_BYTES;
    if (within + length <= FRAME_CONTENT_BYTES) {
      const at = length === 0 ? 0 : this.frame((position - within) / FRAME_CONTENT_BYTES);
      return cache().bytes.subarray(at + within, at + within + length);
    }
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      const from = (position + done) % FRAME_CONTENT_BYTES;
      const count = Math.min(FRAME_CONTENT_BYTES - from, length - done);
      const at = this.frame((position + done - from) / FRAME_CONTENT_BYTES);
      cache().bytes.copy(bytes, done, at + from, at + from + count);
      done += count;
    }
    return bytes;
  }

  /**
   * A chunk at a position, past the frames that are kept: for what is read once and is long. Throws as {@link text}.
   */
  readLong(position: number, length: number): Buffer {
    const frames = Buffer.allocUnsafeSlow(Math.ceil(length / FRAME_CONTENT_BYTES) * CHUNK_FRAME_BYTES);
    const from = (position / FRAME_CONTENT_BYTES) * CHUNK_FRAME_BYTES;
    for (let done = 0; done < frames.length;) {
      const got = readSync(this.open(), frames, done, frames.length - done, from + done);
      if (got === 0) throw new Error(`${this.path} ends early`);
      done += got;
    }
    // To the front of where they are: no frame is written over before it was read.
    for (let i = 0; i * CHUNK_FRAME_BYTES < frames.length; i++) {
      this.mustBeSound(frames, i * CHUNK_FRAME_BYTES);
      frames.copyWithin(i * FRAME_CONTENT_BYTES, i * CHUNK_FRAME_BYTES, i * CHUNK_FRAME_BYTES + FRAME_CONTENT_BYTES);
    }
    return frames.subarray(0, length);
  }

  /** From here on it can be read although it is removed. */
  hold(): void {
    this.open();
  }

  close(): void {
    if (this.file >= 0) closeSync(this.file);
    this.file = -1;
  }

  /** Where the frame is among those that are kept. */
  private frame(number: number): number {
    const { bytes, files, numbers } = cache();
    const place = (Math.imul(this.number, 0x9e3779b1) + Math.imul(number, 0x85ebca6b)) >>> (32 - FRAME_BITS);
    const at = place * CHUNK_FRAME_BYTES;
    if (files[place] !== this.number || numbers[place] !== number) {
      files[place] = 0;
      if (readSync(this.open(), bytes, at, CHUNK_FRAME_BYTES, number * CHUNK_FRAME_BYTES) < CHUNK_FRAME_BYTES)
        throw new Error(`${this.path} ends early`);
      this.mustBeSound(bytes, at);
      files[place] = this.number;
      numbers[place] = number;
    }
    return at;
  }

  private mustBeSound(bytes: Buffer, at: number): void {
    const end = at + FRAME_CONTENT_BYTES;
    if (crc32(bytes.subarray(at, end)) !== bytes.readUInt32LE(end)) throw new Error(`${this.path} is damaged`);
  }

  private open(): number {
    if (this.file < 0) this.file = openSync(this.path, 'r');
    return this.file;
  }
}

function cache(): FrameCache {
  frameCache ??= {
    bytes: Buffer.allocUnsafeSlow(FRAMES * CHUNK_FRAME_BYTES),
    files: new Uint32Array(FRAMES),
    numbers: new Uint32Array(FRAMES),
  };
  return frameCache;
}
