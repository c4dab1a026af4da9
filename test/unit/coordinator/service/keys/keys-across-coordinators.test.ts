import { StoreKeysService } from '../../../../../coordinator/service/keys/store-keys-service';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { KeyValueStore } from '../../../../../node/engine/kv/key-value-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { ManualClock } from '../../../../support/manual-clock';
import { eventually } from '../../../../support/eventually';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';

const clock = new ManualClock();

async function storeOver(medium: KeyValueStore = new MemoryKeyValueStore()): Promise<InterceptedClusterStore> {
  return new InterceptedClusterStore(await KeyValueClusterStore.open({ store: medium }));
}

async function keysOver(store: InterceptedClusterStore, apiKey?: string): Promise<StoreKeysService> {
  return (await StoreKeysService.open({ store, clock, apiKey })).keys;
}

describe('API_KEY', () => {
  test('unset: a random secret is made at the first start and handed out once', async () => {
    const store = await storeOver();
    const first = await StoreKeysService.open({ store, clock, apiKey: undefined });
    expect(first.firstSecret).toMatch(/^qv_[A-Za-z0-9_-]{49}$/);
    expect(first.keys.authenticate(first.firstSecret as string)?.id).toBe(1);
    const second = await StoreKeysService.open({ store, clock, apiKey: undefined });
    expect(second.firstSecret).toBeNull();
    expect(second.keys.authenticate(first.firstSecret as string)?.id).toBe(1);
  });

  test('not wanted: key 1 has no secret until a start wants one, and keeps that', async () => {
    for (const apiKey of [undefined, 'one']) {
      const store = await storeOver();
      const unwanted = (): ReturnType<typeof StoreKeysService.open> =>
        StoreKeysService.open({ store, clock, apiKey: undefined, generated: null });
      const { keys, firstSecret } = await unwanted();
      expect(firstSecret).toBeNull();
      expect(keys.authenticate('')).toBeNull();
      expect((await keys.list()).map(({ id, role }) => ({ id, role }))).toEqual([{ id: 1, role: 'admin' }]);
      const wanted = await StoreKeysService.open({ store, clock, apiKey });
      const secret = apiKey ?? (wanted.firstSecret as string);
      expect(wanted.firstSecret).toBe(apiKey === undefined ? secret : null);
      expect(wanted.keys.authenticate(secret)?.id).toBe(1);
      expect((await unwanted()).keys.authenticate(secret)?.id).toBe(1);
      expect((await StoreKeysService.open({ store, clock, apiKey })).firstSecret).toBeNull();
    }
  });

  test('set: never handed out', async () => {
    const store = await storeOver();
    expect((await StoreKeysService.open({ store, clock, apiKey: 'one' })).firstSecret).toBeNull();
  });

  test('changed at a later start: the old one is void', async () => {
    const store = await storeOver();
    await keysOver(store, 'one');
    const keys = await keysOver(store, 'two');
    expect(keys.authenticate('one')).toBeNull();
    expect(keys.authenticate('two')?.id).toBe(1);
  });

  test('unset at a later start: the key stays', async () => {
    const store = await storeOver();
    await keysOver(store, 'one');
    expect((await keysOver(store)).authenticate('one')?.id).toBe(1);
  });

  test('set after a random one: takes its place', async () => {
    const store = await storeOver();
    const { firstSecret } = await StoreKeysService.open({ store, clock, apiKey: undefined });
    const keys = await keysOver(store, 'mine');
    expect(keys.authenticate(firstSecret as string)).toBeNull();
    expect(keys.authenticate('mine')?.id).toBe(1);
  });

  test('a restart with the same API_KEY does not undo a rotation, a new API_KEY replaces it', async () => {
    const store = await storeOver();
    const { key } = await (await keysOver(store, 'one')).rotate(1);
    const restarted = await keysOver(store, 'one');
    expect(restarted.authenticate('one')).toBeNull();
    expect(restarted.authenticate(key)?.id).toBe(1);
    const renewed = await keysOver(store, 'two');
    expect(renewed.authenticate(key)).toBeNull();
    expect(renewed.authenticate('two')?.id).toBe(1);
  });

  test('coordinators that start together agree on one secret', async () => {
    const store = await storeOver();
    const started = await Promise.all(
      Array.from({ length: 5 }, () => StoreKeysService.open({ store, clock, apiKey: undefined })),
    );
    const secrets = started.map((one) => one.firstSecret).filter((secret) => secret !== null);
    expect(secrets).toHaveLength(1);
    for (const { keys } of started) expect(keys.authenticate(secrets[0])?.id).toBe(1);
  });

  test('the same as the secret of another key: key 1 answers, and the other again when API_KEY changes', async () => {
    const store = await storeOver();
    const created = await (await keysOver(store, 'one')).create({ name: 'a', role: 'readonly', expiresInDays: null });
    const shared = await keysOver(store, created.key);
    expect(shared.authenticate(created.key)?.id).toBe(1);
    expect((await keysOver(store, 'two')).authenticate(created.key)?.id).toBe(created.id);
  });
});

