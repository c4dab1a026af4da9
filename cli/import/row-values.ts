import { base64Of, shortestFloat, UntypedBytes } from '../formats/table-values';

/**
 * Values of sources as values of items. Of every format, what is no value (null, a value that is missing, NaN, infinite
 * numbers) makes a vector's row a bad one, and in metadata leaves a column out; within lists and objects it is null.
 */

/** Numbers of a text: separated by commas, semicolons or white space, with or without brackets around them. */
const NUMBERS = /^\s*[[({]?([-+\d.eE,;\s]*)[\])}]?\s*$/;
const BRACKET = /^\s*[[({]/;
/** The one comma of a text that is a number: what many countries have before its fraction. */
const COMMA = /(?<=^\s*[-+]?\d+),(?=\d+(?:[eE][-+]?\d+)?\s*$)/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** A list as Python prints one of numpy or torch: array([1., 2.], dtype=float32), tensor([…]), [np.float64(1.0), …]. */
const PRINTED_LIST = /^\s*(?:np\.|numpy\.|torch\.)?(?:array|tensor|list)\(\s*(\[[^\]]*\])\s*(?:,[^[\]]*)?\)\s*$/;
const PRINTED_NUMBER = /\b(?:np|numpy)\.(?:float|int|uint)\d*\(([^()]*)\)/g;

/**
 * The vector of a value: an array of numbers, a typed array, an object with nothing but one of these, bytes of
 * little-endian float32 values, base64 of those, or numbers as text. Null: there is none. A text says what is wrong
 * with it.
 */
export function vectorOf(value: unknown, dim: number, hasDecimalCommas = false): Float32Array | string | null {
  if (isNothing(value) || value === '') return null;
  if (value instanceof UntypedBytes)
    return value.bytes.length === 0 ? null : vectorOf(textOfNumbers(value) ?? value.bytes, dim, hasDecimalCommas);
  if (value instanceof Float32Array) return checked(value, dim);
  if (value instanceof Uint8Array) return vectorOfBytes(value, dim);
  if (typeof value === 'string') return vectorOfText(value, dim, hasDecimalCommas);
  if (Array.isArray(value)) return vectorOfArray(value, dim);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    return vectorOfArray(Array.from(value as unknown as ArrayLike<unknown>), dim);
  const inner = onlyListOf(value);
  return inner === null ? 'the vector is no list of numbers' : vectorOf(inner, dim);
}

/** How many numbers a value holds, null when that can't be told. `dim`: of the collection, where there is one. */
export function vectorLengthOf(
  value: unknown,
  { dim, hasDecimalCommas = false }: { dim?: number; hasDecimalCommas?: boolean } = {},
): number | null {
  if (isNothing(value) || value === '') return null;
  if (value instanceof UntypedBytes)
    return vectorLengthOf(textOfNumbers(value) ?? value.bytes, { dim, hasDecimalCommas });
  if (value instanceof Uint8Array) return value.length > 0 && value.length % 4 === 0 ? value.length / 4 : null;
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView)))
    return (value as ArrayLike<unknown>).length || null;
  if (typeof value !== 'string') return vectorLengthOf(onlyListOf(value));
  const numbers = numbersOfText(value, dim ?? null, hasDecimalCommas);
  if (numbers !== null) return numbers.length || null;
  return BASE64.test(value) && value.length % 4 === 0 ? vectorLengthOf(Buffer.from(value, 'base64')) : null;
}

/** The list of an object that holds nothing else, as where a vector has a name: {"values": […]}. */
function onlyListOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Array.isArray(value)) return null;
  const [only, ...more] = Object.values(value);
  return more.length === 0 && (Array.isArray(only) || (ArrayBuffer.isView(only) && !(only instanceof DataView)))
    ? only
    : null;
}

/** A list of numbers as text, without what Python prints around it and them. */
function plainList(text: string): string {
  if (!text.includes('(')) return text;
  return (PRINTED_LIST.exec(text)?.[1] ?? text).replaceAll(PRINTED_NUMBER, '$1');
}

/** Whether there is no value: a number that is none is as good as missing. */
export function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value));
}

/** The text of bytes that are numbers as text; bytes of floats are hardly ever that. */
function textOfNumbers(value: UntypedBytes): string | null {
  const { text } = value;
  return text !== null && (NUMBERS.test(text) || BASE64.test(text)) ? text : null;
}

/** A number with at most one comma, which is before its fraction. */
const COMMA_PART = /^[-+]?\d+(?:,\d+)?(?:[eE][-+]?\d+)?$/;

/**
 * The numbers of a text, each as text; null: there is something else in it. Where semicolons separate numbers, a comma
 * is within one; so it is where the user says so, unless the text is a list as JSON has it, and where that is the only
 * way to make the one number of a collection of one dimension.
 */
function numbersOfText(text: string, dim: number | null, hasDecimalCommas: boolean): string[] | null {
  const plain = plainList(text);
  const numbers = NUMBERS.exec(plain)?.[1].trim();
  if (numbers === undefined) return null;
  if (/;.*,|,.*;/s.test(numbers)) return parts(numbers, /[;\s]+/);
  const withCommas = parts(numbers, /,?[;\s]+/);
  const mayHaveCommas =
    withCommas.every((part) => COMMA_PART.test(part)) && (withCommas.length > 1 || !BRACKET.test(plain));
  const isOneNumber = dim === 1 && withCommas.length === 1;
  return mayHaveCommas && (hasDecimalCommas || isOneNumber) ? withCommas : parts(numbers, /[,;\s]+/);
}

