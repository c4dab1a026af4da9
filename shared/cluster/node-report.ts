/** What a storage node tells operators of itself, asked for whenever they look. */
export interface NodeReport {
  shards: ReplicaReport[];
}

/** One replica on the node. */
export interface ReplicaReport {
  collectionUid: string;
  shard: number;
  role: 'primary' | 'follower';
  /** The epoch that it leads or follows. */
  epoch: number;
  /** Log positions; 0 if nothing was ever written. */
  lastSequence: number;
  appliedSequence: number;
  vectors: number;
  diskBytes: number;
  /** What a primary knows of the others; empty on a follower. */
  peers: PeerReport[];
}

export interface PeerReport {
  node: string;
  /** The last entry that it is known to hold. */
  matchSequence: number;
  /** Of a replica that is catching up: 0–1; 1 when it holds all. */
  progress: number;
}
