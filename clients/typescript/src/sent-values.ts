import { InvalidValueError } from './errors';
import { base64FromBytes } from './vectors';

/**
 * A value as JSON has it: moments as ISO 8601, whole numbers of BigInt (beyond 2^53 as text), Map as an object, Set and
 * typed arrays as lists, bytes as base64. The value itself where nothing is to be done.
 *
 * Throws an InvalidValueError with the place, beginning with `field`, of what JSON has not: NaN, infinite numbers,
 * functions, promises.
 */
export function jsonValue<Value>(value: Value, field: string): Value {
  try {
    return converted(value) as Value;
  } catch (error) {
    throw error instanceof RangeError
      ? new InvalidValueError('is nested too deeply, or holds itself', { field, cause: error })
      : below(field, error);
  }
}

/** The error with the name or number of what its place is in. */
export function below(part: string | number, error: unknown): unknown {
  return error instanceof InvalidValueError ? error.below(part) : error;
}

function converted(value: unknown): unknown {
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) throw new InvalidValueError(`${value} is no value of JSON`);
      return value;
    case 'bigint':
      return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
        ? Number(value)
        : String(value);
    case 'object':
      return value === null ? null : ofObject(value);
    case 'function':
    case 'symbol':
      throw new InvalidValueError(`is a ${typeof value}, which JSON has not`);
    case 'boolean':
    case 'string':
    case 'undefined':
      return value;
  }
}

function ofObject(value: object): unknown {
  if (Array.isArray(value)) return ofList(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    if (value instanceof Date) {
      if (Number.isNaN(value.getTime())) throw new InvalidValueError('is an invalid Date');
      return value.toISOString();
    }
    if (value instanceof Map) return ofMap(value);
    if (value instanceof Set) return ofList([...value]);
    if (value instanceof Uint8Array) return base64FromBytes(value);
    if (value instanceof ArrayBuffer) return base64FromBytes(new Uint8Array(value));
    if (value instanceof DataView)
      return base64FromBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    if (value instanceof Float32Array) return ofList(Array.from(value, shortestFloat));
    if (ArrayBuffer.isView(value)) return ofList(Array.from(value as unknown as ArrayLike<unknown>));
    if (value instanceof Number || value instanceof String || value instanceof Boolean)
      return converted(value.valueOf());
    if (value instanceof Promise) throw new InvalidValueError('is a Promise: await it');
    if (value instanceof Error && !('toJSON' in value)) throw new InvalidValueError('is an Error: give its message');
    if (value instanceof RegExp || value instanceof WeakMap || value instanceof WeakSet)
      throw new InvalidValueError(`is a ${value.constructor.name}, which JSON has not`);
  }
  const own = value as { toJSON?: () => unknown };
  return typeof own.toJSON === 'function' ? converted(own.toJSON()) : ofMembers(own as Record<string, unknown>);
}

/** Digits that tell every number of 32 bits from all others. */
const FLOAT_DIGITS_MAX = 9;

/** Of a number of 32 bits, the one of the fewest digits that is the same in 32 bits: 0.1, not 0.10000000149011612. */
function shortestFloat(number: number): number {
  if (Number.isInteger(number)) return number;
  for (let digits = 1; digits < FLOAT_DIGITS_MAX; digits++) {
    const shorter = Number(number.toPrecision(digits));
    if (Math.fround(shorter) === number) return shorter;
  }
  return Number(number.toPrecision(FLOAT_DIGITS_MAX));
}

/** A copy only where a member changes. */
function ofList(values: unknown[]): unknown[] {
  let copy: unknown[] | null = null;
  for (let i = 0; i < values.length; i++) {
    const one = part(values[i], i);
    if (one !== values[i]) (copy ??= [...values])[i] = one;
  }
  return copy ?? values;
}

function ofMembers(value: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(value);
  let changed: [string, unknown][] | null = null;
  for (const name of names) {
    const one = part(value[name], name);
    if (one !== value[name]) (changed ??= []).push([name, one]);
  }
  // Not by assignment: keys such as __proto__ are data.
  return changed === null
    ? value
    : Object.fromEntries([...names.map((name) => [name, value[name]] as [string, unknown]), ...changed]);
}

function ofMap(map: Map<unknown, unknown>): Record<string, unknown> {
  const members = new Map<string, unknown>();
  for (const [key, value] of map) {
    const name = converted(key);
    if (name === undefined || (typeof name === 'object' && name !== null))
      throw new InvalidValueError('a key of the Map is no text');
    const text = typeof name === 'string' ? name : JSON.stringify(name);
    if (members.has(text)) throw new InvalidValueError(`two keys of the Map are ${JSON.stringify(text)} as texts`);
    members.set(text, part(value, text));
  }
  return Object.fromEntries(members);
}

function part(value: unknown, place: string | number): unknown {
  // Most values are these.
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  try {
    return converted(value);
  } catch (error) {
    throw below(place, error);
  }
}
