import type { SlotSet } from '../slots/slot-set';
import { NO_DOCUMENT } from './document-table';
import { type KeywordWish, pauseOf, untilNumbered } from './keyword-search';
import { LONG_FREQUENCY, placeInDocuments, type PostingView } from './posting-view';
import type { SearchedUnit, SearchedUnits } from './searched-units';
import { TopDocuments } from './top-documents';
import { UnionReader } from './union-reader';
import { documentsOf, LeadingCandidates, leadingLists, ListedCandidates } from './unit-candidates';
import { lookUpSome, type WantedSlots } from './unit-lookup';
import { withMeanings } from './unit-meanings';
import { UnitReader } from './unit-reader';

/** Documents per pass over the accumulators, which fit into the second-level cache. */
const WINDOW = 1 << 14;
/** Postings before a break: a few milliseconds. */
const POSTINGS_AT_ONCE = 1 << 19;
/** The cost of a posting that is read in order, and of an allowed slot, relative to a step of a look-up (measured). */
const READ_COST = 2;
const LIST_COST = 4;

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

/**
 * The best documents that have units of a plan, in steps of a few milliseconds. Where it is less work, the units are
 * looked up in the documents that may be wanted: those that are allowed, or those of the rarest units, of which a
 * document can't lack all. Else all postings of all terms are read, one window of documents after the other. A score is
 * the sum over the units in their order, so of units of one term each it is that of searchPostings to the last digit.
 * As there, what went meanwhile may still be in the answer.
 */
export function searchUnits(
  source: SearchedUnits,
  wish: KeywordWish,
): Generator<undefined, { documents: Uint32Array; scores: Float64Array }> {
  return untilNumbered(() => searchNumbered(source, wish));
}

function* searchNumbered(
  given: SearchedUnits,
  { k, allowed: allowedNow, nameOf }: KeywordWish,
): Generator<undefined, { documents: Uint32Array; scores: Float64Array }> {
  const { documents } = given;
  const pause = pauseOf(given);
  const source = yield* withMeanings(given, pause);
  const top = new TopDocuments(k, documents.liveCount, nameOf);
  for (let from = 0, until = 0; until < documents.count;) {
    until = documents.count;
    const wanted = { allowed: allowedNow(), units: source.units.map((unit) => unit.allowed()) };
    const readersNow = (): UnitReader[] => source.units.map((unit) => new UnitReader(unit, source));
    const way = chosenWay(readersNow(), wanted.allowed, source.minimum);
    const listed = way === 'allowed' ? documentsOf(wanted.allowed!, documents, from, until) : null;
    while (from < until) {
      if (way === 'all') from = readSome(source, { from, until }, wanted, top);
      else {
        const readers = readersNow();
        const candidates =
          listed === null
            ? new LeadingCandidates(leadingLists(readers, source.minimum)!, from, until)
            : new ListedCandidates(listed, from);
        from = Math.min(until, lookUpSome(source, readers, wanted, candidates, top));
      }
      // Not at the end: a search beside a fast writer would have no end.
      if (from < until) yield* pause();
    }
  }
  return top.take();
}

/** Where the documents are looked for. */
function chosenWay(
  units: readonly UnitReader[],
  allowed: SlotSet | null,
  minimum: number,
): 'all' | 'allowed' | 'leading' {
  const lengths = units.flatMap((unit) => unit.lengths);
  const all = lengths.reduce((sum, length) => sum + length, 0);
  const leading = leadingLists(units, minimum)?.reduce((sum, { left }) => sum + left, 0) ?? Infinity;
  const ofLeading = lookUpCost(leading, lengths);
  const ofAllowed = allowed === null ? Infinity : LIST_COST * allowed.size + lookUpCost(allowed.size, lengths);
  if (Math.min(ofLeading, ofAllowed) >= READ_COST * all) return 'all';
  return ofLeading <= ofAllowed ? 'leading' : 'allowed';
}

/** What it costs to look up so many ascending documents in lists: the longer a list, the longer its jumps. */
function lookUpCost(documents: number, lengths: readonly number[]): number {
  if (documents === 0 || documents === Infinity) return documents;
  return lengths.reduce((sum, length) => sum + documents * (1 + Math.log2(1 + length / documents)), 0);
}

