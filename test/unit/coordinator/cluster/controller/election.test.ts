import { Election } from '../../../../../coordinator/cluster/controller/election';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import type { SessionStore, StoreSession } from '../../../../../shared/cluster-store/session-store';
import { eventually } from '../../../../support/eventually';

const PATH = '/q/controller';

/** A cluster store whose sessions last until they are closed. */
async function openStore(): Promise<ClusterStore & SessionStore> {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const openSession = async (): Promise<StoreSession> => ({
    id: 's',
    isLost: false,
    onLost: () => undefined,
    onKept: () => undefined,
    close: async () => void (await store.transact([], [{ type: 'delete', key: PATH }])),
  });
  return {
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    transact: (guards, changes) =>
      store.transact(
        guards,
        changes.map((change) =>
          change.type === 'put' ? { type: 'put', key: change.key, value: change.value } : change,
        ),
      ),
    watch: (...args) => store.watch(...args),
    close: () => store.close(),
    openSession,
  };
}

test('a candidate does not campaign before it can do what the leader has to, so that one that can is elected', async () => {
  const store = await openStore();
  const [starting, ready] = ['starting', 'ready'].map(
    (id) => new Election({ store, path: PATH, value: JSON.stringify(id), ttlSeconds: 3 }),
  );
  ready.begin();
  await eventually('one is elected', () => ready.isLeader);
  await ready.close();
  expect([starting.guard, await store.get(PATH)]).toEqual([null, null]);
  starting.begin();
  starting.begin();
  await eventually('the other one is elected', () => starting.isLeader);
  await starting.close();
  expect(await store.get(PATH)).toBeNull();
  await store.close();
});

test('a candidate that never began resigns at once, and does not begin afterwards', async () => {
  const store = await openStore();
  const election = new Election({ store, path: PATH, value: '"late"', ttlSeconds: 3 });
  await election.close();
  election.begin();
  for (let turn = 0; turn < 10; turn += 1) await new Promise((done) => setImmediate(done));
  expect([election.isLeader, await store.get(PATH)]).toEqual([false, null]);
  await store.close();
});
