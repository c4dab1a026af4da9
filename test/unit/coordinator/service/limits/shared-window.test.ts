import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { RateDecision } from '../../../../../coordinator/service/limits/rate-limiter';
import { SharedWindow, WINDOW_MS } from '../../../../../coordinator/service/limits/shared-window';
import { WindowLimiter } from '../../../../../coordinator/service/limits/window-limiter';
import { WindowTable } from '../../../../../coordinator/service/limits/window-table';
import { ManualClock } from '../../../../support/manual-clock';

const THREADS = 3;

/** Threads that all ask one window after another, until the clock that they move is at `endMs`. */
async function contend(parts: {
  capacity: number;
  startMs: number;
  endMs: number;
  stepMs: number;
  replacements: number;
}): Promise<{ admitted: number[]; replaced: number }> {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  clock[0] = parts.startMs;
  const workers = Array.from(
    { length: THREADS },
    () =>
      new Worker(join(__dirname, '../../../../support/threads/window-worker.js'), {
        workerData: { clock, endMs: parts.endMs, stepMs: parts.stepMs },
      }),
  );
  try {
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    let window = SharedWindow.create(parts.capacity);
    const runs = workers.map(async (worker) => {
      for (;;) {
        worker.postMessage(window.memory);
        const [{ admitted }] = (await once(worker, 'message')) as [{ admitted: number[] | null }];
        if (admitted !== null) return admitted;
      }
    });
    let replaced = 0;
    for (
      const stepMs = (parts.endMs - parts.startMs) / (parts.replacements + 1);
      replaced < parts.replacements;
      replaced += 1
    ) {
      while (Atomics.load(clock, 0) < parts.startMs + stepMs * (replaced + 1))
        await new Promise((turn) => setImmediate(turn));
      window = SharedWindow.create(parts.capacity, window.retire(parts.startMs));
    }
    return { admitted: (await Promise.all(runs)).flat().sort((a, b) => a - b), replaced };
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function mostWithinAMinute(times: number[]): number {
  let most = 0;
  for (let first = 0, last = 0; last < times.length; last += 1) {
    while (times[first] + WINDOW_MS <= times[last]) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

test.each([1, 2, 7, 100])('threads that ask at once are admitted %i times, however many ask', async (capacity) => {
  const { admitted } = await contend({
    capacity,
    startMs: 100_000,
    endMs: 100_000 + 50_000,
    stepMs: 1,
    replacements: 0,
  });
  expect(admitted).toHaveLength(capacity);
});

test.each([1, 5, 64])(
  'no minute has more than %i admissions of threads that ask at once, and each has that many',
  async (capacity) => {
    const minutes = 200;
    const { admitted } = await contend({
      capacity,
      startMs: 100_000,
      endMs: 100_000 + minutes * WINDOW_MS,
      stepMs: 60,
      replacements: 0,
    });
    expect(mostWithinAMinute(admitted)).toBe(capacity);
    // A place that is free is taken within some steps; a thread may be held up between its clock and its admission.
    expect(admitted.length).toBeGreaterThan(capacity * minutes * 0.9);
    expect(admitted.length).toBeLessThanOrEqual(capacity * minutes);
  },
);

test('a window that is replaced while threads count in it loses no admission and repeats none', async () => {
  const { admitted, replaced } = await contend({
    capacity: 40,
    startMs: 100_000,
    endMs: 100_000 + 50 * WINDOW_MS,
    stepMs: 20,
    replacements: 30,
  });
  expect(replaced).toBe(30);
  expect(mostWithinAMinute(admitted)).toBe(40);
});

test('what was admitted goes over to the next window, the latest of it if that is smaller', () => {
  const window = SharedWindow.create(4);
  for (const nowMs of [1, 2, 3, 4]) window.admit(100_000 + nowMs);
  expect(window.admit(100_005)).toEqual({ type: 'full', firstFreeMs: 160_001 });
  const times = window.retire(100_005);
  expect(times).toEqual([100_001_000, 100_002_000, 100_003_000, 100_004_000]);
  expect(window.admit(100_006)).toEqual({ type: 'retired' });
  const larger = SharedWindow.create(5, times);
  expect(larger.admit(100_007)).toEqual({ type: 'admitted', size: 5 });
  expect(larger.admit(100_007)).toEqual({ type: 'full', firstFreeMs: 160_001 });
  expect(SharedWindow.create(2, times).admit(100_007)).toEqual({ type: 'full', firstFreeMs: 160_003 });
});

test('what is a minute old does not go over to the next window', () => {
  const admitted = (capacity: number): SharedWindow => {
    const window = SharedWindow.create(capacity);
    for (const nowMs of [100_000, 120_000, 140_000]) window.admit(nowMs);
    return window;
  };
  for (const capacity of [3, 4, 64]) {
    expect(admitted(capacity).retire(159_999)).toEqual([100_000_000, 120_000_000, 140_000_000]);
    expect(admitted(capacity).retire(160_000)).toEqual([120_000_000, 140_000_000]);
    expect(admitted(capacity).retire(200_000)).toEqual([]);
  }
});

/** The limiters of some threads over one table, as if each message were answered at once. */
function threadsOf(limit: number, subjectsMax?: number) {
  const clock = new ManualClock(1_000_000);
  const table = new WindowTable({ limit, clock, subjectsMax });
  let asked = 0;
  const limiters = Array.from({ length: THREADS }, () => {
    return new WindowLimiter({
      limit,
      clock,
      source: async (subject, full) => {
        asked += 1;
        return new SharedWindow(table.of(subject, full).memory);
      },
    });
  });
  const admit = async (thread: number, subject: string): Promise<RateDecision> =>
    limiters[thread % THREADS].admit(subject);
  return { clock, table, admit, asked: () => asked };
}

test('threads together admit exactly the limit, and ask for a window only when it grows', async () => {
  const { clock, admit, asked } = threadsOf(1_000);
  for (let minute = 0; minute < 3; minute += 1) {
    let admitted = 0;
    for (let call = 0; call < 2_000; call += 1) {
      const decision = await admit(call, 'a');
      if (decision.allowed) admitted += 1;
      expect(decision).toMatchObject({ limit: 1_000, remaining: 1_000 - admitted, resetSeconds: 60 });
    }
    expect(admitted).toBe(1_000);
    clock.advance(WINDOW_MS);
  }
  // 8, 64, 512 and 1,000 places, for each thread; a thread that comes late skips some.
  expect(asked()).toBeLessThanOrEqual(7 * THREADS);
});

test('subjects that are quiet for a minute are dropped, and counted from nothing when they come again', async () => {
  const { clock, table, admit } = threadsOf(2);
  for (let subject = 0; subject < 1_000; subject += 1) await admit(subject, `subject ${subject}`);
  expect(table.subjectCount).toBe(1_000);
  clock.advance(WINDOW_MS);
  for (let subject = 0; subject < 600; subject += 1) await admit(subject, `later ${subject}`);
  expect(table.subjectCount).toBe(600);
  for (let i = 0; i < 2; i += 1) expect((await admit(i, 'subject 0')).allowed).toBe(true);
  expect((await admit(0, 'subject 0')).allowed).toBe(false);
});

test('a subject that is used stays, however old its window is', async () => {
  const { clock, admit } = threadsOf(3);
  for (let i = 0; i < 3; i += 1) {
    expect((await admit(i, 'used')).allowed).toBe(true);
    clock.advance(WINDOW_MS / 4);
  }
  for (let i = 0; i < 50; i += 1) await admit(i, `other ${i}`);
  expect((await admit(0, 'used')).allowed).toBe(false);
});

test('a flood of subjects stays within the bound', async () => {
  const { table, admit } = threadsOf(1, 100);
  for (let subject = 0; subject < 5_000; subject += 1) {
    expect((await admit(subject, `subject ${subject}`)).allowed).toBe(true);
    expect(table.subjectCount).toBeLessThanOrEqual(100);
  }
  expect((await admit(0, 'subject 4999')).allowed).toBe(false);
});
