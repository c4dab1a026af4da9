import { TermCutter } from './cut-terms';
import type { TextFolder } from './placed-text';
import { textPieces } from './text-pieces';

/** A term of a text, and where it is. */
export interface PlacedTerm {
  term: string;
  /**
   * The first UTF-16 code unit of the text that the term is of, and the first behind it: of a word all of it, also
   * where the term is shorter. Terms may overlap.
   */
  start: number;
  end: number;
  /** Whether a query leaves it out if it has other words. */
  isStopWord: boolean;
}

/** Terms in one part: stemming one takes about 20 µs. */
const PART_TERMS = 32;

/**
 * The words of a text with their places, in parts, some of them empty. `termOf` makes a word a term, in place; the word
 * is left out if it answers false.
 */
export function* placedTerms(
  text: string,
  folder: TextFolder,
  termOf: (word: PlacedTerm) => boolean,
): Generator<PlacedTerm[]> {
  let base = 0;
  for (const piece of textPieces(text)) {
    const steps = folder.placed(piece);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) yield [];
    const { text: folded, starts, ends } = step.value;
    const places: number[] = [];
    const cutter = new TermCutter(folded, places);
    for (let isMore = true; isMore;) {
      const words: string[] = [];
      isMore = cutter.cut(words, PART_TERMS);
      const terms: PlacedTerm[] = [];
      for (let i = 0; i < words.length; i += 1) {
        const first = places[2 * i];
        const behind = places[2 * i + 1];
        const word = {
          term: words[i],
          start: base + (starts === null ? first : starts[first]),
          end: base + (ends === null ? behind : ends[behind - 1]),
          isStopWord: false,
        };
        if (termOf(word)) terms.push(word);
      }
      places.length = 0;
      yield terms;
    }
    base += piece.length;
  }
}
