import { z } from 'zod';
import type { Filter } from '../../../shared/contract/filter/filter';
import { defaultAnalyser, QUERY_TERMS_MAX } from '../../../shared/base/text/analyser';
import type { Fuzziness } from '../../../shared/base/text/word-variants';
import { KEYWORD_FIELDS_MAX, KEYWORD_WEIGHT_MAX } from '../../../shared/contract/shard/keyword-fields';
import { integer, optional, withDefault } from '../fields/fields';
import { type IssueSink, report } from '../fields/issue';
import { CLAUSES_MAX, simpleClauses } from '../fields/simple-query';
import {
  filterOfClauses,
  type KeywordClause,
  type KeywordMatch,
  type KeywordQuery,
  meaningOf,
} from '../../service/keyword-query';

/** Fields of searches that look for keywords. */
export const keywordShape = {
  mode: optional(z.enum(['hybrid', 'keyword', 'vector'])).meta({
    description:
      'Says it by name: "keyword", by keywords alone; "vector", by meaning alone; both whatever alpha is. "hybrid": as alpha says.',
  }),
  match: optional(
    z.union(
      [
        z.enum(['any', 'all']),
        z.object({ at_least: z.number().gt(0).max(1) }).transform(({ at_least: atLeast }) => ({ atLeast })),
      ],
      { error: 'must be "any", "all" or {"at_least": a number above 0 up to 1}' },
    ),
  ).meta({
    description:
      'How many of the words a hit of the keyword list has: "any" (default), "all", or {"at_least": 0.75}, rounded up.',
  }),
  query_syntax: withDefault(z.enum(['plain', 'simple']), 'plain').meta({
    description:
      'With "simple", +word must and -word must not be there, for hits of both lists; title:word is looked for in this field of the metadata; word* stands for the words that begin so (of a language: whose stems begin so, or like its stem; organiz* misses "organization", whose stem is organ), word~ (or word~1, word~2) for those that are near; "a phrase" stands together, "its words"~3 with at most 3 others between them; signs go together, and + and - ask for all words that others stand for; a backslash takes the meaning from a sign.',
  }),
  fuzzy: optional(
    z.union([z.literal(0), z.literal(1), z.literal(2), z.literal('auto')], { error: 'must be 0, 1, 2 or "auto"' }),
  ).meta({
    description:
      'Words that the collection lacks, or nearly so, stand for up to 50 that are so many edits from them; "auto": none up to 3 letters, 1 up to 7, else 2.',
  }),
  prefix_last: withDefault(z.boolean(), false).meta({
    description: 'The last word stands for the 50 most frequent words that begin so, too.',
  }),
  field_weights: optional(
    z
      .record(z.string(), integer(0, KEYWORD_WEIGHT_MAX))
      .refine((weights) => Object.keys(weights).length <= KEYWORD_FIELDS_MAX, {
        error: `must have at most ${KEYWORD_FIELDS_MAX} fields`,
      }),
  ).meta({
    description:
      'How much keyword_fields of the collection count for this query, by path, such as {"title": 3, "text": 1}: as if they had been indexed so. 0 leaves one out; what is not named counts as it is declared.',
  }),
};

/** Weight of the vector, from 0 to 1: a mode by name wins over alpha. */
export function weightOf({
  mode,
  alpha,
}: {
  mode?: 'hybrid' | 'keyword' | 'vector' | undefined;
  alpha: number;
}): number {
  return mode === 'keyword' ? 0 : mode === 'vector' ? 1 : alpha;
}

export const NOTHING_TO_FIND = 'must have a word besides those that must not be there';

/** The fields that say how a text is read. */
export interface GivenKeywords {
  match?: KeywordMatch | undefined;
  query_syntax: 'plain' | 'simple';
  fuzzy?: Fuzziness | undefined;
  prefix_last: boolean;
  field_weights?: Record<string, number> | undefined;
}

/** A text to search for, in parts. */
export interface AskedText {
  /** What it is about, for a vector; `keywords` undefined: a bag of words, of which any is enough. */
  source: { text: string; keywords?: KeywordQuery };
  /** What it asks of both lists; null: nothing. */
  filter: Filter | null;
}

/**
 * The text of a request with the fields that say how it is read; `path`: where it stands. Reports more clauses than
 * there may be.
 */
export function askedText(
  text: string,
  {
    match = 'any',
    query_syntax: syntax,
    fuzzy = 0,
    prefix_last: prefixLast,
    field_weights: fieldWeights,
  }: GivenKeywords,
  sink: IssueSink,
  path: PropertyKey[],
): AskedText {
  const terms = match === 'any' && syntax === 'plain' && fuzzy === 0 ? [] : defaultAnalyser.terms(text);
  if (new Set(terms).size > (fuzzy === 0 ? QUERY_TERMS_MAX : CLAUSES_MAX))
    report(
      sink,
      text,
      fuzzy === 0
        ? `must have at most ${QUERY_TERMS_MAX} different words`
        : `must have at most ${CLAUSES_MAX} different words with fuzzy`,
      { kind: fuzzy === 0 ? 'limit_exceeded' : 'schema_violation', path },
    );
  if (syntax === 'plain') {
    const isBag = match === 'any' && fuzzy === 0 && !prefixLast && fieldWeights === undefined;
    const whole: KeywordClause = { occurs: 'may', text, start: 0, end: text.length };
    return {
      source: isBag ? { text } : { text, keywords: { clauses: [whole], match, fuzzy, prefixLast, fieldWeights } },
      filter: null,
    };
  }
  const found = simpleClauses(text);
  if (typeof found === 'number')
    report(sink, text, `has an unbalanced quote at ${found}`, { kind: 'invalid_parameter', path });
  const clauses = typeof found === 'number' ? [] : found;
  if (clauses.length > CLAUSES_MAX)
    report(sink, text, `has ${clauses.length} clauses, more than the maximum of ${CLAUSES_MAX}`, { path });
  if (clauses.some(({ path }) => path === 'text'))
    report(sink, text, 'asks for text:, and the text of an item can’t be asked alone; fields of the metadata can', {
      kind: 'invalid_parameter',
      path,
    });
  const keywords = { clauses, match, fuzzy, prefixLast, fieldWeights };
  return { source: { text: meaningOf(keywords), keywords }, filter: filterOfClauses(keywords) };
}
