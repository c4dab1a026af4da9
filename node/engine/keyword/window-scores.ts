/** Documents of a window that hold any of the terms read so far, with their scores by position in the window. */
export interface WindowScores {
  first: number;
  scores: Float64Array;
  touched: Uint32Array;
  touchedCount: number;
}
