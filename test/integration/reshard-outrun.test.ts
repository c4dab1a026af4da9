import { setTimeout as sleep } from 'node:timers/promises';
import { collectionFromEntry, collectionPath } from '../../coordinator/service/collections/collection-record';
import { ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import { KeyValueClusterStore } from '../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import type { ShardClient } from '../../shared/contract/shard/shard-client';
import { eventually } from '../support/eventually';
import { item, newCollection, plainService } from '../support/shards/plain-service';
import { openMemoryStore, plainFactories, ShardNode } from '../support/shards/shard-node';

const LANES = 4;
const BATCH = 50;
/** Clients store at most 4,000 items a second. */
const REST_MS = 50;
/** Of one copied item: 2,000 a second. */
const COPY_MS = 0.5;
const LONG_TEXT = 'long '.repeat(20_000);

test('a reshard ends although clients store faster than it copies, in pages of bounded length, and nothing is lost', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  let longestPage = 0;
  let imported = 0;
  const shardClient: ShardClient = {
    make: (spec) => node.client.make(spec),
    open: (spec) => node.client.open(spec),
    drop: (id) => node.client.drop(id),
    read: (id, kind, request, call) => node.client.read(id, kind, request, call),
    write: async (id, operations, call) => {
      if (operations[0]?.type === 'import') {
        imported += operations.length;
        longestPage = Math.max(
          longestPage,
          operations.reduce(
            (sum, operation) => sum + ((operation.type === 'import' && operation.item?.text?.length) || 0),
            0,
          ),
        );
        await sleep(operations.length * COPY_MS);
      }
      return node.client.write(id, operations, call);
    },
  };
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const { service } = await plainService({ store, shardClient, environment: { REQUEST_TIMEOUT_MS: '60000' } });
  const resharder = await service.driveReshards(ONLY_DRIVER, 0);
  try {
    await service.collections.create(newCollection('c', { shards: 1 }));
    const shards = async (): Promise<number> => collectionFromEntry((await store.get(collectionPath('c')))!).shards;
    // 10 MB of texts.
    await service.vectors.upsert(
      'c',
      Array.from({ length: 100 }, (_, i) => ({ ...item(`long-${i}`, [1, 2]), text: LONG_TEXT })),
    );
    let stored = 0;
    let isOver = false;
    const lane = async (number: number): Promise<void> => {
      for (let batch = 0; !isOver; batch += 1) {
        const items = Array.from({ length: BATCH }, (_, i) => item(`${number}-${batch}-${i}`, [number, batch]));
        await service.vectors.upsert('c', items);
        stored += items.length;
        await sleep(REST_MS);
      }
    };
    const lanes = Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
    await eventually('clients store', () => stored > 500);
    await service.collections.reshard('c', 2);
    await eventually('it has two shards', async () => (await shards()) === 2).finally(() => (isOver = true));
    await lanes;
    expect(imported).toBeGreaterThan(1000);
    // 4 MiB, and what is read at once beyond it.
    expect(longestPage).toBeLessThan(9 * 1024 * 1024);
    expect((await service.collections.get('c')).vectorCount).toBe(stored + 100);
  } finally {
    await resharder.close();
    service.close();
    await node.destroy();
  }
});
