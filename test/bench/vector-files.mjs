import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { endianness } from 'node:os';

/** Node reads at most 2 GiB at once. */
const READ_BYTES_MAX = 1 << 30;

if (endianness() !== 'LE') throw new Error('the files of this benchmark are little-endian, and so must the machine be');

function readBytes(path) {
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(new SharedArrayBuffer(fstatSync(file).size));
    for (let at = 0; at < bytes.length;) {
      const count = readSync(file, bytes, at, Math.min(READ_BYTES_MAX, bytes.length - at), at);
      if (count === 0) throw new Error(`${path} became shorter while it was read`);
      at += count;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** Raw float32, little-endian, no header; in shared memory, so that workers see it without a copy. */
export function readFloat32(path) {
  const bytes = readBytes(path);
  return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
}

export function readInt32(path) {
  const bytes = readBytes(path);
  return new Int32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
}

export function writeInt32(path, values) {
  writeFileSync(path, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}

/**
 * `.fvecs` and `.bvecs` (corpus-texmex): each vector as an int32 dimension and then that many float32 values or bytes.
 * Answers the matrix without the dimensions, at most `rowsMax` rows.
 */
export function readVecs(path, rowsMax = Infinity) {
  const bytes = readBytes(path);
  const elementBytes = path.endsWith('.bvecs') ? 1 : 4;
  const dim = new Int32Array(bytes.buffer, 0, 1)[0];
  const rowBytes = 4 + dim * elementBytes;
  const count = Math.min(rowsMax, Math.floor(bytes.length / rowBytes));
  if (dim < 1 || bytes.length % rowBytes !== 0)
    throw new Error(`${path} is not a whole number of vectors of ${dim} dimensions`);
  const values = new Float32Array(new SharedArrayBuffer(count * dim * 4));
  for (let row = 0; row < count; row++) {
    const start = row * rowBytes + 4;
    values.set(
      elementBytes === 1 ? bytes.subarray(start, start + dim) : new Float32Array(bytes.buffer, start, dim),
      row * dim,
    );
  }
  return { values, dim };
}
