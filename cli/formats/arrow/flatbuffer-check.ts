/**
 * What a table of FlatBuffers holds, by the order of its fields. A field that is not told is a number, and not
 * followed.
 */
export type TableShape = () => Readonly<Record<number, FieldShape>>;

export type FieldShape =
  | 'text'
  /** A list of numbers or structs, of so many bytes each; `check` looks at them, from `at` on. */
  | { listOf: number; check?: (view: DataView, at: number, count: number) => void }
  | { table: TableShape }
  | { tables: TableShape }
  /** A table of one of several kinds; which, says the byte in the field before. */
  | { oneOf: (kind: number) => TableShape | null };

/** Deeper and more than any sensible schema; tables may be shared, so that few bytes could stand for very many. */
const DEPTH_MAX = 64;
const TABLES_MAX = 1 << 18;
/** Numbers and structs in lists, together: some 100 MB as objects. */
const ELEMENTS_MAX = 1 << 20;
/** Bytes of texts; a text may be shared, too. */
const TEXT_BYTES_MAX = 32 << 20;

/**
 * Goes through a table of FlatBuffers (https://flatbuffers.dev/internals/) and all below it. The library in JavaScript
 * believes every length and place, and makes as many values as a list says it has; here each must be within the bytes,
 * and all together must fit into memory. Throws a RangeError where that is not so.
 */
export function checkFlatbuffer(bytes: Uint8Array, root: TableShape): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [tables, elements, textBytes] = [0, 0, 0];
  const need = (at: number, length: number): void => {
    if (!(at >= 0 && at + length <= bytes.length)) throw new RangeError('it is cut off, or points beyond its end');
  };
  const target = (at: number): number => {
    need(at, 4);
    return at + view.getUint32(at, true);
  };
  const list = (at: number, width: number): number => {
    need(at, 4);
    const count = view.getUint32(at, true);
    need(at + 4, count * width);
    return count;
  };
  const table = (at: number, shape: TableShape, depth: number): void => {
    if (depth > DEPTH_MAX || ++tables > TABLES_MAX) throw new RangeError('it has too many parts');
    need(at, 4);
    const fieldsAt = at - view.getInt32(at, true);
    need(fieldsAt, 4);
    const [fieldsBytes, ownBytes] = [view.getUint16(fieldsAt, true), view.getUint16(fieldsAt + 2, true)];
    need(fieldsAt, fieldsBytes);
    need(at, ownBytes);
    const placeOf = (field: number): number | null => {
      const place = 4 + 2 * field;
      const offset = place + 2 > fieldsBytes ? 0 : view.getUint16(fieldsAt + place, true);
      // A number has 8 bytes at most.
      if (offset !== 0) need(at + offset, 1);
      return offset === 0 ? null : at + offset;
    };
    for (const [name, field] of Object.entries(shape())) {
      const place = placeOf(Number(name));
      if (place === null) continue;
      const to = target(place);
      if (field === 'text') {
        if ((textBytes += list(to, 1)) > TEXT_BYTES_MAX)
          throw new RangeError(`it has more than ${TEXT_BYTES_MAX >> 20} MiB of names and notes`);
      } else if ('listOf' in field) {
        const count = list(to, field.listOf);
        if ((elements += count) > ELEMENTS_MAX) throw new RangeError('it has too many parts');
        field.check?.(view, to + 4, count);
      } else if ('table' in field) table(to, field.table, depth + 1);
      else if ('tables' in field) {
        const count = list(to, 4);
        for (let i = 0; i < count; i++) table(target(to + 4 + 4 * i), field.tables, depth + 1);
      } else {
        const kindAt = placeOf(Number(name) - 1);
        const kind = field.oneOf(kindAt === null ? 0 : bytes[kindAt]);
        if (kind !== null) table(to, kind, depth + 1);
      }
    }
  };
  table(target(0), root, 0);
}
