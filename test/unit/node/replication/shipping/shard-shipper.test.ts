import { OTHER_SEALS, TEST_SEALS } from '../../../../support/cluster/test-seals';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { RecordStore } from '../../../../../node/engine/records/record-store';
import { OwnLog } from '../../../../../node/engine/shard/backup/own-log';
import { ShardShipper } from '../../../../../node/replication/shipping/shard-shipper';
import type { LoggedEntry, LogView, ShippableLog } from '../../../../../node/engine/shard/backup/shippable-log';
import type { BackupSeals } from '../../../../../shared/backup-store/backup-seals';
import { chainsOf } from '../../../../../shared/backup-store/log-chain';
import {
  isSealedSegment,
  openedSegment,
  LOG_PREFIX,
  type LogHeads,
  type LogSegment,
  segmentKey,
  segmentOf,
  segmentToBytes,
  type ShippedEntry,
  STAGES_PREFIX,
  stageOf,
} from '../../../../../shared/backup-store/log-format';
import { operationsToBytes } from '../../../../../shared/contract/writes/operation-codec';
import type { StageOperation } from '../../../../../shared/contract/shard/shard-client';
import { ManualClock } from '../../../../support/manual-clock';
import { Pace } from '../../../../../shared/base/time/pace';
import { copiedStore } from '../../../../support/shards/copied-store';
import { earlierOperations } from '../../../../support/shards/earlier-operations';
import { MemoryTarget } from '../../../../support/targets/memory-target';

const clock = new ManualClock(1_000);
const target = new MemoryTarget();
const { objects } = target;
const gaps: [number, number][] = [];
/** What members have told. */
let reported: LogHeads[] = [];

/** A log in an array, of which a primary of `term` has the entries from `first` on. */
class PlainLog implements ShippableLog {
  readonly id = { collectionUid: 'c', shard: 0 };
  entriesOfLog: LoggedEntry[] = [];
  term = 1;
  first = 1;
  uncommitted = 0;
  leads = true;
  kept = 0;

  write(at: number | null = clock.wallMs()): void {
    this.entriesOfLog.push({
      sequence: this.entriesOfLog.length + 1,
      epoch: this.term,
      at,
      write: { source: null, payload: Buffer.from('w') },
    });
  }

  barrier(): void {
    this.term += 1;
    this.entriesOfLog.push({ sequence: this.entriesOfLog.length + 1, epoch: this.term, at: null, write: null });
  }

  view(): LogView | null {
    const last = this.entriesOfLog.length;
    return this.leads ? { term: this.term, first: this.first, committed: last - this.uncommitted, last } : null;
  }

  epochOf(sequence: number): number | null {
    return sequence === 0 ? 0 : (this.entriesOfLog[sequence - 1]?.epoch ?? null);
  }

  async entries(from: number): Promise<LoggedEntry[]> {
    return this.entriesOfLog.slice(from - 1, Math.min(from + 1, this.view()!.committed));
  }

  shipped({ sequence }: { sequence: number }): void {
    this.kept = sequence;
  }
}

let log: PlainLog;
const shipper = (): ShardShipper => shipperOf(log);
const shipperOf = (one: ShippableLog): ShardShipper =>
  new ShardShipper(one, {
    target,
    pace: new Pace(Infinity),
    clock,
    stop: new AbortController().signal,
    reported: async () => reported,
    onShipped: () => undefined,
    onGap: (_, from, to) => gaps.push([from, to]),
  });

/** What is there, by its segments. */
function shipped(): ShippedEntry[][] {
  const segments = [...objects]
    .filter(([key]) => key.startsWith(LOG_PREFIX))
    .flatMap(([key, bytes]) => segmentOf({ key, bytes: bytes.length }) ?? []);
  return chainsOf(segments).map((chain) =>
    chain.segments.flatMap((segment) => openedSegment(segment, objects.get(segment.key)!, TEST_SEALS).entries),
  );
}

const sequences = (): number[][] => shipped().map((chain) => chain.map(({ sequence }) => sequence));

beforeEach(() => {
  objects.clear();
  gaps.length = 0;
  reported = [];
  log = new PlainLog();
});

test('what is committed is shipped, and a time is told up to which nothing is missing', async () => {
  const one = shipper();
  for (let i = 0; i < 5; i += 1) log.write();
  log.uncommitted = 2;
  clock.advance(10);
  await one.ship();
  expect(sequences()).toEqual([[1, 2, 3]]);
  expect(one.head).toMatchObject({ sequence: 3, since: 1, gaps: 0, untilMs: clock.wallMs() - 11 });
  log.uncommitted = 0;
  await one.ship();
  expect(sequences()).toEqual([[1, 2, 3, 4, 5]]);
  expect(one.head).toMatchObject({ sequence: 5, untilMs: clock.wallMs() - 1 });
  expect(log.kept).toBe(5);
});

