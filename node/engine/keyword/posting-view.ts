/** A stored frequency of this value means that the real one is stored separately. */
export const LONG_FREQUENCY = 255;

/** A term's postings as arrays: entries `start` ≤ i < `end`, documents ascending. */
export interface PostingView {
  documents: Uint32Array;
  frequencies: Uint8Array;
  start: number;
  end: number;
}
