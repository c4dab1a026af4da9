import { isUtf8 } from 'node:buffer';
import type { SchemaElement, SchemaTree } from 'hyparquet' with { 'resolution-mode': 'import' };
import { parseLossless } from '../json/lossless-json';
import { floatOfHalf } from '../npy';
import { durationUnitOf } from './parquet-durations';
import {
  base64Of,
  bigEndianInteger,
  dateText,
  decimalValue,
  durationText,
  intervalText,
  shortestFloat,
  timestampText,
  timeText,
  type TimeUnitName,
  UntypedBytes,
  uuidText,
} from '../table-values';

/**
 * What Parquet says of its values, beside how they are stored. The library would round decimals and times, and guess
 * texts.
 */

type Convert = (value: any) => unknown;

/** Types whose values only the library can put together. */
const LEFT_TO_LIBRARY = ['VARIANT', 'GEOMETRY', 'GEOGRAPHY'];
const UNITS_BY_NAME: Record<string, TimeUnitName> = { MILLIS: 'ms', MICROS: 'us', NANOS: 'ns' };
const MILLIS = 1_000_000n;

/** The column's type as it is stored, with nothing said of what it means: the library gives its values as they are. */
export function storedElement(element: SchemaElement): SchemaElement {
  if (element.logical_type !== undefined && LEFT_TO_LIBRARY.includes(element.logical_type.type)) return element;
  return { ...element, converted_type: undefined, logical_type: undefined, scale: undefined, precision: undefined };
}

/** Whether a column has a type somewhere that is left to the library. */
export function isLeftToLibrary({ element, children }: SchemaTree): boolean {
  return (
    (element.logical_type !== undefined && LEFT_TO_LIBRARY.includes(element.logical_type.type)) ||
    children.some(isLeftToLibrary)
  );
}

/** Makes of a stored value what it means; null: it is that already. */
export function converterOf(element: SchemaElement): Convert | null {
  const { type, converted_type: converted, logical_type: logical, scale = 0 } = element;
  const kind = logical?.type;
  if (converted === 'DECIMAL' || kind === 'DECIMAL') {
    const places = scale || (logical?.type === 'DECIMAL' ? logical.scale : 0);
    return (value) =>
      decimalValue(value instanceof Uint8Array ? bigEndianInteger(value) : BigInt(value as number), places);
  }
  const unit = durationUnitOf(element);
  if (unit !== undefined) return (value) => durationText(BigInt(value as number), unit);
  if (type === 'FLOAT') return shortestFloat;
  // In nested columns the library has done it, by the parser that it was given.
  if (type === 'INT96')
    return (value) => (typeof value === 'bigint' ? timestampText(nanosOfInt96(value), 'ns') : value);
  if (converted === 'DATE' || kind === 'DATE') return (value) => dateText(BigInt(value as number));
  if (logical?.type === 'TIMESTAMP' || converted === 'TIMESTAMP_MILLIS' || converted === 'TIMESTAMP_MICROS') {
    const unit =
      logical?.type === 'TIMESTAMP' ? UNITS_BY_NAME[logical.unit] : converted === 'TIMESTAMP_MILLIS' ? 'ms' : 'us';
    return (value) => timestampText(BigInt(value as number), unit);
  }
  if (logical?.type === 'TIME' || converted === 'TIME_MILLIS' || converted === 'TIME_MICROS') {
    const unit = logical?.type === 'TIME' ? UNITS_BY_NAME[logical.unit] : converted === 'TIME_MILLIS' ? 'ms' : 'us';
    return (value) => timeText(BigInt(value as number), unit);
  }
  if (converted === 'INTERVAL') return intervalOf;
  if (converted === 'JSON' || kind === 'JSON') return jsonOf;
  if (kind === 'UUID') return (value) => uuidText(value as Uint8Array);
  if (kind === 'FLOAT16') return (value: Uint8Array) => floatOfHalf(value[0] | (value[1] << 8));
  if (converted === 'UTF8' || converted === 'ENUM' || kind === 'STRING' || kind === 'ENUM') return storedText;
  const isUnsigned = logical?.type === 'INTEGER' && !logical.isSigned;
  if (converted === 'UINT_64' || (isUnsigned && type === 'INT64'))
    return (value) => BigInt.asUintN(64, value as bigint);
  if (converted === 'UINT_32' || (isUnsigned && type === 'INT32')) return (value) => (value as number) >>> 0;
  if (type === 'BYTE_ARRAY' && kind === undefined && converted === undefined)
    return (value) => new UntypedBytes(value as Uint8Array);
  return null;
}

