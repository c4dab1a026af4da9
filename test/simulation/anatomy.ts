import type { Proposal } from '../../node/replication/core/membership';
import type { Peer } from '../../node/replication/core/peer';
import type { HeartbeatPace } from '../../node/replication/core/pace';
import type { ShardReplica } from '../../node/replication/core/shard-replica';
import type { WriteLedger } from '../../node/replication/core/write-ledger';
import type { AppendAck, AppendMessage, LogPosition } from '../../node/replication/core/messages';
import type { Primary } from '../../node/replication/core/primary';
import type { ReplicaId, ShardAssignment } from '../../shared/cluster-store/entries/shard-assignment';

/** The organs of a replica, for mutants that replace one of them. Production code has no way to reach them. */
export interface Anatomy {
  primary: AnatomyOfPrimary | null;
  log: {
    promisedEpoch: number;
    lastLedEpoch: number;
    lastSequence: number;
    index: { lastSequence: number };
    append(change: { truncateAfter?: number }): number;
  };
  progress: Progress;
  ledger: WriteLedger;
  membership: {
    confirmed: ShardAssignment | null;
    revision: number;
    pending: (Proposal & { sentAt: number; expectedRevision: number }) | null;
    unsettled: ReplicaId[];
    maximal(): ReplicaId[];
    hasEnough(): boolean;
    isUnused(): boolean;
    wasJustRefused(kind: Proposal['kind'], nowMs: number): boolean;
    propose(proposal: Proposal, nowMs: number): void;
    adopt(assignment: ShardAssignment, revision: number): boolean;
    answered(changeId: string, revision: number, nowMs: number): void;
  };
  grant: { until: number };
  shares: { holders(nowMs: number): ReplicaId[] };
  follower: {
    agreed: number;
    share: { until: number; isValid(nowMs: number): boolean };
    answersUntil(): number;
    forget(): void;
    isFenced(epoch: number): boolean;
    mayInstall(epoch: number, last: LogPosition): boolean;
    agreesBefore(message: AppendMessage): boolean;
    append(message: AppendMessage, nowMs: number): void;
  };
  lead(epoch: number, nowMs: number): void;
  resume(assignment: ShardAssignment, nowMs: number): void;
}

export type AnatomyOfPrimary = Omit<Primary, 'peers'> & {
  peers: {
    byNode: Map<string, Peer>;
    progress: Progress;
    answered(ack: AppendAck, nowMs: number): void;
    releasesLease: boolean;
    pace: HeartbeatPace;
    sharesSince(peer: Peer, nowMs: number): number;
    shareWith(peer: Peer, nowMs: number): number;
    wentBack(peer: Peer, ack: AppendAck): boolean;
  };
  changeMembership(nowMs: number): void;
};

interface Progress {
  committed: number;
  applied: number;
}

export function anatomyOf(replica: ShardReplica): Anatomy {
  return replica as unknown as Anatomy;
}

/** Does something to every primary that the replica becomes, before it does anything. */
export function onLeading(replica: ShardReplica, act: (primary: AnatomyOfPrimary, anatomy: Anatomy) => void): void {
  const anatomy = anatomyOf(replica);
  const lead = anatomy.lead.bind(replica);
  anatomy.lead = (epoch, nowMs) => {
    lead(epoch, nowMs);
    act(anatomy.primary!, anatomy);
  };
}
