import type { SlotSet } from '../slots/slot-set';
import type { LengthNorm } from './bm25';
import { NO_DOCUMENT, type DocumentTable } from './document-table';
import { PostingCursor } from './posting-cursor';
import type { PostingLists } from './posting-lists';
import type { UnitTerm } from './searched-units';
import { TopDocuments } from './top-documents';
import type { WindowScores } from './window-scores';

/**
 * Documents per pass over the accumulators: 128 KiB of scores fit into the second-level cache. With very many terms a
 * pass has fewer, so that it takes a few milliseconds at most.
 */
const WINDOW = 1 << 14;
const WINDOW_MIN = 1 << 8;
const WINDOW_POSTINGS_MAX = 1 << 20;

/** The cost of a jump in a posting list relative to reading one posting in order (measured: about 15 to 1). */
const SEEK_COST = 16;

/** Postings of the rarest terms that are scored one by one before all others, to get a threshold for pruning. */
const LISTED_POSTINGS_MAX = 1024;

/** Look-ups of a term in a document before a break: about two milliseconds. */
const LOOK_UPS_AT_ONCE = 1 << 15;

/** Postings of a list that is read alone before a break. */
const ALONE_AT_ONCE = 1 << 14;

/** May be shared by all searches: none has a break while it uses them. */
const scoresOfWindow = new Float64Array(WINDOW);
const touchedInWindow = new Uint32Array(WINDOW);

/** What is searched. It may change during the breaks of a search. */
export interface SearchedPostings {
  readonly documents: DocumentTable;
  readonly lists: PostingLists;
  readonly norm: LengthNorm;
  /** What has documents now of what is looked for, rarest first. */
  parts(): SearchedPart[];
  /** Changes with everything. */
  revision(): number;
  /** Changes when documents get new numbers. */
  numbering(): number;
}

/** A term, or several that count as one; any of them is enough. */
export interface SearchedPart {
  terms: readonly UnitTerm[];
  /** idf · (k1 + 1). */
  weight: number;
  /** Its place among all parts of the query, in the order of {@link SearchedPostings.parts}. */
  rank: number;
}

/** How many documents are wanted, and which. */
export interface KeywordWish {
  k: number;
  /** By slot, as it is now; null: all. */
  allowed: () => SlotSet | null;
  /** See TopDocuments. */
  nameOf: ((document: number) => string) | null;
}

/** What one pass over the documents looks for. */
interface Wanted {
  top: TopDocuments;
  /** By slot; null: all. */
  allowed: Uint32Array | null;
  /** Documents that are in `top` already, ascending. */
  done: Uint32Array;
  /** Documents from this number on are left out. */
  end: number;
}

/** Thrown after a break during which documents got new numbers: the search begins again. */
class Renumbered extends Error {}

/**
 * The best documents for the parts, exactly, in steps of a few milliseconds. A document's score is summed over the
 * parts in the given order, however it is computed, so it depends only on the document, the parts and the statistics.
 * The order "rarest first" prunes best.
 *
 * The documents of the rarest parts are scored first, which usually gives the threshold. The others follow by MaxScore
 * (Turtle & Flood, "Query evaluation: strategies and optimizations", 1995) over windows of documents. Once the
 * threshold exceeds what the last parts can add together, these parts contribute no new documents. They are only looked
 * up for documents that other parts found and that may still reach the threshold. When only one part is left that
 * contributes documents, its list is read alone, without the blocks in which nothing scores high enough.
 *
 * The index may change between two steps. Documents that come meanwhile are scored at the end, because they may be new
 * versions of documents that went. What was found and went meanwhile is still in the answer: the caller looks for it.
 */
export function searchPostings(
  source: SearchedPostings,
  wish: KeywordWish,
): Generator<undefined, { documents: Uint32Array; scores: Float64Array }> {
  return untilNumbered(() => searchNumbered(source, wish));
}

/** A search that begins again whenever documents got new numbers during one of its breaks ({@link pauseOf}). */
export function* untilNumbered<Found>(search: () => Generator<undefined, Found>): Generator<undefined, Found> {
  for (;;) {
    try {
      return yield* search();
    } catch (error) {
      if (!(error instanceof Renumbered)) throw error;
    }
  }
}

