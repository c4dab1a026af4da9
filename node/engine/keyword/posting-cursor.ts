import { type LengthNorm, termScore } from './bm25';
import { type BlockBounds, BLOCK_POSTINGS } from './block-maxima';
import { NO_DOCUMENT } from './document-table';
import type { PostingLists } from './posting-lists';
import { LONG_FREQUENCY, placeOfDocument } from './posting-view';

/** Allowance for rounding in upper bounds, far above what a sum of a thousand terms can lose. */
export const BOUND_SLACK = 1 + 1e-9;

/** Documents of a window that hold any of the terms read so far, with their scores by position in the window. */
export interface WindowScores {
  first: number;
  scores: Float64Array;
  touched: Uint32Array;
  touchedCount: number;
}

/** Reads what one part of a query adds to scores; its position only moves forward. */
export interface ScoreCursor {
  /** The most that it adds to any score. */
  readonly scoreMax: number;
  /** Lists that it reads. */
  readonly listCount: number;
  /** The next document, or NO_DOCUMENT at the end. */
  readonly next: number;
  /** Adds the scores of the documents from `window.first` on and before `last`. */
  accumulate(window: WindowScores, last: number, lengths: Uint32Array): void;
  /** Moves past `next`. */
  advance(): void;
  /** What is known of its blocks; null: nothing. */
  blockBounds(lengths: Uint32Array): BlockBounds | null;
  /** At the start of a block: skips this block and those that follow while nothing in them can score `least`. */
  skipBlocks(bounds: BlockBounds, least: number): void;
  /** The score of `next`, which is so long. */
  score(length: number): number;
  /** The score that it adds to `document`, 0 if it has none. Documents must be asked for in ascending order. */
  scoreOf(document: number, length: number): number;
  /** Moves to the first document that is not before another. */
  seek(document: number): void;
}

/** Reads a posting list. */
export class PostingCursor implements ScoreCursor {
  readonly weight: number;
  readonly scoreMax: number;
  readonly listCount = 1;
  private readonly documents: Uint32Array;
  private readonly frequencies: Uint8Array;
  private readonly start: number;
  private readonly end: number;
  private position: number;

  constructor(
    private readonly lists: PostingLists,
    readonly term: number,
    weight: number,
    private readonly norm: LengthNorm,
  ) {
    const view = lists.view(term);
    this.documents = view.documents;
    this.frequencies = view.frequencies;
    this.start = view.start;
    this.position = view.start;
    this.end = view.end;
    this.weight = weight;
    const { frequencyMax, lengthMin } = lists.bounds(term);
    this.scoreMax =
      (frequencyMax === Infinity ? weight : termScore(weight, frequencyMax, lengthMin, norm)) * BOUND_SLACK;
  }

  get next(): number {
    return this.position < this.end ? this.documents[this.position] : NO_DOCUMENT;
  }

  accumulate(window: WindowScores, last: number, lengths: Uint32Array): void {
    const { documents, frequencies, end, weight } = this;
    const { first, scores, touched } = window;
    const { base, slope } = this.norm;
    let { touchedCount } = window;
    let at = this.position;
    for (; at < end; at++) {
      const document = documents[at];
      if (document >= last) break;
      let frequency = frequencies[at];
      if (frequency === LONG_FREQUENCY) frequency = this.lists.longFrequency(this.term, document);
      const score = scores[document - first];
      if (score === 0) touched[touchedCount++] = document;
      scores[document - first] = score + (weight * frequency) / (frequency + (base + slope * lengths[document]));
    }
    this.position = at;
    window.touchedCount = touchedCount;
  }

  advance(): void {
    this.position++;
  }

  blockBounds(lengths: Uint32Array): BlockBounds | null {
    return this.lists.maxima.boundsOf(this.term, this.lists.view(this.term), lengths, this.norm);
  }

  skipBlocks({ maxima, factor }: BlockBounds, least: number): void {
    const offset = this.position - this.start;
    if (offset % BLOCK_POSTINGS !== 0) return;
    const blocks = Math.floor((this.end - this.start) / BLOCK_POSTINGS);
    const most = least / (this.weight * factor * BOUND_SLACK);
    let block = offset / BLOCK_POSTINGS;
    while (block < blocks && maxima[block] < most) block++;
    this.position = this.start + block * BLOCK_POSTINGS;
  }

  score(length: number): number {
    const stored = this.frequencies[this.position];
    const frequency =
      stored === LONG_FREQUENCY ? this.lists.longFrequency(this.term, this.documents[this.position]) : stored;
    return termScore(this.weight, frequency, length, this.norm);
  }

  scoreOf(document: number, length: number): number {
    this.seek(document);
    return this.position === this.end || this.documents[this.position] !== document ? 0 : this.score(length);
  }

  seek(document: number): void {
    this.position = placeOfDocument(this.documents, this.position, this.end, document);
  }
}
