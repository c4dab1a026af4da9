import { isBlankUnit, skipBlank, skipBlankBackward } from './blank';
import {
  lastCharacterBoundary,
  lastSentenceEnd,
  lastWordBoundary,
  nextWordBoundary,
  sentenceStarts,
} from './text-boundaries';

/** How a text is cut. Lengths are in UTF-16 code units, so a chunk never has more code points than that either. */
export interface ChunkOptions {
  /** Longest chunk, at least 2. */
  size: number;
  /**
   * About how much of its end a chunk shares with the start of the next one. More than half of `size` counts as half.
   */
  overlap: number;
}

/** A part of a text: `text` is the units from `start` up to `end`, without white space around. */
export interface Chunk {
  start: number;
  end: number;
  text: string;
}

/** Where a TextChunker is: to cut again from there. */
export interface ChunkerPosition {
  previous: { start: number; end: number } | null;
  rest: number;
}

/** What a chunk of some size is to be like. */
interface ChunkShape {
  size: number;
  overlap: number;
  /** A chunk at least this long advances by a quarter of `size`, which bounds the number of chunks. */
  least: number;
}

/** How many units behind the end of a full chunk are examined, to see whether a sentence or a paragraph ends there. */
const LOOK_AHEAD = 64;

/** The chunks of a whole text, as {@link TextChunker} cuts it. */
export function* chunkText(text: string, options: ChunkOptions): Generator<Chunk> {
  const chunker = new TextChunker(options);
  yield* chunker.push(text);
  yield* chunker.end();
}

/**
 * Cuts a text that arrives in parts into overlapping chunks, in order. A chunk ends at the end of a paragraph,
 * otherwise of a sentence, a line or a word in its second half, otherwise where it is full; never inside a surrogate
 * pair, and hardly ever inside a character. Every character but white space is in some chunk; no chunk is blank or lies
 * inside another one. A blank text has no chunks. The chunks do not depend on where the parts of the text begin. The
 * time is proportional to the text, whatever it contains, and memory holds the last part and at most two chunks.
 */
export class TextChunker {
  private readonly shape: ChunkShape;
  /** The text from `base` on; the positions below are relative to it. */
  private text = '';
  private base = 0;
  private hasEnded = false;
  /** The chunk before the next one; null if there is none or it is too far back to share anything. */
  private previous: { start: number; end: number } | null = null;
  /** Where the text begins that is in no chunk yet; white space is skipped. */
  private rest = 0;

  constructor(private readonly options: ChunkOptions) {
    this.shape = shapeOf(options.size, options.overlap);
  }

  /**
   * Adds the next part of the text and yields the chunks that later text can't change. The caller must take all of
   * them.
   */
  *push(part: string): Generator<Chunk> {
    this.add(part);
    yield* this.chunks();
    this.forget();
  }

  /** The remaining chunks once the text is over. */
  *end(): Generator<Chunk> {
    this.finish();
    yield* this.chunks();
  }

  /** Adds the next part of the text, for `next`. */
  add(part: string): void {
    this.text += part;
  }

  /** There is no more text. */
  finish(): void {
    this.hasEnded = true;
  }

  /** Where the next chunk is looked for, until `forget`. */
  get place(): ChunkerPosition {
    return { previous: this.previous, rest: this.rest };
  }

  /** Goes back, to cut the text behind again. */
  goBack({ previous, rest }: ChunkerPosition): void {
    this.previous = previous;
    this.rest = rest;
  }

  /**
   * The next chunk, of `size` units at most (default: as the options have it); null: later text could change it, or
   * there is none.
   */
  next(size = this.shape.size): Chunk | null {
    const shape = size === this.shape.size ? this.shape : shapeOf(size, this.options.overlap);
    const { text, previous } = this;
    this.rest = skipBlank(text, this.rest);
    if (this.rest === text.length || (!this.hasEnded && text.length - this.rest < this.shape.size + LOOK_AHEAD))
      return null;
    let start = this.startOfNext(shape);
    let end = this.endFrom(start, shape);
    if (previous !== null && end <= previous.end) {
      // The shared part and a gap, or marks that can't be separated, filled the chunk. Start with the new text instead.
      start = this.rest;
      end = this.endFrom(start, shape);
    }
    this.previous = { start, end };
    this.rest = end;
    return { start: this.base + start, end: this.base + end, text: text.slice(start, end) };
  }

  private *chunks(): Generator<Chunk> {
    for (let chunk = this.next(); chunk !== null; chunk = this.next()) yield chunk;
  }

