/** A stored frequency of this value stands for one that is kept apart. */
export const LONG_FREQUENCY = 255;

/** A term's postings as arrays: entries `start` ≤ i < `end`, documents rising. */
export interface PostingView {
  documents: Uint32Array;
  frequencies: Uint8Array;
  start: number;
  end: number;
}
