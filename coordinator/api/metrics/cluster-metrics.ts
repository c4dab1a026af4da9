import { Counter } from 'prom-client';
import { type GaugeColumn, GaugeTable } from '../../../shared/base/metrics/gauge-table';
import { LABELLED_SHARDS_MAX } from '../../../shared/base/metrics/label-bounds';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import { CHANGE_REASONS, type ChangeReason } from '../../cluster/placement/planned-change';
import type { ClusterView, NodeView, ShardView } from '../../cluster/operations/operations-service';
import type { ReshardView } from '../../service/service';

const NODE_STATES = ['up', 'draining', 'drained', 'down'] as const;
const SHARD_STATES = ['ok', 'degraded', 'unavailable'] as const;

const NODE_GAUGES: GaugeColumn<NodeView>[] = [
  [
    'quiver_node_up',
    '1 when the node holds its session with the cluster store, else 0',
    ({ state }) => (state === 'down' ? 0 : 1),
  ],
  ['quiver_node_primaries', 'Shards that the node leads by the map', ({ primaries }) => primaries],
  ['quiver_node_replicas', 'Replicas on the node by the map, those that lead not counted', ({ replicas }) => replicas],
  ['quiver_node_disk_bytes', 'Disk space of the replicas on the node', ({ diskBytes }) => diskBytes],
];

const SHARD_GAUGES: GaugeColumn<ShardView>[] = [
  ['quiver_shard_epoch', 'Epoch of the shard: rises with each change of its primary', ({ epoch }) => epoch],
  [
    'quiver_shard_replicas',
    'Replicas of the shard by the map, catching up or in sync',
    ({ lagOperations }) => Object.keys(lagOperations).length,
  ],
  ['quiver_shard_in_sync_replicas', 'Replicas that hold every acknowledged write', ({ inSync }) => inSync.length],
];

type Move = ClusterView['moves'][number];

const RESHARD_STATES = [
  'filling',
  'sealing',
  'opening',
  'retiring',
  'cancelling',
  'failed',
  'stuck',
] as const satisfies readonly ReshardView['state'][];

/**
 * Adds the state of the cluster as this coordinator sees it: members, who holds the shards, how far the replicas are,
 * moves. As with collections, every coordinator reports the same. In the embedded form: a cluster of one.
 */
export function addClusterMetrics(
  metrics: ProcessMetrics,
  options: { coordinatorId: string; read: () => Promise<ClusterView | null> },
): void {
  const { registry } = metrics;
  const totals = new GaugeTable<never, ClusterView>(
    registry,
    [],
    [
      [
        'quiver_coordinators',
        'Coordinators that hold their session with the cluster store',
        ({ coordinators }) => coordinators.length,
      ],
      [
        'quiver_controller',
        '1 when this coordinator is the controller, else 0',
        ({ controller }) => (controller === options.coordinatorId ? 1 : 0),
      ],
      ['quiver_moves', 'Replicas that are moving between nodes', ({ moves }) => moves.length],
    ],
  );
  const nodeCounts = new GaugeTable<'state', number>(
    registry,
    ['state'],
    [['quiver_nodes', 'Storage nodes by state', (count) => count]],
  );
  const shardCounts = new GaugeTable<'state', number>(
    registry,
    ['state'],
    [
      [
        'quiver_shards',
        'Shards by state: ok, degraded (some replica is not in sync), unavailable (no serving primary)',
        (count) => count,
      ],
    ],
  );
  const reshardCounts = new GaugeTable<'state', number>(
    registry,
    ['state'],
    [['quiver_reshards', 'Collections that change their number of shards, or failed to, by state', (count) => count]],
  );
  const nodes = new GaugeTable(registry, ['node'], NODE_GAUGES);
  const shards = new GaugeTable(registry, ['collection', 'shard'], SHARD_GAUGES);
  const lags = new GaugeTable<'collection' | 'shard' | 'node', number>(
    registry,
    ['collection', 'shard', 'node'],
    [['quiver_shard_lag_operations', 'Operations that a replica is behind the primary', (lag) => lag]],
  );
  const learners = new GaugeTable<'collection' | 'shard' | 'node', number>(
    registry,
    ['collection', 'shard', 'node'],
    [
      [
        'quiver_shard_learner_progress_ratio',
        'How much a replica that is catching up holds, 0 to 1',
        (progress) => progress,
      ],
    ],
  );
  const moves = new GaugeTable<'collection' | 'shard' | 'from' | 'to' | 'phase', Move>(
    registry,
    ['collection', 'shard', 'from', 'to', 'phase'],
    [['quiver_move_progress_ratio', 'How far a move of a replica is, 0 to 1', ({ progress }) => progress]],
  );
  metrics.add<ClusterView>({
    measure: options.read,
    show: (view) => {
      const labelled = (view?.shards ?? []).slice(0, LABELLED_SHARDS_MAX);
      const labelsOf = ({ collection, shard }: ShardView | Move): { collection: string; shard: string } => ({
        collection,
        shard: String(shard),
      });
      totals.show(view === null ? [] : [{ labels: {}, entry: view }]);
      nodeCounts.show(view === null ? [] : countsOf(NODE_STATES, view.nodes));
      shardCounts.show(view === null ? [] : countsOf(SHARD_STATES, view.shards));
      reshardCounts.show(view === null ? [] : countsOf(RESHARD_STATES, view.reshards));
      // A node that went away with nothing on it is nobody's trouble.
      const concerned = (view?.nodes ?? []).filter(
        ({ state, primaries, replicas }) => state !== 'down' || primaries + replicas > 0,
      );
      nodes.show(concerned.map((node) => ({ labels: { node: node.id }, entry: node })));
      shards.show(labelled.map((shard) => ({ labels: labelsOf(shard), entry: shard })));
      lags.show(
        labelled.flatMap((shard) =>
          Object.entries(shard.lagOperations).map(([node, lag]) => ({
            labels: { ...labelsOf(shard), node },
            entry: lag,
          })),
        ),
      );
      learners.show(
        labelled.flatMap((shard) =>
          shard.learners.map(({ node, progress }) => ({ labels: { ...labelsOf(shard), node }, entry: progress })),
        ),
      );
      moves.show(
        (view?.moves ?? []).map((move) => ({
          labels: { ...labelsOf(move), from: move.from, to: move.to, phase: move.phase },
          entry: move,
        })),
      );
    },
  });
}

/** Every state has a count, even if it is 0: an alert can't refer to a series that does not exist. */
function countsOf<State extends string>(
  states: readonly State[],
  all: readonly { state: State }[],
): { labels: { state: string }; entry: number }[] {
  return states.map((state) => ({ labels: { state }, entry: all.filter((one) => one.state === state).length }));
}

/** What this coordinator has changed in the shard map while it was the controller. */
export class ControllerMetrics {
  private readonly changes: Counter<'reason'>;

  constructor(metrics: ProcessMetrics) {
    this.changes = new Counter({
      name: 'quiver_shard_map_changes_total',
      help: 'Changes of the shard map that this coordinator made as the controller',
      labelNames: ['reason'],
      registers: [metrics.registry],
    });
    for (const reason of CHANGE_REASONS) this.changes.inc({ reason }, 0);
  }

  changed(reason: ChangeReason): void {
    this.changes.inc({ reason });
  }
}
