import { type Analyser, defaultAnalyser, queryTerms } from './analyser';
import { EditWalk } from './edit-walk';
import { isScriptWithoutSpaces, segmentClassOf } from './segment-class';
import { bareTerm, markIn, markLength } from './term-mark';

/** How many letters of a word may be other ones; `auto`: by its length. */
export type Fuzziness = 0 | 1 | 2 | 'auto';

/** What a word stands for: those that begin so, or those that are near to it. */
export type WordSign = 'prefix' | Fuzziness;

/** Which other words a word stands for. */
export interface Variants {
  /** Those that begin in one of these ways; undefined: none do. */
  prefixes?: readonly string[];
  /** Those that are so many edits from it. */
  edits: 0 | 1 | 2;
}

/** The words of a text whose last one stands for others. */
export interface VariedWords {
  /** All of them have to be there. */
  others: readonly string[];
  /** One that the last word stands for has to be there. */
  term: string;
  variants: Variants;
}

/** Letters of a word up to which `auto` allows no edits, and one. */
const AUTO_LETTERS = [3, 7] as const;

export function editsOf(fuzzy: Fuzziness, term: string): 0 | 1 | 2 {
  if (fuzzy !== 'auto') return fuzzy;
  const letters = [...bareTerm(term)].length;
  return letters <= AUTO_LETTERS[0] ? 0 : letters <= AUTO_LETTERS[1] ? 1 : 2;
}

/** What the term of the last word of a text stands for. */
export function variantsOf(stands: WordSign, term: string, text: string): Variants {
  if (stands !== 'prefix') return { edits: editsOf(stands, term) };
  // Stems end earlier than words, and may end in another way: of "city" and "cities" it is "citi", of "citywide" not.
  const bare = defaultAnalyser.terms(text).at(-1);
  const written = bare === undefined ? term : markIn(term) + bare;
  if (term.startsWith(written)) return { prefixes: [written], edits: 0 };
  return { prefixes: written.startsWith(term) ? [term] : [term, written], edits: 0 };
}

/** What must be there of a text whose last word has a sign, without a dictionary. null: it has no word. */
export function variedWords(analyser: Analyser, text: string, stands: WordSign): VariedWords | null {
  const terms = analyser.terms(text);
  const term = terms.at(-1);
  if (term === undefined) return null;
  const found = variantsOf(stands, term, text);
  // One character more or less makes another word of it.
  const variants = isScriptWithoutSpaces(segmentClassOf(bareTerm(term), 0)) ? { ...found, edits: 0 as const } : found;
  // "pump-pump*" needs the word itself.
  const isRepeated = terms.indexOf(term) < terms.length - 1;
  return { others: queryTerms(analyser, text).filter((one) => isRepeated || one !== term), term, variants };
}

/** As how much of a time a word that is so many edits away counts; 0: what has no letter in common is no slip. */
export function factorOfEdits(edits: number, term: string, other: string): number {
  return 1 - edits / (Math.min(term.length, other.length) - markLength(term));
}

/** Tells which terms a term stands for, itself included. */
export function variantTest({ term, variants: { prefixes, edits } }: VariedWords): (other: string) => boolean {
  if (prefixes !== undefined) return (other) => other === term || prefixes.some((prefix) => other.startsWith(prefix));
  if (edits === 0) return (other) => other === term;
  const walk = new EditWalk(term, edits);
  const mark = markIn(term);
  return (other) => {
    if (other === term) return true;
    if (markIn(other) !== mark) return false;
    if (Math.abs(other.length - term.length) > edits) return false;
    const distance = walk.distanceTo(other);
    return distance >= 0 && factorOfEdits(distance, term, other) > 0;
  };
}
