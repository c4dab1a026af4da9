import { LaterFormatError } from '../../../../node/engine/files/later-format';
import type { AppendMessage } from '../../../../node/replication/core/messages';
import type { LogEntry } from '../../../../node/replication/core/replica-state';
import { type LogLimits, Replica } from '../../../../node/replication/replica';
import { silentLogger } from '../../../../shared/base/logs/logger';
import { momentOf, operationsToBytes, stampMoment } from '../../../../shared/contract/writes/operation-codec';
import { ManualClock } from '../../../support/manual-clock';
import { assignmentOf, replicaOn } from '../../../support/cluster/assignment';
import { eventually } from '../../../support/eventually';
import { MemoryReplicaStorage } from '../../../support/shards/memory-replica-storage';

/** The log of a primary: how much it keeps of it for a replica that is not in sync, and what if it can't read it. */

const SELF = replicaOn('a');
const ASSIGNMENT = assignmentOf({
  inSync: [SELF],
  replicas: ['a', 'b'],
  spec: { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' },
});
/** Trims are worth their write from this many entries on. */
const WRITES = 1500;

let clock: ManualClock;
let storage: MemoryReplicaStorage;
let replica: Replica;
let failed: (error: Error) => void;
/** Appends that the replica sent. */
let sent: AppendMessage[] = [];

beforeEach(() => {
  sent = [];
  failed = (error) => {
    throw error;
  };
});

function lead(
  catchUpEntries: number,
  { written = new MemoryReplicaStorage(), epoch = 1, isShipped = false } = {},
): void {
  clock = new ManualClock();
  storage = written;
  const limits = (entries: number): LogLimits['kept'] => ({ entries, bytes: Infinity });
  replica = new Replica({
    id: { collectionUid: 'c', shard: 0 },
    self: SELF,
    storage,
    unapplied: [],
    isNew: epoch === 1,
    changeIdPrefix: 'a',
    clock,
    log: silentLogger,
    isShipped,
    logLimits: { kept: limits(10), away: limits(100), catchUp: limits(catchUpEntries) },
    dependencies: {
      links: { sendAppend: (_to, _id, message) => void sent.push(message), sendAck: () => undefined },
      changeAssignment: () => new Promise(() => undefined),
      sendSnapshot: () => new Promise(() => undefined),
      onFailed: (error) => failed(error),
    },
  });
  replica.assigned({ ...ASSIGNMENT, epoch }, 1);
  // Its own read grant, of no length, is over.
  clock.advance(10);
}

afterEach(() => replica.close());

let requests = 0;

async function write(count: number): Promise<void> {
  const one = (): Promise<unknown> =>
    replica.write(
      { source: { session: 's', requestNumber: ++requests, settledBelow: 0 }, payload: Buffer.of(1) },
      { epoch: 1, deadlineMs: clock.monotonicMs() + 60_000 },
    );
  await Promise.all(Array.from({ length: count }, one));
  // The log is looked at now and then.
  clock.advance(1000);
  await one();
}

/** b says that it holds the log up to here. */
function bHas(match: number, epoch = 1): void {
  replica.acknowledged({
    epoch,
    replica: { node: 'b', store: 'b.0' },
    sentAt: clock.monotonicMs(),
    awaited: 0,
    result: { type: 'match', match, agreed: match },
  });
}

test('the log is not trimmed past a replica that catches up, however much is written meanwhile', async () => {
  lead(1_000_000);
  await write(5);
  bHas(2);
  await write(WRITES);
  expect(storage.state.firstSequence).toBeLessThanOrEqual(3);
});

test('what is kept for it is limited', async () => {
  lead(1200);
  await write(5);
  bHas(2);
  await write(WRITES);
  await write(WRITES);
  expect(storage.state.lastSequence - storage.state.firstSequence).toBeLessThan(1200 + WRITES);
});

test('a replica that stores nothing any more does not keep the log', async () => {
  lead(1_000_000);
  await write(5);
  bHas(2);
  clock.advance(31_000);
  await write(WRITES);
  expect(storage.state.firstSequence).toBeGreaterThan(1000);
});

test('a purge leaves in the log what is not in the backup target yet, and ends once it is', async () => {
  lead(1_000_000, { isShipped: true });
  await write(5);
  bHas(7);
  replica.shipped({ sequence: 3, epoch: 1, at: 0 });
  let isOver = false;
  let unshipped = -1;
  const trimmed = replica.trimNow((count) => (unshipped = count)).then(() => (isOver = true));
  await eventually('what is shipped goes', () => storage.state.firstSequence === 4);
  expect([isOver, storage.state.firstSequence, unshipped]).toEqual([false, 4, storage.state.lastSequence - 3]);
  replica.shipped({ sequence: 7, epoch: 1, at: 0 });
  await trimmed;
  expect(storage.state.firstSequence).toBe(8);
});

test('what waits for a target that is away is given up from its oldest on, and nothing that a replica needs', async () => {
  lead(1_000_000, { isShipped: true });
  await write(60);
  bHas(40);
  replica.shipped({ sequence: 3, epoch: 1, at: 0 });
  // Each write is a byte, and 4 to 40 are kept for the target alone.
  expect(replica.keptBytes).toBe(37);
  expect([replica.giveUp(7), replica.keptBytes]).toEqual([7, 30]);
  await eventually('they are gone', () => storage.state.firstSequence === 11);
  expect(replica.view()).toMatchObject({ first: 11 });
  expect([replica.giveUp(1000), replica.keptBytes]).toEqual([30, 0]);
  await eventually('they are gone', () => storage.state.firstSequence === 41);
  expect(replica.giveUp(1)).toBe(0);
});

test('a log that is not shipped keeps nothing for a target', async () => {
  lead(1_000_000);
  await write(20);
  expect([replica.keptBytes, replica.giveUp(1)]).toEqual([0, 0]);
});

test('an entry has no earlier time than those before it, though the clock is behind, and a write no earlier moment', async () => {
  const aheadMs = 1_700_000_100_000;
  lead(1_000_000, {
    isShipped: true,
    written: new MemoryReplicaStorage({ latestTimeMs: aheadMs, latestMoment: aheadMs + 5 }),
  });
  const source = (): { session: string; requestNumber: number; settledBelow: number } => ({
    session: 's',
    requestNumber: ++requests,
    settledBelow: 0,
  });
  const payload = operationsToBytes([{ type: 'delete', externalId: 'a' }]);
  stampMoment(payload, clock.wallMs());
  const call = { epoch: 1, deadlineMs: clock.monotonicMs() + 60_000 };
  const written = replica.write({ source: source(), payload }, call);
  await eventually('it is in the log', () => storage.state.lastSequence === 2);
  expect(momentOf(payload)).toBe(aheadMs + 5);
  expect((await replica.entries(1, 1 << 20)).map(({ at }) => at)).toEqual([null, aheadMs]);
  expect(replica.logTimeMs()).toBe(aheadMs);
  // What the backup target was told holds for what comes.
  replica.shipped({ sequence: 2, epoch: 1, at: aheadMs + 20 });
  const next = replica.write({ source: source(), payload: Buffer.of(1) }, call);
  await eventually('it is there, too', () => storage.state.lastSequence === 3);
  expect((await replica.entries(3, 1 << 20)).map(({ at }) => at)).toEqual([aheadMs + 20]);
  clock.advance(200_000);
  expect(replica.logTimeMs()).toBe(clock.wallMs());
  void Promise.allSettled([written, next]);
});

test('a purge fails clearly where the backup target takes nothing', async () => {
  lead(1_000_000, { isShipped: true });
  await write(5);
  bHas(7);
  const trimmed = replica.trimNow();
  clock.advance(361_000);
  await expect(trimmed).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('backup target') as string,
  });
  expect(storage.state.firstSequence).toBe(1);
});

