import { QuiverError } from '../../base/errors/quiver-error';
import { stringsFromBytes, stringsToBytes } from './string-list-codec';

/**
 * The items of a sample as bytes: u32 number of items, f64 key of each, little-endian, and their ids
 * (string-list-codec.ts).
 */
const HEADER_BYTES = 4;
const KEY_BYTES = Float64Array.BYTES_PER_ELEMENT;

export interface DrawnItems {
  externalIds: string[];
  keys: Float64Array;
}

export function drawnToBytes({ externalIds, keys }: DrawnItems): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32LE(keys.length);
  return Buffer.concat([
    header,
    Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength),
    stringsToBytes(externalIds),
  ]);
}

/** The items that `bytes` hold. Errors: internal when they are malformed. */
export function drawnFromBytes(bytes: Buffer): DrawnItems {
  const count = bytes.length < HEADER_BYTES ? -1 : bytes.readUInt32LE(0);
  const idsAt = HEADER_BYTES + count * KEY_BYTES;
  if (count < 0 || idsAt > bytes.length) throw malformed();
  const keys = new Float64Array(
    bytes.buffer.slice(bytes.byteOffset + HEADER_BYTES, bytes.byteOffset + idsAt) as ArrayBuffer,
  );
  const externalIds = stringsFromBytes(bytes.subarray(idsAt));
  if (externalIds.length !== count) throw malformed();
  return { externalIds, keys };
}

function malformed(): QuiverError {
  return new QuiverError('internal', 'malformed sample');
}
