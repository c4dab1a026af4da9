import { KeyQuotaLedger } from '../../../../../../coordinator/service/keys/quota/key-quota-ledger';
import {
  type KeyQuota,
  type KeyWriter,
  NOTHING_WRITTEN,
  periodAt,
  resetOf,
  type Written,
} from '../../../../../../coordinator/service/keys/quota/key-quota';
import { grantOf } from '../../../../../../coordinator/service/keys/quota/quota-entry';
import { UploadCharges } from '../../../../../../coordinator/service/keys/quota/upload-charges';
import { KeyValueClusterStore } from '../../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../../support/models/memory-key-value-store';
import type { ClusterStore } from '../../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../../shared/base/errors/quiver-error';
import { ManualClock } from '../../../../../support/manual-clock';
import { eventually } from '../../../../../support/eventually';
import { seededRandom } from '../../../../../support/values/random';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 4, 30, 12);

const quotaOf = (given: Partial<KeyQuota>): KeyQuota => ({ items: null, bytes: null, period: 'day', ...given });
const writer = (given: Partial<KeyQuota>, id = 2): KeyWriter => ({ identity: `key:${id}`, quota: quotaOf(given) });
const items = (count: number, bytes = count * 10): Written => ({ items: count, bytes });

let store: ClusterStore;
let clock: ManualClock;
let ledgers: KeyQuotaLedger[];

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  clock = new ManualClock(START_MS);
  ledgers = [];
});
afterEach(async () => {
  await Promise.all(ledgers.map((ledger) => ledger.close()));
  await store.close();
});

/** A coordinator: one of several that share the store. */
function coordinator(
  over: Pick<ClusterStore, 'get' | 'list' | 'transact'> = store,
  idleMs = 3_600_000,
  waitMs = 60_000,
): KeyQuotaLedger {
  const ledger = new KeyQuotaLedger({ store: over, clock, idleMs, waitMs });
  ledgers.push(ledger);
  return ledger;
}

/** How many items are let through, one at a time, before one is refused. */
async function writeUntilRefused(ledger: KeyQuotaLedger, key: KeyWriter, most = 10_000): Promise<number> {
  for (let count = 0; count < most; count += 1) {
    const charge = await ledger.take(key, items(1)).catch((error: unknown) => {
      expect(error).toMatchObject({ kind: 'limit_exceeded' });
      return null;
    });
    if (charge === null) return count;
    ledger.settle(charge, items(1));
  }
  return most;
}

test('a key stores exactly as many items as its quota has, at few calls of the store', async () => {
  let calls = 0;
  const transact = (...args: Parameters<ClusterStore['transact']>) => {
    calls += 1;
    return store.transact(...args);
  };
  const counted = { get: store.get.bind(store), list: store.list.bind(store), transact };
  const ledger = coordinator(counted);
  expect(await writeUntilRefused(ledger, writer({ items: 5_000 }))).toBe(5_000);
  expect(calls).toBeLessThan(300);
  await expect(ledger.take(writer({ items: 5_000 }), items(1))).rejects.toMatchObject({
    message:
      'API key 2 has stored 5000 items this day (UTC), and 1 more are beyond its quota of 5000 (quota.items of the key); they were not written: wait until 2026-05-31T00:00:00.000Z, or have an admin raise it',
  });
});

test('bytes are bounded the same way, alone or with items; what is not bounded is not counted', async () => {
  const ledger = coordinator();
  const key = writer({ items: 100, bytes: 500 });
  ledger.settle(await ledger.take(key, items(10, 400)), items(10, 400));
  await expect(ledger.take(key, items(1, 101))).rejects.toMatchObject({
    message: expect.stringMatching(
      /has stored 400 bytes this day \(UTC\), and 101 more are beyond its quota of 500 \(quota\.bytes of the key\)/,
    ),
  });
  ledger.settle(await ledger.take(key, items(1, 100)), items(1, 100));
  expect(await ledger.usedOf(key)).toEqual({
    items: 11,
    bytes: 500,
    period: 'day',
    resetsAt: '2026-05-31T00:00:00.000Z',
  });
  expect(await ledger.usedOf(writer({ items: 100 }))).toMatchObject({ items: 11, bytes: null });
});

