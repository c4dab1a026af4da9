import type { SlotSet } from '../slots/slot-set';
import type { LengthNorm } from './bm25';
import type { DocumentTable } from './document-table';
import type { PostingLists } from './posting-lists';

/** `factor`: as how many a time counts. */
export interface UnitTerm {
  term: number;
  factor: number;
}

/** The documents that have a meaning of several terms, ascending, and how often. */
export interface MeaningList {
  readonly documents: Uint32Array;
  /** As of postings: LONG_FREQUENCY stands for what is in `long`. */
  readonly frequencies: Uint8Array;
  readonly long: ReadonlyMap<number, number>;
}

/** A meaning of several terms. */
export interface SearchedMeaning {
  /** The numbers of all of its terms at present; null: one is not there. */
  terms: () => number[] | null;
  /** The slots that may have it, as they are now; null: all. */
  allowed: () => SlotSet | null;
}

/** A unit of a keyword plan as it is searched. */
export interface SearchedUnit {
  /** The terms at present; without any, no document has the unit. */
  terms: () => UnitTerm[];
  /** Any of them is enough, too. */
  meanings: readonly SearchedMeaning[];
  /** The documents of each meaning, once they are known. */
  lists?: readonly MeaningList[];
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
