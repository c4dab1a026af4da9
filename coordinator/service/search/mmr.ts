/** Multiplications before others may be served: some hundred microseconds. */
const WORK_PER_STEP = 200_000;

/** A candidate that was chosen: its index, and its score then. */
export interface ChosenCandidate {
  index: number;
  score: number;
}

/**
 * Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): chooses `count` candidates, one after the other,
 * each time the one with the greatest lambda × relevance − (1 − lambda) × the greatest cosine with one that was chosen;
 * of equal ones the first. So more are chosen behind the same ones. Those from `behind` on are chosen when none before
 * is left. In steps.
 */
export function* marginallyRelevant(
  vectors: readonly Float32Array[],
  relevance: ArrayLike<number>,
  { lambda, count, behind = vectors.length }: { lambda: number; count: number; behind?: number | undefined },
): Generator<undefined, ChosenCandidate[]> {
  const lengths = vectors.map((vector) => Math.sqrt(dotOf(vector, vector)));
  const nearest = new Float64Array(vectors.length).fill(-Infinity);
  const left = new Set(vectors.keys());
  const chosen: ChosenCandidate[] = [];
  let work = 0;
  while (chosen.length < count && left.size > 0) {
    let best: ChosenCandidate | null = null;
    for (const index of left) {
      if (index >= behind && best !== null && best.index < behind) break;
      const alike = chosen.length === 0 ? 0 : nearest[index];
      const score = lambda * relevance[index] - (1 - lambda) * alike;
      if (best === null || score > best.score) best = { index, score };
    }
    const { index } = best!;
    chosen.push(best!);
    left.delete(index);
    for (const other of left) {
      const product = lengths[index] * lengths[other];
      // Bounded as scores are: rounding may give parallel vectors a value above 1.
      const cosine = product === 0 ? 0 : Math.max(-1, Math.min(1, dotOf(vectors[index], vectors[other]) / product));
      if (cosine > nearest[other]) nearest[other] = cosine;
      work += vectors[other].length;
      if (work < WORK_PER_STEP) continue;
      work = 0;
      yield;
    }
  }
  return chosen;
}

/** Where each score lies between the least and the greatest, from 0 to 1; 1 if they are equal. */
export function relativeScores(scores: readonly number[]): number[] {
  // By halves of finite numbers, because a difference may be infinite.
  const halves = scores.map((score) => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, score)) / 2);
  let [least, most] = [Infinity, -Infinity];
  for (const half of halves) [least, most] = [Math.min(least, half), Math.max(most, half)];
  return halves.map((half) => (least === most ? 1 : (half - least) / (most - least)));
}

function dotOf(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
