import { storeOf } from '../../shared/cluster/members';
import { assignmentPath, type ShardAssignment } from '../../shared/cluster/shard-assignment';
import { shardSettings } from '../collections/collection-record';
import { chooseReplicas, loadOf } from './placement';
import type { ClusterPicture, PlannedChange } from './planned-change';

/** Assigns the shards of new collections, evenly over the nodes that are there; fewer nodes than replicas must do for now. */
export function planNewShards(picture: ClusterPicture): PlannedChange[] {
  const assigned = new Set(picture.assignments.map(({ assignment }) => assignmentPath(assignment.spec)));
  const nodes = loadOf(
    picture.members.filter(({ id }) => !picture.draining.has(id)),
    picture.assignments.map(({ assignment }) => assignment),
  );
  const changes: PlannedChange[] = [];
  for (const { record } of picture.collections) {
    for (let shard = 0; shard < record.shards; shard += 1) {
      const path = assignmentPath({ collectionUid: record.uid, shard });
      if (assigned.has(path)) continue;
      const members = chooseReplicas(nodes, record.replicas);
      if (members.length < record.minInSync) continue;
      const inSync = members.map((member) => ({ node: member.id, store: storeOf(member, { collectionUid: record.uid, shard }) }));
      const assignment: ShardAssignment = {
        spec: { collectionUid: record.uid, shard, ...shardSettings(record) },
        minInSync: record.minInSync,
        epoch: 1,
        primary: inSync[0],
        inSync,
        eligible: [],
        replicas: members.map(({ id }) => id),
        adding: [],
        removing: [],
        changeId: '',
      };
      changes.push({ path, expectedRevision: 0, assignment, reason: 'create' });
    }
  }
  return changes;
}
