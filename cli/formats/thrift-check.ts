const STOP = 0;
const BYTES_OF: Readonly<Record<number, number>> = { 3: 1, 7: 8 };
const [TRUE, FALSE, I16, I64, BINARY, LIST, STRUCT] = [1, 2, 4, 6, 8, 9, 12];
/** Parquet's own heads and footers are a handful deep. */
const DEPTH_MAX = 32;

/**
 * Goes through a structure of Thrift's compact protocol
 * (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), as Parquet has them, from `from` on, and answers
 * where it ends. Libraries make room for as many values as a list says it has; here every one must be in the bytes. Throws a
 * RangeError when it goes beyond them, and an Error for what Parquet never has.
 */
export function checkThrift(bytes: Uint8Array, from = 0): number {
  let at = from;
  const skip = (count: number): void => {
    if (count > bytes.length - at) throw new RangeError('it is cut off');
    at += count;
  };
  const next = (): number => {
    skip(1);
    return bytes[at - 1];
  };
  const length = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = next();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
      if (shift > 28) throw new Error('a length has too many digits');
    }
  };
  const number = (): void => {
    for (let digits = 1; next() >= 0x80; digits++) if (digits > 10) throw new Error('a number has too many digits');
  };
  const value = (type: number, depth: number, isElement: boolean): void => {
    if (type === TRUE || type === FALSE) {
      if (isElement) skip(1);
    } else if (type >= I16 && type <= I64) number();
    else if (type in BYTES_OF) skip(BYTES_OF[type]);
    else if (type === BINARY) skip(length());
    else if (type === LIST) {
      const head = next();
      const count = head >> 4 === 15 ? length() : head >> 4;
      if (count > bytes.length - at) throw new RangeError('it is cut off');
      for (let i = 0; i < count; i++) value(head & 0x0f, depth + 1, true);
    } else if (type === STRUCT) struct(depth + 1);
    else throw new Error(`it has a value of the unknown type ${type}`);
  };
  const struct = (depth: number): void => {
    if (depth > DEPTH_MAX) throw new Error('it is too deep');
    for (;;) {
      const head = next();
      if ((head & 0x0f) === STOP) return;
      if (head >> 4 === 0) number();
      value(head & 0x0f, depth, false);
    }
  };
  struct(0);
  return at;
}
