import { CONTROLLER_PATH, GONE_NODES_PREFIX, NODES_PREFIX } from '../../shared/cluster-store/entries/members';
import type { NodeReport, ReplicaReport } from '../../shared/cluster-store/entries/node-report';
import { assignmentPath, type ShardAssignment } from '../../shared/cluster-store/entries/shard-assignment';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import type { Clock } from '../../shared/base/time/clock';
import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import type { Logger } from '../../shared/base/logs/logger';
import type {
  AdoptionView,
  ClusterView,
  HealthView,
  NodeView,
  OperationsService,
  ShardView,
} from './operations/operations-service';
import type { Drains } from './drains';
import type { HealthReading } from './operations/health-reading';
import type { Scoped } from '../service/keys/collection-scope';
import { collectionNotFound } from '../service/routing/collection-not-found';
import { shownReshards } from '../service/collections/reshard-view';
import { Adoption } from './controller/adoption';
import type { ClusterMap } from './cluster-map';
import { type AskNode, reportsOf } from './controller/node-reports';
import type { ReshardView } from '../service/service';

type ReplicaKey = string;

/** Health and state of a cluster. The map says who should hold what; the reports of the nodes say how far they are. */
export class ClusterOperations implements OperationsService {
  private readonly map: ClusterMap;
  private readonly askNode: AskNode;
  private readonly reading: HealthReading;
  private readonly reshards: () => Promise<ReshardView[]>;
  private readonly adoption: Adoption;
  private readonly drains: Pick<Drains, 'begin' | 'giveUp'>;

  constructor(options: {
    store: ClusterStore;
    map: ClusterMap;
    askNode: AskNode;
    health: HealthReading;
    reshards: () => Promise<ReshardView[]>;
    drains: Pick<Drains, 'begin' | 'giveUp'>;
    clock: Clock;
    log: Logger;
  }) {
    this.map = options.map;
    this.askNode = options.askNode;
    this.reading = options.health;
    this.reshards = options.reshards;
    this.drains = options.drains;
    this.adoption = new Adoption({ ...options, reports: () => this.nodeReports() });
  }

  health(caller?: Scoped): Promise<HealthView> {
    return this.reading.read(caller);
  }

  async cluster(): Promise<ClusterView> {
    const reports = await this.reports();
    // Shards of collections that are being dropped are left out: they can no longer be looked up.
    const names = new Map(this.map.collections.all().map(({ value }) => [value.uid, value.name]));
    const assignments = this.shardsOf(names);
    const reshards = this.map.reshards.all().map(({ value }) => value);
    const coming = this.shardsOf(
      new Map(
        reshards
          .filter(({ to, state }) => !names.has(to.uid) && state !== 'failed')
          .map(({ to, name }) => [to.uid, name]),
      ),
    );
    return {
      mode: 'cluster',
      controller: this.map.controller.get(CONTROLLER_PATH)?.value ?? null,
      coordinators: this.map.coordinators
        .all()
        .map(({ value: { id, address, pid, startedAt } }) => ({ id, address, pid, startedAt }))
        .sort(byId),
      nodes: this.nodeViews(reports),
      shards: assignments.map(({ assignment, collection }) => this.shardView(assignment, collection, reports)),
      newShards: coming.map(({ assignment, collection }) => this.shardView(assignment, collection, reports)),
      moves: assignments.flatMap(({ assignment, collection }) => movesOf(assignment, collection, reports)),
      // While the cluster store is away, nothing changes.
      reshards: await this.reshards().catch((error: unknown) => {
        if (!isQuiverError(error) || error.kind !== 'unavailable') throw error;
        return shownReshards(reshards).map((reshard) => ({
          ...reshard,
          waitsFor: reshard.waitsFor ?? 'the cluster store, which does not answer',
        }));
      }),
    };
  }

  /** The shards of the sets of shards, by the uid of which is the name of the collection. */
  private shardsOf(names: ReadonlyMap<string, string>): { assignment: ShardAssignment; collection: string }[] {
    return this.map.assignments
      .all()
      .map(({ value }) => ({ assignment: value, collection: names.get(value.spec.collectionUid) }))
      .filter((found): found is { assignment: ShardAssignment; collection: string } => found.collection !== undefined)
      .sort((a, b) =>
        a.collection < b.collection
          ? -1
          : a.collection > b.collection
            ? 1
            : a.assignment.spec.shard - b.assignment.spec.shard,
      );
  }

  async drain(nodeId: string): Promise<NodeView> {
    this.mustKnow(nodeId);
    await this.drains.begin(nodeId);
    return this.nodeView(nodeId);
  }

  async adopt(collection: string, shard: number, nodeId: string): Promise<AdoptionView> {
    const record = this.map.collections.all().find(({ value }) => value.name === collection)?.value;
    if (record === undefined) throw collectionNotFound(collection);
    const { epoch, before } = await this.adoption.adopt({ collectionUid: record.uid, shard }, nodeId);
    return { collection, shard, primary: nodeId, epoch, earlierEpoch: before };
  }

  async undrain(nodeId: string): Promise<NodeView> {
    this.mustKnow(nodeId);
    await this.drains.giveUp(nodeId);
    return this.nodeView(nodeId);
  }

  private async nodeView(nodeId: string): Promise<NodeView> {
    const view = this.nodeViews(await this.reports(), nodeId).find(({ id }) => id === nodeId);
    if (view === undefined) throw new QuiverError('not_found', `node ${nodeId} does not exist`);
    return view;
  }

