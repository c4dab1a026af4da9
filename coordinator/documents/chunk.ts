import { isBlankUnit, splitsCharacter } from './character-boundary';

/** How a text is cut; lengths in UTF-16 code units, so a chunk never has more code points than that either. */
export interface ChunkOptions {
  /** Longest chunk, at least 2. */
  size: number;
  /** About how much of its end a chunk shares with the next one's beginning; more than half of `size` counts as half. */
  overlap: number;
}

/** A stretch of a text: `text` is the units from `start` up to `end`, without white space around. */
export interface Chunk {
  start: number;
  end: number;
  text: string;
}

/**
 * Cuts a text into overlapping chunks, in order: at the end of a paragraph, else of a sentence, a line or a word in the
 * second half of a chunk, else where it is full, yet never inside a surrogate pair and hardly ever between a letter and
 * its marks. Everything but white space is in some chunk; no chunk is blank or lies inside another one. A blank text
 * has no chunks. Takes time proportional to the text, whatever is in it.
 */
export function* chunkText(text: string, options: ChunkOptions): Generator<Chunk> {
  const { size } = options;
  const overlap = Math.min(options.overlap, Math.floor(size / 2));
  // Chunks that are at least this long make progress of a quarter of the size, which bounds their number.
  const least = Math.max(Math.ceil(size / 2), overlap + Math.ceil(size / 4));
  let covered = 0;
  let rest = skipBlank(text, 0);
  let start = rest;
  while (rest < text.length) {
    let end = endOfChunk(text, start, least, size);
    if (end <= covered) {
      // The shared part and a gap, or marks that can't be parted, filled the chunk: it starts with what is new instead.
      start = rest;
      end = endOfChunk(text, start, least, size);
    }
    yield { start, end, text: text.slice(start, end) };
    covered = end;
    rest = skipBlank(text, end);
    const shared = overlap === 0 ? end : startOfOverlap(text, end, overlap);
    start = shared > start && shared < end && rest - shared < least ? shared : rest;
  }
}

/** Where the chunk from `start` ends, white space behind it left out; always after `start`, which is not blank. */
function endOfChunk(text: string, start: number, least: number, size: number): number {
  const cut = text.length - start <= size ? text.length : findCut(text, start, start + least, start + size);
  return skipBlankBackward(text, cut);
}

/** Kinds of places to cut at, best first. */
enum Break {
  paragraph,
  sentence,
  line,
  word,
}

/** The best place in [from, limit] to end a chunk that would go on, the last one of the best kind; else about `limit`. */
function findCut(text: string, start: number, from: number, limit: number): number {
  const found = [-1, -1, -1, -1];
  for (let at = limit; at >= from; at--) {
    const kind = breakAt(text, at);
    if (kind !== null && found[kind] < 0) found[kind] = at;
    if (kind === Break.paragraph) break;
  }
  return found.find((at) => at >= 0) ?? characterBoundary(text, start + 1, limit);
}

/** What ends just before `at`. */
function breakAt(text: string, at: number): Break | null {
  const previous = text.charCodeAt(at - 1);
  if (isBlankUnit(previous)) return null;
  if (FULL_WIDTH_ENDS.has(previous)) return isBlankUnit(text.charCodeAt(at)) ? spaceBreak(text, at, Break.sentence) : Break.sentence;
  if (!isBlankUnit(text.charCodeAt(at))) return null;
  return spaceBreak(text, at, endsSentence(text, at) ? Break.sentence : Break.word);
}

/** What the white space from `at` on makes of a break that is at least `kind`: two line ends part paragraphs. */
function spaceBreak(text: string, at: number, kind: Break): Break {
  let lines = 0;
  for (let i = at; i < at + GAP_LOOK_AHEAD && isBlankUnit(text.charCodeAt(i)); i++) {
    if (text.charCodeAt(i) === LINE_FEED && ++lines === 2) return Break.paragraph;
  }
  return lines === 1 ? Math.min(kind, Break.line) : kind;
}

/** Whether the word that ends at `at` ends a sentence, closing quotes and brackets aside. */
function endsSentence(text: string, at: number): boolean {
  let i = at - 1;
  while (i > at - 4 && CLOSERS.has(text.charCodeAt(i))) i--;
  return SENTENCE_ENDS.has(text.charCodeAt(i));
}

/** White space looked at for a paragraph's end: enough for an indented empty line, and a bound on the work. */
const GAP_LOOK_AHEAD = 16;
const LINE_FEED = 10;
const unitsOf = (characters: string): ReadonlySet<number> => new Set(Array.from(characters, (character) => character.charCodeAt(0)));
/** Ends of sentences that need no space behind them. */
const FULL_WIDTH_ENDS = unitsOf('。！？｡');
const SENTENCE_ENDS = unitsOf('.!?…؟۔।');
const CLOSERS = unitsOf('"\')]}»”’');

/** Where the next chunk starts to share about `overlap` units before `end`: at a word's start if there is one. */
function startOfOverlap(text: string, end: number, overlap: number): number {
  const first = end - overlap;
  for (let at = first; at < end; at++) {
    if (isBlankUnit(text.charCodeAt(at - 1)) && !isBlankUnit(text.charCodeAt(at))) return at;
  }
  return characterBoundary(text, first - overlap, first);
}

/** How far back a cut moves to keep a letter with its marks; longer stacks are cut. */
const CHARACTER_LOOK_BACK = 32;

/** The last p ≤ `limit` that splits no character, or no surrogate pair at least if there is none from `from` on. */
function characterBoundary(text: string, from: number, limit: number): number {
  for (let at = limit; at >= Math.max(from, limit - CHARACTER_LOOK_BACK); at--) {
    if (!splitsCharacter(text, at)) return at;
  }
  return splitsPair(text, limit) ? limit - 1 : limit;
}

function splitsPair(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

function skipBlank(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlankUnit(text.charCodeAt(at))) at++;
  return at;
}

function skipBlankBackward(text: string, from: number): number {
  let at = from;
  while (at > 0 && isBlankUnit(text.charCodeAt(at - 1))) at--;
  return at;
}
