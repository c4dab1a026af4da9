/** `array`, or a longer zero-extended copy with room for `length` entries (half as much again, so that growing is linear). */
export function grownUint32(array: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  if (length <= array.length) return array;
  const grown = new Uint32Array(Math.max(length, Math.ceil(array.length * 1.5), 64));
  grown.set(array);
  return grown;
}

/** As {@link grownUint32}, for bytes. */
export function grownUint8(array: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  if (length <= array.length) return array;
  const grown = new Uint8Array(Math.max(length, Math.ceil(array.length * 1.5), 64));
  grown.set(array);
  return grown;
}
