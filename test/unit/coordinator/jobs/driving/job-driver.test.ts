import { type DrivenWork, JobDriver } from '../../../../../coordinator/jobs/driving/job-driver';
import { Superseded } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { Guard } from '../../../../../shared/cluster-store/cluster-store';
import type { Watched, WatchedEntries } from '../../../../../shared/cluster-store/entries/watched-entries';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { type Logger, silentLogger } from '../../../../../shared/base/logs/logger';

/** When a driver begins, waits, stops and gives way, by a clock that the test moves. */

interface Content {
  state: string;
}
type Run = { key: string; state: string; failures: number; stop: AbortSignal; end: Ended };
type Ended = { done: (restMs: number) => void; fail: (error: unknown) => void };

const AWAY = new QuiverError('unavailable', 'the shard is away');
const LEADER: Guard = { key: 'controller', revision: 1 };

let entries: Map<string, Watched<Content>>;
let changed: () => void;
let runs: Run[];
let leadership: { guard: Guard | null };
let work: DrivenWork<Content>;
let rests: number;
let log: Logger & { warn: jest.Mock; error: jest.Mock };
let driver: JobDriver<Content>;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
  // The longest pause that is drawn.
  jest.spyOn(Math, 'random').mockReturnValue(1);
  entries = new Map();
  runs = [];
  rests = 0;
  leadership = { guard: LEADER };
  log = { ...(silentLogger as Logger), warn: jest.fn(), error: jest.fn() };
  const watched = {
    follow: async () => undefined,
    onChange: (listener: () => void) => (changed = listener),
    get: (key: string) => entries.get(key) ?? null,
    close: () => undefined,
  };
  work = {
    name: 'a thing',
    entries: watched as unknown as WatchedEntries<Content>,
    stepOf: ({ state }) => state,
    due: () => entries.values(),
    isOvertaken: (begun, now) => now?.state !== begun.state,
    run: ({ key, value }, stop, { all }) =>
      new Promise((done, fail) => runs.push({ key, state: value.state, failures: all, stop, end: { done, fail } })),
    rest: () => void (rests += 1),
  };
  const clock = { wallMs: () => Date.now(), monotonicMs: () => Date.now() };
  driver = new JobDriver(work, { leadership, clock, log });
});
afterEach(async () => {
  for (const { end } of runs) end.done(0);
  await driver.close();
  jest.restoreAllMocks();
  jest.useRealTimers();
});

function put(key: string, state: string): void {
  entries.set(key, { key, value: { state }, revision: 1 });
  changed?.();
}
const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
const last = (): Run => runs[runs.length - 1];

test('what is due begins once, and again when its run has ended', async () => {
  put('a', 'running');
  await driver.start();
  await pass(3_000);
  expect(runs).toHaveLength(1);
  last().end.done(0);
  await pass(0);
  expect(runs).toHaveLength(2);
});

test('what comes later begins with the change, and not with the next look', async () => {
  await driver.start();
  put('a', 'running');
  put('b', 'running');
  await pass(0);
  expect(runs.map(({ key }) => key)).toEqual(['a', 'b']);
});

test('what rests begins when its time is over', async () => {
  put('a', 'running');
  await driver.start();
  last().end.done(5_000);
  await pass(4_900);
  expect(runs).toHaveLength(1);
  await pass(1_100);
  expect(runs).toHaveLength(2);
});

test('an error is tried again after pauses that grow up to half a minute, and begins anew with the next step', async () => {
  put('a', 'running');
  await driver.start();
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 12; attempt += 1) {
    const failedMs = Date.now();
    last().end.fail(AWAY);
    while (runs.length === attempt) await pass(100);
    pauses.push(Date.now() - failedMs);
    expect(last().failures).toBe(attempt);
  }
  expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
  expect(pauses[0]).toBeLessThanOrEqual(2_000);
  expect(pauses[11]).toBeGreaterThan(10_000);
  expect(pauses[11]).toBeLessThanOrEqual(31_000);
  // Somebody gives it up while it waits.
  last().end.fail(AWAY);
  await pass(0);
  put('a', 'cancelling');
  await pass(0);
  expect(last()).toMatchObject({ state: 'cancelling', failures: 0 });
});

test('a run that got on takes its failures with it', async () => {
  put('a', 'running');
  await driver.start();
  last().end.fail(AWAY);
  await pass(2_000);
  expect(last().failures).toBe(1);
  last().end.done(0);
  await pass(0);
  expect(last().failures).toBe(0);
});

test('what nobody expects is an error of the log, and what passes is a warning', async () => {
  work.facts = () => ({ collection: 'c' });
  class StoreAway extends Error {}
  work.isExpected = (error) => error instanceof StoreAway;
  put('a', 'running');
  await driver.start();
  for (const error of [AWAY, new Superseded('another one'), new StoreAway('away')]) {
    last().end.fail(error);
    await pass(10_000);
  }
  expect(log.error).not.toHaveBeenCalled();
  expect(log.warn).toHaveBeenCalledTimes(3);
  last().end.fail(new TypeError('x is not a function'));
  await pass(0);
  expect(log.error).toHaveBeenCalledWith(
    { error: expect.any(TypeError), key: 'a', step: 'running', collection: 'c' },
    'a thing: step failed; retrying',
  );
});

test('a run that was overtaken is stopped, and the entry goes on as it is now', async () => {
  put('a', 'running');
  await driver.start();
  const first = last();
  put('a', 'cancelling');
  await pass(0);
  expect(first.stop.aborted).toBe(true);
  // Not beside the first.
  expect(runs).toHaveLength(1);
  first.end.done(0);
  await pass(0);
  expect(last()).toMatchObject({ state: 'cancelling' });
  expect(last().stop.aborted).toBe(false);
});

test('one that is not the controller begins nothing, and stops what it has begun', async () => {
  put('a', 'running');
  await driver.start();
  const first = last();
  leadership.guard = null;
  await pass(1_000);
  expect(first.stop.aborted).toBe(true);
  expect(rests).toBe(1);
  first.end.fail(new Superseded('another one'));
  await pass(60_000);
  expect(runs).toHaveLength(1);
  leadership.guard = { ...LEADER, revision: 2 };
  await pass(1_000);
  expect(runs).toHaveLength(2);
});

test('one that is closed waits for what runs, but not for long, and begins nothing more', async () => {
  put('a', 'running');
  await driver.start();
  let isClosed = false;
  void driver.close().then(() => (isClosed = true));
  expect(last().stop.aborted).toBe(true);
  await pass(4_000);
  expect(isClosed).toBe(false);
  await pass(1_000);
  expect(isClosed).toBe(true);
  last().end.fail(AWAY);
  put('b', 'running');
  await pass(5_000);
  expect(runs).toHaveLength(1);
  expect(log.warn).not.toHaveBeenCalled();
});

test('nothing is looked at while nothing changes but once a second, however many there are', async () => {
  const due = jest.fn(() => entries.values());
  work.due = due;
  for (let i = 0; i < 1_000; i += 1) put(`k${i}`, 'running');
  await driver.start();
  await pass(0);
  due.mockClear();
  await pass(10_000);
  expect(due).toHaveBeenCalledTimes(10);
});
