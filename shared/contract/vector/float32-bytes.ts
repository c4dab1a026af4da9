/**
 * A copy of little-endian float32 values, aligned wherever `bytes` stand. Their length is a multiple of four. Plain
 * arrays in memory are little-endian on every platform on which this project's addons run.
 */
export function float32FromBytes(bytes: Uint8Array): Float32Array {
  const vector = new Float32Array(bytes.length / Float32Array.BYTES_PER_ELEMENT);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The little-endian float32 values of a base64 text with its padding; null if it is none, or not of whole values. */
export function float32FromBase64Text(text: string): Float32Array | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const length = (text.length / 4) * 3 - padding;
  if (length % Float32Array.BYTES_PER_ELEMENT !== 0) return null;
  const vector = new Float32Array(length / Float32Array.BYTES_PER_ELEMENT);
  const bytes = Buffer.from(vector.buffer);
  // Decoding skips what is not base64. To encode it again and compare takes a third of the time of an expression, which
  // is for what was encoded another way: with bits that count nothing before the padding.
  const isWhole = bytes.write(text, 'base64') === length && (bytes.toString('base64') === text || BASE64.test(text));
  return isWhole ? vector : null;
}
