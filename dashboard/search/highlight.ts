/** Where the words of a query stand in a text, for eyes: which words count, the service decides by its own analysis. */

export interface Piece {
  text: string;
  isHit: boolean;
}

const WORD = /[\p{L}\p{N}]+/gu;
/** Words that share so much of their beginning are taken for forms of one: "river", "rivers". */
const STEM_MIN = 4;
/** Words like "of" and "in" are everywhere: they are shown only when there is nothing else. */
const SHORT_MAX = 2;
/** Of a word, how much may be its ending. */
const ENDING_MAX = 3;

/** A text parted into what matches a word of the query and what does not. */
export function highlight(text: string, query: string): Piece[] {
  const wanted = wordsOf(query);
  if (wanted.length === 0) return [{ text, isHit: false }];
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(WORD)) {
    const word = folded(match[0]);
    if (!wanted.some((one) => isForm(word, one))) continue;
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), isHit: false });
    from = match.index + match[0].length;
    pieces.push({ text: match[0], isHit: true });
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isHit: false });
  return pieces;
}

/** The part of a long text around the first word that matches; the beginning without one. */
export function excerpt(text: string, query: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const wanted = wordsOf(query);
  const first =
    [...text.matchAll(WORD)].find((match) => wanted.some((one) => isForm(folded(match[0]), one)))?.index ?? 0;
  const start = Math.max(0, Math.min(first - Math.floor(charactersMax / 4), text.length - charactersMax));
  // Not in the middle of a word.
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1;
  return `${from === 0 ? '' : '… '}${text.slice(from, from + charactersMax)}${from + charactersMax < text.length ? ' …' : ''}`;
}

function wordsOf(query: string): string[] {
  const words = [...new Set((query.match(WORD) ?? []).map(folded))];
  const long = words.filter((word) => word.length > SHORT_MAX);
  return long.length > 0 ? long : words;
}

function folded(word: string): string {
  return word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

function isForm(word: string, wanted: string): boolean {
  if (word === wanted) return true;
  const [short, long] = word.length < wanted.length ? [word, wanted] : [wanted, word];
  return short.length >= STEM_MIN && long.startsWith(short) && long.length - short.length <= ENDING_MAX;
}
