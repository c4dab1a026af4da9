import type { ReplicaId, ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';

/** The replica of a node by its own store. */
export function replicaOn(node: string): ReplicaId {
  return { node, store: `${node}.0` };
}

/** An assignment of shard 0 of collection c in epoch 1: the replicas are those in sync, and the first of them leads. */
export function assignmentOf({ inSync = [], ...rest }: Partial<ShardAssignment>): ShardAssignment {
  return {
    spec: { collectionUid: 'c', shard: 0, dim: 1, metric: 'cosine' },
    minInSync: 1,
    epoch: 1,
    primary: inSync[0] ?? null,
    inSync,
    eligible: [],
    replicas: inSync.map(({ node }) => node),
    adding: [],
    removing: [],
    changeId: '',
    ...rest,
  };
}
