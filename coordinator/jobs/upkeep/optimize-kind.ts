import { setTimeout as sleep } from 'node:timers/promises';
import type { ShardStatus } from '../../../shared/contract/shard/shard-read';
import { collectionProgress } from '../../service/collections/collection-progress';
import type { ShardUpkeep } from '../../service/collections/shard-upkeep';
import type { JobRights } from '../../service/jobs-service';
import type { JobKind, RunningJob } from '../record/job-kind';

export const OPTIMIZE = 'optimize';
const CHECK_MS = 1_000;
/** How often shards are asked again that say they are done, and are not: rows came since, or a node has started. */
const ROUNDS_MAX = 3;

export interface OptimizeInput {
  /** Of the collection. */
  identity: string;
}

/** Has each shard make the best index of its vectors. One that forgets it, because its node stops, begins again. */
export class OptimizeKind implements JobKind {
  readonly kind = OPTIMIZE;
  readonly rights: JobRights = { see: 'readonly', change: 'readwrite' };
  readonly atOnce = 16;
  readonly unpausable = 'nodes go on with what they have begun';

  constructor(private readonly parts: { upkeep: ShardUpkeep; lookMs?: number }) {}

  async run(job: RunningJob, stop: AbortSignal): Promise<object> {
    const { upkeep, lookMs = CHECK_MS } = this.parts;
    const { identity } = job.record.input as OptimizeInput;
    const name = job.record.collection!;
    await upkeep.optimize(await upkeep.find(name, identity));
    for (let round = 1; ;) {
      const statuses = await upkeep.statuses(await upkeep.find(name, identity));
      const { state, rows, indexedRows, refinedRows } = collectionProgress(statuses.map(({ index }) => index));
      job.report({ step: state, done: Math.round((indexedRows + refinedRows) / 2), total: rows, waitsFor: null });
      if (!statuses.some(({ index }) => index?.optimizing === true)) {
        if (round === ROUNDS_MAX || statuses.every(isBest))
          return { rows, rows_indexed: indexedRows, rows_refined: refinedRows };
        round += 1;
        await upkeep.optimize(await upkeep.find(name, identity));
      }
      await sleep(lookMs, undefined, { signal: stop });
    }
  }
}

/** Few rows are scanned, and need no graph. */
function isBest({ index, segments }: ShardStatus): boolean {
  if (index === null) return true;
  const { state, rows, indexedRows } = index;
  return (
    state === 'ready' && (indexedRows === 0 || indexedRows >= rows) && segments.every((one) => one.deletedRows === 0)
  );
}