test('a successor goes on where it ended, and no entry is earlier than what was told', async () => {
  for (let i = 0; i < 3; i += 1) log.write();
  await shipper().ship();
  log.barrier();
  // Its clock is behind.
  log.write(clock.wallMs() - 500);
  const two = shipper();
  await two.ship();
  expect(sequences()).toEqual([[1, 2, 3, 4, 5]]);
  const times = shipped()[0].map(({ at }) => at);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(gaps).toEqual([]);
  expect(two.head).toMatchObject({ since: 1, epoch: 2 });
  // One that leads no more says nothing.
  log.leads = false;
  await two.ship();
  expect(two.head).toBeNull();
});

test('what was trimmed before it was shipped is a gap, and so is a write without a time', async () => {
  log.write();
  const one = shipper();
  await one.ship();
  for (let i = 0; i < 4; i += 1) log.write();
  log.first = 4;
  await one.ship();
  expect(gaps).toEqual([[2, 3]]);
  expect(sequences()).toEqual([[1], [4, 5]]);
  expect(one.head).toMatchObject({ since: 4, gaps: 1 });
  log.write(null);
  log.write();
  await one.ship();
  expect(gaps).toEqual([
    [2, 3],
    [6, 6],
  ]);
  expect(sequences()).toEqual([[1], [4, 5], [7]]);
});

test('what was written before it was switched on is left out without a word', async () => {
  log.write(null);
  log.write(null);
  log.barrier();
  log.write();
  const one = shipper();
  await one.ship();
  expect(gaps).toEqual([]);
  expect(sequences()).toEqual([[3, 4]]);
  expect(one.head).toMatchObject({ since: 3, sequence: 4 });
});

test('a log that goes on from another lineage makes another chain', async () => {
  for (let i = 0; i < 4; i += 1) log.write();
  await shipper().ship();
  // The last two were lost with all replicas, and the next primary wrote others.
  log.entriesOfLog.length = 2;
  log.barrier();
  log.write();
  log.write();
  await shipper().ship();
  expect(gaps).toHaveLength(1);
  const chains = shipped();
  expect(chains.at(-1)!.map(({ sequence, epoch }) => [sequence, epoch])).toEqual([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
    [5, 2],
  ]);
});

test('what was shipped after it was told is shipped again, with the same times', async () => {
  log.write();
  const one = shipper();
  await one.ship();
  reported = [{ member: 'a', at: 0, shards: { 'c.0': one.head! } }];
  clock.advance(5);
  log.write();
  log.write();
  await one.ship();
  const before = shipped();
  log.barrier();
  const two = shipper();
  await two.ship();
  expect(sequences()).toEqual([[1, 2, 3, 4]].map((all) => expect.arrayContaining(all)));
  expect(
    shipped()[0]
      .filter(({ sequence }) => sequence <= 3)
      .map(({ sequence, at }) => `${sequence} ${at}`),
  ).toEqual(expect.arrayContaining(before[0].map(({ sequence, at }) => `${sequence} ${at}`)));
  expect(new Set(shipped()[0].map(({ sequence, at }) => `${sequence} ${at}`)).size).toBe(4);
  expect(gaps).toEqual([]);
  expect(two.head).toMatchObject({ since: 1, sequence: 4 });
});

