import { type Filter } from '../filter/filter';
import { filterFromJson } from '../filter/filter-text';

/**
 * How the terms of a keyword search belong together. Without a plan, each is a unit by itself, and any of them is
 * enough.
 */
export interface KeywordPlan {
  units: readonly KeywordUnit[];
  /** How many of the optional units a hit has at least. */
  minimum: number;
}

/** Terms that count as one, by their places in the list of terms. */
export interface KeywordUnit {
  /**
   * Different ones: a hit has all of them, and they count as often as the one that is there least. With factors it has
   * any of them, and each time counts by its factor; all have the weight of the most frequent one.
   */
  terms: readonly number[];
  factors?: readonly number[];
  /**
   * With factors: it has what more a shard has of these terms, too, each as much as its edits leave of it
   * (word-variants.ts). The most frequent one is in `terms`.
   */
  more?: readonly MoreTerms[];
  /** With factors: it has any of these, too. Then it may be without terms. */
  meanings?: readonly KeywordMeaning[];
  /** Whether it counts towards the minimum. */
  isOptional: boolean;
  /** It adds nothing to the score. */
  isFree?: true;
  /** Only items that pass it have the unit; absent: all. */
  filter?: Filter;
}

/** The terms that begin like one, or are so many edits from it. */
export interface MoreTerms {
  term: string;
  by: 'prefix' | 1 | 2;
}

/** Another meaning of a unit: all of its terms, as often as the one that is there least. */
export interface KeywordMeaning {
  terms: readonly number[];
  /** Its terms weigh as much as those of a unit that has all of them; absent: as the rarest of them. */
  isSum?: true;
  /** Only items that pass it have the meaning; absent: all. */
  filter?: Filter;
}

/** As text, for messages between members. */
export function keywordPlanToText(plan: KeywordPlan): string {
  return JSON.stringify(plan);
}

/** What {@link keywordPlanToText} wrote, for so many terms; undefined: it is no plan. */
export function keywordPlanFromText(text: string, termCount: number): KeywordPlan | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { units, minimum } = (json ?? {}) as { units?: unknown; minimum?: unknown };
  if (!Array.isArray(units) || !isCount(minimum)) return undefined;
  return units.every((unit) => isUnit(unit, termCount)) ? (json as KeywordPlan) : undefined;
}

function isUnit(unit: unknown, termCount: number): unit is KeywordUnit {
  const { terms, factors, more, meanings, isOptional, isFree, filter } = (unit ?? {}) as Record<string, unknown>;
  return (
    arePlaces(terms, termCount) &&
    (terms.length > 0 || meanings !== undefined) &&
    (meanings === undefined || (factors !== undefined && areMeanings(meanings, termCount))) &&
    (factors === undefined || areFactors(factors, terms.length)) &&
    (more === undefined || (factors !== undefined && Array.isArray(more) && more.every(isMore))) &&
    typeof isOptional === 'boolean' &&
    (isFree === undefined || isFree === true) &&
    (filter === undefined || filterFromJson(filter) !== undefined)
  );
}

function arePlaces(value: unknown, termCount: number): value is number[] {
  return Array.isArray(value) && value.every((place) => isCount(place) && place < termCount);
}

function areMeanings(value: unknown, termCount: number): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((meaning) => {
      const { terms, isSum, filter } = (meaning ?? {}) as Record<string, unknown>;
      return (
        arePlaces(terms, termCount) &&
        terms.length > 0 &&
        (isSum === undefined || isSum === true) &&
        (filter === undefined || filterFromJson(filter) !== undefined)
      );
    })
  );
}

function isMore(value: unknown): value is MoreTerms {
  const { term, by } = (value ?? {}) as Record<string, unknown>;
  return typeof term === 'string' && (by === 'prefix' || by === 1 || by === 2);
}

function areFactors(factors: unknown, count: number): boolean {
  return (
    Array.isArray(factors) &&
    factors.length === count &&
    factors.every((factor) => Number.isFinite(factor) && factor > 0)
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
