import { isUtf8 } from 'node:buffer';
import { createReadStream, openSync, readSync, closeSync, statSync } from 'node:fs';
import { Readable, Transform, type TransformCallback } from 'node:stream';
import zlib from 'node:zlib';
import { Decompress } from 'fzstd';
import { CommandError, EXIT_CODES } from '../command-error';
import { ZstdFrameCheck } from './zstd-frame';

export type Compression = 'gz' | 'zst';

/** Large reads: fewer rounds for the same bytes. */
const READ_BYTES = 1 << 18;
const MAGIC: [Compression, Buffer][] = [
  ['gz', Buffer.from([0x1f, 0x8b])],
  ['zst', Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
];

/** A file or standard input as bytes, decompressed on the way. */
export class ByteSource {
  private bytesRead = 0;
  private readonly bytesTotal: number | null;

  constructor(
    /** For messages. */
    readonly name: string,
    private readonly origin: { path: string } | { stream: Readable },
    private readonly compression: Compression | null,
  ) {
    this.bytesTotal = 'path' in origin ? statSync(origin.path).size : null;
  }

  /** Where the bytes can be read in any order; null when they can't. */
  get plainPath(): string | null {
    return 'path' in this.origin && this.compression === null ? this.origin.path : null;
  }

  /** How much of the file was read, 0 to 1. */
  get share(): number | null {
    return this.bytesTotal === null ? null : this.bytesTotal === 0 ? 1 : Math.min(1, this.bytesRead / this.bytesTotal);
  }

  /** The bytes from a place on; those before it are skipped, or read and forgotten when they are compressed. */
  async *open(from = 0): AsyncGenerator<Buffer> {
    let skip = from;
    let raw: Readable;
    if ('path' in this.origin) {
      const start = this.compression === null ? from : 0;
      this.bytesRead = start;
      if (this.compression === null) skip = 0;
      raw = createReadStream(this.origin.path, { start, highWaterMark: READ_BYTES });
    } else {
      raw = this.origin.stream;
    }
    const bytes = this.compression === null ? raw : raw.pipe(decompressor(this.compression));
    if (bytes !== raw) {
      raw.on('data', (piece: Buffer) => (this.bytesRead += piece.length));
      raw.on('error', (error) => bytes.destroy(error));
    }
    try {
      for await (const piece of bytes as AsyncIterable<Buffer>) {
        if (bytes === raw) this.bytesRead += piece.length;
        if (skip >= piece.length) {
          skip -= piece.length;
          continue;
        }
        yield skip === 0 ? piece : piece.subarray(skip);
        skip = 0;
      }
    } catch (error) {
      throw new CommandError(`${this.name} can't be read: ${(error as Error).message}`, EXIT_CODES.failed, {
        cause: error,
      });
    } finally {
      raw.destroy();
    }
  }
}

function decompressor(compression: Compression): Transform {
  return compression === 'gz' ? zlib.createGunzip() : new ZstdStream();
}

/**
 * Zstandard, of any number of frames. Node has it from 22.15 on, but ends without an error where a frame is cut off,
 * and drops frames that come together (nodejs/node#64592 and #64741): rows would be missing, and nobody told.
 */
class ZstdStream extends Transform {
  /** The library makes room for whatever window a frame asks for. */
  private readonly check = new ZstdFrameCheck();
  private readonly inner = new Decompress(
    (piece) => void this.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)),
  );

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      this.check.push(piece);
      this.inner.push(piece);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  override _flush(done: TransformCallback): void {
    try {
      this.inner.push(new Uint8Array(0), true);
      done();
    } catch (error) {
      done(error as Error);
    }
  }
}

/** The same bytes; fails where they are not UTF-8: a decoder would make one character of all that it can't tell. */
export async function* inUtf8(bytes: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const wrong = (): never => {
    throw notUtf8(name);
  };
  // The beginning of a character whose rest is in the next piece.
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of bytes) {
    const text = held.length === 0 ? piece : Buffer.concat([held, piece]);
    const whole = wholeCharacters(text);
    if (!isUtf8(text.subarray(0, whole))) wrong();
    held = text.subarray(whole);
    yield piece;
  }
  if (held.length > 0) wrong();
}

/** What a file of another encoding is refused with. */
export function notUtf8(name: string, options?: ErrorOptions): CommandError {
  return new CommandError(
    `${name} is not UTF-8 text; iconv makes it that, as of Windows’ Western texts iconv -f WINDOWS-1252 -t UTF-8`,
    undefined,
    options,
  );
}

/** Length without a character at the end that is not there whole. */
function wholeCharacters(text: Buffer): number {
  for (let i = text.length - 1; i >= 0 && i >= text.length - 3; i--) {
    if ((text[i] & 0xc0) === 0x80) continue;
    const length = text[i] < 0xc0 ? 1 : text[i] < 0xe0 ? 2 : text[i] < 0xf0 ? 3 : 4;
    return i + length > text.length ? i : text.length;
  }
  return text.length;
}

/** Which compression the first bytes are of. */
export function compressionOf(head: Buffer): Compression | null {
  return MAGIC.find(([, magic]) => head.subarray(0, magic.length).equals(magic))?.[0] ?? null;
}

/** The first bytes of a file, as many as there are of those wanted. */
export function headOf(path: string, bytes: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(bytes);
    return head.subarray(0, readSync(file, head, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}

/** Reads whole pieces of known lengths from bytes that come in pieces of any. */
export class PieceReader {
  private readonly bytes: AsyncIterator<Buffer>;
  private held: Buffer = Buffer.alloc(0);
  /** Of the bytes that were given out. */
  offset: number;

  constructor(bytes: AsyncIterable<Buffer>, offset = 0) {
    this.bytes = bytes[Symbol.asyncIterator]();
    this.offset = offset;
  }

  /** Exactly so many bytes, or fewer at the end. */
  async read(length: number): Promise<Buffer> {
    if (this.held.length < length) {
      const pieces = [this.held];
      let total = this.held.length;
      while (total < length) {
        const { value, done } = await this.bytes.next();
        if (done) break;
        pieces.push(value);
        total += value.length;
      }
      this.held = Buffer.concat(pieces, total);
    }
    const piece = this.held.subarray(0, length);
    this.held = this.held.subarray(piece.length);
    this.offset += piece.length;
    return piece;
  }

  /** Passes over so many bytes. */
  async skip(length: number): Promise<void> {
    for (let left = length; left > 0;) {
      const piece = await this.read(Math.min(left, READ_BYTES));
      if (piece.length === 0) return;
      left -= piece.length;
    }
  }

  async close(): Promise<void> {
    await this.bytes.return?.();
  }
}
