import { EditWalk } from '../../../shared/base/text/edit-walk';
import { factorOfEdits } from '../../../shared/base/text/word-variants';
import type { KeywordPlan, KeywordUnit, MoreTerms } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';
import type { SlotScores } from '../slots/slot-scores';
import { lengthNorm, termWeight } from './bm25';
import { type PlannedSearchOptions, slotName } from './keyword-index';
import { type SearchedPart, searchPostings } from './keyword-search';
import type { SearchedUnit, UnitTerm } from './searched-units';
import type { FoundTerms, TermSource } from './term-slots';
import { searchUnits } from './unit-search';

/** What is asked of an index. */
interface PlannedSearch {
  terms: readonly string[];
  plan: KeywordPlan;
  /** Of the whole collection. */
  statistics: KeywordStatistics;
  /** All terms of the index that begin so or are near, in their order. */
  allTermsOf: (request: MoreTerms) => Generator<undefined, { terms: string[] }>;
}

/** What more terms are found in one step: a few milliseconds. */
const FOUND_PER_STEP = 1 << 13;

/** With what more there is. */
interface WholeSearch extends PlannedSearch {
  /** So many terms are those that were asked for. */
  listed: number;
  /** Numbers that terms had, by unit and place in it: finding very many takes long, and most keep theirs. */
  numbers: Map<KeywordUnit, number[]>;
}

/** See KeywordIndex.searchPlanInSteps. */
export function* searchPlan(
  source: TermSource,
  asked: PlannedSearch,
  { k, allowed, nameOf = slotName, unitSlots, meaningSlots = () => null }: PlannedSearchOptions,
): Generator<undefined, SlotScores> {
  const { documents, dictionary } = source;
  const { minimum } = asked.plan;
  const norm = lengthNorm(asked.statistics);
  const units = searchedUnits(source, yield* withMore(asked, dictionary), { unitSlots, meaningSlots });
  const nameFor = nameOf === null ? null : (document: number): string => nameOf(documents.slots[document]);
  const wish = { k, allowed, nameOf: nameFor };
  const found = yield* isSum(asked.plan, unitSlots)
    ? searchPostings({ ...source, norm, parts: () => partsOf(units) }, wish)
    : searchUnits({ ...source, norm, units, minimum }, wish);
  return { slots: found.documents.map((document) => documents.slots[document]), scores: found.scores };
}

/** With the terms that units have more of, behind the others; nothing is known of how frequent these are. */
function* withMore(asked: PlannedSearch, dictionary: FoundTerms): Generator<undefined, WholeSearch> {
  const listed = asked.terms.length;
  const numbers = new Map<KeywordUnit, number[]>();
  if (asked.plan.units.every(({ more }) => more === undefined)) return { ...asked, listed, numbers };
  const terms = [...asked.terms];
  const units: KeywordUnit[] = [];
  for (const unit of asked.plan.units) {
    const { more } = unit;
    if (more === undefined) {
      units.push(unit);
      continue;
    }
    const own = new Set(unit.terms.map((place) => terms[place]));
    const places = [...unit.terms];
    const factors = [...unit.factors!];
    const known = new Array<number>(places.length).fill(-1);
    for (const request of more) {
      const walk = request.by === 'prefix' ? null : new EditWalk(request.term, request.by);
      for (const term of (yield* asked.allTermsOf(request)).terms) {
        const factor = walk === null ? 1 : factorOfEdits(walk.distanceTo(term), request.term, term);
        if (own.has(term) || factor <= 0) continue;
        places.push(terms.push(term) - 1);
        factors.push(factor);
        // Where a text is not known of a number, it would be of no use.
        known.push((dictionary.text && dictionary.find(term)) ?? -1);
        if (places.length % FOUND_PER_STEP === 0) yield;
      }
    }
    const whole = { ...unit, terms: places, factors };
    units.push(whole);
    numbers.set(whole, known);
  }
  return { ...asked, terms, plan: { ...asked.plan, units }, listed, numbers };
}

/** Whether any unit is enough, and units are what single lists have, or several of which any is enough. */
function isSum({ units, minimum }: KeywordPlan, unitSlots: PlannedSearchOptions['unitSlots']): boolean {
  return (
    (minimum === 0 || (minimum === 1 && units.every(({ isOptional }) => isOptional))) &&
    units.every(
      (unit, i) =>
        (unit.factors !== undefined || unit.terms.length === 1) &&
        unit.meanings === undefined &&
        unit.isFree === undefined &&
        unitSlots(i) === null,
    )
  );
}

