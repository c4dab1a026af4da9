import type { KeywordMeaning, KeywordPlan, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';
import { plainEdits } from './plain-expansions';

function timesIn(document: readonly string[], word: string): number {
  let count = 0;
  for (const term of document) if (term === word) count += 1;
  return count;
}

/** How often a unit is in a document, and its idf. `mayMean`: whether a meaning's filter is passed. */
function weighedAny(
  unit: KeywordUnit,
  document: readonly string[],
  terms: string[],
  statistics: KeywordStatistics,
  mayMean: (meaning: KeywordMeaning) => boolean,
) {
  const { meanings = [], more = [] } = unit;
  const times = (word: string): number => timesIn(document, word);
  const listed = unit.terms.map((place) => terms[place]);
  const factorOf = (word: string): number => {
    const factors = more.map(({ term, by }) => {
      if (by === 'prefix') return word.startsWith(term) ? 1 : 0;
      const edits = plainEdits(word, term);
      return edits <= by ? Math.max(0, 1 - edits / Math.min(word.length, term.length)) : 0;
    });
    return factors.find((factor) => factor > 0) ?? 0;
  };
  const frequency =
    listed.reduce((sum, term, i) => sum + unit.factors![i] * times(term), 0) +
    (more.length === 0 ? [] : [...new Set(document)]).reduce(
      (sum, term) => sum + (listed.includes(term) ? 0 : factorOf(term) * times(term)),
      0,
    ) +
    meanings.reduce(
      (sum, meaning) => sum + (mayMean(meaning) ? Math.min(...meaning.terms.map((place) => times(terms[place]))) : 0),
      0,
    );
  // Most documents: how rare the words are does not matter there.
  if (frequency === 0) return { frequency, idf: 0 };
  const having = (place: number): number => statistics.documentFrequencies[place];
  const containing = Math.max(
    -1,
    ...unit.terms.map(having),
    ...meanings.flatMap(({ terms: own, isSum }) => (isSum === true ? [] : [Math.min(...own.map(having))])),
  );
  const idfOf = (count: number): number => Math.log(1 + (statistics.documentCount - count + 0.5) / (count + 0.5));
  const sums = meanings.flatMap(({ terms: own, isSum }) =>
    isSum === true ? [own.reduce((sum, place) => sum + idfOf(having(place)), 0)] : [],
  );
  const idf = Math.min(...(containing < 0 ? [] : [idfOf(containing)]), ...sums);
  return { frequency, idf: unit.isFree === true ? 0 : idf };
}

function weighed(
  unit: KeywordUnit,
  document: readonly string[],
  terms: string[],
  statistics: KeywordStatistics,
  mayMean: (meaning: KeywordMeaning) => boolean,
) {
  if (unit.factors !== undefined) return weighedAny(unit, document, terms, statistics, mayMean);
  const frequency = Math.min(...unit.terms.map((place) => timesIn(document, terms[place])));
  if (frequency === 0) return { frequency, idf: 0 };
  const idf = unit.terms.reduce((sum, place) => {
    const containing = statistics.documentFrequencies[place];
    return sum + Math.log(1 + (statistics.documentCount - containing + 0.5) / (containing + 0.5));
  }, 0);
  return { frequency, idf: unit.isFree === true ? 0 : idf };
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
  mayMean: (meaning: KeywordMeaning) => boolean = () => true,
): number | null {
  const average = statistics.totalLength / statistics.documentCount;
  let [score, optional, has] = [0, 0, false];
  plan.units.forEach((unit, place) => {
    const { frequency, idf } = weighed(unit, document, terms, statistics, mayMean);
    if (frequency === 0 || !mayHave(unit, place)) return;
    has = true;
    if (unit.isOptional) optional += 1;
    score += (idf * frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * document.length) / average));
  });
  return has && optional >= plan.minimum ? score : null;
}
