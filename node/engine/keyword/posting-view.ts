/** A stored frequency of this value means that the real one is stored separately. */
export const LONG_FREQUENCY = 255;

/** A term's postings as arrays: entries `start` ≤ i < `end`, documents ascending. */
export interface PostingView {
  documents: Uint32Array;
  frequencies: Uint8Array;
  start: number;
  end: number;
}

/** A list that is all there is of its arrays. */
export function wholeView({ documents, frequencies }: Pick<PostingView, 'documents' | 'frequencies'>): PostingView {
  return { documents, frequencies, start: 0, end: documents.length };
}

/** The place, from `from` on, of the first document that is not before another: by doubling steps, then bisection. */
export function placeOfDocument(documents: Uint32Array, from: number, end: number, document: number): number {
  let low = from;
  if (low === end || documents[low] >= document) return low;
  let step = 1;
  while (low + step < end && documents[low + step] < document) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, end);
  low++;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (documents[middle] < document) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The same by bisection alone, for places that may be anywhere. */
export function placeInDocuments(
  documents: Uint32Array,
  document: number,
  from = 0,
  end: number = documents.length,
): number {
  let low = from;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (documents[middle] < document) low = middle + 1;
    else high = middle;
  }
  return low;
}
