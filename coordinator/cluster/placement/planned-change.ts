import type { NodeMember } from '../../../shared/cluster-store/entries/members';
import {
  assignmentPath,
  type ReplicaId,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { CollectionRecord } from '../../service/collections/collection-record';

/** The input of the controller's decisions: its view of the cluster at one moment. */
export interface ClusterPicture {
  /**
   * Every collection, whether it is being created or ready, and once more as it will be with other shards that it is to
   * get. `isNew`: nobody can have written to its shards yet.
   */
  collections: { record: CollectionRecord; revision: number; isNew?: boolean }[];
  assignments: { assignment: ShardAssignment; revision: number }[];
  /** Nodes that hold a session now, and those that are reprieved. */
  members: NodeMember[];
  /**
   * Those `members` that lost their sessions a moment ago. Nothing is taken from them yet, and nothing given to them.
   */
  reprieved: ReadonlySet<string>;
  /** Paths of shards for which nodes know a later assignment (see ClusterMap.behind): nothing is planned for them. */
  behind: ReadonlySet<string>;
  /** Those `members` that most coordinators can't reach. */
  unreachable: ReadonlySet<string>;
  /** By a shard's path, the nodes whose replica of it failed. */
  failing: ReadonlyMap<string, ReadonlySet<string>>;
  draining: ReadonlySet<string>;
  /** For each node that holds shards and is away, since how many milliseconds. Nodes that are present are not in it. */
  awayMs: ReadonlyMap<string, number>;
}

export const CHANGE_REASONS = ['create', 'promote', 'move', 'finish-move', 'abort-move', 'repair'] as const;
export type ChangeReason = (typeof CHANGE_REASONS)[number];

/** One change of the shard map, valid only while the entry is still at `expectedRevision` (0: there is none). */
export interface PlannedChange {
  path: string;
  expectedRevision: number;
  /** The change is made only while the entries of these nodes hold these stores. */
  requires: ReplicaId[];
  /** Without `changeId`: the controller sets it. */
  assignment: ShardAssignment;
  /** The reason, for operators. */
  reason: ChangeReason;
}

/** A change of an existing assignment. */
export function changeOf(
  found: { assignment: ShardAssignment; revision: number },
  change: Partial<ShardAssignment>,
  reason: PlannedChange['reason'],
  requires: ReplicaId[] = [],
): PlannedChange {
  return {
    path: assignmentPath(found.assignment.spec),
    expectedRevision: found.revision,
    requires,
    assignment: { ...found.assignment, ...change },
    reason,
  };
}
