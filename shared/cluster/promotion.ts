import { isSameReplica, type Replica, type ShardAssignment } from './shard-assignment';

/**
 * Who leads a shard next, or null while its primary is there or nobody may follow it.
 *
 * Only a replica that holds every acknowledged write may: one of the in-sync set, else one that left it when it fell
 * below `minInSync`, after which nothing was committed without it. In a set that had fallen to the primary alone with
 * `minInSync` 1 nobody else may, so the shard waits for its primary's store. `isLive` says whether the replica's node
 * holds a session with this very store; `prefer` orders candidates, best first.
 */
export function decidePromotion(
  assignment: ShardAssignment,
  isLive: (replica: Replica) => boolean,
  prefer: (a: Replica, b: Replica) => number = () => 0,
): ShardAssignment | null {
  const { primary, inSync, eligible, minInSync, removing } = assignment;
  if (primary === null || isLive(primary)) return null;
  const isOther = (replica: Replica): boolean => replica.node !== primary.node;
  const stays = (replica: Replica): number => Number(removing.includes(replica.node));
  const order = (a: Replica, b: Replica): number => stays(a) - stays(b) || prefer(a, b);

  const [fromInSync] = inSync.filter((replica) => isOther(replica) && isLive(replica)).sort(order);
  if (fromInSync !== undefined) {
    const remaining = inSync.filter((replica) => isOther(replica) && isLive(replica));
    const gone = inSync.filter((replica) => !remaining.includes(replica));
    return {
      ...assignment,
      epoch: assignment.epoch + 1,
      primary: fromInSync,
      inSync: remaining,
      eligible: remaining.length < minInSync ? union(without(eligible, remaining), gone) : [],
    };
  }
  const [fromEligible] = eligible.filter((replica) => isOther(replica) && isLive(replica)).sort(order);
  if (fromEligible === undefined) return null;
  return {
    ...assignment,
    epoch: assignment.epoch + 1,
    primary: fromEligible,
    inSync: [fromEligible],
    eligible: union(without(eligible, [fromEligible]), without(inSync, [fromEligible])),
  };
}

function without(replicas: Replica[], others: Replica[]): Replica[] {
  return replicas.filter((replica) => !others.some((other) => isSameReplica(replica, other)));
}

function union(replicas: Replica[], more: Replica[]): Replica[] {
  return [...replicas, ...without(more, replicas)];
}
