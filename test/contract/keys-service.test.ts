import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiKeyView, KeyChange, KeysService, NewKey, Role } from '../../coordinator/service/keys/keys-service';
import { StoreKeysService } from '../../coordinator/service/keys/store-keys-service';
import { KeyValueClusterStore } from '../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import { ManualClock } from '../support/manual-clock';

/** The KeysService as docs and HTTP promise it, over the cluster store's implementations. */

const STORES: [string, (folder: string) => Promise<ClusterStore>][] = [
  ['memory', async () => KeyValueClusterStore.open({ store: new MemoryKeyValueStore() })],
  ['RocksDB', async (folder) => KeyValueClusterStore.open({ store: await RocksKeyValueStore.open(folder) })],
];

const DAY_MS = 86_400_000;
const ADMIN_SECRET = 'the-secret-of-key-1';

describe.each(STORES)('KeysService over a %s store', (_name, openStore) => {
  let folder: string;
  let store: ClusterStore;
  let clock: ManualClock;
  let opened: StoreKeysService;
  let keys: KeysService;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quiver-keys-'));
    store = await openStore(join(folder, 'store'));
    clock = new ManualClock(Date.UTC(2024, 4, 6, 7, 8, 9, 10));
    opened = (await StoreKeysService.open({ store, clock, apiKey: ADMIN_SECRET })).keys;
    keys = opened;
  });

  afterEach(async () => {
    opened.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('key 1 is there from the start: default, admin, active, without an end', async () => {
    const expected: ApiKeyView = {
      id: 1,
      name: 'default',
      role: 'admin',
      createdAt: '2024-05-06T07:08:09.010Z',
      isActive: true,
      expiresAt: null,
      lastUsedAt: null,
      collections: null,
      allowedNetworks: null,
      rateLimitPerMinute: null,
      quota: null,
      previousExpiresAt: null,
    };
    expect(await keys.list()).toEqual([expected]);
    expect(await keys.get(1)).toEqual(expected);
    expect(keys.authenticate(ADMIN_SECRET)).toMatchObject({ id: 1, role: 'admin' });
  });

  test('a created key is in force at once and shown with its secret only once', async () => {
    const created = await keys.create({ name: 'reader', role: 'readonly', expiresInDays: null });
    expect(created).toMatchObject({
      id: 2,
      name: 'reader',
      role: 'readonly',
      isActive: true,
      expiresAt: null,
      lastUsedAt: null,
    });
    expect(created.key).toMatch(/^qv_[A-Za-z0-9_-]{49}$/);
    expect(keys.authenticate(created.key)).toMatchObject({ id: 2, role: 'readonly' });
    const shown = JSON.stringify([await keys.list(), await keys.get(2), keys.authenticate(created.key)]);
    expect(shown).not.toContain(created.key);
    expect(shown).not.toMatch(/"(key|digest)"/);
  });

  test('the store never holds a secret', async () => {
    const created = await keys.create({ name: 'reader', role: 'readonly', expiresInDays: null });
    const rotated = await keys.rotate(created.id);
    const stored = JSON.stringify((await store.list('/')).entries);
    for (const secret of [ADMIN_SECRET, created.key, rotated.key]) expect(stored).not.toContain(secret);
  });

  test.each(['', 'qv_', 'the-secret-of-key-2', 'THE-SECRET-OF-KEY-1', 'the-secret-of-key-1 ', '__proto__', 'ключ'])(
    '%j is nobody',
    (secret) => {
      expect(keys.authenticate(secret)).toBeNull();
    },
  );

  test('ids rise and are never given again', async () => {
    const first = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    const second = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    await keys.delete(second.id);
    const third = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    expect([first.id, second.id, third.id]).toEqual([2, 3, 4]);
  });

  test('keys made at the same time get ids of their own', async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) => keys.create({ name: `key ${i}`, role: 'readwrite', expiresInDays: null })),
    );
    expect(new Set(made.map((key) => key.id)).size).toBe(20);
    expect((await keys.list()).map((key) => key.id)).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
    for (const { id, key } of made) expect(keys.authenticate(key)?.id).toBe(id);
  });

  test('a key is void from its expiry on', async () => {
    const created = await keys.create({ name: 'guest', role: 'readonly', expiresInDays: 2 });
    expect(created.expiresAt).toBe('2024-05-08T07:08:09.010Z');
    clock.advance(2 * DAY_MS - 1);
    expect(keys.authenticate(created.key)?.id).toBe(created.id);
    clock.advance(1);
    expect(keys.authenticate(created.key)).toBeNull();
    expect(await keys.get(created.id)).toMatchObject({ isActive: true, expiresAt: '2024-05-08T07:08:09.010Z' });
  });

  test('name, role and activity can be changed, one or all', async () => {
    const { id, key } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    expect(await keys.update(id, { role: 'readwrite' })).toMatchObject({
      name: 'a',
      role: 'readwrite',
      isActive: true,
    });
    expect(keys.authenticate(key)?.role).toBe('readwrite');
    expect(await keys.update(id, { name: 'b', isActive: false })).toMatchObject({
      name: 'b',
      role: 'readwrite',
      isActive: false,
    });
    expect(keys.authenticate(key)).toBeNull();
    expect(await keys.update(id, { isActive: true })).toMatchObject({ name: 'b', isActive: true });
    expect(keys.authenticate(key)?.id).toBe(id);
    expect(await keys.update(id, {})).toEqual(await keys.get(id));
  });

  test('a rotated key answers to its new secret alone', async () => {
    const created = await keys.create({ name: 'a', role: 'readwrite', expiresInDays: 3 });
    const rotated = await keys.rotate(created.id);
    expect(rotated).toMatchObject({ id: created.id, name: 'a', role: 'readwrite', expiresAt: created.expiresAt });
    expect(rotated.key).not.toBe(created.key);
    expect(keys.authenticate(created.key)).toBeNull();
    expect(keys.authenticate(rotated.key)?.id).toBe(created.id);
  });

  test('with an overlap both secrets work until it is over, and a third ends the first', async () => {
    const { id, key: first } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    const { key: second, previousExpiresAt } = await keys.rotate(id, 60);
    expect(previousExpiresAt).toBe('2024-05-06T07:09:09.010Z');
    expect([keys.authenticate(first)?.id, keys.authenticate(second)?.id]).toEqual([id, id]);
    const { key: third } = await keys.rotate(id, 60);
    expect([keys.authenticate(first), keys.authenticate(second)?.id, keys.authenticate(third)?.id]).toEqual([
      null,
      id,
      id,
    ]);
    clock.advance(59_999);
    expect(keys.authenticate(second)?.id).toBe(id);
    clock.advance(1);
    expect([keys.authenticate(second), keys.authenticate(third)?.id]).toEqual([null, id]);
    await keys.update(id, { isActive: false });
    expect(keys.authenticate(third)).toBeNull();
    for (const seconds of [-1, 0.5, 2_592_001])
      await expect(keys.rotate(id, seconds)).rejects.toMatchObject({ kind: 'invalid_parameter' });
  });

  test('an overlap does not outlive the key', async () => {
    const { id, key } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: 1 });
    clock.advance(DAY_MS - 1);
    await keys.rotate(id, 60);
    expect(keys.authenticate(key)?.id).toBe(id);
    clock.advance(1);
    expect(keys.authenticate(key)).toBeNull();
  });

  test('limits are kept, changed one by one and taken away', async () => {
    const limits = {
      collections: [{ name: 'articles' }, { prefix: 'a-', role: 'readwrite' as const }],
      allowedNetworks: ['10.0.0.0/8', '::1'],
      rateLimitPerMinute: 7,
      quota: { items: 5, bytes: null, period: 'day' as const },
    };
    const { id, key } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null, ...limits });
    expect(await keys.get(id)).toMatchObject({ role: 'readonly', ...limits });
    expect(keys.authenticate(key)).toMatchObject({ role: 'readonly', ...limits });
    expect(await keys.update(id, { name: 'b', collections: null })).toMatchObject({ ...limits, collections: null });
    expect(await keys.update(id, { allowedNetworks: null, rateLimitPerMinute: null })).toMatchObject({
      collections: null,
      allowedNetworks: null,
      rateLimitPerMinute: null,
      quota: limits.quota,
    });
    expect(opened.withQuota()).toEqual([{ id, quota: limits.quota }]);
    expect(await keys.update(id, { quota: null })).toMatchObject({ quota: null });
    expect(opened.withQuota()).toEqual([]);
  });

  test('an end is set, moved and taken away, and counts from the change', async () => {
    const { id, key } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    expect(await keys.update(id, { expiresInDays: 1 })).toMatchObject({
      expiresAt: new Date(clock.wallMs() + DAY_MS).toISOString(),
    });
    clock.advance(DAY_MS - 1);
    expect(await keys.update(id, { name: 'b' })).toMatchObject({
      expiresAt: new Date(clock.wallMs() + 1).toISOString(),
    });
    clock.advance(1);
    expect(keys.authenticate(key)).toBeNull();
    expect(await keys.update(id, { expiresInDays: null })).toMatchObject({ expiresAt: null });
    expect(keys.authenticate(key)?.id).toBe(id);
    await expect(keys.update(id, { expiresInDays: 0 })).rejects.toMatchObject({ kind: 'invalid_parameter' });
    await expect(keys.update(1, { expiresInDays: 1 })).rejects.toMatchObject({ kind: 'invalid_parameter' });
  });

  test.each([
    ['an admin of some collections', { role: 'admin', collections: [{ name: 'a' }] }, /admin/],
    ['no collection at all', { collections: [] }, /collections must not be empty/],
    ['a collection twice', { collections: [{ name: 'a' }, { name: 'a', role: 'readwrite' }] }, /twice/],
    ['no network at all', { allowedNetworks: [] }, /allowed_networks must not be empty/],
    ['a network that is none', { allowedNetworks: ['10.0.0.0/33'] }, /10.0.0.0\/33/],
    ['a quota of nothing', { quota: { items: null, bytes: null, period: 'day' } }, /quota must have items or bytes/],
    ['a quota without items', { quota: { items: 0, bytes: null, period: 'day' } }, /quota.items/],
    ['a quota of an hour', { quota: { items: 1, bytes: null, period: 'hour' } }, /quota.period/],
    ['half a request', { rateLimitPerMinute: 0.5 }, /rate_limit_per_minute/],
  ])('%s is refused', async (_title, fields, message) => {
    const { id } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    await expect(
      keys.create({ name: 'b', role: 'readonly', expiresInDays: null, ...fields } as NewKey),
    ).rejects.toMatchObject({ kind: 'invalid_parameter', message: expect.stringMatching(message) });
    await expect(keys.update(id, fields as KeyChange)).rejects.toMatchObject({ kind: 'invalid_parameter' });
    for (const limit of [
      { collections: [{ name: 'a' }] },
      { allowedNetworks: ['::1'] },
      { quota: { items: 1, bytes: null, period: 'day' as const } },
    ])
      await expect(keys.update(1, limit)).rejects.toMatchObject({ kind: 'invalid_parameter' });
  });

  test('the entry of a limited key gives an earlier version, which knows no limits, no role', async () => {
    const { id } = await keys.create({
      name: 'a',
      role: 'readwrite',
      expiresInDays: null,
      collections: [{ name: 'a' }],
    });
    const roleStored = async (): Promise<string> => JSON.parse((await store.get(`/q/keys/${id}`))?.value ?? '').role;
    expect(await roleStored()).toBe('limited');
    await keys.update(id, { collections: null });
    expect(await roleStored()).toBe('readwrite');
    await keys.update(id, { allowedNetworks: ['10.0.0.0/8'] });
    expect(await roleStored()).toBe('limited');
    expect(await keys.get(id)).toMatchObject({ role: 'readwrite' });
  });

  test('a deleted key is gone', async () => {
    const created = await keys.create({ name: 'a', role: 'admin', expiresInDays: null });
    expect(await keys.delete(created.id)).toMatchObject({ id: created.id, name: 'a' });
    expect(keys.authenticate(created.key)).toBeNull();
    await expect(keys.get(created.id)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(keys.delete(created.id)).rejects.toMatchObject({ kind: 'not_found' });
    expect((await keys.list()).map((key) => key.id)).toEqual([1]);
  });

  test.each([0, 99, -1, 1.5, Number.NaN])('key %p does not exist', async (id) => {
    await expect(keys.get(id)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(keys.update(id, { name: 'a' })).rejects.toMatchObject({ kind: 'not_found' });
    await expect(keys.rotate(id)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(keys.delete(id)).rejects.toMatchObject({ kind: 'not_found' });
  });

  test.each([
    ['a blank name', { name: ' \t', role: 'admin', expiresInDays: null }, /name must not be blank/],
    ['an endless name', { name: 'n'.repeat(256), role: 'admin', expiresInDays: null }, /name is longer than 255/],
    [
      'an unknown role',
      { name: 'a', role: 'owner', expiresInDays: null },
      /role must be one of admin, readwrite, readonly/,
    ],
    ['a role from the prototype', { name: 'a', role: 'constructor', expiresInDays: null }, /role/],
    ['no day', { name: 'a', role: 'admin', expiresInDays: 0 }, /expires_in_days/],
    ['half a day', { name: 'a', role: 'admin', expiresInDays: 1.5 }, /expires_in_days/],
    ['more days than a calendar has', { name: 'a', role: 'admin', expiresInDays: 1e15 }, /expires_in_days/],
  ])('%s is refused and nothing is made', async (_title, input, message) => {
    const refusal = keys.create(input as { name: string; role: Role; expiresInDays: number | null });
    await expect(refusal).rejects.toMatchObject({ kind: 'invalid_parameter', message: expect.stringMatching(message) });
    expect(await keys.list()).toHaveLength(1);
  });

  test('a bad change is refused as a whole', async () => {
    const { id } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    await expect(keys.update(id, { name: 'b', role: 'owner' as Role })).rejects.toMatchObject({
      kind: 'invalid_parameter',
    });
    await expect(keys.update(id, { name: '', role: 'admin' })).rejects.toMatchObject({ kind: 'invalid_parameter' });
    expect(await keys.get(id)).toMatchObject({ name: 'a', role: 'readonly' });
  });

  test('key 1 cannot be deleted, demoted, switched off or renamed, but rotated', async () => {
    for (const change of [
      { role: 'readonly' as const },
      { role: 'readwrite' as const },
      { isActive: false },
      { name: 'other' },
    ]) {
      await expect(keys.update(1, change)).rejects.toMatchObject({ kind: 'invalid_parameter' });
    }
    await expect(keys.delete(1)).rejects.toMatchObject({ kind: 'invalid_parameter' });
    expect(await keys.update(1, { role: 'admin', isActive: true, name: 'default' })).toMatchObject({
      id: 1,
      role: 'admin',
    });
    const rotated = await keys.rotate(1);
    expect(keys.authenticate(ADMIN_SECRET)).toBeNull();
    expect(keys.authenticate(rotated.key)?.id).toBe(1);
  });

  test('the last use is shown', async () => {
    const created = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    clock.advance(5000);
    keys.authenticate(created.key);
    expect((await keys.get(created.id)).lastUsedAt).toBe('2024-05-06T07:08:14.010Z');
    clock.advance(1);
    keys.authenticate('wrong');
    expect((await keys.list()).map((key) => key.lastUsedAt)).toEqual([null, '2024-05-06T07:08:14.010Z']);
  });
});
