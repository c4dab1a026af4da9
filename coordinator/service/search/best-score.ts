import { compareHits } from '../../../shared/contract/shard/shard-read';
import type { Page } from '../search-request';
import type { ScoredHit } from '../service';
import type { ExampleVectors } from './example-vectors';

/** The longest list of one positive. */
const DEPTH_MAX = 10_000;
/** Where negatives leave too few, lists are asked for again, this much longer. */
const DEPTH_FACTOR = 4;
/** Candidates that are scored against negatives at once, at least. */
const SCORED_MIN = 64;

/** What the ranking by the best score asks for. */
export interface BestScoreParts {
  /** For each of the vectors, its nearest, `depth` of them or all that there are, and how many vectors there are. */
  nearest(
    vectors: readonly Float32Array[],
    depth: number,
  ): Promise<{ lists: ScoredHit[][]; totalCount: number | null }>;
  /** The exact scores of items against a vector, without those that are gone. */
  scores(vector: Float32Array, externalIds: string[]): Promise<Map<string, number>>;
}

/** How deep the list of each positive is at first. */
export function bestScoreDepth(places: number, leftOut: number): number {
  return Math.min(DEPTH_MAX + leftOut, 2 * places + leftOut);
}

/**
 * Items by their score against the positive that is nearest to them, without those in `leftOut`. One that is as near or
 * nearer to a negative is no hit. The lists of the positives are read until nothing behind them can be among the places
 * that are asked for, each up to its 10,000 nearest.
 */
export async function bestScores(
  parts: BestScoreParts,
  { positives, negatives }: ExampleVectors,
  leftOut: ReadonlySet<string>,
  { offset, k }: Pick<Page, 'offset' | 'k'>,
): Promise<{ hits: ScoredHit[]; totalCount: number | null }> {
  const wanted = offset + k;
  /** By id, the best score against a negative. */
  const against = new Map<string, number>();
  let depth = bestScoreDepth(wanted, leftOut.size);
  for (;;) {
    const { lists, totalCount } = await parts.nearest(positives, depth);
    const { sure, others, isEnd } = divided(lists, depth);
    const isLast = isEnd || depth >= DEPTH_MAX + leftOut.size;
    const candidates = (isLast ? [...sure, ...others] : sure).filter(({ externalId }) => !leftOut.has(externalId));
    const hits = await kept(candidates, wanted, against, async (ids) =>
      Promise.all(negatives.map((vector) => parts.scores(vector, ids))),
    );
    if (hits.length >= wanted || isLast) return { hits: hits.slice(offset, wanted), totalCount };
    depth = Math.min(DEPTH_MAX + leftOut.size, DEPTH_FACTOR * depth);
  }
}

/**
 * The items of all lists with their best scores, in the order of answers: those that nothing behind the ends of the
 * lists comes before, and the others, among which there may be such. `isEnd`: nothing is behind the ends.
 */
function divided(
  lists: readonly ScoredHit[][],
  depth: number,
): { sure: ScoredHit[]; others: ScoredHit[]; isEnd: boolean } {
  const best = new Map<string, ScoredHit>();
  for (const hit of lists.flat()) {
    const known = best.get(hit.externalId);
    if (known === undefined || hit.score > known.score) best.set(hit.externalId, hit);
  }
  const all = [...best.values()].sort(compareHits);
  const ends = lists.filter((list) => list.length === depth).map((list) => list[depth - 1]);
  if (ends.length === 0) return { sure: all, others: [], isEnd: true };
  const bound = ends.sort(compareHits)[0];
  const behind = all.findIndex((hit) => compareHits(hit, bound) > 0);
  return behind < 0
    ? { sure: all, others: [], isEnd: false }
    : { sure: all.slice(0, behind), others: all.slice(behind), isEnd: false };
}

/**
 * The first `wanted` candidates that score more than against each negative. `against`: what is known of that;
 * `scoresOf`: their scores against each negative.
 */
async function kept(
  candidates: readonly ScoredHit[],
  wanted: number,
  against: Map<string, number>,
  scoresOf: (ids: string[]) => Promise<Map<string, number>[]>,
): Promise<ScoredHit[]> {
  const hits: ScoredHit[] = [];
  for (let from = 0; from < candidates.length && hits.length < wanted;) {
    const some = candidates.slice(from, from + Math.max(SCORED_MIN, wanted - hits.length));
    from += some.length;
    const unknown = some.map(({ externalId }) => externalId).filter((id) => !against.has(id));
    const scores = unknown.length === 0 ? [] : await scoresOf(unknown);
    for (const id of unknown) against.set(id, Math.max(-Infinity, ...scores.map((of) => of.get(id) ?? -Infinity)));
    hits.push(...some.filter(({ externalId, score }) => score > against.get(externalId)!));
  }
  return hits.slice(0, wanted);
}
