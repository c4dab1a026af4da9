import { compareHits, type Hit } from '../../../shared/contract/shard/shard-read';
import { finiteScore } from '../../../shared/contract/vector/metric';
import type { Fusing, LegName } from '../search-request';
import type { LegPlace, ScoredHit } from '../service';
import { mergeHits } from './merge';

/** Hits that are looked at, and items that are sorted, before others may be served. */
const HITS_PER_STEP = 1_024;
/** Weights below this may give neighbours in a list equal scores: they are hardly more than denormal numbers. */
const WEIGHT_MIN = 1e-290;

/** A list in the order of answers, without repetitions. */
export interface WeighedList {
  hits: readonly Hit[];
  /** 0: it counts as empty. */
  weight: number;
  /** As answers call it. */
  name?: LegName | undefined;
}

/** What a list adds to the score of its hit at an index. */
type PartOf = (index: number) => number;

/** How far lists are looked at, what each adds then, and what sums are divided by. */
interface Depth {
  ends: readonly number[];
  parts: readonly PartOf[];
  best: number;
}

/** An item, and the depth that it has its score at. */
interface TakenItem {
  externalId: string;
  score: number;
  item: number;
  /** The first list that has it there, and its index in it. */
  list: number;
  index: number;
  by: Depth;
}

/**
 * Fusion of lists by any kind: an item's score is the sum of what each list adds for it; a list that lacks it adds
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
  /** Whether hits that no other list has come in the order of answers as they are. */
  private readonly isInOrder: readonly boolean[];
  /** The numbers of items, by what is in a list that another one may have. */
  private readonly numbers = new Map<string, number>();
  /** By list and index: the number of the item. */
  private readonly items: number[][];
  /** By list and number: the index of the item; −1: not in it. */
  private places: readonly number[][] = [];
  /** By number: in how many lists it is; 0: it was taken. */
  private readonly counts: number[] = [];

  constructor(
    lists: readonly WeighedList[],
    private readonly fusing: Fusing,
  ) {
    this.lists = lists.map((list) => (list.weight > 0 ? list : { ...list, hits: [] }));
    this.isInOrder = lists.map(({ weight }) => fusing.kind === 'rrf' && weight >= WEIGHT_MIN);
    this.items = lists.map(() => []);
  }

  /** One list alone keeps its ranks at any depth, but not its least score. */
  get changesWithDepth(): boolean {
    return this.fusing.kind !== 'rrf' || !this.isOneAlone;
  }

  /** Finds the items that are in several lists. */
  *meet(): Generator<undefined, void> {
    const { lists } = this;
    for (let list = 0; list < lists.length; list++) {
      const { length } = lists[list].hits;
      for (let from = 0; from < length; from += HITS_PER_STEP) {
        if (from > 0) yield;
        this.number(list, from, Math.min(length, from + HITS_PER_STEP));
      }
    }
    this.places = lists.map(() => new Array<number>(this.counts.length).fill(-1));
    for (let list = 0; list < lists.length; list++) {
      const { length } = lists[list].hits;
      for (let from = 0; from < length; from += HITS_PER_STEP) {
        if (from > 0) yield;
        this.place(list, from, Math.min(length, from + HITS_PER_STEP));
      }
    }
  }

  /**
   * Takes the best `count` items, in the order of answers, that are within the first `depth` hits of the lists and were
   * not taken. Items of one list alone come in its order by ranks, so then only those of several are sorted.
   */
  *take(depth: number, count: number): Generator<undefined, TakenItem[]> {
    const by = this.at(depth);
    const runs: TakenItem[][] = [[]];
    const heads: (() => TakenItem | null)[] = [];
    for (let list = 0; list < by.ends.length; list++) {
      const end = by.ends[list];
      const alone: number[] = [];
      for (let from = 0; from < end; from += HITS_PER_STEP) {
        if (from > 0) yield;
        this.look(list, from, Math.min(end, from + HITS_PER_STEP), by, { alone, runs });
      }
      if (alone.length > 0) heads.push(headsOf(alone, (i) => this.taken(list, i, by)));
    }
    runs.at(-1)!.sort(compareHits);
    heads.push(headsOf(mergeHits(runs, 0, count), (taken) => taken));
    const next = heads.map((head) => head());
    const chosen: TakenItem[] = [];
    while (chosen.length < count) {
      let best = -1;
      for (let i = 0; i < next.length; i++) {
        const head = next[i];
        if (head !== null && (best < 0 || compareHits(head, next[best]!) < 0)) best = i;
      }
      if (best < 0) break;
      const taken = next[best]!;
      this.counts[taken.item] = 0;
      chosen.push(taken);
      next[best] = heads[best]();
      if (isStep(chosen.length)) yield;
    }
    return chosen;
  }

  hitOf(taken: TakenItem, explain: boolean): ScoredHit {
    const { externalId, score, list, index } = taken;
    const { metadata, version } = this.lists[list].hits[index];
    const hit: ScoredHit = { externalId, score, metadata };
    if (version !== undefined) hit.version = version;
    return explain ? { ...hit, explanation: this.placesOf(taken) } : hit;
  }

  /** Numbers the items of a part of a list. */
  private number(list: number, from: number, to: number): void {
    const { numbers, counts } = this;
    const { hits } = this.lists[list];
    const items = this.items[list];
    // Nothing comes before the first list, and nothing asks for what is in the last one alone.
    const isFirst = counts.length === 0 || (from > 0 && items.length === counts.length);
    const isLast = this.lists.findLastIndex(isFilled) === list;
    for (let i = from; i < to; i++) {
      const { externalId } = hits[i];
      const known = isFirst ? undefined : numbers.get(externalId);
      if (known !== undefined) {
        items.push(known);
        counts[known] += 1;
        continue;
      }
      const number = counts.push(1) - 1;
      items.push(number);
      if (!isLast) numbers.set(externalId, number);
    }
  }

  private place(list: number, from: number, to: number): void {
    const items = this.items[list];
    const places = this.places[list];
    for (let i = from; i < to; i++) places[items[i]] = i;
  }

  /** Finds what may be taken in a part of a list: `alone`, by index, and what has to be sorted, in runs. */
  private look(
    list: number,
    from: number,
    to: number,
    by: Depth,
    { alone, runs }: { alone: number[]; runs: TakenItem[][] },
  ): void {
    const { counts } = this;
    const items = this.items[list];
    const isInOrder = this.isInOrder[list];
    let run = runs[runs.length - 1];
    for (let i = from; i < to; i++) {
      const item = items[i];
      const count = counts[item];
      if (count === 0) continue;
      const others = count === 1 ? 0 : this.othersWith(item, list, by);
      if (others === 0 && isInOrder) alone.push(i);
      else if (others !== LOOKED_AT && run.push(this.taken(list, i, by)) === HITS_PER_STEP) {
        run.sort(compareHits);
        runs.push((run = []));
      }
    }
  }

  private placesOf({ item, by: { ends, parts, best } }: TakenItem): LegPlace[] {
    return this.lists.map(({ name, hits }, list): LegPlace => {
      const at = this.places[list][item];
      if (at < 0 || at >= ends[list]) return { name, rank: null, score: null, part: 0 };
      return { name, rank: at + 1, score: hits[at].score, part: parts[list](at) / best };
    });
  }

  private get isOneAlone(): boolean {
    return this.lists.filter(isFilled).length < 2;
  }

  private at(depth: number): Depth {
    const { lists, fusing } = this;
    return {
      ends: lists.map(({ hits }) => Math.min(depth, hits.length)),
      parts: lists.map((list) => partOf(fusing, list, depth)),
      best: fusing.isUnit ? lists.reduce((sum, list) => sum + bestPart(fusing, list, depth), 0) : 1,
    };
  }

  /** How many other lists have the item; {@link LOOKED_AT}: one of them was looked at before. */
  private othersWith(item: number, list: number, { ends }: Depth): number {
    let others = 0;
    for (let other = 0; other < ends.length; other++) {
      const at = this.places[other][item];
      if (other === list || at < 0 || at >= ends[other]) continue;
      if (other < list) return LOOKED_AT;
      others += 1;
    }
    return others;
  }

  private taken(list: number, index: number, by: Depth): TakenItem {
    const item = this.items[list][index];
    let sum = by.parts[list](index);
    for (let other = list + 1; other < this.places.length; other++) {
      const at = this.places[other][item];
      if (at >= 0 && at < by.ends[other]) sum += by.parts[other](at);
    }
    const { externalId } = this.lists[list].hits[index];
    return { externalId, score: finiteScore(sum / by.best), item, list, index, by };
  }
}

const LOOKED_AT = -1;

function headsOf<Item>(items: readonly Item[], takenOf: (item: Item) => TakenItem): () => TakenItem | null {
  let at = 0;
  return () => (at < items.length ? takenOf(items[at++]) : null);
}

function partOf(fusing: Fusing, { hits, weight }: WeighedList, depth: number): PartOf {
  const { kind } = fusing;
  if (kind === 'rrf') return (i) => weight / (fusing.constant + i + 1);
  if (kind === 'linear') return (i) => weight * finiteScore(hits[i].score);
  const end = Math.min(depth, hits.length);
  if (end === 0) return () => 0;
  // By halves, because the difference of two finite numbers may be infinite.
  const least = finiteScore(hits[end - 1].score) / 2;
  const width = finiteScore(hits[0].score) / 2 - least;
  const relative = (i: number): number => (width === 0 ? 1 : (finiteScore(hits[i].score) / 2 - least) / width);
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

function isFilled({ hits }: WeighedList): boolean {
  return hits.length > 0;
}

function isStep(i: number): boolean {
  return i % HITS_PER_STEP === HITS_PER_STEP - 1;
}
