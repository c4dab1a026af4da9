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
const AROUND = /^[\s"'.,;:!?()[\]…*_-]+|[\s"'.,;:!?()[\]…*_-]+$/g;
const WORD = /[\p{L}\p{N}]/u;
/** Of scripts that put no spaces between words. */
const UNSPACED =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}/u;
/** Letters that a quote has at least, unless it has a digit or is of a script whose words are shorter. */
const LETTERS_MIN = 4;

const folder = new TextFolder(foldLetters);

/**
 * A text in which quotes are looked for: equal is what readers take for equal, as by foldText, and all spaces and kinds
 * of quotation marks and dashes. A quote begins and ends at words.
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
      if (joins(text, at) || joins(text, behind)) continue;
      const [first, last] = [units[at], units[behind - 1]];
      return { start: placed.starts?.[first] ?? first, end: placed.ends?.[last] ?? last + 1 };
    }
    return null;
  }
}

function comparedQuote(quote: string): string {
  let text = '';
  for (const unit of foldText(quote.toWellFormed()).text)
    if (!SPACE.test(unit)) text += SIGNS.get(unit) ?? unit;
    else if (text !== '' && !text.endsWith(' ')) text += ' ';
  return text.replace(AROUND, '');
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
  return letters.length >= LETTERS_MIN || letters.some((letter) => /\p{N}/u.test(letter) || UNSPACED.test(letter));
}

/** Whether a place is within a word. */
function joins(text: string, at: number): boolean {
  if (at === 0 || at >= text.length) return false;
  const before = characterBefore(text, at);
  const after = String.fromCodePoint(text.codePointAt(at) as number);
  return WORD.test(before) && WORD.test(after) && !UNSPACED.test(before) && !UNSPACED.test(after);
}

function characterBefore(text: string, at: number): string {
  const pair = text.slice(Math.max(0, at - 2), at);
  return (pair.codePointAt(0) ?? 0) > 0xffff ? pair : text[at - 1];
}
