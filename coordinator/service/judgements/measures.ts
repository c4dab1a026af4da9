/** How good the first hits of a query are, by the grades that people gave: each from 0 to 1. */
export interface Measures {
  ndcg: number;
  recall: number;
  mrr: number;
}

export const MEASURES = ['ndcg', 'recall', 'mrr'] as const satisfies readonly (keyof Measures)[];

/**
 * Measures of the first k of `found`, ids with the best first. `grades`: of the ids that were judged, one of them
 * above 0; what was not judged counts as 0.
 *
 * ndcg: the sum of grade / log2(place + 1), as a share of the best order's (Järvelin and Kekäläinen, 2002; as trec_eval
 * has it). recall: the share of the ids with a grade above 0 that were found. mrr: 1 / the place of the first of them;
 * 0: there is none.
 */
export function measuresOf(found: readonly string[], grades: ReadonlyMap<string, number>, k: number): Measures {
  const gains = found.slice(0, k).map((id) => grades.get(id) ?? 0);
  const best = [...grades.values()].sort((a, b) => b - a).slice(0, k);
  const relevant = [...grades.values()].filter((grade) => grade > 0).length;
  const first = gains.findIndex((gain) => gain > 0);
  return {
    ndcg: discounted(gains) / discounted(best),
    recall: gains.filter((gain) => gain > 0).length / relevant,
    mrr: first < 0 ? 0 : 1 / (first + 1),
  };
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, i) => sum + gain / Math.log2(i + 2), 0);
}
