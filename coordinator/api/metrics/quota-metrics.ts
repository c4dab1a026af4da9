import { GaugeTable } from '../../../shared/base/metrics/gauge-table';
import { LABELLED_SHARDS_MAX } from '../../../shared/base/metrics/label-bounds';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { CollectionRecord } from '../../service/collections/collection-record';
import type { QuotaLedger } from '../../service/collections/quota-ledger';
import { keyIdentity, type KeyQuota, type KeyQuotaUse } from '../../service/keys/quota/key-quota';
import type { KeyQuotaLedger } from '../../service/keys/quota/key-quota-ledger';

interface BoundedKey {
  id: number;
  quota: KeyQuota;
}

type Part = 'items' | 'bytes';
const PARTS: readonly Part[] = ['items', 'bytes'];

/**
 * Quotas of collections, to be compared with what they hold (vectordb_vectors_total, quiver_shard_disk_bytes), and of
 * keys, with what they have stored.
 */
export function addQuotaMetrics(
  metrics: ProcessMetrics,
  parts: {
    quotas: Pick<QuotaLedger, 'refusals'>;
    keyQuotas: Pick<KeyQuotaLedger, 'refusals' | 'usedOfAll'>;
    /** Keys that have a quota. */
    keys: () => BoundedKey[];
    collections: () => Promise<CollectionRecord[]>;
  },
): void {
  const table = <Label extends string>(label: Label, name: string, help: string): GaugeTable<Label, number> =>
    new GaugeTable<Label, number>(metrics.registry, [label], [[name, help, (value) => value]]);
  const ofCollections = {
    items: table(
      'collection',
      'quiver_collection_quota_items',
      'Items that the collection may hold; absent: any number',
    ),
    bytes: table(
      'collection',
      'quiver_collection_quota_bytes',
      'Bytes that the collection may take on the disk, of one replica; absent: any number',
    ),
  };
  const ofKeys = {
    items: table('key_id', 'quiver_key_quota_items', 'Items that the key may store in its period; absent: any number'),
    bytes: table('key_id', 'quiver_key_quota_bytes', 'Bytes that the key may store in its period; absent: any number'),
  };
  const used = {
    items: table('key_id', 'quiver_key_quota_used_items', 'Items of its quota that the key has stored in this period'),
    bytes: table('key_id', 'quiver_key_quota_used_bytes', 'Bytes of its quota that the key has stored in this period'),
  };
  metrics.gauge(
    'quiver_quota_refusals',
    'Writes of this process that were refused since its start because of a quota of a collection',
    () => parts.quotas.refusals,
  );
  metrics.gauge(
    'quiver_key_quota_refusals',
    'Writes of this process that were refused since its start because of a quota of a key or of a subject of tokens',
    () => parts.keyQuotas.refusals,
  );
  metrics.add<CollectionRecord[]>({
    measure: parts.collections,
    show: (records) => {
      const bounded = (records ?? []).filter(({ quota }) => quota !== undefined).slice(0, LABELLED_SHARDS_MAX);
      for (const part of PARTS)
        ofCollections[part].show(
          bounded.flatMap(({ name, quota }) =>
            quota?.[part] ? [{ labels: { collection: name }, entry: quota[part] }] : [],
          ),
        );
    },
  });
  metrics.add<(BoundedKey & { use: KeyQuotaUse })[]>({
    measure: async () => {
      const bounded = parts.keys().slice(0, LABELLED_SHARDS_MAX);
      const uses = await parts.keyQuotas.usedOfAll(
        bounded.map(({ id, quota }) => ({ identity: keyIdentity(id), quota })),
      );
      return bounded.map((key, i) => ({ ...key, use: uses[i] }));
    },
    show: (keys) => {
      for (const part of PARTS) {
        const shown = (of: (key: BoundedKey & { use: KeyQuotaUse }) => number | null) =>
          (keys ?? []).flatMap((key) => {
            const entry = of(key);
            return entry === null ? [] : [{ labels: { key_id: String(key.id) }, entry }];
          });
        ofKeys[part].show(shown(({ quota }) => quota[part]));
        used[part].show(shown(({ use }) => use[part]));
      }
    },
  });
}
