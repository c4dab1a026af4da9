import { compareHits, type Hit } from '../../../shared/contract/shard/shard-read';
import { resultOf } from '../../../shared/base/time/work-slices';
import type { Fusing } from '../search-request';
import type { ScoredHit } from '../service';
import { ScoreFusion } from './score-fusion';

/** The constant of Reciprocal Rank Fusion, as its authors chose it (Cormack, Clarke and Büttcher, SIGIR 2009). */
const RANK_CONSTANT = 60;
/**
 * Depth of each list per place: enough for an item in the middle of both lists to beat one that leads a single list.
 */
const DEPTH_FACTOR = 5;
/** The first level, so that lists are at least 200 deep. */
const FIRST_LEVEL = 40;
/** The levels after it are these times 1, 10, 100, … */
const LEVEL_STEPS = [50, 100, 200];
/** Weights below this may give neighbours in a list equal scores: they are hardly more than denormal numbers. */
const WEIGHT_MIN = 1e-290;
/** Hits fused before others may be served. */
const FUSED_PER_STEP = 1_024;

export interface FusedPage {
  alpha: number;
  /** undefined: as {@link fuse} says it. */
  fusing?: Fusing | undefined;
  offset: number;
  k: number;
  explain?: boolean | undefined;
}

export interface FusedLists {
  vector: Hit[];
  keyword: Hit[];
}

/**
 * How many hits of each list fusion needs for the first `places` places: five times as many, rounded up to one of few
 * levels (40, 50, 100, 200, 500, 1,000, … places), so that most pages of a list are cut out of one fusion.
 */
export function fusionDepth(places: number): number {
  return DEPTH_FACTOR * levelOf(places);
}

/**
 * Reciprocal Rank Fusion of two lists over the whole collection, each in the order of answers and without repetitions:
 * score = alpha / (60 + vector rank) + (1 − alpha) / (60 + keyword rank). Ranks start at 1; there is no term for a list
 * that does not contain the item. A list of weight 0 counts as empty, because items only in it would score 0. So alpha
 * 1 gives exactly the order of the vector list, and alpha 0 that of the keyword list. Answers places `offset` to
 * `offset + k` in the order of answers, each with its places in the two lists if `explain` is set.
 *
 * Deeper lists give items more terms, and so another order. So that pages never overlap or skip, a page leaves out what
 * the pages of the same size before it answered, where these were fused at a smaller depth.
 *
 * With `fusing`, the lists are fused so instead (score-fusion.ts), in the same pages.
 */
export function fuse(lists: FusedLists, page: FusedPage): ScoredHit[] {
  return resultOf(fusionSteps(lists, page));
}

/** The same in steps: fusing some thousand hits takes milliseconds. */
export function* fusionSteps(lists: FusedLists, page: FusedPage): Generator<undefined, ScoredHit[]> {
  const { alpha, fusing } = page;
  const [vector, keyword] = [alpha > 0 ? lists.vector : [], alpha < 1 ? lists.keyword : []];
  return yield* fusing === undefined
    ? pageSteps(new Fusion({ vector, keyword }, alpha), page)
    : pageSteps(
        new ScoreFusion(
          { vector: { hits: vector, weight: alpha }, keyword: { hits: keyword, weight: 1 - alpha } },
          fusing,
        ),
        page,
      );
}

/** Two lists, of which items are taken that were not taken before. */
interface TakenLists<Item> {
  changesWithDepth: boolean;
  meet(): Generator<undefined, void>;
  take(depth: number, count: number): Generator<undefined, Item[]>;
  hitOf(item: Item, explain: boolean): ScoredHit;
}

function* pageSteps<Item>(
  fusion: TakenLists<Item>,
  { offset, k, explain = false }: FusedPage,
): Generator<undefined, ScoredHit[]> {
  yield* fusion.meet();
  let served = 0;
  if (fusion.changesWithDepth) {
    for (const level of levelsBelow(levelOf(offset + k))) {
      // The end of the last page that was within this level.
      const end = offset - k * Math.max(0, Math.ceil((offset - level) / k));
      if (end <= served) continue;
      yield* fusion.take(DEPTH_FACTOR * level, end - served);
      served = end;
    }
  }
  const taken = yield* fusion.take(Infinity, offset - served + k);
  return taken.slice(offset - served).map((fused) => fusion.hitOf(fused, explain));
}

function* levelsBelow(end: number): Generator<number, void> {
  for (let level = FIRST_LEVEL; level < end; level = levelOf(level + 1)) yield level;
}

/** The lowest level of at least `places`. */
function levelOf(places: number): number {
  if (places <= FIRST_LEVEL) return FIRST_LEVEL;
  for (let scale = 1; ; scale *= 10) {
    for (const step of LEVEL_STEPS) if (places <= step * scale) return step * scale;
  }
}

/** An item by its indexes in the two lists; −1: not in it. */
interface Fused {
  vectorAt: number;
  keywordAt: number;
  externalId: string;
  score: number;
}

/** Two lists, and what of them was taken. */
class Fusion {
  private readonly vector: Hit[];
  private readonly keyword: Hit[];
  /** By index in one list: the index of the same item in the other; −1: not in it. */
  private readonly keywordAt: Int32Array;
  private readonly vectorAt: Int32Array;
  private readonly isVectorTaken: Uint8Array;
  private readonly isKeywordTaken: Uint8Array;

