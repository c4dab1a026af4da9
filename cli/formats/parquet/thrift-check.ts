const STOP = 0;
const BYTES_OF: Readonly<Record<number, number>> = { 3: 1, 7: 8 };
const [TRUE, FALSE, I16, I64, BINARY, LIST, STRUCT] = [1, 2, 4, 6, 8, 9, 12];
/** Parquet's own heads and footers are a handful deep. */
const DEPTH_MAX = 32;
/** What a value is counted as, in numbers: objects take some ten times their memory. */
const [STRUCT_COST, BINARY_COST] = [8, 4];
/**
 * Numbers, or what counts as so many: some 60,000 chunks of columns with all that is told of them, 250 MB as objects.
 */
const COST_MAX = 6_000_000;
/** Elements of a schema, with groups and lists. */
const SCHEMA_MAX = 200_000;
/** Where the metadata of a file have its schema. */
const SCHEMA_FIELD = 2;

/**
 * Goes through a structure of Thrift's compact protocol
 * (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), as Parquet has them, from `from` on, and answers
 * where it ends. Libraries make room for as many values as a list says it has; here every one must be in the bytes, and
 * all together must fit into memory. Throws a RangeError when it goes beyond the bytes, and an Error for what Parquet
 * never has.
 */
export function checkThrift(bytes: Uint8Array, from = 0): number {
  let at = from;
  let cost = 0;
  const pay = (units: number): void => {
    if ((cost += units) > COST_MAX)
      throw new Error('it has too many columns, row groups or other parts; write larger row groups, or several files');
  };
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
  /** Of the first digits alone: that is all there is of a field's number. */
  const number = (): number => {
    let value = 0;
    for (let digits = 1; ; digits++) {
      const byte = next();
      value += (byte & 0x7f) * 2 ** (7 * (digits - 1));
      if (byte < 0x80) return value;
      if (digits > 10) throw new Error('a number has too many digits');
    }
  };
  const value = (type: number, depth: number, isElement: boolean, field = 0): void => {
    pay(type === STRUCT ? STRUCT_COST : type === BINARY ? BINARY_COST : 1);
    if (type === TRUE || type === FALSE) {
      if (isElement) skip(1);
    } else if (type >= I16 && type <= I64) number();
    else if (type in BYTES_OF) skip(BYTES_OF[type]);
    else if (type === BINARY) skip(length());
    else if (type === LIST) {
      const head = next();
      const count = head >> 4 === 15 ? length() : head >> 4;
      if (count > bytes.length - at) throw new RangeError('it is cut off');
      if (depth === 0 && field === SCHEMA_FIELD && count > SCHEMA_MAX)
        throw new Error(`its schema has ${count} elements; at most ${SCHEMA_MAX} are read`);
      for (let i = 0; i < count; i++) value(head & 0x0f, depth + 1, true);
    } else if (type === STRUCT) struct(depth + 1);
    else throw new Error(`it has a value of the unknown type ${type}`);
  };
  const struct = (depth: number): void => {
    if (depth > DEPTH_MAX) throw new Error('it is too deep');
    for (let field = 0; ;) {
      const head = next();
      if ((head & 0x0f) === STOP) return;
      if (head >> 4 === 0) field = number() / 2;
      else field += head >> 4;
      value(head & 0x0f, depth, false, field);
    }
  };
  struct(0);
  return at;
}