describe('a log that nobody else has', () => {
  let store: MemoryKeyValueStore;
  let operation: number;
  let own: OwnLog;

  beforeEach(() => {
    store = new MemoryKeyValueStore();
    operation = 0;
  });

  /** As after a start. */
  async function open(): Promise<ShardShipper> {
    clock.advance(10);
    own = await OwnLog.open({
      id: log.id,
      records: new RecordStore(store),
      operation,
      isNew: operation === 0,
      wallMs: () => clock.wallMs(),
    });
    return shipperOf(own);
  }

  async function write(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      operation += 1;
      await store.write(own.changes([Buffer.from('w')], operation, 0));
      own.stored();
    }
  }

  /** The store as it is, to be put back. */
  async function copied(): Promise<{ put: () => void }> {
    const [copy, of] = [await copiedStore(store), operation];
    return {
      put: () => {
        store = copy;
        operation = of;
      },
    };
  }

  /** Of a log of five writes, all shipped, that is put back to the first one. */
  async function afterPutBack(): Promise<ShardShipper> {
    const one = await open();
    await write(1);
    const copy = await copied();
    await write(4);
    await one.ship();
    copy.put();
    return open();
  }

  const tell = ({ head }: ShardShipper): void => void (reported = [{ member: 'a', at: 0, shards: { 'c.0': head! } }]);

  test('goes on where it ended, over starts', async () => {
    const one = await open();
    await write(3);
    await one.ship();
    await write(2);
    const two = await open();
    await two.ship();
    tell(two);
    const three = await open();
    await write(1);
    await three.ship();
    expect(sequences()).toEqual([[1, 2, 3, 4, 5, 6]]);
    expect(gaps).toEqual([]);
    expect(three.head).toMatchObject({ since: 1, sequence: 6, gaps: 0 });
  });

  test.each([
    ['with fewer writes than the target has', 1],
    ['with more', 9],
  ])('that is put back goes on behind what the target has: %s', async (_title, writes) => {
    const one = await open();
    await write(3);
    const copy = await copied();
    await write(2);
    await one.ship();
    await write(2);
    await one.ship();
    tell(one);
    copy.put();
    const two = await open();
    await write(writes);
    await two.ship();
    // The eighth says up to when the other history goes.
    const next = Math.max(8, 3 + writes) + 1;
    expect(gaps).toEqual([[1, next]]);
    expect(two.head).toMatchObject({ since: next + 1, sequence: next, gaps: 1 });
    await write(2);
    await two.ship();
    expect(sequences()).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8],
      [next + 1, next + 2],
    ]);
    expect(shipped()[0].at(-1)).toMatchObject({ at: reported[0].shards['c.0'].untilMs + 1, write: null });
    // And it is noticed once.
    tell(two);
    const three = await open();
    await write(1);
    await three.ship();
    expect(sequences().at(-1)).toEqual([next + 1, next + 2, next + 3]);
    expect(gaps).toHaveLength(1);
  });

  test('that is put back before what was shipped and not told goes on behind that', async () => {
    const one = await open();
    await write(3);
    await one.ship();
    tell(one);
    await write(2);
    const copy = await copied();
    await write(2);
    await one.ship();
    copy.put();
    const two = await open();
    await write(4);
    await two.ship();
    expect(sequences()).toEqual([[1, 2, 3, 4, 5, 6, 7]]);
    expect(gaps).toEqual([[4, 10]]);
    await write(1);
    await two.ship();
    expect(sequences()[1]).toEqual([11]);
  });

  test('that is put back leaves the end of the other history, though its segments are gone', async () => {
    const one = await open();
    await write(3);
    const copy = await copied();
    await write(2);
    await one.ship();
    tell(one);
    const { epoch, untilMs } = one.head!;
    objects.clear();
    copy.put();
    const two = await open();
    await two.ship();
    // A backup of the last write goes on there.
    const [segment] = [...objects.keys()].flatMap((key) => segmentOf({ key, bytes: 1 }) ?? []);
    expect(segment).toMatchObject({ first: 6, last: 6, precedingEpoch: epoch, lastEpoch: epoch, fromMs: untilMs + 1 });
    expect(two.head).toMatchObject({ sequence: 7 });
  });

  describe('beside segments that somebody else has put into the target', () => {
    const FAR_MS = Date.parse('2200-01-01T00:00:00Z');
    const OF_OTHERS: [string, Partial<LogSegment>][] = [
      ['far behind the log', { first: 2 ** 40, last: 2 ** 40, precedingEpoch: 2 ** 42, lastEpoch: 2 ** 42 }],
      ['behind the log, one after the other', { first: 4, last: 9, precedingEpoch: 1, lastEpoch: 2 ** 42 }],
      ['of what the log has', { first: 1, last: 5 }],
      ['of a later lineage', { first: 2, last: 3, lastEpoch: 2 ** 42 }],
    ];
    const WAYS: [string, BackupSeals | null][] = [
      ['without a seal', null],
      ['with a seal of his own', OTHER_SEALS],
    ];
    const put = (given: Partial<LogSegment>, seals: BackupSeals | null): void => {
      const epoch = own.epochOf(1)!;
      const name = { first: 1, last: 1, precedingEpoch: 0, lastEpoch: epoch, fromMs: FAR_MS, toMs: FAR_MS, ...given };
      const key = segmentKey('c.0', name);
      const entries = Array.from({ length: Math.min(10, name.last - name.first + 1) }, (_, i) => ({
        sequence: name.first + i,
        epoch,
        at: FAR_MS,
        write: null,
      }));
      objects.set(key, segmentToBytes(entries, seals === null ? undefined : { seals, key }));
    };

    test.each(
      OF_OTHERS.flatMap(([what, given]) =>
        WAYS.flatMap(([how, seals]) => [true, false].map((isTold) => [what, how, isTold, given, seals] as const)),
      ),
    )('%s, %s (told before: %s): its numbers and its clock are its own', async (_what, _how, isTold, given, seals) => {
      const one = await open();
      await write(3);
      await one.ship();
      if (isTold) tell(one);
      await write(2);
      put(given, seals);
      const two = await open();
      await two.ship();
      expect(two.head).toMatchObject({ sequence: 5, gaps: 0 });
      expect(gaps).toEqual([]);
      expect(own.latestMs).toBeLessThanOrEqual(clock.wallMs());
      await write(1);
      await two.ship();
      const sealedNumbers = [...objects.keys()]
        .filter((key) => isSealedSegment(key, objects.get(key)!, TEST_SEALS))
        .flatMap((key) =>
          openedSegment(segmentOf({ key, bytes: 1 })!, objects.get(key)!, TEST_SEALS).entries.map(
            ({ sequence }) => sequence,
          ),
        );
      expect(sealedNumbers).toEqual([1, 2, 3, 4, 5, 6]);
      const three = await open();
      expect(own.latestMs).toBeLessThanOrEqual(clock.wallMs());
      await three.ship();
      expect(three.head).toMatchObject({ sequence: 6 });
    });
  });

  test('that is closed while it is looked at in the target gives nothing up', async () => {
    const two = await afterPutBack();
    own.onLeapt = () => {
      throw new Error('it is closed');
    };
    const round = two.ship();
    await own.close();
    await round;
    expect([two.head, gaps]).toEqual([null, []]);
  });

  test('that is put back waits for the batch that is being stored', async () => {
    const two = await afterPutBack();
    const changes = own.changes([Buffer.from('w')], (operation += 1), 0);
    const round = two.ship();
    await new Promise((wake) => setImmediate(wake));
    expect([two.head, gaps]).toEqual([null, []]);
    await store.write(changes);
    own.stored();
    await round;
    await write(1);
    await two.ship();
    expect(sequences()).toEqual([[1, 2, 3, 4, 5], [7]]);
    expect(gaps).toEqual([[1, 6]]);
  });
});

