import { WORD_JOINER } from './answer-prompt';

/** A quote that a model says is in a source. */
export interface GivenCitation {
  /** How much of the text, without marks, stands before it: a place behind a character that is not blank. */
  at: number;
  /** The source that it names; 0: none that could be one. */
  number: number;
  /** null: it names a source without a quote. */
  quote: string | null;
  /** Present where the text broke off within the quote. */
  isCutOff?: true;
}

/** Characters between the brackets of a mark; what is longer is text. */
const TAG_CHARACTERS_MAX = 64;
/** Of a quote; what is longer is none. */
const QUOTE_CHARACTERS_MAX = 4000;

const OPENING = '<cite';
const CLOSING = '</cite';
const NUMBER = /\d{1,6}/;
/** Numbers in brackets, as many models mark sources: [2] or [1, 3]. */
const BARE = /^\[\s*\d{1,3}(?:\s*,\s*\d{1,3})*\s*\]$/;
const BARE_BEGUN = /^\[\s*(?:\d{1,3}\s*(?:,\s*(?:\d{1,3}\s*)?)*)?$/;
const BLANK = /\s/;
/** What stands close behind a word. */
const CLOSE = /[.,;:!?)\]}…。，、！？；：»”’]/;
const WORD = /[\p{L}\p{N}]/u;
/** The end of a sentence; of one letter and a point, none. */
const STOPPED = /(?<!(?:^|[\s.(])\p{L}\.)(?<=[.!?…。！？]["'”’»)\]]*)$/u;
const STOP_CHARACTERS = 8;
const SPLIT = /[\ud800-\udbff]$/;

/**
 * Takes the marks of citations out of a text that comes piece by piece, wherever it is cut: `<cite n="2">words</cite>`,
 * and [2] behind a sentence: elsewhere, that may be something else, and stays. What it gives to show, put together, is
 * `text`.
 */
export class CitedText {
  text = '';
  readonly citations: GivenCitation[] = [];
  /** What may be the beginning of a mark. */
  private held = '';
  /** Blank characters that are shown with what follows them. */
  private blank = '';
  /** Whether a mark was taken out since the last character that was shown. */
  private isCut = false;
  /** The first half of a character whose other half has not come. */
  private half = '';
  /** Of the citation that is open. */
  private open: { number: number; quote: string } | null = null;

  /** `sources`: how many there are. */
  constructor(private readonly sources: number) {}

  /** More of what the model writes. Answers what may be shown of it. */
  take(piece: string): string {
    const before = this.text.length;
    const text = this.half + piece;
    this.half = SPLIT.exec(text)?.[0] ?? '';
    for (const character of text.slice(0, text.length - this.half.length)) this.step(character);
    return this.text.slice(before);
  }

  /**
   * There is no more. Answers the last that may be shown. `isCutOff`: whoever wrote had more to say, so that what is
   * open is a part of a mark.
   */
  end(isCutOff = false): string {
    const before = this.text.length;
    if (this.half !== '') this.step(this.half);
    this.half = '';
    if (this.open !== null && isCutOff) {
      this.citations.push({ at: this.text.length, ...this.open, isCutOff });
      this.open = null;
      this.held = '';
    } else if (this.open !== null) {
      this.quote(this.open, this.held);
      this.held = '';
      this.giveUp();
    }
    if (isCutOff && this.held.length > 1 && this.held.startsWith('<')) this.held = '';
    this.flush();
    return this.text.slice(before);
  }

  private step(character: string): void {
    if (this.open !== null) return this.stepInside(this.open, character);
    if (this.held === '' && character !== '<' && character !== '[') return this.show(character);
    if (this.held !== '' && (character === '<' || character === '[')) {
      this.flush();
      this.held = character;
      return;
    }
    this.held += character;
    if (this.held.startsWith('<')) this.lookAtTag();
    else this.lookAtNumbers();
  }

  private lookAtTag(): void {
    const { held } = this;
    const lower = held.toLowerCase();
    const isTag = [OPENING, CLOSING].some((mark) =>
      lower.length <= mark.length
        ? mark.startsWith(lower)
        : lower.startsWith(mark) && /[\s"'=>\d]/.test(held[mark.length]),
    );
    if (!isTag || held.length > TAG_CHARACTERS_MAX) return this.flush();
    if (!held.endsWith('>')) return;
    this.held = '';
    this.isCut = true;
    // One that closes nothing says nothing.
    if (!lower.startsWith(OPENING)) return;
    const number = this.sourceOf(NUMBER.exec(held)?.[0]);
    if (lower.endsWith('/>')) this.citations.push({ at: this.text.length, number, quote: null });
    else this.open = { number, quote: '' };
  }

  private lookAtNumbers(): void {
    const { held } = this;
    if (BARE.test(held)) {
      const numbers = held.match(/\d+/g) ?? [];
      const isBehind = !this.blank.includes('\n') && STOPPED.test(this.text.slice(-STOP_CHARACTERS));
      if (!isBehind || numbers.some((one) => this.sourceOf(one) === 0)) return this.flush();
      for (const one of numbers) this.citations.push({ at: this.text.length, number: Number(one), quote: null });
      this.held = '';
      this.isCut = true;
    } else if (!BARE_BEGUN.test(held) || held.length > TAG_CHARACTERS_MAX) {
      this.flush();
    }
  }

  private stepInside(open: { number: number; quote: string }, character: string): void {
    if (this.held === '' && character !== '<') return this.quote(open, character);
    if (this.held !== '' && character === '<') {
      this.quote(open, this.held);
      this.held = character;
      return;
    }
    this.held += character;
    const lower = this.held.toLowerCase();
    if (OPENING.startsWith(lower)) return;
    if (lower.startsWith(OPENING) && /[\s"'=>\d]/.test(character)) {
      // The one that is open was not closed.
      const { held } = this;
      this.held = '';
      this.giveUp();
      this.held = held;
      return this.lookAtTag();
    }
    const isEnd =
      lower.length <= CLOSING.length
        ? CLOSING.startsWith(lower)
        : lower.startsWith(CLOSING) && /^[\s>]/.test(lower.slice(CLOSING.length)) && lower.length < TAG_CHARACTERS_MAX;
    if (!isEnd) {
      this.quote(open, this.held);
      this.held = '';
    } else if (character === '>') {
      this.citations.push({ at: this.text.length, number: open.number, quote: open.quote });
      this.open = null;
      this.held = '';
    }
  }

  private quote(open: { quote: string }, text: string): void {
    open.quote += text;
    if (open.quote.length > QUOTE_CHARACTERS_MAX) this.giveUp();
  }

  /** What is open was not closed, or is too long: its words are text. */
  private giveUp(): void {
    if (this.open === null) return;
    const { number, quote } = this.open;
    this.citations.push({ at: this.text.length, number, quote: null });
    this.open = null;
    this.isCut = true;
    for (const character of quote) this.show(character);
  }

  private sourceOf(digits: string | undefined): number {
    const number = Number(digits ?? 0);
    return number >= 1 && number <= this.sources ? number : 0;
  }

  /** What was held is no mark. */
  private flush(): void {
    const { held } = this;
    this.held = '';
    for (const character of held) this.show(character);
  }

  private show(character: string): void {
    // A model that copies a passage copies what the prompt has put into it.
    if (character === WORD_JOINER) return;
    if (BLANK.test(character)) {
      this.blank += character;
      return;
    }
    if (this.text !== '') this.text += this.gapBefore(character);
    this.text += character;
    this.blank = '';
    this.isCut = false;
  }

  /** What is shown between the last character and the next. */
  private gapBefore(character: string): string {
    const { blank } = this;
    if (!this.isCut) return blank;
    if (CLOSE.test(character)) return '';
    const lines = blank.split('\n').length - 1;
    if (lines > 0) return lines > 1 ? '\n\n' : '\n';
    return blank !== '' || WORD.test(character) ? ' ' : '';
  }
}