/** Makes of a nested value, as the library puts it together of stored values, what it means. */
export function nestedConverterOf(node: SchemaTree): Convert {
  const { element, children } = node;
  const orNull =
    (convert: Convert): Convert =>
    (value) =>
      value === undefined || value === null ? null : convert(value);
  const single = ((): Convert => {
    if (children.length === 0) return converterOf(element) ?? ((value) => value);
    if (isListOf(node)) {
      const [repeated] = children;
      const inner = nestedConverterOf(
        repeated.children.length === 1
          ? repeated.children[0]
          : { ...repeated, element: { ...repeated.element, repetition_type: 'REQUIRED' } },
      );
      return (value) => Array.from(value as ArrayLike<unknown>, inner);
    }
    if (isMapOf(node)) {
      // The library takes the first for the key, whatever its name.
      const [key, inner] = children[0].children;
      const keyOf = keyConverterOf(key.element);
      const valueOf = nestedConverterOf(inner);
      return (value: object) =>
        Object.fromEntries(Object.entries(value).map(([name, each]) => [keyOf(name), valueOf(each)]));
    }
    const fields = children.map((child) => ({ name: child.element.name, convert: nestedConverterOf(child) }));
    return (value: Record<string, unknown>) =>
      Object.fromEntries(fields.map(({ name, convert }) => [name, convert(value[name])]));
  })();
  // A repeated field that is in no group of a list.
  return orNull(
    element.repetition_type === 'REPEATED'
      ? (value) => Array.from(value as ArrayLike<unknown>, orNull(single))
      : single,
  );
}

/** The same column with its values as they are stored, but for keys of maps, which have to be texts. */
export function storedTree(node: SchemaTree): Map<SchemaElement, SchemaElement> {
  const found = new Map<SchemaElement, SchemaElement>();
  const visit = ({ element, children }: SchemaTree, isKey: boolean): void => {
    if (children.length === 0)
      found.set(
        element,
        isKey && element.type === 'BYTE_ARRAY'
          ? { ...element, converted_type: 'UTF8', logical_type: undefined }
          : storedElement(element),
      );
    else if (isMapOf({ element, children } as SchemaTree))
      children[0].children.forEach((child, i) => visit(child, i === 0));
    else for (const child of children) visit(child, false);
  };
  visit(node, false);
  return found;
}

/** As the library tells them. */
function isListOf({ element, children }: SchemaTree): boolean {
  if (element.converted_type !== 'LIST' || children.length !== 1) return false;
  const [first] = children;
  return first.children.length <= 1 && first.element.repetition_type === 'REPEATED';
}

function isMapOf({ element, children }: SchemaTree): boolean {
  if (element.converted_type !== 'MAP' || children.length !== 1) return false;
  const [first] = children;
  if (first.children.length !== 2 || first.element.repetition_type !== 'REPEATED') return false;
  return ['key', 'value'].every((name) =>
    first.children.some(({ element: each }) => each.name === name && each.repetition_type !== 'REPEATED'),
  );
}

/** A key comes as a text of what is stored. */
function keyConverterOf(element: SchemaElement): (key: string) => string {
  const convert = element.type === 'INT32' || element.type === 'INT64' ? converterOf(element) : null;
  if (convert === null) return (key) => key;
  return (key) => String(convert(element.type === 'INT64' ? BigInt(key) : Number(key)));
}

/** Bytes that should be a text and are not stay what they are. */
export function storedText(bytes: Uint8Array): string {
  return isUtf8(bytes)
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
    : base64Of(bytes);
}

function jsonOf(bytes: Uint8Array): unknown {
  const text = storedText(bytes);
  try {
    return parseLossless(text);
  } catch {
    return text;
  }
}

/** Months, days and milliseconds, each a number of 32 bits. */
function intervalOf(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [months, days, millis] = [0, 4, 8].map((at) => view.getUint32(at, true));
  return intervalText({ months, days, nanos: BigInt(millis) * MILLIS });
}

const JULIAN_OF_1970 = 2_440_588n;
const DAY_NANOS = 86_400_000_000_000n;

function nanosOfInt96(value: bigint): bigint {
  return ((value >> 64n) - JULIAN_OF_1970) * DAY_NANOS + (value & 0xffff_ffff_ffff_ffffn);
}