function partsOf(units: readonly SearchedUnit[]): SearchedPart[] {
  return units.flatMap(({ terms, weight }, rank) => {
    const own = terms();
    return own.length === 0 ? [] : [{ terms: own, weight, rank }];
  });
}

/** In the same order in every shard, which is that of a search without a plan where each term is a unit. */
function searchedUnits(
  { dictionary, revision }: TermSource,
  { terms, plan: { units }, statistics, listed, numbers }: WholeSearch,
  { unitSlots, meaningSlots }: Required<Pick<PlannedSearchOptions, 'unitSlots' | 'meaningSlots'>>,
): SearchedUnit[] {
  return units
    .map((unit, order) => ({
      order,
      terms: untilChange({ dictionary, revision }, termsNow(dictionary, terms, unit, numbers.get(unit))),
      meanings: (unit.meanings ?? []).map(({ terms: own }, i) => ({
        terms: () =>
          numbersOf(
            dictionary,
            own.map((place) => terms[place]),
          ),
        allowed: () => meaningSlots(order, i),
      })),
      isAnyEnough: unit.factors !== undefined,
      weight: weightOf(unit, statistics, listed),
      isOptional: unit.isOptional,
      allowed: () => unitSlots(order),
    }))
    .sort((a, b) => b.weight - a.weight || a.order - b.order);
}

/** Of terms beyond the `listed` ones, none is more frequent than all of these. */
function weightOf(unit: KeywordUnit, statistics: KeywordStatistics, listed: number): number {
  if (unit.isFree === true) return 0;
  const weights = unit.terms.filter((place) => place < listed).map((place) => termWeight(statistics, place));
  if (unit.factors === undefined) return weights.reduce((sum, weight) => sum + weight, 0);
  // A meaning of several terms is no more frequent than the rarest of them.
  const ofMeanings = (unit.meanings ?? []).map(({ terms, isSum }) => {
    const own = terms.map((place) => termWeight(statistics, place));
    return isSum === true ? own.reduce((sum, weight) => sum + weight, 0) : Math.max(...own);
  });
  return Math.min(...weights, ...ofMeanings);
}

/** Of terms that all have documents; null: one has none. */
function numbersOf(dictionary: FoundTerms, texts: readonly string[]): number[] | null {
  const numbers: number[] = [];
  for (const text of texts) {
    const term = dictionary.find(text);
    if (term === undefined || dictionary.documentFrequencies[term] === 0) return null;
    numbers.push(term);
  }
  return numbers;
}

/** As `make` answers, which is asked again after a change of the index only: a unit may have very many terms. */
function untilChange(
  { dictionary, revision }: Pick<TermSource, 'dictionary' | 'revision'>,
  make: () => UnitTerm[],
): () => UnitTerm[] {
  // What has other weights forgets terms without a change.
  if (dictionary.text === undefined) return make;
  let madeAt: number | null = null;
  let made: UnitTerm[] = [];
  return () => {
    if (madeAt !== revision()) {
      madeAt = revision();
      made = make();
    }
    return made;
  };
}

/** The terms of a unit at each call. */
function termsNow(
  dictionary: FoundTerms,
  texts: readonly string[],
  unit: KeywordUnit,
  numbers?: number[],
): () => UnitTerm[] {
  const find = (text: string): number | undefined => dictionary.find(text);
  if (numbers === undefined) return () => termsOf(dictionary, texts, unit, find);
  return () =>
    termsOf(dictionary, texts, unit, (text, i) => {
      const known = numbers[i];
      if (dictionary.text?.(known) === text) return known;
      const found = find(text);
      if (found !== undefined) numbers[i] = found;
      return found;
    });
}

/** The terms that have documents; none where all are needed and one has none. */
function termsOf(
  dictionary: FoundTerms,
  texts: readonly string[],
  unit: KeywordUnit,
  find: (text: string, i: number) => number | undefined,
): UnitTerm[] {
  const found: UnitTerm[] = [];
  for (const [i, place] of unit.terms.entries()) {
    const term = find(texts[place], i);
    // A term of a text that is not put yet has a number but no document.
    if (term !== undefined && dictionary.documentFrequencies[term] > 0)
      found.push({ term, factor: unit.factors?.[i] ?? 1 });
    else if (unit.factors === undefined) return [];
  }
  return found;
}
