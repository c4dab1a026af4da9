import type { Metric } from '../../../shared/contract/vector/metric';

/** The vectors of examples; there is a positive one. */
export interface ExampleVectors {
  positives: readonly Float32Array[];
  negatives: readonly Float32Array[];
}

/** What a list is looked for by; null: its source needs no vector, or it is not made. */
export interface LegVectors {
  vector: Float32Array | null;
  /** Of examples. */
  examples?: ExampleVectors | undefined;
}

const FLOAT32_MAX = 2 ** 128 - 2 ** 104;

/**
 * The vector that is in the middle of the positives and then as far again away from the middle of the negatives:
 * p + (p − n). Of a cosine, only the directions of the examples count. One positive alone is itself.
 */
export function averageOf(metric: Metric, { positives, negatives }: ExampleVectors): Float32Array {
  if (positives.length === 1 && negatives.length === 0) return positives[0];
  const middle = middleOf(metric, positives);
  if (negatives.length === 0) return Float32Array.from(middle);
  const away = middleOf(metric, negatives);
  return Float32Array.from(middle, (p, i) => Math.max(-FLOAT32_MAX, Math.min(FLOAT32_MAX, p + (p - away[i]))));
}

function middleOf(metric: Metric, vectors: readonly Float32Array[]): Float64Array {
  const sum = new Float64Array(vectors[0].length);
  for (const vector of vectors) {
    const length = metric === 'cosine' ? lengthOf(vector) || 1 : 1;
    for (let i = 0; i < sum.length; i++) sum[i] += vector[i] / length;
  }
  return sum.map((value) => value / vectors.length);
}

function lengthOf(vector: Float32Array): number {
  let squares = 0;
  for (const value of vector) squares += value * value;
  return Math.sqrt(squares);
}
