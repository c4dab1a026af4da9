import type { SlotSet } from '../slots/slot-set';
import { type KeywordWish, pauseOf, untilNumbered } from './keyword-search';
import type { PostingLists } from './posting-lists';
import { LONG_FREQUENCY, type PostingView } from './posting-view';
import type { SearchedUnit, SearchedUnits, UnitTerm } from './searched-units';
import { TopDocuments } from './top-documents';
import { documentsOf, LeadingCandidates, leadingLists, ListedCandidates } from './unit-candidates';
import { lookUpSome, type WantedSlots } from './unit-lookup';
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
  source: SearchedUnits,
  { k, allowed: allowedNow, nameOf }: KeywordWish,
): Generator<undefined, { documents: Uint32Array; scores: Float64Array }> {
  const { documents, lists, norm } = source;
  const pause = pauseOf(source);
  const top = new TopDocuments(k, documents.liveCount, nameOf);
  for (let from = 0, until = 0; until < documents.count;) {
    until = documents.count;
    const wanted = { allowed: allowedNow(), units: source.units.map((unit) => unit.allowed()) };
    const readersNow = (): UnitReader[] => source.units.map((unit) => new UnitReader(unit, lists, norm));
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
  const views = source.units.map((unit) => viewsOf(unit, source.lists));
  let from = begin;
  for (let postings = 0; postings < POSTINGS_AT_ONCE && from < until;) {
    const next = nextDocument(views, from);
    if (next >= until) return until;
    const first = next - (next % WINDOW);
    from = Math.min(first + WINDOW, until);
    const window = { first, from: next, to: from };
    let touchedCount = 0;
    for (const [i, unit] of source.units.entries())
      touchedCount = scoreUnit(unit, views[i], wanted.units[i], window, source, touchedCount);
    collect(window, touchedCount, source, wanted.allowed, top);
    for (const lists of views) for (const list of lists) postings += lowerBound(list, from) - lowerBound(list, next);
  }
  return from;
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
