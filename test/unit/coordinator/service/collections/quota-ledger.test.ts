import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { QuotaLedger } from '../../../../../coordinator/service/collections/quota-ledger';
import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import { shardOf } from '../../../../../coordinator/service/routing/shard-router';
import type { ShardClient } from '../../../../../shared/contract/shard/shard-client';
import { ManualClock } from '../../../../support/manual-clock';
import { runSeed, seededRandom } from '../../../../support/values/random';

const SHARDS = 2;
const ITEM_BYTES = 10;
/** By then the shards are asked again. */
const LATER_MS = 2_000;

/** A collection in memory, whose shards answer in turns of the event loop. */
class World {
  readonly clock = new ManualClock();
  readonly items = new Set<string>();
  readonly ledger: QuotaLedger;
  readings = 0;
  /** Shards answer once it has resolved. */
  held: Promise<void> = Promise.resolve();
  private readonly record: CollectionRecord;

  constructor(quota: { items?: number; bytes?: number }, { requestTimeoutMs = 600_000 } = {}) {
    this.record = {
      name: 'c',
      uid: 'u',
      identity: 'u',
      shards: SHARDS,
      quota: { items: quota.items ?? null, bytes: quota.bytes ?? null },
    } as CollectionRecord;
    const catalog = { known: () => this.record, find: async () => this.record };
    const scatter = new ScatterGather({
      clock: this.clock,
      timeoutMs: requestTimeoutMs,
      uidOf: async () => this.record.uid,
    });
    this.ledger = new QuotaLedger({
      catalog,
      shards: { read: this.read.bind(this) as ShardClient['read'] },
      scatter,
      clock: this.clock,
      requestTimeoutMs,
    });
  }

  /** Answers a number, or what the refusal says. */
  reserve(
    ids: string[],
    { once, bytes = ids.length * ITEM_BYTES }: { once?: string; bytes?: number } = {},
  ): Promise<number | string> {
    return this.ledger
      .reserve(this.record, { ids, bytes, once })
      .catch((error: { kind: string; message: string }) => `${error.kind}: ${error.message}`);
  }

  /** Writes items, and says so only later. */
  write(ids: string[]): void {
    for (const id of ids) this.items.add(id);
  }

  private async read(id: { shard: number }, kind: string, request: { externalIds: string[] }): Promise<unknown> {
    await this.held;
    await turn();
    if (kind === 'fetch')
      return request.externalIds.map((externalId) => (this.items.has(externalId) ? { externalId } : null));
    this.readings += 1;
    const vectorCount = [...this.items].filter((one) => shardOf(one, SHARDS) === id.shard).length;
    return { vectorCount, diskBytes: vectorCount * ITEM_BYTES };
  }
}

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const idsOf = (first: number, count: number): string[] => Array.from({ length: count }, (_, i) => `id-${first + i}`);

/** What has come of a promise after many turns; null: nothing yet. */
async function cameOf<Result>(promise: Promise<Result>): Promise<Result | null> {
  let result: Result | null = null;
  void promise.then((value) => (result = value));
  for (let i = 0; i < 50; i += 1) await turn();
  return result;
}

test('a write that fits if others fail waits until they have ended', async () => {
  const world = new World({ items: 10 });
  const first = (await world.reserve(idsOf(0, 6))) as number;
  const second = world.reserve(idsOf(10, 6));
  expect(await cameOf(second)).toBeNull();
  world.ledger.settle(first, 0);
  expect(await second).toEqual(expect.any(Number));
});

test('a write that does not fit once others have ended is refused by what there is then', async () => {
  const world = new World({ items: 10 });
  const first = (await world.reserve(idsOf(0, 6))) as number;
  const second = world.reserve(idsOf(10, 6));
  expect(await cameOf(second)).toBeNull();
  world.write(idsOf(0, 6));
  world.ledger.settle(first, 6);
  expect(await second).toBe(
    'limit_exceeded: collection "c" holds 6 items, and 6 more are beyond its quota of 10 (quota.items); nothing was written: delete some, or have an admin raise it',
  );
});

