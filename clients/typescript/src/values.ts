/** Arrays of numbers of every type; of those with 8 bits, each byte is a number. */
export type NumberArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** A vector as callers may give it: numbers, an array of any number type, or base64 of little-endian float32 values. */
export type VectorLike = readonly number[] | NumberArray | string;

/** An id as callers may give it; a whole number becomes its text. */
export type ExternalId = string | number | bigint;

/** What is stored beside a vector: any JSON object. */
export type Metadata = Record<string, unknown>;

/** What may be given for metadata of a type: moments and large numbers for texts, BigInt for numbers. */
export type Given<Value> = Value extends string
  ? Value | (string extends Value ? Date | bigint : never)
  : Value extends number
    ? Value | (number extends Value ? bigint : never)
    : Value extends object
      ? { [Name in keyof Value]: Given<Value[Name]> }
      : Value;
