import type { Fuzziness, WordSign } from '../../shared/base/text/word-variants';
import type { Filter, WordsCondition } from '../../shared/contract/filter/filter';

/** How many of the words that may be there have to be, in the list of keywords: of four, 0.75 means three. */
export type KeywordMatch = 'any' | 'all' | { atLeast: number };

/** A query for keywords in its parts, as a person wrote it. Without it, a query is a bag of words. */
export interface KeywordQuery {
  clauses: readonly KeywordClause[];
  match: KeywordMatch;
  /** Of words that may be there and have no sign of their own; undefined: 0. */
  fuzzy?: Fuzziness | undefined;
  /** Whether the last word is the beginning of one. */
  prefixLast?: boolean | undefined;
  /**
   * By path, how much keyword fields count, 0 not at all, in the place of what they count as indexed; those that are
   * not named count that. A whole number.
   */
  fieldWeights?: Readonly<Record<string, number>> | undefined;
}

/** One part of a query. */
export interface KeywordClause {
  /** What must or must not be there holds for both lists: it is a filter. What must be there ranks, too. */
  occurs: 'may' | 'must' | 'not';
  /** As it was written, without signs; one word, or several where they came without signs. */
  text: string;
  /** Where it is looked for: in the strings under this path of the metadata. Undefined: in all that has keywords. */
  path?: string | undefined;
  /** Its last word stands for others, too: those that begin so, or are near to it. */
  stands?: WordSign | undefined;
  /**
   * The words stand together: 0, one directly behind the other; more: in any order, with at most so many others
   * between.
   */
  near?: number | undefined;
  /** Where it stands in the query, in UTF-16 code units. */
  start: number;
  end: number;
}

/** What must and must not be there, as a filter; null: nothing. */
export function filterOfClauses({ clauses }: KeywordQuery): Filter | null {
  const filters = clauses.flatMap((clause): Filter[] => {
    const { occurs } = clause;
    if (occurs === 'may') return [];
    const words = conditionOf(clause);
    return [occurs === 'must' ? words : { type: 'not', filter: words }];
  });
  return filters.length === 0 ? null : filters.length === 1 ? filters[0] : { type: 'and', filters };
}

/** Items that have the words of a clause, where and as it asks for them. */
export function conditionOf({ text, path, near, stands }: KeywordClause): WordsCondition {
  return {
    type: 'words',
    query: text,
    match: near === undefined ? 'all' : 'phrase',
    ...(near !== undefined && near > 0 && { near }),
    ...(stands !== undefined && { stands }),
    ...(path !== undefined && { paths: [path] }),
  };
}

/** What the query is about, for a vector: without signs, and without what must not be there. */
export function meaningOf({ clauses }: KeywordQuery): string {
  return clauses
    .filter(({ occurs }) => occurs !== 'not')
    .map(({ text }) => text)
    .join(' ');
}
