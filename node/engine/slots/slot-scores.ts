/** Slots and the score of each, in the same order. What finding them took is there where that was asked for. */
export interface SlotScores extends Partial<SlotSearchCost> {
  slots: Uint32Array;
  scores: Float64Array;
}

/** What a search of vectors took. */
export interface SlotSearchCost {
  /** Rows scored by their codes, rows that a walk left out by their signs, and rows scored by their originals. */
  scored: number;
  leftOut: number;
  rescored: number;
  /** Rows of the graph that a walk kept and expanded. */
  expanded: number;
  /** An index of SLOT_SEARCH_PLANS. */
  plan: number;
  /** Slots that may be answers; about, where a filter was asked slot by slot. */
  allowed: number;
  /**
   * Milliseconds that it waited for a thread, found the slots that pass a filter (if the index does that), and
   * searched.
   */
  queueMs: number;
  filterMs: number;
  runMs: number;
}

/** How a search went about it, as the addon numbers it (SearchPlan of node/engine/native/search/search.h). */
export const SLOT_SEARCH_PLANS = ['scan', 'walk', 'exact', 'walk_then_scan', 'cells', 'cells_then_scan'] as const;
