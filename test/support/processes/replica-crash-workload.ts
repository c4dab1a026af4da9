import type { LogEntry } from '../../../node/replication/core/replica-state';
import type { WriteOperation } from '../../../shared/contract/shard/shard-client';
import { seededRandom } from '../values/random';
import { writeEntry } from '../shards/stored-replica';

/** A log that a process and the one that outlives it both know: every entry follows from its position. */
export const CRASH_SPEC = { collectionUid: 'crash', shard: 0, dim: 8, metric: 'cosine' } as const;

export function entryAt(seed: number, position: { epoch: number; sequence: number }): LogEntry {
  const { epoch, sequence } = position;
  const random = seededRandom(seed ^ Math.imul(sequence, 0x9e3779b1) ^ Math.imul(epoch, 0x85ebca6b));
  if (random() < 0.1) return { ...position, write: null };
  const count = random() < 0.1 ? 80 : 1 + Math.floor(random() * 8);
  const operations = Array.from({ length: count }, (_, i): WriteOperation => {
    const externalId = `id${Math.floor(random() * 120)}`;
    if (random() < 0.3) return { type: 'delete', externalId };
    return {
      type: 'upsert',
      externalId,
      vector: Float32Array.from({ length: CRASH_SPEC.dim }, () => random() - 0.5),
      stamp: sequence * 1000 + i,
      metadata:
        random() < 0.6 ? JSON.stringify({ epoch, sequence, note: 'n'.repeat(Math.floor(random() * 200)) }) : undefined,
      text: random() < 0.5 ? `entry number${sequence}` : undefined,
    };
  });
  const session = random() < 0.5 ? 'a' : 'b';
  // Some repeat a number of their session.
  const requestNumber = sequence - (random() < 0.2 ? Math.floor(random() * 5) : 0);
  return writeEntry(position, operations, { session, requestNumber, settledBelow: Math.max(0, sequence - 20) });
}
