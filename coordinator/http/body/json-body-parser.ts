import type { BodyParser } from './body-parser';
import { parseJson } from './parse-json';
import { replaceVectors } from './vector-places';

/**
 * The plain body parser: JSON.parse, then float32. The reference for the native one, and what serves where the addon
 * isn't built. It rounds twice (decimal to double to float32), which differs from rounding once only for decimals of
 * more than 17 digits or so that lie next to the very middle between two float32 numbers.
 */
export class JsonBodyParser implements BodyParser {
  private readonly vectorDimMax: number;

  constructor(options: { vectorDimMax: number }) {
    this.vectorDimMax = options.vectorDimMax;
  }

  parse(body: Buffer): unknown {
    const value = parseJson(body);
    replaceVectors(value, (vector) => float32IfNumbers(vector, this.vectorDimMax));
    return value;
  }
}

/** An array of nothing but numbers as float32, cut after `lengthMax + 1` elements; anything else as it is. */
export function float32IfNumbers(value: unknown, lengthMax: number): unknown {
  if (!Array.isArray(value) || !value.every((element) => typeof element === 'number')) return value;
  return Float32Array.from(value.length > lengthMax ? value.slice(0, lengthMax + 1) : value);
}
