import { compareHits, type KeywordStatistics } from '../../../shared/contract/shard/shard-read';

interface Ranked {
  externalId: string;
  score: number;
}

/**
 * Places `offset` to `offset + k` of several lists merged into one, each of them in the order of answers. If each shard
 * gives at least `offset + k` hits (or all it has), this equals the answer of one shard that holds everything. Uses a
 * binary heap of the lists' heads: O((offset + k) log lists). A single list is returned as it is if nothing is cut.
 */
export function mergeHits<H extends Ranked>(lists: H[][], offset: number, k: number): H[] {
  if (lists.length === 1) return offset === 0 && lists[0].length <= k ? lists[0] : lists[0].slice(offset, offset + k);
  const heap = new HeadHeap(lists);
  const merged: H[] = [];
  for (let rank = 0; rank < offset + k; rank += 1) {
    const hit = heap.take();
    if (hit === null) break;
    if (rank >= offset) merged.push(hit);
  }
  return merged;
}

/**
 * The hits that score `least` or more; all if it is undefined. Hits come best first, so filtering a page gives the same
 * as filtering the whole list before it is cut into pages.
 */
export function scoringAtLeast<H extends { score: number }>(hits: H[], least: number | undefined): H[] {
  if (least === undefined) return hits;
  const end = hits.findIndex((hit) => !(hit.score >= least));
  return end < 0 ? hits : hits.slice(0, end);
}

/** All hits of such lists, merged, one at a time: whoever takes them may pause in between. */
export function* mergedInTurn<H extends Ranked>(lists: H[][]): Generator<H, void> {
  const heap = new HeadHeap(lists);
  for (let hit = heap.take(); hit !== null; hit = heap.take()) yield hit;
}

/** Lists that are not exhausted, the one with the best head on top. */
class HeadHeap<H extends Ranked> {
  private readonly lists: H[][];
  /** Next place in each list. */
  private readonly next: number[];
  /** Indexes of lists, heap-ordered by their heads. */
  private readonly heap: number[];

  constructor(lists: H[][]) {
    this.lists = lists;
    this.next = lists.map(() => 0);
    this.heap = [...lists.keys()].filter((list) => lists[list].length > 0);
    for (let i = (this.heap.length >> 1) - 1; i >= 0; i -= 1) this.sink(i);
  }

  take(): H | null {
    if (this.heap.length === 0) return null;
    const top = this.heap[0];
    const hit = this.lists[top][this.next[top]++];
    if (this.next[top] === this.lists[top].length) {
      const last = this.heap.pop() as number;
      if (this.heap.length === 0) return hit;
      this.heap[0] = last;
    }
    this.sink(0);
    return hit;
  }

  private sink(start: number): void {
    const { heap } = this;
    let parent = start;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= heap.length) return;
      if (child + 1 < heap.length && this.isBefore(heap[child + 1], heap[child])) child += 1;
      if (!this.isBefore(heap[child], heap[parent])) return;
      [heap[parent], heap[child]] = [heap[child], heap[parent]];
      parent = child;
    }
  }

  private isBefore(a: number, b: number): boolean {
    return compareHits(this.lists[a][this.next[a]], this.lists[b][this.next[b]]) < 0;
  }
}

/** The statistics of a collection, from those of its shards, all over the same terms. */
export function sumStatistics(shards: KeywordStatistics[]): KeywordStatistics {
  const sum: KeywordStatistics = {
    documentCount: 0,
    totalLength: 0,
    documentFrequencies: shards[0].documentFrequencies.map(() => 0),
  };
  for (const shard of shards) {
    sum.documentCount += shard.documentCount;
    sum.totalLength += shard.totalLength;
    shard.documentFrequencies.forEach((frequency, i) => (sum.documentFrequencies[i] += frequency));
  }
  return sum;
}
