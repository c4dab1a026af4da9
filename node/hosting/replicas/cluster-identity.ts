import { randomUUID } from 'node:crypto';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';

/** Which cluster the cluster store is of: a random id, put once by the first node and never changed. */
export const CLUSTER_PATH = '/q/cluster';

/**
 * The id of the cluster whose store this is. Where there is none yet, it becomes `known`, the id that the caller's data
 * were made under, or a new one: a backup of before there were ids, or an empty store, must not part a node from its
 * data. Errors: unavailable, commit_unknown.
 */
export async function clusterIdOf(store: ClusterStore, known: string | null): Promise<string> {
  const entry = await store.get(CLUSTER_PATH);
  if (entry !== null) return entry.value;
  const id = known ?? randomUUID();
  const result = await store.transact(
    [{ key: CLUSTER_PATH, revision: 0 }],
    [{ type: 'put', key: CLUSTER_PATH, value: id }],
  );
  if (result.applied) return id;
  const [current] = result.current;
  return current?.value ?? id;
}