test('stages are told before the entries that have them, and the same one once', async () => {
  const stage = (given: StageOperation['stage'], term: number, timed: boolean): void => {
    log.write();
    const operation: StageOperation = { type: 'stage', term, reshard: 'r', stage: given, forget: 0, versionFloor: 3 };
    log.entriesOfLog.at(-1)!.write!.payload = timed
      ? operationsToBytes([operation])
      : earlierOperations([operation], 3);
  };
  log.write();
  stage('tracking', 1, true);
  stage('tracking', 1, true);
  stage('closed', 1, false);
  stage('closed', 2, true);
  const put = jest.spyOn(target, 'put').mockImplementation(async (key, bytes) => {
    if (key.startsWith(LOG_PREFIX)) throw new Error('the target fails');
    objects.set(key, bytes);
  });
  const one = shipper();
  await expect(one.ship()).rejects.toThrow('the target fails');
  expect([...objects.keys()].map((key) => stageOf(key)?.stage)).toEqual(['tracking']);
  put.mockRestore();
  await one.ship();
  const reported = [...objects.keys()]
    .flatMap((key) => stageOf(key) ?? [])
    .map(({ sequence, epoch, at, term, stage: given }) => [sequence, epoch, at, term, given]);
  expect(reported).toEqual([
    [2, 1, log.entriesOfLog[1].at, 1, 'tracking'],
    [4, 1, log.entriesOfLog[3].at, 1, 'closed'],
    [5, 1, log.entriesOfLog[4].at, 2, 'closed'],
  ]);
  expect([...objects.keys()].filter((key) => key.startsWith(STAGES_PREFIX))).toHaveLength(3);
});

test('up to when nothing came before a gap is told beside it, by who was there and by who comes', async () => {
  const tolds = (): number[][] =>
    [...objects.keys()].flatMap((key) => stageOf(key) ?? []).map(({ sequence, epoch, at }) => [sequence, epoch, at]);
  log.write();
  const one = shipper();
  clock.advance(100);
  await one.ship();
  const untilMs = clock.wallMs() - 1;
  expect(one.head).toMatchObject({ sequence: 1, untilMs });
  for (let i = 0; i < 4; i += 1) log.write();
  log.first = 4;
  reported = [{ member: 'a', at: 0, shards: { 'c.0': one.head! } }];
  await shipper().ship();
  expect(tolds()).toEqual([[1, 1, untilMs]]);
  objects.clear();
  await one.ship();
  expect(tolds()).toEqual([[1, 1, untilMs]]);
  expect(one.head).toMatchObject({ sequence: 5, since: 4, gaps: 1 });
});
