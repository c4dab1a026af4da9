import { cutAt } from '../character-cut';
import type { Analyser } from '../../../shared/base/text/analyser';
import { orderedText, type Phrase, termsInPhrase } from '../../../shared/base/text/phrase';
import type { PlacedTerm } from '../../../shared/base/text/placed-terms';

/** A part of a text, and where its words are that a search looked for. */
export interface TextFragment {
  /** UTF-16 code units of the text, as the spans; `end` is the first behind it. */
  start: number;
  end: number;
  /** In order and apart. */
  spans: [start: number, end: number][];
  /** How many different terms are whole in it. */
  distinct: number;
}

/** What is looked for in texts. */
export interface SoughtTerms {
  analyser: Analyser;
  /** Terms of the analyser, however they were found out: those of a query, or what stands for these in an index. */
  terms: Set<string>;
  /** The terms of these are looked for only where they stand together. */
  phrases: readonly Phrase[];
}

/** What gets terms as shards have them. */
export interface NotedTerms {
  add(term: string): unknown;
}

/** Matches that are looked at in one step. */
const STEP_MATCHES = 1024;

/** A term that is looked for, by its number among these, and its place in the text. */
interface Match {
  term: number;
  start: number;
  end: number;
}

/** Some matches that follow each other, among which the best window is the next fragment. */
interface Stretch {
  /** The first match, and the first behind them. */
  from: number;
  to: number;
  /** The part of the text that is free. */
  start: number;
  end: number;
  window: Window;
}

/** All matches of a text, how many terms are looked for, and how much fits into a fragment. */
interface Found {
  matches: readonly Match[];
  termCount: number;
  size: number;
}

/** Matches that fit into a fragment, and how good they are together. */
interface Window {
  first: number;
  last: number;
  distinct: number;
}

/**
 * Up to `count` fragments of a text, best first, which have up to `size` code units and don't overlap: those with the
 * most different terms, then the most, then the first. They begin and end at words; a longer word is cut. A text that
 * is no longer is one fragment. There is none without a term.
 */
export function* textFragments(
  text: string,
  sought: SoughtTerms,
  { count, size }: { count: number; size: number },
): Generator<undefined, TextFragment[]> {
  const words = new WordPlaces();
  const { matches, termCount } = yield* matchesOf(text, sought, words);
  const fragments: TextFragment[] = [];
  const found = { matches, termCount, size };
  const stretches = yield* stretchOf({ from: 0, to: matches.length, start: 0, end: text.length }, found);
  while (stretches.length > 0 && fragments.length < count) {
    const best = stretches.reduce((a, b) => (compareWindows(b.window, a.window) < 0 ? b : a));
    stretches.splice(stretches.indexOf(best), 1);
    const [start, end] = boundsOf(text, matches, best, words, size);
    let left = best.window.first;
    while (left > best.from && matches[left - 1].end > start) left -= 1;
    let right = best.window.last + 1;
    while (right < best.to && matches[right].start < end) right += 1;
    fragments.push(fragmentOf(matches, left, right, start, end));
    stretches.push(
      ...(yield* stretchOf({ from: best.from, to: left, start: best.start, end: start }, found)),
      ...(yield* stretchOf({ from: right, to: best.to, start: end, end: best.end }, found)),
    );
  }
  return fragments;
}

/** What is looked for in a text, in order, and how many different terms that may be. */
function* matchesOf(
  text: string,
  { analyser, terms, phrases }: SoughtTerms,
  words: WordPlaces,
): Generator<undefined, Pick<Found, 'matches' | 'termCount'>> {
  const matches: Match[] = [];
  const numbers = new Map<string, number>();
  for (const term of terms) numbers.set(term, numbers.size);
  const ofPhrases = new Set(phrases.flatMap((phrase) => phrase.terms.filter((term) => !terms.has(term))));
  for (const term of ofPhrases) numbers.set(term, numbers.size);
  const placed: PlacedTerm[] = [];
  for (const part of analyser.placedParts(text)) {
    for (const one of part) {
      const { term, start, end } = one;
      words.add(start, end);
      const number = terms.has(term) ? numbers.get(term) : undefined;
      if (number !== undefined) matches.push({ term: number, start, end });
      if (ofPhrases.size > 0) placed.push(one);
    }
    yield;
  }
  if (ofPhrases.size > 0) {
    const ordered = orderedText(placed);
    yield;
    for (const phrase of phrases) {
      for (const { term, start, end } of yield* termsInPhrase(phrase, ordered))
        if (ofPhrases.has(term)) matches.push({ term: numbers.get(term)!, start, end });
      yield;
    }
  }
  // Pairs of characters begin before the character that they were found with.
  matches.sort((a, b) => a.start - b.start || a.end - b.end);
  yield;
  return { matches, termCount: numbers.size };
}

