import {
  isLaterAssignment,
  type KnownAssignment,
  type ReplicaId,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';

/** What is known of one shard whose assignment in the shard map is earlier than what nodes know. */
export interface RepairPicture {
  /** What the map holds. */
  found: KnownAssignment;
  /** What nodes know, by node: later than `found`. */
  known: ReadonlyMap<string, KnownAssignment>;
  /** The store in which each registered node holds the shard. */
  stores: ReadonlyMap<string, string>;
  /**
   * What nodes answered just now about their replica, by node; null: none is open there. A node that did not answer is
   * missing.
   */
  reports: ReadonlyMap<string, { role: 'primary' | 'follower'; epoch: number } | null>;
}

/** The assignment that puts the map right, or in words why people have to decide. */
export type Repair = { assignment: ShardAssignment } | { unclear: string };

/**
 * The assignment that was in force before the cluster store was put back, under a new epoch. It is clear only when the
 * primary of the latest known epoch says what it is, everybody who could have led since says that they did not, and
 * nobody leads by the earlier map.
 *
 * Why this is enough: a primary knows every change of its epoch that had an effect, because a change counts only once
 * it is confirmed to the primary. A later epoch has an effect only if its primary promised it, and that primary is in
 * sync or eligible by the assignment before. So if none of these promised a later epoch, there was none.
 */
export function decideRepair({ found, known, stores, reports }: RepairPicture): Repair {
  const [first, ...others] = [...known.values()];
  const latest = others.reduce((best, one) => (isLaterAssignment(one, best) ? one : best), first);
  const { epoch, primary, inSync, eligible } = latest.assignment;
  if (primary === null) return { unclear: `nobody led epoch ${epoch}, the latest that is known` };
  const said = known.get(primary.node);
  if (said === undefined || isLaterAssignment(latest, said))
    return { unclear: `node ${primary.node}, which led epoch ${epoch}, does not confirm it` };
  for (const replica of [...inSync, ...eligible]) {
    const problem = problemOf(replica, epoch);
    if (problem !== null) return { unclear: problem };
  }
  for (const [node, report] of reports)
    if (report?.role === 'primary' && node !== primary.node)
      return { unclear: `node ${node} leads the shard by the earlier map` };
  const leader = found.assignment.primary;
  if (
    leader !== null &&
    stores.has(leader.node) &&
    !reports.has(leader.node) &&
    !inSync.some(({ node }) => node === leader.node)
  ) {
    return { unclear: `node ${leader.node}, which leads by the earlier map, does not say whether it does` };
  }
  const epochs = [epoch, found.assignment.epoch, ...[...reports.values()].map((report) => report?.epoch ?? 0)];
  return { assignment: { ...latest.assignment, epoch: Math.max(...epochs) + 1 } };

  function problemOf({ node, store }: ReplicaId, latestEpoch: number): string | null {
    const report = reports.get(node);
    if (stores.get(node) !== store)
      return stores.has(node) ? `the data of node ${node} are lost` : `node ${node} is away`;
    if (report === undefined || report === null) return `node ${node} does not answer for its replica`;
    return report.epoch > latestEpoch
      ? `node ${node} took part in epoch ${report.epoch}, of which nobody knows the assignment`
      : null;
  }
}