test('a write that is too large is refused, and smaller ones that wait with it are not', async () => {
  const ledger = coordinator();
  const key = writer({ items: 10 });
  const settled = (count: number): Promise<void> =>
    ledger.take(key, items(count)).then((charge) => ledger.settle(charge, items(count)));
  const outcomes = await Promise.allSettled([11, 4, 7, 6].map(settled));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
});

test('a write that has room if others fail waits until they have ended', async () => {
  const ledger = coordinator();
  const key = writer({ items: 10 });
  const [first, second] = [await ledger.take(key, items(4)), await ledger.take(key, items(4))];
  const [third, fourth] = [ledger.take(key, items(6)), ledger.take(key, items(3))];
  // Nothing that is under way could make room for this one.
  await expect(ledger.take(key, items(11))).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringContaining('has stored 8 items'),
  });
  ledger.settle(first, NOTHING_WRITTEN);
  const charge = await third;
  ledger.settle(second, items(2));
  ledger.settle(charge, items(6));
  await expect(fourth).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringContaining('has stored 8 items'),
  });
  expect(await writeUntilRefused(ledger, key)).toBe(2);
});

test('a write that could not be decided in time may be repeated', async () => {
  const ledger = coordinator(store, 3_600_000, 50);
  const key = writer({ items: 10 });
  const first = await ledger.take(key, items(8));
  const second = ledger.take(key, items(8));
  clock.advance(51);
  await expect(second).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(
      /^whether the write is within the quota of API key 2 depends on others.*nothing was written/,
    ),
  });
  ledger.settle(first, NOTHING_WRITTEN);
  expect(await writeUntilRefused(ledger, key)).toBe(10);
});

test('a write that is beyond the quota keeps nothing of it from other coordinators', async () => {
  const [one, two] = [coordinator(), coordinator()];
  const key = writer({ items: 1_000 });
  await expect(one.take(key, items(1_001))).rejects.toMatchObject({ kind: 'limit_exceeded' });
  expect(await two.take(key, items(900))).toEqual(expect.any(Number));
});

test('what came back goes to other coordinators also while the key is busy', async () => {
  const busy = coordinator(store, 20);
  const key = writer({ items: 100 });
  busy.settle(await busy.take(key, items(100)), items(1));
  // The clock stands, so the key was used just now.
  await eventually(
    'it has given it back',
    async () => (await store.get('/q/key-quotas/2'))?.value === '{"period":"2026-05-30","items":1,"bytes":0}',
  );
});

test('of what was not bounded when it was written, nothing comes back', async () => {
  const ledger = coordinator();
  const charge = await ledger.take(writer({ bytes: 1_000 }), items(5));
  expect(await writeUntilRefused(ledger, writer({ items: 10 }))).toBe(10);
  ledger.settle(charge, NOTHING_WRITTEN);
  expect(await writeUntilRefused(ledger, writer({ items: 10 }))).toBe(0);
});