test('items that are stored already and whose write has not ended count once', async () => {
  const world = new World({ items: 10 });
  const first = (await world.reserve(idsOf(0, 5))) as number;
  world.write(idsOf(0, 5));
  world.clock.advance(LATER_MS);
  const second = world.reserve(idsOf(5, 5));
  expect(await cameOf(second)).toBeNull();
  world.ledger.settle(first, 5);
  expect(await second).toEqual(expect.any(Number));
});

test('a write that ends while the shards are asked counts once', async () => {
  const world = new World({ items: 10 });
  const first = (await world.reserve(idsOf(0, 5))) as number;
  world.write(idsOf(0, 5));
  world.clock.advance(LATER_MS);
  const second = world.reserve(idsOf(5, 5));
  await Promise.resolve();
  world.ledger.settle(first, 5);
  expect(await second).toEqual(expect.any(Number));
});

test('what is full refuses at once, and lets what is there be written, whoever is under way or waits', async () => {
  const world = new World({ items: 10 });
  world.write(idsOf(0, 4));
  const first = (await world.reserve(idsOf(100, 5))) as number;
  const waiting = world.reserve(idsOf(200, 5));
  expect(await cameOf(waiting)).toBeNull();
  expect(await world.reserve(idsOf(0, 4))).toEqual(expect.any(Number));
  expect(await world.reserve(idsOf(300, 7))).toMatch(/^limit_exceeded: collection "c" holds 4 items, and 7 more/);
  expect(await cameOf(waiting)).toBeNull();
  world.ledger.settle(first, 0);
  expect(await waiting).toEqual(expect.any(Number));
});

test('who comes later does not take the place of who waits, and goes on when that one is refused', async () => {
  const world = new World({ items: 10 });
  const begin = async () => {
    const first = (await world.reserve(idsOf(0, 6))) as number;
    const second = world.reserve(idsOf(10, 6));
    await cameOf(second);
    const third = world.reserve(idsOf(20, 4));
    expect(await cameOf(third)).toBeNull();
    return { first, second, third };
  };
  const one = await begin();
  world.ledger.settle(one.first, 0);
  const [second, third] = (await Promise.all([one.second, one.third])) as number[];
  world.ledger.settle(second, 0);
  world.ledger.settle(third, 0);
  const two = await begin();
  world.write(idsOf(0, 6));
  world.ledger.settle(two.first, 6);
  expect(await two.second).toMatch(/^limit_exceeded/);
  expect(await two.third).toEqual(expect.any(Number));
});

test('a write that could not be decided in time may be repeated, and leaves its place to the next', async () => {
  const world = new World({ items: 10 }, { requestTimeoutMs: 300 });
  const first = (await world.reserve(idsOf(0, 6))) as number;
  expect(await world.reserve(idsOf(10, 6))).toMatch(
    /^unavailable: whether the write is within the quota of collection "c" depends on others that are under way.*nothing was written/,
  );
  expect(await world.reserve(idsOf(20, 4))).toEqual(expect.any(Number));
  world.ledger.settle(first, 0);
  expect(await world.reserve(idsOf(10, 6))).toEqual(expect.any(Number));
});

test('who joins a question that ends with the time of whoever asked asks again, by the time of its own', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  try {
    const world = new World({ items: 10 }, { requestTimeoutMs: 300 });
    let release = (): void => undefined;
    world.held = new Promise((done) => (release = done));
    const asker = world.reserve(idsOf(0, 1));
    world.clock.advance(200);
    const joiners = [world.reserve(idsOf(1, 1)), world.reserve(idsOf(2, 1))];
    expect(await cameOf(Promise.race([asker, ...joiners]))).toBeNull();
    world.clock.advance(100);
    jest.advanceTimersByTime(300);
    expect(await cameOf(asker)).toMatch(/^unavailable/);
    expect(await cameOf(Promise.race(joiners))).toBeNull();
    release();
    expect(await Promise.all(joiners)).toEqual([expect.any(Number), expect.any(Number)]);
    // Of two questions to each shard, the second was for both.
    expect(world.readings).toBe(2 * SHARDS);
  } finally {
    jest.useRealTimers();
  }
});

