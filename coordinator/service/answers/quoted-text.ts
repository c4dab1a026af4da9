import { foldLetters, foldText } from '../../../shared/base/text/fold-text';
import { type PlacedText, TextFolder } from '../../../shared/base/text/placed-text';

const SPACE = /\s/;
/** Signs that are written in several ways, by how they are compared. */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ...['“', '”', '„', '‟', '«', '»', '″'].map((sign) => [sign, '"'] as const),
  ...['‘', '’', '‚', '‛', '′', '`', '´'].map((sign) => [sign, "'"] as const),
  ...['‐', '‑', '‒', '–', '—', '―', '−'].map((sign) => [sign, '-'] as const),
]);
/** What may stand around a quote. */
const AROUND = /[\s"'.,;:!?()[\]…*_-]/;
/** Raised and lowered digits: they say something else than others. Each is compared as a private character. */
const SMALL_DIGIT = /[\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]/g;
const FIRST_PRIVATE = 0xe000;
const LATIN_MAX = 0xff;
const WORD = /[\p{L}\p{N}\ue000-\ue0ff]/u;
const DIGIT = /\d/;
/** Between digits, one of these makes one number, date or time of them. */
const IN_NUMBER = /[.,'/:^⁄]/;
/** Spaces that group digits. */
const IN_NUMBER_SPACE = /[\u00a0\u2007\u2009\u202f]/;
/** These join words; other dashes part them. */
const HYPHEN = /[-‐]/;
/** Of scripts that put no spaces between words. */
const UNSPACED =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}/u;
/** Signs that stand for a word beside a number. */
const UNIT = /[%‰°€$£¥]/;
/** Letters and digits that a quote has at least, unless it has a number with a unit. */
const LETTERS_MIN = 4;
/** The same of scripts that put no spaces between words. */
const UNSPACED_MIN = 2;

const folder = new TextFolder((text) => foldLetters(withSmallDigits(text)));

/**
 * A text in which quotes are looked for: equal is what readers take for equal, as by foldText, and all spaces and kinds
 * of quotation marks and dashes. A quote begins and ends at words, and at whole numbers with their signs.
 */
export class QuotedText {
  private compared: { text: string; placed: PlacedText; units: Int32Array } | null = null;

  constructor(private readonly text: string) {}

  /** Where a quote stands first, in UTF-16 code units; null: it does not, or is too short to show anything. */
  find(quote: string): { start: number; end: number } | null {
    const sought = comparedQuote(quote);
    if (!saysSomething(sought)) return null;
    this.compared ??= comparedText(this.text);
    const { text, placed, units } = this.compared;
    for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + 1)) {
      const behind = at + sought.length;
      if (this.isWithin(at) || this.isWithin(behind) || beginsWithinNumber(text, at)) continue;
      const [first, last] = [units[at], units[behind - 1]];
      return { start: placed.starts?.[first] ?? first, end: placed.ends?.[last] ?? last + 1 };
    }
    return null;
  }

  /** Whether a place is within a word, a word with hyphens, or a number. */
  private isWithin(at: number): boolean {
    const { text } = this.compared!;
    if (at === 0 || at >= text.length) return false;
    if (isOfWord(text, at - 1) && isOfWord(text, at)) return true;
    return this.binds(at - 1) || this.binds(at);
  }

  /** Whether a sign makes one of what is before and behind it. */
  private binds(at: number): boolean {
    const { text, placed, units } = this.compared!;
    const [before, after] = [text[at - 1], text[at + 1]];
    if (before === undefined || after === undefined) return false;
    const isNumber = DIGIT.test(before) && DIGIT.test(after);
    if (text[at] === '-')
      return !isNumber && HYPHEN.test(placed.text[units[at]]) && isOfWord(text, at - 1) && isOfWord(text, at + 1);
    if (!isNumber) return false;
    if (text[at] !== ' ') return IN_NUMBER.test(text[at]);
    return units[at + 1] === units[at] + 1 && IN_NUMBER_SPACE.test(this.text[placed.starts?.[units[at]] ?? units[at]]);
  }
}

/** Whether what begins at a place lacks the sign or the point before a number, or begins with the dash of a range. */
function beginsWithinNumber(text: string, at: number): boolean {
  if (DIGIT.test(text[at])) return isSign(text, at - 1);
  return text[at] === '-' && DIGIT.test(text[at + 1] ?? '') && at > 0 && isOfWord(text, at - 1);
}

/** Whether a minus or a decimal point that nothing is before stands at a place. */
function isSign(text: string, at: number): boolean {
  const sign = text[at];
  if (sign !== '-' && sign !== '.') return false;
  return at === 0 || (!isOfWord(text, at - 1) && !(sign === '.' && text[at - 1] === '.'));
}

function withSmallDigits(text: string): string {
  return text.replace(SMALL_DIGIT, (digit) => {
    const code = digit.charCodeAt(0);
    return String.fromCharCode(FIRST_PRIVATE + (code <= LATIN_MAX ? code : code & LATIN_MAX));
  });
}

function comparedQuote(quote: string): string {
  let text = '';
  for (const unit of foldText(withSmallDigits(quote.toWellFormed())).text)
    if (!SPACE.test(unit)) text += SIGNS.get(unit) ?? unit;
    else if (text !== '' && !text.endsWith(' ')) text += ' ';
  let from = 0;
  let to = text.length;
  while (from < to && AROUND.test(text[from]) && !(DIGIT.test(text[from + 1] ?? '') && isSign(text, from))) from += 1;
  while (to > from && AROUND.test(text[to - 1])) to -= 1;
  return text.slice(from, to);
}

/** With the place of each code unit in the folded text. */
function comparedText(whole: string): { text: string; placed: PlacedText; units: Int32Array } {
  const placed = last(folder.placed(whole));
  const units = new Int32Array(placed.text.length);
  let text = '';
  let isSpace = true;
  for (let i = 0; i < placed.text.length; i += 1) {
    const unit = placed.text[i];
    const isBlank = SPACE.test(unit);
    if (isBlank && isSpace) continue;
    units[text.length] = i;
    text += isBlank ? ' ' : (SIGNS.get(unit) ?? unit);
    isSpace = isBlank;
  }
  return { text, placed, units };
}

function last(steps: Generator<undefined, PlacedText>): PlacedText {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

function saysSomething(quote: string): boolean {
  const letters = quote.match(/[\p{L}\p{N}]/gu) ?? [];
  if (letters.length >= LETTERS_MIN) return true;
  const numbers = letters.filter((letter) => /\p{N}/u.test(letter)).length;
  if (numbers > 0) return numbers < letters.length || UNIT.test(quote);
  return letters.length >= UNSPACED_MIN && letters.every((letter) => UNSPACED.test(letter));
}

/** Whether the character with this code unit is of a word of a script that puts spaces between words. */
function isOfWord(text: string, at: number): boolean {
  const isSecond = /[\udc00-\udfff]/.test(text[at]) && at > 0;
  const character = String.fromCodePoint(text.codePointAt(isSecond ? at - 1 : at) as number);
  return WORD.test(character) && !UNSPACED.test(character);
}
