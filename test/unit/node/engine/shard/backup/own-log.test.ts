import { MemoryKeyValueStore } from '../../../../../support/models/memory-key-value-store';
import { seedChanges } from '../../../../../../node/engine/records/seed-position';
import { RecordStore } from '../../../../../../node/engine/records/record-store';
import { LOGGED_KEY, writeKey } from '../../../../../../node/engine/records/record-keys';
import { OwnLog, positionOfLogged } from '../../../../../../node/engine/shard/backup/own-log';
import { Shard } from '../../../../../../node/engine/shard/shard';
import { WriteBudget } from '../../../../../../node/engine/shard/writing/write-queue';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../../../../../support/manual-clock';
import { Pace } from '../../../../../../shared/base/time/pace';
import { copiedStore } from '../../../../../support/shards/copied-store';
import { LogMemory, openRocksStore, plainFactories } from '../../../../../support/shards/shard-node';

/** The writes that a shard without replicas keeps until they are shipped, over starts. */

const ID = { collectionUid: 'c', shard: 0 };
const MAX = { entries: 1000, bytes: 1000 };

let store: MemoryKeyValueStore;
let records: RecordStore;
let clock: ManualClock;
let operation: number;

beforeEach(() => {
  store = new MemoryKeyValueStore();
  records = new RecordStore(store);
  clock = new ManualClock();
  operation = 0;
});

const open = (keptMax = MAX): Promise<OwnLog> =>
  OwnLog.open({ id: ID, records, operation, isNew: operation === 0, wallMs: () => clock.wallMs(), keptMax });

async function write(log: OwnLog, bytes: number, moment = 0): Promise<void> {
  operation += 1;
  await store.write(log.changes([Buffer.alloc(bytes)], operation, moment));
  log.stored();
}