test('each write counts under the quota that it comes with, whatever others of the same caller come with at once', async () => {
  const ledger = coordinator();
  const sizes = [3, 100, 3, 100, 3, 100];
  const outcomes = await Promise.allSettled(
    sizes.map((quota) =>
      ledger.take(writer({ items: quota }), items(4)).then((charge) => ledger.settle(charge, items(4))),
    ),
  );
  expect(outcomes.map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(await ledger.usedOf(writer({ items: 100 }))).toMatchObject({ items: 12 });
});

test('of a key that was deleted nothing is left behind', async () => {
  const ledger = coordinator();
  ledger.settle(await ledger.take(writer({ items: 1_000 }), items(1)), items(1));
  await store.transact([], [{ type: 'delete', key: '/q/key-quotas/2' }]);
  await ledger.close();
  expect(await store.get('/q/key-quotas/2')).toBeNull();
});

describe('a subject of tokens', () => {
  const subject = (given: Partial<KeyQuota>, name = 'ada'): KeyWriter => ({
    identity: `token:${name}`,
    quota: quotaOf(given),
  });

  test('has a quota of its own, of which a refusal names the settings', async () => {
    const [one, two] = [coordinator(), coordinator()];
    expect(
      (await writeUntilRefused(one, subject({ items: 5 }))) + (await writeUntilRefused(two, subject({ items: 5 }))),
    ).toBe(5);
    expect(await writeUntilRefused(two, subject({ items: 5 }, 'bob'))).toBe(5);
    await expect(one.take(subject({ items: 5 }), items(1))).rejects.toMatchObject({
      message: expect.stringMatching(
        /^the subject of this token has stored 5 items this day \(UTC\), and 1 more are beyond its quota of 5 \(JWT_QUOTA_ITEMS or JWT_LIMITS_CLAIM\)/,
      ),
    });
  });

  test('counts by the day and by the month side by side, where its tokens have both', async () => {
    const ledger = coordinator();
    expect(await writeUntilRefused(ledger, subject({ items: 3 }))).toBe(3);
    expect(await writeUntilRefused(ledger, subject({ items: 4, period: 'month' }))).toBe(4);
    expect(await writeUntilRefused(ledger, subject({ items: 3 }))).toBe(0);
    expect(await writeUntilRefused(ledger, subject({ items: 4, period: 'month' }))).toBe(0);
    expect(await ledger.usedOf(subject({ items: 4, period: 'month' }))).toMatchObject({ items: 4 });
  });

  test('is forgotten a day after its period, and what still counts is not', async () => {
    const ledger = coordinator();
    for (let i = 0; i < 120; i += 1)
      ledger.settle(await ledger.take(subject({ items: 5 }, `day-${i}`), items(1)), items(1));
    ledger.settle(await ledger.take(subject({ items: 5, period: 'month' }, 'month'), items(1)), items(1));
    ledger.settle(await ledger.take(subject({ items: 5, period: 'total' }, 'total'), items(1)), items(1));
    ledger.settle(await ledger.take(writer({ items: 5 }), items(1)), items(1));
    const kept = async (): Promise<number> => {
      await ledger.sweep();
      return (await store.list('/q/')).entries.filter(({ key }) => key.includes('-quotas/')).length;
    };
    clock.advance(DAY_MS);
    expect(await kept()).toBe(123);
    clock.advance(DAY_MS);
    expect(await kept()).toBe(3);
    clock.advance(DAY_MS);
    expect(await kept()).toBe(2);
  });
});

test('coordinators together never let more through, and in the end all of it, whatever they give back', async () => {
  const random = seededRandom(7);
  const [one, two, three] = [coordinator(), coordinator(), coordinator()];
  const key = writer({ items: 1_000, bytes: 20_000 });
  let stored = 0;
  const write = async (ledger: KeyQuotaLedger): Promise<void> => {
    const count = 1 + Math.floor(random() * 20);
    const charge = await ledger.take(key, items(count)).catch(() => null);
    if (charge === null) return;
    await Promise.resolve();
    const outcome = random();
    // Nothing of it, a part, all of it, or nobody knows.
    const written = outcome < 0.3 ? 0 : outcome < 0.5 ? Math.floor(count / 2) : count;
    stored += written;
    ledger.settle(charge, outcome > 0.9 ? null : items(written));
    expect(stored).toBeLessThanOrEqual(1_000);
  };
  await Promise.all(Array.from({ length: 400 }, (_, i) => write([one, two, three][i % 3])));
  await one.close();
  await two.close();
  stored += await writeUntilRefused(three, key);
  expect(stored).toBe(1_000);
  expect(await three.usedOf(key)).toMatchObject({ items: 1_000, bytes: 10_000 });
});

test('what a coordinator that died had taken is lost: no more than a share of what was left', async () => {
  const dead = new KeyQuotaLedger({ store, clock });
  const key = writer({ items: 3_200 });
  dead.settle(await dead.take(key, items(1)), items(1));
  const left = await writeUntilRefused(coordinator(), key);
  expect(left).toBeLessThan(3_199);
  expect(left).toBeGreaterThanOrEqual(3_199 - 100);
});

test('a quiet key gives back what was taken for it, for others', async () => {
  const quiet = coordinator(store, 20);
  const key = writer({ items: 3_200 });
  quiet.settle(await quiet.take(key, items(1)), items(1));
  expect(JSON.parse((await store.get('/q/key-quotas/2'))!.value).items).toBeGreaterThan(50);
  clock.advance(21);
  await eventually(
    'it has given it back',
    async () => (await store.get('/q/key-quotas/2'))?.value === '{"period":"2026-05-30","items":1,"bytes":0}',
  );
});

test('what is used is told right while what is left over goes back', async () => {
  let asked = 0;
  let held: Promise<void> = Promise.resolve();
  const transact: ClusterStore['transact'] = async (...args) => {
    asked += 1;
    await held;
    return store.transact(...args);
  };
  const ledger = coordinator({ get: store.get.bind(store), list: store.list.bind(store), transact }, 1);
  const key = writer({ items: 3_200 });
  ledger.settle(await ledger.take(key, items(1)), items(1));
  let letGo = (): void => undefined;
  held = new Promise((done) => (letGo = done));
  const before = asked;
  clock.advance(10);
  await eventually('it goes back', () => asked > before);
  // It is not waited for: where writes are refused without end, one exchange follows the other.
  const use = async (): Promise<unknown[]> =>
    [await ledger.usedOf(key), ...(await ledger.usedOfAll([key]))].map(({ items: used }) => used);
  expect(await use()).toEqual([1, 1]);
  letGo();
  await eventually('it is back', async () => (await store.get('/q/key-quotas/2'))!.value.includes('"items":1,'));
  expect(await use()).toEqual([1, 1]);
});

test('a new day or month begins with the whole quota; a total never does', async () => {
  const ledger = coordinator();
  const [daily, monthly, once] = [
    writer({ items: 5 }, 2),
    writer({ items: 5, period: 'month' }, 3),
    writer({ items: 5, period: 'total' }, 4),
  ];
  const left = async (): Promise<number[]> => [
    await writeUntilRefused(ledger, daily),
    await writeUntilRefused(ledger, monthly),
    await writeUntilRefused(ledger, once),
  ];
  expect(await left()).toEqual([5, 5, 5]);
  clock.advance(DAY_MS);
  expect(await left()).toEqual([5, 0, 0]);
  clock.advance(DAY_MS);
  expect(await left()).toEqual([5, 5, 0]);
  await expect(ledger.take(once, items(1))).rejects.toMatchObject({
    message: expect.stringMatching(/they were not written: have an admin raise it$/),
  });
  // What was taken yesterday is not given back to today.
  const late = await ledger.take(daily, items(0));
  const charge = await coordinator().take(writer({ items: 5 }, 9), items(5));
  clock.advance(DAY_MS);
  ledger.settle(late, items(0));
  ledger.settle(charge, NOTHING_WRITTEN);
  expect(await writeUntilRefused(ledger, daily)).toBe(5);
});

test('what comes back from yesterday while today is begun is none of today', async () => {
  let onGet = (): void => undefined;
  const watched = {
    get: async (key: string) => {
      const entry = await store.get(key);
      onGet();
      return entry;
    },
    list: store.list.bind(store),
    transact: store.transact.bind(store),
  };
  const ledger = coordinator(watched);
  const key = writer({ items: 5 });
  const charge = await ledger.take(key, items(5));
  clock.advance(DAY_MS);
  onGet = () => ledger.settle(charge, NOTHING_WRITTEN);
  expect(await writeUntilRefused(ledger, key)).toBe(5);
});

test('what was held since yesterday takes nothing from what others have stored today', async () => {
  const key = writer({ items: 3_200 });
  const quiet = coordinator(store, 20);
  quiet.settle(await quiet.take(key, items(1)), items(1));
  clock.advance(DAY_MS);
  const busy = coordinator();
  for (let i = 0; i < 50; i += 1) busy.settle(await busy.take(key, items(1)), items(1));
  await busy.close();
  expect((await store.get('/q/key-quotas/2'))?.value).toBe('{"period":"2026-05-31","items":50,"bytes":0}');
  await quiet.close();
  expect((await store.get('/q/key-quotas/2'))?.value).toBe('{"period":"2026-05-31","items":50,"bytes":0}');
});

test('a coordinator whose clock is behind does not begin the day anew', async () => {
  const ahead = coordinator();
  const key = writer({ items: 5 });
  clock.advance(DAY_MS);
  expect(await writeUntilRefused(ahead, key)).toBe(5);
  clock.advance(-DAY_MS);
  expect(await writeUntilRefused(coordinator(), key)).toBe(0);
});

test('a quota that is raised or lowered counts at once, with what was stored before', async () => {
  const ledger = coordinator();
  for (let i = 0; i < 20; i += 1) ledger.settle(await ledger.take(writer({ items: 1_000 }), items(1)), items(1));
  expect(await writeUntilRefused(ledger, writer({ items: 30 }))).toBe(10);
  expect(await writeUntilRefused(ledger, writer({ items: 10 }))).toBe(0);
  await expect(ledger.take(writer({ items: 10 }), items(1))).rejects.toMatchObject({ kind: 'limit_exceeded' });
  expect(await writeUntilRefused(ledger, writer({ items: 33 }))).toBe(3);
});

test('while the store is away, a key goes on with what was taken for it, and is then told so', async () => {
  let isAway = false;
  const away = (): never => {
    throw new QuiverError('unavailable', 'the cluster store can not be reached');
  };
  const flaky = {
    get: async (key: string) => (isAway ? away() : store.get(key)),
    list: async (prefix: string) => store.list(prefix),
    transact: async (...args: Parameters<ClusterStore['transact']>) => (isAway ? away() : store.transact(...args)),
  };
  const ledger = coordinator(flaky);
  const key = writer({ items: 1_000 });
  ledger.settle(await ledger.take(key, items(1)), items(1));
  isAway = true;
  for (let i = 0; i < 31; i += 1) ledger.settle(await ledger.take(key, items(1)), items(1));
  await expect(ledger.take(key, items(1))).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/cannot be checked/),
  });
  isAway = false;
  expect(32 + (await writeUntilRefused(ledger, key))).toBe(1_000);
});

