import { CollectionHistories } from '../../../../../coordinator/jobs/backup/collection-histories';
import { ShippedLogs } from '../../../../../coordinator/jobs/backup/shipped-logs';
import {
  collectionFromEntry,
  collectionPath,
  type CollectionRecord,
  collectionToValue,
} from '../../../../../coordinator/service/collections/collection-record';
import {
  type ReshardRecord,
  reshardPath,
  reshardToValue,
} from '../../../../../coordinator/service/collections/reshard-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { sealedText } from '../../../../../shared/backup-store/backup-format';
import {
  type CollectionHistory,
  headsKey,
  type LogHead,
  stageKey,
  wasInUse,
} from '../../../../../shared/backup-store/log-format';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { ManualClock } from '../../../../support/manual-clock';
import { headsToBytes } from '../../../../../shared/backup-store/log-heads';
import { MemoryTarget } from '../../../../support/targets/memory-target';

/** When sets of shards are said to have been in use. */

const target = new MemoryTarget();
const logs = new ShippedLogs(target);
let clock: ManualClock;
let store: ClusterStore;
let histories: CollectionHistories;
let startMs: number;

const recordOf = (uid: string, shards: number, given: Partial<CollectionRecord> = {}): CollectionRecord =>
  ({
    uid,
    identity: 'first',
    name: 'things',
    shards,
    replicas: 1,
    minInSync: 1,
    dim: 2,
    createdAt: new Date(startMs).toISOString(),
    state: 'ready',
    ...given,
  }) as CollectionRecord;

async function put(record: CollectionRecord): Promise<void> {
  await store.transact([], [{ type: 'put', key: collectionPath(record.name), value: collectionToValue(record) }]);
}

async function look(): Promise<Record<string, Pick<CollectionHistory, 'fromMs' | 'toMs'>>> {
  clock.advance(2_000);
  await histories.look();
  return Object.fromEntries(
    (await logs.histories()).map(({ uid, fromMs, toMs }) => [
      uid,
      { fromMs: fromMs - startMs, toMs: toMs && toMs - startMs },
    ]),
  );
}

async function stage(
  shard: string,
  sequence: number,
  atMs: number,
  term: number,
  given: string,
  isSealed = true,
): Promise<void> {
  const place = { sequence, epoch: 1, at: startMs + atMs, term, stage: given };
  const key = stageKey(shard, place);
  await target.put(key, sealedText(place, isSealed ? { seals: target.seals, key } : undefined));
}

async function tell(shards: Record<string, number>): Promise<void> {
  const headOf = (untilMs: number): LogHead => ({
    sequence: 9,
    epoch: 1,
    untilMs: startMs + untilMs,
    since: 1,
    gaps: 0,
    error: null,
  });
  await target.put(
    headsKey('a'),
    headsToBytes(
      {
        member: 'a',
        at: 0,
        shards: Object.fromEntries(Object.entries(shards).map(([name, untilMs]) => [name, headOf(untilMs)])),
      },
      target.seals,
    ),
  );
}

beforeEach(async () => {
  target.objects.clear();
  clock = new ManualClock();
  startMs = clock.wallMs();
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  histories = new CollectionHistories({ store, logs, clock, log: silentLogger });
});

test('a collection whose record is damaged is not taken for deleted, and hides no other', async () => {
  await put(recordOf('first', 1));
  await look();
  await store.transact([], [{ type: 'put', key: collectionPath('things'), value: 'null' }]);
  await put(recordOf('other', 1, { identity: 'other', name: 'others' }));
  expect(await look()).toMatchObject({ first: { toMs: null }, other: { toMs: null } });
  await store.transact([], [{ type: 'delete', key: collectionPath('things') }]);
  expect(await look()).toMatchObject({ first: { toMs: expect.any(Number) }, other: { toMs: null } });
});

