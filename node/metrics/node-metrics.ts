import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { NodeReport, ReplicaReport } from '../../shared/cluster/node-report';
import type { Logger } from '../../shared/logs/logger';

/** The gauges of a replica: name, help, and the value read from its report. */
const REPLICA_GAUGES: [name: string, help: string, read: (replica: ReplicaReport) => number][] = [
  ['quiver_replica_leads', '1 when the replica leads its shard, else 0', ({ role }) => (role === 'primary' ? 1 : 0)],
  ['quiver_replica_epoch', 'Epoch that the replica leads or follows', ({ epoch }) => epoch],
  ['quiver_replica_last_sequence', 'Last entry of the log', ({ lastSequence }) => lastSequence],
  ['quiver_replica_applied_sequence', 'Last entry that is in the records', ({ appliedSequence }) => appliedSequence],
  ['quiver_replica_vectors', 'Vectors of the replica; not to be added up over replicas of a shard', ({ vectors }) => vectors],
  ['quiver_replica_disk_bytes', 'Bytes on the disk', ({ diskBytes }) => diskBytes],
  ['quiver_replica_lag_max', 'Entries that the follower furthest behind lacks; 0 on a follower', lagOf],
];

/** The Prometheus metrics of a storage node. */
export class NodeMetrics {
  private readonly registry = new Registry();
  private readonly report: () => Promise<NodeReport>;
  private readonly log: Logger;
  private readonly gauges: { gauge: Gauge<'collection_uid' | 'shard'>; read: (replica: ReplicaReport) => number }[];

  constructor(options: { report: () => Promise<NodeReport>; log: Logger }) {
    this.report = options.report;
    this.log = options.log;
    const registers = [this.registry];
    this.gauges = REPLICA_GAUGES.map(([name, help, read]) => ({ gauge: new Gauge({ name, help, labelNames: ['collection_uid', 'shard'], registers }), read }));
    collectDefaultMetrics({ register: this.registry });
  }

  /** The metrics in Prometheus's text format. */
  async read(): Promise<{ contentType: string; text: string }> {
    const { shards } = await this.report().catch((error: unknown) => {
      this.log.warn({ error }, 'the gauges could not be measured');
      return { shards: [] };
    });
    for (const { gauge, read } of this.gauges) {
      gauge.reset();
      for (const replica of shards) gauge.set({ collection_uid: replica.collectionUid, shard: String(replica.shard) }, read(replica));
    }
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }
}

function lagOf({ peers, lastSequence }: ReplicaReport): number {
  return Math.max(0, ...peers.map(({ matchSequence }) => lastSequence - matchSequence));
}
