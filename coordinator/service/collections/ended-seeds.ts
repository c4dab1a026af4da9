import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import {
  assignmentFromEntry,
  assignmentPath,
  assignmentToValue,
} from '../../../shared/cluster-store/entries/shard-assignment';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardId } from '../../../shared/contract/shard/shard-client';

/** Every failed attempt means that another change was made. */
const ATTEMPTS_MAX = 32;

/**
 * Takes the seeds of restored shards out of their assignments, once they serve and before anybody may write to them.
 * From then on what they hold is more than the backup has: data that are lost, or put back to before the restore, must
 * not be taken for whole again. The epoch rises, so that nodes keep to this also when the cluster store is put back.
 *
 * In the embedded form there are no assignments: a shard's settings follow from its collection. Errors: unavailable.
 */
export async function endSeeds(
  store: Pick<ClusterStore, 'get' | 'transact'>,
  shards: readonly ShardId[],
): Promise<void> {
  for (const id of shards) await endSeed(store, id);
}

async function endSeed(store: Pick<ClusterStore, 'get' | 'transact'>, id: ShardId): Promise<void> {
  const key = assignmentPath(id);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const entry = await store.get(key);
    const assignment = entry === null ? null : assignmentFromEntry(entry);
    if (entry === null || assignment?.spec.seed === undefined) return;
    const { seed, ...spec } = assignment.spec;
    const ended = { ...assignment, spec, epoch: assignment.epoch + 1, changeId: `filled from ${seed.backup}` };
    if (
      (
        await store.transact(
          [{ key, revision: entry.revision }],
          [{ type: 'put', key, value: assignmentToValue(ended) }],
        )
      ).applied
    )
      return;
  }
  throw new QuiverError(
    'unavailable',
    `shard ${id.shard} is being changed too often to be put in service; it is tried again`,
  );
}