test('a primary that can not read its log because a later version wrote it stops, so that another one leads', async () => {
  const written = new MemoryReplicaStorage({
    lastSequence: 5,
    appliedSequence: 5,
    promisedEpoch: 1,
    lastLedEpoch: 1,
    epochStarts: [{ epoch: 1, sequence: 1 }],
  });
  const later = new LaterFormatError('entry 1 of the log', 'it has format 2');
  written.read = () => Promise.reject(later);
  const told = new Promise<Error>((tell) => (failed = tell));
  lead(1_000_000, { written, epoch: 2 });
  await eventually('it has promised its epoch', () => replica.status().phase !== 'promising');
  replica.streamStarted('b');
  bHas(0, 2);
  await expect(told).resolves.toBe(later);
});

test('a primary that is deposed while it reads its log for a follower sends no entry of its successor as its own', async () => {
  const entryOf = (sequence: number, epoch: number): LogEntry => ({ sequence, epoch, write: null });
  const written = new MemoryReplicaStorage();
  await written.append({
    promisedEpoch: 1,
    lastLedEpoch: 1,
    entries: [1, 2, 3, 4, 5].map((sequence) => entryOf(sequence, 1)),
  });
  const first = await written.read(1, 1);
  // The disk is slow: what was asked for first comes last.
  let answer: () => void = () => undefined;
  let reads = 0;
  written.read = () => {
    reads += 1;
    return new Promise((done) => (answer = () => done(first.slice(0, 3))));
  };
  lead(1_000_000, { written, epoch: 2 });
  await eventually('it has promised its epoch', () => replica.status().phase !== 'promising');
  replica.streamStarted('b');
  bHas(0, 2);
  await eventually('it reads its log', () => reads === 1);
  const quiet = { commit: 0, releasesLease: false, sharesSince: 0, withdrawsShare: false, recorded: [] };
  replica.received({
    ...quiet,
    epoch: 3,
    from: 'q',
    sentAt: 1,
    prev: { epoch: 1, sequence: 3 },
    entries: [entryOf(4, 3), entryOf(5, 3)],
  });
  await eventually('it follows', () => replica.status().role === 'follower' && written.state.lastSequence === 5);
  const before = sent.length;
  answer();
  for (let turn = 0; turn < 10; turn += 1) await new Promise((done) => setImmediate(done));
  expect(sent.slice(before)).toEqual([]);
});
