/** Slots and the score of each, in the same order. */
export interface SlotScores {
  slots: Uint32Array;
  scores: Float64Array;
}
