import { addReplicaMetrics } from '../../../../../node/hosting/metrics/replica-metrics';
import type { ReplicaObservation } from '../../../../../node/engine/shard/shard-observation';
import { LABELLED_SHARDS_MAX } from '../../../../../shared/base/metrics/label-bounds';
import { metricsOfProcess, samples, STATUS } from '../../../../support/processes/metrics-of-process';

describe('the metrics of replicas', () => {
  const replica: ReplicaObservation = {
    collectionUid: 'u1',
    shard: 2,
    leads: true,
    epoch: 3,
    lastSequence: 50,
    appliedSequence: 49,
    pendingWrites: 1,
    lagMax: 6,
    data: {
      status: STATUS,
      memory: {
        vectorIndex: 10,
        directory: 20,
        filterIndex: 30,
        keywordIndex: 40,
        store: { memtableBytes: 50, tableReaderBytes: 70 },
      },
      checkpoint: { atMs: 1_700_000_000_500, unsavedChanges: 12 },
      expiredItems: 5,
      clockAheadMs: 1500,
      marks: { count: 8, bytes: 900 },
    },
  };

  test('show each replica, where its memory is, and sums over those that lead', async () => {
    const { metrics } = metricsOfProcess();
    addReplicaMetrics(metrics, async () => [replica, { ...replica, shard: 1, leads: false, lagMax: 0 }]);
    const lines = (await samples(metrics, 'quiver_replica')).filter((line) => !line.includes('shard="1"'));
    const labels = '{collection_uid="u1",shard="2"}';
    expect(lines).toEqual([
      `quiver_replica_applied_sequence${labels} 49`,
      `quiver_replica_checkpoint_timestamp_seconds${labels} 1700000000.5`,
      `quiver_replica_clock_ahead_seconds${labels} 1.5`,
      `quiver_replica_disk_bytes${labels} 1000`,
      `quiver_replica_epoch${labels} 3`,
      `quiver_replica_expired_items${labels} 5`,
      `quiver_replica_idempotency_mark_bytes${labels} 900`,
      `quiver_replica_idempotency_marks${labels} 8`,
      `quiver_replica_lag_operations${labels} 6`,
      `quiver_replica_last_sequence${labels} 50`,
      `quiver_replica_leads${labels} 1`,
      ...[
        'directory"} 20',
        'filter_index"} 30',
        'keyword_index"} 40',
        'rocksdb_memtables"} 50',
        'rocksdb_table_readers"} 70',
        'vector_index"} 10',
      ].map((end) => `quiver_replica_memory_bytes{collection_uid="u1",shard="2",part="${end}`),
      `quiver_replica_pending_writes${labels} 1`,
      `quiver_replica_unsaved_changes${labels} 12`,
      `quiver_replica_vectors${labels} 7`,
      'quiver_replicas 2',
      'quiver_replicas_disk_bytes 2000',
      'quiver_replicas_leading 1',
      'quiver_replicas_unlabelled 0',
      'quiver_replicas_vectors 7',
    ]);
  });

  test('have a bounded number of labels', async () => {
    const { metrics } = metricsOfProcess();
    addReplicaMetrics(metrics, async () =>
      Array.from({ length: LABELLED_SHARDS_MAX + 2 }, (_, shard) => ({ ...replica, shard })),
    );
    expect(await samples(metrics, 'quiver_replica_leads')).toHaveLength(LABELLED_SHARDS_MAX);
    expect(await samples(metrics, 'quiver_replicas_unlabelled')).toEqual(['quiver_replicas_unlabelled 2']);
    expect(await samples(metrics, 'quiver_replicas_vectors')).toEqual([
      `quiver_replicas_vectors ${7 * (LABELLED_SHARDS_MAX + 2)}`,
    ]);
  });
});