function* searchNumbered(
  source: SearchedPostings,
  { k, allowed: allowedNow, nameOf }: KeywordWish,
): Generator<undefined, { documents: Uint32Array; scores: Float64Array }> {
  const { documents, lists } = source;
  const end = documents.count;
  const allowed = allowedNow();
  const parts = source.parts();
  const lengths = parts.map(({ terms }) => terms.reduce((sum, { term }) => sum + lists.length(term), 0));
  const postings = lengths.reduce((sum, length) => sum + length, 0);
  const candidateCount = Math.min(postings, documents.liveCount, allowed?.size ?? Infinity);
  const top = new TopDocuments(k, candidateCount, nameOf);
  const pause = pauseOf(source);
  if (candidateCount === 0) return top.take();
  if (allowed !== null && allowed.size * parts.length * SEEK_COST < postings) {
    const listed = allowed.toArray().map((slot) => documents.documentOf(slot));
    yield* scoreListed(listed.sort(), source, top, pause);
  } else {
    let rareCount = 0;
    for (let sum = 0; rareCount < parts.length; rareCount++) {
      sum += lengths[rareCount];
      if (sum > LISTED_POSTINGS_MAX) break;
    }
    const done = documentsOf(parts.slice(0, rareCount), source, allowed).sort();
    const rank = rareCount < parts.length ? parts[rareCount].rank : null;
    const bitmap = rank === null ? null : (allowed?.toBitmap(documents.slotCapacity) ?? null);
    yield* scoreListed(done, source, top, pause);
    if (rank !== null) yield* scoreWindows(rank, source, { top, allowed: bitmap, done, end }, pause);
  }
  for (let from = end; from < documents.count;) {
    const to = documents.count;
    yield* scoreListed(liveDocuments(from, to, source, allowedNow()), source, top, pause);
    from = to;
  }
  return top.take();
}

/** Breaks of a search; the one after which documents have new numbers ends it by {@link Renumbered}. */
export function pauseOf(source: Pick<SearchedPostings, 'numbering'>): () => Generator<undefined, void> {
  const numbering = source.numbering();
  return function* () {
    yield;
    if (source.numbering() !== numbering) throw new Renumbered();
  };
}

/** The parts' cursors, made again if the index has changed: those are then at the start of their lists. */
class Cursors {
  private revision = NaN;
  private cursors: PostingCursor[] = [];

  constructor(
    private readonly source: SearchedPostings,
    /** Parts of a lower rank are left out. */
    private readonly rank: number,
  ) {}

  get isOutdated(): boolean {
    return this.revision !== this.source.revision();
  }

  get current(): PostingCursor[] {
    if (!this.isOutdated) return this.cursors;
    const parts = this.source.parts().filter(({ rank }) => rank >= this.rank);
    this.cursors = parts.map((part) => cursorOf(part, this.source));
    this.revision = this.source.revision();
    return this.cursors;
  }
}

function cursorOf({ terms, weight }: SearchedPart, { documents, lists, norm }: SearchedPostings): PostingCursor {
  return new PostingCursor({ lists, norm, documentCount: documents.count }, terms, weight);
}

/** The live, allowed documents that hold any of the parts, some of them repeatedly. */
function documentsOf(
  parts: readonly SearchedPart[],
  { documents, lists }: SearchedPostings,
  allowed: SlotSet | null,
): Uint32Array {
  const { lengths, slots } = documents;
  const found: number[] = [];
  for (let at = 0; at < parts.length; at++) {
    const { terms } = parts[at];
    for (let i = 0; i < terms.length; i++) {
      const view = lists.view(terms[i].term);
      for (let place = view.start; place < view.end; place++) {
        const document = view.documents[place];
        if (lengths[document] > 0 && (allowed === null || allowed.has(slots[document]))) found.push(document);
      }
    }
  }
  return Uint32Array.from(found);
}

function liveDocuments(
  from: number,
  to: number,
  { documents: { lengths, slots } }: SearchedPostings,
  allowed: SlotSet | null,
): Uint32Array {
  const found: number[] = [];
  for (let document = from; document < to; document++) {
    if (lengths[document] > 0 && (allowed === null || allowed.has(slots[document]))) found.push(document);
  }
  return Uint32Array.from(found);
}

