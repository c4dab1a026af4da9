/**
 * Where sentences begin in texts of Latin letters, by the rules of Unicode Standard Annex 29, as `Intl.Segmenter` has
 * them: a fifth of its time. Ends of lines count as spaces.
 */

/** The classes of the standard (Sentence_Break) that occur. */
const OTHER = 0;
const SPACE = 1;
const LOWER = 2;
const UPPER = 3;
const NUMERIC = 4;
const FULL_STOP = 5;
const TERMINAL = 6;
const CONTINUE = 7;
const CLOSE = 8;
/** Of a unit about which nothing is known here. */
const UNKNOWN = 9;

const TABLE_END = 0x180;
const PUNCTUATION_FROM = 0x2013;
const PUNCTUATION_TO = 0x203b;
/** Made when first used: it asks `Intl.Segmenter`, which takes a while to load. */
let tables: { latin: Uint8Array; punctuation: Uint8Array } | null = null;

/** The positions behind the begin at which a sentence begins, ascending; null: the text has other characters, too. */
export function latinSentenceStarts(text: string): number[] | null {
  tables ??= { latin: classes(), punctuation: punctuationClasses() };
  const starts: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const kind = classAt(text, at);
    if (kind === UNKNOWN) return null;
    if (kind !== FULL_STOP && kind !== TERMINAL) continue;
    if (kind === FULL_STOP && at + 1 < text.length) {
      const next = classAt(text, at + 1);
      if (next === NUMERIC) continue;
      if (next === UPPER && at > 0 && isCased(classAt(text, at - 1))) continue;
    }
    let behind = at + 1;
    while (behind < text.length && classAt(text, behind) === CLOSE) behind++;
    while (behind < text.length && classAt(text, behind) === SPACE) behind++;
    if (behind === text.length) continue;
    const next = classAt(text, behind);
    if (next === CONTINUE || next === FULL_STOP || next === TERMINAL) continue;
    if (next === UNKNOWN) return null;
    if (kind === FULL_STOP) {
      const follows = firstLetter(text, behind);
      if (follows === UNKNOWN) return null;
      if (follows === LOWER) continue;
    }
    starts.push(behind);
  }
  return starts;
}

/** The class of the first letter or end of a sentence from there on; OTHER: there is none. */
function firstLetter(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const kind = classAt(text, at);
    if (kind === LOWER || kind === UPPER || kind === FULL_STOP || kind === TERMINAL || kind === UNKNOWN) return kind;
  }
  return OTHER;
}

function isCased(kind: number): boolean {
  return kind === LOWER || kind === UPPER;
}

function classAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < TABLE_END) return tables!.latin[unit];
  return unit >= PUNCTUATION_FROM && unit < PUNCTUATION_TO ? tables!.punctuation[unit - PUNCTUATION_FROM] : UNKNOWN;
}

function classes(): Uint8Array {
  const table = new Uint8Array(TABLE_END).fill(UNKNOWN);
  const set = (characters: string, kind: number): void => {
    for (const character of characters) table[character.charCodeAt(0)] = kind;
  };
  set(' \t\n\v\f\r\u0085\u00a0', SPACE);
  set('#$%&*+/<=>@\\^_`|~¡¢£¤¥¦§¨©¬®¯°±²³´¶·¸¹¼½¾¿×÷', OTHER);
  set('0123456789', NUMERIC);
  set('.', FULL_STOP);
  set('!?', TERMINAL);
  set(',-:', CONTINUE);
  set('()[]{}"\'«»', CLOSE);
  set('ªºµ', LOWER);
  // Newer versions of Unicode count it to what continues a sentence.
  set(';', semicolonContinues() ? CONTINUE : OTHER);
  for (let unit = 0x41; unit < TABLE_END; unit++) {
    const letter = String.fromCharCode(unit);
    if (table[unit] === UNKNOWN && /\p{L}/u.test(letter)) table[unit] = /\p{Lu}/u.test(letter) ? UPPER : LOWER;
  }
  return table;
}

/** Dashes and quotation marks. */
function punctuationClasses(): Uint8Array {
  const table = new Uint8Array(PUNCTUATION_TO - PUNCTUATION_FROM).fill(UNKNOWN);
  for (const dash of '\u2013\u2014') table[dash.charCodeAt(0) - PUNCTUATION_FROM] = CONTINUE;
  for (const mark of '\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2039\u203a')
    table[mark.charCodeAt(0) - PUNCTUATION_FROM] = CLOSE;
  for (const sign of '\u2020\u2021\u2022') table[sign.charCodeAt(0) - PUNCTUATION_FROM] = OTHER;
  return table;
}

function semicolonContinues(): boolean {
  return [...new Intl.Segmenter('en', { granularity: 'sentence' }).segment('A! ;B')].length === 1;
}
