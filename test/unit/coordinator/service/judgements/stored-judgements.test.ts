import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import { newCollection, plainService } from '../../../../support/shards/plain-service';

const PREFIX = '/q/judgements/';
const JUDGED = [{ query: 'car', relevant: new Map([['a', 1]]) }];
const OTHERS = [{ query: 'boat', relevant: new Map([['b', 2]]) }];

/** A store whose changes are not heard of. */
class LateStore extends InterceptedClusterStore {
  override watch(): () => void {
    return () => undefined;
  }
}

async function setUp() {
  const shards = new PlainShardClient();
  const inner = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const start = async (store: ClusterStore) => (await plainService({ store, shards })).service;
  const service = await start(inner);
  const keys = async (): Promise<string[]> => (await inner.list(PREFIX)).entries.map(({ key }) => key);
  await service.collections.create(newCollection('c'));
  return { shards, inner, start, service, keys };
}

/** Does it before the next transaction that puts judgements. */
function before(store: InterceptedClusterStore, act: () => Promise<unknown>): void {
  store.beforeTransact = async (changes) => {
    if (!changes.some(({ type, key }) => type === 'put' && key.startsWith(PREFIX))) return;
    store.beforeTransact = async () => undefined;
    await act();
  };
}

describe('judgements', () => {
  test('of a collection that another coordinator deletes meanwhile are refused, and nothing stays', async () => {
    const { inner, start, service, keys } = await setUp();
    const store = new LateStore(inner);
    const late = await start(store);
    before(store, () => service.collections.delete('c'));
    await expect(late.judgements.put('c', 'set', JUDGED)).rejects.toThrow('"c" does not exist');
    expect(await keys()).toEqual([]);
  });

  test('of one that is made anew meanwhile are those of the new one', async () => {
    const { inner, start, service, keys } = await setUp();
    const store = new LateStore(inner);
    const late = await start(store);
    before(store, async () => {
      await service.collections.delete('c');
      await service.collections.create(newCollection('c'));
    });
    await late.judgements.put('c', 'set', JUDGED);
    expect(await keys()).toHaveLength(1);
    expect((await service.judgements.get('c', 'set')).judged).toEqual(JUDGED);
  });

  test('are stored where the collection was changed meanwhile', async () => {
    const { inner, start, service } = await setUp();
    const store = new InterceptedClusterStore(inner);
    const other = await start(store);
    await other.judgements.put('c', 'set', JUDGED);
    before(store, () => service.collections.update('c', { description: 'changed' }));
    await other.judgements.put('c', 'set', OTHERS);
    expect((await service.judgements.get('c', 'set')).judged).toEqual(OTHERS);
  });

  test('go when a drop that was interrupted is finished; those of a new collection of the name stay', async () => {
    const { shards, inner, start, service, keys } = await setUp();
    await service.judgements.put('c', 'set', JUDGED);
    const drop = jest.spyOn(shards, 'drop').mockRejectedValue(new QuiverError('unavailable', 'down'));
    await service.collections.delete('c');
    await service.collections.create(newCollection('c'));
    expect(await service.judgements.list('c')).toEqual([]);
    await service.judgements.put('c', 'other', OTHERS);
    expect(await keys()).toHaveLength(2);
    drop.mockRestore();
    const next = await start(inner);
    expect(await keys()).toHaveLength(1);
    expect((await next.judgements.get('c', 'other')).judged).toEqual(OTHERS);
  });

  test('are evaluated by so many jobs at a time, and by more when one is over', async () => {
    const { service } = await setUp();
    await service.judgements.put('c', 'set', JUDGED);
    const begin = () => service.judgements.evaluate('c', { name: 'set', variants: [{}], k: 3 });
    const begun = [];
    for (let i = 0; i < 16; i += 1) begun.push((await begin()).id);
    await expect(begin()).rejects.toThrow('"c" has 16 evaluations that are not over');
    await service.jobs.cancel(begun[3]);
    expect((await begin()).state).toBe('queued');
  });
});