  private mustKnow(nodeId: string): void {
    if (!this.knows(nodeId)) throw new QuiverError('not_found', `node ${nodeId} does not exist`);
  }

  private knows(nodeId: string): boolean {
    return (
      this.map.nodes.get(NODES_PREFIX + nodeId) !== null ||
      this.map.holders().has(nodeId) ||
      this.map.gone.get(GONE_NODES_PREFIX + nodeId) !== null
    );
  }

  private async reports(): Promise<Map<string, Map<ReplicaKey, ReplicaReport>>> {
    return new Map(
      [...(await this.nodeReports())].map(([id, { shards }]) => [
        id,
        new Map(shards.map((shard) => [replicaKey(shard.collectionUid, shard.shard), shard])),
      ]),
    );
  }

  /** By node, of those that answer. */
  private nodeReports(): Promise<Map<string, NodeReport>> {
    return reportsOf(this.map, this.askNode);
  }

  /** `asked`: of this one there is a view in any case. */
  private nodeViews(reports: Map<string, Map<ReplicaKey, ReplicaReport>>, asked: string | null = null): NodeView[] {
    const assignments = this.map.assignments.all().map(({ value }) => value);
    const draining = this.map.draining();
    const present = new Map(this.map.nodes.all().map(({ value }) => [value.id, value]));
    const gone = new Map(this.map.gone.all().map(({ value }) => [value.id, value]));
    // One that was drained was taken away, or is to be shown no more.
    const missed = [...gone.keys()].filter((id) => id === asked || !draining.has(id));
    const ids = new Set([...present.keys(), ...this.map.holders(), ...missed]);
    return [...ids].sort().map((id) => {
      const member = present.get(id) ?? this.map.lastSeenNode(id) ?? gone.get(id);
      const primaries = assignments.filter(({ primary }) => primary?.node === id).length;
      const held = assignments.filter(({ replicas }) => replicas.includes(id)).length;
      const replicas = [...(reports.get(id)?.values() ?? [])];
      return {
        id,
        address: member?.address ?? '',
        zone: member?.zone ?? '',
        pid: member?.pid ?? 0,
        state: !present.has(id) ? 'down' : !draining.has(id) ? 'up' : held > 0 ? 'draining' : 'drained',
        downSince: present.has(id) ? null : (gone.get(id)?.since ?? null),
        primaries,
        replicas: held - primaries,
        vectors: sum(replicas.map(({ vectors }) => vectors)),
        diskBytes: sum(replicas.map(({ diskBytes }) => diskBytes)),
      };
    });
  }

  private shardView(
    assignment: ShardAssignment,
    collection: string,
    reports: Map<string, Map<ReplicaKey, ReplicaReport>>,
  ): ShardView {
    const { spec } = assignment;
    // What nodes act by is what is served, whatever the map says.
    const inForce = this.map.inForce(assignmentPath(spec)) ?? assignment;
    const { epoch, primary, inSync, replicas } = inForce;
    const key = replicaKey(spec.collectionUid, spec.shard);
    const leader = primary === null ? undefined : reports.get(primary.node)?.get(key);
    const isInSync = (id: string): boolean => inSync.some(({ node }) => node === id);
    const isServed = leader !== undefined && leader.role === 'primary' && leader.epoch === epoch;
    const last = leader?.lastSequence ?? 0;
    const matchOf = (id: string): number => {
      if (id === primary?.node) return leader?.appliedSequence ?? 0;
      return (
        leader?.peers.find(({ node }) => node === id)?.matchSequence ?? reports.get(id)?.get(key)?.lastSequence ?? 0
      );
    };
    return {
      collection,
      shard: spec.shard,
      epoch: assignment.epoch,
      primary: primary?.node ?? null,
      inSync: inSync.map(({ node }) => node),
      learners: replicas.filter((id) => !isInSync(id)).map((node) => ({ node, progress: progressOf(leader, node) })),
      state: !isServed ? 'unavailable' : replicas.every(isInSync) ? 'ok' : 'degraded',
      vectors: leader?.vectors ?? 0,
      lastOperation: last,
      lagOperations: Object.fromEntries(replicas.map((id) => [id, Math.max(0, last - matchOf(id))])),
      laterEpoch: inForce === assignment ? null : epoch,
    };
  }
}

function movesOf(
  { spec, adding, removing, inSync }: ShardAssignment,
  collection: string,
  reports: Map<string, Map<ReplicaKey, ReplicaReport>>,
): ClusterView['moves'] {
  const key = replicaKey(spec.collectionUid, spec.shard);
  const leader = [...reports.values()].map((shards) => shards.get(key)).find((replica) => replica?.role === 'primary');
  const count = Math.max(adding.length, removing.length);
  return Array.from({ length: count }, (_, i) => {
    const to = adding[i] ?? '';
    const isCopied = to === '' || inSync.some(({ node }) => node === to);
    return {
      collection,
      shard: spec.shard,
      from: removing[i] ?? '',
      to,
      phase: isCopied ? 'handing-over' : 'copying',
      progress: isCopied ? 1 : progressOf(leader, to),
    };
  });
}

function progressOf(leader: ReplicaReport | undefined, node: string): number {
  return leader?.peers.find((peer) => peer.node === node)?.progress ?? 0;
}

function replicaKey(collectionUid: string, shard: number): ReplicaKey {
  return `${collectionUid}/${shard}`;
}

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
