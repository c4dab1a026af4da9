/** What a storage node reports about itself to operators, whenever they ask. */
export interface NodeReport {
  shards: ReplicaReport[];
}

/** One replica on the node. */
export interface ReplicaReport {
  collectionUid: string;
  shard: number;
  role: 'primary' | 'follower';
  /** The epoch in which it leads or follows. */
  epoch: number;
  /** Log positions; 0 if nothing was ever written. */
  lastSequence: number;
  appliedSequence: number;
  vectors: number;
  diskBytes: number;
  /** What a primary knows about the other replicas; empty on a follower. */
  peers: PeerReport[];
}

export interface PeerReport {
  node: string;
  /** The last entry that the replica is known to hold. */
  matchSequence: number;
  /** Progress of a replica that is catching up, 0–1; 1 when it holds everything. */
  progress: number;
}

/** What a replica holds at one point of its log, as hashes. Equal for two replicas that applied the same entries. */
export interface ReplicaDigest {
  appliedSequence: number;
  items: number;
  /** Every item with its id, stamp, metadata, text and vector. 64 hexadecimal digits, like the others. */
  content: string;
  /** The insertion order. */
  order: string;
  /** Which writes of which sessions were applied or given up. */
  sessions: string;
}
