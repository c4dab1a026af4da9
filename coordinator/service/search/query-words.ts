import { type Analyser, QUERY_TERMS_MAX, queryTerms, type QueryWord } from '../../../shared/base/text/analyser';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { isScriptWithoutSpaces, segmentClassOf } from '../../../shared/base/text/segment-class';
import type { KeywordQuery } from '../keyword-query';

/** Terms that count as a word of a query, or fill in. */
export interface AskedWord extends Pick<QueryWord, 'kind'> {
  /** Distinct. */
  terms: readonly string[];
}

/** What fills in is read by itself in every shard, which takes some hundred KiB each. */
export const FILLERS_MAX = 64;

/**
 * The different words of a query in the order in which they first appear, with {@link QUERY_TERMS_MAX} terms at most.
 * Where there are only fillers, they are the words. Errors: those of {@link checkShare} where there are more.
 */
export function askedWords(analyser: Analyser, text: string, match: KeywordQuery['match']): AskedWord[] {
  if (analyser.queryWords === undefined)
    return queryTerms(analyser, text).map((term) => ({ terms: [term], kind: 'word' }));
  const words = new Map<string, AskedWord>();
  let room = QUERY_TERMS_MAX;
  let fillers = 0;
  for (const part of analyser.queryWords(text))
    for (const { terms, kind } of part) {
      const key = `${kind === 'joint' ? 'joint' : ''} ${terms.join(' ')}`;
      if (words.has(key) || (kind !== 'word' && fillers === FILLERS_MAX)) continue;
      if (kind !== 'word') fillers += 1;
      const distinct = [...new Set(terms)];
      room -= distinct.length;
      if (room < 0) {
        checkShare(match);
        return withWords([...words.values()]);
      }
      words.set(key, { terms: distinct, kind });
    }
  return withWords([...words.values()]);
}

/**
 * To be called where some words of a query are left out, because it has too many. Errors: limit_exceeded, if the number
 * of its words counts.
 */
export function checkShare(match: KeywordQuery['match']): void {
  if (match !== 'any')
    throw new QuiverError(
      'limit_exceeded',
      `as the analysers of this collection cut the query, it has more than ${QUERY_TERMS_MAX} terms: with match "all" or at_least, it must have no more`,
    );
}

function withWords(asked: AskedWord[]): AskedWord[] {
  if (asked.some(({ kind }) => kind === 'word')) return asked;
  return asked.map((word) => (word.kind === 'filler' ? { ...word, kind: 'word' } : word));
}

/** The terms of the words of a text, in its order, with repetitions. */
export function wordTerms(analyser: Analyser, text: string): string[] {
  if (analyser.queryWords === undefined) return analyser.terms(text);
  return [...analyser.queryWords(text)].flatMap((part) =>
    part.flatMap(({ terms, kind }) => (kind === 'joint' ? [] : terms)),
  );
}

/** A query without signs as one that has parts, where its words are not single terms; else undefined. */
export function bagOfWords(analyser: Analyser, text: string): KeywordQuery | undefined {
  return analyser.queryWords === undefined ? undefined : wholeBag(text);
}

/** A query without signs as one that has parts. */
export function wholeBag(text: string): KeywordQuery {
  return { clauses: [{ occurs: 'may', text, start: 0, end: text.length }], match: 'any' };
}

/** Whether the term is a part of a word: one character more or less would make another word of it. */
export function isPartOfWord(analyser: Analyser, term: string): boolean {
  return analyser.queryWords !== undefined && isScriptWithoutSpaces(segmentClassOf(term, 0));
}
