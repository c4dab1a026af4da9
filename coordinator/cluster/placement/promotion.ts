import type { ReplicaId, ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';

/** A registered node, as far as a promotion needs to know it. */
export interface PromotionCandidate {
  store: string;
  /** The end of its log, if it was asked; a hint for choosing among equals only. */
  last?: { epoch: number; sequence: number };
  /** false: it counts as living, but is not chosen. */
  mayLead?: boolean;
  /** Shards that it leads. Among equals, the node with fewer is chosen. */
  leads?: number;
}

/** A change of an assignment that may be made while the node entries of `requires` hold these stores. */
export interface Promotion {
  assignment: ShardAssignment;
  requires: ReplicaId[];
  /** The set from which the new primary was chosen. */
  from: 'new' | 'inSync' | 'eligible';
}

/**
 * The assignment that gives a shard a primary when its own is not among the living; null if it has one or nobody may
 * lead. A wrong idea of who lives costs availability but never data: only replicas that are complete according to the
 * assignment are chosen, and the caller makes the change by compare-and-swap on the revision at which it read the
 * assignment. A replica outside the in-sync set is chosen only if no in-sync replica lives and it is eligible: nothing
 * was committed without it.
 *
 * @param members the living nodes, by id
 */
export function decidePromotion(
  assignment: ShardAssignment,
  members: ReadonlyMap<string, PromotionCandidate>,
): Promotion | null {
  if (assignment.epoch === 0) return first(assignment, members);
  const lives = (replica: ReplicaId): boolean => members.get(replica.node)?.store === replica.store;
  if (assignment.primary === null || lives(assignment.primary)) return null;
  const dead = assignment.primary;
  const mayLead = (replica: ReplicaId): boolean => members.get(replica.node)?.mayLead !== false;
  const inSync = assignment.inSync.filter((member) => member.node !== dead.node && lives(member));
  if (inSync.length > 0) {
    const able = inSync.filter(mayLead);
    if (able.length === 0) return null;
    const primary = longest(able, assignment, members);
    const gone = assignment.inSync.filter((member) => !inSync.includes(member));
    const eligible = [
      ...assignment.eligible.filter((member) => !inSync.some((other) => other.node === member.node)),
      ...gone,
    ];
    return {
      assignment: {
        ...assignment,
        epoch: assignment.epoch + 1,
        primary,
        inSync,
        eligible: inSync.length < assignment.minInSync ? eligible : [],
      },
      requires: [primary],
      from: 'inSync',
    };
  }
  const living = assignment.eligible.filter((replica) => lives(replica) && mayLead(replica));
  if (living.length === 0) return null;
  const primary = longest(living, assignment, members);
  const eligible = [...assignment.eligible, ...assignment.inSync].filter((member) => member.node !== primary.node);
  // Earlier versions could take an eligible replica out of the shard, and its node would close what it is to lead.
  const replicas = assignment.replicas.includes(primary.node)
    ? assignment.replicas
    : [...assignment.replicas, primary.node];
  return {
    assignment: { ...assignment, epoch: assignment.epoch + 1, primary, inSync: [primary], eligible, replicas },
    requires: [primary],
    from: 'eligible',
  };
}

/** A shard that nobody has led is empty everywhere, so all of its replicas start in sync. */
function first(assignment: ShardAssignment, members: ReadonlyMap<string, PromotionCandidate>): Promotion | null {
  const inSync: ReplicaId[] = [];
  for (const node of assignment.replicas) {
    const member = members.get(node);
    if (member === undefined) return null;
    inSync.push({ node, store: member.store });
  }
  if (inSync.length === 0) return null;
  return {
    assignment: { ...assignment, epoch: 1, primary: inSync[0], inSync, eligible: [] },
    requires: inSync,
    from: 'new',
  };
}

/**
 * The candidate with the longest log, which loses the fewest unanswered writes. A replica that is about to leave the
 * shard is second choice.
 */
function longest(
  candidates: ReplicaId[],
  assignment: ShardAssignment,
  members: ReadonlyMap<string, PromotionCandidate>,
): ReplicaId {
  const rank = (replica: ReplicaId): number[] => {
    const { last, leads } = members.get(replica.node) ?? {};
    return [assignment.removing.includes(replica.node) ? 0 : 1, last?.epoch ?? 0, last?.sequence ?? 0, -(leads ?? 0)];
  };
  return candidates.reduce((best, candidate) => {
    const [one, other] = [rank(candidate), rank(best)];
    const differing = one.findIndex((value, i) => value !== other[i]);
    return differing >= 0 && one[differing] > other[differing] ? candidate : best;
  });
}
