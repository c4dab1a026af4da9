import { QuiverError } from '../../../shared/base/errors/quiver-error';
import {
  everyoneKnows,
  FEATURES,
  type VersionFields,
  versionFromFields,
} from '../../../shared/base/process/member-version';
import { holdsIn, NODES_PREFIX } from '../../../shared/cluster-store/entries/members';
import { assignmentPath, type ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';
import { tombstonePath } from '../../../shared/cluster-store/entries/tombstones';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { Waiters } from '../../../shared/base/time/waiters';
import type { ClusterMap } from '../cluster-map';
import { isSameRoute, type ObservedRoutes, type ShardRoute } from './shard-routes';

/** Routes from the coordinator's map of the cluster. */
export class MapShardRoutes implements ObservedRoutes {
  private readonly map: ClusterMap;
  private readonly readReplicas: 'primary' | 'in-sync';
  /** A cache: every call asks for a route, and routes rarely change. */
  private readonly routes = new Map<string, ShardRoute | null>();
  /** Features that some node lacks which is present; null: to be found out again. */
  private lackingNow: string[] | null = null;
  private readonly waiters: Waiters;
  private readonly listeners = new Set<() => void>();
  private readonly stop: () => void;

  /** `readReplicas`: whether routes name followers for reads. */
  constructor(options: { map: ClusterMap; clock: Clock; readReplicas: 'primary' | 'in-sync' }) {
    this.map = options.map;
    this.readReplicas = options.readReplicas;
    this.waiters = new Waiters(options.clock);
    const { assignments, later, nodes, known, tombstones } = this.map;
    const stops = [assignments, later, nodes, known].map((entries) => entries.onChange(() => this.outdate()));
    // Whoever waits for the route of a shard that is dropped need not wait any longer.
    stops.push(tombstones.onChange(() => this.waiters.wake()));
    this.stop = () => stops.forEach((stop) => stop());
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  route(id: ShardId): ShardRoute | null {
    const path = assignmentPath(id);
    let route = this.routes.get(path);
    if (route === undefined) {
      route = this.find(path);
      this.routes.set(path, route);
    }
    return route;
  }

  async changed(id: ShardId, stale: ShardRoute | null, deadlineMs: number): Promise<void> {
    while (isSameRoute(this.route(id), stale)) {
      if (this.isDropped(id))
        throw new QuiverError('not_found', `shard ${id.shard} of collection ${id.collectionUid} does not exist`);
      if (!(await this.waiters.next(deadlineMs))) return;
    }
  }

  close(): void {
    this.stop();
  }

  /** Forgets all routes: a part of the map that they follow from has changed. */
  private outdate(): void {
    this.routes.clear();
    this.lackingNow = null;
    this.waiters.wake();
    for (const listener of this.listeners) listener();
  }

  private isDropped(id: ShardId): boolean {
    return this.map.tombstones.get(tombstonePath(id.collectionUid)) !== null;
  }

  private find(path: string): ShardRoute | null {
    const assignment = this.map.inForce(path);
    if (assignment === null || assignment.primary === null) return null;
    // A node that lost its session by mistake still serves. It decides itself whether it may.
    const member = this.map.lastSeenNode(assignment.primary.node);
    if (!holdsIn(member, assignment.spec, assignment.primary.store)) return null;
    const followers = this.readReplicas === 'primary' ? [] : this.followersOf(assignment);
    const lacking = this.lackedBy(assignment);
    return {
      node: member.id,
      address: member.address,
      epoch: assignment.epoch,
      ...(followers.length > 0 ? { followers } : {}),
      ...(lacking.length > 0 ? { lacking } : {}),
    };
  }

  /** Nodes with a replica count as they were when they were last seen. */
  private lackedBy({ replicas }: ShardAssignment): string[] {
    this.lackingNow ??= lackedBy(this.map.nodes.all().map(({ value }) => value));
    const now = this.lackingNow;
    const then = lackedBy(replicas.map((node) => this.map.lastSeenNode(node)));
    return FEATURES.filter((feature) => now.includes(feature) || then.includes(feature));
  }

  /** In-sync replicas that are present. */
  private followersOf({ spec, primary, inSync }: ShardAssignment): string[] {
    if (inSync.length < 2) return [];
    return inSync.flatMap(({ node, store }) => {
      const member = node === primary?.node ? undefined : this.map.nodes.get(NODES_PREFIX + node)?.value;
      return holdsIn(member, spec, store) ? [member.address] : [];
    });
  }
}

function lackedBy(nodes: (VersionFields | null)[]): string[] {
  return FEATURES.filter(
    (feature) =>
      !everyoneKnows(
        feature,
        nodes.map((node) => (node === null ? null : versionFromFields(node))),
      ),
  );
}
