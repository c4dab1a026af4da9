/** A mean over queries, and between what it lies in 95 % of the draws of as many queries. */
export interface Estimate {
  mean: number;
  low: number;
  high: number;
}

const DRAWS = 1_000;
/** Of the draws, in their order, which bound the middle 95 %. */
const [LOW, HIGH] = [DRAWS * 0.025, DRAWS * 0.975 - 1];
const SEED = 0x9e3779b9;

/**
 * The mean of each list, with an interval by the bootstrap (Efron, 1979): queries are drawn with replacement, the same
 * ones for all lists, so a list of differences has the interval of a paired comparison. The same lists have the same
 * intervals. Each has one value for each query. In steps, for inSlices.
 */
export function* estimates(lists: readonly (readonly number[])[]): Generator<undefined, Estimate[]> {
  const size = lists[0]?.length ?? 0;
  const means = lists.map(() => new Float64Array(DRAWS));
  const drawn = new Uint32Array(size);
  const next = numbers(SEED);
  for (let draw = 0; draw < DRAWS; draw += 1) {
    for (let i = 0; i < size; i += 1) drawn[i] = next() % size;
    for (const [at, list] of lists.entries()) {
      let sum = 0;
      for (const i of drawn) sum += list[i];
      means[at][draw] = sum / size;
      yield;
    }
  }
  return lists.map((list, at) => {
    const ordered = means[at].sort();
    return { mean: list.reduce((sum, value) => sum + value, 0) / size, low: ordered[LOW], high: ordered[HIGH] };
  });
}

/** Marsaglia's xorshift of 32 bits. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>>= 0);
  };
}
