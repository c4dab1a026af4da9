import type { KeywordPlan, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';
import type { SlotScores } from '../slots/slot-scores';
import { lengthNorm, termWeight } from './bm25';
import { type PlannedSearchOptions, slotName } from './keyword-index';
import type { SearchedUnit, UnitTerm } from './searched-units';
import type { TermDictionary } from './term-dictionary';
import type { TermSource } from './term-slots';
import { searchUnits } from './unit-search';

/** What is asked of an index. */
interface PlannedSearch {
  terms: readonly string[];
  plan: KeywordPlan;
  /** Of the whole collection. */
  statistics: KeywordStatistics;
}

/** See KeywordIndex.searchPlanInSteps. */
export function* searchPlan(
  { documents, dictionary, lists, numbering }: TermSource,
  asked: PlannedSearch,
  { k, allowed, nameOf = slotName, unitSlots }: PlannedSearchOptions,
): Generator<undefined, SlotScores> {
  const source = {
    documents,
    lists,
    norm: lengthNorm(asked.statistics),
    units: searchedUnits(dictionary, asked, unitSlots),
    minimum: asked.plan.minimum,
    numbering,
  };
  const found = yield* searchUnits(source, { k, allowed, nameOf: (document) => nameOf(documents.slots[document]) });
  return { slots: found.documents.map((document) => documents.slots[document]), scores: found.scores };
}

/** In the same order in every shard, which is that of a search without a plan where each term is a unit. */
function searchedUnits(
  dictionary: TermDictionary,
  { terms, plan: { units }, statistics }: PlannedSearch,
  unitSlots: PlannedSearchOptions['unitSlots'],
): SearchedUnit[] {
  return units
    .map((unit, order) => ({
      order,
      terms: () => termsOf(dictionary, terms, unit),
      isAnyEnough: unit.factors !== undefined,
      weight: weightOf(unit, statistics),
      isOptional: unit.isOptional,
      allowed: () => unitSlots(order),
    }))
    .sort((a, b) => b.weight - a.weight || a.order - b.order);
}

function weightOf(unit: KeywordUnit, statistics: KeywordStatistics): number {
  const weights = unit.terms.map((place) => termWeight(statistics, place));
  return unit.factors === undefined ? weights.reduce((sum, weight) => sum + weight, 0) : Math.min(...weights);
}

/** The terms that have documents; none where all are needed and one has none. */
function termsOf(dictionary: TermDictionary, texts: readonly string[], unit: KeywordUnit): UnitTerm[] {
  const found: UnitTerm[] = [];
  for (const [i, place] of unit.terms.entries()) {
    const term = dictionary.find(texts[place]);
    // A term of a text that is not put yet has a number but no document.
    if (term !== undefined && dictionary.documentFrequencies[term] > 0)
      found.push({ term, factor: unit.factors?.[i] ?? 1 });
    else if (unit.factors === undefined) return [];
  }
  return found;
}
