import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { type DocumentTable, NO_DOCUMENT } from './document-table';
import type { PostingLists } from './posting-lists';
import type { TermDictionary } from './term-dictionary';

/** Whether one of some terms is enough. */
export type TermMatch = 'any' | 'all';

/** What is looked through. It may change between two steps. */
export interface TermSource {
  documents: DocumentTable;
  dictionary: TermDictionary;
  lists: PostingLists;
  /** Another number whenever documents get new numbers. */
  numbering: () => number;
}

/** Postings that are read in one step: a part of a millisecond. */
const POSTINGS_PER_STEP = 1 << 15;
/** To look through the terms of a document takes as long as to read so many postings (some hundred terms, one each). */
const DOCUMENT_COST = 128;
/** Documents that are looked through in one step. */
const DOCUMENTS_PER_STEP = POSTINGS_PER_STEP / DOCUMENT_COST;

/** Whether the text of a slot has one of the distinct terms, or all of them. Without terms, none has. */
export function hasTerms(
  { documents, dictionary }: TermSource,
  slot: number,
  terms: readonly string[],
  match: TermMatch,
): boolean {
  const document = documents.documentOf(slot);
  if (document === NO_DOCUMENT || terms.length === 0) return false;
  const wanted = new Set<number>();
  for (const text of terms) {
    const term = dictionary.find(text);
    if (term !== undefined) wanted.add(term);
    else if (match === 'all') return false;
  }
  let found = 0;
  documents.forEachTerm(document, (term) => {
    if (wanted.has(term)) found += 1;
  });
  return match === 'any' ? found > 0 : found === terms.length;
}

/** The slots of the texts that have them, in steps. A slot that changes between two may be wrong. */
export function* slotsWithTerms(
  source: TermSource,
  terms: readonly string[],
  match: TermMatch,
): Generator<undefined, ChunkedSlotSet> {
  if (terms.length === 0) return new ChunkedSlotSet();
  if (match === 'any') return yield* slotsOfLists(source, terms);
  const rarestFirst = [...terms].sort((a, b) => frequencyOf(source, a) - frequencyOf(source, b));
  let left = yield* slotsOfLists(source, rarestFirst.slice(0, 1));
  for (let i = 1; i < rarestFirst.length && left.size > 0; i++) {
    const rest = rarestFirst.slice(i);
    const postings = rest.reduce((sum, text) => sum + frequencyOf(source, text), 0);
    if (left.size * DOCUMENT_COST < postings) return yield* thoseWith(source, left, rest);
    left = left.and(yield* slotsOfLists(source, [rarestFirst[i]]));
  }
  return left;
}

/** Those of the slots whose texts have all terms. */
function* thoseWith(
  source: TermSource,
  slots: ChunkedSlotSet,
  terms: readonly string[],
): Generator<undefined, ChunkedSlotSet> {
  const found: number[] = [];
  let looked = 0;
  for (const slot of slots.toArray()) {
    if (hasTerms(source, slot, terms, 'all')) found.push(slot);
    if (++looked % DOCUMENTS_PER_STEP === 0) yield;
  }
  return ChunkedSlotSet.fromSorted(found);
}

/** The slots in the lists of the terms. */
function* slotsOfLists(source: TermSource, terms: readonly string[]): Generator<undefined, ChunkedSlotSet> {
  const { documents, dictionary, lists } = source;
  // A slot beyond it is put later.
  const words = new Uint32Array((documents.slotCapacity + 31) >>> 5);
  for (const text of terms) {
    let numbering = source.numbering();
    for (let at = 0; ;) {
      if (numbering !== source.numbering()) {
        numbering = source.numbering();
        at = 0;
      }
      const term = dictionary.find(text);
      if (term === undefined) break;
      const view = lists.view(term);
      const end = Math.min(view.end, view.start + at + POSTINGS_PER_STEP);
      for (let i = view.start + at; i < end; i++) {
        const document = view.documents[i];
        if (documents.lengths[document] === 0) continue;
        const slot = documents.slots[document];
        words[slot >>> 5] |= 1 << (slot & 31);
      }
      if (end >= view.end) break;
      at += POSTINGS_PER_STEP;
      yield;
    }
    yield;
  }
  return ChunkedSlotSet.fromBitmap(words);
}

function frequencyOf({ dictionary }: TermSource, text: string): number {
  const term = dictionary.find(text);
  return term === undefined ? 0 : dictionary.documentFrequencies[term];
}
