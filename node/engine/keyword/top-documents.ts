/** Minimum size of the buffer, for small k: pruning is rare enough then. */
const BUFFER_MIN = 1024;

/**
 * Collects the `k` best of a stream of scored documents, in the order of answers: equal scores by names, in code units.
 * Without names they come in any order, and of those that tie with the last some: then very many are not sorted.
 *
 * A binary heap of the k best scores gives the exact threshold at any moment. The documents themselves are kept in a
 * buffer that is pruned when it is full. Names are read only for documents that tie with the last of the best.
 */
export class TopDocuments {
  /** A document scored below this is not among the best k; −Infinity until there are k. */
  threshold = -Infinity;
  private readonly heap: Float64Array;
  private heapSize = 0;
  private scores: Float64Array;
  private documents: Uint32Array;
  private buffered = 0;
  /** The last name that is kept among those that tie with `score`; set once there were too many of them. */
  private cut: { score: number; name: string } | null = null;

  /** `candidateCount`: about how many documents there may be. */
  constructor(
    private readonly k: number,
    candidateCount: number,
    private readonly nameOf: ((document: number) => string) | null,
  ) {
    this.heap = new Float64Array(Math.min(k, candidateCount));
    // Several times what may be kept, so that each pruning drops most.
    const capacity = Math.min(Math.max(4 * k, BUFFER_MIN), candidateCount);
    this.scores = new Float64Array(capacity);
    this.documents = new Uint32Array(capacity);
  }

  add(document: number, score: number): void {
    if (score < this.threshold || (this.cut !== null && this.isCut(document, score))) return;
    if (this.heapSize < this.heap.length) this.siftUp(score);
    else if (score > this.heap[0]) this.replaceLeast(score);
    if (this.heapSize === this.k) this.threshold = this.heap[0];
    if (this.buffered === this.scores.length) this.makeRoom();
    this.documents[this.buffered] = document;
    this.scores[this.buffered++] = score;
  }

  /** At most `k`. */
  take(): { documents: Uint32Array; scores: Float64Array } {
    this.sift();
    const nameFor = this.nameOf;
    if (nameFor === null)
      return { documents: this.documents.slice(0, this.buffered), scores: this.scores.slice(0, this.buffered) };
    const names = new Map<number, string>();
    const nameOf = (document: number): string => {
      let name = names.get(document);
      if (name === undefined) names.set(document, (name = nameFor(document)));
      return name;
    };
    const order = Array.from({ length: this.buffered }, (_, i) => i);
    order.sort(
      (a, b) => this.scores[b] - this.scores[a] || inCodeUnits(nameOf(this.documents[a]), nameOf(this.documents[b])),
    );
    order.length = Math.min(order.length, this.k);
    return {
      documents: Uint32Array.from(order, (i) => this.documents[i]),
      scores: Float64Array.from(order, (i) => this.scores[i]),
    };
  }

  private isCut(document: number, score: number): boolean {
    const cut = this.cut as { score: number; name: string };
    return score === cut.score && score === this.threshold && this.nameOf!(document) > cut.name;
  }

  private makeRoom(): void {
    this.sift();
    if (this.buffered < this.scores.length) return;
    const { scores, documents } = this;
    this.scores = new Float64Array(2 * scores.length + 1);
    this.scores.set(scores);
    this.documents = new Uint32Array(this.scores.length);
    this.documents.set(documents);
  }

  /** Drops documents below the threshold and, among those that tie with it, all but the first that fill up the k. */
  private sift(): void {
    let better = 0;
    const tied: number[] = [];
    for (let i = 0; i < this.buffered; i++) {
      const score = this.scores[i];
      if (score < this.threshold) continue;
      if (score === this.threshold) {
        tied.push(this.documents[i]);
        continue;
      }
      this.scores[better] = score;
      this.documents[better++] = this.documents[i];
    }
    for (const document of this.firstOf(tied, this.k - better)) {
      this.scores[better] = this.threshold;
      this.documents[better++] = document;
    }
    this.buffered = better;
  }

  private firstOf(tied: number[], count: number): number[] {
    if (tied.length <= count) return tied;
    const { nameOf } = this;
    if (nameOf === null) return tied.slice(0, count);
    const named = tied.map((document) => ({ document, name: nameOf(document) }));
    named.sort((a, b) => inCodeUnits(a.name, b.name));
    if (count > 0) this.cut = { score: this.threshold, name: named[count - 1].name };
    return named.slice(0, count).map(({ document }) => document);
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

function inCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
