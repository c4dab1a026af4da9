import zlib from 'node:zlib';
import { Decompress, decompress } from 'fzstd';
import { checkZstdWindow, zstdFrame } from './zstd-frame';

/** Turns compressed bytes into the `length` bytes that the file says they are. */
export type Decompressor = (bytes: Uint8Array, length: number) => Uint8Array;

type ZstdSync = (bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer;

const { zstdDecompressSync } = zlib as unknown as { zstdDecompressSync?: ZstdSync };

/** Node refuses a bound of no bytes. */
const bound = (length: number): { maxOutputLength: number } => ({ maxOutputLength: Math.max(1, length) });

/**
 * Node's own are several times as fast as those in JavaScript. None makes more than `length` bytes; each throws an
 * Error for what would.
 */
export const gunzip: Decompressor = (bytes, length) => zlib.gunzipSync(bytes, bound(length));
export const brotliDecompress: Decompressor = (bytes, length) => zlib.brotliDecompressSync(bytes, bound(length));

/** Zstandard, of any number of frames. Node has it from 22.15 on. */
export const zstdDecompress: Decompressor = (bytes, length) => {
  const frame = zstdFrame(bytes);
  checkZstdWindow(frame);
  if (frame.contentBytes !== null && frame.contentBytes > length)
    throw new RangeError(`a frame would have ${frame.contentBytes} bytes, not ${length}`);
  if (zstdDecompressSync !== undefined) return zstdDecompressSync(bytes, bound(length));
  // The library makes room for the whole content where the frame tells its size, and else for any size.
  return frame.contentBytes === null || frame.end < bytes.length ? zstdPieces(bytes, length) : decompress(bytes);
};

/** By the part of the library that makes pieces, whose sum has a bound. */
function zstdPieces(bytes: Uint8Array, length: number): Uint8Array {
  for (let at = 0; at < bytes.length;) {
    const frame = zstdFrame(bytes.subarray(at));
    checkZstdWindow(frame);
    at += frame.end;
  }
  const whole = new Uint8Array(length);
  let at = 0;
  const inner = new Decompress((piece) => {
    if (at + piece.length > length) throw new RangeError(`more than ${length} bytes`);
    whole.set(piece, at);
    at += piece.length;
  });
  inner.push(bytes, true);
  return whole.subarray(0, at);
}
