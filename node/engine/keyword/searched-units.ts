import type { SlotSet } from '../slots/slot-set';
import type { LengthNorm } from './bm25';
import type { DocumentTable } from './document-table';
import type { PostingLists } from './posting-lists';

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
