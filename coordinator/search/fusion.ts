import { compareHits, type Hit } from '../../shared/shard/shard-read';
import { resultOf } from '../../shared/time/work-slices';
import type { FusedPlaces, ScoredHit } from '../service';

/** The constant of Reciprocal Rank Fusion, as its authors chose it (Cormack, Clarke and Büttcher, SIGIR 2009). */
const RANK_CONSTANT = 60;
/** Least depth of each list: enough for an item in the middle of both lists to beat one that leads a single list. */
const DEPTH_MIN = 200;
/** Depth of each list per requested place. */
const DEPTH_FACTOR = 5;
/**
 * Most hits of each list beyond the requested places. After a thousand places, the terms of two neighbours differ by a
 * millionth, so more depth changes little except the cost of the search.
 */
const DEPTH_BEYOND_MAX = 4_000;
/** Hits fused before others may be served. */
const FUSED_PER_STEP = 1_024;

/** How many hits of each list fusion needs for the first `places` places. */
export function fusionDepth(places: number): number {
  return Math.max(DEPTH_MIN, Math.min(DEPTH_FACTOR * places, places + DEPTH_BEYOND_MAX));
}

export interface FusedPage {
  alpha: number;
  offset: number;
  k: number;
  explain?: boolean | undefined;
}

/**
 * Reciprocal Rank Fusion of two lists over the whole collection, each in the order of answers and without repetitions:
 * score = alpha / (60 + vector rank) + (1 − alpha) / (60 + keyword rank). Ranks start at 1; there is no term for a list
 * that does not contain the item. A list of weight 0 counts as empty, because items only in it would score 0. So alpha
 * 1 gives exactly the order of the vector list, and alpha 0 that of the keyword list. Answers places `offset` to
 * `offset + k` in the order of answers, each with its places in the two lists if `explain` is set.
 */
export function fuse(lists: { vector: Hit[]; keyword: Hit[] }, page: FusedPage): ScoredHit[] {
  return resultOf(fusionSteps(lists, page));
}

/** The same in steps: fusing some thousand hits takes milliseconds. */
export function* fusionSteps(lists: { vector: Hit[]; keyword: Hit[] }, page: FusedPage): Generator<undefined, ScoredHit[]> {
  const { alpha, offset, k, explain = false } = page;
  const vector = alpha > 0 ? lists.vector : [];
  const keyword = alpha < 1 ? lists.keyword : [];
  const fused = new Map<string, ScoredHit>();
  for (let i = 0; i < vector.length; i++) {
    const { externalId, metadata } = vector[i];
    fused.set(externalId, { externalId, score: alpha / (RANK_CONSTANT + i + 1), metadata });
    if (i % FUSED_PER_STEP === FUSED_PER_STEP - 1) yield;
  }
  for (let i = 0; i < keyword.length; i++) {
    const { externalId, metadata } = keyword[i];
    const score = (1 - alpha) / (RANK_CONSTANT + i + 1);
    const found = fused.get(externalId);
    if (found === undefined) fused.set(externalId, { externalId, score, metadata });
    else found.score += score;
    if (i % FUSED_PER_STEP === FUSED_PER_STEP - 1) yield;
  }
  const hits = [...fused.values()].sort(compareHits).slice(offset, offset + k);
  return explain ? yield* explained(hits, { vector, keyword }) : hits;
}

function* explained(hits: ScoredHit[], lists: { vector: Hit[]; keyword: Hit[] }): Generator<undefined, ScoredHit[]> {
  yield;
  const vector = placesOf(lists.vector);
  yield;
  const keyword = placesOf(lists.keyword);
  yield;
  return hits.map((hit) => {
    const [inVector, inKeyword] = [vector.get(hit.externalId), keyword.get(hit.externalId)];
    const explanation: FusedPlaces = {
      vectorRank: inVector?.rank ?? null,
      vectorScore: inVector?.score ?? null,
      keywordRank: inKeyword?.rank ?? null,
      keywordScore: inKeyword?.score ?? null,
    };
    return { ...hit, explanation };
  });
}

function placesOf(list: Hit[]): Map<string, { rank: number; score: number }> {
  return new Map(list.map(({ externalId, score }, i) => [externalId, { rank: i + 1, score }]));
}
