import { NO_DOCUMENT } from './document-table';
import { leastFrequencyIn, PostingReader } from './posting-reader';
import { LONG_FREQUENCY } from './posting-view';
import type { MeaningList, SearchedMeaning, SearchedUnit, SearchedUnits } from './searched-units';
import { documentsOf } from './unit-candidates';

/** Documents that are looked at before a break: a few milliseconds. */
const DOCUMENTS_AT_ONCE = 1 << 14;

/** The units with the lists of their meanings of several terms. What is put meanwhile may be missing in them. */
export function* withMeanings(
  source: SearchedUnits,
  pause: () => Generator<undefined, void>,
): Generator<undefined, SearchedUnits> {
  if (source.units.every(({ meanings }) => meanings.length === 0)) return source;
  const units: SearchedUnit[] = [];
  for (const unit of source.units) {
    const lists: MeaningList[] = [];
    for (const meaning of unit.meanings) lists.push(yield* listOf(meaning, source, pause));
    units.push(lists.length === 0 ? unit : { ...unit, lists });
  }
  return { ...source, units };
}

function* listOf(
  meaning: SearchedMeaning,
  { documents, lists }: SearchedUnits,
  pause: () => Generator<undefined, void>,
): Generator<undefined, MeaningList> {
  const found: number[] = [];
  const frequencies: number[] = [];
  const allowed = meaning.allowed();
  const listed = allowed === null ? null : documentsOf(allowed, documents, 0, documents.count);
  for (let from = 0; from !== NO_DOCUMENT;) {
    // They are valid until the next break.
    const readers = meaning.terms()?.map((term) => new PostingReader(lists, term));
    if (readers === undefined) break;
    readers.sort((a, b) => a.left - b.left);
    from =
      listed === null
        ? takeLeading(readers, from, found, frequencies)
        : takeListed(readers, listed, from, found, frequencies);
    if (from !== NO_DOCUMENT) yield* pause();
  }
  const long = new Map<number, number>();
  found.forEach((document, i) => {
    if (frequencies[i] >= LONG_FREQUENCY) long.set(document, frequencies[i]);
  });
  return {
    documents: Uint32Array.from(found),
    frequencies: Uint8Array.from(frequencies, (frequency) => Math.min(frequency, LONG_FREQUENCY)),
    long,
  };
}

/** Takes documents that are in all lists; answers from which one on to go on. */
function takeLeading(readers: readonly PostingReader[], from: number, found: number[], frequencies: number[]): number {
  const [first] = readers;
  first.seek(from);
  for (let looked = 0; first.next !== NO_DOCUMENT; looked += 1) {
    if (looked === DOCUMENTS_AT_ONCE) return first.next;
    take(readers, first.next, found, frequencies);
    first.advance();
  }
  return NO_DOCUMENT;
}

/** The same of listed ones; `from` is a place in the list. */
function takeListed(
  readers: readonly PostingReader[],
  listed: Uint32Array,
  from: number,
  found: number[],
  frequencies: number[],
): number {
  const to = Math.min(listed.length, from + DOCUMENTS_AT_ONCE);
  for (let at = from; at < to; at++) take(readers, listed[at], found, frequencies);
  return to === listed.length ? NO_DOCUMENT : to;
}

function take(readers: readonly PostingReader[], document: number, found: number[], frequencies: number[]): void {
  const least = leastFrequencyIn(readers, document);
  if (least === 0) return;
  found.push(document);
  frequencies.push(least);
}