function parts(numbers: string, between: RegExp): string[] {
  return numbers.split(between).filter((part) => part !== '');
}

/** Whether a text is read as two numbers, and may have been meant as one. */
export function mayBeOneNumber(text: unknown): boolean {
  return typeof text === 'string' && text.includes(',') && COMMA_PART.test(text.trim());
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function checked(vector: Float32Array, dim: number): Float32Array | string {
  if (vector.length !== dim)
    return `the vector has ${counted(vector.length, 'number')}, the collection ${counted(dim, 'dimension')}`;
  for (let i = 0; i < vector.length; i++)
    if (!Number.isFinite(vector[i])) return `number ${i} of the vector is ${vector[i]}`;
  return vector;
}

function vectorOfArray(values: unknown[], dim: number): Float32Array | string {
  const vector = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    const number =
      typeof value === 'number'
        ? value
        : typeof value === 'bigint' || (typeof value === 'string' && value.trim() !== '')
          ? Number(typeof value === 'string' ? value.replace(COMMA, '.') : value)
          : Number.NaN;
    // Beyond float32 it becomes infinite, which is told as such.
    if (Number.isNaN(number))
      return `number ${i} of the vector is ${typeof value === 'number' ? String(value) : (JSON.stringify(metadataValue(value)) ?? 'missing')}`;
    vector[i] = number;
  }
  return checked(vector, dim);
}

function vectorOfBytes(bytes: Uint8Array, dim: number): Float32Array | string {
  if (bytes.length !== dim * 4)
    return `the vector has ${bytes.length} bytes, ${dim} dimensions of float32 have ${dim * 4}`;
  // A copy: these may be anywhere in a larger buffer.
  return checked(new Float32Array(new Uint8Array(bytes).buffer), dim);
}

function vectorOfText(text: string, dim: number, hasDecimalCommas: boolean): Float32Array | string {
  const numbers = numbersOfText(text, dim, hasDecimalCommas);
  if (numbers !== null) return vectorOfArray(numbers, dim);
  if (BASE64.test(text) && text.length % 4 === 0) return vectorOfBytes(Buffer.from(text, 'base64'), dim);
  return 'the vector is neither a list of numbers nor base64';
}

/** As programs write numbers that are none; JavaScript's own names come back as they were. */
const NO_NUMBER = /^(?:NaN|nan|[-+]?(?:Infinity|inf))$/;

const PLAIN_NUMBER = /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*$/;

/** A text as the number or truth value that it is; one that would not come back as it was stays a text. */
export function typedText(text: string): unknown {
  if (text === 'true' || text === 'True' || text === 'TRUE') return true;
  if (text === 'false' || text === 'False' || text === 'FALSE') return false;
  if (NO_NUMBER.test(text)) return Number.NaN;
  const number = Number(text);
  return String(number) === text && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : text;
}

/** The number that a text is, however it is written; null: none, or none that a double holds. */
export function numberOfText(text: string): number | null {
  if (!PLAIN_NUMBER.test(text)) return null;
  const number = Number(text);
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : null;
}

const COMMA_NUMBER = /^[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?(?:[eE][-+]?\d+)?$/;

/** As `typedText`, of a text with a comma before the fraction; one with points between thousands stays a text. */
export function typedCommaText(text: string): unknown {
  if (text.includes('.')) return text;
  const typed = typedText(text.replace(',', '.'));
  return typeof typed === 'string' ? text : typed;
}

/** As `numberOfText`, of a text with a comma before the fraction, and perhaps points between thousands. */
export function numberOfCommaText(text: string): number | null {
  const bare = text.trim();
  return COMMA_NUMBER.test(bare) ? numberOfText(bare.replaceAll('.', '').replace(',', '.')) : null;
}

/** Control characters, but for those that lines of text have. */
const NO_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/**
 * A value of a table as one of JSON: large whole numbers as text, bytes as base64 unless they may be a text and are
 * one.
 */
export function metadataValue(value: unknown): unknown {
  switch (typeof value) {
    case 'bigint':
      return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
        ? Number(value)
        : String(value);
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'object':
      break;
    case 'boolean':
    case 'string':
    case 'undefined':
    case 'function':
    case 'symbol':
      return value;
  }
  if (value === null) return null;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return base64Of(value);
  if (value instanceof UntypedBytes) return textOfBytes(value);
  if (value instanceof Float32Array) return Array.from(value, (one) => metadataValue(shortestFloat(one)));
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, metadataValue);
  if (Array.isArray(value)) return value.map(metadataValue);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (inner === undefined ? [] : [[key, metadataValue(inner)]])),
  );
}

/** The text that bytes are, where they are one. */
export function textOfBytes(value: UntypedBytes): string {
  const { text } = value;
  return text !== null && !NO_TEXT.test(text) ? text : value.base64;
}
