import { ShardShipper } from '../../../../node/shipping/shard-shipper';
import type { LoggedEntry, LogView, ShippableLog } from '../../../../node/shipping/shippable-log';
import { chainsOf } from '../../../../shared/backup/log-chain';
import { entriesOfSegment, LOG_PREFIX, type LogHeads, segmentOf, type ShippedEntry } from '../../../../shared/backup/log-format';
import { ManualClock } from '../../../../shared/time/clock';
import { Pace } from '../../../../shared/time/pace';
import { MemoryTarget } from '../../../support/memory-target';

const clock = new ManualClock(1_000);
const target = new MemoryTarget();
const { objects } = target;
const gaps: [number, number][] = [];
/** What members have told. */
let told: LogHeads[] = [];

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
    this.entriesOfLog.push({ sequence: this.entriesOfLog.length + 1, epoch: this.term, at, write: { source: null, payload: Buffer.from('w') } });
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
const shipper = (): ShardShipper =>
  new ShardShipper(log, {
    target,
    pace: new Pace(Infinity),
    clock,
    stop: new AbortController().signal,
    told: async () => told,
    onShipped: () => undefined,
    onGap: (_, from, to) => gaps.push([from, to]),
  });

/** What is there, by its segments. */
function shipped(): ShippedEntry[][] {
  const segments = [...objects].filter(([key]) => key.startsWith(LOG_PREFIX)).flatMap(([key, bytes]) => segmentOf({ key, bytes: bytes.length }) ?? []);
  return chainsOf(segments).map((chain) => chain.segments.flatMap((segment) => entriesOfSegment(segment, objects.get(segment.key)!)));
}

const sequences = (): number[][] => shipped().map((chain) => chain.map(({ sequence }) => sequence));

beforeEach(() => {
  objects.clear();
  gaps.length = 0;
  told = [];
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
  told = [{ member: 'a', at: 0, shards: { 'c.0': one.head! } }];
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