  constructor(
    { vector, keyword }: FusedLists,
    private readonly alpha: number,
  ) {
    this.vector = vector;
    this.keyword = keyword;
    this.keywordAt = new Int32Array(vector.length).fill(-1);
    this.vectorAt = new Int32Array(keyword.length).fill(-1);
    this.isVectorTaken = new Uint8Array(vector.length);
    this.isKeywordTaken = new Uint8Array(keyword.length);
  }

  /** A list alone keeps its order at any depth. */
  get changesWithDepth(): boolean {
    return this.vector.length > 0 && this.keyword.length > 0;
  }

  /** Finds the items that are in both lists. */
  *meet(): Generator<undefined, void> {
    if (!this.changesWithDepth) return;
    const places = new Map<string, number>();
    for (let i = 0; i < this.keyword.length; i++) {
      places.set(this.keyword[i].externalId, i);
      if (isStep(i)) yield;
    }
    for (let i = 0; i < this.vector.length; i++) {
      const place = places.get(this.vector[i].externalId) ?? -1;
      this.keywordAt[i] = place;
      if (place >= 0) this.vectorAt[place] = i;
      if (isStep(i)) yield;
    }
  }

  /**
   * Takes the best `count` items, in the order of answers, that are within the first `depth` hits of the lists and were
   * not taken. Items of one list alone come in its order, so only those of both are sorted.
   */
  *take(depth: number, count: number): Generator<undefined, Fused[]> {
    const vectorEnd = Math.min(depth, this.vector.length);
    const keywordEnd = Math.min(depth, this.keyword.length);
    const isSorted = this.alpha === 0 || this.alpha >= WEIGHT_MIN;
    const unordered: Fused[] = [];
    const vectorAlone: number[] = [];
    const keywordAlone: number[] = [];
    for (let i = 0; i < vectorEnd; i++) {
      const other = this.keywordAt[i];
      if (this.isVectorTaken[i] === 0) {
        if (other >= 0 && other < keywordEnd) unordered.push(this.fused(i, other));
        else if (isSorted) vectorAlone.push(i);
        else unordered.push(this.fused(i, -1));
      }
      if (isStep(i)) yield;
    }
    for (let i = 0; i < keywordEnd; i++) {
      const other = this.vectorAt[i];
      if (this.isKeywordTaken[i] === 0 && !(other >= 0 && other < vectorEnd)) keywordAlone.push(i);
      if (isStep(i)) yield;
    }
    unordered.sort(compareHits);
    const heads: (() => Fused | null)[] = [
      headsOf(unordered, (fused) => fused),
      headsOf(vectorAlone, (i) => this.fused(i, -1)),
      headsOf(keywordAlone, (i) => this.fused(-1, i)),
    ];
    const next = heads.map((head) => head());
    const taken: Fused[] = [];
    while (taken.length < count) {
      let best = -1;
      for (let i = 0; i < next.length; i++) {
        const head = next[i];
        if (head !== null && (best < 0 || compareHits(head, next[best]!) < 0)) best = i;
      }
      if (best < 0) break;
      taken.push(this.marked(next[best]!));
      next[best] = heads[best]();
      if (isStep(taken.length)) yield;
    }
    return taken;
  }

  hitOf({ vectorAt, keywordAt, externalId, score }: Fused, explain: boolean): ScoredHit {
    const [inVector, inKeyword] = [
      vectorAt < 0 ? null : this.vector[vectorAt],
      keywordAt < 0 ? null : this.keyword[keywordAt],
    ];
    const hit: ScoredHit = { externalId, score, metadata: (inVector ?? inKeyword!).metadata };
    if (!explain) return hit;
    return {
      ...hit,
      explanation: {
        vectorRank: inVector === null ? null : vectorAt + 1,
        vectorScore: inVector?.score ?? null,
        keywordRank: inKeyword === null ? null : keywordAt + 1,
        keywordScore: inKeyword?.score ?? null,
        vectorPart: this.ofVector(vectorAt),
        keywordPart: this.ofKeyword(keywordAt),
      },
    };
  }

  private fused(vectorAt: number, keywordAt: number): Fused {
    const { externalId } = vectorAt < 0 ? this.keyword[keywordAt] : this.vector[vectorAt];
    return { vectorAt, keywordAt, externalId, score: this.ofVector(vectorAt) + this.ofKeyword(keywordAt) };
  }

  private ofVector(at: number): number {
    return at < 0 ? 0 : this.alpha / (RANK_CONSTANT + at + 1);
  }

  private ofKeyword(at: number): number {
    return at < 0 ? 0 : (1 - this.alpha) / (RANK_CONSTANT + at + 1);
  }

  /** Also in the list in which it lies beyond the depth. */
  private marked(fused: Fused): Fused {
    const vectorAt = fused.vectorAt < 0 ? this.vectorAt[fused.keywordAt] : fused.vectorAt;
    const keywordAt = fused.keywordAt < 0 ? this.keywordAt[fused.vectorAt] : fused.keywordAt;
    if (vectorAt >= 0) this.isVectorTaken[vectorAt] = 1;
    if (keywordAt >= 0) this.isKeywordTaken[keywordAt] = 1;
    return fused;
  }
}

function headsOf<Item>(items: Item[], fusedOf: (item: Item) => Fused): () => Fused | null {
  let at = 0;
  return () => (at < items.length ? fusedOf(items[at++]) : null);
}

function isStep(i: number): boolean {
  return i % FUSED_PER_STEP === FUSED_PER_STEP - 1;
}
