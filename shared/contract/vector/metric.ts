/** The distance metrics of a collection. For all of them, a higher score is better: see {@link scoreOf}. */
export const METRICS = ['cosine', 'l2', 'ip'] as const;

export type Metric = (typeof METRICS)[number];

/**
 * Score of two vectors of equal length, in double precision: the plain definition that every index is tested against.
 * cosine: a·b / (|a| |b|), 0 when either is zero; ip: a·b; l2: 1 / (1 + |a − b|).
 */
export function scoreOf(metric: Metric, a: ArrayLike<number>, b: ArrayLike<number>): number {
  let dot = 0;
  let squareA = 0;
  let squareB = 0;
  let squareDifference = 0;
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    squareA += a[i] * a[i];
    squareB += b[i] * b[i];
    squareDifference += (a[i] - b[i]) * (a[i] - b[i]);
  }
  if (metric === 'ip') return dot;
  if (metric === 'l2') return 1 / (1 + Math.sqrt(squareDifference));
  // Two square roots, because the product of the squares may exceed the range of doubles. Bounded, because rounding may
  // give parallel vectors a value above 1.
  return squareA === 0 || squareB === 0
    ? 0
    : Math.max(-1, Math.min(1, dot / (Math.sqrt(squareA) * Math.sqrt(squareB))));
}

/** Dot products of huge vectors are infinite, and the sum of two such may be no number. */
export function finiteScore(score: number): number {
  return Number.isNaN(score) ? 0 : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, score));
}
