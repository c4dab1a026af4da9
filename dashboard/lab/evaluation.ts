/** What an evaluation found, as the service documents its result, and what it says. */

export interface Estimate {
  mean: number;
  low: number;
  high: number;
}

export const MEASURES = { ndcg: 'nDCG', recall: 'Recall', mrr: 'MRR' } as const;
export type Measure = keyof typeof MEASURES;

export type Measured = Record<Measure, Estimate>;

export interface LostQuery {
  query: string;
  first_ndcg: number;
  ndcg: number;
}

export interface EvaluatedVariant extends Measured {
  name: string;
  queries_without_hits: number;
  against_first?: Measured & { better: number; worse: number; lost_most: LostQuery[] };
}

export interface Evaluation {
  judgements: string;
  k: number;
  queries: number;
  missing_items: number;
  variants: EvaluatedVariant[];
}

/** 0.7312 */
export function share(value: number): string {
  return value.toFixed(4);
}

/** A difference with its sign: +0.0312, −0.0312, 0.0000. */
export function difference(value: number): string {
  const text = share(Math.abs(value));
  return Number(text) === 0 ? text : `${value > 0 ? '+' : '−'}${text}`;
}

/** Whether a difference is more than chance, by its interval. */
export function verdict({ low, high }: Estimate): { said: string; tag: '' | 'good' | 'bad' } {
  if (low > 0) return { said: 'better', tag: 'good' };
  if (high < 0) return { said: 'worse', tag: 'bad' };
  return { said: low === 0 && high === 0 ? 'the same' : 'no clear difference', tag: '' };
}

/** Of a bar from 0 to 1, in per cent: how far the mean goes, and from where to where its interval. */
export function barOf({ mean, low, high }: Estimate): { width: number; from: number; span: number } {
  const within = (value: number): number => Math.min(100, Math.max(0, value * 100));
  return { width: within(mean), from: within(low), span: within(high) - within(low) };
}

/** What a script runs so that a search does not get worse: the first variant must reach what it has now. */
export function commandOf(collection: string, { judgements, variants }: Evaluation): string {
  const reached = Math.floor((variants[0]?.ndcg.mean ?? 0) * 100) / 100;
  return `quiver evaluate ${collection} ${judgements} --file ${judgements}.json --at-least ${reached.toFixed(2)}`;
}
