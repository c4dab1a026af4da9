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
    replaceVectors(value, (vector) => this.float32(vector));
    return value;
  }

  private float32(vector: unknown): unknown {
    if (!Array.isArray(vector) || !vector.every((element) => typeof element === 'number')) return vector;
    return Float32Array.from(vector.length > this.vectorDimMax ? vector.slice(0, this.vectorDimMax + 1) : vector);
  }
}
