import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { type DocumentTable, NO_DOCUMENT } from './document-table';
import type { PostingLists } from './posting-lists';
import { PostingReader } from './posting-reader';
import type { TermDictionary } from './term-dictionary';

/** Whether one of some terms is enough. */
export type TermMatch = 'any' | 'all';

/** Numbers of terms, and whether there are documents. Without `text`, a term has to be found each time. */
export type FoundTerms = Pick<TermDictionary, 'find' | 'documentFrequencies'> & Partial<Pick<TermDictionary, 'text'>>;

/** What is looked through. It may change between two steps. */
export interface TermSource {
  documents: DocumentTable;
  dictionary: FoundTerms;
  lists: PostingLists;
  /** Another number whenever documents get new numbers. */
  numbering: () => number;
  /** Another one after each change. */
  revision: () => number;
}

/** With the texts of the terms: an index itself. */
export type IndexTerms = TermSource & { dictionary: TermDictionary };

/** Postings that are read in one step: a part of a millisecond. */
const POSTINGS_PER_STEP = 1 << 15;
/** The cost of a document that is looked up in the other lists, relative to reading a posting (measured). */
const LEAP_COST = 8;
/** Look-ups of a document in a list that are made in one step. */
const LOOK_UPS_PER_STEP = 1 << 13;

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

/** Whether the text of a slot has a term that fits. */
export function hasTermThat(
  { documents, dictionary }: IndexTerms,
  slot: number,
  fits: (term: string) => boolean,
): boolean {
  const document = documents.documentOf(slot);
  if (document === NO_DOCUMENT) return false;
  let isFound = false;
  documents.forEachTerm(document, (term) => {
    isFound ||= fits(dictionary.text(term)!);
  });
  return isFound;
}

/** The slots of the texts that have them, in steps. A slot that changes between two may be wrong. */
export function* slotsWithTerms(
  source: TermSource,
  terms: readonly string[],
  match: TermMatch,
): Generator<undefined, ChunkedSlotSet> {
  if (terms.length === 0) return new ChunkedSlotSet();
  if (match === 'any') return yield* slotsOfLists(source, terms);
  const frequencies = terms.map((text) => frequencyOf(source, text));
  const all = frequencies.reduce((sum, frequency) => sum + frequency, 0);
  if (Math.min(...frequencies) * LEAP_COST < all) return yield* slotsByLeaps(source, terms);
  let left = yield* slotsOfLists(source, [terms[0]]);
  for (const text of terms.slice(1)) left = left.and(yield* slotsOfLists(source, [text]));
  return left;
}

/** The slots that are in the lists of all terms, of which one is much shorter than the others. */
function* slotsByLeaps(source: TermSource, terms: readonly string[]): Generator<undefined, ChunkedSlotSet> {
  let numbering = source.numbering();
  let found: number[] = [];
  for (let from = 0; from !== NO_DOCUMENT;) {
    from = takeShared(source, terms, from, found);
    yield;
    if (numbering === source.numbering()) continue;
    numbering = source.numbering();
    found = [];
    from = 0;
  }
  return ChunkedSlotSet.fromArray(found);
}

/** Takes some of the slots that are in the lists of all terms; answers from which document on to go on. */
function takeShared(
  { documents: { lengths, slots }, dictionary, lists }: TermSource,
  texts: readonly string[],
  from: number,
  found: number[],
): number {
  const readers: PostingReader[] = [];
  for (const text of texts) {
    const term = dictionary.find(text);
    if (term === undefined) return NO_DOCUMENT;
    readers.push(new PostingReader(lists, term));
  }
  readers.sort((a, b) => a.left - b.left);
  let document = from;
  for (let lookUps = 0; lookUps < LOOK_UPS_PER_STEP; document++) {
    for (let i = 0; i < readers.length; i++) {
      readers[i].seek(document);
      lookUps++;
      const { next } = readers[i];
      if (next === document) continue;
      // It lacks this term: the next one that has it may have all.
      if (next === NO_DOCUMENT || lookUps >= LOOK_UPS_PER_STEP) return next;
      document = next;
      if (i > 0) i = -1;
    }
    if (lengths[document] > 0) found.push(slots[document]);
  }
  return document;
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
