import { resultOf } from '../../../shared/base/time/work-slices';
import { type Fusing, isMade, type Leg } from '../search-request';
import type { ScoredHit } from '../service';
import { ScoreFusion, type WeighedList } from './score-fusion';

/** By ranks, with the constant that the authors chose (Cormack, Clarke and Büttcher, SIGIR 2009). */
export const BY_RANKS: Fusing = { kind: 'rrf', constant: 60, isUnit: false };
/**
 * Depth of each list per place: enough for an item in the middle of both lists to beat one that leads a single list.
 */
const DEPTH_FACTOR = 5;
/** The first level, so that lists are at least 200 deep. */
const FIRST_LEVEL = 40;
/** The levels after it are these times 1, 10, 100, … */
const LEVEL_STEPS = [50, 100, 200];

export interface FusedPage {
  /** undefined: by ranks, with the constant 60. */
  fusing?: Fusing | undefined;
  offset: number;
  k: number;
  explain?: boolean | undefined;
}

/**
 * How many hits of each list fusion needs for the first `places` places: five times as many, rounded up to one of few
 * levels (40, 50, 100, 200, 500, 1,000, … places), so that most pages of a list are cut out of one fusion.
 */
export function fusionDepth(places: number): number {
  return DEPTH_FACTOR * levelOf(places);
}

/** How deep the lists are that are fused for the first `last` places. */
export function listDepth(legs: readonly Leg[], fusing: Fusing | undefined, last: number): number {
  // A single list keeps its ranks, so hits beyond the last requested place change nothing.
  const isRanked = fusing === undefined || fusing.kind === 'rrf';
  return isRanked && legs.filter(isMade).length === 1 ? last : fusionDepth(last);
}

/**
 * Fusion of lists over the whole collection, each in the order of answers and without repetitions (score-fusion.ts), by
 * default Reciprocal Rank Fusion: score = the sum of weight / (60 + rank), ranks from 1; there is no term for a list
 * that does not contain the item. A list of weight 0 counts as empty, because items only in it would score 0. So a list
 * alone keeps its order. Answers places `offset` to `offset + k` in the order of answers, each with its places in the
 * lists if `explain` is set.
 *
 * Deeper lists give items more terms, and so another order. So that pages never overlap or skip, a page leaves out what
 * the pages of the same size before it answered, where these were fused at a smaller depth.
 */
export function fuse(lists: readonly WeighedList[], page: FusedPage): ScoredHit[] {
  return resultOf(fusionSteps(lists, page));
}

/** The same in steps: fusing some thousand hits takes milliseconds. */
export function* fusionSteps(
  lists: readonly WeighedList[],
  { fusing = BY_RANKS, offset, k, explain = false }: FusedPage,
): Generator<undefined, ScoredHit[]> {
  const fusion = new ScoreFusion(lists, fusing);
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
  return taken.slice(offset - served).map((one) => fusion.hitOf(one, explain));
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
