import {
  collectionToValue,
  type CollectionRecord,
} from '../../../../../coordinator/service/collections/collection-record';
import { restorableOf } from '../../../../../coordinator/jobs/restore/restorable';
import { ShippedLogs } from '../../../../../coordinator/jobs/backup/shipped-logs';
import type { BackupManifest, TimedLogPosition } from '../../../../../shared/backup-store/backup-format';
import {
  type CollectionHistory,
  headsKey,
  LOG_PREFIX,
  segmentKey,
  segmentToBytes,
  stageKey,
} from '../../../../../shared/backup-store/log-format';
import { headsToBytes } from '../../../../../shared/backup-store/log-heads';
import { MemoryTarget } from '../../../../support/targets/memory-target';

/** What of logs is kept, and that the same is offered. */

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const target = new MemoryTarget();
const logs = new ShippedLogs(target);
const NOBODY = new Set<string>();

/** A collection of one shard, by the days on which a set of its shards was in use. */
async function history(
  uid: string,
  fromDay: number,
  toDay: number | null,
  given: Partial<CollectionHistory> = {},
): Promise<void> {
  const toMs = toDay === null ? null : START_MS + toDay * DAY_MS;
  const known = (await logs.histories()).length;
  await logs.putHistory({
    name: 'things',
    uid,
    identity: 'first',
    record: '',
    shards: 1,
    fromMs: START_MS + fromDay * DAY_MS,
    toMs,
    ...(toMs !== null && { replacedMs: toMs }),
    order: known + 1,
    ...given,
  });
}

/** An entry for each of these days. */
async function ship(uid: string, first: number, precedingEpoch: number, days: number[]): Promise<void> {
  for (const [i, day] of days.entries()) {
    const at = START_MS + day * DAY_MS;
    const name = {
      first: first + i,
      last: first + i,
      precedingEpoch: i === 0 ? precedingEpoch : 1,
      lastEpoch: 1,
      fromMs: at,
      toMs: at,
    };
    const key = segmentKey(`${uid}.0`, name);
    await target.put(
      key,
      segmentToBytes([{ sequence: first + i, epoch: 1, at, write: null }], { seals: target.seals, key }),
    );
  }
}

function backup(
  day: number,
  taken: Record<string, TimedLogPosition | null>,
  given: Partial<BackupManifest> = {},
): BackupManifest {
  const collections = Object.entries(taken).map(([uid, position]) => {
    const record = collectionToValue({
      uid,
      identity: uid === 'other' ? 'other' : 'first',
      name: 'things',
      dim: 2,
      shards: 1,
      replicas: 1,
    } as CollectionRecord);
    return { name: 'things', uid, record, shards: [{ ...(position && { position }) }] };
  });
  return {
    id: `b${day}`,
    startedAt: new Date(START_MS + day * DAY_MS).toISOString(),
    scheduled: false,
    collections,
    ...given,
  } as unknown as BackupManifest;
}

function placeOf(sequence: number, day: number): TimedLogPosition {
  return { sequence, epoch: 1, at: START_MS + day * DAY_MS };
}

/** Numbers of the entries that are left. */
function left(uid: string): number[] {
  return [...target.objects.keys()]
    .filter((key) => key.startsWith(`${LOG_PREFIX}${uid}.0/`))
    .map((key) => Number(key.split('/')[2].split('-')[0]))
    .sort((a, b) => a - b);
}

async function sweep(present: BackupManifest[], day: number): Promise<void> {
  await logs.sweep(present, NOBODY, START_MS + day * DAY_MS);
}

/** From which day to which day sets can be restored. */
async function offered(manifests: BackupManifest[]): Promise<[number, number][]> {
  const histories = await logs.histories();
  const reported = await logs.reported();
  const views = (
    await Promise.all(histories.map((one) => restorableOf(one, { logs, reported, manifests, histories })))
  ).flat();
  const dayOf = (iso: string): number => Math.round((Date.parse(iso) - START_MS) / DAY_MS);
  return views.flatMap(({ from, until }): [number, number][] =>
    from === null || until === null ? [] : [[dayOf(from), dayOf(until)]],
  );
}

