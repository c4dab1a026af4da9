import type { SlotSet } from '../slots/slot-set';
import type { BlockBounds } from './block-maxima';
import type { LengthNorm } from './bm25';
import { NO_DOCUMENT, type DocumentTable } from './document-table';
import { PostingCursor, type WeightedTerm, type WindowScores } from './posting-cursor';
import type { PostingLists } from './posting-lists';
import { TopDocuments } from './top-documents';

/** Documents per pass over the accumulators: 128 KiB of scores fit into the second-level cache. */
const WINDOW_BITS = 14;
const WINDOW = 1 << WINDOW_BITS;

/** The cost of a jump in a posting list relative to reading one posting in order (measured: about 15 to 1). */
const SEEK_COST = 16;

/** Postings of the rarest terms that are scored one by one before all others, to get a threshold for pruning. */
const LISTED_POSTINGS_MAX = 1024;

/** May be shared by all searches: a search never waits, so they don't overlap. */
const scoresOfWindow = new Float64Array(WINDOW);
const touchedInWindow = new Uint32Array(WINDOW);

/** What is searched. */
export interface SearchedPostings {
  documents: DocumentTable;
  lists: PostingLists;
  norm: LengthNorm;
}

/** Which documents are wanted, and how many. */
interface Wanted {
  top: TopDocuments;
  /** By slot; null: all. */
  allowed: Uint32Array | null;
  /** Documents that are in `top` already, ascending. */
  done: Uint32Array;
}

/**
 * The best documents for the terms, exactly. A document's score is summed over the terms in the given order, however it
 * is computed, so it depends only on the document, the terms and the statistics. The order "rarest first" prunes best.
 *
 * The documents of the rarest terms are scored first, which usually gives the threshold. The others follow by MaxScore
 * (Turtle & Flood, "Query evaluation: strategies and optimizations", 1995) over windows of documents. Once the
 * threshold exceeds what the last terms can add together, these terms contribute no new documents. They are only looked
 * up for documents that other terms found and that may still reach the threshold. When only one term is left that
 * contributes documents, its list is read alone, without the blocks in which nothing scores high enough.
 */
export function searchPostings(
  terms: WeightedTerm[],
  source: SearchedPostings,
  options: { k: number; allowed: SlotSet | null; nameOf: (document: number) => string },
): { documents: Uint32Array; scores: Float64Array } {
  const { documents, lists } = source;
  const { allowed } = options;
  const postings = terms.reduce((sum, { term }) => sum + lists.length(term), 0);
  const candidateCount = Math.min(postings, documents.liveCount, allowed?.size ?? Infinity);
  const top = new TopDocuments(options.k, candidateCount, options.nameOf);
  if (candidateCount === 0) return top.take();
  if (allowed !== null && allowed.size * terms.length * SEEK_COST < postings) {
    scoreListed(
      allowed
        .toArray()
        .map((slot) => documents.documentOf(slot))
        .sort(),
      cursorsOf(terms, source),
      documents,
      top,
    );
    return top.take();
  }
  let rareCount = 0;
  for (let sum = 0; rareCount < terms.length; rareCount++) {
    sum += lists.length(terms[rareCount].term);
    if (sum > LISTED_POSTINGS_MAX) break;
  }
  const done = documentsOf(terms.slice(0, rareCount), source, allowed).sort();
  scoreListed(done, cursorsOf(terms, source), documents, top);
  const bitmap = rareCount === terms.length ? null : (allowed?.toBitmap(documents.slotCapacity) ?? null);
  if (rareCount < terms.length) scoreWindows(terms.slice(rareCount), source, { top, allowed: bitmap, done });
  return top.take();
}

function cursorsOf(terms: WeightedTerm[], { lists, norm }: SearchedPostings): PostingCursor[] {
  return terms.map(({ term, weight }) => new PostingCursor(lists, term, weight, norm));
}