test('a set that takes over begins when the last of its shards was opened, and the one before ends there', async () => {
  await put(recordOf('first', 1));
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: null } });
  await put(recordOf('second', 2));
  await stage('first.0', 4, 2_300, 1, 'tracking');
  await stage('first.0', 8, 2_500, 1, 'sealed');
  await stage('first.0', 9, 2_510, 1, 'closed');
  await stage('second.0', 1, 2_200, 1, 'filling');
  await stage('second.0', 6, 2_520, 1, 'open');
  await stage('second.1', 1, 2_200, 1, 'filling');
  // Not all of it is shipped yet: it is in use since it was seen, and the one before has no end.
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: null }, second: { fromMs: 4_000, toMs: null } });
  histories.forget();
  await stage('second.1', 7, 2_530, 1, 'open');
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: 2_530 }, second: { fromMs: 2_530, toMs: null } });
});

describe('a history that somebody else has written in the place of a sealed one', () => {
  const FAR_MS = 8.64e15;

  test.each<[string, Partial<CollectionHistory>]>([
    ['that begins later', { fromMs: FAR_MS }],
    ['that begins earlier', { fromMs: 0 }],
    ['that is over', { toMs: 1 }],
    ['that was replaced', { replacedMs: 1 }],
    ['that has the last order of all', { order: Number.MAX_SAFE_INTEGER }],
    ['that awaits another one', { awaits: true }],
  ])('%s is put right by what is known', async (_, given) => {
    await put(recordOf('first', 1));
    await look();
    const [{ isSealed: _isSealed, ...before }] = await logs.histories();
    await logs.putHistory({ ...before, ...given }, false);
    histories.forget();
    expect(await look()).toEqual({ first: { fromMs: 0, toMs: null } });
    expect(await logs.histories()).toMatchObject([{ isSealed: true }]);
    // And whoever comes later can be read, and comes later.
    await put(recordOf('second', 1));
    expect(Object.keys(await look())).toEqual(['first', 'second']);
    const [first, second] = await logs.histories();
    expect(second.order!).toBeGreaterThan(first.order ?? 0);
    expect(first).not.toHaveProperty('replacedMs');
  });

  test('of a set that is gone says nothing of when another one ended', async () => {
    await put(recordOf('first', 1));
    await look();
    const [{ isSealed: _isSealed, ...before }] = await logs.histories();
    await logs.putHistory({ ...before, uid: 'forged', order: 9, fromMs: startMs + 1 }, false);
    histories.forget();
    await look();
    await store.transact([], [{ type: 'delete', key: collectionPath('things') }]);
    expect((await look()).first.toMs).toBeGreaterThan(0);
  });
});

test('how far a log is, as somebody else says it, does not make a deleted collection last', async () => {
  await put(recordOf('first', 1));
  await tell({ 'first.0': 1_500 });
  await look();
  const head: LogHead = { sequence: 10, epoch: 99, untilMs: 8.64e15, since: 1, gaps: 0, error: null };
  await target.put(headsKey('x'), sealedText({ member: 'x', at: 0, shards: { 'first.0': head } }));
  await store.transact([], [{ type: 'delete', key: collectionPath('things') }]);
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: 4_000 } });
});

test('what is not sealed ends nothing', async () => {
  await put(recordOf('first', 1));
  await look();
  await put(recordOf('second', 1));
  await stage('second.0', 1, 2_200, 1, 'filling', false);
  await stage('second.0', 2, 2_300, 1, 'open', false);
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: null }, second: { fromMs: 4_000, toMs: null } });
  expect([(await logs.stages()).size, (await logs.stages(true)).size]).toEqual([1, 0]);
});

test('what came late of an earlier driver, or was opened again, has closed nothing', async () => {
  await put(recordOf('first', 1));
  await look();
  await stage('first.0', 3, 1_000, 1, 'closed');
  await stage('first.0', 4, 1_100, 2, 'tracking');
  await stage('first.0', 5, 1_200, 1, 'closed');
  const { stages, heads } = await logs.reported();
  expect((await logs.logOf('first', 0, { stages, heads })).closed).toBeNull();
  await stage('first.0', 6, 1_300, 2, 'closed');
  await stage('first.0', 7, 1_400, 3, 'closed');
  expect((await logs.logOf('first', 0, await logs.reported())).closed).toMatchObject({ at: startMs + 1_300 });
});

