import { decidePromotion } from '../../shared/cluster/promotion';
import { isSameReplica, type Replica } from '../../shared/cluster/shard-assignment';
import { loadOf } from './placement';
import { changeOf, type ClusterPicture, type PlannedChange } from './planned-change';

/** Promotes a replica of every shard whose primary's node is gone, where one may lead; the nodes that lead least first. */
export function planFailovers(picture: ClusterPicture): PlannedChange[] {
  const stores = new Map(picture.members.map(({ id, store }) => [id, store]));
  const isLive = (replica: Replica): boolean => stores.get(replica.node) === replica.store;
  const load = new Map(
    loadOf(
      picture.members,
      picture.assignments.map(({ assignment }) => assignment),
    ).map((node) => [node.member.id, node]),
  );
  const primaries = (replica: Replica): number => load.get(replica.node)?.primaries ?? 0;
  const changes: PlannedChange[] = [];
  for (const found of picture.assignments) {
    const promoted = decidePromotion(found.assignment, isLive, (a, b) => primaries(a) - primaries(b));
    if (promoted === null || promoted.primary === null) continue;
    const leader = load.get(promoted.primary.node);
    // The next one of many shards of a dead node goes elsewhere.
    if (leader !== undefined && !(found.assignment.primary !== null && isSameReplica(found.assignment.primary, promoted.primary))) leader.primaries += 1;
    changes.push(changeOf(found, promoted, 'promote'));
  }
  return changes;
}