/** The live, allowed documents that hold any of the terms, some of them repeatedly. */
function documentsOf(terms: WeightedTerm[], source: SearchedPostings, allowed: SlotSet | null): Uint32Array {
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

/** For few documents: looks each of them up in every list. `listed` is ascending and may contain repetitions. */
function scoreListed(listed: Uint32Array, cursors: PostingCursor[], documents: DocumentTable, top: TopDocuments): void {
  let previous = NO_DOCUMENT;
  for (const document of listed) {
    if (document === NO_DOCUMENT) break;
    if (document === previous) continue;
    previous = document;
    const length = documents.lengths[document];
    let score = 0;
    for (const cursor of cursors) score += cursor.scoreOf(document, length);
    if (score > 0) top.add(document, score);
  }
}

/** Scores all documents that hold any of the terms and are not done, as far as they may be among the best. */
function scoreWindows(terms: WeightedTerm[], source: SearchedPostings, wanted: Wanted): void {
  const { documents, lists, norm } = source;
  const { top } = wanted;
  const { lengths } = documents;
  const cursors = cursorsOf(terms, source);
  const judge = new Judge(cursors, documents, wanted);
  const { boundFrom } = judge;
  const window: WindowScores = { first: 0, scores: scoresOfWindow, touched: touchedInWindow, touchedCount: 0 };
  let essential = cursors.length;
  for (;;) {
    while (essential > 0 && boundFrom[essential - 1] < top.threshold) essential--;
    if (essential === 0) return;
    if (essential === 1) {
      scoreAlone(cursors[0], lengths, judge, lists.maxima.boundsOf(terms[0].term, lists.view(terms[0].term), lengths, norm));
      return;
    }
    let next = NO_DOCUMENT;
    for (let i = 0; i < essential; i++) next = Math.min(next, cursors[i].next);
    if (next === NO_DOCUMENT) return;
    window.first = (next >>> WINDOW_BITS) * WINDOW;
    window.touchedCount = 0;
    for (let i = 0; i < essential; i++) cursors[i].accumulate(window, window.first + WINDOW, lengths);
    for (const { document, score } of promising(window, top.threshold, boundFrom[essential])) {
      judge.consider(document, lengths[document], score, essential);
    }
  }
}

/** The documents of a window that may be among the best, ascending, as look-ups require; clears the window. */
function promising(window: WindowScores, threshold: number, bound: number): { document: number; score: number }[] {
  const { first, scores, touched, touchedCount } = window;
  const found: { document: number; score: number }[] = [];
  for (let i = 0; i < touchedCount; i++) {
    const document = touched[i];
    const score = scores[document - first];
    scores[document - first] = 0;
    if (score + bound >= threshold) found.push({ document, score });
  }
  return found.sort((a, b) => a.document - b.document);
}

/** Only one term contributes documents: reads its list in order, skipping blocks that can't score high enough. */
function scoreAlone(cursor: PostingCursor, lengths: Uint32Array, judge: Judge, bounds: BlockBounds | null): void {
  for (;;) {
    if (bounds !== null) cursor.skipBlocks(bounds, judge.leastOf(1));
    const document = cursor.next;
    if (document === NO_DOCUMENT || judge.isOver) return;
    const length = lengths[document];
    judge.consider(document, length, length === 0 ? 0 : cursor.score(length), 1);
    cursor.advance();
  }
}

/** Decides about documents that some terms have scored, and completes the scores of those that may be among the best. */
class Judge {
  /** By term: the most that it and those after it can add together. */
  readonly boundFrom: Float64Array;

  constructor(
    private readonly cursors: PostingCursor[],
    private readonly documents: DocumentTable,
    private readonly wanted: Wanted,
  ) {
    this.boundFrom = new Float64Array(cursors.length + 1);
    for (let i = cursors.length - 1; i >= 0; i--) this.boundFrom[i] = this.boundFrom[i + 1] + cursors[i].scoreMax;
  }

  /** No remaining document can be among the best. */
  get isOver(): boolean {
    return this.boundFrom[0] < this.wanted.top.threshold;
  }

  /** The least score that a document needs from the terms before `from` to be among the best. */
  leastOf(from: number): number {
    return this.wanted.top.threshold - this.boundFrom[from];
  }

  /**
   * Takes a document with its score from the terms before `from`. Documents must ascend, unless `from` is behind the
   * last term.
   */
  consider(document: number, length: number, score: number, from: number): void {
    const { cursors, boundFrom } = this;
    const { top, allowed } = this.wanted;
    if (score + boundFrom[from] < top.threshold || length === 0) return;
    const slot = this.documents.slots[document];
    if (allowed !== null && (allowed[slot >>> 5] & (1 << (slot & 31))) === 0) return;
    if (this.isDone(document)) return;
    let whole = score;
    for (let at = from; at < cursors.length; at++) {
      whole += cursors[at].scoreOf(document, length);
      if (whole + boundFrom[at + 1] < top.threshold) return;
    }
    top.add(document, whole);
  }

  private isDone(document: number): boolean {
    const { done } = this.wanted;
    let low = 0;
    let high = done.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (done[middle] < document) low = middle + 1;
      else high = middle;
    }
    return low < done.length && done[low] === document;
  }
}
