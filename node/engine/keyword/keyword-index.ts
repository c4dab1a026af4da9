import type { Analyser } from '../../../shared/base/text/analyser';
import type { WordsCondition } from '../../../shared/contract/filter/filter';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import type { ExpansionRequest, Expansions } from '../../../shared/contract/shard/keyword-expansion';
import type { KeywordPlan } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';
import type { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { SlotScores } from '../slots/slot-scores';
import type { SlotSet } from '../slots/slot-set';
import type { FieldText } from './field-postings';
import type { TermOrigin } from './keyword-save';
import type { WeightedText } from './keyword-text';
import type { WordOrders } from './word-orders';

export interface KeywordSearchOptions {
  k: number;
  allowed: SlotSet | null;
  /**
   * The name by which slots of equal score are ordered, by code units; no two are equal. Default: the slot's own
   * number. null: in any order, and any of those that tie with the last.
   */
  nameOf?: ((slot: number) => string) | null;
  /** In the place of those that the index has, one for each of its fields; 0 leaves one out. */
  fieldWeights?: readonly number[] | undefined;
}

/**
 * The same for a search in steps: which slots are allowed is asked at its start, and again for what was put meanwhile.
 */
export type SteppedSearchOptions = Omit<KeywordSearchOptions, 'allowed'> & { allowed: () => SlotSet | null };

export interface PlannedSearchOptions extends SteppedSearchOptions {
  unitSlots: (unit: number) => SlotSet | null;
  /** Of a meaning of a unit; default: all. */
  meaningSlots?: (unit: number, meaning: number) => SlotSet | null;
}

/** A slot's name from its number; names sort like the numbers. */
export function slotName(slot: number): string {
  return String.fromCharCode(slot >>> 16, slot & 0xffff);
}

/** A text with its terms counted. It belongs to the index that made it, and is valid while that is open. */
export interface AnalysedText {
  /** Number of terms, with repetitions and weights. */
  readonly length: number;
  /** The index's numbers of the distinct terms. */
  readonly terms: Uint32Array;
  /** How often each occurs. */
  readonly frequencies: Uint32Array;
  /** Of an index that keeps what each field has: that. */
  readonly fields?: readonly FieldText[];
}

/**
 * BM25 over the keyword text of one shard (k1 = 1.2, b = 0.75; Robertson & Zaragoza, "The Probabilistic Relevance
 * Framework", 2009, with Lucene's idf = ln(1 + (N − df + 0.5) / (df + 0.5))). Synchronous, single-threaded, in memory.
 * Statistics are exact under updates and deletes.
 */
export interface KeywordIndex {
  /** Sets a slot's keyword text; the slot must be empty. A text without terms is not a document. */
  put(slot: number, text: string): void;
  /**
   * Analyses a text, or several as one, for a later `putAnalysed`, in steps: however long the text is, a step takes
   * some hundred microseconds. The result must be put or discarded, so that the index knows which terms are still
   * needed. Other calls may come in between.
   */
  analyse(text: string | readonly WeightedText[]): Generator<undefined, AnalysedText>;
  /** Like `put`, for the result of `analyse` of this index, which may be used only once. */
  putAnalysed(slot: number, text: AnalysedText): void;
  /** Discards a result of `analyse` that will not be put. */
  discard(text: AnalysedText): void;
  /** Removes a slot; unknown slots are ignored. */
  remove(slot: number): void;
  /**
   * `fieldWeights`: as in a search; of documents that have terms in the fields that count. Errors: invalid_parameter
   * where they are not those of its fields.
   */
  statistics(terms: string[], fieldWeights?: readonly number[]): KeywordStatistics;
  /** The same in steps of a few milliseconds. */
  statisticsInSteps(terms: string[], fieldWeights?: readonly number[]): Generator<undefined, KeywordStatistics>;
  /** Whether a slot's text has the words; of a phrase, all of them somewhere. With paths, see word-conditions.ts. */
  hasWords(slot: number, condition: WordsCondition): boolean;
  /**
   * The slots whose texts have the words, in steps; with paths, and of a phrase, anywhere. A slot that changes
   * meanwhile may be wrong.
   */
  slotsWithWords(condition: WordsCondition): Generator<undefined, ChunkedSlotSet>;
  /** What makes its terms, but of fields that have an analyser of their own. */
  readonly analyser: Analyser;
  /** What of an item it is given. */
  readonly fields: KeywordFields | undefined;
  /**
   * The best min(k, matches) slots that hold at least one of the distinct `terms`, best first by `statistics` (of the
   * whole collection, frequencies in the order of terms), limited to `allowed` if given; equal scores by name.
   */
  search(terms: string[], statistics: KeywordStatistics, options: KeywordSearchOptions): SlotScores;
  /**
   * The same in steps of a few milliseconds, between which the index may change. A slot that is put meanwhile may be in
   * the answer; one that was there all the time is, if it belongs there. Slots that were removed meanwhile may be in
   * it, in the place of others: whoever finds one searches again.
   */
  searchInSteps(
    terms: string[],
    statistics: KeywordStatistics,
    options: SteppedSearchOptions,
  ): Generator<undefined, SlotScores>;
  /**
   * The same by a plan: those that have at least `minimum` of its optional units, best by the sum over the units that
   * they have. `unitSlots`: which slots may have a unit, by its place, as they are now; null: all.
   */
  searchPlanInSteps(
    terms: string[],
    plan: KeywordPlan,
    statistics: KeywordStatistics,
    options: PlannedSearchOptions,
  ): Generator<undefined, SlotScores>;
  /** Terms that begin with one or are near to it (sorted-terms.ts), in steps. */
  expansions(request: ExpansionRequest): Generator<undefined, Expansions>;
  /** Lets go of what only expansions and other weights need. */
  dropSortedTerms(): void;
  /** The order of the words in texts, as files beside the index keep it. */
  readonly wordOrders: WordOrders;
  /** By which it is told whether terms of a file are those of the index. */
  readonly origin: TermOrigin;
  removeEverywhere(slots: SlotSet): void;
  /** Like FilterIndex.save. */
  save(): Iterable<Buffer>;
  readonly memoryBytes: number;
}
