import { inSlices } from '../../../shared/base/time/work-slices';
import { compareHits } from '../../../shared/contract/shard/shard-read';
import type { Page, Source } from '../search-request';
import type { ScoredHit } from '../service';
import type { ExampleVectors } from './example-vectors';
import { mergedInTurn } from './merge';

/** The longest list of one positive. */
const DEPTH_MAX = 10_000;
/** Where negatives leave too few, lists are asked for again, this much longer. */
const DEPTH_FACTOR = 4;
/** Candidates that are scored against negatives at once: at least; as many as before together; at most. */
const SCORED = { least: 64, most: 1_024 };
/** Hits that are looked at before others may be served. */
const HITS_PER_STEP = 1_024;

/** What the ranking by the best score asks for. */
export interface BestScoreParts {
  /** For each of the vectors, its nearest, `depth` of them or all that there are, and how many vectors there are. */
  nearest(
    vectors: readonly Float32Array[],
    depth: number,
  ): Promise<{ lists: ScoredHit[][]; totalCount: number | null }>;
  /** Whether lists are by other scores than those: then items are scored against positives, too. */
  isBoosted: boolean;
  /** The exact scores of items against a vector, without boosts and without those that are gone. */
  scores(vector: Float32Array, externalIds: string[]): Promise<Map<string, number>>;
  /** Does what reads longer lists than the first ones, which hold more than was foreseen. */
  deeper<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Whether examples are ranked so: one positive alone is the same by both strategies. */
export function isOfBestScore(
  { strategy }: Extract<Source, { type: 'examples' }>,
  examples: { positives: readonly unknown[]; negatives: readonly unknown[] } | undefined,
): boolean {
  return strategy === 'best_score' && !(examples?.positives.length === 1 && examples.negatives.length === 0);
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
  /** By id, whether it is nearer to a negative than to each positive, or as near. */
  const rejected = new Map<string, boolean>();
  const bestOf = async (vectors: readonly Float32Array[], ids: string[]): Promise<(id: string) => number> => {
    const scores = await Promise.all(vectors.map((vector) => parts.scores(vector, ids)));
    return (id) => Math.max(-Infinity, ...scores.map((of) => of.get(id) ?? -Infinity));
  };
  const look = async (hits: readonly ScoredHit[]): Promise<void> => {
    const ids = hits.map(({ externalId }) => externalId);
    const against = await bestOf(negatives, ids);
    const towards = parts.isBoosted && negatives.length > 0 ? await bestOf(positives, ids) : undefined;
    for (const { externalId: id, score } of hits) rejected.set(id, (towards?.(id) ?? score) <= against(id));
  };
  const deepest = DEPTH_MAX + leftOut.size;
  /** null: the lists are too short. */
  const round = async (depth: number): Promise<{ hits: ScoredHit[]; totalCount: number | null } | null> => {
    const { lists, totalCount } = await parts.nearest(positives, depth);
    const { candidates, isLast } = await inSlices(candidatesOf(lists, { depth, isDeepest: depth >= deepest, leftOut }));
    const hits = await kept(candidates, wanted, rejected, look);
    return hits.length >= wanted || isLast ? { hits: hits.slice(offset, wanted), totalCount } : null;
  };
  let depth = bestScoreDepth(wanted, leftOut.size);
  for (let found = await round(depth); ; found = await parts.deeper(() => round(depth))) {
    if (found !== null) return found;
    depth = Math.min(deepest, DEPTH_FACTOR * depth);
  }
}

/**
 * The items of all lists with their best scores, in the order of answers, as far as nothing behind the ends of lists
 * comes before them; all, where lists are not read any deeper. In steps: there may be hundreds of thousands.
 */
function* candidatesOf(
  lists: ScoredHit[][],
  { depth, isDeepest, leftOut }: { depth: number; isDeepest: boolean; leftOut: ReadonlySet<string> },
): Generator<undefined, { candidates: ScoredHit[]; isLast: boolean }> {
  const ends = lists.filter((list) => list.length === depth).map((list) => list[depth - 1]);
  const isLast = isDeepest || ends.length === 0;
  const bound = isLast ? undefined : ends.sort(compareHits)[0];
  const seen = new Set(leftOut);
  const candidates: ScoredHit[] = [];
  let looked = 0;
  for (const hit of mergedInTurn(lists)) {
    if (bound !== undefined && compareHits(hit, bound) > 0) break;
    // Of an item in several lists, the best comes first.
    if (!seen.has(hit.externalId)) candidates.push(hit);
    seen.add(hit.externalId);
    looked += 1;
    if (looked % HITS_PER_STEP === 0) yield;
  }
  return { candidates, isLast };
}

/** The first `wanted` candidates that are not `rejected`, as far as that is known; `look` finds it out for others. */
async function kept(
  candidates: readonly ScoredHit[],
  wanted: number,
  rejected: ReadonlyMap<string, boolean>,
  look: (hits: readonly ScoredHit[]) => Promise<void>,
): Promise<ScoredHit[]> {
  const hits: ScoredHit[] = [];
  for (let from = 0; from < candidates.length && hits.length < wanted;) {
    const count = Math.min(SCORED.most, Math.max(SCORED.least, wanted - hits.length, from));
    const some = candidates.slice(from, from + count);
    from += some.length;
    const unknown = some.filter(({ externalId }) => !rejected.has(externalId));
    if (unknown.length > 0) await look(unknown);
    hits.push(...some.filter(({ externalId }) => rejected.get(externalId) === false));
  }
  return hits.slice(0, wanted);
}
