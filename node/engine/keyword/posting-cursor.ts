import { BOUND_SLACK, type LengthNorm, termScore } from './bm25';
import { type BlockBounds, BLOCK_POSTINGS } from './block-maxima';
import { NO_DOCUMENT } from './document-table';
import type { PostingLists } from './posting-lists';
import { LONG_FREQUENCY, placeOfDocument } from './posting-view';
import type { UnitTerm } from './searched-units';
import { UNION_PART_MAX, UnionReader, unionScoreMax } from './union-reader';
import type { WindowScores } from './window-scores';

/** Of documents in several lists: their frequencies are not here. */
const ALL_LONG = new Uint8Array(UNION_PART_MAX).fill(LONG_FREQUENCY);

/** What a cursor reads. */
interface CursorSource {
  lists: PostingLists;
  norm: LengthNorm;
  /** Of all lists, one more than the highest number. */
  documentCount: number;
}

/**
 * Reads what one part of a query adds to scores: a posting list, or several of which any is enough. Its position only
 * moves forward. Both are read by the same code from arrays of the same kinds, those of several lists a part at a time:
 * loops that met two classes took a tenth longer, also for queries whose parts are single lists.
 */
export class PostingCursor {
  /** The most that it adds to any score. */
  readonly scoreMax: number;
  /** Lists that it reads. */
  readonly listCount: number;
  private readonly lists: PostingLists;
  private readonly norm: LengthNorm;
  private readonly term: number;
  private readonly documents: Uint32Array;
  private readonly frequencies: Uint8Array;
  private readonly start: number;
  private position: number;
  private end: number;
  /** Of several lists; null: one. */
  private readonly union: UnionReader | null;

  /** `weight`: idf · (k1 + 1). */
  constructor(
    { lists, norm, documentCount }: CursorSource,
    terms: readonly UnitTerm[],
    private readonly weight: number,
  ) {
    const { term, factor } = terms[0];
    this.lists = lists;
    this.norm = norm;
    this.term = term;
    this.listCount = terms.length;
    if (terms.length === 1 && factor === 1) {
      const view = lists.view(term);
      this.union = null;
      this.documents = view.documents;
      this.frequencies = view.frequencies;
      this.start = view.start;
      this.position = view.start;
      this.end = view.end;
      const { frequencyMax, lengthMin } = lists.bounds(term);
      this.scoreMax =
        (frequencyMax === Infinity ? weight : termScore(weight, frequencyMax, lengthMin, norm)) * BOUND_SLACK;
    } else {
      this.union = new UnionReader(lists, terms, documentCount);
      this.documents = this.union.part;
      this.frequencies = ALL_LONG;
      this.start = 0;
      this.position = 0;
      this.end = this.union.count;
      this.scoreMax = unionScoreMax(terms, weight, { lists, norm });
    }
  }

  /** The next document, or NO_DOCUMENT at the end. */
  get next(): number {
    return this.position < this.end ? this.documents[this.position] : this.nextPart();
  }

  /**
   * Adds the scores of documents from `window.first` on and before `last`; whether it has to be called again, because
   * it may have more of them.
   */
  accumulate(window: WindowScores, last: number, lengths: Uint32Array): boolean {
    const { documents, frequencies, end, weight } = this;
    const { first, scores, touched } = window;
    const { base, slope } = this.norm;
    let { touchedCount } = window;
    let at = this.position;
    for (; at < end; at++) {
      const document = documents[at];
      if (document >= last) break;
      let frequency = frequencies[at];
      if (frequency === LONG_FREQUENCY) frequency = this.longFrequency(document);
      const score = scores[document - first];
      if (score === 0) touched[touchedCount++] = document;
      scores[document - first] = score + (weight * frequency) / (frequency + (base + slope * lengths[document]));
    }
    this.position = at;
    window.touchedCount = touchedCount;
    return at === end && this.union !== null && this.goOn(0);
  }

  /** Moves past `next`. */
  advance(): void {
    this.position++;
  }

  /** What is known of its blocks; null: nothing. */
  blockBounds(lengths: Uint32Array): BlockBounds | null {
    if (this.union !== null) return null;
    return this.lists.maxima.boundsOf(this.term, this.lists.view(this.term), lengths, this.norm);
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

  /** The score of `next`, which is so long. */
  score(length: number): number {
    const stored = this.frequencies[this.position];
    const frequency = stored === LONG_FREQUENCY ? this.longFrequency(this.documents[this.position]) : stored;
    return termScore(this.weight, frequency, length, this.norm);
  }

  /** The score that it adds to `document`, 0 if it has none. Documents must be asked for in ascending order. */
  scoreOf(document: number, length: number): number {
    this.position = placeOfDocument(this.documents, this.position, this.end, document);
    if (this.position < this.end) return this.documents[this.position] === document ? this.score(length) : 0;
    return this.union === null ? 0 : this.scoreInNext(document, length);
  }

  /** Moves to the first document that is not before another. */
  seek(document: number): void {
    this.position = placeOfDocument(this.documents, this.position, this.end, document);
    if (this.position === this.end) this.goOn(document);
  }

  /** At the end of a part: the first document of the next one, or NO_DOCUMENT. */
  private nextPart(): number {
    return this.goOn(0) ? this.documents[0] : NO_DOCUMENT;
  }

  /** At the end of a part: as scoreOf. */
  private scoreInNext(document: number, length: number): number {
    return this.goOn(document) && this.documents[0] === document ? this.score(length) : 0;
  }

  /** At the end of a part: whether there is another one, with documents that are not before `document`. */
  private goOn(document: number): boolean {
    if (this.union === null || !this.union.goOn(document)) return false;
    this.position = 0;
    this.end = this.union.count;
    return true;
  }

  private longFrequency(document: number): number {
    return this.union === null ? this.lists.longFrequency(this.term, document) : this.union.frequencyOf(document);
  }
}
