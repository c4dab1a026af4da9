import type { AdministrationDefinition } from './generated/quiver/v1/Administration';
import { loadService } from './protocol';

export const administrationDefinition = loadService<AdministrationDefinition>('quiver/v1/administration.proto', 'quiver.v1.Administration');

/** A node's report as the protocol has it. */
export interface WireReport {
  id: number;
  report: { shards: WireReplicaReport[] } | null;
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
