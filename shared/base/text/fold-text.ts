/** All of ASCII, and nothing else. */
export const ASCII = /^[\x00-\x7f]*$/;

/**
 * Maps spellings that readers regard as equal to one form, following the practice of text search for Unicode (UTR 30,
 * ICU's folding filter): NFKC, lower case, no accents, ligatures written out, English possessives and contractions
 * without their apostrophe. `ascii` says that the result holds only ASCII. Stable across Unicode versions for
 * characters assigned today (Unicode's normalisation and case stability policies).
 */
export function foldText(text: string): { text: string; ascii: boolean } {
  if (ASCII.test(text)) return { text: withoutContractions(text.toLowerCase()), ascii: true };
  const folded = withoutContractions(foldLetters(text));
  return { text: folded, ascii: ASCII.test(folded) };
}

/** The same, before contractions lose their endings. */
export function foldLetters(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return withoutAccents(withBoundedMarks(text).normalize('NFKC').toLowerCase());
}

export interface ComposedText {
  text: string;
  /** The text holds only ASCII. */
  ascii: boolean;
}

/**
 * The first half of {@link foldText}, for words that are stemmed: stemming rules need accents. {@link foldWord} is the
 * other half and removes them afterwards.
 */
export function composeText(text: string): ComposedText {
  if (ASCII.test(text)) return { text: withoutContractions(text.toLowerCase()), ascii: true };
  const visible = withoutContractions(composeLetters(text));
  return { text: visible, ascii: ASCII.test(visible) };
}

/** The same, before contractions lose their endings. */
export function composeLetters(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const composed = withBoundedMarks(withBoundedMarks(text).normalize('NFKC').toLowerCase()).normalize('NFC');
  return composed.replace(INVISIBLE, '');
}

/**
 * A word of composed text without accents, with special letters written out. Empty if the word consists only of marks.
 */
export function foldWord(word: string): string {
  return ASCII.test(word) ? word : withoutAccents(word);
}

function withoutAccents(composed: string): string {
  const stripped = withBoundedMarks(composed).normalize('NFD').replace(IGNORED, keepShortI).normalize('NFC');
  return stripped.replace(FOLDED_LETTER, foldLetter);
}

/**
 * Combining accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowel signs and tatweel, variation selectors,
 * and invisible format characters inside words. Vowel signs of Indic and other scripts are kept, because readers treat
 * them as letters; й also is a letter of its own, not an accented и.
 */
export const IGNORED_CLASS = String.raw`[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\u00ad\u061c\u180e\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]`;
const IGNORED = new RegExp(String.raw`\u0438\u0306|${IGNORED_CLASS}`, 'g');

/** Those of {@link IGNORED} that are not marks: they would split a word. */
export const INVISIBLE_CLASS = String.raw`[\u00ad\u061c\u180e\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]`;
const INVISIBLE = new RegExp(INVISIBLE_CLASS, 'g');

function keepShortI(match: string): string {
  return match.length > 1 ? match : '';
}

const LETTER_FOLDS: ReadonlyMap<string, string> = new Map([
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['ħ', 'h'],
  ['ı', 'i'],
  ['ł', 'l'],
  ['ŋ', 'ng'],
  ['ŧ', 't'],
  ['ς', 'σ'],
]);
const DIGIT_BLOCKS = '\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50-\u0e59';
const FOLDED_LETTER = new RegExp(`[${[...LETTER_FOLDS.keys()].join('')}${DIGIT_BLOCKS}]`, 'g');

/**
 * Folds letters without a decomposition, and decimal digits of other scripts, whose blocks start at a multiple of 16 or
 * 6 after one.
 */
function foldLetter(letter: string): string {
  const folded = LETTER_FOLDS.get(letter);
  if (folded !== undefined) return folded;
  const low = letter.charCodeAt(0) & 15;
  return String(low > 9 || isSixAfter(letter) ? low - 6 : low);
}

function isSixAfter(digit: string): boolean {
  return (digit >= '\u0966' && digit <= '\u096f') || (digit >= '\u09e6' && digit <= '\u09ef');
}

/**
 * An ending after an apostrophe (straight or curly): "don't" becomes "dont"; "John's", "we've", "I'm" lose the ending.
 * Longer endings, as in "l'avion" or "O'Brien", stay, and the apostrophe separates two words. Characters of {@link
 * IGNORED} beside the apostrophe are skipped, so the result is the same before and after they are removed.
 *
 * The look-behind comes after the apostrophe. Before it, it would run at every character, each time over all ignored
 * characters in front, which takes n² steps for n of them.
 */
const CONTRACTION = new RegExp(
  String.raw`['\u2019](?<=\p{L}${IGNORED_CLASS}*.)(?:(t)|s|re|ve|ll|d|m)(?!${IGNORED_CLASS}*(?!${IGNORED_CLASS})[\p{L}\p{N}\p{M}])`,
  'gu',
);

/** A text without the endings that {@link CONTRACTION} matches. */
export function withoutContractions(text: string): string {
  if (!text.includes("'") && !text.includes('\u2019')) return text;
  return text.replace(CONTRACTION, (_match, t: string | undefined) => t ?? '');
}

/** What {@link withoutContractions} leaves out, in order: the first code unit of each part, and the first behind it. */
export function contractionParts(text: string): [start: number, end: number][] {
  if (!text.includes("'") && !text.includes('\u2019')) return [];
  return Array.from(text.matchAll(CONTRACTION), ({ 0: whole, 1: t, index }) => [
    index,
    index + (t === undefined ? whole.length : whole.length - t.length),
  ]);
}

/** More marks than any script stacks on one letter (the Stream-Safe Text Format of UAX 15 allows 30). */
const MARKS_IN_ROW_MAX = 30;
const MARK = /^\p{M}$/u;
const TOO_MANY_MARKS = new RegExp(`\\p{M}{${MARKS_IN_ROW_MAX + 1}}`, 'u');

/** Drops marks beyond the bound: for a run of n marks, ICU's normalisation takes n² steps, 10 seconds for 200,000. */
function withBoundedMarks(text: string): string {
  if (!TOO_MANY_MARKS.test(text)) return text;
  const kept: string[] = [];
  let marks = 0;
  for (const character of text) {
    marks = MARK.test(character) ? marks + 1 : 0;
    if (marks <= MARKS_IN_ROW_MAX) kept.push(character);
  }
  return kept.join('');
}
