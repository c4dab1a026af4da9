const ASCII = /^[\x00-\x7f]*$/;

/**
 * Brings spellings that a reader takes for the same to one form, as the Unicode text-search practice has it (UTR 30,
 * ICU's folding filter): NFKC, lower case, no accents, ligatures written out, English possessives and contractions
 * without their apostrophe. `ascii` says that the result holds nothing else.
 * Stable across Unicode versions for characters assigned today (Unicode's normalisation and case stability policies).
 */
export function foldText(text: string): { text: string; ascii: boolean } {
  if (ASCII.test(text)) return { text: withoutContractions(text.toLowerCase()), ascii: true };
  const folded = withoutContractions(withoutAccents(withBoundedMarks(text).normalize('NFKC').toLowerCase()));
  return { text: folded, ascii: ASCII.test(folded) };
}

export interface ComposedText {
  text: string;
  /** It holds nothing else. */
  ascii: boolean;
}

/**
 * The first half of {@link foldText}, for words that are stemmed before they lose their accents, which the rules of
 * their language are about; {@link foldWord} is the other half.
 */
export function composeText(text: string): ComposedText {
  if (ASCII.test(text)) return { text: withoutContractions(text.toLowerCase()), ascii: true };
  const composed = withBoundedMarks(withBoundedMarks(text).normalize('NFKC').toLowerCase()).normalize('NFC');
  const visible = withoutContractions(composed.replace(INVISIBLE, ''));
  return { text: visible, ascii: ASCII.test(visible) };
}

/** A word of composed text without accents, special letters written out. May be empty: some words are nothing but marks. */
export function foldWord(word: string): string {
  return ASCII.test(word) ? word : withoutAccents(word);
}

function withoutAccents(composed: string): string {
  const stripped = withBoundedMarks(composed).normalize('NFD').replace(IGNORED, keepShortI).normalize('NFC');
  return stripped.replace(FOLDED_LETTER, foldLetter);
}

/**
 * Combining accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowel signs and tatweel, variation selectors,
 * and format characters that are invisible inside a word. Vowel signs of Indic and other scripts are letters to their
 * readers and stay, and й is a letter of its own and not an accented и.
 */
export const IGNORED_CLASS =
  String.raw`[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\u00ad\u061c\u180e\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]`;
const IGNORED = new RegExp(String.raw`\u0438\u0306|${IGNORED_CLASS}`, 'g');

/** Those of {@link IGNORED} that are no marks: they would part a word. */
const INVISIBLE = /[\u00ad\u061c\u180e\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

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

/** Letters without a decomposition, and decimal digits of other scripts: their blocks start at a multiple of 16, or 6 after. */
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
 * After an apostrophe (straight or curly): "don't" is "dont"; "John's", "we've", "I'm" lose the ending. What is longer,
 * as in "l'avion" or "O'Brien", stays and the apostrophe parts two words. What {@link IGNORED} names counts for nothing
 * beside it, whether it has been left out before or will be later.
 *
 * The look behind comes after the apostrophe: before it, it would run at every character, and each time over all of the
 * ignored ones before that, which takes n² steps for n of them.
 */
const CONTRACTION = new RegExp(
  String.raw`['\u2019](?<=\p{L}${IGNORED_CLASS}*.)(?:(t)|s|re|ve|ll|d|m)(?!${IGNORED_CLASS}*(?!${IGNORED_CLASS})[\p{L}\p{N}\p{M}])`,
  'gu',
);

/** A text without the endings of {@link CONTRACTION}. */
export function withoutContractions(text: string): string {
  if (!text.includes("'") && !text.includes('\u2019')) return text;
  return text.replace(CONTRACTION, (_match, t: string | undefined) => t ?? '');
}

/** More marks than any script stacks on one letter (the Stream-Safe Text Format of UAX 15 allows 30). */
const MARKS_IN_ROW_MAX = 30;
const MARK = /^\p{M}$/u;
const TOO_MANY_MARKS = new RegExp(`\\p{M}{${MARKS_IN_ROW_MAX + 1}}`, 'u');

/** Drops marks beyond the bound: normalising a run of n marks takes ICU n² steps, 10 seconds for 200,000. */
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
