import { StoreKeysService } from '../../../../../../coordinator/service/keys/store-keys-service';
import { type CountedKeys, StoreKeyUsage } from '../../../../../../coordinator/service/keys/usage/store-key-usage';
import { QuiverError } from '../../../../../../shared/base/errors/quiver-error';
import { KeyValueClusterStore } from '../../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../../support/models/memory-key-value-store';
import { ManualClock } from '../../../../../support/manual-clock';
import { eventually } from '../../../../../support/eventually';
import { InterceptedClusterStore } from '../../../../../support/cluster/intercepted-cluster-store';
import { runSeed, seededRandom } from '../../../../../support/values/random';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Longer than any test: flushes happen when a test says so. */
const NEVER_MS = 2_000_000_000;
const SEARCH = 'POST /v1/collections/{name}/search';
const LIST = 'GET /v1/collections';

const everyKey: CountedKeys = { exists: () => true, names: () => [1, 2].map((id) => ({ id, name: `key ${id}` })) };
const opened: StoreKeyUsage[] = [];

async function memoryStore(): Promise<InterceptedClusterStore> {
  return new InterceptedClusterStore(await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
}

function usageOver(
  store: InterceptedClusterStore,
  clock: ManualClock,
  options: {
    coordinatorId?: string;
    flushMs?: number;
    keys?: CountedKeys;
    onFlushError?: (error: unknown, isLast: boolean) => void;
  } = {},
): StoreKeyUsage {
  const usage = new StoreKeyUsage({
    store,
    clock,
    coordinatorId: 'c1',
    flushMs: NEVER_MS,
    keys: everyKey,
    onFlushError: (error) => {
      throw error;
    },
    ...options,
  });
  opened.push(usage);
  return usage;
}

const noon = (): ManualClock => new ManualClock(Date.UTC(2024, 4, 6, 12, 30));

afterEach(async () => {
  for (const usage of opened.splice(0)) await usage.close().catch(() => undefined);
});

describe('usage of keys', () => {
  test('requests are seen at once, by key and in sum', async () => {
    const usage = usageOver(await memoryStore(), noon());
    usage.record(1, SEARCH);
    usage.record(1, SEARCH);
    usage.record(1, LIST);
    usage.record(2, LIST);
    expect(await usage.ofKey(1)).toEqual({
      totalRequests: 3,
      last24h: 3,
      last7d: 3,
      last30d: 3,
      byEndpoint: { [SEARCH]: 2, [LIST]: 1 },
      lastRequestAt: '2024-05-06T12:30:00.000Z',
    });
    expect(await usage.summary()).toMatchObject({
      overall: { totalRequests: 4, byEndpoint: { [SEARCH]: 2, [LIST]: 2 } },
      byKey: [
        { keyId: 1, keyName: 'key 1', usage: { totalRequests: 3 } },
        { keyId: 2, keyName: 'key 2', usage: { totalRequests: 1 } },
      ],
    });
  });

  test('a key without a request has zeros, an unknown key is not found', async () => {
    const usage = usageOver(await memoryStore(), noon(), { keys: { exists: (id) => id === 7, names: () => [] } });
    expect(await usage.ofKey(7)).toEqual({
      totalRequests: 0,
      last24h: 0,
      last7d: 0,
      last30d: 0,
      byEndpoint: {},
      lastRequestAt: null,
    });
    await expect(usage.ofKey(8)).rejects.toMatchObject({ kind: 'not_found' });
  });

  test('spans leave old requests out, the total keeps them', async () => {
    const clock = noon();
    const usage = usageOver(await memoryStore(), clock);
    const agesMs = [31 * DAY_MS + HOUR_MS, 29 * DAY_MS, 8 * DAY_MS, 6 * DAY_MS, 26 * HOUR_MS, 23.9 * HOUR_MS, 0];
    let ageMs = agesMs[0];
    for (const next of agesMs) {
      clock.advance(ageMs - next);
      ageMs = next;
      usage.record(1, SEARCH);
      await usage.flush();
    }
    expect(await usage.ofKey(1)).toMatchObject({ totalRequests: 7, last30d: 6, last7d: 4, last24h: 2 });
  });

  test('what was flushed survives, and goes on after a restart under the same id', async () => {
    const store = await memoryStore();
    const clock = noon();
    const before = usageOver(store, clock);
    for (let i = 0; i < 10; i += 1) before.record(1, SEARCH);
    await before.close();
    const after = usageOver(store, clock);
    expect((await after.ofKey(1)).totalRequests).toBe(10);
    after.record(1, LIST);
    expect(await after.ofKey(1)).toMatchObject({ totalRequests: 11, last24h: 11 });
    await after.flush();
    expect(await after.ofKey(1)).toMatchObject({
      totalRequests: 11,
      last24h: 11,
      byEndpoint: { [SEARCH]: 10, [LIST]: 1 },
    });
    await after.close();
    expect((await usageOver(store, clock).summary()).overall.totalRequests).toBe(11);
  });

  test('coordinators add up', async () => {
    const store = await memoryStore();
    const clock = noon();
    const all = ['c1', 'c/2', 'c1/', 'ключ'].map((coordinatorId) => usageOver(store, clock, { coordinatorId }));
    for (const [index, usage] of all.entries()) for (let i = 0; i <= index; i += 1) usage.record(1, SEARCH);
    for (const usage of all) await usage.flush();
    for (const usage of all)
      expect(await usage.ofKey(1)).toMatchObject({ totalRequests: 10, last24h: 10, byEndpoint: { [SEARCH]: 10 } });
  });

  test('counts agree with a plain list through restarts, flushes and hours', async () => {
    const random = seededRandom(runSeed('usage'));
    const store = await memoryStore();
    const clock = noon();
    const ids = ['c1', 'c2'];
    const coordinators = ids.map((coordinatorId) => usageOver(store, clock, { coordinatorId }));
    const requests: { key: number; atMs: number }[] = [];
    for (let step = 0; step < 600; step += 1) {
      const which = Math.floor(random() * 2);
      const dice = random();
      if (dice < 0.6) {
        const key = 1 + Math.floor(random() * 3);
        coordinators[which].record(key, random() < 0.5 ? SEARCH : LIST);
        requests.push({ key, atMs: clock.wallMs() });
      } else if (dice < 0.8) {
        await coordinators[which].flush();
      } else if (dice < 0.85) {
        await coordinators[which].close();
        coordinators[which] = usageOver(store, clock, { coordinatorId: ids[which] });
      } else {
        clock.advance(Math.floor(random() * 20 * HOUR_MS));
      }
    }
    for (const usage of coordinators) await usage.flush();
    for (const key of [1, 2, 3]) {
      const own = requests.filter((request) => request.key === key);
      const since = (hours: number): number =>
        own.filter(({ atMs }) => Math.floor(atMs / HOUR_MS) >= Math.floor(clock.wallMs() / HOUR_MS) - hours).length;
      for (const usage of coordinators) {
        expect(await usage.ofKey(key)).toMatchObject({
          totalRequests: own.length,
          last24h: since(24),
          last7d: since(168),
          last30d: since(720),
        });
      }
    }
  });

  test('a flush writes only what is new, two entries a subject', async () => {
    const store = await memoryStore();
    const usage = usageOver(store, noon());
    for (let i = 0; i < 1000; i += 1) usage.record(1, SEARCH);
    await usage.flush();
    expect(store.transactions.flat()).toHaveLength(4);
    await usage.flush();
    expect(store.transactions).toHaveLength(1);
  });

  test('many keys are written in transactions that etcd would take, and no more than 500 subjects a flush', async () => {
    const store = await memoryStore();
    const usage = usageOver(store, noon());
    for (let key = 1; key <= 1200; key += 1) usage.record(key, SEARCH);
    await usage.flush(500);
    expect(store.transactions.flat()).toHaveLength(1000);
    await usage.flush();
    expect(store.transactions.flat()).toHaveLength(2402);
    expect(Math.max(...store.transactions.map((changes) => changes.length))).toBeLessThanOrEqual(128);
  });

  test('days beyond the longest span leave the store', async () => {
    const store = await memoryStore();
    const clock = noon();
    const usage = usageOver(store, clock);
    for (let day = 0; day < 50; day += 1) {
      usage.record(1, SEARCH);
      await usage.flush();
      clock.advance(DAY_MS);
    }
    expect((await store.list('/q/usage/hours/1/')).entries).toHaveLength(32);
    expect((await usage.ofKey(1)).totalRequests).toBe(50);
  });

  test('a store that fails loses nothing: the counts wait', async () => {
    const store = await memoryStore();
    const clock = noon();
    const usage = usageOver(store, clock);
    usage.record(1, SEARCH);
    store.beforeTransact = async () => {
      throw new QuiverError('unavailable', 'no store');
    };
    await expect(usage.flush()).rejects.toMatchObject({ kind: 'unavailable' });
    usage.record(1, SEARCH);
    clock.advance(40 * DAY_MS);
    await expect(usage.flush()).rejects.toMatchObject({ kind: 'unavailable' });
    usage.record(1, SEARCH);
    store.beforeTransact = async () => undefined;
    await usage.close();
    expect(await usageOver(store, clock).ofKey(1)).toMatchObject({ totalRequests: 3, last30d: 1 });
  });

  test('a store that is away at the end stops no stop: what is lost is told', async () => {
    const store = await memoryStore();
    const told: unknown[] = [];
    const usage = usageOver(store, noon(), { onFlushError: (error, isLast) => told.push({ error, isLast }) });
    usage.record(1, SEARCH);
    store.beforeTransact = async () => {
      throw new QuiverError('unavailable', 'no store');
    };
    await usage.close();
    expect(told).toEqual([{ error: expect.objectContaining({ kind: 'unavailable' }), isLast: true }]);
  });

  test('a request that comes during a flush is in the next one', async () => {
    const store = await memoryStore();
    const clock = noon();
    const usage = usageOver(store, clock);
    usage.record(1, SEARCH);
    store.beforeTransact = async () => {
      store.beforeTransact = async () => undefined;
      usage.record(1, SEARCH);
    };
    await usage.flush();
    await usage.close();
    expect((await usageOver(store, clock, { coordinatorId: 'reader' }).ofKey(1)).totalRequests).toBe(2);
  });

  test('it flushes by itself and tells of failures', async () => {
    const store = await memoryStore();
    const clock = noon();
    const errors: unknown[] = [];
    const usage = usageOver(store, clock, { flushMs: 5, onFlushError: (error) => errors.push(error) });
    const reader = usageOver(store, clock, { coordinatorId: 'reader' });
    store.beforeTransact = async () => {
      throw new QuiverError('unavailable', 'no store');
    };
    usage.record(1, SEARCH);
    await eventually('a failure is told', () => errors.length > 0);
    store.beforeTransact = async () => undefined;
    await eventually('the count is stored', async () => (await reader.ofKey(1)).totalRequests === 1);
  });

  test('endpoints past any real number of routes are counted together', async () => {
    const usage = usageOver(await memoryStore(), noon());
    for (let i = 0; i < 1000; i += 1) usage.record(1, `GET /made-up/${i}`);
    const { byEndpoint, totalRequests } = await usage.ofKey(1);
    expect(totalRequests).toBe(1000);
    expect(Object.keys(byEndpoint).length).toBeLessThanOrEqual(129);
    expect(byEndpoint.other).toBe(1000 - 128);
  });

  test("a deleted key's counts are removed and do not come back, the summary keeps them", async () => {
    const store = await memoryStore();
    const clock = noon();
    const { keys } = await StoreKeysService.open({ store, clock, apiKey: 'one' });
    const usage = usageOver(store, clock, { keys });
    const { id } = await keys.create({ name: 'a', role: 'readonly', expiresInDays: null });
    usage.record(id, SEARCH);
    await usage.flush();
    expect((await keys.get(id)).lastUsedAt).toBe('2024-05-06T12:30:00.000Z');
    usage.record(id, SEARCH);
    await keys.delete(id);
    await usage.flush();
    expect((await store.list(`/q/usage/totals/${id}/`)).entries).toEqual([]);
    expect((await store.list(`/q/usage/hours/${id}/`)).entries).toEqual([]);
    await expect(usage.ofKey(id)).rejects.toMatchObject({ kind: 'not_found' });
    expect((await usage.summary()).overall.totalRequests).toBe(2);
  });

  test('the last use through another coordinator is shown once that has flushed', async () => {
    const store = await memoryStore();
    const clock = noon();
    const { keys } = await StoreKeysService.open({ store, clock, apiKey: 'one' });
    const there = usageOver(store, clock, { coordinatorId: 'c2' });
    there.record(1, SEARCH);
    await there.flush();
    expect((await keys.list())[0].lastUsedAt).toBe('2024-05-06T12:30:00.000Z');
    expect((await keys.get(1)).lastUsedAt).toBe('2024-05-06T12:30:00.000Z');
  });
});
