/**
 * A copy of little-endian float32 values, aligned wherever `bytes` stand. Their length is a multiple of four. Plain arrays in
 * memory are little-endian on every platform on which this project's addons run.
 */
export function float32FromBytes(bytes: Uint8Array): Float32Array {
  const vector = new Float32Array(bytes.length / Float32Array.BYTES_PER_ELEMENT);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}
