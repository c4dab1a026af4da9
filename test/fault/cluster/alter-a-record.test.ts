import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { RocksKeyValueStore } from '../../../node/engine/kv/rocks-key-value-store';
import { recordFromBytes, recordToBytes } from '../../../node/engine/records/record-codec';
import { ITEM_RANGE } from '../../../node/engine/records/record-keys';
import { eventually } from '../../support/eventually';
import { comparisonsOf } from '../../support/shards/replica-comparisons';
import { COLLECTION, underLoad } from './under-load';

/** Long enough for each of some comparisons to meet writes under way. */
const COMPARED = 5;

test('a record that a replica holds otherwise than its primary is found while much is written, and the replica is replaced', async () => {
  await underLoad(
    'alter-a-record',
    { nodes: 2, replicas: 2, environment: { COMPARE_REPLICAS_SECONDS: '1' } },
    async ({ cluster, writes }) => {
      await cluster.data('POST', `/v1/collections/${COLLECTION}/upsert`, {
        external_id: 'never-written-again',
        vector: [1, 2, 3, 4],
        metadata: { right: true },
      });
      await eventually(
        'replicas are compared under load',
        async () => (await comparisonsOf(cluster.nodes, 'same')) >= COMPARED,
      );
      expect(await comparisonsOf(cluster.nodes, 'different')).toBe(0);

      const [node, primary] = cluster.nodes;
      expect(await node.stop()).toBe(0);
      const { folder, shard } = await alter(join(node.dataDir, 'node', 'shards'), 'never-written-again');
      await node.start();
      // It may have led the shard: whoever leads it now counts.
      expect(await cluster.primaryOf(COLLECTION, shard)).toBe(primary);

      await eventually('the difference is found', async () => (await comparisonsOf(cluster.nodes, 'different')) > 0);
      await eventually('the replica is put aside', async () => existsSync(`${folder}.retired`));
      await cluster.settled();
      // Logs are written in the background.
      await eventually('the primary tells of it', () =>
        primary.output.includes('the replicas of a shard differ after the same entry of its log'),
      );
      await eventually('and what it does', () =>
        primary.output.includes('the replica that differs from the primary is replaced by a copy'),
      );
      await eventually('the other one tells of it', () =>
        node.output.includes('this replica differs from its primary'),
      );
      // What was right is there, also by the replica that was replaced.
      await cluster.leadBy(node, COLLECTION, shard);
      const { metadata } = await cluster.data('GET', `/v1/collections/${COLLECTION}/vectors/never-written-again`);
      expect(metadata).toEqual({ right: true });
      const [same, different] = [await comparisonsOf([node], 'same'), await comparisonsOf([node], 'different')];
      await writes(25);
      await eventually('the new replica is the same', async () => (await comparisonsOf([node], 'same')) > same);
      expect(await comparisonsOf([node], 'different')).toBe(different);
    },
  );
});

/**
 * Stores another metadata of an item, as a fault of the memory below the checksums of the store would. Answers where it
 * was.
 */
async function alter(shards: string, externalId: string): Promise<{ folder: string; shard: number }> {
  for (const folder of readdirSync(shards, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('/records'),
  )) {
    const store = await RocksKeyValueStore.open(join(shards, folder));
    try {
      for await (const page of store.scan(ITEM_RANGE)) {
        for (const { key, value } of page) {
          const record = recordFromBytes(value);
          if (record.externalId !== externalId) continue;
          await store.write([{ type: 'put', key, value: recordToBytes({ ...record, metadata: '{"right":false}' }) }], {
            sync: true,
          });
          return { folder: join(shards, dirname(folder)), shard: Number(basename(dirname(folder))) };
        }
      }
    } finally {
      await store.close();
    }
  }
  throw new Error(`${externalId} is in no shard`);
}
