import type { Data, DataType, Field, Vector } from 'apache-arrow';
import { CommandError, EXIT_CODES } from '../../command-error';
import { extensionOf } from './arrow-extensions';
import {
  dateText,
  decimalValue,
  durationText,
  intervalText,
  shortestFloat,
  timestampText,
  timeText,
  type TimeUnitName,
} from '../table-values';

type ArrowLibrary = typeof import('apache-arrow');
/** A value of a column by its row, as JSON has it, a typed array, bytes, or a big integer. */
export type ReadValue = (row: number) => unknown;
type Offsets = ArrayLike<number | bigint>;

/** By the library's numbers. */
export const ARROW_TIME_UNITS: readonly TimeUnitName[] = ['s', 'ms', 'us', 'ns'];
const MILLIS = 1_000_000n;
const DAY_MS = 86_400_000n;
/** Deeper ones are damage. */
const DEPTH_MAX = 100;

/** A reader of a field's part, with its name in messages. Errors: as of {@link readerOf}. */
export function fieldReader(
  arrow: ArrowLibrary,
  data: Data,
  field: Field | undefined,
  name: string,
  depth = 0,
): ReadValue {
  const read = readerOf(arrow, data, name, depth);
  const extension = extensionOf(field);
  if (extension === null) return read;
  return (row) => {
    const stored = read(row);
    return stored === null ? null : extension(stored);
  };
}

/**
 * Makes a reader of a column's part. `name` is for messages. Throws a CommandError for a type that has no counterpart:
 * the library's own objects must never be stored.
 */
export function readerOf(arrow: ArrowLibrary, data: Data, name: string, depth = 0): ReadValue {
  if (depth > DEPTH_MAX) throw new RangeError(`column "${name}" is nested too deep`);
  const read = valueReader(arrow, data, name, depth);
  const { DataType: kinds } = arrow;
  // These have no bitmap of their own.
  if (kinds.isUnion(data.type) || kinds.isNull(data.type) || data.nullCount === 0) return read;
  return (row) => (data.getValid(row) ? read(row) : null);
}

function valueReader(arrow: ArrowLibrary, data: Data, name: string, depth: number): ReadValue {
  const { DataType: kinds, Vector: Column } = arrow;
  const { type, values, children } = data;
  const fieldOf = new Map(children.map((child, i) => [child, type.children?.[i] as Field | undefined]));
  const inner = (child: Data, field = fieldOf.get(child)): ReadValue =>
    fieldReader(arrow, child, field, name, depth + 1);
  if (kinds.isNull(type)) return () => null;
  if (kinds.isList(type) || kinds.isLargeList(type))
    return listReader(arrow, children[0], rangeOf(data.valueOffsets as unknown as Offsets), inner);
  if (kinds.isFixedSizeList(type))
    return listReader(arrow, children[0], (row) => [row * type.listSize, (row + 1) * type.listSize], inner);
  if (kinds.isStruct(type)) {
    const fields = type.children.map((field, i) => ({ name: String(field.name), read: inner(children[i]) }));
    return (row) => Object.fromEntries(fields.map((field) => [field.name, field.read(row)]));
  }
  if (kinds.isMap(type)) {
    const range = rangeOf(data.valueOffsets as unknown as Offsets);
    const entries = type.children[0].type.children as Field[];
    const [keyOf, valueOf] = children[0].children.map((child, i) => inner(child, entries[i]));
    return (row) => {
      const [from, to] = range(row);
      return Object.fromEntries(
        Array.from({ length: to - from }, (_, i) => [keyText(keyOf(from + i)), valueOf(from + i)]),
      );
    };
  }
  if (kinds.isDictionary(type)) return dictionaryReader(data, inner);
  if (kinds.isUnion(type)) {
    const readers = children.map((child) => inner(child));
    const isDense = type.mode === arrow.UnionMode.Dense;
    return (row) => readers[type.typeIdToChildIndex[data.typeIds[row]]](isDense ? data.valueOffsets[row] : row);
  }
  if (kinds.isTimestamp(type))
    return (row) => timestampText(BigInt(values[row] as bigint), ARROW_TIME_UNITS[type.unit]);
  if (kinds.isTime(type)) return (row) => timeText(BigInt(values[row] as number | bigint), ARROW_TIME_UNITS[type.unit]);
  if (kinds.isDuration(type)) return (row) => durationText(BigInt(values[row] as bigint), ARROW_TIME_UNITS[type.unit]);
  if (kinds.isDate(type)) {
    if (type.unit === arrow.DateUnit.DAY) return (row) => dateText(BigInt(values[row] as number));
    return (row) =>
      BigInt(values[row]) % DAY_MS === 0n
        ? dateText(BigInt(values[row]) / DAY_MS)
        : timestampText(BigInt(values[row]), 'ms');
  }
  if (kinds.isInterval(type)) return intervalReader(arrow, data);
  if (kinds.isDecimal(type)) {
    const words = (type.bitWidth || 128) / 32;
    return (row) =>
      decimalValue(integerOf((values as Uint32Array).subarray(row * words, (row + 1) * words)), type.scale);
  }
  // Lists of them are typed arrays where none is missing.
  if (kinds.isFloat(type) && type.precision === arrow.Precision.SINGLE)
    return (row) => shortestFloat((values as Float32Array)[row]);
  const isPlain = [
    kinds.isBool,
    kinds.isInt,
    kinds.isFloat,
    kinds.isUtf8,
    kinds.isLargeUtf8,
    kinds.isUtf8View,
    kinds.isBinary,
    kinds.isLargeBinary,
    kinds.isBinaryView,
    kinds.isFixedSizeBinary,
  ];
  if (isPlain.some((is) => is(type))) {
    const column = new Column([data]);
    return (row) => column.get(row) as unknown;
  }
  throw new CommandError(
    `column "${name}" is of Arrow's type ${arrow.Type[type.typeId]}, which has no counterpart here; leave it out with --metadata`,
    EXIT_CODES.usage,
  );
}

