import { QuiverError } from '../../base/errors/quiver-error';
import type { ShardId, ShardSpec } from '../../contract/shard/shard-client';

/** One entry per shard: `/q/shards/<collection uid>/<shard>`. Every change is guarded by its revision. */
export const ASSIGNMENTS_PREFIX = '/q/shards/';

/**
 * The data of a replica: a node, and the store (data folder) in which it holds them. Another store on the same node is
 * another replica.
 */
export interface ReplicaId {
  node: string;
  store: string;
}

/**
 * Who holds a shard, according to the cluster store: the configuration of one replication group. It changes only by
 * compare-and-swap. The epoch rises whenever the primary changes or a replica is taken away.
 */
export interface ShardAssignment {
  spec: ShardSpec;
  /**
   * true: nobody has written to it, so a replica without data is a new one, in whatever epoch. The primary makes it
   * false before it takes the first write, and nothing makes it true again. Absent: a version made it that does not
   * say.
   */
  unused?: boolean;
  /** With fewer in-sync replicas than this, nothing is committed. */
  minInSync: number;
  /** 0: nobody has led it yet. */
  epoch: number;
  primary: ReplicaId | null;
  /** Replicas that hold every acknowledged write, the primary among them. */
  inSync: ReplicaId[];
  /** Replicas that left the in-sync set when it fell below `minInSync`, so that nothing was committed without them. */
  eligible: ReplicaId[];
  /** Ids of the nodes that should hold the shard, whether in sync or catching up. */
  replicas: string[];
  /** Those of `replicas` that will take the place of `removing`. */
  adding: string[];
  /** Those of `replicas` to be taken away once all of `adding` are in sync. */
  removing: string[];
  /** Names the change that made this value. Its author uses it to find out whether an unanswered change was made. */
  changeId: string;
}

/** An assignment as it was at a revision of the cluster store. */
export interface KnownAssignment {
  assignment: ShardAssignment;
  revision: number;
}

/**
 * Whether `one` came after `other`. The epoch decides before the revision: epochs never fall, and a cluster store that
 * was restored from a backup counts its revisions again.
 */
export function isLaterAssignment(one: KnownAssignment, other: KnownAssignment): boolean {
  const epochs = one.assignment.epoch - other.assignment.epoch;
  return epochs > 0 || (epochs === 0 && one.revision > other.revision);
}

export function assignmentPath(id: ShardId): string {
  return `${ASSIGNMENTS_PREFIX}${id.collectionUid}/${id.shard}`;
}

/** Whether an entry is a shard's assignment. Where one is missing, it is made again as that of an empty shard. */
export function isAssignment(key: string): boolean {
  return key.startsWith(ASSIGNMENTS_PREFIX);
}

export function assignmentToValue(assignment: ShardAssignment): string {
  return JSON.stringify(assignment);
}

/** Errors: storage_failed when the text is not an assignment. */
export function assignmentFromEntry(entry: { key: string; value: string }): ShardAssignment {
  let json: unknown;
  try {
    json = JSON.parse(entry.value);
  } catch (cause) {
    throw unreadable(entry.key, cause);
  }
  const assignment = json as ShardAssignment;
  if (
    typeof assignment !== 'object' ||
    assignment === null ||
    !Number.isSafeInteger(assignment.epoch) ||
    !Array.isArray(assignment.inSync)
  ) {
    throw unreadable(entry.key);
  }
  return assignment;
}

export function isSameReplica(one: ReplicaId, other: ReplicaId): boolean {
  return one.node === other.node && one.store === other.store;
}

/** Whether the node's replica is in sync. */
export function isInSync({ inSync }: ShardAssignment, node: string): boolean {
  return inSync.some((replica) => replica.node === node);
}

/** Whether the node's replica has every acknowledged write: it is in sync or eligible. */
export function isComplete(assignment: ShardAssignment, node: string): boolean {
  return isInSync(assignment, node) || assignment.eligible.some((replica) => replica.node === node);
}

/**
 * Whether the replica has lost its data if there are none: it counts as complete in a shard that is in use. Where the
 * assignment does not say so, that is a shard of which this may not be the first epoch.
 */
export function mustHoldData({ unused, epoch, inSync, eligible }: ShardAssignment, replica: ReplicaId): boolean {
  const isInUse = unused === undefined ? epoch > 1 : !unused;
  return isInUse && [...inSync, ...eligible].some((one) => isSameReplica(one, replica));
}

/** The smallest in-sync set that commits. A shard with one replica needs no other. */
export function minInSyncOf({ replicas, minInSync }: ShardAssignment): number {
  return replicas.length === 1 ? 1 : minInSync;
}

/**
 * The assignment without the replicas that leave, under a new epoch. null as long as a new replica is not in sync, or
 * too few would be in sync without the old ones: nothing could be written then, and fewer stores than promised would
 * have what was acknowledged.
 */
export function withMoveEnded(assignment: ShardAssignment): ShardAssignment | null {
  const { adding, removing } = assignment;
  const stays = (node: string): boolean => !removing.includes(node);
  const after: ShardAssignment = {
    ...assignment,
    epoch: assignment.epoch + 1,
    replicas: assignment.replicas.filter(stays),
    inSync: assignment.inSync.filter(({ node }) => stays(node)),
    eligible: assignment.eligible.filter(({ node }) => stays(node)),
    adding: [],
    removing: [],
  };
  return adding.every((node) => isInSync(after, node)) && after.inSync.length >= minInSyncOf(after) ? after : null;
}

function unreadable(key: string, cause?: unknown): QuiverError {
  return new QuiverError('storage_failed', `the stored assignment at ${key} is unreadable`, { cause });
}