test('shards that are new begin by the clock as it is, and those that were ahead of it end by theirs', async () => {
  await put(recordOf('first', 1));
  await look();
  await put(recordOf('second', 1));
  await stage('first.0', 9, 90_000, 1, 'closed');
  await stage('second.0', 1, 2_100, 1, 'filling');
  await stage('second.0', 2, 2_200, 1, 'open');
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: 90_000 }, second: { fromMs: 2_200, toMs: null } });
});

test('where no log tells when it took over, it counts from when it was seen; the one before ends where it was closed', async () => {
  await put(recordOf('first', 1));
  await look();
  await put(recordOf('second', 1));
  await stage('first.0', 9, 2_500, 1, 'closed');
  await tell({ 'second.0': 3_999 });
  expect((await look()).first.toMs).toBeNull();
  await tell({ 'second.0': 4_000 });
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: 2_500 }, second: { fromMs: 4_000, toMs: null } });
});

test('a set that came and went between two looks is known as long as its reshard has not dropped it', async () => {
  await put(recordOf('first', 1));
  await look();
  const title = [{ path: 'title', weight: 2 }];
  await put(recordOf('third', 3, { keywordFields: title }));
  const reshard = {
    id: 'r',
    identity: 'first',
    name: 'things',
    from: { uid: 'second', shards: 2, keywordFields: null },
    to: { uid: 'third', shards: 3, keywordFields: title },
    earlier: [],
    replicas: 1,
    state: 'retiring',
    term: 1,
    startedAt: '',
    error: null,
    sources: [],
    copied: 0,
    total: 0,
    behind: 0,
  } satisfies ReshardRecord;
  await store.transact([], [{ type: 'put', key: reshardPath('first'), value: reshardToValue(reshard) }]);
  for (const [shard, openMs] of [
    ['second.0', 2_100],
    ['second.1', 2_110],
    ['third.0', 2_200],
    ['third.1', 2_201],
    ['third.2', 2_202],
  ] as const) {
    await stage(shard, 1, openMs - 50, 1, 'filling');
    await stage(shard, 2, openMs, 1, 'open');
  }
  expect(await look()).toEqual({
    first: { fromMs: 0, toMs: 2_110 },
    second: { fromMs: 2_110, toMs: 2_202 },
    third: { fromMs: 2_202, toMs: null },
  });
  // Each as its shards were made.
  const fields = (await logs.histories()).map(({ uid, record }) => [
    uid,
    collectionFromEntry({ key: '', value: record }).keywordFields ?? null,
  ]);
  expect(Object.fromEntries(fields)).toEqual({ first: null, second: null, third: title });
});

test('a collection that was deleted ends before another one of its name begins, and not before what was told of it', async () => {
  await put(recordOf('first', 1));
  await tell({ 'first.0': 2_400 });
  await look();
  await put(recordOf('other', 1, { identity: 'other', createdAt: new Date(startMs + 2_500).toISOString() }));
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: 2_500 }, other: { fromMs: 2_500, toMs: null } });
  // A clock was ahead, and is right again: what was told stays true.
  await tell({ 'other.0': 9_000_000 });
  await store.transact([], [{ type: 'delete', key: collectionPath('things') }]);
  expect((await look()).other).toEqual({ fromMs: 2_500, toMs: 9_000_001 });
});

test('a set that took over again was away while others were in its place, and so they end', async () => {
  await put(recordOf('first', 1));
  await look();
  await put(recordOf('second', 1));
  await stage('first.0', 3, 2_190, 1, 'closed');
  await stage('second.0', 1, 2_100, 1, 'filling');
  await stage('second.0', 2, 2_200, 1, 'open');
  await look();
  await stage('first.0', 4, 2_300, 2, 'filling');
  await stage('second.0', 5, 5_000, 2, 'closed');
  await put(recordOf('first', 1));
  const inUse = async (atMs: number): Promise<string[]> =>
    (await logs.histories()).filter((history) => wasInUse(history, startMs + atMs)).map(({ uid }) => uid);
  // Its log does not tell yet when it took over again.
  await look();
  expect([await inUse(2_199), await inUse(4_000)]).toEqual([['first'], ['second']]);
  await stage('first.0', 5, 5_010, 2, 'open');
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: null }, second: { fromMs: 2_200, toMs: 5_010 } });
  expect([await inUse(2_199), await inUse(2_200), await inUse(5_009)]).toEqual([['first'], ['second'], ['second']]);
  expect([await inUse(5_010), await inUse(50_000)]).toEqual([['first'], ['first']]);
  // Again, and this time somebody else sees it.
  await put(recordOf('third', 1));
  await stage('first.0', 6, 9_000, 3, 'closed');
  await stage('third.0', 1, 8_000, 3, 'filling');
  await stage('third.0', 2, 9_100, 3, 'open');
  await look();
  histories.forget();
  await put(recordOf('first', 1));
  await stage('first.0', 7, 9_200, 4, 'filling');
  await stage('first.0', 8, 11_000, 4, 'open');
  await look();
  expect([await inUse(4_000), await inUse(6_000), await inUse(10_000), await inUse(11_000)]).toEqual([
    ['second'],
    ['first'],
    ['third'],
    ['first'],
  ]);
});

