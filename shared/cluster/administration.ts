import type { AdministrationDefinition } from '../rpc/generated/quiver/v1/administration';
import type { ReplicaDigest } from './node-report';
import type { ShardId } from '../shard/shard-client';
import { loadService } from '../rpc/protocol';

export const administrationDefinition = loadService<AdministrationDefinition>('quiver/v1/administration.proto', 'quiver.v1.Administration');

/**
 * A question to a node. By default it asks for a report; with `probe` for nothing; with `digestOf` for the digest of a
 * replica.
 */
export interface WireQuestion {
  id: number;
  probe: boolean;
  digestOf: ShardId | null;
}

/** A node's answer, as the protocol defines it. */
export interface WireReport {
  id: number;
  report: { shards: WireReplicaReport[] } | null;
  digest: ReplicaDigest | null;
}

export interface WireReplicaReport {
  collectionUid: string;
  shard: number;
  leads: boolean;
  epoch: number;
  lastSequence: number;
  appliedSequence: number;
  vectors: number;
  diskBytes: number;
  peers: { node: string; matchSequence: number; progress: number }[];
}
