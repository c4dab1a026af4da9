/**
 * Collects the `k` best of a stream of scored documents, and up to `k` more that tie with the last of them.
 * A binary heap of the k best scores gives the exact threshold at any moment; the documents themselves wait in a
 * buffer that is sifted when it is full.
 */
export class TopDocuments {
  /** A document scored below this is not among the best k; −Infinity until k are known. */
  threshold = -Infinity;
  private readonly heap: Float64Array;
  private heapSize = 0;
  private readonly scores: Float64Array;
  private readonly documents: Uint32Array;
  private buffered = 0;

  /** `candidateCount` bounds how many documents there can be at all. */
  constructor(
    private readonly k: number,
    candidateCount: number,
  ) {
    this.heap = new Float64Array(Math.min(k, candidateCount));
    // Twice what may be kept, so that each sifting drops at least half; small k sift rarely enough at 1024.
    const capacity = Math.min(Math.max(4 * k, 1024), candidateCount);
    this.scores = new Float64Array(capacity);
    this.documents = new Uint32Array(capacity);
  }

  add(document: number, score: number): void {
    if (score < this.threshold) return;
    if (this.heapSize < this.k) this.siftUp(score);
    else if (score > this.heap[0]) this.replaceLeast(score);
    if (this.heapSize === this.k) this.threshold = this.heap[0];
    if (this.buffered === this.scores.length) this.sift();
    this.documents[this.buffered] = document;
    this.scores[this.buffered++] = score;
  }

  /** Best first, equal scores by document number. */
  take(): { documents: Uint32Array; scores: Float64Array } {
    this.sift();
    const order = Array.from({ length: this.buffered }, (_, i) => i);
    order.sort((a, b) => this.scores[b] - this.scores[a] || this.documents[a] - this.documents[b]);
    return { documents: Uint32Array.from(order, (i) => this.documents[i]), scores: Float64Array.from(order, (i) => this.scores[i]) };
  }

  /** Keeps what reaches the threshold; of those that tie with it no more than fit into 2 k in all, the first ones. */
  private sift(): void {
    let ties = 0;
    let better = 0;
    for (let i = 0; i < this.buffered; i++) if (this.scores[i] > this.threshold) better++;
    let kept = 0;
    for (let i = 0; i < this.buffered; i++) {
      const score = this.scores[i];
      if (score < this.threshold) continue;
      if (score === this.threshold && better + ++ties > 2 * this.k) continue;
      this.scores[kept] = score;
      this.documents[kept++] = this.documents[i];
    }
    this.buffered = kept;
  }

  private siftUp(score: number): void {
    let at = this.heapSize++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.heap[parent] <= score) break;
      this.heap[at] = this.heap[parent];
      at = parent;
    }
    this.heap[at] = score;
  }

  private replaceLeast(score: number): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.heapSize) break;
      if (child + 1 < this.heapSize && this.heap[child + 1] < this.heap[child]) child++;
      if (this.heap[child] >= score) break;
      this.heap[at] = this.heap[child];
      at = child;
    }
    this.heap[at] = score;
  }
}
