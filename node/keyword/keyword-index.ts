import type { KeywordStatistics } from '../../shared/shard/shard-read';
import type { SlotScores } from '../slots/slot-scores';
import type { SlotSet } from '../slots/slot-set';

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

/** A text as an index counts it: of the index that made it, and good as long as that is open. */
export interface AnalysedText {
  /** Terms, repeats included. */
  readonly length: number;
  /** The index's numbers of the distinct terms. */
  readonly terms: Uint32Array;
  /** How often each occurs. */
  readonly frequencies: Uint32Array;
}

/**
 * BM25 over the keyword text of one shard (k1 = 1.2, b = 0.75; Robertson & Zaragoza, "The Probabilistic Relevance
 * Framework", 2009, with Lucene's idf = ln(1 + (N − df + 0.5) / (df + 0.5))).
 * Synchronous, single-threaded, in memory; documents are exact under updates and deletes.
 */
export interface KeywordIndex {
  /** Sets a slot's keyword text; the slot must be empty. A text without terms is not a document. */
  put(slot: number, text: string): void;
  /**
   * Analyses a text ahead of its `putAnalysed`, in steps: however long it is, a step takes some hundred microseconds. What
   * it answers must be put or discarded, so that the index knows which terms are still wanted; other calls may come
   * between.
   */
  analyse(text: string): Generator<undefined, AnalysedText>;
  /** As `put`, for what `analyse` of this index answered; the text is used up. */
  putAnalysed(slot: number, text: AnalysedText): void;
  /** Lets go of what `analyse` answered and nobody will put. */
  discard(text: AnalysedText): void;
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
