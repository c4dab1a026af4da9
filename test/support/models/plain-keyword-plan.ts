import type { KeywordPlan, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';

/** How often a unit is in a document, and the idf by which it counts. */
function weighedAny(unit: KeywordUnit, document: readonly string[], terms: string[], statistics: KeywordStatistics) {
  const frequency = unit.terms.reduce(
    (sum, place, i) => sum + unit.factors![i] * document.filter((term) => term === terms[place]).length,
    0,
  );
  const containing = Math.max(...unit.terms.map((place) => statistics.documentFrequencies[place]));
  return { frequency, idf: Math.log(1 + (statistics.documentCount - containing + 0.5) / (containing + 0.5)) };
}

function weighed(unit: KeywordUnit, document: readonly string[], terms: string[], statistics: KeywordStatistics) {
  if (unit.factors !== undefined) return weighedAny(unit, document, terms, statistics);
  const frequencies = unit.terms.map((place) => document.filter((term) => term === terms[place]).length);
  const idf = unit.terms.reduce((sum, place) => {
    const containing = statistics.documentFrequencies[place];
    return sum + Math.log(1 + (statistics.documentCount - containing + 0.5) / (containing + 0.5));
  }, 0);
  return { frequency: Math.min(...frequencies), idf };
}

/**
 * The score of a document by a plan, from its definition; null: it has too little. `mayHave`: whether a unit's filter
 * is passed.
 */
export function plainPlanScore(
  document: readonly string[],
  terms: string[],
  plan: KeywordPlan,
  statistics: KeywordStatistics,
  mayHave: (unit: KeywordUnit, place: number) => boolean,
): number | null {
  const average = statistics.totalLength / statistics.documentCount;
  let [score, optional, has] = [0, 0, false];
  plan.units.forEach((unit, place) => {
    const { frequency, idf } = weighed(unit, document, terms, statistics);
    if (frequency === 0 || !mayHave(unit, place)) return;
    has = true;
    if (unit.isOptional) optional += 1;
    score += (idf * frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * document.length) / average));
  });
  return has && optional >= plan.minimum ? score : null;
}
