import { assignmentPath, isComplete, isInSync, type ShardAssignment, withMoveEnded } from '../../shared/cluster/shard-assignment';
import { chooseNode, isFull, loadOf, type PlacementNode, roomOf } from './placement';
import { changeOf, type ClusterPicture, type PlannedChange } from './planned-change';

/** Shards copied at once in the whole cluster: copying takes disk and network bandwidth from serving. */
const MOVES_AT_ONCE = 2;
/**
 * How long a node may be away before its replicas are made anew elsewhere. Longer than a restart or a reboot, which
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
  const mustLeave = (id: string): boolean => picture.draining.has(id) || (picture.awayMs.get(id) ?? 0) > REPLACE_AFTER_MS;
  const changes: PlannedChange[] = [];
  // Where the map is behind, nothing is planned, nor does it hold up the others.
  const upToDate = picture.assignments.filter(({ assignment }) => !picture.behind.has(assignmentPath(assignment.spec)));
  let underWay = upToDate.filter(({ assignment }) => isMoving(assignment)).length;

  for (const found of upToDate) {
    const { assignment } = found;
    const wanted = replicasOf.get(assignment.spec.collectionUid);
    if (wanted === undefined) continue;
    const ended = isMoving(assignment) ? endMove(found, present, mustLeave) : null;
    if (ended !== null) {
      changes.push(ended);
      continue;
    }
    if (isMoving(assignment) || underWay >= MOVES_AT_ONCE) continue;
    const begun = repair(found, { nodes, wanted, mustLeave });
    if (begun === null) continue;
    underWay += 1;
    changes.push(begun);
  }
  if (underWay === 0 && changes.length === 0) changes.push(...rebalance(upToDate, nodes, picture));
  return changes;
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
  // A primary that leaves first hands over to another replica; its writes do not pause.
  if (ended !== null) return primary !== null && removing.includes(primary.node) ? null : changeOf(found, ended, 'finish-move');
  const isHopeless = adding.every((id) => isInSync(assignment, id))
    ? replicas.some((id) => !removing.includes(id) && !isInSync(assignment, id) && mustLeave(id))
    : adding.some((id) => !present.has(id));
  if (!isHopeless) return null;
  // The next round decides anew. A new replica that is complete stays: if it is eligible, perhaps only it and those in
  // sync have what was acknowledged last.
  const kept = replicas.filter((id) => !adding.includes(id) || isComplete(assignment, id));
  // What the primary knows of a replica holds for its epoch. One that is taken away may be emptied, and come back.
  const epoch = assignment.epoch + (kept.length < replicas.length ? 1 : 0);
  return changeOf(found, { epoch, replicas: kept, adding: [], removing: [] }, 'abort-move');
}

/** Adds one replica if there are too few, or to replace one whose node drains or is lost. */
function repair(found: Found, surroundings: { nodes: PlacementNode[]; wanted: number; mustLeave: (id: string) => boolean }): PlannedChange | null {
  const { assignment } = found;
  const { replicas } = assignment;
  const leavers = replicas.filter(surroundings.mustLeave);
  // First one that can be done without: removing one in sync may have to wait for the others.
  const leaving = leavers.find((id) => !isComplete(assignment, id)) ?? leavers.find((id) => !isInSync(assignment, id)) ?? leavers[0];
  const staying = replicas.filter((id) => !leavers.includes(id));
  if (leaving === undefined && replicas.length >= surroundings.wanted) {
    return replicas.length > surroundings.wanted ? dropSurplus(found, surroundings.wanted) : null;
  }
  const zones = surroundings.nodes.filter(({ member }) => staying.includes(member.id)).map(({ member }) => member.zone);
  const target = staying.length < surroundings.wanted ? chooseNode(surroundings.nodes, replicas, zones) : null;
  if (target === null && staying.length < surroundings.wanted) return null;
  if (target !== null) target.replicas += 1;
  const added = target === null ? [] : [target.member.id];
  return changeOf(found, { replicas: [...replicas, ...added], adding: added, removing: leaving === undefined ? [] : [leaving] }, 'move');
}

/** Removes the last replica that is not the primary: after a move that was given up, or when the collection wants fewer. */
function dropSurplus(found: Found, wanted: number): PlannedChange | null {
  const { replicas, primary, inSync } = found.assignment;
  const spare = [...replicas].reverse().find((id) => id !== primary?.node);
  // Only a replica that the rest can do without.
  const restInSync = inSync.filter(({ node }) => node !== spare).length;
  if (spare === undefined || restInSync < wanted) return null;
  return changeOf(found, { removing: [spare] }, 'move');
}

/**
 * Moves one replica of a healthy shard from the fullest node to the emptiest one with room on its disk, if that makes
 * the two more even.
 */
function rebalance(assignments: readonly Found[], nodes: PlacementNode[], picture: ClusterPicture): PlannedChange[] {
  const byLoad = [...nodes].sort((a, b) => a.replicas - b.replicas || (a.member.id < b.member.id ? -1 : 1));
  const emptiest = byLoad.find((node) => roomOf(node.member) === 'enough' && !isFull(node));
  const fullest = byLoad[byLoad.length - 1];
  if (emptiest === undefined || fullest.replicas - emptiest.replicas < UNEVEN_REPLICAS) return [];
  const zoneOf = new Map(picture.members.map(({ id, zone }) => [id, zone]));
  const found = assignments
    .filter(({ assignment }) => isSettled(assignment) && assignment.replicas.includes(fullest.member.id))
    .filter(({ assignment }) => !assignment.replicas.includes(emptiest.member.id))
    .filter(({ assignment }) => {
      const { zone } = emptiest.member;
      return zone === '' || assignment.replicas.every((id) => id === fullest.member.id || zoneOf.get(id) !== zone);
    })
    // Moving a follower costs less than moving a primary.
    .sort((a, b) => Number(leads(a, fullest)) - Number(leads(b, fullest)) || (assignmentPath(a.assignment.spec) < assignmentPath(b.assignment.spec) ? -1 : 1))[0];
  if (found === undefined) return [];
  const { replicas } = found.assignment;
  return [changeOf(found, { replicas: [...replicas, emptiest.member.id], adding: [emptiest.member.id], removing: [fullest.member.id] }, 'move')];
}

function isSettled({ replicas, inSync }: ShardAssignment): boolean {
  return replicas.every((id) => inSync.some(({ node }) => node === id));
}

function leads({ assignment }: Found, node: PlacementNode): boolean {
  return assignment.primary?.node === node.member.id;
}
