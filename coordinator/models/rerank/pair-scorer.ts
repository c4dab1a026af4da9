/** What scores pairs: a model that reads both texts of a pair at once, or one that reads each and compares tokens. */
export type PairScorerKind = 'cross-encoder' | 'late-interaction';

/** One model in this thread that says how well a text answers a query. */
export interface PairScorer {
  /** 0 to 1, higher is better. Each pair runs alone, so its score depends on nothing else. */
  score(query: string, text: string): Promise<number>;
}
