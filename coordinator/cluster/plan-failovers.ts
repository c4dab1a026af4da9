import { storeOf } from '../../shared/cluster/members';
import { assignmentPath } from '../../shared/cluster/shard-assignment';
import { loadOf } from './placement';
import { changeOf, type ClusterPicture, type PlannedChange } from './planned-change';
import { decidePromotion } from './promotion';

/** Promotes a replica of every shard whose primary failed or is on a node that is gone or out of reach, where one may lead; the nodes that lead least first. */
export function planFailovers(picture: ClusterPicture): PlannedChange[] {
  const load = loadOf(
    picture.members.filter(({ id }) => !picture.unreachable.has(id)),
    picture.assignments.map(({ assignment }) => assignment),
  );
  const candidates = new Map(load.map(({ member, primaries }) => [member.id, { store: member.store, leads: primaries }]));
  // Nearly always none: most shards are decided on the same candidates.
  const otherStores = load.flatMap(({ member }) => (member.stores === undefined ? [] : [member]));
  const changes: PlannedChange[] = [];
  for (const found of picture.assignments) {
    const { spec } = found.assignment;
    const failing = picture.failing.get(assignmentPath(spec));
    const others = otherStores.filter((member) => storeOf(member, spec) !== member.store);
    let able = candidates;
    if (failing !== undefined || others.length > 0) {
      able = new Map([...candidates].filter(([id]) => failing?.has(id) !== true));
      for (const member of others) if (able.has(member.id)) able.set(member.id, { ...able.get(member.id)!, store: storeOf(member, spec) });
    }
    const promotion = decidePromotion(found.assignment, able);
    if (promotion === null) continue;
    // The next one of many shards of a dead node goes elsewhere.
    const leader = candidates.get(promotion.assignment.primary?.node ?? '');
    if (leader !== undefined) leader.leads += 1;
    changes.push(changeOf(found, promotion.assignment, 'promote'));
  }
  return changes;
}
