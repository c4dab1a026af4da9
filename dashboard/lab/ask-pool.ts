import { call } from '../api/client';
import type { QueryHit } from '../api/shapes';
import { EXCERPT_MAX } from '../search/excerpt';
import { type PooledHit, pooled } from './pool';
import type { Variant } from './variants';

/** Asks a query in each variant, one after the other. */
export async function askPool(
  collection: string,
  query: string,
  variants: readonly Variant[],
  k: number,
  stop: AbortSignal,
): Promise<PooledHit[]> {
  const answers: QueryHit[][] = [];
  for (const { options } of variants) {
    const answer = await call<'post_query'>('POST', '/v1/query', {
      body: {
        ...options,
        query,
        collection_name: collection,
        top_k: k,
        include_text: true,
        highlight: { fragments: 1, size: EXCERPT_MAX },
      },
      signal: stop,
    });
    answers.push(answer.results ?? []);
  }
  return pooled(answers);
}
