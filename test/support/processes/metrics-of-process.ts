import type { ShardReading } from '../../../coordinator/service/collections/shard-reading';
import { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { ShardStatus } from '../../../shared/contract/shard/shard-read';
import type { ManualClock } from '../manual-clock';

/** What a shard with something in every field says of itself. */
export const STATUS: ShardStatus = {
  vectorCount: 7,
  lastOperation: 40,
  lastStamp: 5,
  diskBytes: 1000,
  memoryBytes: 2000,
  segments: [
    { kind: 'growing', rows: 8, deletedRows: 1, ef: 0 },
    { kind: 'sealed', rows: 4, deletedRows: 2, ef: 96 },
  ],
  index: { state: 'indexing', rows: 12, indexedRows: 4, refinedRows: 4, secondsLeft: 1, optimizing: false },
};

/** `null`: the shard did not answer. */
export function reading(collection: string, shard: number, status: ShardStatus | null): ShardReading {
  return { collection, collectionUid: `uid-of-${collection}`, shard, status };
}

/** The metrics of a process as the main files make them, and what failed while they were measured. */
export function metricsOfProcess(
  measureTimeoutMs?: number,
  clock?: ManualClock,
): { metrics: ProcessMetrics; errors: unknown[] } {
  const errors: unknown[] = [];
  const identity = { role: 'coordinator', member: 'coordinator-0', version: '1.2.3' } as const;
  return {
    metrics: new ProcessMetrics({ identity, onMeasureError: (error) => errors.push(error), measureTimeoutMs, clock }),
    errors,
  };
}

/** The sample lines whose metric name starts with `prefix`, sorted. */
export async function samples(metrics: ProcessMetrics, prefix: string): Promise<string[]> {
  return (await metrics.text())
    .split('\n')
    .filter((line) => line.startsWith(prefix))
    .sort();
}
