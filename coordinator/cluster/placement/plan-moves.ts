import { holdsIn } from '../../../shared/cluster-store/entries/members';
import {
  assignmentPath,
  isComplete,
  isInSync,
  type ShardAssignment,
  withMoveEnded,
} from '../../../shared/cluster-store/entries/shard-assignment';
import { chooseNode, isAsGood, isFull, loadOf, type PlacementNode, roomOf } from './placement';
import { changeOf, type ClusterPicture, type PlannedChange } from './planned-change';

/**
 * Shards that are copied to a node at once, and from it: copying takes disk and network bandwidth from serving. Each
 * node has its own limit, so that a large cluster mends itself as quickly as a small one.
 */
const COPIES_PER_NODE = 2;
/**
 * How long a node may be away before its replicas are made again elsewhere. Longer than a restart or a reboot, which
 * bring the data back at a lower cost than copying everything.
 */
const REPLACE_AFTER_MS = 300_000;
/** The least difference in replicas that a move makes smaller. */
const UNEVEN_REPLICAS = 2;

interface Found {
  assignment: ShardAssignment;
  revision: number;
}

/** Finishes, aborts and starts moves of replicas between nodes. */
export function planMoves(picture: ClusterPicture): PlannedChange[] {
  const present = new Set(picture.members.map(({ id }) => id));
  const nodes = loadOf(
    picture.members.filter(({ id }) => !picture.draining.has(id) && !picture.reprieved.has(id)),
    picture.assignments.map(({ assignment }) => assignment),
  );
  const replicasOf = new Map(picture.collections.map(({ record }) => [record.uid, record.replicas]));
  const mustLeave = (id: string): boolean =>
    picture.draining.has(id) || (picture.awayMs.get(id) ?? 0) > REPLACE_AFTER_MS;
  const changes: PlannedChange[] = [];
  // Of collections that are gone, and where the map is behind, nothing is planned, nor do they hold up the others.
  const upToDate = picture.assignments.filter(
    ({ assignment }) =>
      replicasOf.has(assignment.spec.collectionUid) && !picture.behind.has(assignmentPath(assignment.spec)),
  );
  const members = new Map(picture.members.map((member) => [member.id, member]));
  // Of a shard that nobody leads nothing is copied, nor does a move of it end, for as long as that may be.
  const isLed = ({ spec, primary }: ShardAssignment): boolean =>
    primary === null || holdsIn(members.get(primary.node), spec, primary.store);
  const led = upToDate.filter(({ assignment }) => isLed(assignment));
  const copies = new Copies(led);
  let isWaiting = false;

  for (const found of upToDate) {
    const { assignment } = found;
    const wanted = replicasOf.get(assignment.spec.collectionUid)!;
    const ended = isMoving(assignment) ? endMove(found, present, mustLeave) : null;
    if (ended !== null) {
      changes.push(ended);
      continue;
    }
    if (isMoving(assignment) || !isLed(assignment)) continue;
    const begun = repair(found, { nodes, copies, wanted, mustLeave });
    if (begun === 'later') isWaiting = true;
    else if (begun !== null) changes.push(begun);
  }
  if (changes.length === 0 && !isWaiting) changes.push(...rebalance(led, nodes, { copies, picture }));
  return changes;
}

/** What is copied at present, by the nodes at both ends. The primary sends the copy. */
class Copies {
  private readonly byNode = new Map<string, number>();

  constructor(assignments: readonly Found[]) {
    for (const { assignment } of assignments) for (const target of assignment.adding) this.begin(assignment, target);
  }

  mayBegin(assignment: ShardAssignment, target: string): boolean {
    return this.takes(target) && this.maySend(assignment);
  }

  maySend({ primary }: ShardAssignment): boolean {
    return primary === null || this.takes(primary.node);
  }

  begin({ primary }: ShardAssignment, target: string): void {
    for (const node of primary === null ? [target] : [target, primary.node])
      this.byNode.set(node, (this.byNode.get(node) ?? 0) + 1);
  }

  /** Whether the node may send or get one more. */
  takes(node: string): boolean {
    return (this.byNode.get(node) ?? 0) < COPIES_PER_NODE;
  }
}

export function isMoving({ adding, removing }: ShardAssignment): boolean {
  return adding.length > 0 || removing.length > 0;
}

