import type { NodeMember } from '../../../shared/cluster-store/entries/members';
import type { ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';

/**
 * Shares of the disk that are free. Below LITTLE_SHARE, a node is the last choice for more replicas; below NONE_SHARE,
 * it gets none.
 */
const LITTLE_SHARE = 0.1;
const NONE_SHARE = 0.03;

/** The room that a node's disk has for more replicas; 'enough' if it is unknown. */
export function roomOf({
  diskBytes,
  freeBytes,
}: Pick<NodeMember, 'diskBytes' | 'freeBytes'>): 'enough' | 'little' | 'none' {
  if (!(diskBytes > 0) || freeBytes >= diskBytes * LITTLE_SHARE) return 'enough';
  return freeBytes >= diskBytes * NONE_SHARE ? 'little' : 'none';
}

/** A node that can get shards, with what it holds now. */
export interface PlacementNode {
  member: NodeMember;
  /** Replicas that it holds or will hold. */
  replicas: number;
  primaries: number;
}

/**
 * The node that should get one more replica of a shard. It must not hold one already (`taken`), nor have a full disk,
 * nor as many replicas as it accepts (MAX_SHARDS). Among the others it prefers, in this order: enough room on the disk,
 * a zone without a replica of the shard, the fewest replicas, the fewest primaries, the lowest id. null if there is
 * none.
 */
export function chooseNode(
  nodes: PlacementNode[],
  taken: readonly string[],
  zonesTaken: readonly string[],
): PlacementNode | null {
  const candidates = nodes.filter(
    (node) => !taken.includes(node.member.id) && roomOf(node.member) !== 'none' && !isFull(node),
  );
  return candidates.sort((a, b) => compare(a, b, zonesTaken))[0] ?? null;
}

/** Whether the node has as many replicas as it accepts. */
export function isFull({ member, replicas }: PlacementNode): boolean {
  return replicas >= (member.shardsMax ?? Infinity);
}

/**
 * Chooses `count` different nodes, or fewer if there are fewer, and adds the replicas to the load of these nodes. The
 * first one will lead.
 */
export function chooseReplicas(nodes: PlacementNode[], count: number): NodeMember[] {
  const chosen: PlacementNode[] = [];
  while (chosen.length < count) {
    const node = chooseNode(
      nodes,
      chosen.map(({ member }) => member.id),
      chosen.map(({ member }) => member.zone),
    );
    if (node === null) break;
    chosen.push(node);
  }
  for (const node of chosen) node.replicas += 1;
  // The node that leads the fewest shards leads this one.
  chosen.sort((a, b) => a.primaries - b.primaries || (a.member.id < b.member.id ? -1 : 1));
  if (chosen.length > 0) chosen[0].primaries += 1;
  return chosen.map(({ member }) => member);
}

/** What each node holds, according to the assignments. */
export function loadOf(members: NodeMember[], assignments: ShardAssignment[]): PlacementNode[] {
  const nodes = new Map(members.map((member) => [member.id, { member, replicas: 0, primaries: 0 }]));
  for (const { replicas, removing, primary } of assignments) {
    for (const id of replicas) {
      const node = nodes.get(id);
      if (node !== undefined && !removing.includes(id)) node.replicas += 1;
    }
    const leader = primary === null ? undefined : nodes.get(primary.node);
    if (leader !== undefined) leader.primaries += 1;
  }
  return [...nodes.values()];
}

/** Whether a replica on `node` would be as safe as on `best`: only the loads differ. */
export function isAsGood(node: PlacementNode, best: PlacementNode, zonesTaken: readonly string[]): boolean {
  return roomOf(node.member) === roomOf(best.member) && isCrowded(node, zonesTaken) === isCrowded(best, zonesTaken);
}

function compare(a: PlacementNode, b: PlacementNode, zonesTaken: readonly string[]): number {
  return (
    Number(roomOf(a.member) === 'little') - Number(roomOf(b.member) === 'little') ||
    Number(isCrowded(a, zonesTaken)) - Number(isCrowded(b, zonesTaken)) ||
    a.replicas - b.replicas ||
    a.primaries - b.primaries ||
    (a.member.id < b.member.id ? -1 : 1)
  );
}

/** A node without a zone label shares a zone with no other. */
function isCrowded({ member }: PlacementNode, zonesTaken: readonly string[]): boolean {
  return member.zone !== '' && zonesTaken.includes(member.zone);
}
