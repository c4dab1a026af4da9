import { EditWalk } from '../../../shared/base/text/edit-walk';
import { BEHIND_MARKS, markIn } from '../../../shared/base/text/term-mark';
import type { ExpansionRequest, Expansions } from '../../../shared/contract/shard/keyword-expansion';
import type { TermDictionary } from './term-dictionary';

/** Terms that are sorted, or looked at, in one step: a part of a millisecond, or a few. */
const SORTED_PER_STEP = 1 << 12;
const MERGED_PER_STEP = 1 << 16;
const LOOKED_AT_PER_STEP = 1 << 13;
/** Terms that came since, which are looked at one by one; more are put into the order. */
const FRESH_MAX = 1_024;

/**
 * The terms of an index in the order of their code units, to find those that begin with a word or are near to one. It
 * is made when it is first asked, in steps, and kept up with what comes: 8 bytes for each term. Terms that went stay in
 * it, and are passed over, until it is dropped.
 */
export class SortedTerms {
  private sorted: string[] | null = null;
  /** How many make it at present. */
  private making = 0;

  constructor(private readonly dictionary: TermDictionary) {}

  /** Lets go of it; the next question makes it again. */
  drop(): void {
    if (this.making > 0) return;
    this.sorted = null;
    this.dictionary.forgetFresh();
  }

  get memoryBytes(): number {
    return (this.sorted?.length ?? 0) * 8;
  }

  *find(request: ExpansionRequest): Generator<undefined, Expansions> {
    const sorted = yield* this.upToDate();
    const fresh = this.dictionary.fresh ?? [];
    const { limit, after } = request;
    const found = yield* request.by === 'prefix'
      ? withPrefix(sorted, request, this.frequencyOf)
      : nearTo(sorted, request, request.by, this.frequencyOf);
    const isCut = found.length === limit;
    const last = isCut ? found[limit - 1] : null;
    const fits = testOf(request);
    const added = fresh.filter(
      (term) => term > after && (last === null || term < last) && fits(term) && this.frequencyOf(term) > 0,
    );
    const terms = added.length === 0 ? found : [...new Set([...found, ...added])].sort(byCodeUnits).slice(0, limit);
    const frequencies: number[] = [];
    for (let i = 0; i < terms.length; i++) {
      if (i % LOOKED_AT_PER_STEP === LOOKED_AT_PER_STEP - 1) yield;
      frequencies.push(this.frequencyOf(terms[i]));
    }
    return { terms, frequencies };
  }

  private readonly frequencyOf = (text: string): number => {
    const term = this.dictionary.find(text);
    return term === undefined ? 0 : this.dictionary.documentFrequencies[term];
  };

  /** The order, with most of what came since. */
  private *upToDate(): Generator<undefined, string[]> {
    const { sorted, dictionary } = this;
    const { fresh } = dictionary;
    // Of a long one, most may have gone.
    if (sorted === null || fresh === null || sorted.length > 2 * dictionary.count + FRESH_MAX) {
      this.sorted = null;
      return yield* this.make();
    }
    const count = fresh.length;
    if (count <= FRESH_MAX) return sorted;
    const merged = yield* mergedRuns(sorted, [...new Set(fresh)].sort(byCodeUnits));
    if (this.sorted !== sorted || dictionary.fresh !== fresh) return yield* this.upToDate();
    dictionary.fresh = fresh.slice(count);
    return (this.sorted = merged);
  }

  private *make(): Generator<undefined, string[]> {
    const { dictionary } = this;
    this.making += 1;
    try {
      // What comes from here on is noted.
      if (dictionary.fresh === null) dictionary.keepFresh();
      let runs: string[][] = [];
      for (let from = 0; from < dictionary.count; from += SORTED_PER_STEP) {
        const run: string[] = [];
        for (let term = from; term < Math.min(from + SORTED_PER_STEP, dictionary.count); term++) {
          const text = dictionary.text(term);
          if (text !== undefined) run.push(text);
        }
        runs.push(run.sort(byCodeUnits));
        yield;
      }
      while (runs.length > 1) {
        const merged: string[][] = [];
        for (let i = 0; i < runs.length; i += 2)
          merged.push(i + 1 < runs.length ? yield* mergedRuns(runs[i], runs[i + 1]) : runs[i]);
        runs = merged;
      }
      // Another question may have made it meanwhile.
      return (this.sorted ??= runs[0] ?? []);
    } finally {
      this.making -= 1;
    }
  }
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function* mergedRuns(a: readonly string[], b: readonly string[]): Generator<undefined, string[]> {
  const merged: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (merged.length % MERGED_PER_STEP === MERGED_PER_STEP - 1) yield;
    const isFirst = j === b.length || (i < a.length && a[i] <= b[j]);
    const next = isFirst ? a[i++] : b[j++];
    // A number may have passed from one term to another meanwhile, and back.
    if (merged.length === 0 || merged[merged.length - 1] !== next) merged.push(next);
  }
  return merged;
}

/** The place of the first term that is not before `text`, or with `isBehind` the first one behind it. */
function placeOf(sorted: readonly string[], text: string, isBehind: boolean, from = 0): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < text || (isBehind && sorted[middle] === text)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function* withPrefix(
  sorted: readonly string[],
  { term, after, limit }: ExpansionRequest,
  frequencyOf: (text: string) => number,
): Generator<undefined, string[]> {
  const found: string[] = [];
  let looked = 0;
  for (let at = after < term ? placeOf(sorted, term, false) : placeOf(sorted, after, true); at < sorted.length; at++) {
    if (!sorted[at].startsWith(term)) break;
    if (frequencyOf(sorted[at]) > 0 && found.push(sorted[at]) === limit) break;
    if (++looked % LOOKED_AT_PER_STEP === 0) yield;
  }
  return found;
}

function* nearTo(
  sorted: readonly string[],
  { term, after, limit }: ExpansionRequest,
  edits: number,
  frequencyOf: (text: string) => number,
): Generator<undefined, string[]> {
  const walk = new EditWalk(term, edits);
  const found: string[] = [];
  let looked = 0;
  // Those of another analyser are not near, however much they look alike.
  const mark = markIn(term);
  const first = mark === '' ? BEHIND_MARKS : mark;
  for (let at = after < first ? placeOf(sorted, first, false) : placeOf(sorted, after, true); at < sorted.length;) {
    const text = sorted[at];
    if (!text.startsWith(mark)) break;
    const distance = walk.distanceTo(text);
    if (++looked % LOOKED_AT_PER_STEP === 0) yield;
    if (distance >= 0) {
      if (frequencyOf(text) > 0 && found.push(text) === limit) break;
      at += 1;
    } else at = -distance > text.length ? at + 1 : behindPrefix(sorted, at, text.slice(0, -distance));
  }
  return found;
}

/** The place of the first term behind `at` that does not begin so: by doubling steps, then by bisection. */
function behindPrefix(sorted: readonly string[], at: number, prefix: string): number {
  let step = 1;
  while (at + step < sorted.length && sorted[at + step].startsWith(prefix)) step *= 2;
  let low = at + (step >>> 1);
  let high = Math.min(at + step, sorted.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle].startsWith(prefix)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether a term is one of those that are asked for. */
function testOf({ term, by }: ExpansionRequest): (text: string) => boolean {
  if (by === 'prefix') return (text) => text.startsWith(term);
  return (text) =>
    Math.abs(text.length - term.length) <= by &&
    markIn(text) === markIn(term) &&
    new EditWalk(term, by).distanceTo(text) >= 0;
}
