import type { NodeMember } from '../../shared/cluster/members';
import { assignmentPath, type ShardAssignment } from '../../shared/cluster/shard-assignment';
import type { CollectionRecord } from '../collections/collection-record';
import { planFailovers } from './plan-failovers';
import { planMoves } from './plan-moves';
import { planNewShards } from './plan-new-shards';

/** What the controller decides on: its view of the cluster at one moment. */
export interface ClusterPicture {
  /** Every collection, being created or ready. */
  collections: { record: CollectionRecord; revision: number }[];
  assignments: { assignment: ShardAssignment; revision: number }[];
  /** Nodes that hold a session now. */
  members: NodeMember[];
  draining: ReadonlySet<string>;
  /** How long each node that holds shards has been away, in milliseconds; nodes that are there are not in it. */
  awayMs: ReadonlyMap<string, number>;
}

/** One change of the shard map, to be made only if the entry is still at `expectedRevision` (0: there is none). */
export interface PlannedChange {
  path: string;
  expectedRevision: number;
  /** Without `changeId`, which the controller gives. */
  assignment: ShardAssignment;
  /** What for, for the log. */
  reason: 'create' | 'promote' | 'move' | 'finish-move' | 'abort-move';
}

/**
 * The next changes that bring the cluster towards what it should be: every shard assigned, led, with as many replicas as
 * its collection asks for, off the nodes that drain or are lost, and evenly spread. At most one change per shard; each
 * holds by itself, so that any of them may fail.
 */
export function planChanges(picture: ClusterPicture): PlannedChange[] {
  const changes = [...planNewShards(picture), ...planFailovers(picture)];
  const touched = new Set(changes.map(({ path }) => path));
  return [...changes, ...planMoves(picture).filter(({ path }) => !touched.has(path))];
}

/** The change of an existing assignment. */
export function changeOf(
  found: { assignment: ShardAssignment; revision: number },
  change: Partial<ShardAssignment>,
  reason: PlannedChange['reason'],
): PlannedChange {
  return {
    path: assignmentPath(found.assignment.spec),
    expectedRevision: found.revision,
    assignment: { ...found.assignment, ...change },
    reason,
  };
}