function listReader(
  arrow: ArrowLibrary,
  child: Data,
  range: (row: number) => [number, number],
  inner: (child: Data) => ReadValue,
): ReadValue {
  const { type } = child;
  const isWide = arrow.DataType.isFloat(type) && type.precision !== arrow.Precision.HALF;
  // Numbers as a typed array when none is missing.
  if (isWide && child.nullCount === 0) return (row) => (child.values as Float32Array).subarray(...range(row));
  const read = inner(child);
  return (row) => {
    const [from, to] = range(row);
    return Array.from({ length: to - from }, (_, i) => read(from + i));
  };
}

/** Each value begins where the one before ends. */
function rangeOf(offsets: Offsets): (row: number) => [number, number] {
  return (row) => [Number(offsets[row]), Number(offsets[row + 1])];
}

/** Readers of pieces of dictionaries, which are the same for all batches that come after them. */
const pieceReaders = new WeakMap<Data, ReadValue>();

function dictionaryReader(data: Data, inner: (child: Data) => ReadValue): ReadValue {
  const pieces = (data.dictionary as Vector | undefined)?.data ?? [];
  /** Where each begins. */
  const starts: number[] = [];
  let length = 0;
  for (const piece of pieces) {
    starts.push(length);
    length += piece.length;
  }
  const readerOfPiece = (piece: Data): ReadValue => {
    const known = pieceReaders.get(piece) ?? inner(piece);
    pieceReaders.set(piece, known);
    return known;
  };
  return (row) => {
    const index = Number(data.values[row]);
    let [from, to] = [0, starts.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (starts[middle] <= index) from = middle + 1;
      else to = middle;
    }
    return from === 0 ? null : readerOfPiece(pieces[from - 1])(index - starts[from - 1]);
  };
}

/** Months; days and milliseconds; or months, days and nanoseconds. */
function intervalReader(arrow: ArrowLibrary, { type, values }: Data): ReadValue {
  const parts = values as Int32Array;
  switch ((type as DataType & { unit: number }).unit) {
    case arrow.IntervalUnit.YEAR_MONTH:
      return (row) => intervalText({ months: parts[row], days: 0, nanos: 0n });
    case arrow.IntervalUnit.DAY_TIME:
      return (row) => intervalText({ months: 0, days: parts[2 * row], nanos: BigInt(parts[2 * row + 1]) * MILLIS });
    default:
      return (row) =>
        intervalText({
          months: parts[4 * row],
          days: parts[4 * row + 1],
          nanos: BigInt.asIntN(64, (BigInt(parts[4 * row + 3]) << 32n) | BigInt(parts[4 * row + 2] >>> 0)),
        });
  }
}

/** Two's complement, the least significant word first. */
function integerOf(words: Uint32Array): bigint {
  const bits = words.reduceRight((sum, word) => (sum << 32n) | BigInt(word >>> 0), 0n);
  return BigInt.asIntN(words.length * 32, bits);
}

/** JSON has keys of text alone. */
function keyText(key: unknown): string {
  if (typeof key === 'object' && key !== null)
    return key instanceof Uint8Array
      ? Buffer.from(key).toString('base64')
      : JSON.stringify(key, (_name, value) => (typeof value === 'bigint' ? String(value) : (value as unknown)));
  return String(key);
}
