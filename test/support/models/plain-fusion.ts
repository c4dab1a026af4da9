import type { Fusing } from '../../../coordinator/service/search-request';

interface Scored {
  externalId: string;
  score: number;
}

/**
 * Both lists fused, all of both, by the textbooks' formulas; best first, then by id. Lists of weight 0 count as empty.
 */
export function plainlyFused(lists: { vector: Scored[]; keyword: Scored[] }, alpha: number, fusing: Fusing): Scored[] {
  const weighed = [
    { hits: alpha > 0 ? lists.vector : [], weight: alpha },
    { hits: alpha < 1 ? lists.keyword : [], weight: 1 - alpha },
  ];
  const best = fusing.isUnit ? weighed.reduce((sum, list) => sum + bestOf(list, fusing), 0) : 1;
  const added = weighed.map((list) => addedBy(list, fusing));
  const ids = [...new Set(weighed.flatMap(({ hits }) => hits.map(({ externalId }) => externalId)))];
  return ids
    .map((externalId) => ({
      externalId,
      score: added.reduce((sum, list) => sum + (list.get(externalId) ?? 0), 0) / best,
    }))
    .sort((a, b) => b.score - a.score || (a.externalId < b.externalId ? -1 : 1));
}

/** By id, what a list adds to the score of each of its hits. */
function addedBy(
  { hits, weight }: { hits: Scored[]; weight: number },
  { kind, constant }: Fusing,
): Map<string, number> {
  const scores = hits.map(({ score }) => score);
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  const relative = scores.map((score) => (least === most ? 1 : (score - least) / (most - least)));
  const mean = relative.reduce((sum, one) => sum + one, 0) / relative.length;
  const deviation = Math.sqrt(relative.reduce((sum, one) => sum + (one - mean) ** 2, 0) / relative.length);
  const addedAt = (i: number): number => {
    switch (kind) {
      case 'rrf':
        return weight / (constant + 1 + i);
      case 'linear':
        return weight * scores[i];
      case 'relative':
        return weight * relative[i];
      case 'dbsf':
        return weight * (deviation === 0 ? 0.5 : 0.5 + (relative[i] - mean) / (6 * deviation));
    }
  };
  return new Map(hits.map(({ externalId }, i) => [externalId, addedAt(i)]));
}

function bestOf({ hits, weight }: { hits: Scored[]; weight: number }, { kind, constant }: Fusing): number {
  if (kind === 'rrf') return weight / (constant + 1);
  return kind === 'relative' ? weight : weight * (0.5 + Math.sqrt(Math.max(0, hits.length - 1)) / 6);
}
