import { QuiverError } from '../../base/errors/quiver-error';
import { encodingOf } from '../../base/text/text-encoding';

/**
 * Strings as bytes. Many strings cost little more than one, and lone surrogates are kept, which protobuf strings must
 * not contain. Little-endian; lengths count UTF-16 code units:
 *
 *   u32 number of strings, u32 encoding (0 UTF-8, 1 UTF-16), u32 length of each, all strings as one
 */
const HEADER_BYTES = 8;

export function stringsToBytes(strings: readonly string[]): Buffer {
  const text = strings.join('');
  const encoding = encodingOf(text);
  const textAt = HEADER_BYTES + strings.length * 4;
  const bytes = Buffer.allocUnsafe(textAt + Buffer.byteLength(text, encoding));
  bytes.writeUInt32LE(strings.length, 0);
  bytes.writeUInt32LE(encoding === 'utf8' ? 0 : 1, 4);
  for (let i = 0; i < strings.length; i++) bytes.writeUInt32LE(strings[i].length, HEADER_BYTES + i * 4);
  bytes.write(text, textAt, encoding);
  return bytes;
}

/** Upper bound of their bytes. */
export function stringsBytes(strings: readonly string[]): number {
  let bytes = HEADER_BYTES;
  for (const string of strings) bytes += string.length * 3 + 4;
  return bytes;
}

/** Errors: internal when the bytes are malformed. */
export function stringsFromBytes(bytes: Buffer): string[] {
  const count = bytes.length < HEADER_BYTES ? -1 : bytes.readUInt32LE(0);
  const textAt = HEADER_BYTES + count * 4;
  if (count < 0 || textAt > bytes.length) throw new QuiverError('internal', 'malformed strings');
  const text = bytes.toString(bytes.readUInt32LE(4) === 0 ? 'utf8' : 'utf16le', textAt);
  const strings: string[] = new Array(count);
  let from = 0;
  for (let i = 0; i < count; i++) {
    const length = bytes.readUInt32LE(HEADER_BYTES + i * 4);
    strings[i] = text.slice(from, from + length);
    from += length;
  }
  if (from !== text.length) throw new QuiverError('internal', 'malformed strings');
  return strings;
}
