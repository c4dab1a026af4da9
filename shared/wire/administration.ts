import type { AdministrationDefinition } from './generated/quiver/v1/administration';
import type { ReplicaDigest } from '../cluster-store/entries/node-report';
import type { ShardId } from '../contract/shard/shard-client';
import { loadService } from './streams/protocol';

export const administrationDefinition = loadService<AdministrationDefinition>(
  'quiver/v1/administration.proto',
  'quiver.v1.Administration',
);

/**
 * A question to a node. By default it asks for a report; with `probe` for nothing; with `digestOf` for the digest of a
 * replica, at an entry of its log unless `atSequence` is 0; with `replace` that it begins a replica again; with
 * `optimize` that it makes the best index of a replica; with `purge` how far the purge of a replica is, which begins
 * with `purgeStart`.
 */
export interface AdministrationRequest {
  id: number;
  probe: boolean;
  digestOf: ShardId | null;
  atSequence?: number;
  replace?: Replacement | null;
  optimize?: ShardId | null;
  purge?: ShardId | null;
  purgeStart?: boolean;
}

/** A replica that differs from its primary's, and is to be replaced by a copy of that. */
export interface Replacement {
  shard: ShardId;
  /** In which the primary asks for it. */
  epoch: number;
  /** The store that differs. */
  store: string;
  /** The entry of the log after which both were looked at. */
  atSequence: number;
}

/** A node's answer, as the protocol defines it. */
export interface WireReport {
  id: number;
  report: { shards: WireReplicaReport[] } | null;
  digest: ReplicaDigest | null;
  /** Absent in answers of earlier versions. */
  replaced?: boolean;
  /** See purgesToText; '' or absent: there is no replica, or no such answer. */
  purge?: string;
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