beforeEach(() => target.objects.clear());

test.each([
  ['a segment', (ms: number) => `log/things.0/${'1'.padStart(16, '0')}-${'1'.padStart(16, '0')}-0-1-0-${ms}`],
  ['a stage', (ms: number) => stageKey('things.0', { sequence: 1, epoch: 1, at: ms, term: 0, stage: 'told' })],
  ['a stage of digits without end', () => `stages/things.0/${'1'.padStart(16, '0')}-1-${'9'.repeat(400)}-0-told`],
])('%s of a time that no date has is nobody’s trouble', async (_, keyOf) => {
  await history('things', 0, null);
  await ship('things', 1, 0, [1]);
  for (const ms of [Number.MAX_SAFE_INTEGER, 8.64e15 + 1, 8.64e15]) {
    const key = keyOf(ms);
    await target.put(key, Buffer.from('x'));
    expect(await offered([])).toEqual([[0, 1]]);
    await target.delete(key);
  }
});

describe('a set of shards that took over between two backups', () => {
  const first = backup(1, { first: placeOf(2, 1) });
  const second = backup(6, { second: placeOf(3, 6) });

  beforeEach(async () => {
    await history('first', 0, 3);
    await history('second', 3, null);
    await ship('first', 1, 0, [0, 1, 2, 3]);
    await ship('second', 1, 0, [3, 4, 5, 7]);
    await target.put(
      stageKey('first.0', { sequence: 4, epoch: 1, at: START_MS + 3 * DAY_MS - 5, term: 1, stage: 'closed' }),
      Buffer.alloc(1),
    );
  });

  test('keeps its log from its beginning on, as long as the backup before is kept', async () => {
    await sweep([second, first], 8);
    expect([left('first'), left('second')]).toEqual([
      [3, 4],
      [1, 2, 3, 4],
    ]);
    expect(await offered([second, first])).toEqual([
      [1, 3],
      [3, 7],
    ]);
    await sweep([second], 8);
    expect([left('first'), left('second')]).toEqual([[3, 4], [4]]);
    expect(await offered([second])).toEqual([[6, 7]]);
    // The one before goes some days after it was over.
    await sweep([second], 11);
    expect([left('first'), (await logs.histories()).map(({ uid }) => uid), [...(await logs.stages()).keys()]]).toEqual([
      [],
      ['second'],
      [],
    ]);
  });

  test('does so by the order of sets, where a clock was ahead when the backup before was taken', async () => {
    const ahead = backup(400, { first: placeOf(2, 1) });
    await sweep([ahead, second], 8);
    expect(left('second')).toEqual([1, 2, 3, 4]);
  });

  test('is offered where its predecessor was closed, to the moment', async () => {
    const histories = await logs.histories();
    const views = (
      await Promise.all(
        histories.map(async (one) =>
          restorableOf(one, { logs, reported: await logs.reported(), manifests: [first], histories }),
        ),
      )
    ).flat();
    expect(views.map(({ from, until }) => [Date.parse(from!), Date.parse(until!)])).toEqual([
      [START_MS + DAY_MS, START_MS + 3 * DAY_MS - 1],
      [START_MS + 3 * DAY_MS, START_MS + 7 * DAY_MS - 1],
    ]);
  });
});

