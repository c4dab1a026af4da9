import type { QueryHit } from '../api/shapes';

/** A hit that some variants have. */
export interface PooledHit {
  hit: QueryHit;
  /** Its place in the answer of each variant, from 1; null: that does not have it. */
  places: (number | null)[];
}

/**
 * The hits of several answers to a query as one list, each once: the first ones, then the second ones, and so on, so
 * that no answer is before another.
 */
export function pooled(answers: readonly (readonly QueryHit[])[]): PooledHit[] {
  const found = new Map<string, PooledHit>();
  const longest = Math.max(0, ...answers.map(({ length }) => length));
  for (let place = 1; place <= longest; place += 1)
    for (const [at, answer] of answers.entries()) {
      const hit = answer[place - 1];
      if (hit === undefined) continue;
      const known = found.get(hit.external_id) ?? { hit, places: answers.map(() => null) };
      found.set(hit.external_id, { ...known, places: known.places.with(at, known.places[at] ?? place) });
    }
  return [...found.values()];
}