/** For few documents: looks each of them up in every list. `listed` is ascending and may contain repetitions. */
function* scoreListed(
  listed: Uint32Array,
  source: SearchedPostings,
  top: TopDocuments,
  pause: () => Generator<undefined, void>,
): Generator<undefined, void> {
  const { documents } = source;
  const known = new Cursors(source, 0);
  let cursors = known.current;
  let listCount = listCountOf(cursors, cursors.length);
  let previous = NO_DOCUMENT;
  let lookUps = 0;
  for (const document of listed) {
    if (document === NO_DOCUMENT) break;
    if (document === previous) continue;
    previous = document;
    if (lookUps >= LOOK_UPS_AT_ONCE) {
      yield* pause();
      cursors = known.current;
      listCount = listCountOf(cursors, cursors.length);
      lookUps = 0;
    }
    const length = documents.lengths[document];
    if (length === 0) continue;
    let score = 0;
    for (const cursor of cursors) score += cursor.scoreOf(document, length);
    if (score > 0) top.add(document, score);
    lookUps += listCount;
  }
}

/**
 * Scores all documents that hold any of the parts from `rank` on and are not done, as far as they may be among the
 * best.
 */
function* scoreWindows(
  rank: number,
  source: SearchedPostings,
  wanted: Wanted,
  pause: () => Generator<undefined, void>,
): Generator<undefined, void> {
  const { documents } = source;
  const { top, end } = wanted;
  const known = new Cursors(source, rank);
  let cursors = known.current;
  let judge = new Judge(cursors, documents, wanted);
  let essential = cursors.length;
  /** Documents before this one are scored. */
  let from = 0;
  for (;;) {
    if (known.isOutdated) {
      cursors = known.current;
      for (const cursor of cursors) cursor.seek(from);
      judge = new Judge(cursors, documents, wanted);
      essential = cursors.length;
    }
    const { boundFrom } = judge;
    while (essential > 0 && boundFrom[essential - 1] < top.threshold) essential--;
    if (essential === 0) return;
    if (essential === 1) {
      const next = scoreAlone(cursors[0], source, judge, end);
      if (next === NO_DOCUMENT) return;
      from = next;
    } else {
      let next = NO_DOCUMENT;
      for (let i = 0; i < essential; i++) next = Math.min(next, cursors[i].next);
      if (next >= end) return;
      const size = windowSize(listCountOf(cursors, essential));
      const window = { first: next - (next % size), scores: scoresOfWindow, touched: touchedInWindow, touchedCount: 0 };
      from = Math.min(window.first + size, end);
      for (let i = 0; i < essential; i++) while (cursors[i].accumulate(window, from, documents.lengths));
      for (const { document, score } of promising(window, top.threshold, boundFrom[essential])) {
        judge.consider(document, documents.lengths[document], score, essential);
      }
    }
    yield* pause();
  }
}

function listCountOf(cursors: readonly PostingCursor[], count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += cursors[i].listCount;
  return sum;
}

function windowSize(listCount: number): number {
  let size = WINDOW;
  while (size > WINDOW_MIN && size * listCount > WINDOW_POSTINGS_MAX) size /= 2;
  return size;
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

/**
 * Only one part contributes documents: reads some of its list in order, skipping blocks that can't score high enough.
 * Answers the next document, or NO_DOCUMENT when nothing more is to be found.
 */
function scoreAlone(
  cursor: PostingCursor,
  { documents: { lengths } }: SearchedPostings,
  judge: Judge,
  end: number,
): number {
  const bounds = cursor.blockBounds(lengths);
  for (let read = 0; ; read++) {
    if (bounds !== null) cursor.skipBlocks(bounds, judge.leastOf(1));
    const document = cursor.next;
    if (document >= end || judge.isOver) return NO_DOCUMENT;
    if (read === ALONE_AT_ONCE) return document;
    const length = lengths[document];
    judge.consider(document, length, length === 0 ? 0 : cursor.score(length), 1);
    cursor.advance();
  }
}

/**
 * Decides about documents that some parts have scored, and completes the scores of those that may be among the best.
 */
class Judge {
  /** By part: the most that it and those after it can add together. */
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

  /** The least score that a document needs from the parts before `from` to be among the best. */
  leastOf(from: number): number {
    return this.wanted.top.threshold - this.boundFrom[from];
  }

  /**
   * Takes a document with its score from the parts before `from`. Documents must ascend, unless `from` is behind the
   * last part.
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
    // As placeInDocuments, a call of which makes searches a tenth slower: the compiler then leaves others as calls.
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (done[middle] < document) low = middle + 1;
      else high = middle;
    }
    return low < done.length && done[low] === document;
  }
}