describe('a set of shards that was in the place of another one, which took over again', () => {
  const before = backup(1, { first: placeOf(2, 1) });
  const between = backup(4, { second: placeOf(2, 4) });
  const after = backup(7, { first: placeOf(4, 7) });

  beforeEach(async () => {
    const away = [{ fromMs: START_MS + 3 * DAY_MS, toMs: START_MS + 6 * DAY_MS, seenMs: START_MS + 6 * DAY_MS }];
    await history('first', 0, null, { order: 3, firstOrder: 1, away });
    await history('second', 3, 6, { order: 2 });
    await ship('first', 1, 0, [0, 1, 3, 7, 8]);
    await ship('second', 1, 0, [3, 4, 5]);
  });

  test('keeps its log as long as the backup before it is kept, and not for one after it', async () => {
    await sweep([after, before], 20);
    expect([left('first'), left('second')]).toEqual([
      [3, 4, 5],
      [1, 2, 3],
    ]);
    expect(await offered([after, before])).toEqual(expect.arrayContaining([[3, 5]]));
    await sweep([after], 20);
    expect([left('first'), left('second')]).toEqual([[5], []]);
  });

  test('does so by the logs, where a clock was ahead when the backup was taken', async () => {
    await sweep([backup(400, { first: placeOf(2, 1) })], 20);
    expect(left('second')).toEqual([1, 2, 3]);
  });

  test('keeps the beginning of the other one only where no backup of that is older', async () => {
    await sweep([after, between, before], 20);
    expect([left('first'), left('second')]).toEqual([
      [3, 4, 5],
      [1, 2, 3],
    ]);
    await sweep([after, between], 20);
    expect(left('first')).toEqual([3, 4, 5]);
  });

  test('does so where an earlier version noted that the other one took over again', async () => {
    const first = (await logs.histories()).find(({ uid }) => uid === 'first')!;
    const { firstOrder: _firstOrder, isSealed: _isSealed, ...rest } = first;
    await logs.putHistory(rest);
    await sweep([after, before], 20);
    expect(left('second')).toEqual([1, 2, 3]);
  });
});

test('a collection that is newer than a backup of everything keeps its log from its beginning on, and not for one of others', async () => {
  await history('first', 2, null);
  await ship('first', 1, 0, [2, 3, 4, 5]);
  const own = backup(4, { first: placeOf(2, 4) });
  const everything = backup(1, {});
  await sweep([own, everything], 6);
  expect(left('first')).toEqual([1, 2, 3, 4]);
  expect(await offered([own, everything])).toEqual([[2, 5]]);
  const ofOthers = backup(1, { other: null }, { isOfSome: true });
  expect(await offered([own, ofOthers])).toEqual([[4, 5]]);
  await sweep([own, ofOthers], 6);
  expect(left('first')).toEqual([3, 4]);
});

test('what is before a gap stays offered', async () => {
  await history('first', 0, null);
  await ship('first', 1, 0, [0, 1, 2]);
  await ship('first', 6, 1, [6, 7, 8]);
  const before = backup(1, { first: placeOf(2, 1) });
  const after = backup(7, { first: placeOf(7, 7) });
  expect(await offered([after, before])).toEqual([
    [1, 2],
    [7, 8],
  ]);
  await sweep([after, before], 9);
  expect(left('first')).toEqual([3, 6, 7, 8]);
  expect(await offered([after, before])).toEqual([
    [1, 2],
    [7, 8],
  ]);
});

test('a beginning that was removed is not offered when no backup is left', async () => {
  await history('first', 0, null);
  await ship('first', 1, 0, [0, 1, 2, 3]);
  const head = { sequence: 4, epoch: 1, untilMs: START_MS + 3 * DAY_MS, since: 1, gaps: 0, error: null };
  await target.put(headsKey('a'), headsToBytes({ member: 'a', at: 0, shards: { 'first.0': head } }, target.seals));
  expect(await offered([])).toEqual([[0, 3]]);
  const own = backup(1, { first: placeOf(2, 1) });
  await sweep([own], 4);
  expect(await offered([own])).toEqual([[1, 3]]);
  expect(await offered([])).toEqual([]);
});

test('the log of a set that never took over goes after some days', async () => {
  await history('first', 0, null);
  await ship('first', 1, 0, [0]);
  await ship('given-up', 1, 0, [1, 2]);
  await sweep([], 9);
  expect(left('given-up')).toEqual([1, 2]);
  await sweep([], 9.1);
  expect([left('given-up'), left('first')]).toEqual([[], [1]]);
});
