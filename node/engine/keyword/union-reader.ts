import { BOUND_SLACK, type LengthNorm, termScore } from './bm25';
import { NO_DOCUMENT } from './document-table';
import type { PostingLists } from './posting-lists';
import { LONG_FREQUENCY, placeOfDocument, type PostingView, wholeView } from './posting-view';
import type { MeaningList, UnitTerm } from './searched-units';

/** Documents of a part at least and at most, as powers of two. The largest fits into the second-level cache. */
const PART_MIN = 1 << 9;
export const UNION_PART_MAX = 1 << 14;
/** Postings of a part on average, for all lists and for each: so many pay for looking at each list. */
const POSTINGS_PER_PART = 256;
const POSTINGS_PER_LIST = 4;

/**
 * Reads several posting lists as one: the frequency of a document is the sum over the terms, in their order, each time
 * by its factor. Its position only moves forward. The lists are added up a part at a time: it costs little more to look
 * up many documents than the lists are long. It is valid until the next change of the index.
 */
export class UnionReader {
  /** No more documents are in it. */
  readonly length: number;
  private readonly views: PostingView[];
  /** By list: how far it has been read. */
  private readonly positions: number[];
  private readonly size: number;
  /** Of the part, by place: the frequency, and a bit for each that has one. */
  private readonly frequencies: Float64Array;
  private readonly bits: Uint32Array;
  /** The documents of the part from `from` on and before `end`, ascending: the first `count`. */
  readonly part: Uint32Array;
  count = 0;
  private from = 0;
  private end = 0;
  private at = 0;

  /**
   * `documentCount`: of all lists, one more than the highest number. `meanings`: lists behind those of the terms, each
   * time by 1.
   */
  constructor(
    private readonly lists: PostingLists,
    private readonly terms: readonly UnitTerm[],
    documentCount: number,
    private readonly meanings: readonly MeaningList[] = [],
  ) {
    this.views = terms.map(({ term }) => lists.view(term));
    for (const list of meanings) this.views.push(wholeView(list));
    this.positions = this.views.map(({ start }) => start);
    this.length = this.views.reduce((sum, { start, end }) => sum + end - start, 0);
    let size = PART_MIN;
    const postings = Math.max(POSTINGS_PER_PART, POSTINGS_PER_LIST * this.views.length);
    // Of few documents, no more than there are.
    while (size < UNION_PART_MAX && size < documentCount && this.length * size < postings * documentCount) size *= 2;
    if (this.length === 0) size = 32;
    this.size = size;
    this.frequencies = new Float64Array(size);
    this.bits = new Uint32Array(size >>> 5);
    this.part = new Uint32Array(size);
    this.fill(0);
  }

  /** The next document, or NO_DOCUMENT at the end. */
  get next(): number {
    return this.at < this.count ? this.part[this.at] : NO_DOCUMENT;
  }

  /** Of the document `next`. */
  get frequency(): number {
    return this.frequencies[this.part[this.at] - this.from];
  }

  /** Moves past `next`. */
  advance(): void {
    this.at += 1;
    if (this.at === this.count) this.fill(this.end);
  }

  /** Of a document of the part. */
  frequencyOf(document: number): number {
    return this.frequencies[document - this.from];
  }

  /** Adds up the next part that has documents which are not before another; whether there is one. */
  goOn(document: number): boolean {
    if (this.end !== NO_DOCUMENT) this.fill(Math.max(document, this.end));
    return this.count > 0;
  }

  /** The frequency of a document, 0 if it has none of the terms. Documents must be asked for in ascending order. */
  frequencyIn(document: number): number {
    this.seek(document);
    return this.next === document ? this.frequency : 0;
  }

  /** Moves to the first document that is not before another. */
  seek(document: number): void {
    if (document >= this.end) this.fill(document);
    else this.at = placeOfDocument(this.part, this.at, this.count, document);
    if (this.at === this.count && this.end !== NO_DOCUMENT) this.fill(this.end);
  }

  /** Adds up the part with the first document that is not before another. At the end of all lists it has none. */
  private fill(document: number): void {
    const { views, positions, frequencies, size } = this;
    for (let i = 0; i < this.count; i++) frequencies[this.part[i] - this.from] = 0;
    this.at = 0;
    this.count = 0;
    let next = NO_DOCUMENT;
    for (let i = 0; i < views.length; i++) {
      const { documents, end } = views[i];
      const at = placeOfDocument(documents, positions[i], end, document);
      positions[i] = at;
      if (at < end && documents[at] < next) next = documents[at];
    }
    this.end = NO_DOCUMENT;
    if (next === NO_DOCUMENT) return;
    this.from = next - (next % size);
    this.end = this.from + size;
    for (let i = 0; i < views.length; i++) this.add(i);
    this.list();
  }

  /** Adds a list's postings of the part. */
  private add(list: number): void {
    const { frequencies, bits, from, end } = this;
    const { documents, frequencies: stored, end: last } = this.views[list];
    const factor = list < this.terms.length ? this.terms[list].factor : 1;
    let at = this.positions[list];
    for (; at < last; at++) {
      const document = documents[at];
      if (document >= end) break;
      const place = document - from;
      const frequency = stored[at] === LONG_FREQUENCY ? this.longFrequency(list, document) : stored[at];
      frequencies[place] += factor * frequency;
      bits[place >>> 5] |= 1 << (place & 31);
    }
    this.positions[list] = at;
  }

  private longFrequency(list: number, document: number): number {
    const { lists, terms, meanings } = this;
    if (list < terms.length) return lists.longFrequency(terms[list].term, document);
    return meanings[list - terms.length].long.get(document)!;
  }

  /** Makes the list of the part's documents. */
  private list(): void {
    const { bits, part, from } = this;
    let count = 0;
    for (let i = 0; i < bits.length; i++) {
      for (let word = bits[i]; word !== 0; word &= word - 1)
        part[count++] = from + 32 * i + 31 - Math.clz32(word & -word);
      bits[i] = 0;
    }
    this.count = count;
  }
}

/** The most that such terms add to any score. */
export function unionScoreMax(
  terms: readonly UnitTerm[],
  weight: number,
  { lists, norm }: { lists: PostingLists; norm: LengthNorm },
): number {
  if (terms.length === 0) return 0;
  let frequencySum = 0;
  let lengthLeast = Infinity;
  for (const { term, factor } of terms) {
    const { frequencyMax, lengthMin } = lists.bounds(term);
    frequencySum += factor * frequencyMax;
    lengthLeast = Math.min(lengthLeast, lengthMin);
  }
  const most = frequencySum === Infinity ? weight : termScore(weight, frequencySum, lengthLeast, norm);
  return most * BOUND_SLACK;
}
