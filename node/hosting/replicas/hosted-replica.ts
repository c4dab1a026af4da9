import type { ReplicaDigest, ReplicaReport } from '../../../shared/cluster-store/entries/node-report';
import type { ShardSpec } from '../../../shared/contract/shard/shard-client';
import type { Pace } from '../../../shared/base/time/pace';
import type { Replica } from '../../replication/replica';
import type { Shard } from '../../engine/shard/shard';
import type { ReplicaObservation } from '../../engine/shard/shard-observation';

/** A replica of a shard, open on this node: the protocol at work and the shard that it fills. */
export interface HostedReplica {
  readonly spec: ShardSpec;
  readonly replica: Replica;
  /** The shard changes when a copy takes its place. */
  readonly shard: Shard;
  /** What it holds, read from its store while writes go on. Errors: those of digestOf. */
  digest(): Promise<ReplicaDigest>;
  /** What it holds after exactly this entry of its log; see RocksReplicaStorage. Errors: those of digestOf. */
  digestAt(sequence: number, how: { withinMs: number; pace: Pace; stop: AbortSignal }): Promise<ReplicaDigest | null>;
  /** Stops taking part and closes the shard with a checkpoint, or without one when its data are to be removed. */
  close(reason: 'closed' | 'dropped'): Promise<void>;
}

/** What the metrics show of it. Errors: those of a shard that closes. */
export async function observationOf({ spec, replica, shard }: HostedReplica): Promise<ReplicaObservation> {
  const data = await shard.observe();
  const { role, epoch, lastSequence, applied, peers } = replica.status();
  return {
    collectionUid: spec.collectionUid,
    shard: spec.shard,
    leads: role === 'primary',
    epoch,
    lastSequence,
    appliedSequence: applied,
    pendingWrites: replica.pendingWrites,
    lagMax: Math.max(0, ...peers.map(({ lag }) => lag)),
    data,
  };
}

/** What operators are told of it. */
export async function reportOf({ spec, replica, shard }: HostedReplica): Promise<ReplicaReport> {
  const status = replica.status();
  const { diskBytes, vectorCount } = await shard.status();
  return {
    collectionUid: spec.collectionUid,
    shard: spec.shard,
    role: status.role,
    epoch: status.epoch,
    lastSequence: status.lastSequence,
    appliedSequence: status.applied,
    vectors: vectorCount,
    diskBytes,
    peers: status.peers.map(({ node, match }) => ({
      node,
      matchSequence: match,
      progress: status.lastSequence === 0 ? 1 : Math.min(1, Math.max(0, match / status.lastSequence)),
    })),
  };
}
