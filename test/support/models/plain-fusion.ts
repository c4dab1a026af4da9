import type { Fusing } from '../../../coordinator/service/search-request';

interface Scored {
  externalId: string;
  score: number;
}

/** Two lists as a search by a vector and keywords weighs them. */
export function byAlpha<Hit>(lists: { vector: Hit[]; keyword: Hit[] }, alpha: number): WeighedHits<Hit>[] {
  return [
    { hits: lists.vector, weight: alpha },
    { hits: lists.keyword, weight: 1 - alpha },
  ];
}

export interface WeighedHits<Hit> {
  hits: Hit[];
  weight: number;
}

/** All of the lists fused, by the textbooks' formulas; best first, then by id. Lists of weight 0 count as empty. */
export function plainlyFused(lists: readonly WeighedHits<Scored>[], fusing: Fusing): Scored[] {
  const weighed = lists.map(({ hits, weight }) => ({ hits: weight > 0 ? hits : [], weight }));
  const best = fusing.isUnit ? weighed.reduce((sum, list) => sum + bestOf(list, fusing), 0) : 1;
  const added = weighed.map((list) => addedBy(list, fusing));
  const ids = [...new Set(weighed.flatMap(({ hits }) => hits.map(({ externalId }) => externalId)))];
  return ids
    .map((externalId) => ({
      externalId,
      score: added.reduce((sum, by) => sum + (by.get(externalId) ?? 0), 0) / best,
    }))
    .sort((a, b) => b.score - a.score || (a.externalId < b.externalId ? -1 : 1));
}

/** What a list adds, by id. */
function addedBy({ hits, weight }: WeighedHits<Scored>, { kind, constant }: Fusing): Map<string, number> {
  const scores = hits.map(({ score }) => score);
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  const relative = scores.map((score) => (least === most ? 1 : (score - least) / (most - least)));
  const mean = relative.reduce((sum, one) => sum + one, 0) / relative.length;
  const deviation = Math.sqrt(relative.reduce((sum, one) => sum + (one - mean) ** 2, 0) / relative.length);
  const added = (i: number): number => {
    switch (kind) {
      case 'rrf':
        return weight / (constant + i + 1);
      case 'linear':
        return weight * scores[i];
      case 'relative':
        return weight * relative[i];
      case 'dbsf':
        return weight * (deviation === 0 ? 0.5 : 0.5 + (relative[i] - mean) / (6 * deviation));
    }
  };
  return new Map(hits.map(({ externalId }, i) => [externalId, added(i)]));
}

function bestOf({ hits, weight }: WeighedHits<Scored>, { kind, constant }: Fusing): number {
  if (kind === 'rrf') return weight / (constant + 1);
  return kind === 'relative' ? weight : weight * (0.5 + Math.sqrt(Math.max(0, hits.length - 1)) / 6);
}
