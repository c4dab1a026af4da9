import { clusterQuota } from '../../../../../coordinator/cluster/cluster-quota';
import type { CollectionQuota } from '../../../../../coordinator/service/collections/collection-quota';
import { COLLECTIONS_PREFIX, dropFromEntry } from '../../../../../coordinator/service/collections/collection-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { NodeMember } from '../../../../../shared/cluster-store/entries/members';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import { newCollection, plainService } from '../../../../support/shards/plain-service';

function quotaOf(collectionsMax: number, shardsMax: number): CollectionQuota {
  return {
    collectionsMax,
    shardsOf: ({ shards, replicas }) => shards * replicas,
    room: () => ({ shardsMax, source: 'THE_LIMIT' }),
  };
}

/** Coordinators over one store. */
async function coordinators(count: number, quota: CollectionQuota) {
  const store = new InterceptedClusterStore(await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
  const shards = new PlainShardClient();
  const services = await Promise.all(
    Array.from({ length: count }, async () => (await plainService({ store, shards, quota })).service),
  );
  return { store, shards, services, service: services[0] };
}

test('one collection more than MAX_COLLECTIONS is refused, and a deleted one makes room', async () => {
  const { service } = await coordinators(1, quotaOf(2, Infinity));
  await service.collections.create(newCollection('a'));
  await service.collections.create(newCollection('b'));
  await expect(service.collections.create(newCollection('c'))).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: 'there are 2 collections: at most 2 are allowed (MAX_COLLECTIONS)',
  });
  await expect(service.collections.create(newCollection('a'))).rejects.toMatchObject({ kind: 'already_exists' });
  await service.collections.delete('a');
  await service.collections.create(newCollection('c'));
});

test('shards count with their replicas, and the error names what is wanted, taken and allowed', async () => {
  const { service } = await coordinators(1, quotaOf(10, 12));
  await service.collections.create({ ...newCollection('a', { shards: 4 }), replicas: 2 });
  await expect(service.collections.create({ ...newCollection('b', { shards: 3 }), replicas: 2 })).rejects.toMatchObject(
    {
      kind: 'limit_exceeded',
      message:
        'the collection needs 6 replicas of shards, and 8 of at most 12 are taken: the limit comes from THE_LIMIT',
    },
  );
  await service.collections.create(newCollection('c', { shards: 4 }));
  await expect(service.collections.create(newCollection('d'))).rejects.toMatchObject({
    message: 'the collection needs 1 shards, and 12 of at most 12 are taken: the limit comes from THE_LIMIT',
  });
});

test('creations through several coordinators at once never make one too many', async () => {
  const { services, store } = await coordinators(3, quotaOf(100, 7));
  // Every transaction waits until others have read, as over a network.
  store.beforeTransact = () => new Promise((go) => setImmediate(go));
  const outcomes = await Promise.allSettled(
    Array.from({ length: 30 }, (_, i) => services[i % 3].collections.create(newCollection(`c${i}`))),
  );
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as QuiverError] : []));
  expect(refused.map(({ kind }) => kind)).toEqual(Array(23).fill('limit_exceeded'));
  expect(await services[0].collections.list()).toHaveLength(7);
});

test('all collections are counted by the first creation, after one by another coordinator, and where there may be no room', async () => {
  const { services, store, service } = await coordinators(2, quotaOf(6, 100));
  const counts = async (act: () => Promise<unknown>): Promise<number> => {
    const before = store.listed.length;
    await act();
    return store.listed.slice(before).filter((prefix) => prefix === COLLECTIONS_PREFIX).length;
  };
  const create = (name: string, by = service) => counts(() => by.collections.create(newCollection(name)));
  expect([await create('a'), await create('b'), await create('c')]).toEqual([1, 0, 0]);
  expect([await create('d', services[1]), await create('e', services[1]), await create('f')]).toEqual([1, 0, 1]);
  await expect(service.collections.create(newCollection('g'))).rejects.toMatchObject({
    message: expect.stringContaining('there are 6 collections'),
  });
  await service.collections.delete('a');
  await service.collections.delete('b');
  expect([await create('g'), await create('h')]).toEqual([1, 0]);
  await expect(service.collections.create(newCollection('i'))).rejects.toMatchObject({
    message: expect.stringContaining('there are 6 collections'),
  });
});

test('more creations at once than can be decided in good time are refused as busy, and the others are made', async () => {
  const { service } = await coordinators(1, quotaOf(1000, Infinity));
  const outcomes = await Promise.allSettled(
    Array.from({ length: 80 }, (_, i) => service.collections.create(newCollection(`c${i}`))),
  );
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as QuiverError] : []));
  expect(refused.map(({ kind }) => kind)).toEqual(Array(16).fill('overloaded'));
  await service.collections.create(newCollection('after'));
  expect(await service.collections.list()).toHaveLength(65);
});

test('shards that are still to be dropped count until they are gone', async () => {
  const { service, shards } = await coordinators(1, quotaOf(10, 5));
  await service.collections.create(newCollection('a', { shards: 4 }));
  shards.intercept = () => {
    throw new QuiverError('unavailable', 'down');
  };
  await service.collections.delete('a');
  shards.intercept = undefined;
  await expect(service.collections.create(newCollection('b', { shards: 4 }))).rejects.toMatchObject({
    message: expect.stringContaining('4 of at most 5 are taken'),
  });
  await service.recover();
  await service.collections.create(newCollection('b', { shards: 4 }));
});

test('a drop written before there were quotas counts its shards once', () => {
  expect(dropFromEntry({ key: '/q/collection-drops/u', value: '{"uid":"u","name":"n","shards":3}' })).toEqual({
    uid: 'u',
    name: 'n',
    shards: 3,
    replicas: 1,
  });
});

test("a cluster's room is that of its nodes together; one that does not say has no bound", () => {
  const node = (id: string, shardsMax?: number): NodeMember => ({
    id,
    address: '',
    store: '',
    incarnation: '',
    zone: '',
    pid: 1,
    startedAt: '',
    diskBytes: 0,
    freeBytes: 0,
    shardsMax,
  });
  const roomOf = (nodes: NodeMember[]) => clusterQuota({ usableNodes: () => nodes }, 1).room();
  expect(roomOf([node('a', 5), node('b', 7)])).toEqual({
    shardsMax: 12,
    source: 'MAX_SHARDS of the nodes (2) together',
  });
  expect(roomOf([node('a', 5), node('b')]).shardsMax).toBe(Infinity);
  expect(roomOf([]).shardsMax).toBe(Infinity);
});