/**
 * Takes the old replicas away once the new ones are in sync and enough stay in sync without the old ones. Gives up a
 * move to new replicas whose node is gone, and one that a lost replica keeps from ending.
 */
function endMove(found: Found, present: ReadonlySet<string>, mustLeave: (id: string) => boolean): PlannedChange | null {
  const { assignment } = found;
  const { adding, removing, replicas, primary } = assignment;
  const ended = withMoveEnded(assignment);
  if (ended !== null) {
    // A primary that leaves first hands over to another replica; its writes do not pause. And the old replicas are not
    // taken away while one of those that would be left for them may be gone.
    const isDue = !removing.includes(primary?.node ?? '') && ended.inSync.every(({ node }) => present.has(node));
    return isDue ? changeOf(found, ended, 'finish-move', ended.inSync) : null;
  }
  const isHopeless = adding.every((id) => isInSync(assignment, id))
    ? replicas.some((id) => !removing.includes(id) && !isInSync(assignment, id) && mustLeave(id))
    : adding.some((id) => !present.has(id));
  if (!isHopeless) return null;
  // The next round decides again. A new replica that is complete stays: if it is eligible, perhaps only it and those in
  // sync have what was acknowledged last.
  const kept = replicas.filter((id) => !adding.includes(id) || isComplete(assignment, id));
  // What the primary knows of a replica holds for its epoch. One that is taken away may be emptied, and come back.
  const epoch = assignment.epoch + (kept.length < replicas.length ? 1 : 0);
  return changeOf(found, { epoch, replicas: kept, adding: [], removing: [] }, 'abort-move');
}

/**
 * Adds one replica if there are too few, or to replace one whose node drains or is lost. `later`: the nodes for that
 * are busy.
 */
function repair(
  found: Found,
  dependencies: { nodes: PlacementNode[]; copies: Copies; wanted: number; mustLeave: (id: string) => boolean },
): PlannedChange | 'later' | null {
  const { assignment } = found;
  const { copies, nodes } = dependencies;
  const { replicas } = assignment;
  const leavers = replicas.filter(dependencies.mustLeave);
  // First one that can be done without: removing one in sync may have to wait for the others.
  const leaving =
    leavers.find((id) => !isComplete(assignment, id)) ?? leavers.find((id) => !isInSync(assignment, id)) ?? leavers[0];
  const staying = replicas.filter((id) => !leavers.includes(id));
  if (leaving === undefined && replicas.length >= dependencies.wanted) {
    return replicas.length > dependencies.wanted ? dropSurplus(found, dependencies.wanted) : null;
  }
  const zones = nodes.filter(({ member }) => staying.includes(member.id)).map(({ member }) => member.zone);
  const isShort = staying.length < dependencies.wanted;
  const best = isShort ? chooseNode(nodes, replicas, zones) : null;
  if (best === null && isShort) return null;
  const target =
    best &&
    chooseNode(
      nodes.filter((node) => copies.mayBegin(assignment, node.member.id) && isAsGood(node, best, zones)),
      replicas,
      zones,
    );
  if (target === null && isShort) return 'later';
  if (target !== null) {
    target.replicas += 1;
    copies.begin(assignment, target.member.id);
  }
  const added = target === null ? [] : [target.member.id];
  return changeOf(
    found,
    { replicas: [...replicas, ...added], adding: added, removing: leaving === undefined ? [] : [leaving] },
    'move',
  );
}

/**
 * Removes the last replica that is not the primary: after a move that was given up, or when the collection wants fewer.
 */
function dropSurplus(found: Found, wanted: number): PlannedChange | null {
  const { replicas, primary, inSync } = found.assignment;
  const spare = [...replicas].reverse().find((id) => id !== primary?.node);
  // Only a replica that the rest can do without.
  const restInSync = inSync.filter(({ node }) => node !== spare).length;
  if (spare === undefined || restInSync < wanted) return null;
  return changeOf(found, { removing: [spare] }, 'move');
}

/**
 * Moves replicas of healthy shards from the fullest nodes to the emptiest ones with room on their disks, as far as that
 * makes them more even, one after the other in thought.
 */