test('an upload that is taken back gives its quota back, unless that counts anew by now', async () => {
  const ledger = coordinator();
  const key = writer({ items: 10 });
  const upload = async (): Promise<UploadCharges> => {
    const charges = new UploadCharges(ledger, key, clock.wallMs());
    const { admission } = charges.writer;
    for (let i = 0; i < 2; i += 1) admission!.settle(await admission!.take(key, items(4)), items(4));
    return charges;
  };
  (await upload()).giveBack();
  const second = await upload();
  expect(await writeUntilRefused(ledger, key)).toBe(2);
  clock.advance(DAY_MS);
  second.giveBack();
  expect(await writeUntilRefused(ledger, key)).toBe(10);
});

test('periods are those of UTC', () => {
  const newYear = Date.UTC(2026, 11, 31, 23, 59, 59, 999);
  expect([periodAt('day', newYear), periodAt('month', newYear), periodAt('total', newYear)]).toEqual([
    '2026-12-31',
    '2026-12',
    'total',
  ]);
  expect([resetOf('day', newYear), resetOf('month', newYear), resetOf('total', newYear)]).toEqual([
    '2027-01-01T00:00:00.000Z',
    '2027-01-01T00:00:00.000Z',
    null,
  ]);
  expect(grantOf(quotaOf({ items: 100, bytes: 10 }), items(20, 12), items(16, 4))).toEqual({ items: 18, bytes: 0 });
});

test('a write that waits while its key gives back is refused when the process ends, and nothing else fails', async () => {
  const failures: unknown[] = [];
  const noteFailure = (error: unknown): void => void failures.push(error);
  process.on('unhandledRejection', noteFailure);
  let asked = 0;
  let held: Promise<void> = Promise.resolve();
  const get: ClusterStore['get'] = async (path) => {
    asked += 1;
    await held;
    return store.get(path);
  };
  const ledger = coordinator({ get, list: store.list.bind(store), transact: store.transact.bind(store) }, 1);
  const key = writer({ items: 100 });
  ledger.settle(await ledger.take(key, items(1)), items(1));
  let letGo = (): void => undefined;
  held = new Promise((done) => (letGo = done));
  const before = asked;
  clock.advance(10);
  await eventually('the key gives back what it does not use', () => asked > before);
  const waiting = expect(ledger.take(key, items(50))).rejects.toMatchObject({ kind: 'unavailable' });
  const closed = ledger.close();
  await waiting;
  letGo();
  await closed;
  await new Promise((turn) => setImmediate(turn));
  process.off('unhandledRejection', noteFailure);
  expect(failures).toEqual([]);
});
