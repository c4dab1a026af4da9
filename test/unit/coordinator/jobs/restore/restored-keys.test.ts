import { restoreKeys } from '../../../../../coordinator/jobs/restore/restored-keys';
import { KEYS_PREFIX } from '../../../../../coordinator/service/keys/key-record';
import { StoreKeysService } from '../../../../../coordinator/service/keys/store-keys-service';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { ManualClock } from '../../../../support/manual-clock';

/** Keys that come back from a backup work at once, as what they were. */

const clock = new ManualClock(Date.UTC(2024, 4, 6));
const openings: (() => Promise<void>)[] = [];

async function open(): Promise<{ store: ClusterStore; keys: StoreKeysService }> {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const { keys } = await StoreKeysService.open({ store, clock, apiKey: 'the-secret-of-key-1' });
  openings.push(async () => {
    keys.close();
    await store.close();
  });
  return { store, keys };
}

const backupOf = async (store: ClusterStore): Promise<string[]> =>
  (await store.list(KEYS_PREFIX)).entries.map(({ value }) => value);
const newKey = (name: string) => ({ name, role: 'readonly' as const, expiresInDays: null });

afterEach(async () => {
  for (const close of openings.splice(0)) await close();
});

test('in an empty service they keep their numbers and limits, however many there are', async () => {
  const { store, keys } = await open();
  const made = [];
  for (let i = 0; i < 12; i++)
    made.push(
      await keys.create({
        ...newKey(`key ${i}`),
        collections: [{ name: `c${i}` }],
        allowedNetworks: ['10.0.0.0/8'],
        rateLimitPerMinute: i,
      }),
    );
  const other = await open();
  await restoreKeys(other.store, await backupOf(store));
  for (const { key, lastUsedAt: _, ...inUse } of made) expect(other.keys.authenticate(key)).toEqual(inUse);
  expect((await other.keys.list()).map(({ id }) => id)).toEqual([1, ...made.map(({ id }) => id)]);
});

test('one that was deleted since stays deleted where that is known, and works again elsewhere', async () => {
  const { store, keys } = await open();
  const lost = await keys.create(newKey('lost'));
  const backup = await backupOf(store);
  await keys.delete(lost.id);
  expect(keys.authenticate(lost.key)).toBeNull();
  await restoreKeys(store, backup);
  expect(keys.authenticate(lost.key)).toBeNull();
  const other = await open();
  clock.advance(1);
  const another = await other.keys.create(newKey('another'));
  for (let i = 0; i < 2; i++) await restoreKeys(other.store, backup);
  expect(other.keys.authenticate(lost.key)).toMatchObject({ name: 'lost' });
  expect(other.keys.authenticate(another.key)).toMatchObject({ name: 'another', id: another.id });
  expect(await other.keys.list()).toHaveLength(3);
});

test('one whose secret was replaced stays as it is when the one before has ended, too', async () => {
  const { store, keys } = await open();
  const old = await keys.create(newKey('rotated'));
  const backup = await backupOf(store);
  const { key } = await keys.rotate(old.id);
  await restoreKeys(store, backup);
  expect(keys.authenticate(old.key)).toBeNull();
  expect(keys.authenticate(key)).toMatchObject({ id: old.id });
});

test.each(['rotate', 'delete'] as const)(
  'one that got another number here stays as it is after a %s, however often it comes from backups',
  async (change) => {
    const { store, keys } = await open();
    const old = await keys.create(newKey('old'));
    const backup = await backupOf(store);
    const other = await open();
    clock.advance(1);
    await other.keys.create(newKey('another'));
    await restoreKeys(other.store, backup);
    const { id } = other.keys.authenticate(old.key)!;
    expect(id).not.toBe(old.id);
    const later = await backupOf(other.store);
    await other.keys[change](id);
    for (const one of [backup, later, backup]) await restoreKeys(other.store, one);
    expect(other.keys.authenticate(old.key)).toBeNull();
    expect(await other.keys.list()).toHaveLength(change === 'rotate' ? 3 : 2);
    // In a third service it is one key, wherever it comes from.
    const third = await open();
    for (const one of [later, backup]) await restoreKeys(third.store, one);
    expect((await third.keys.list()).map(({ name }) => name).sort()).toEqual(['another', 'default', 'old']);
  },
);

test('one whose secret was replaced, and works for some time yet, does not become two', async () => {
  const { store, keys } = await open();
  const old = await keys.create(newKey('rotated'));
  const backup = await backupOf(store);
  await keys.rotate(old.id, 60);
  await restoreKeys(store, backup);
  expect((await keys.list()).map(({ id }) => id)).toEqual([1, old.id]);
  clock.advance(60_000);
  expect(keys.authenticate(old.key)).toBeNull();
});
