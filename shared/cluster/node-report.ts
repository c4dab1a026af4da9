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

/** What a replica holds at one point of its log: equal for two replicas that applied the same entries. */
export interface ReplicaDigest {
  appliedSequence: number;
  items: number;
  /** 64 hexadecimal digits each. Every item with its id, stamp, metadata, text and vector. */
  content: string;
  /** The insertion order. */
  order: string;
  /** What sessions have written and given up. */
  sessions: string;
}
