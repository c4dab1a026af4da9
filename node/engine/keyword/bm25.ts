import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';

/** Saturation of the term frequency, and weight of the document length; the same for the whole service. */
export const K1 = 1.2;
export const B = 0.75;

/** Allowance for rounding in upper bounds, far above what a sum of a thousand terms can lose. */
export const BOUND_SLACK = 1 + 1e-9;

/** Lucene's idf, ln(1 + (N − df + 0.5) / (df + 0.5)): positive for every df ≤ N. */
export function inverseDocumentFrequency(documentCount: number, documentFrequency: number): number {
  // Statistics collected while documents come and go may have a document frequency above the number of documents.
  const count = Math.max(documentCount, documentFrequency);
  return Math.log(1 + (count - documentFrequency + 0.5) / (documentFrequency + 0.5));
}

/** idf · (k1 + 1) of a term, by its place in the statistics. */
export function termWeight({ documentCount, documentFrequencies }: KeywordStatistics, place: number): number {
  return inverseDocumentFrequency(documentCount, documentFrequencies[place]) * (K1 + 1);
}

/**
 * The length part of BM25's denominator, k1 (1 − b + b · length / average), as `base + slope · length`. The score of a
 * term in a document is idf · (k1 + 1) · tf / (tf + base + slope · length).
 */
export interface LengthNorm {
  base: number;
  slope: number;
}

export function lengthNorm(statistics: KeywordStatistics): LengthNorm {
  const average = statistics.documentCount > 0 ? statistics.totalLength / statistics.documentCount : 0;
  return { base: K1 * (1 - B), slope: average > 0 ? (K1 * B) / average : 0 };
}

/** What one term adds to a document's score; `weight` is idf · (k1 + 1). Rises with tf, falls with length. */
export function termScore(weight: number, frequency: number, length: number, norm: LengthNorm): number {
  return (weight * frequency) / (frequency + (norm.base + norm.slope * length));
}
