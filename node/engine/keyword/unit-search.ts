import type { SlotSet } from '../slots/slot-set';
import type { LengthNorm } from './bm25';
import type { DocumentTable } from './document-table';
import { type KeywordWish, pauseOf, untilNumbered } from './keyword-search';
import type { PostingLists } from './posting-lists';
import { LONG_FREQUENCY, type PostingView } from './posting-view';
import { TopDocuments } from './top-documents';

/** Documents per pass over the accumulators, which fit into the second-level cache. */
const WINDOW = 1 << 14;
/** Postings before a break: a few milliseconds. */
const POSTINGS_AT_ONCE = 1 << 19;

/** May be shared by all searches: none has a break while it uses them. */
const scores = new Float64Array(WINDOW);
/** By place: optional units that the document has. */
const counts = new Uint16Array(WINDOW);
const isTouched = new Uint8Array(WINDOW);
const touched = new Uint32Array(WINDOW);
/** Of one unit: its frequency, and how many of its terms are there. */
const frequencies = new Float64Array(WINDOW);
const found = new Uint16Array(WINDOW);
const ofUnit = new Uint32Array(WINDOW);

/** `factor`: as how many a time counts. */
export interface UnitTerm {
  term: number;
  factor: number;
}

/** A unit of a keyword plan as it is searched. */
export interface SearchedUnit {
  /** The terms at present; without any, no document has the unit. */
  terms: () => UnitTerm[];
  /** Of a document; else it must have all of them. */
  isAnyEnough: boolean;
  /** idf · (k1 + 1). */
  weight: number;
  isOptional: boolean;
  /** The slots that may have it, as they are now; null: all. */
  allowed: () => SlotSet | null;
}

/** What is searched. It may change during the breaks of a search. */
export interface SearchedUnits {
  readonly documents: DocumentTable;
  readonly lists: PostingLists;
  readonly norm: LengthNorm;
  /** In the order in which scores are summed. */
  readonly units: readonly SearchedUnit[];
  /** How many of the optional units a document has at least. */
  readonly minimum: number;
  /** See SearchedPostings. */
  numbering(): number;
}

/**
 * The best documents that have units of a plan, in steps of a few milliseconds: all postings of all terms are read, one
 * window of documents after the other. A score is the sum over the units in their order, so of units of one term each
 * it is that of searchPostings to the last digit. As there, what went meanwhile may still be in the answer.
 */
export function searchUnits(
  source: SearchedUnits,
  wish: KeywordWish,
): Generator<undefined, { documents: Uint32Array; scores: Float64Array }> {
  return untilNumbered(() => searchNumbered(source, wish));
}

function* searchNumbered(
  source: SearchedUnits,
  { k, allowed: allowedNow, nameOf }: KeywordWish,
): Generator<undefined, { documents: Uint32Array; scores: Float64Array }> {
  const { documents } = source;
  const pause = pauseOf(source);
  const top = new TopDocuments(k, documents.liveCount, nameOf);
  for (let from = 0, until = 0; until < documents.count;) {
    until = documents.count;
    const allowed = allowedNow();
    const unitSlots = source.units.map((unit) => unit.allowed());
    let postings = 0;
    while (from < until) {
      const views = source.units.map((unit) => viewsOf(unit, source.lists));
      const next = nextDocument(views, from);
      if (next >= until) break;
      const first = next - (next % WINDOW);
      from = Math.min(first + WINDOW, until);
      const window = { first, from: next, to: from };
      let touchedCount = 0;
      for (const [i, unit] of source.units.entries())
        touchedCount = scoreUnit(unit, views[i], unitSlots[i], window, source, touchedCount);
      collect(window, touchedCount, source, allowed, top);
      for (const lists of views) for (const list of lists) postings += lowerBound(list, from) - lowerBound(list, next);
      if (postings < POSTINGS_AT_ONCE) continue;
      postings = 0;
      yield* pause();
    }
    from = until;
    yield* pause();
  }
  return top.take();
}

/** Documents from `from` on and before `to`, of those whose places begin at `first`. */
interface Window {
  first: number;
  from: number;
  to: number;
}

function viewsOf({ terms }: SearchedUnit, lists: PostingLists): TermView[] {
  return terms().map(({ term, factor }) => ({ ...lists.view(term), term, factor }));
}

interface TermView extends PostingView, UnitTerm {}

/** The next document in any list; without one, Infinity. */
function nextDocument(views: readonly TermView[][], from: number): number {
  let next = Infinity;
  for (const lists of views)
    for (const list of lists) {
      const at = lowerBound(list, from);
      if (at < list.end) next = Math.min(next, list.documents[at]);
    }
  return next;
}

/** The place of the first posting that is not before a document. */
function lowerBound({ documents, start, end }: PostingView, document: number): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (documents[middle] < document) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Adds the scores of a unit to those of the window; answers how many documents are touched then. */
function scoreUnit(
  { weight, isOptional, isAnyEnough }: SearchedUnit,
  views: readonly TermView[],
  allowed: SlotSet | null,
  window: Window,
  { documents: { lengths, slots }, lists, norm: { base, slope } }: SearchedUnits,
  touchedBefore: number,
): number {
  let touchedCount = touchedBefore;
  let count = 0;
  for (const [i, view] of views.entries()) {
    for (let at = lowerBound(view, window.from); at < view.end; at++) {
      const document = view.documents[at];
      if (document >= window.to) break;
      const place = document - window.first;
      const known = found[place];
      if (known !== i && !isAnyEnough) continue;
      let frequency = view.frequencies[at];
      if (frequency === LONG_FREQUENCY) frequency = lists.longFrequency(view.term, document);
      if (known === 0) {
        ofUnit[count++] = document;
        frequencies[place] = view.factor * frequency;
      } else if (isAnyEnough) frequencies[place] += view.factor * frequency;
      else frequencies[place] = Math.min(frequencies[place], frequency);
      found[place] = known + 1;
    }
  }
  for (let i = 0; i < count; i++) {
    const document = ofUnit[i];
    const place = document - window.first;
    const isWhole = isAnyEnough || found[place] === views.length;
    found[place] = 0;
    if (!isWhole || lengths[document] === 0 || (allowed !== null && !allowed.has(slots[document]))) continue;
    if (isTouched[place] === 0) {
      isTouched[place] = 1;
      touched[touchedCount++] = document;
    }
    const frequency = frequencies[place];
    scores[place] += (weight * frequency) / (frequency + (base + slope * lengths[document]));
    if (isOptional) counts[place] += 1;
  }
  return touchedCount;
}

/** Takes the documents of a window that have enough, and clears it. */
function collect(
  { first }: Window,
  touchedCount: number,
  { documents: { slots }, minimum }: SearchedUnits,
  allowed: SlotSet | null,
  top: TopDocuments,
): void {
  for (let i = 0; i < touchedCount; i++) {
    const document = touched[i];
    const place = document - first;
    const score = scores[place];
    const isEnough = counts[place] >= minimum;
    scores[place] = 0;
    counts[place] = 0;
    isTouched[place] = 0;
    if (isEnough && (allowed === null || allowed.has(slots[document]))) top.add(document, score);
  }
}