/** Reads all postings in windows until there is time for a break; answers from which document on the others are. */
function readSome(
  source: SearchedUnits,
  { from: begin, until }: { from: number; until: number },
  wanted: WantedSlots,
  top: TopDocuments,
): number {
  const units = source.units.map((unit) => readOf(unit, source));
  let from = begin;
  for (let postings = 0; postings < POSTINGS_AT_ONCE && from < until;) {
    const next = nextDocument(units, from);
    if (next >= until) return until;
    const first = next - (next % WINDOW);
    from = Math.min(first + WINDOW, until);
    const window = { first, from: next, to: from };
    let touchedCount = 0;
    for (const [i, unit] of units.entries()) {
      const count = unit.union === null ? readAll(unit.views, window, source) : readAny(unit.union, window);
      touchedCount = score(source.units[i], count, wanted.units[i], window, source, touchedCount);
      // Of a union, those of a document count as one.
      postings += count + unit.views.reduce((sum, list) => sum + lowerBound(list, from) - lowerBound(list, next), 0);
    }
    collect(window, touchedCount, source, wanted.allowed, top);
  }
  return from;
}

/** Documents from `from` on and before `to`, of those whose places begin at `first`. */
interface Window {
  first: number;
  from: number;
  to: number;
}

/** How a unit is read: by its lists, of which a document must be in all, or as the union of them. */
interface UnitRead {
  views: TermView[];
  union: UnionReader | null;
}

interface TermView extends PostingView {
  term: number;
}

function readOf({ terms, isAnyEnough, lists: meanings }: SearchedUnit, { lists, documents }: SearchedUnits): UnitRead {
  return isAnyEnough
    ? { views: [], union: new UnionReader(lists, terms(), documents.count, meanings) }
    : { views: terms().map(({ term }) => ({ ...lists.view(term), term })), union: null };
}

/** The next document in any list; without one, Infinity. */
function nextDocument(units: readonly UnitRead[], from: number): number {
  let next = Infinity;
  for (const { views, union } of units) {
    union?.seek(from);
    if (union !== null && union.next !== NO_DOCUMENT) next = Math.min(next, union.next);
    for (const list of views) {
      const at = lowerBound(list, from);
      if (at < list.end) next = Math.min(next, list.documents[at]);
    }
  }
  return next;
}

/** The place of the first posting that is not before a document. */
function lowerBound({ documents, start, end }: PostingView, document: number): number {
  return placeInDocuments(documents, document, start, end);
}

/** Lists the documents of a window that are in a union, with their frequencies; answers how many. */
function readAny(union: UnionReader, { first, to }: Window): number {
  let count = 0;
  for (let document = union.next; document < to; document = union.next) {
    ofUnit[count++] = document;
    frequencies[document - first] = union.frequency;
    union.advance();
  }
  return count;
}

/** The same of those that are in all lists. */
function readAll(views: readonly TermView[], { first, from, to }: Window, { lists }: SearchedUnits): number {
  let count = 0;
  for (const [i, view] of views.entries()) {
    for (let at = lowerBound(view, from); at < view.end; at++) {
      const document = view.documents[at];
      if (document >= to) break;
      const place = document - first;
      if (found[place] !== i) continue;
      let frequency = view.frequencies[at];
      if (frequency === LONG_FREQUENCY) frequency = lists.longFrequency(view.term, document);
      if (i === 0) ofUnit[count++] = document;
      frequencies[place] = i === 0 ? frequency : Math.min(frequencies[place], frequency);
      found[place] = i + 1;
    }
  }
  let whole = 0;
  for (let i = 0; i < count; i++) {
    const document = ofUnit[i];
    if (found[document - first] === views.length) ofUnit[whole++] = document;
    found[document - first] = 0;
  }
  return whole;
}

/** Adds the scores of a unit to those of the window; answers how many documents are touched then. */
function score(
  { weight, isOptional }: SearchedUnit,
  count: number,
  allowed: SlotSet | null,
  { first }: Window,
  { documents: { lengths, slots }, norm: { base, slope } }: SearchedUnits,
  touchedBefore: number,
): number {
  let touchedCount = touchedBefore;
  for (let i = 0; i < count; i++) {
    const document = ofUnit[i];
    const place = document - first;
    if (lengths[document] === 0 || (allowed !== null && !allowed.has(slots[document]))) continue;
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
