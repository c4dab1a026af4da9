import type { ShardReplica } from '../../node/replication/core/shard-replica';
import type { decidePromotion } from '../../shared/cluster/promotion';
import type { FaultMix } from './faults';
import type { NodeSurroundings, SimulatedNode } from './simulated-node';
import type { SimulatedStorage } from './simulated-storage';
import type { ReplicaEffect } from '../../node/replication/core/effects';

/** A known-bad variant of the protocol: what it breaks, and the faults that bring it out. */
export interface Mutant {
  name: string;
  title: string;
  minInSync?: number;
  faults?: Partial<FaultMix>;
  core?(replica: ShardReplica, clock: () => number): void;
  restart?(storage: SimulatedStorage): void;
  promotion?: typeof decidePromotion;
  change?(node: SimulatedNode, around: NodeSurroundings, effect: Extract<ReplicaEffect, { type: 'change' }>): void;
}

export const MUTANTS: Mutant[] = [];
