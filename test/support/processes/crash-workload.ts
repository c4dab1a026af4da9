import type { WriteOperation } from '../../../shared/contract/shard/shard-client';
import { seededRandom } from '../values/random';

/**
 * Writes that a process and the one that outlives it both know: each writer owns its ids and sends one batch after the
 * other, so what is stored is the state after its acknowledged batches, or after one more.
 */
export const WORKLOAD = { writers: 4, idsPerWriter: 40, dim: 16 } as const;

export const SHARD = { collectionUid: 'crash', shard: 0, dim: WORKLOAD.dim, metric: 'cosine' } as const;

/** Batch `number` (from 1) of a writer. */
export function batchOf(seed: number, writer: number, number: number): WriteOperation[] {
  const random = seededRandom(seed ^ Math.imul(writer + 1, 0x9e3779b1) ^ Math.imul(number, 0x85ebca6b));
  const count = random() < 0.1 ? 60 : 1 + Math.floor(random() * 10);
  return Array.from({ length: count }, (_, i): WriteOperation => {
    const externalId = `w${writer}-${Math.floor(random() * WORKLOAD.idsPerWriter)}`;
    if (random() < 0.35) return { type: 'delete', externalId };
    return {
      type: 'upsert',
      externalId,
      vector: Float32Array.from({ length: WORKLOAD.dim }, () => random() - 0.5),
      stamp: number * 1000 + i,
      metadata:
        random() < 0.7 ? JSON.stringify({ writer, number, note: 'n'.repeat(Math.floor(random() * 300)) }) : undefined,
      text: random() < 0.5 ? `batch number${number} of writer${writer}` : undefined,
    };
  });
}
