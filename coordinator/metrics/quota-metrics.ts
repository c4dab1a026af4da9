import { GaugeTable } from '../../shared/metrics/gauge-table';
import { LABELLED_SHARDS_MAX } from '../../shared/metrics/label-bounds';
import type { ProcessMetrics } from '../../shared/metrics/process-metrics';
import type { CollectionRecord } from '../collections/collection-record';
import type { QuotaLedger } from '../collections/quota-ledger';

/** Quotas of collections, to be compared with what they hold: vectordb_vectors_total, quiver_shard_disk_bytes. */
export function addQuotaMetrics(metrics: ProcessMetrics, parts: { quotas: Pick<QuotaLedger, 'refusals'>; collections: () => Promise<CollectionRecord[]> }): void {
  const table = (name: string, help: string): GaugeTable<'collection', number> => new GaugeTable<'collection', number>(metrics.registry, ['collection'], [[name, help, (value) => value]]);
  const tables = {
    items: table('quiver_collection_quota_items', 'Items that the collection may hold; absent: any number'),
    bytes: table('quiver_collection_quota_bytes', 'Bytes that the collection may take on the disk, of one replica; absent: any number'),
  };
  metrics.gauge('quiver_quota_refusals', 'Writes of this process that were refused since its start because of a quota', () => parts.quotas.refusals);
  metrics.add<CollectionRecord[]>({
    measure: parts.collections,
    show: (records) => {
      const bounded = (records ?? []).filter(({ quota }) => quota !== undefined).slice(0, LABELLED_SHARDS_MAX);
      for (const [part, gauges] of Object.entries(tables)) {
        gauges.show(bounded.flatMap(({ name, quota }) => (quota?.[part as 'items' | 'bytes'] ? [{ labels: { collection: name }, entry: quota[part as 'items' | 'bytes'] as number }] : [])));
      }
    },
  });
}
