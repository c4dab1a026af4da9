import type { NodeMember } from '../../shared/cluster/members';
import type { ShardAssignment } from '../../shared/cluster/shard-assignment';

/** Of a disk, free: with less than the first a node is the last choice for more replicas, with less than the second it gets none. */
const LITTLE_SHARE = 0.1;
const NONE_SHARE = 0.03;

/** What a node's disk has left for more replicas; 'enough' where that is unknown. */
export function roomOf({ diskBytes, freeBytes }: Pick<NodeMember, 'diskBytes' | 'freeBytes'>): 'enough' | 'little' | 'none' {
  if (!(diskBytes > 0) || freeBytes >= diskBytes * LITTLE_SHARE) return 'enough';
  return freeBytes >= diskBytes * NONE_SHARE ? 'little' : 'none';
}

/** A node that can be given shards, with what it holds now. */
export interface PlacementNode {
  member: NodeMember;
  /** Replicas that it holds or is to hold. */
  replicas: number;
  primaries: number;
}

/**
 * The node that should take one more replica of a shard: not one that holds it (`taken`), whose disk is full or that has as
 * many replicas as it takes (MAX_SHARDS); where there
 * is one, with room on its disk, then in a zone that has none of the shard; then the one with the fewest replicas, then the
 * lowest id. null when there is none.
 */
export function chooseNode(nodes: PlacementNode[], taken: readonly string[], zonesTaken: readonly string[]): PlacementNode | null {
  const candidates = nodes.filter((node) => !taken.includes(node.member.id) && roomOf(node.member) !== 'none' && !isFull(node));
  return candidates.sort((a, b) => compare(a, b, zonesTaken))[0] ?? null;
}

/** Whether the node has as many replicas as it takes. */
export function isFull({ member, replicas }: PlacementNode): boolean {
  return replicas >= (member.shardsMax ?? Infinity);
}

/** As many different nodes as asked for, fewer if there are fewer; counts them on the nodes given. The first is to lead. */
export function chooseReplicas(nodes: PlacementNode[], count: number): NodeMember[] {
  const chosen: PlacementNode[] = [];
  while (chosen.length < count) {
    const node = chooseNode(nodes, chosen.map(({ member }) => member.id), chosen.map(({ member }) => member.zone));
    if (node === null) break;
    chosen.push(node);
  }
  for (const node of chosen) node.replicas += 1;
  // The one that leads the fewest shards leads this one, too.
  chosen.sort((a, b) => a.primaries - b.primaries || (a.member.id < b.member.id ? -1 : 1));
  if (chosen.length > 0) chosen[0].primaries += 1;
  return chosen.map(({ member }) => member);
}

/** What each node holds by the assignments. */
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

function compare(a: PlacementNode, b: PlacementNode, zonesTaken: readonly string[]): number {
  return (
    Number(roomOf(a.member) === 'little') - Number(roomOf(b.member) === 'little') ||
    Number(isCrowded(a, zonesTaken)) - Number(isCrowded(b, zonesTaken)) ||
    a.replicas - b.replicas ||
    a.primaries - b.primaries ||
    (a.member.id < b.member.id ? -1 : 1)
  );
}

/** An unlabelled node is in no zone, so it crowds none. */
function isCrowded({ member }: PlacementNode, zonesTaken: readonly string[]): boolean {
  return member.zone !== '' && zonesTaken.includes(member.zone);
}
