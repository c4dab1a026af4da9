import { type GaugeColumn, GaugeTable } from '../../../shared/base/metrics/gauge-table';
import { LABELLED_SHARDS_MAX, OTHER_COLLECTIONS } from '../../../shared/base/metrics/label-bounds';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { ShardStatus } from '../../../shared/contract/shard/shard-read';
import type { ShardReading } from '../../service/collections/shard-reading';

/** The gauges of one shard, as its primary answers. */
const SHARD_GAUGES: GaugeColumn<ShardStatus | null>[] = [
  ['quiver_shard_up', '1 when the shard answers this coordinator, else 0', (status) => (status === null ? 0 : 1)],
  column('quiver_shard_vectors', 'Live vectors in the shard', (status) => status.vectorCount),
  column('quiver_shard_segments', 'Segments of the vector index', (status) => status.segments.length),
  column('quiver_shard_growing_rows', 'Rows of the vector index that no graph holds yet', (status) =>
    rows(status, 'growing'),
  ),
  column('quiver_shard_sealed_rows', 'Rows of the vector index in a graph', (status) => rows(status, 'sealed')),
  column('quiver_shard_deleted_rows', 'Rows of the vector index that await removal', deletedRows),
  column(
    'quiver_shard_deleted_ratio',
    'Share of the rows of the vector index that await removal, 0 to 1',
    (status) => deletedRows(status) / Math.max(1, sum(status.segments.map((segment) => segment.rows))),
  ),
  column(
    'quiver_shard_search_effort',
    'Largest calibrated effort (ef) of the segments; 0 where all are scanned',
    (status) => Math.max(0, ...status.segments.map((segment) => segment.ef)),
  ),
  column(
    'quiver_shard_memory_bytes',
    'Memory held by the structures of the shard, mapped originals not counted',
    (status) => status.memoryBytes,
  ),
  column('quiver_shard_disk_bytes', 'Disk space of the shard', (status) => status.diskBytes),
  column('quiver_shard_last_operation', 'Number of the last applied operation batch', (status) => status.lastOperation),
];

interface CollectionTotals {
  name: string;
  uid: string;
  shards: ShardReading[];
  /** null if a shard did not answer: a sum without it would be wrong. */
  vectors: number | null;
}

/**
 * Adds what all coordinators know in the same way: collections and their shards, with each vector counted once, however
 * many replicas there are. Every coordinator reports the same numbers, so queries must take their maximum, not their
 * sum. Collections beyond the bound on labels share one label and have no gauges for their shards.
 */
export function addCollectionMetrics(metrics: ProcessMetrics, readShards: () => Promise<ShardReading[] | null>): void {
  const { registry } = metrics;
  const vectors = new GaugeTable<'collection', number>(
    registry,
    ['collection'],
    [['vectordb_vectors_total', 'Vectors per collection', (count) => count]],
  );
  const infos = new GaugeTable<'collection' | 'collection_uid', 1>(
    registry,
    ['collection', 'collection_uid'],
    [
      [
        'quiver_collection_info',
        'Always 1; joins the names of collections to the uids that storage nodes know',
        () => 1,
      ],
    ],
  );
  const totals = new GaugeTable<never, { all: number; unlabelled: number }>(
    registry,
    [],
    [
      ['vectordb_collections_total', 'Collections', ({ all }) => all],
      [
        'quiver_collections_unlabelled',
        'Collections beyond the bound on labels, shown as one',
        ({ unlabelled }) => unlabelled,
      ],
    ],
  );
  const shards = new GaugeTable(registry, ['collection', 'shard'], SHARD_GAUGES);
  metrics.add<ShardReading[]>({
    measure: readShards,
    show: (readings) => {
      const { labelled, rest, all } = byCollection(readings ?? []);
      totals.show(readings === null ? [] : [{ labels: {}, entry: { all, unlabelled: rest.length } }]);
      const counted = labelled.flatMap(({ name, vectors: count }) =>
        count === null ? [] : [{ labels: { collection: name }, entry: count }],
      );
      if (rest.length > 0)
        counted.push({
          labels: { collection: OTHER_COLLECTIONS },
          entry: sum(rest.map((collection) => collection.vectors ?? 0)),
        });
      vectors.show(counted);
      infos.show(
        labelled.map(({ name, uid }) => ({ labels: { collection: name, collection_uid: uid }, entry: 1 as const })),
      );
      shards.show(
        labelled.flatMap(({ shards: own }) =>
          own.map(({ collection, shard, status }) => ({ labels: { collection, shard: String(shard) }, entry: status })),
        ),
      );
    },
  });
}

/** Collections in the order of their readings, as many as the bound on shards allows; the others separately. */
function byCollection(readings: ShardReading[]): {
  labelled: CollectionTotals[];
  rest: CollectionTotals[];
  all: number;
} {
  const collections = new Map<string, CollectionTotals>();
  for (const reading of readings) {
    let found = collections.get(reading.collection);
    if (found === undefined)
      collections.set(
        reading.collection,
        (found = { name: reading.collection, uid: reading.collectionUid, shards: [], vectors: 0 }),
      );
    found.shards.push(reading);
    found.vectors =
      found.vectors === null || reading.status === null ? null : found.vectors + reading.status.vectorCount;
  }
  const labelled: CollectionTotals[] = [];
  const rest: CollectionTotals[] = [];
  let shardCount = 0;
  for (const collection of collections.values()) {
    shardCount += collection.shards.length;
    (shardCount <= LABELLED_SHARDS_MAX ? labelled : rest).push(collection);
  }
  return { labelled, rest, all: collections.size };
}

function column(name: string, help: string, read: (status: ShardStatus) => number): GaugeColumn<ShardStatus | null> {
  return [name, help, (status) => (status === null ? null : read(status))];
}

function rows(status: ShardStatus, kind: 'growing' | 'sealed'): number {
  return sum(status.segments.filter((segment) => segment.kind === kind).map((segment) => segment.rows));
}

function deletedRows(status: ShardStatus): number {
  return sum(status.segments.map((segment) => segment.deletedRows));
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
