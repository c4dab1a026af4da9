import type { KeywordStatistics } from '../../shared/shard/shard-client';
import type { SlotSet } from '../slots/slot-set';
import type { SlotScores } from '../vector/vector-index';

export interface KeywordSearchOptions {
  k: number;
  allowed: SlotSet | null;
  /** What orders slots of equal score, by code units, no two alike; the slot's own number when left out. */
  nameOf?: (slot: number) => string;
}

/** The name of a slot by its number, in the order of the numbers. */
export function slotName(slot: number): string {
  return String.fromCharCode(slot >>> 16, slot & 0xffff);
}

/**
 * BM25 over the keyword text of one shard (k1 = 1.2, b = 0.75; Robertson & Zaragoza, "The Probabilistic Relevance
 * Framework", 2009, with Lucene's idf = ln(1 + (N − df + 0.5) / (df + 0.5))).
 * Synchronous, single-threaded, in memory; documents are exact under updates and deletes.
 */
export interface KeywordIndex {
  /** Sets a slot's keyword text; the slot must be empty. A text without terms is not a document. */
  put(slot: number, text: string): void;
  /** Takes a slot out; unknown slots are ignored. */
  remove(slot: number): void;
  statistics(terms: string[]): KeywordStatistics;
  /**
   * The best min(k, matches) slots that hold at least one of the distinct `terms`, best first under `statistics`
   * (collection-wide, frequencies in the order of terms), limited to `allowed` when given; equal scores by name.
   */
  search(terms: string[], statistics: KeywordStatistics, options: KeywordSearchOptions): SlotScores;
  removeEverywhere(slots: SlotSet): void;
  /** As FilterIndex.save. */
  save(): Iterable<Buffer>;
  readonly memoryBytes: number;
}
