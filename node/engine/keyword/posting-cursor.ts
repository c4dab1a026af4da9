import { type LengthNorm, termScore } from './bm25';
import { type BlockBounds, BLOCK_POSTINGS } from './block-maxima';
import { NO_DOCUMENT } from './document-table';
import type { PostingLists } from './posting-lists';
import { LONG_FREQUENCY, placeOfDocument } from './posting-view';

/** Allowance for rounding in upper bounds, far above what a sum of a thousand terms can lose. */
export const BOUND_SLACK = 1 + 1e-9;

/** A term of the query with its posting list; `weight` is idf · (k1 + 1). */
export interface WeightedTerm {
  term: number;
  weight: number;
}

/** Documents of a window that hold any of the terms read so far, with their scores by position in the window. */
export interface WindowScores {
  first: number;
  scores: Float64Array;
  touched: Uint32Array;
  touchedCount: number;
}

/** Reads a posting list; its position only moves forward. */
export class PostingCursor {
  readonly weight: number;
  /** The most that the term adds to any score. */
  readonly scoreMax: number;
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

  /** The next document, or NO_DOCUMENT at the end. */
  get next(): number {
    return this.position < this.end ? this.documents[this.position] : NO_DOCUMENT;
  }

  /** Adds the scores of the documents from `window.first` on and before `last`. */
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

  /** Moves past the posting of `next`. */
  advance(): void {
    this.position++;
  }

  /** At the start of a block: skips this block and those that follow while nothing in them can score `least`. */
  skipBlocks({ maxima, factor }: BlockBounds, least: number): void {
    const offset = this.position - this.start;
    if (offset % BLOCK_POSTINGS !== 0) return;
    const blocks = Math.floor((this.end - this.start) / BLOCK_POSTINGS);
    const most = least / (this.weight * factor * BOUND_SLACK);
    let block = offset / BLOCK_POSTINGS;
    while (block < blocks && maxima[block] < most) block++;
    this.position = this.start + block * BLOCK_POSTINGS;
  }

  /** The score of the current posting, whose document is `next`. */
  score(length: number): number {
    const stored = this.frequencies[this.position];
    const frequency =
      stored === LONG_FREQUENCY ? this.lists.longFrequency(this.term, this.documents[this.position]) : stored;
    return termScore(this.weight, frequency, length, this.norm);
  }

  /**
   * The score that this term adds to `document`; 0 if the document does not hold it. Documents must be asked for in
   * ascending order.
   */
  scoreOf(document: number, length: number): number {
    this.seek(document);
    return this.position === this.end || this.documents[this.position] !== document ? 0 : this.score(length);
  }

  /** Moves to the first posting that is not before `document`. */
  seek(document: number): void {
    this.position = placeOfDocument(this.documents, this.position, this.end, document);
  }
}