test('the bound of what is kept counts what was kept before a start', async () => {
  const one = await open();
  for (let i = 0; i < 8; i += 1) await write(one, 92);
  await one.close();
  const two = await open();
  expect(two.view()).toMatchObject({ first: 1, last: 8 });
  for (let i = 0; i < 4; i += 1) await write(two, 92);
  // Ten writes of a hundred bytes fit.
  expect(two.view()).toMatchObject({ first: 3, last: 12 });
  await two.close();
  const three = await open();
  expect((await three.entries(0, Infinity)).map(({ sequence }) => sequence)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  // A smaller bound holds from the next write on.
  await three.close();
  const four = await open({ entries: 5, bytes: 1000 });
  await write(four, 92);
  expect(four.view()).toMatchObject({ first: 9, last: 13 });
});

test('what is given up goes in pieces: most writes beyond the bound remove nothing', async () => {
  const log = await open({ entries: 640, bytes: Infinity });
  const firsts = new Set<number>();
  for (let i = 0; i < 700; i += 1) {
    await write(log, 1);
    firsts.add(log.view()!.first);
  }
  expect(log.view()).toMatchObject({ committed: 700, last: 700 });
  expect([...firsts]).toEqual([1, 12, 23, 34, 45, 56, 67]);
  expect((await log.entries(0, Infinity))[0].sequence).toBe(67);
});

test('what is given up to make room is what is oldest and stored, as much as there is', async () => {
  const log = await open({ entries: 100, bytes: Infinity });
  for (let i = 0; i < 5; i += 1) await write(log, 92);
  operation += 1;
  const batch = log.changes([Buffer.alloc(92)], operation, 0);
  expect(log.keptBytes).toBe(600);
  expect([log.giveUp(150), log.keptBytes, log.view()!.first]).toEqual([200, 400, 3]);
  // What is on its way is not there yet.
  expect([log.giveUp(10_000), log.keptBytes, log.view()]).toEqual([
    300,
    100,
    expect.objectContaining({ first: 6, committed: 5, last: 6 }),
  ]);
  expect(log.giveUp(1)).toBe(0);
  await store.write(batch);
  log.stored();
  await log.close();
  const again = await open();
  expect(again.view()).toMatchObject({ first: 6, last: 6 });
  expect((await again.entries(0, Infinity)).map(({ sequence }) => sequence)).toEqual([6]);
});

test('times never go back behind writes that were given up, because others came while nothing was kept', async () => {
  const one = await open();
  const startMs = clock.wallMs();
  await write(one, 10);
  await one.close();
  operation += 1;
  clock.advance(-60_000);
  const two = await open();
  expect([two.view(), two.timeMs()]).toEqual([{ term: 1, first: 3, committed: 2, last: 2 }, startMs]);
  await two.close();
  expect((await open()).timeMs()).toBe(startMs);
});

test('times never go back, though the clock is put back between starts, and though all was shipped', async () => {
  const one = await open();
  const startMs = clock.wallMs();
  await write(one, 10);
  await one.close();
  clock.advance(-60_000);
  const two = await open();
  expect(two.timeMs()).toBe(startMs);
  await write(two, 10);
  expect((await two.entries(0, Infinity)).map(({ at }) => at)).toEqual([startMs, startMs]);
  // What was told of it, too.
  two.shipped({ sequence: 2, epoch: 1, at: startMs + 7 });
  await two.close();
  const three = await open();
  await write(three, 10);
  expect((await three.entries(0, Infinity)).map(({ sequence, at }) => [sequence, at])).toEqual([[3, startMs + 7]]);
  // The moment by which a write finds items expired.
  await write(three, 10, startMs + 9);
  expect((await three.entries(4, Infinity)).map(({ at }) => at)).toEqual([startMs + 9]);
  clock.advance(120_000);
  expect(three.timeMs()).toBe(clock.wallMs());
});

const placeNow = async (): Promise<{ sequence: number; epoch: number }> => positionOfLogged((await records.logged())!);

test('the writes of each start have an epoch of their own, also where the clock stands still', async () => {
  const startMs = clock.wallMs();
  const one = await open();
  expect([one.hasBegun, one.epochOf(0), one.epochOf(1)]).toEqual([false, 0, null]);
  await write(one, 10);
  await write(one, 10);
  expect([one.hasBegun, await placeNow()]).toEqual([true, { sequence: 2, epoch: startMs }]);
  const two = await open();
  // Where it stands may be what another history has, too.
  expect([two.hasBegun, await placeNow()]).toEqual([false, { sequence: 2, epoch: startMs }]);
  await write(two, 10);
  expect((await two.entries(0, Infinity)).map(({ sequence, epoch }) => [sequence, epoch])).toEqual([
    [1, startMs],
    [2, startMs],
    [3, expect.any(Number)],
  ]);
  const second = two.epochOf(3)!;
  expect(second).toBeGreaterThan(startMs);
  // The epoch before the first one that is kept stays known.
  two.shipped({ sequence: 2, epoch: startMs, at: 0 });
  clock.advance(2 ** 21);
  const third = clock.wallMs();
  const three = await open();
  await write(three, 10);
  expect([2, 3, 4, 5].map((sequence) => three.epochOf(sequence))).toEqual([startMs, second, third, null]);
  three.shipped({ sequence: 4, epoch: third, at: 0 });
  await write(three, 10);
  const four = await open();
  expect([3, 4, 5].map((sequence) => four.epochOf(sequence))).toEqual([null, third, third]);
});

test('a batch that is lost leaves no epoch', async () => {
  const log = await open();
  log.changes([Buffer.alloc(10)], 1, 0);
  log.lost();
  expect([log.hasBegun, log.view()]).toEqual([false, { term: 1, first: 1, committed: 0, last: 0 }]);
  await write(log, 10);
  expect(log.epochOf(1)).toBe(clock.wallMs());
});

test('what was stored before there were epochs is of the first one', async () => {
  const old = Buffer.alloc(16);
  old.writeDoubleLE(2, 0);
  operation = 2;
  old.writeDoubleLE(operation, 8);
  await store.write([{ type: 'put', key: LOGGED_KEY, value: old }]);
  expect(await placeNow()).toEqual({ sequence: 2, epoch: 1 });
  const log = await open();
  await write(log, 10);
  expect([1, 2, 3].map((sequence) => log.epochOf(sequence))).toEqual([1, 1, clock.wallMs()]);
});

test('numbers go on behind those of another history, once no batch is being stored', async () => {
  const one = await open();
  await write(one, 10);
  await write(one, 10);
  clock.advance(1);
  // A copy of before writes that the target has.
  store = await copiedStore(store);
  records = new RecordStore(store);
  const two = await open();
  await write(two, 10);
  let told = 0;
  two.onLeapt = () => (told += 1);
  const changes = two.changes([Buffer.alloc(10)], (operation += 1), 0);
  const leaps = [two.goOnBehind(7), two.goOnBehind(6)];
  expect([two.view(), told]).toEqual([{ term: 1, first: 1, committed: 3, last: 4 }, 0]);
  await store.write(changes);
  two.stored();
  expect(two.view()).toMatchObject({ first: 9, committed: 8, last: 8 });
  expect([await Promise.all(leaps), two.hasBegun, told]).toEqual([[9, 9], false, 1]);
  expect(await two.goOnBehind(5)).toBe(10);
  await write(two, 10);
  expect((await two.entries(0, Infinity)).map(({ sequence, epoch }) => [sequence, epoch])).toEqual([
    [10, clock.wallMs()],
  ]);
  expect(await placeNow()).toEqual({ sequence: 10, epoch: clock.wallMs() });
});

test('of two that go on from one state at the same time, each has an epoch of its own', async () => {
  await write(await open(), 10);
  const copy = await copiedStore(store);
  const of = operation;
  await write(await open(), 10);
  const { epoch } = await placeNow();
  records = new RecordStore((store = copy));
  operation = of;
  await write(await open(), 10);
  expect((await placeNow()).epoch).not.toBe(epoch);
});

test.each([
  ['what was shipped is kept again', [2, 3, 4, 5]],
  ['what is before a hole is forgotten', [1, 3, 4, 5]],
  ['nothing counts whose newest are not there', [1, 2, 3, 4]],
])('writes that a crash brought back: %s', async (_title, there) => {
  const one = await open();
  for (let i = 0; i < 5; i += 1) await write(one, 92);
  for (let sequence = 1; sequence <= 5; sequence += 1)
    if (!there.includes(sequence)) await store.write([{ type: 'delete', key: writeKey(sequence) }]);
  const two = await open();
  const counts =
    there.at(-1) === 5
      ? there.filter((sequence) => !there.some((other) => other > sequence && !there.includes(other - 1)))
      : [];
  expect((await two.entries(0, Infinity)).map(({ sequence }) => sequence)).toEqual(counts);
  expect(two.view()).toMatchObject({ first: counts[0] ?? 6, last: 5 });
});

test('what a crash brought back of epochs that are forgotten does not count', async () => {
  const one = await open();
  await write(one, 10);
  const [[first]] = [await one.entries(0, Infinity)];
  clock.advance(1);
  const two = await open();
  await write(two, 10);
  two.shipped({ sequence: 2, epoch: 0, at: 0 });
  await two.forgotten();
  await write(two, 10);
  await two.close();
  // Of before the batch that forgot the first epoch.
  const value = Buffer.alloc(8 + first.write!.payload.length);
  for (const sequence of [1, 2]) await store.write([{ type: 'put', key: writeKey(sequence), value }]);
  const three = await open();
  expect((await three.entries(0, Infinity)).map(({ sequence, epoch }) => [sequence, epoch])).toEqual(
    [2, 3].map((sequence) => [sequence, clock.wallMs()]),
  );
  expect((await records.writes(0, { values: false, pageSize: 10 })[Symbol.asyncIterator]().next()).value).toHaveLength(
    2,
  );
});

test('the writes of very many starts that were never shipped are given up', async () => {
  const most = { entries: 1000, bytes: 1_000_000 };
  for (let i = 0; i < 256; i += 1) await write(await open(most), 1);
  const log = await open(most);
  expect(log.view()).toMatchObject({ first: 257, last: 256 });
  await write(log, 1);
  expect((await records.logged())!.length).toBe(16 * 3);
});

test.each([
  ['a new one begins with its first write', false, 0],
  ['one that was restored with nothing in it goes on from what the backup has', true, 1],
])('the log of an empty shard: %s', async (_title, isRestored, last) => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-own-log-'));
  const fail = (error: Error): void => {
    throw error;
  };
  const never = (): never => {
    throw new Error('not asked for');
  };
  try {
    if (isRestored) {
      const filled = await openRocksStore(join(folder, 'records'));
      await filled.write(seedChanges(), { sync: true });
      await filled.close();
    }
    const backups = { open: never, pace: new Pace(Infinity), log: 'own' as const };
    const shard = await Shard.open(
      folder,
      { ...ID, dim: 2, metric: 'cosine' },
      {
        factories: plainFactories,
        openStore: openRocksStore,
        recallTarget: 0.99,
        buildThreads: 1,
        logger: new LogMemory(),
        backups,
      },
      { budget: new WriteBudget(), onDiverged: fail, onWriteFailed: fail, onDamaged: fail },
    );
    expect(shard.log!.view()).toMatchObject({ last });
    await shard.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
