import { type Analyser, QUERY_TERMS_MAX, queryTerms } from '../../../shared/base/text/analyser';
import { editsOf, type Variants, variantsOf, variedWords } from '../../../shared/base/text/word-variants';
import type { KeywordPlan, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';
import type { WordsCondition } from '../../../shared/contract/filter/filter';
import { conditionOf, type KeywordClause, type KeywordMatch, type KeywordQuery, meaningOf } from '../keyword-query';
import { type FreeUnits, withFree } from './free-units';
import { askedWords, isPartOfWord, wordTerms } from './query-words';
import { groupedWords, groupUnit, leftTerms } from './synonym-groups';
import type { Synonyms } from '../synonyms/synonyms';

/** What shards are asked for. */
export interface PlannedKeywords {
  /** Distinct. */
  terms: string[];
  /** Undefined: any of the terms is enough. */
  plan?: KeywordPlan;
}

/** What shards are asked for, with what they need to know of all of them. */
export type AskedKeywords = PlannedKeywords & {
  statistics: KeywordStatistics;
  fieldWeights?: readonly number[] | undefined;
};

/** Terms and units, before it is known which other words some of them stand for. */
export interface KeywordDraft {
  terms: string[];
  units: KeywordUnit[];
  minimum: number;
  /** By the place of the unit, which has one term, or says which. */
  variants: Map<number, AskedVariants>;
  /** Of a collection whose fields have several analysers: units that are not known before. */
  free?: FreeUnits;
}

/** Which other words a word stands for: the most frequent ones, and near ones if it is rare. */
export interface AskedVariants extends Variants {
  /** All of them, and near ones whether it is rare or not: hits must have one. */
  areAll?: true;
  /** Places of the terms of several words with synonyms: each other word, for the last, makes one more meaning. */
  meaning?: readonly number[];
  /** Of a word that several analysers cut: what each term stands for, in the place of what is said of all. */
  of?: readonly TermVariants[];
}

/** Which other words one term of a unit stands for. */
export interface TermVariants extends Variants, Pick<AskedVariants, 'meaning'> {
  place: number;
}

/** As how much of a time one of a filler counts: of .05 to .3 the best for three judged sets (text.md). */
export const FILLER_FACTOR = 0.1;
/** Below a share of a whole number, what a product of doubles may be off. */
const ROUNDING = 1e-9;

/**
 * The terms of a query and how they belong together. The filter of its clauses is not in it. `synonyms`: of the
 * collection, if it has some.
 */
export function keywordDraft(query: KeywordQuery, analyser: Analyser, synonyms?: Synonyms): KeywordDraft {
  const positive = query.clauses.filter(({ occurs }) => occurs !== 'not');
  const bag = positive.filter(isOfBag);
  // Together, so that stop words are left out where there are other words.
  const words = askedWords(analyser, meaningOf({ ...query, clauses: bag }), query.match);
  const must = new Set(bag.flatMap(({ occurs, text }) => (occurs === 'must' ? analyser.terms(text) : [])));
  const terms: string[] = [];
  const units: KeywordUnit[] = [];
  const places = new Map<string, number>();
  const placeOf = (term: string): number => {
    let place = places.get(term);
    if (place === undefined) places.set(term, (place = terms.push(term) - 1));
    return place;
  };
  // What was asked for has its place whatever it means besides.
  const kept = synonyms === undefined ? undefined : new Set(words.flatMap((word) => word.terms));
  if (kept !== undefined)
    for (const { text } of positive) for (const term of termsSoughtOf(analyser, text)) kept.add(term);
  let room = QUERY_TERMS_MAX - (kept?.size ?? 0);
  const placesOf = (own: readonly string[]): number[] | null => {
    const added = own.filter((term) => !places.has(term));
    const meant = kept === undefined ? 0 : added.filter((term) => !kept.has(term)).length;
    // As of a bag, the first terms count.
    if (own.length === 0 || terms.length + added.length > QUERY_TERMS_MAX || (meant > 0 && meant > room)) return null;
    room -= meant;
    for (const term of added) places.set(term, terms.push(term) - 1);
    return own.map((term) => places.get(term)!);
  };
  /** Terms of units. */
  const alone = new Set<string>();
  const grouped = synonyms === undefined ? undefined : groupedWords(bag, query.match, synonyms, placesOf);
  units.push(...(grouped?.units ?? []));
  const groupCount = units.length;
  for (const word of words) {
    if (word.kind !== 'word') continue;
    const left = grouped === undefined ? word.terms : grouped.leftOf(word);
    if (left.length === 0) continue;
    // Where any word is enough, a part of one is, too.
    const parts = query.match === 'any' ? left.filter((term) => !alone.has(term)).map((term) => [term]) : [left];
    for (const part of parts) {
      units.push({ terms: part.map(placeOf), isOptional: !part.every((term) => must.has(term)) });
      for (const term of part) alone.add(term);
    }
  }
  const wordCount = units.length;
  for (const word of words)
    for (const term of word.kind === 'word' ? [] : word.terms)
      if (!places.has(term)) units.push(fillerUnit(placeOf(term)));
  const fillerCount = units.length - wordCount;
  const variants = new Map<number, AskedVariants>();
  /** Units that are not one word by itself: groups of synonyms, fillers, and what is looked for in a field. */
  const apart = new Set(units.flatMap((_, i) => (i < groupCount || i >= wordCount ? [i] : [])));
  /** The unit of one word by itself; −1: there is none. */
  const unitOf = (place: number, mayBeMust: boolean): number =>
    units.findIndex(
      (unit, i) =>
        !apart.has(i) && unit.terms.length === 1 && unit.terms[0] === place && (mayBeMust || unit.isOptional),
    );
  const fillerOf = (place: number): number =>
    units.findIndex(({ terms: [own] }, i) => i >= wordCount && i < wordCount + fillerCount && own === place);
  const edits = (term: string): 0 | 1 | 2 => editsOf(query.fuzzy ?? 0, term);
  units.forEach(({ terms: [place, ...others], isOptional }, i) => {
    const term = terms[place];
    // The first term of a unit of synonyms is what was asked for, if that is one.
    const isOne = (i < groupCount ? grouped!.typed[i] : [place, ...others]).length === 1;
    if (isOne && isOptional && !isPartOfWord(analyser, term) && edits(term) > 0)
      variants.set(i, { edits: edits(term) });
  });
  for (const clause of positive) {
    const { occurs, text, stands } = clause;
    if (isOfBag(clause)) continue;
    if (stands !== undefined && (occurs === 'must' || clause.path !== undefined)) {
      const sought = variedWords(analyser, text, stands);
      const own = sought === null ? null : placesOf([...sought.others, sought.term]);
      if (own === null) continue;
      variants.set(units.length, { ...sought!.variants, areAll: true });
      apart.add(units.length);
      units.push({
        terms: own.slice(-1),
        isOptional: occurs === 'may',
        ...(occurs === 'may' && { filter: conditionOf(clause) }),
      });
      // What a field has to have, its condition asks for.
      if (clause.path !== undefined) continue;
      for (const place of own.slice(0, -1))
        if (place !== own.at(-1) && unitOf(place, true) < 0) units.push({ terms: [place], isOptional: false });
      continue;
    }
    if (stands !== undefined) {
      const own = placesOf(wordTerms(analyser, text)) ?? [];
      // Of several words that came without a space, the last one has the sign.
      own.forEach((place, i) => {
        const isLast = i === own.length - 1;
        if (isLast) variants.set(units.length, variantsOf(stands, terms[place], text));
        if (isLast || unitOf(place, true) < 0) units.push({ terms: [place], isOptional: true });
      });
      continue;
    }
    const asGroups = synonyms === undefined ? null : groupsOfField(clause, synonyms, placesOf);
    if (asGroups !== null) {
      for (const unit of asGroups) {
        apart.add(units.length);
        units.push(unit);
      }
      continue;
    }
    const own = placesOf(queryTerms(analyser, text));
    if (own === null) continue;
    apart.add(units.length);
    units.push({
      terms: own,
      isOptional: occurs === 'may',
      // What must be there is asked of all.
      ...(occurs === 'may' && { filter: conditionOf(clause) }),
    });
  }
  const last = query.clauses.at(-1);
  if (query.prefixLast === true && last?.occurs === 'may' && isOfBag(last)) {
    const own = wordTerms(analyser, last.text).slice(-1);
    const place = placesOf(own)?.[0];
    if (place !== undefined) {
      // What fills in stands for others as what fills in.
      const isFiller =
        unitOf(place, true) < 0 &&
        words.some(({ kind, terms: filling }) => kind === 'filler' && filling.includes(own[0]));
      let unit = isFiller ? fillerOf(place) : unitOf(place, false);
      const prefix = { ...variantsOf('prefix', terms[place], last.text), edits: 0 as const };
      // Of words with synonyms, what begins so is one more meaning; where any word is enough, it is one by itself.
      const typed = query.match === 'any' ? [] : (grouped?.typed ?? []);
      const groups = typed.flatMap((all, i) => (all.length > 1 && all.includes(place) ? [i] : []));
      for (const i of groups)
        variants.set(i, { ...prefix, meaning: [...typed[i].filter((one) => one !== place), place] });
      if (unit < 0)
        unit = units.findIndex(
          ({ terms: [first] }, i) => i < groupCount && first === place && (typed[i] ?? [first]).length === 1,
        );
      if (unit < 0 && groups.length === 0)
        unit = units.push(isFiller ? fillerUnit(place) : { terms: [place], isOptional: true }) - 1;
      if (unit >= 0) variants.set(unit, { ...prefix, edits: variants.get(unit)?.edits ?? 0 });
    }
  }
  const optional = units.filter(({ isOptional }) => isOptional).length;
  const isMore = optional + fillerCount < units.length || (query.match === 'any' && fillerCount > 0);
  return { terms, units, minimum: leastOf(query.match, optional, isMore), variants };
}

/**
 * The units of words with synonyms that are looked for in a field; null: they are taken as they are. `by`: the analyser
 * of the field, if it has its own.
 */
export function groupsOfField(
  clause: KeywordClause,
  synonyms: Synonyms,
  placesOf: (terms: readonly string[]) => number[] | null,
  by: Pick<WordsCondition, 'analyser'> = {},
): KeywordUnit[] | null {
  if (clause.near !== undefined) return null;
  const { words, rules } = synonyms.inCondition(clause.text);
  const left = leftTerms(words);
  if (rules.length === 0) return null;
  if (clause.occurs === 'may') {
    if (rules.length > 1 || left !== null) return null;
    const unit = groupUnit(rules[0], true, placesOf, by);
    return unit === null ? null : [{ ...unit, filter: synonyms.inFilter({ ...conditionOf(clause), ...by }) }];
  }
  const units = rules.flatMap((rule) => groupUnit(rule, false, placesOf, by) ?? []);
  const places = left === null ? null : placesOf(left);
  return places === null ? units : [...units, { terms: places, isOptional: false }];
}

/** All terms that a part of a query may be looked for with. */
function termsSoughtOf(analyser: Analyser, text: string): string[] {
  return [...analyser.terms(text), ...queryTerms(analyser, text), ...wordTerms(analyser, text)];
}

function fillerUnit(place: number): KeywordUnit {
  return { terms: [place], factors: [FILLER_FACTOR], isOptional: false };
}

/** Whether a clause is a word that is looked for everywhere, as it is. */
export function isOfBag({ path, stands, near }: KeywordClause): boolean {
  return path === undefined && stands === undefined && near === undefined;
}

/** What is asked for, once the units have all their terms. */
export function plannedKeywords({
  terms,
  units: given,
  minimum,
  free,
}: Omit<KeywordDraft, 'variants'>): PlannedKeywords {
  const units = free === undefined ? given : withFree(terms, given, free);
  const areSingle = units.every(
    (unit, i) =>
      unit.terms.length === 1 && unit.terms[0] === i && unit.filter === undefined && unit.factors === undefined,
  );
  const isAnyEnough = minimum === 0 || (minimum === 1 && units.every(({ isOptional }) => isOptional));
  return areSingle && isAnyEnough ? { terms } : { terms, plan: { units, minimum } };
}

/** How many of the optional units a hit must have; `isMore`: where any is enough, others are, too. */
export function leastOf(match: KeywordMatch, optional: number, isMore: boolean): number {
  if (match === 'all') return optional;
  if (match === 'any') return isMore ? 0 : Math.min(1, optional);
  return Math.min(optional, Math.max(1, Math.ceil(optional * match.atLeast - ROUNDING)));
}