test('a set that was away twice before its log told of either time was away then, and so the others end', async () => {
  const inUse = async (atMs: number): Promise<string[]> =>
    (await logs.histories()).filter((history) => wasInUse(history, startMs + atMs)).map(({ uid }) => uid);
  await put(recordOf('first', 1));
  await look();
  for (const [uid, openMs] of [
    ['second', 2_200],
    ['third', 9_000],
  ] as const) {
    await put(recordOf(uid, 1));
    await stage(`${uid}.0`, 1, openMs - 100, 1, 'filling');
    await stage(`${uid}.0`, 2, openMs, 1, 'open');
    await look();
    await put(recordOf('first', 1));
    await look();
  }
  // Its member ships what it has.
  await stage('first.0', 3, 2_190, 1, 'closed');
  await stage('first.0', 4, 2_300, 2, 'filling');
  await stage('first.0', 5, 6_000, 2, 'open');
  await look();
  expect([await inUse(5_999), await inUse(6_000)]).toEqual([['second'], ['first']]);
  await stage('first.0', 6, 8_990, 3, 'closed');
  await stage('first.0', 7, 9_100, 4, 'filling');
  await stage('first.0', 8, 11_000, 4, 'open');
  await look();
  expect([await inUse(8_999), await inUse(9_000), await inUse(11_000), await inUse(50_000)]).toEqual([
    ['first'],
    ['third'],
    ['first'],
    ['first'],
  ]);
  const [first] = await logs.histories();
  expect(first.away?.map(({ fromMs, toMs }) => [fromMs - startMs, toMs && toMs - startMs])).toEqual([
    [2_200, 6_000],
    [9_000, 11_000],
  ]);
  expect(first.order!).toBeGreaterThan(first.firstOrder!);
});

test('a set that was put back, and not filled again, was away at no time', async () => {
  await put(recordOf('first', 1));
  await look();
  await put(recordOf('second', 1));
  await stage('second.0', 1, 2_100, 1, 'filling');
  await stage('second.0', 2, 2_200, 1, 'open');
  await look();
  await put(recordOf('first', 1));
  await look();
  await tell({ 'first.0': 100_000, 'second.0': 3_000 });
  clock.advance(100_000);
  await look();
  const [first] = await logs.histories();
  expect([first.uid, first.away, wasInUse(first, startMs + 4_000)]).toEqual(['first', undefined, true]);
});

test('a set that is in use again, because the data were put back, is the last one', async () => {
  await put(recordOf('first', 1));
  await look();
  await put(recordOf('second', 1));
  await stage('second.0', 1, 2_100, 1, 'filling');
  await stage('second.0', 2, 2_200, 1, 'open');
  expect((await look()).first.toMs).toBe(2_200);
  await put(recordOf('first', 1));
  expect(await look()).toEqual({ first: { fromMs: 0, toMs: null }, second: { fromMs: 2_200, toMs: 6_000 } });
  expect(
    (await logs.histories())
      .sort((a, b) => a.order! - b.order!)
      .map(({ uid, replacedMs }) => [uid, replacedMs && replacedMs - startMs]),
  ).toEqual([
    ['second', undefined],
    ['first', 2_200],
  ]);
});
