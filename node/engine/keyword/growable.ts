/**
 * `array`, or a longer zero-extended copy with room for `length` entries. The copy is at least half as long again, so
 * that growing takes linear time in all.
 */
export function grownUint32(array: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  if (length <= array.length) return array;
  const grown = new Uint32Array(Math.max(length, Math.ceil(array.length * 1.5), 64));
  grown.set(array);
  return grown;
}

/** Like {@link grownUint32}, for bytes. */
export function grownUint8(array: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  if (length <= array.length) return array;
  const grown = new Uint8Array(Math.max(length, Math.ceil(array.length * 1.5), 64));
  grown.set(array);
  return grown;
}
