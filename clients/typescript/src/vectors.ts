import { InvalidValueError } from './errors';
import type { VectorLike } from './values';

/** Vectors as base64 of little-endian float32 values, the form in which they go over the wire. */

/** What some runtimes have for it; looked up by name, so that bundlers put nothing in its place. */
interface BinaryText {
  Buffer?: {
    from(
      data: ArrayBufferLike | string,
      offset?: number | 'base64',
      length?: number,
    ): Uint8Array & { toString(encoding: 'base64'): string };
  };
}

const { Buffer: NodeBuffer } = globalThis as BinaryText;

/** Characters that String.fromCharCode takes at once without a deep stack. */
const CHARACTERS_AT_ONCE = 8192;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/**
 * The base64 text of a vector; a text is taken for one already. Numbers are rounded to float32, as the service stores
 * them.
 *
 * Throws an InvalidValueError for what is no vector, and names a number that is none, or is not finite.
 */
export function base64FromVector(vector: VectorLike): string {
  if (typeof vector === 'string') {
    if (!BASE64.test(vector) || bytesOf(vector) % Float32Array.BYTES_PER_ELEMENT !== 0)
      throw new InvalidValueError(
        'is a text that is no base64 of float32 values; a text to be embedded is given as text',
      );
    return vector;
  }
  const floats = vector instanceof Float32Array ? checked(vector, vector) : floatsOf(vector);
  const { buffer, byteOffset, byteLength } = isLittleEndian ? floats : swapped(floats);
  return base64FromBytes(new Uint8Array(buffer, byteOffset, byteLength));
}

/** How many bytes a base64 text holds; words of four letters are base64, too. */
function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
}

/** The base64 text of bytes. */
export function base64FromBytes({ buffer, byteOffset, byteLength }: Uint8Array): string {
  if (NodeBuffer !== undefined) return NodeBuffer.from(buffer, byteOffset, byteLength).toString('base64');
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  let characters = '';
  for (let i = 0; i < bytes.length; i += CHARACTERS_AT_ONCE)
    characters += String.fromCharCode(...bytes.subarray(i, i + CHARACTERS_AT_ONCE));
  return btoa(characters);
}

function floatsOf(vector: unknown): Float32Array {
  const isList = Array.isArray(vector) || (ArrayBuffer.isView(vector) && !(vector instanceof DataView));
  if (!isList)
    throw new InvalidValueError(
      `is ${vector === null ? 'null' : typeof vector}, not a list of numbers${typeof vector === 'object' ? '; metadata are given as metadata' : ''}`,
    );
  const numbers = vector as ArrayLike<unknown>;
  const floats = new Float32Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i];
    if (typeof number === 'number') floats[i] = number;
    else if (typeof number === 'bigint') floats[i] = Number(number);
    else
      throw new InvalidValueError(
        Array.isArray(number) || ArrayBuffer.isView(number)
          ? 'is a list of lists, not one vector'
          : `number ${i} is ${number === null ? 'null' : `of type ${typeof number}`}`,
      );
  }
  return checked(floats, numbers);
}

function checked(floats: Float32Array, given: ArrayLike<unknown>): Float32Array {
  for (let i = 0; i < floats.length; i++) {
    if (Number.isFinite(floats[i])) continue;
    const number = given[i];
    throw new InvalidValueError(
      `number ${i} is ${String(number)}${typeof number === 'number' && !Number.isFinite(number) ? '' : ', beyond what float32 holds'}`,
    );
  }
  return floats;
}

/**
 * The vector of a base64 text.
 *
 * Throws a RangeError when the bytes are no whole number of float32 values.
 */
export function vectorFromBase64(text: string): Float32Array {
  const bytes = bytesFromBase64(text);
  if (bytes.length % Float32Array.BYTES_PER_ELEMENT !== 0)
    throw new RangeError(`${bytes.length} bytes are no whole number of float32 values`);
  // A view needs a multiple of four as its offset, which slices of a pool need not have.
  const isAligned =
    bytes.byteOffset % Float32Array.BYTES_PER_ELEMENT === 0 && bytes.byteLength === bytes.buffer.byteLength;
  const own = isAligned ? bytes : bytes.slice();
  const floats = new Float32Array(own.buffer, own.byteOffset, own.length / Float32Array.BYTES_PER_ELEMENT);
  return isLittleEndian ? floats : swapped(floats);
}

/** A vector of an answer: base64 of a service that knows that form, else an array. */
export function vectorFromAnswer(value: string | readonly number[]): Float32Array {
  return typeof value === 'string' ? vectorFromBase64(value) : Float32Array.from(value);
}

function bytesFromBase64(text: string): Uint8Array {
  if (NodeBuffer !== undefined) return new Uint8Array(NodeBuffer.from(text, 'base64'));
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

/** The same values with the bytes of each the other way round. */
function swapped(floats: Float32Array): Float32Array {
  const result = floats.slice();
  const view = new DataView(result.buffer);
  for (let i = 0; i < floats.length; i++) view.setUint32(4 * i, view.getUint32(4 * i, true), false);
  return result;
}
