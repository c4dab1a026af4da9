import { cutAsciiIntoTerms, cutInParts, cutIntoTerms } from './cut-terms';
import { foldLetters, foldText } from './fold-text';
import { type PlacedTerm, placedTerms } from './placed-terms';
import { TextFolder } from './placed-text';
import { textPieces } from './text-pieces';

/** Terms in one part of an unstemmed text. */
const PART_TERMS = 1024;

/**
 * Turns text into terms, which keyword search and the lexical embedder count. Implementations are pure and
 * deterministic: the same text gives the same terms on every machine and in every process. Whatever stores terms also
 * stores `name` and `version`, and must be rebuilt when either changes.
 */
export interface Analyser {
  readonly name: string;
  /**
   * Rises with every change after which some text may give other terms. Replicas decide by terms which items a write by
   * words concerns (write-plan.ts), so members of a cluster must not differ in it while there are such writes.
   */
  readonly version: number;
  /** Terms in the order of the text, with repetitions. Never throws. Terms are well-formed Unicode and not empty. */
  terms(text: string): string[];
  /**
   * The terms of `terms(text)` in parts, for texts whose analysis must not block the process. A part takes some hundred
   * microseconds, whatever the text. (Stemming a single word of 128 letters may take one hundred.) A text without any
   * white space is folded in one step.
   */
  parts(text: string): Iterable<string[]>;
  /** The same terms with their places in the text, in parts as of {@link parts}; it takes a few times as long. */
  placedParts(text: string): Iterable<PlacedTerm[]>;
  /**
   * The terms to look for when `text` is a query: `terms(text)` without stop words, unless there are only stop words.
   */
  termsToFind(text: string): string[];
  /**
   * The words of a query, in parts, where those are not the single terms of `termsToFind`. No term that is stored and
   * no filter depends on it, so it may use a dictionary that machines have in several versions.
   */
  queryWords?(text: string): Generator<QueryWord[]>;
}

/** A word of a query. */
export interface QueryWord {
  /** As folded text. */
  text: string;
  /** A text with the word has all of these terms. */
  terms: readonly string[];
  /** See {@link PlacedTerm}. */
  start: number;
  end: number;
  /**
   * `word`: asked for. `filler`: counts less, and no text must have it where there are words. `joint`: no word, but
   * where two meet; it finds texts whose words are cut in another way, and counts less.
   */
  kind: 'word' | 'filler' | 'joint';
}

/**
 * Most distinct terms of one query. It bounds the work for a query as long as a book. Lucene refuses longer queries
 * (maxClauseCount 1024); here, the first terms count.
 */
export const QUERY_TERMS_MAX = 1024;

/** The distinct terms of a query in the order in which they first appear, at most {@link QUERY_TERMS_MAX}. */
export function queryTerms(analyser: Analyser, text: string): string[] {
  const distinct = new Set<string>();
  for (const term of analyser.termsToFind(text)) {
    distinct.add(term);
    if (distinct.size === QUERY_TERMS_MAX) break;
  }
  return [...distinct];
}

/**
 * The language-neutral analyser. It folds text (see {@link foldText}), then cuts it into words, or into pairs of
 * characters in scripts without spaces (see {@link cutIntoTerms}). Pairs need no dictionary. So, unlike with
 * Intl.Segmenter (which is also about 30 times slower), terms do not depend on the ICU version. There is no stemming
 * and there are no stop words: BM25's idf gives frequent words little weight.
 */
class UnicodeAnalyser implements Analyser {
  readonly name = 'unicode';
  readonly version = 1;
  private readonly folder = new TextFolder(foldLetters);

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

  placedParts(text: string): Generator<PlacedTerm[]> {
    return placedTerms(text, this.folder, () => true);
  }

  termsToFind(text: string): string[] {
    return this.terms(text);
  }
}

/** The analyser of collections without a language, and of the lexical embedder. */
export const defaultAnalyser: Analyser = new UnicodeAnalyser();
