/**
 * Measures of a ranked list against graded judgements, as trec_eval has them (and BEIR's figures with it). `ranking` is
 * ids, best first; `judged` maps ids to grades, and what is not in it or has a grade of 0 or less is not relevant.
 */

/**
 * Normalised discounted cumulative gain of the first `depth` places (trec_eval's ndcg_cut): the sum of grade /
 * log2(rank + 1), ranks from 1, over that of the best possible list. 0 where nothing is relevant.
 */
export function ndcgAt(depth, ranking, judged) {
  const gained = ranking.slice(0, depth).map((id) => Math.max(0, judged.get(id) ?? 0));
  const ideal = [...judged.values()]
    .filter((grade) => grade > 0)
    .sort((a, b) => b - a)
    .slice(0, depth);
  const best = discounted(ideal);
  return best === 0 ? 0 : discounted(gained) / best;
}

/**
 * The share of all relevant ids that are in the first `depth` places (trec_eval's recall). 0 where nothing is relevant.
 */
export function recallAt(depth, ranking, judged) {
  const relevant = [...judged].filter(([, grade]) => grade > 0).map(([id]) => id);
  if (relevant.length === 0) return 0;
  const found = new Set(ranking.slice(0, depth));
  return relevant.filter((id) => found.has(id)).length / relevant.length;
}

function discounted(grades) {
  return grades.reduce((sum, grade, i) => sum + grade / Math.log2(i + 2), 0);
}

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The value that the share `share` of all values do not exceed (nearest rank). */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}
