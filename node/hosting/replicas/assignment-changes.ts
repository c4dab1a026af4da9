import { NODES_PREFIX, memberFromEntry, type NodeMember, storeOf } from '../../../shared/cluster-store/entries/members';
import {
  assignmentFromEntry,
  assignmentPath,
  assignmentToValue,
  type ReplicaId,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { ClusterStore, Guard } from '../../../shared/cluster-store/cluster-store';
import type { ChangeResult } from '../../replication/replica';

/** A primary's change of its shard's assignment, as one transaction that names what it expects. */
export class AssignmentChanges {
  private readonly store: ClusterStore;

  constructor(options: { store: ClusterStore }) {
    this.store = options.store;
  }

  /**
   * Makes the change if the assignment is still at `expectedRevision` and the nodes of `requires` are members with
   * these stores. Errors: unavailable, commit_unknown.
   */
  async make(change: {
    assignment: ShardAssignment;
    expectedRevision: number;
    requires: ReplicaId[];
  }): Promise<ChangeResult> {
    const key = assignmentPath(change.assignment.spec);
    const guards: Guard[] = [{ key, revision: change.expectedRevision }];
    for (const { node, store } of change.requires) {
      const entry = await this.store.get(NODES_PREFIX + node);
      if (entry === null || storeOf(memberFromEntry<NodeMember>(entry), change.assignment.spec) !== store)
        return this.refused(key);
      guards.push({ key: entry.key, revision: entry.revision });
    }
    const value = assignmentToValue(change.assignment);
    const result = await this.store.transact(guards, [{ type: 'put', key, value }]);
    if (result.applied) return { applied: true, current: change.assignment, revision: result.revision };
    const [current] = result.current;
    return {
      applied: false,
      current: current === null ? null : assignmentFromEntry(current),
      revision: current?.revision ?? change.expectedRevision,
    };
  }

  private async refused(key: string): Promise<ChangeResult> {
    const current = await this.store.get(key);
    return {
      applied: false,
      current: current === null ? null : assignmentFromEntry(current),
      revision: current?.revision ?? 0,
    };
  }
}
