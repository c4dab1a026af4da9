import type { SlotSet } from '../slots/slot-set';
import { termScore, type LengthNorm } from './bm25';
import { NO_DOCUMENT, type DocumentTable } from './document-table';
import { LONG_FREQUENCY, type PostingLists } from './posting-lists';
import { TopDocuments } from './top-documents';

/** Documents per pass over the accumulators: 32 KiB of scores stay in the first-level cache. */
const WINDOW_BITS = 12;
const WINDOW = 1 << WINDOW_BITS;

/** What a jump within a posting list costs compared with reading one posting in order (measured: some 15 to 1). */
const SEEK_COST = 16;

/** Up to this many postings in all are looked up one by one: scattered over windows, each would cost a whole window. */
const LISTED_POSTINGS_MAX = 1024;

/** Room for rounding in upper bounds, far above what a sum of a thousand terms can lose. */
const BOUND_SLACK = 1 + 1e-9;

/** A term of the query with its posting list; `weight` is idf · (k1 + 1). */
export interface WeightedTerm {
  term: number;
  weight: number;
}

/** A posting list being read; `position` only moves forward. */
class Cursor {
  private readonly documents: Uint32Array;
  private readonly frequencies: Uint8Array;
  private position: number;
  private readonly end: number;
  readonly weight: number;
  readonly scoreMax: number;

  constructor(
    private readonly lists: PostingLists,
    private readonly term: number,
    weight: number,
    private readonly norm: LengthNorm,
  ) {
    const view = lists.view(term);
    this.documents = view.documents;
    this.frequencies = view.frequencies;
    this.position = view.start;
    this.end = view.end;
    this.weight = weight;
    const { frequencyMax, lengthMin } = lists.bounds(term);
    this.scoreMax = (frequencyMax === Infinity ? weight : termScore(weight, frequencyMax, lengthMin, norm)) * BOUND_SLACK;
  }

  /** The next document, or NO_DOCUMENT at the end. */
  get next(): number {
    return this.position < this.end ? this.documents[this.position] : NO_DOCUMENT;
  }

  /** Adds the scores of the documents in [first, first + WINDOW) to `scores`. */
  accumulate(first: number, lengths: Uint32Array, scores: Float64Array): void {
    const { documents, frequencies, end, weight } = this;
    const { base, slope } = this.norm;
    const last = first + WINDOW;
    let at = this.position;
    for (; at < end; at++) {
      const document = documents[at];
      if (document >= last) break;
      let frequency = frequencies[at];
      if (frequency === LONG_FREQUENCY) frequency = this.lists.longFrequency(this.term, document);
      scores[document - first] += (weight * frequency) / (frequency + (base + slope * lengths[document]));
    }
    this.position = at;
  }

  /** The score this term adds to `document`, 0 without it; documents must be asked for in rising order. */
  scoreOf(document: number, length: number): number {
    this.seek(document);
    if (this.position === this.end || this.documents[this.position] !== document) return 0;
    const stored = this.frequencies[this.position];
    const frequency = stored === LONG_FREQUENCY ? this.lists.longFrequency(this.term, document) : stored;
    return termScore(this.weight, frequency, length, this.norm);
  }

  /** Moves to the first posting that is not before `document`: doubling steps, then halving. */
  seek(document: number): void {
    const { documents, end } = this;
    let low = this.position;
    if (low === end || documents[low] >= document) return;
    let step = 1;
    while (low + step < end && documents[low + step] < document) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step, end);
    low++;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (documents[middle] < document) low = middle + 1;
      else high = middle;
    }
    this.position = low;
  }
}

/**
 * The best documents for the terms, exactly. A document's score is summed over the terms in the order given, whichever
 * way it is computed, so it depends on nothing but the document, the terms and the statistics; rarest first prunes best.
 *
 * MaxScore (Turtle & Flood, "Query evaluation: strategies and optimizations", 1995) over windows of documents: once
 * the threshold exceeds what the last terms can add together, they no longer bring documents in; they are only looked
 * up for those that the other terms found and that may still reach the threshold.
 */
