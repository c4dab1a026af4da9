/** Values of sources as values of items. */

/** Numbers of a text: separated by commas, semicolons or white space, with or without brackets around them. */
const NUMBERS = /^\s*[[({]?([-+\d.eE,;\s]*)[\])}]?\s*$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The vector of a value: an array of numbers, a typed array, bytes of little-endian float32 values, base64 of those, or numbers as text.
 * Null: there is none. A text says what is wrong with it.
 */
export function vectorOf(value: unknown, dim: number): Float32Array | string | null {
  if (value === null || value === undefined || value === '') return null;
  if (value instanceof Float32Array) return checked(value, dim);
  if (value instanceof Uint8Array) return vectorOfBytes(value, dim);
  if (typeof value === 'string') return vectorOfText(value, dim);
  if (Array.isArray(value)) return vectorOfArray(value, dim);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return vectorOfArray(Array.from(value as unknown as ArrayLike<unknown>), dim);
  return 'the vector is no list of numbers';
}

/** How many numbers a value holds, null when that can't be told. */
export function vectorLengthOf(value: unknown): number | null {
  if (value === null || value === undefined || value === '') return null;
  if (value instanceof Uint8Array) return value.length > 0 && value.length % 4 === 0 ? value.length / 4 : null;
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) return (value as ArrayLike<unknown>).length || null;
  if (typeof value !== 'string') return null;
  const numbers = NUMBERS.exec(value);
  if (numbers !== null) return numbers[1].split(/[,;\s]+/).filter((part) => part !== '').length || null;
  return BASE64.test(value) && value.length % 4 === 0 ? vectorLengthOf(Buffer.from(value, 'base64')) : null;
}

function checked(vector: Float32Array, dim: number): Float32Array | string {
  if (vector.length !== dim) return `the vector has ${vector.length} numbers, the collection ${dim} dimensions`;
  for (let i = 0; i < vector.length; i++) if (!Number.isFinite(vector[i])) return `number ${i} of the vector is ${vector[i]}`;
  return vector;
}

function vectorOfArray(values: unknown[], dim: number): Float32Array | string {
  const vector = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    const number = typeof value === 'number' ? value : typeof value === 'bigint' || (typeof value === 'string' && value.trim() !== '') ? Number(value) : Number.NaN;
    // Beyond float32 it becomes infinite, which is told as such.
    if (Number.isNaN(number)) return `number ${i} of the vector is ${JSON.stringify(typeof value === 'bigint' ? String(value) : value) ?? 'missing'}`;
    vector[i] = number;
  }
  return checked(vector, dim);
}

function vectorOfBytes(bytes: Uint8Array, dim: number): Float32Array | string {
  if (bytes.length !== dim * 4) return `the vector has ${bytes.length} bytes, ${dim} dimensions of float32 have ${dim * 4}`;
  // A copy: these may be anywhere in a larger buffer.
  return checked(new Float32Array(new Uint8Array(bytes).buffer), dim);
}

function vectorOfText(text: string, dim: number): Float32Array | string {
  const numbers = NUMBERS.exec(text);
  if (numbers !== null) {
    return vectorOfArray(
      numbers[1].split(/[,;\s]+/).filter((part) => part !== ''),
      dim,
    );
  }
  if (BASE64.test(text) && text.length % 4 === 0) return vectorOfBytes(Buffer.from(text, 'base64'), dim);
  return 'the vector is neither a list of numbers nor base64';
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** A text as the number or truth value that it is the JSON of; one that would not come back as it was stays a text. */
export function typedText(text: string): unknown {
  if (text === 'true' || text === 'True' || text === 'TRUE') return true;
  if (text === 'false' || text === 'False' || text === 'FALSE') return false;
  if (!NUMBER.test(text)) return text;
  const number = Number(text);
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : text;
}

/** A value of a table as one of JSON: dates as ISO 8601, large whole numbers as text, bytes as base64. */
export function metadataValue(value: unknown): unknown {
  switch (typeof value) {
    case 'bigint':
      return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value);
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, metadataValue);
  if (Array.isArray(value)) return value.map(metadataValue);
  return Object.fromEntries(Object.entries(value).flatMap(([key, inner]) => (inner === undefined ? [] : [[key, metadataValue(inner)]])));
}