  /** Drops what no later chunk needs. */
  forget(): void {
    // Nothing is shared across such a gap.
    if (this.previous !== null && this.rest - this.previous.end >= this.shape.size) this.previous = null;
    const { previous } = this;
    const dropped = previous?.start ?? this.rest;
    this.text = this.text.slice(dropped);
    this.base += dropped;
    this.rest -= dropped;
    if (previous !== null) this.previous = { start: 0, end: previous.end - dropped };
  }

  private startOfNext({ size, overlap, least }: ChunkShape): number {
    const { previous, rest } = this;
    if (previous === null || overlap === 0) return rest;
    const chunk = this.text.slice(previous.start, previous.end);
    for (const at of startsOfOverlap(chunk, overlap, Math.min(2 * overlap, Math.floor(size / 2)))) {
      const shared = previous.start + at;
      if (shared > previous.start && shared < previous.end && rest - shared < least) return shared;
    }
    return rest;
  }

  /** Where the chunk from `start` ends, without white space behind it. Always after `start`, which is not blank. */
  private endFrom(start: number, { size, least }: ChunkShape): number {
    const { text } = this;
    if (text.length - start <= size) return skipBlankBackward(text, text.length);
    const window = text.slice(start, start + size + LOOK_AHEAD);
    return skipBlankBackward(text, start + findCut(window, least, size));
  }
}

function shapeOf(size: number, overlapGiven: number): ChunkShape {
  const overlap = Math.min(overlapGiven, Math.floor(size / 2));
  return { size, overlap, least: Math.max(Math.ceil(size / 2), overlap + Math.ceil(size / 4)) };
}

/**
 * The best position in [from, limit] to end a chunk that begins with the window and continues behind it: the last one
 * of the best kind; if there is none, about `limit`.
 */
function findCut(window: string, from: number, limit: number): number {
  let line = 0;
  let word = 0;
  for (let at = limit; at >= from; at--) {
    const lineEnds = lineEndsAt(window, at);
    if (lineEnds === null) continue;
    if (lineEnds >= 2) return at;
    if (lineEnds === 1) line ||= at;
    word ||= at;
  }
  const sentence = lastSentenceEnd(window, limit);
  if (sentence >= from) return sentence;
  if (line > 0 || word > 0) return line || word;
  const boundary = lastWordBoundary(window, limit);
  return boundary >= from ? boundary : lastCharacterBoundary(window, limit);
}

/**
 * How much white space is examined for the end of a paragraph: enough for an indented empty line, and a bound on the
 * work.
 */
const GAP_LOOK_AHEAD = 16;
const LINE_FEED = 10;

/** How many line ends (2 means two or more) are in the white space that begins at `at`; null if none begins there. */
function lineEndsAt(text: string, at: number): number | null {
  if (!isBlankUnit(text.charCodeAt(at)) || isBlankUnit(text.charCodeAt(at - 1))) return null;
  let lines = 0;
  for (let i = at; i < at + GAP_LOOK_AHEAD && lines < 2 && isBlankUnit(text.charCodeAt(i)); i++) {
    if (text.charCodeAt(i) === LINE_FEED) lines++;
  }
  return lines;
}

/** How much before the units that are looked at decides whether a sentence begins there. */
const SENTENCE_CONTEXT = 64;

/**
 * Where in a chunk the next one may start, best first: at a sentence that is in the last `overlap` units, at the last
 * sentence where that is no longer than `most`, and else at a word.
 */
function* startsOfOverlap(chunk: string, overlap: number, most: number): Generator<number> {
  const from = Math.max(1, chunk.length - most);
  const sentences = sentenceStarts(chunk, from, SENTENCE_CONTEXT);
  const near = sentences.find((at) => at >= chunk.length - overlap) ?? sentences.at(-1);
  if (near !== undefined) yield near;
  yield startOfOverlap(chunk, overlap);
}

/**
 * Where in a chunk the next one starts, to share about `overlap` units: at the start of a word if possible; 0: nowhere.
 */
function startOfOverlap(chunk: string, overlap: number): number {
  const first = chunk.length - overlap;
  for (let at = Math.max(first, 1); at < chunk.length; at++) {
    if (isBlankUnit(chunk.charCodeAt(at - 1)) && !isBlankUnit(chunk.charCodeAt(at))) return at;
  }
  if (first <= 0) return 0;
  const boundary = nextWordBoundary(chunk, first);
  return boundary < chunk.length ? boundary : lastCharacterBoundary(chunk, first);
}