function rebalance(
  assignments: readonly Found[],
  nodes: PlacementNode[],
  { copies, picture }: { copies: Copies; picture: ClusterPicture },
): PlannedChange[] {
  const zoneOf = new Map(picture.members.map(({ id, zone }) => [id, zone]));
  const movable = new Movable(
    assignments.filter(({ assignment }) => isSettled(assignment) && !isMoving(assignment)),
    copies,
  );
  const changes: PlannedChange[] = [];
  for (
    let move = nextMove(movable, nodes, copies, zoneOf);
    move !== null;
    move = nextMove(movable, nodes, copies, zoneOf)
  ) {
    const { found, from, to } = move;
    const { replicas } = found.assignment;
    changes.push(
      changeOf(
        found,
        { replicas: [...replicas, to.member.id], adding: [to.member.id], removing: [from.member.id] },
        'move',
      ),
    );
    copies.begin(found.assignment, to.member.id);
    movable.moves(found);
    from.replicas -= 1;
    to.replicas += 1;
  }
  return changes;
}

/**
 * The shards that could be moved at present, by the nodes that hold them. They become fewer while moves are chosen,
 * never more.
 */
class Movable {
  private readonly byHolder = new Map<string, Set<Found>>();
  private readonly bySender = new Map<string, Found[]>();
  /** By both names, the nodes between which no shard can be moved. */
  private readonly hopeless = new Set<string>();

  constructor(
    assignments: readonly Found[],
    private readonly copies: Copies,
  ) {
    for (const found of assignments) {
      const { replicas, primary } = found.assignment;
      if (!copies.maySend(found.assignment)) continue;
      for (const node of replicas) this.byHolder.set(node, (this.byHolder.get(node) ?? new Set()).add(found));
      if (primary === null) continue;
      const sent = this.bySender.get(primary.node);
      if (sent === undefined) this.bySender.set(primary.node, [found]);
      else sent.push(found);
    }
  }

  /** The one that costs least of those that `mayMove`. */
  best(from: PlacementNode, to: PlacementNode, mayMove: (assignment: ShardAssignment) => boolean): Found | null {
    const pair = `${from.member.id}/${to.member.id}`;
    if (this.hopeless.has(pair)) return null;
    let best: Found | null = null;
    for (const found of this.byHolder.get(from.member.id) ?? []) {
      if (mayMove(found.assignment) && (best === null || isCheaper(found, best, from))) best = found;
    }
    if (best === null) this.hopeless.add(pair);
    return best;
  }

  /** It is moved from now on. With it go all whose copies would come from a node that sends enough already. */
  moves(found: Found): void {
    const { primary } = found.assignment;
    const gone = primary === null || this.copies.maySend(found.assignment) ? [found] : this.bySender.get(primary.node)!;
    for (const one of gone) for (const node of one.assignment.replicas) this.byHolder.get(node)?.delete(one);
  }
}

/** From the fullest node that has something to give, to the emptiest that can take anything. */
function nextMove(
  movable: Movable,
  nodes: PlacementNode[],
  copies: Copies,
  zoneOf: ReadonlyMap<string, string>,
): { found: Found; from: PlacementNode; to: PlacementNode } | null {
  const byLoad = [...nodes].sort((a, b) => a.replicas - b.replicas || (a.member.id < b.member.id ? -1 : 1));
  for (const to of byLoad) {
    if (roomOf(to.member) !== 'enough' || isFull(to) || !copies.takes(to.member.id)) continue;
    const { zone, id: target } = to.member;
    for (const from of [...byLoad].reverse()) {
      if (from.replicas - to.replicas < UNEVEN_REPLICAS) break;
      const found = movable.best(from, to, (assignment) => {
        const { replicas } = assignment;
        // A node that gets enough already may have to send this one, too.
        if (replicas.includes(target) || !copies.maySend(assignment)) return false;
        return zone === '' || replicas.every((id) => id === from.member.id || zoneOf.get(id) !== zone);
      });
      if (found !== null) return { found, from, to };
    }
  }
  return null;
}

/** Moving a follower costs less than moving a primary. */
function isCheaper(one: Found, other: Found, from: PlacementNode): boolean {
  const [oneLeads, otherLeads] = [leads(one, from), leads(other, from)];
  return oneLeads === otherLeads
    ? assignmentPath(one.assignment.spec) < assignmentPath(other.assignment.spec)
    : otherLeads;
}

function isSettled({ replicas, inSync }: ShardAssignment): boolean {
  return replicas.every((id) => inSync.some(({ node }) => node === id));
}

function leads({ assignment }: Found, node: PlacementNode): boolean {
  return assignment.primary?.node === node.member.id;
}