test('each of those that ask for one collection fails by its own time when the shards never answer', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  try {
    const world = new World({ items: 10 }, { requestTimeoutMs: 300 });
    world.held = new Promise(() => undefined);
    const first = world.reserve(idsOf(0, 1));
    world.clock.advance(200);
    const second = world.reserve(idsOf(1, 1));
    await cameOf(first);
    world.clock.advance(100);
    jest.advanceTimersByTime(300);
    expect(await cameOf(first)).toMatch(/^unavailable/);
    expect(await cameOf(second)).toBeNull();
    jest.advanceTimersByTime(200);
    expect(await cameOf(second)).toMatch(/^unavailable/);
  } finally {
    jest.useRealTimers();
  }
});

test('calls of one write count as one, also when the first of them fails and the other writes', async () => {
  const world = new World({ items: 10 });
  const first = (await world.reserve(idsOf(0, 6), { once: 'a' })) as number;
  const again = (await world.reserve(idsOf(0, 6), { once: 'a' })) as number;
  world.ledger.settle(first, null);
  const other = world.reserve(idsOf(10, 6));
  expect(await cameOf(other)).toBeNull();
  world.write(idsOf(0, 6));
  world.ledger.settle(again, 6);
  expect(await other).toMatch(/^limit_exceeded/);
});

test('bytes are bounded the same way', async () => {
  const world = new World({ bytes: 100 });
  const first = (await world.reserve(['a'], { bytes: 60 })) as number;
  const second = world.reserve(['b'], { bytes: 60 });
  expect(await cameOf(second)).toBeNull();
  world.ledger.settle(first, 1);
  expect(await second).toEqual(expect.any(Number));
});

test('whatever happens to writes, there is never more than the quota, and what fits is never refused', async () => {
  const random = seededRandom(runSeed('quota ledger'));
  const world = new World({ items: 100 });
  const pause = async (): Promise<void> => {
    for (let left = Math.floor(random() * 8); left > 0; left -= 1) await turn();
  };
  let refusals = 0;
  const write = async (): Promise<void> => {
    await pause();
    const ids = idsOf(Math.floor(random() * 200), 1 + Math.floor(random() * 12));
    const reservation = await world.reserve(ids);
    if (typeof reservation === 'string') {
      expect(reservation).toMatch(/^limit_exceeded/);
      const added = ids.filter((id) => !world.items.has(id)).length;
      // Nothing is deleted here, so there is at least as much as when it was decided.
      expect(world.items.size + added).toBeGreaterThan(100);
      refusals += 1;
      return;
    }
    await pause();
    const stored = random() < 0.3 ? [] : random() < 0.5 ? ids.slice(0, ids.length / 2) : ids;
    const added = stored.filter((id) => !world.items.has(id)).length;
    world.write(stored);
    expect(world.items.size).toBeLessThanOrEqual(100);
    await pause();
    world.ledger.settle(reservation, random() < 0.1 ? null : added);
  };
  const writer = async (): Promise<void> => {
    for (let i = 0; i < 20; i += 1) await write();
  };
  await Promise.all(Array.from({ length: 20 }, writer));
  expect(refusals).toBeGreaterThan(0);
  // All that is left of the quota is had, one item after the other.
  for (let i = 1_000; world.items.size < 100; i += 1) {
    const reservation = await world.reserve([`id-${i}`]);
    expect(reservation).toEqual(expect.any(Number));
    world.write([`id-${i}`]);
    world.ledger.settle(reservation as number, 1);
  }
  expect(await world.reserve(['one-more'])).toMatch(/^limit_exceeded/);
});
