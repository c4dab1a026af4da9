import { cutAsciiIntoTerms, cutInParts, cutIntoTerms } from './cut-terms';
import { foldText } from './fold-text';
import { textPieces } from './text-pieces';

/** Terms of one part of an unstemmed text. */
const PART_TERMS = 1024;

/**
 * Turns text into the terms that keyword search and the lexical embedder count. Implementations are pure and
 * deterministic: the same text gives the same terms on every machine and in every process.
 * Whatever stores terms records `name` and `version`, and must be rebuilt when either changes.
 */
export interface Analyser {
  readonly name: string;
  /** Rises with every change that may give a text other terms. */
  readonly version: number;
  /** Terms in the order of the text, repeats included. Never throws; terms are well-formed Unicode and not empty. */
  terms(text: string): string[];
  /**
   * `terms(text)` in parts, each of them some hundred microseconds of work whatever the text is (stemming takes up to one
   * for a word of 128 letters): for texts whose analysis must not hold up everything else. Folding a stretch of text
   * without any white space is one part.
   */
  parts(text: string): Iterable<string[]>;
  /** The terms of a query to look for: `terms(text)`, less those that say nothing where others say something. */
  termsToFind(text: string): string[];
}

/**
 * Most distinct terms of one query: bounds the work of a request whose query text is a whole book. Lucene refuses
 * longer queries (maxClauseCount 1024); here the first terms decide.
 */
export const QUERY_TERMS_MAX = 1024;

/** The distinct terms of a query in the order of their first appearance, at most {@link QUERY_TERMS_MAX}. */
export function queryTerms(analyser: Analyser, text: string): string[] {
  const distinct = new Set<string>();
  for (const term of analyser.termsToFind(text)) {
    distinct.add(term);
    if (distinct.size === QUERY_TERMS_MAX) break;
  }
  return [...distinct];
}

/**
 * The language-neutral analyser. Text is folded (see {@link foldText}), then cut into words, and into pairs of characters
 * where a script has no spaces (see {@link cutIntoTerms}). Pairs need no dictionary, so terms do not depend on the ICU
 * version, as those of Intl.Segmenter do (which is also some 30 times slower).
 * There is no stemming and there are no stop words: BM25's idf weighs frequent words down.
 */
class UnicodeAnalyser implements Analyser {
  readonly name = 'unicode';
  readonly version = 1;

  terms(text: string): string[] {
    const folded = foldText(text);
    return folded.ascii ? cutAsciiIntoTerms(folded.text) : cutIntoTerms(folded.text);
  }

  *parts(text: string): Generator<string[]> {
    for (const piece of textPieces(text)) {
      const folded = foldText(piece);
      yield* cutInParts(folded, PART_TERMS);
    }
  }

  termsToFind(text: string): string[] {
    return this.terms(text);
  }
}

/** The analyser of collections without a language, and of the lexical embedder. */
export const defaultAnalyser: Analyser = new UnicodeAnalyser();
