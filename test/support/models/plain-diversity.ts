import type { ScoredHit } from '../../../coordinator/service/service';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { scoreOf } from '../../../shared/contract/vector/metric';

/** A hit that may be chosen. */
export interface PlainCandidate {
  hit: ScoredHit;
  relevance: number;
  /** Whether all others come before it; absent: no. */
  isBehind?: boolean;
}

/** Each time the one with the greatest score, from all that are left. */
export function chosenPlainly(
  candidates: readonly PlainCandidate[],
  { vectors, lambda, count }: { vectors: ReadonlyMap<string, Float32Array>; lambda: number; count: number },
): { hit: ScoredHit; firstRank: number; score: number }[] {
  const vectorOf = ({ externalId }: ScoredHit): Float32Array => vectors.get(externalId)!;
  const chosen: { hit: ScoredHit; firstRank: number; score: number }[] = [];
  while (chosen.length < Math.min(count, candidates.length)) {
    const left = candidates.filter((one) => chosen.every(({ hit }) => hit !== one.hit));
    const next = left.filter(({ isBehind = false }) => !isBehind);
    const scored = (next.length > 0 ? next : left).map(({ hit, relevance }) => {
      const alike =
        chosen.length === 0 ? 0 : Math.max(...chosen.map((one) => scoreOf('cosine', vectorOf(one.hit), vectorOf(hit))));
      return { hit, score: lambda * relevance - (1 - lambda) * alike };
    });
    const { hit, score } = scored.reduce((best, one) => (one.score > best.score ? one : best));
    chosen.push({ hit, score, firstRank: candidates.findIndex((one) => one.hit === hit) + 1 });
  }
  return chosen;
}

/** Where each lies between the least and the greatest. */
export function relativePlainly(scores: readonly number[]): number[] {
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  return scores.map((score) => (least === most ? 1 : (score / 2 - least / 2) / (most / 2 - least / 2)));
}

/** Those of a list that have no value under a path of which there are as many as there may be. */
export function takenPlainly(list: readonly ScoredHit[], path: string, atMost: number): ScoredHit[] {
  const taken: ScoredHit[] = [];
  const counts = new Map<unknown, number>();
  for (const hit of list) {
    const value = lookUpPath(JSON.parse(hit.metadata) as JsonObject, path);
    const keys = [...new Set([value].flat().filter((one) => ['string', 'number', 'boolean'].includes(typeof one)))];
    if (keys.some((key) => (counts.get(key) ?? 0) >= atMost)) continue;
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    taken.push(hit);
  }
  return taken;
}
