import type { StoreBudget } from '../../engine/kv/store-budget';
import { LABELLED_SHARDS_MAX } from '../../../shared/base/metrics/label-bounds';
import { type GaugeColumn, GaugeTable } from '../../../shared/base/metrics/gauge-table';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { ReplicaObservation } from '../../engine/shard/shard-observation';

const REPLICA_GAUGES: GaugeColumn<ReplicaObservation>[] = [
  ['quiver_replica_leads', '1 when the replica leads its shard, else 0', ({ leads }) => (leads ? 1 : 0)],
  ['quiver_replica_epoch', 'Epoch that the replica leads or follows', ({ epoch }) => epoch],
  ['quiver_replica_last_sequence', 'Last entry of the log', ({ lastSequence }) => lastSequence],
  ['quiver_replica_applied_sequence', 'Last entry that is in the records', ({ appliedSequence }) => appliedSequence],
  [
    'quiver_replica_lag_operations',
    'Entries that the follower furthest behind lacks; 0 on a follower',
    ({ lagMax }) => lagMax,
  ],
  ['quiver_replica_pending_writes', 'Writes whose callers wait for an answer', ({ pendingWrites }) => pendingWrites],
  [
    'quiver_replica_vectors',
    'Vectors of the replica; to be added up over leading replicas only',
    ({ data }) => data.status.vectorCount,
  ],
  ['quiver_replica_disk_bytes', 'Bytes on the disk: records, log and originals', ({ data }) => data.status.diskBytes],
  [
    'quiver_replica_checkpoint_timestamp_seconds',
    'Unix time of the last checkpoint, or of the opening if there was none',
    ({ data }) => data.checkpoint.atMs / 1000,
  ],
  [
    'quiver_replica_unsaved_changes',
    'Changes that the last checkpoint does not hold, which a start after a crash repeats',
    ({ data }) => data.checkpoint.unsavedChanges,
  ],
  ['quiver_replica_expired_items', 'Items that expired since the replica was opened', ({ data }) => data.expiredItems],
  [
    'quiver_replica_clock_ahead_seconds',
    'How far the time by which items expire, and writes are dated, is ahead of the clock of this machine',
    ({ data }) => data.clockAheadMs / 1000,
  ],
  [
    'quiver_replica_idempotency_marks',
    'Writes with an Idempotency-Key that the replica remembers, also some that have expired',
    ({ data }) => data.marks.count,
  ],
  [
    'quiver_replica_idempotency_mark_bytes',
    'Bytes on the disk of what the replica remembers of writes with an Idempotency-Key',
    ({ data }) => data.marks.bytes,
  ],
];

/** The memory of a replica by purpose. FAISS: `vector_index`. RocksDB: the parts that start with `rocksdb_`. */
const MEMORY_PARTS: [part: string, read: (replica: ReplicaObservation) => number][] = [
  ['vector_index', ({ data }) => data.memory.vectorIndex],
  ['directory', ({ data }) => data.memory.directory],
  ['filter_index', ({ data }) => data.memory.filterIndex],
  ['keyword_index', ({ data }) => data.memory.keywordIndex],
  ['rocksdb_memtables', ({ data }) => data.memory.store.memtableBytes],
  ['rocksdb_table_readers', ({ data }) => data.memory.store.tableReaderBytes],
];

/**
 * Adds the gauges of the replicas in a process, by collection uid and shard; for those beyond the bound on labels only
 * sums. Only coordinators know the names of collections (`quiver_collection_info`).
 */
export function addReplicaMetrics(metrics: ProcessMetrics, observe: () => Promise<ReplicaObservation[]>): void {
  const { registry } = metrics;
  const labelNames = ['collection_uid', 'shard'] as const;
  const replicas = new GaugeTable(registry, labelNames, REPLICA_GAUGES);
  const memory = new GaugeTable<'collection_uid' | 'shard' | 'part', number>(
    registry,
    [...labelNames, 'part'],
    [
      [
        'quiver_replica_memory_bytes',
        'Bytes of memory by what they are for; originals mapped from the disk not counted',
        (bytes) => bytes,
      ],
    ],
  );
  const totals = new GaugeTable<never, ReplicaObservation[]>(
    registry,
    [],
    [
      ['quiver_replicas', 'Replicas that are open, or closed because nobody uses them', (all) => all.length],
      [
        'quiver_replicas_leading',
        'Open replicas that lead their shard',
        (all) => all.filter(({ leads }) => leads).length,
      ],
      [
        'quiver_replicas_vectors',
        'Vectors of leading replicas, also of those without gauges of their own',
        (all) => sum(all.filter(({ leads }) => leads).map(({ data }) => data.status.vectorCount)),
      ],
      [
        'quiver_replicas_disk_bytes',
        'Bytes on the disk of all replicas',
        (all) => sum(all.map(({ data }) => data.status.diskBytes)),
      ],
      [
        'quiver_replicas_unlabelled',
        'Replicas beyond the bound on labels, without gauges of their own',
        (all) => Math.max(0, all.length - LABELLED_SHARDS_MAX),
      ],
    ],
  );
  metrics.add<ReplicaObservation[]>({
    measure: observe,
    show: (all) => {
      const labelled = [...(all ?? [])].sort(byName).slice(0, LABELLED_SHARDS_MAX);
      const entries = labelled.map((entry) => ({
        labels: { collection_uid: entry.collectionUid, shard: String(entry.shard) },
        entry,
      }));
      replicas.show(entries);
      memory.show(
        entries.flatMap(({ labels, entry }) =>
          MEMORY_PARTS.map(([part, read]) => ({ labels: { ...labels, part }, entry: read(entry) })),
        ),
      );
      totals.show(all === null ? [] : [{ labels: {}, entry: all }]);
    },
  });
}

/** Adds the memory of all stores of the process together; each replica's own part is among its gauges. */
export function addStoreMetrics(metrics: ProcessMetrics, budget: StoreBudget): void {
  metrics.gauge(
    'quiver_store_cache_bytes',
    'Memory with pieces of record files, of all stores',
    () => budget.memory().cacheBytes,
  );
  metrics.gauge(
    'quiver_store_write_buffer_bytes',
    'Memory with records that are in a log and not yet in a file, of all stores',
    () => budget.memory().writeBufferBytes,
  );
}

function byName(one: ReplicaObservation, other: ReplicaObservation): number {
  return one.collectionUid < other.collectionUid
    ? -1
    : one.collectionUid > other.collectionUid
      ? 1
      : one.shard - other.shard;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
