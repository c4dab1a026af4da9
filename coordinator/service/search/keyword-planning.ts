import { type Analyser, defaultAnalyser, QUERY_TERMS_MAX, queryTerms } from '../../../shared/base/text/analyser';
import type { KeywordPlan, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import {
  conditionOf,
  type Fuzziness,
  type KeywordClause,
  type KeywordMatch,
  type KeywordQuery,
  meaningOf,
} from '../keyword-query';

/** What shards are asked for. */
export interface PlannedKeywords {
  /** Distinct. */
  terms: string[];
  /** Undefined: any of the terms is enough. */
  plan?: KeywordPlan;
}

/** Terms and units, before it is known which other words some of them stand for. */
export interface KeywordDraft {
  terms: string[];
  units: KeywordUnit[];
  minimum: number;
  /** By the place of the unit, which has one term. */
  variants: Map<number, Variants>;
}

/** Which other words a word stands for. */
export interface Variants {
  /** Those that begin so; undefined: none do. */
  prefix?: string;
  /** Those that are so many edits from it, if it is rare. */
  edits: 0 | 1 | 2;
}

/** Below a share of a whole number, what a product of doubles may be off. */
const ROUNDING = 1e-9;
/** Letters of a word up to which `auto` allows no edits, and one. */
const AUTO_LETTERS = [3, 7] as const;

/** The terms of a query and how they belong together. The filter of its clauses is not in it. */
export function keywordDraft(query: KeywordQuery, analyser: Analyser): KeywordDraft {
  const positive = query.clauses.filter(({ occurs }) => occurs !== 'not');
  const bag = positive.filter(isOfBag);
  // Together, so that stop words are left out where there are other words.
  const terms = queryTerms(analyser, meaningOf({ ...query, clauses: bag }));
  const must = new Set(bag.flatMap(({ occurs, text }) => (occurs === 'must' ? analyser.terms(text) : [])));
  const units: KeywordUnit[] = terms.map((term, place) => ({ terms: [place], isOptional: !must.has(term) }));
  const places = new Map(terms.map((term, place) => [term, place]));
  const variants = new Map<number, Variants>();
  const placesOf = (own: readonly string[]): number[] | null => {
    const added = own.filter((term) => !places.has(term));
    // As of a bag, the first terms count.
    if (own.length === 0 || terms.length + added.length > QUERY_TERMS_MAX) return null;
    for (const term of added) places.set(term, terms.push(term) - 1);
    return own.map((term) => places.get(term)!);
  };
  const ofFields = new Set<number>();
  /** The unit of one word by itself; −1: there is none. */
  const unitOf = (place: number, mayBeMust: boolean): number =>
    units.findIndex(
      (unit, i) =>
        !ofFields.has(i) && unit.terms.length === 1 && unit.terms[0] === place && (mayBeMust || unit.isOptional),
    );
  const edits = (term: string): 0 | 1 | 2 => editsOf(query.fuzzy ?? 0, term);
  terms.forEach((term, place) => {
    if (units[place].isOptional && edits(term) > 0) variants.set(place, { edits: edits(term) });
  });
  for (const clause of positive) {
    const { occurs, text, stands } = clause;
    if (isOfBag(clause)) continue;
    if (stands !== undefined) {
      const own = placesOf(analyser.terms(text)) ?? [];
      // Of several words that came without a space, the last one has the sign.
      own.forEach((place, i) => {
        const isLast = i === own.length - 1;
        if (isLast) variants.set(units.length, variantsOf(stands, terms[place], text));
        if (isLast || unitOf(place, true) < 0) units.push({ terms: [place], isOptional: true });
      });
      continue;
    }
    const own = placesOf(queryTerms(analyser, text));
    if (own === null) continue;
    ofFields.add(units.length);
    units.push({
      terms: own,
      isOptional: occurs === 'may',
      // What must be there is asked of all.
      ...(occurs === 'may' && { filter: conditionOf(clause) }),
    });
  }
  const last = query.clauses.at(-1);
  if (query.prefixLast === true && last?.occurs === 'may' && isOfBag(last)) {
    const place = placesOf(analyser.terms(last.text).slice(-1))?.[0];
    if (place !== undefined) {
      let unit = unitOf(place, false);
      if (unit < 0) unit = units.push({ terms: [place], isOptional: true }) - 1;
      variants.set(unit, { ...variantsOf('prefix', terms[place], last.text), edits: variants.get(unit)?.edits ?? 0 });
    }
  }
  const optional = units.filter(({ isOptional }) => isOptional).length;
  return { terms, units, minimum: leastOf(query.match, optional, optional < units.length), variants };
}

/** Whether a clause is a word that is looked for everywhere, as it is. */
function isOfBag({ path, stands, near }: KeywordClause): boolean {
  return path === undefined && stands === undefined && near === undefined;
}

/** What is asked for, once the units have all their terms. */
export function plannedKeywords({ terms, units, minimum }: Omit<KeywordDraft, 'variants'>): PlannedKeywords {
  const areSingle = units.every(
    (unit, i) =>
      unit.terms.length === 1 && unit.terms[0] === i && unit.filter === undefined && unit.factors === undefined,
  );
  const isAnyEnough = minimum === 0 || (minimum === 1 && units.every(({ isOptional }) => isOptional));
  return areSingle && isAnyEnough ? { terms } : { terms, plan: { units, minimum } };
}

/** How many of the optional units a hit must have. */
function leastOf(match: KeywordMatch, optional: number, hasMust: boolean): number {
  if (match === 'all') return optional;
  if (match === 'any') return hasMust ? 0 : Math.min(1, optional);
  return Math.min(optional, Math.max(1, Math.ceil(optional * match.atLeast - ROUNDING)));
}

function variantsOf(stands: Fuzziness | 'prefix', term: string, text: string): Variants {
  if (stands !== 'prefix') return { edits: editsOf(stands, term) };
  // Stems end earlier than words, and differ in their ends.
  const written = defaultAnalyser.terms(text).at(-1) ?? term;
  return { prefix: term.startsWith(written) ? written : term, edits: 0 };
}

function editsOf(fuzzy: Fuzziness, term: string): 0 | 1 | 2 {
  if (fuzzy !== 'auto') return fuzzy;
  const letters = [...term].length;
  return letters <= AUTO_LETTERS[0] ? 0 : letters <= AUTO_LETTERS[1] ? 1 : 2;
}
