import { compareHits, type Hit } from '../../../shared/contract/shard/shard-read';
import type { Fusing } from '../search-request';
import type { ScoredHit } from '../service';
import { mergeHits } from './merge';

/** Hits that are looked at, and items that are sorted, before others may be served. */
const HITS_PER_STEP = 1_024;

/** A list in the order of answers, without repetitions, and its weight. */
export interface WeighedList {
  hits: readonly Hit[];
  weight: number;
}

/** An item that was taken. Of each list: its index there (−1: not in the part that was looked at), and what it adds. */
interface TakenItem {
  externalId: string;
  score: number;
  at: number[];
  parts: number[];
}

/** What a list adds to the score of its hit at an index. */
type PartOf = (index: number) => number;

/**
 * Fusion of two lists by any kind: an item's score is the sum of what each list adds for it; a list that lacks it adds
 * nothing. What a list adds is `weight` times
 *
 * - rrf: 1 / (constant + rank), ranks from 1;
 * - relative: where the score lies between the least and the greatest of the list, from 0 to 1; 1 if they are equal;
 * - dbsf: the same between three standard deviations below and above the mean of the list, so outliers are below 0 or
 *   above 1; 0.5 if all are equal;
 * - linear: the score itself.
 *
 * All are of the merged lists, so they don't depend on shards, and of the hits that are looked at.
 */
export class ScoreFusion {
  private readonly lists: readonly WeighedList[];
  /** By list and index: the number of the item. */
  private readonly items: Uint32Array[] = [];
  private readonly externalIds: string[] = [];
  private isTaken = new Uint8Array(0);

  constructor(
    lists: { vector: WeighedList; keyword: WeighedList },
    private readonly fusing: Fusing,
  ) {
    this.lists = [lists.vector, lists.keyword];
  }

  /** One list alone keeps its ranks at any depth, but not its least score. */
  get changesWithDepth(): boolean {
    return this.fusing.kind !== 'rrf' || this.lists.every(({ hits }) => hits.length > 0);
  }

  /** Finds the items of all lists. */
  *meet(): Generator<undefined, void> {
    const numbers = new Map<string, number>();
    for (const { hits } of this.lists) {
      const items = new Uint32Array(hits.length);
      for (let i = 0; i < hits.length; i++) {
        const { externalId } = hits[i];
        let number = numbers.get(externalId);
        if (number === undefined) {
          number = this.externalIds.push(externalId) - 1;
          numbers.set(externalId, number);
        }
        items[i] = number;
        if (isStep(i)) yield;
      }
      this.items.push(items);
    }
    this.isTaken = new Uint8Array(this.externalIds.length);
  }

  /**
   * Takes the best `count` items, in the order of answers, that are within the first `depth` hits of the lists and were
   * not taken.
   */
  *take(depth: number, count: number): Generator<undefined, TakenItem[]> {
    const parts = this.lists.map((list) => partOf(this.fusing, list, depth));
    const best = this.fusing.isUnit ? this.lists.reduce((sum, list) => sum + bestPart(this.fusing, list, depth), 0) : 1;
    const all = this.externalIds.length;
    const scores = new Float64Array(all);
    const places = this.lists.map(() => new Int32Array(all).fill(-1));
    for (const [list, { hits }] of this.lists.entries()) {
      const end = Math.min(depth, hits.length);
      for (let i = 0; i < end; i++) {
        const item = this.items[list][i];
        places[list][item] = i;
        scores[item] += parts[list](i);
        if (isStep(i)) yield;
      }
    }
    const runs: { externalId: string; score: number; item: number }[][] = [];
    let run: (typeof runs)[number] = [];
    for (let item = 0; item < all; item++) {
      if (this.isTaken[item] === 1 || places.every((of) => of[item] < 0)) continue;
      run.push({ externalId: this.externalIds[item], score: finite(scores[item] / best), item });
      if (run.length < HITS_PER_STEP) continue;
      runs.push(run.sort(compareHits));
      run = [];
      yield;
    }
    runs.push(run.sort(compareHits));
    return mergeHits(runs, 0, count).map(({ item, externalId, score }) => {
      this.isTaken[item] = 1;
      const at = places.map((of) => of[item]);
      return { externalId, score, at, parts: at.map((place, list) => (place < 0 ? 0 : parts[list](place) / best)) };
    });
  }

  hitOf({ externalId, score, at, parts }: TakenItem, explain: boolean): ScoredHit {
    const [vector, keyword] = this.lists.map(({ hits }, list) => (at[list] < 0 ? null : hits[at[list]]));
    const hit: ScoredHit = { externalId, score, metadata: (vector ?? keyword!).metadata };
    if (!explain) return hit;
    return {
      ...hit,
      explanation: {
        vectorRank: vector === null ? null : at[0] + 1,
        vectorScore: vector?.score ?? null,
        keywordRank: keyword === null ? null : at[1] + 1,
        keywordScore: keyword?.score ?? null,
        vectorPart: parts[0],
        keywordPart: parts[1],
      },
    };
  }
}

function partOf(fusing: Fusing, { hits, weight }: WeighedList, depth: number): PartOf {
  const { kind } = fusing;
  if (kind === 'rrf') return (i) => weight / (fusing.constant + i + 1);
  if (kind === 'linear') return (i) => weight * finite(hits[i].score);
  const end = Math.min(depth, hits.length);
  if (end === 0) return () => 0;
  // By halves, because the difference of two finite numbers may be infinite.
  const least = finite(hits[end - 1].score) / 2;
  const width = finite(hits[0].score) / 2 - least;
  const relative = (i: number): number => (width === 0 ? 1 : (finite(hits[i].score) / 2 - least) / width);
  if (kind === 'relative') return (i) => weight * relative(i);
  let sum = 0;
  for (let i = 0; i < end; i++) sum += relative(i);
  const mean = sum / end;
  let squares = 0;
  for (let i = 0; i < end; i++) squares += (relative(i) - mean) ** 2;
  const deviation = Math.sqrt(squares / end);
  return (i) => weight * (deviation === 0 ? 0.5 : 0.5 + (relative(i) - mean) / (6 * deviation));
}

/** The most that the list can add. Of n numbers, none is more than √(n − 1) standard deviations from their mean. */
function bestPart(fusing: Fusing, { hits, weight }: WeighedList, depth: number): number {
  switch (fusing.kind) {
    case 'rrf':
      return weight / (fusing.constant + 1);
    case 'relative':
      return weight;
    case 'dbsf':
      return weight * (0.5 + Math.sqrt(Math.max(0, Math.min(depth, hits.length) - 1)) / 6);
    case 'linear':
      throw new Error('scores that are added as they are have no greatest sum');
  }
}

/** Dot products of huge vectors are infinite, and the sum of two such may be no number. */
function finite(score: number): number {
  return Number.isNaN(score) ? 0 : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, score));
}

function isStep(i: number): boolean {
  return i % HITS_PER_STEP === HITS_PER_STEP - 1;
}
