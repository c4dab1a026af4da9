import { OwnedEntry } from '../../../../../coordinator/jobs/driving/owned-entry';
import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

async function owned() {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  await store.transact([], [{ type: 'put', key: 'k', value: '{}' }]);
  const entry = (await store.get('k'))!;
  const open = () =>
    new OwnedEntry<{ a?: number; b?: number }>({ store, leadership: ONLY_DRIVER }, 'k', {}, entry.revision);
  return { store, open };
}

test('changes that come together are made one after the other, and none takes the place of another', async () => {
  const { store, open } = await owned();
  const entry = open();
  await Promise.all([entry.change({ a: 1 }), entry.change({ b: 2 }), entry.change({})]);
  expect(JSON.parse((await store.get('k'))!.value)).toEqual({ a: 1, b: 2 });
  await Promise.all([entry.change({ a: 3 }), entry.end()]);
  expect(await store.get('k')).toBeNull();
});

test('a change of somebody else ends it, and those that wait', async () => {
  const { open } = await owned();
  const [one, other] = [open(), open()];
  await one.change({ a: 1 });
  const results = await Promise.allSettled([other.change({ a: 2 }), other.change({ b: 2 })]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(one.content).toEqual({ a: 1 });
});
