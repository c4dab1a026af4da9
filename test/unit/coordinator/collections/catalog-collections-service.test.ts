import type { CatalogCollectionsService } from '../../../../coordinator/collections/catalog-collections-service';
import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../node/kv/memory-key-value-store';
import { QuiverError } from '../../../../shared/errors/quiver-error';
import { PlainShardClient } from '../../../support/plain-shard-client';
import { newCollection, plainService } from '../../../support/plain-service';

test('a recovery asks the shards of each collection until all of them have answered once, and then no more', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const shards = new PlainShardClient();
  const { service } = await plainService({ store, shards });
  const { service: other } = await plainService({ store, shards });
  const uids: string[] = [];
  let asked: string[] = [];
  let isDown = true;
  shards.intercept = (call, { collectionUid, shard }) => {
    if (!uids.includes(collectionUid)) uids.push(collectionUid);
    asked.push(`${uids.indexOf(collectionUid)}.${shard}`);
    if (isDown && call === 'status' && shard === 1 && collectionUid === uids[1]) throw new QuiverError('unavailable', 'down');
  };
  for (const name of ['a', 'b']) await service.collections.create(newCollection(name, { shards: 2 }));
  const recovered = async (): Promise<string[]> => {
    asked = [];
    await (other.collections as CatalogCollectionsService).recover();
    return [...new Set(asked)].sort();
  };
  expect(await recovered()).toEqual(['0.0', '0.1', '1.0', '1.1']);
  isDown = false;
  expect(await recovered()).toEqual(['1.0', '1.1']);
  expect(await recovered()).toEqual([]);
  await service.collections.create(newCollection('c', { shards: 1 }));
  expect(await recovered()).toEqual(['2.0']);
});