describe('several coordinators', () => {
  test('every change reaches the others', async () => {
    const store = await storeOver();
    const here = await keysOver(store, 'one');
    const there = await keysOver(store, 'one');
    const { id, key } = await here.create({ name: 'a', role: 'readonly', expiresInDays: null });
    await eventually('the new key is known', () => there.authenticate(key)?.id === id);
    await here.update(id, { role: 'admin' });
    await eventually('the role is known', () => there.authenticate(key)?.role === 'admin');
    await here.update(id, { isActive: false });
    await eventually('the key is off', () => there.authenticate(key) === null);
    await here.update(id, { isActive: true });
    const rotated = await here.rotate(id);
    await eventually(
      'the new secret is known',
      () => there.authenticate(rotated.key)?.id === id && there.authenticate(key) === null,
    );
    await here.delete(id);
    await eventually('the key is gone', () => there.authenticate(rotated.key) === null && !there.exists(id));
  });

  test('a closed service follows no more', async () => {
    const store = await storeOver();
    const here = await keysOver(store, 'one');
    const there = await keysOver(store, 'one');
    const watcher = await keysOver(store, 'one');
    there.close();
    const { key } = await here.create({ name: 'a', role: 'readonly', expiresInDays: null });
    await eventually('the other one knows', () => watcher.authenticate(key) !== null);
    expect(there.authenticate(key)).toBeNull();
  });

  test('changes that meet are both kept', async () => {
    const store = await storeOver();
    const here = await keysOver(store, 'one');
    const there = await keysOver(store, 'one');
    const { id } = await here.create({ name: 'a', role: 'readonly', expiresInDays: null });
    store.beforeTransact = async () => {
      store.beforeTransact = async () => undefined;
      await there.update(id, { role: 'admin' });
    };
    expect(await here.update(id, { name: 'b' })).toMatchObject({ name: 'b', role: 'admin' });
    expect(await there.get(id)).toMatchObject({ name: 'b', role: 'admin' });
  });

  test('a key deleted under a change is not found, and does not come back', async () => {
    const store = await storeOver();
    const here = await keysOver(store, 'one');
    const there = await keysOver(store, 'one');
    const { id, key } = await here.create({ name: 'a', role: 'readonly', expiresInDays: null });
    store.beforeTransact = async () => {
      store.beforeTransact = async () => undefined;
      await there.delete(id);
    };
    await expect(here.rotate(id)).rejects.toMatchObject({ kind: 'not_found' });
    await eventually('it is gone here too', () => here.authenticate(key) === null);
    expect((await here.list()).map((one) => one.id)).toEqual([1]);
  });

  test('a store that never lets a change through ends the attempt', async () => {
    const store = await storeOver();
    const here = await keysOver(store, 'one');
    const there = await keysOver(store, 'one');
    const { id } = await here.create({ name: 'a', role: 'readonly', expiresInDays: null });
    let inside = false;
    let flips = 0;
    store.beforeTransact = async () => {
      if (inside) return;
      inside = true;
      await there.update(id, { isActive: flips++ % 2 === 0 });
      inside = false;
    };
    await expect(here.update(id, { name: 'b' })).rejects.toMatchObject({ kind: 'unavailable', retryable: true });
  });

  test('keys survive a restart of the store', async () => {
    const medium = new MemoryKeyValueStore();
    const keys = await keysOver(await storeOver(medium), 'one');
    const { id, key } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    keys.close();
    const again = await keysOver(await storeOver(medium), 'one');
    expect(again.authenticate(key)?.id).toBe(id);
    expect((await again.create({ name: 'b', role: 'readonly', expiresInDays: null })).id).toBe(id + 1);
  });

  test('an unreadable entry is named', async () => {
    const store = await storeOver();
    await store.transact([], [{ type: 'put', key: '/q/keys/1', value: '{"id":' }]);
    await expect(StoreKeysService.open({ store, clock, apiKey: undefined })).rejects.toMatchObject({
      kind: 'storage_failed',
      message: 'the stored API key at /q/keys/1 is unreadable',
    });
  });
});
