/** Slots and the score of each, in the same order. */
export interface SlotScores {
  slots: Uint32Array;
  scores: Float64Array;
  /** What finding them took, where that was asked for: rows scored by their codes, and by their originals. */
  scored?: number;
  rescored?: number;
}