export function searchPostings(
  terms: WeightedTerm[],
  source: { documents: DocumentTable; lists: PostingLists; norm: LengthNorm },
  options: { k: number; allowed: SlotSet | null },
): { documents: Uint32Array; scores: Float64Array } {
  const { documents, lists, norm } = source;
  const cursors = terms.map(({ term, weight }) => new Cursor(lists, term, weight, norm));
  const postings = terms.reduce((sum, { term }) => sum + lists.length(term), 0);
  const candidateCount = Math.min(postings, documents.liveCount, options.allowed?.size ?? Infinity);
  const top = new TopDocuments(options.k, candidateCount);
  if (candidateCount === 0) return top.take();
  const allowed = options.allowed;
  if (allowed !== null && allowed.size * terms.length * SEEK_COST < postings) {
    scoreListed(allowed.toArray().map((slot) => documents.documentOf(slot)), cursors, documents, top);
  } else if (postings <= LISTED_POSTINGS_MAX) {
    scoreListed(documentsOf(terms, source, allowed), cursors, documents, top);
  } else {
    scoreWindows(allowed?.toBitmap(documents.slotCapacity) ?? null, cursors, documents, top);
  }
  return top.take();
}

/** The live, allowed documents that hold any of the terms, some of them repeatedly. */
function documentsOf(terms: WeightedTerm[], source: { documents: DocumentTable; lists: PostingLists }, allowed: SlotSet | null): Uint32Array {
  const { lengths, slots } = source.documents;
  const found: number[] = [];
  for (const { term } of terms) {
    const view = source.lists.view(term);
    for (let i = view.start; i < view.end; i++) {
      const document = view.documents[i];
      if (lengths[document] > 0 && (allowed === null || allowed.has(slots[document]))) found.push(document);
    }
  }
  return Uint32Array.from(found);
}

/** Few documents are in question: looks each of them up in every list. */
function scoreListed(listed: Uint32Array, cursors: Cursor[], documents: DocumentTable, top: TopDocuments): void {
  let previous = NO_DOCUMENT;
  for (const document of listed.sort()) {
    if (document === NO_DOCUMENT) break;
    if (document === previous) continue;
    previous = document;
    const length = documents.lengths[document];
    let score = 0;
    for (const cursor of cursors) score += cursor.scoreOf(document, length);
    if (score > 0) top.add(document, score);
  }
}

function scoreWindows(allowed: Uint32Array | null, cursors: Cursor[], documents: DocumentTable, top: TopDocuments): void {
  const { lengths, slots } = documents;
  const scores = new Float64Array(WINDOW);
  // boundFrom[i]: the most that terms i, i + 1, … can add together.
  const boundFrom = new Float64Array(cursors.length + 1);
  for (let i = cursors.length - 1; i >= 0; i--) boundFrom[i] = boundFrom[i + 1] + cursors[i].scoreMax;
  let essential = cursors.length;
  for (;;) {
    while (essential > 0 && boundFrom[essential - 1] < top.threshold) essential--;
    let next = NO_DOCUMENT;
    for (let i = 0; i < essential; i++) next = Math.min(next, cursors[i].next);
    if (next === NO_DOCUMENT) return;
    const first = (next >>> WINDOW_BITS) * WINDOW;
    for (let i = 0; i < essential; i++) cursors[i].accumulate(first, lengths, scores);
    // The least that a document must have by now to be among the best; a change of the threshold inside a window waits.
    const least = Math.max(top.threshold - boundFrom[essential], Number.MIN_VALUE);
    for (let i = 0; i < WINDOW; i++) {
      let score = scores[i];
      if (score < least) continue;
      const document = first + i;
      const length = lengths[document];
      if (length === 0) continue;
      const slot = slots[document];
      if (allowed !== null && (allowed[slot >>> 5] & (1 << (slot & 31))) === 0) continue;
      let at = essential;
      for (; at < cursors.length && score + boundFrom[at] >= top.threshold; at++) score += cursors[at].scoreOf(document, length);
      if (at === cursors.length) top.add(document, score);
    }
    scores.fill(0);
  }
}