/** A stretch with its window; none without a match. */
function* stretchOf(stretch: Omit<Stretch, 'window'>, found: Found): Generator<undefined, Stretch[]> {
  const { from, to } = stretch;
  return from >= to ? [] : [{ ...stretch, window: yield* bestWindow(found, from, to) }];
}

/** Where words begin and end, ascending. */
class WordPlaces {
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];

  private lastStart = -1;
  private lastEnd = -1;

  add(start: number, end: number): void {
    if (start > this.lastStart) this.starts.push((this.lastStart = start));
    if (end > this.lastEnd) this.ends.push((this.lastEnd = end));
  }

  /** The first beginning from `place` on. */
  startFrom(place: number): number {
    return this.starts[firstFrom(this.starts, place)] ?? Infinity;
  }

  /** The last end up to `place`. */
  endUpTo(place: number): number {
    return this.ends[firstFrom(this.ends, place + 1) - 1] ?? 0;
  }
}

/** The place of the first number that is `least` or more. */
function firstFrom(ascending: readonly number[], least: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Less than 0: `a` is better. */
function compareWindows(a: Window, b: Window): number {
  return b.distinct - a.distinct || b.last - b.first - (a.last - a.first) || a.first - b.first;
}

/** The best window of some matches. */
function* bestWindow({ matches, termCount, size }: Found, from: number, to: number): Generator<undefined, Window> {
  const counts = new Int32Array(termCount);
  let distinct = 0;
  let best: Window | null = null;
  let next = from;
  for (let first = from; first < to; first += 1) {
    while (next < to && (next === first || matches[next].end - matches[first].start <= size)) {
      if (counts[matches[next].term]++ === 0) distinct += 1;
      next += 1;
    }
    const window = { first, last: next - 1, distinct };
    if (best === null || compareWindows(window, best) < 0) best = window;
    if (--counts[matches[first].term] === 0) distinct -= 1;
    if ((first - from) % STEP_MATCHES === STEP_MATCHES - 1) yield;
  }
  return best as Window;
}

/** A window with as many words around it as there is room for, the same on both sides if there are. */
function boundsOf(
  text: string,
  matches: readonly Match[],
  { window, start: free, end: freeEnd }: Stretch,
  words: WordPlaces,
  size: number,
): [start: number, end: number] {
  if (text.length <= size) return [0, text.length];
  const first = matches[window.first].start;
  let behind = first;
  for (let i = window.first; i <= window.last; i += 1) behind = Math.max(behind, matches[i].end);
  const room = size - (behind - first);
  if (room < 0) return [first, cutAt(text, first + size)];
  const from = Math.max(free, Math.min(first - Math.floor(room / 2), freeEnd - size));
  const start = Math.min(first, words.startFrom(from));
  const limit = Math.min(freeEnd, start + size);
  const end = Math.max(behind, words.endUpTo(limit));
  return [start, withStops(text, end, limit, words.startFrom(end))];
}

/** `end`, behind the stops and brackets that follow a word, but not those that join it to the next. */
function withStops(text: string, end: number, limit: number, nextWord: number): number {
  let behind = end;
  while (behind < Math.min(limit, nextWord) && !/\s/.test(text[behind])) behind += 1;
  return behind === nextWord ? end : cutAt(text, behind);
}

function fragmentOf(matches: readonly Match[], from: number, to: number, start: number, end: number): TextFragment {
  const spans: [number, number][] = [];
  const met = new Set<number>();
  for (const match of matches.slice(from, to)) {
    if (match.start < start || match.start >= end) continue;
    const [first, behind] = [match.start, Math.min(match.end, end)];
    if (match.end <= end) met.add(match.term);
    const last = spans.at(-1);
    if (last === undefined || last[1] < first) spans.push([first, behind]);
    else last[1] = Math.max(last[1], behind);
  }
  return { start, end, spans, distinct: met.size };
}
