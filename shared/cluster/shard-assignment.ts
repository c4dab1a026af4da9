import { QuiverError } from '../errors/quiver-error';
import type { ShardId, ShardSpec } from '../shard/shard-client';

/** One entry per shard: `/q/shards/<collection uid>/<shard>`. Its revision guards every change of it. */
export const ASSIGNMENTS_PREFIX = '/q/shards/';

/** A replica's data: a node and the store (data folder) it holds them in. Another store of the same node is another replica. */
export interface ReplicaId {
  node: string;
  store: string;
}

/**
 * Who holds a shard, as the cluster store says it: the configuration of one replication group. Changed by
 * compare-and-swap only; the epoch rises whenever the primary changes or a replica is taken away.
 */
export interface ShardAssignment {
  spec: ShardSpec;
  /** Fewer in-sync replicas than this commit nothing. */
  minInSync: number;
  /** 0: not yet led by anyone. */
  epoch: number;
  primary: ReplicaId | null;
  /** Replicas that hold every acknowledged write, the primary among them. */
  inSync: ReplicaId[];
  /** Replicas that left the in-sync set when it fell below `minInSync`, so that nothing was committed without them. */
  eligible: ReplicaId[];
  /** Node ids that are to hold the shard: in sync or catching up. */
  replicas: string[];
  /** Of `replicas`, those that are to take over from `removing`. */
  adding: string[];
  /** Of `replicas`, those to be taken away once every one of `adding` is in sync. */
  removing: string[];
  /** Names the change that led here: how its author finds out whether an unanswered change was made. */
  changeId: string;
}

export function assignmentPath(id: ShardId): string {
  return `${ASSIGNMENTS_PREFIX}${id.collectionUid}/${id.shard}`;
}

/** Whether an entry is a shard's assignment, which is made anew where there is none: as that of an empty shard. */
export function isAssignment(key: string): boolean {
  return key.startsWith(ASSIGNMENTS_PREFIX);
}

export function assignmentToValue(assignment: ShardAssignment): string {
  return JSON.stringify(assignment);
}

/** Errors: storage_failed when the text is no assignment. */
export function assignmentFromEntry(entry: { key: string; value: string }): ShardAssignment {
  let json: unknown;
  try {
    json = JSON.parse(entry.value);
  } catch (cause) {
    throw unreadable(entry.key, cause);
  }
  const assignment = json as ShardAssignment;
  if (typeof assignment !== 'object' || assignment === null || !Number.isSafeInteger(assignment.epoch) || !Array.isArray(assignment.inSync)) {
    throw unreadable(entry.key);
  }
  return assignment;
}

export function isSameReplica(one: ReplicaId, other: ReplicaId): boolean {
  return one.node === other.node && one.store === other.store;
}

function unreadable(key: string, cause?: unknown): QuiverError {
  return new QuiverError('storage_failed', `the stored assignment at ${key} is unreadable`, { cause });
}
