import { storeOf } from '../../../shared/cluster-store/entries/members';
import { assignmentPath, type ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';
import { shardSettings } from '../../service/collections/collection-record';
import { chooseReplicas, loadOf } from './placement';
import { planMoves } from './plan-moves';
import { changeOf, type ClusterPicture, type PlannedChange } from './planned-change';
import { decidePromotion } from './promotion';

/**
 * The next changes towards the desired state of the cluster: every shard is assigned and led, has as many replicas as
 * its collection asks for, is not on nodes that drain or are lost, and all are evenly spread. At most one change per
 * shard. Changes are independent, so any of them may fail.
 */
export function planChanges(picture: ClusterPicture): PlannedChange[] {
  const changes = [...planNewShards(picture), ...planFailovers(picture)];
  const touched = new Set(changes.map(({ path }) => path));
  return [...changes, ...planMoves(picture).filter(({ path }) => !touched.has(path))];
}

/**
 * Promotes a replica of every shard whose primary failed, or whose primary's node is gone or out of reach, if another
 * may lead. Prefers nodes that lead the fewest shards.
 */
function planFailovers(picture: ClusterPicture): PlannedChange[] {
  const load = loadOf(
    picture.members.filter(({ id }) => !picture.unreachable.has(id)),
    picture.assignments.map(({ assignment }) => assignment),
  );
  const candidates = new Map(
    load.map(({ member, primaries }) => [
      member.id,
      { store: member.store, leads: primaries, mayLead: !picture.reprieved.has(member.id) },
    ]),
  );
  // Nearly always empty. Then most shards are decided on the same candidates.
  const otherStores = load.flatMap(({ member }) => (member.stores === undefined ? [] : [member]));
  const changes: PlannedChange[] = [];
  for (const found of picture.assignments) {
    const { spec } = found.assignment;
    const path = assignmentPath(spec);
    // By an earlier map, a replica could be promoted that lacks what was written since.
    if (picture.behind.has(path)) continue;
    const failing = picture.failing.get(path);
    const others = otherStores.filter((member) => storeOf(member, spec) !== member.store);
    let able = candidates;
    if (failing !== undefined || others.length > 0) {
      able = new Map([...candidates].filter(([id]) => failing?.has(id) !== true));
      for (const member of others)
        if (able.has(member.id)) able.set(member.id, { ...able.get(member.id)!, store: storeOf(member, spec) });
    }
    const promotion = decidePromotion(found.assignment, able);
    if (promotion === null) continue;
    // So that the next of many shards of a dead node goes to another node.
    const leader = candidates.get(promotion.assignment.primary?.node ?? '');
    if (leader !== undefined) leader.leads += 1;
    changes.push(changeOf(found, promotion.assignment, 'promote', promotion.requires));
  }
  return changes;
}

/**
 * Assigns the shards of new collections, evenly over the present nodes. With fewer nodes than replicas, it assigns
 * fewer replicas for now.
 */
function planNewShards(picture: ClusterPicture): PlannedChange[] {
  const assigned = new Set(picture.assignments.map(({ assignment }) => assignmentPath(assignment.spec)));
  const nodes = loadOf(
    picture.members.filter(({ id }) => !picture.draining.has(id) && !picture.reprieved.has(id)),
    picture.assignments.map(({ assignment }) => assignment),
  );
  const changes: PlannedChange[] = [];
  for (const { record, isNew = false } of picture.collections) {
    // What a restored shard begins with says the same of it, until it has it.
    const mark = isNew && record.seed === undefined ? { unused: true } : {};
    for (let shard = 0; shard < record.shards; shard += 1) {
      const path = assignmentPath({ collectionUid: record.uid, shard });
      if (assigned.has(path)) continue;
      const members = chooseReplicas(nodes, record.replicas);
      if (members.length < record.minInSync) continue;
      const inSync = members.map((member) => ({
        node: member.id,
        store: storeOf(member, { collectionUid: record.uid, shard }),
      }));
      const assignment: ShardAssignment = {
        spec: { collectionUid: record.uid, shard, ...shardSettings(record) },
        ...mark,
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
      changes.push({ path, expectedRevision: 0, requires: [inSync[0]], assignment, reason: 'create' });
    }
  }
  return changes;
}
