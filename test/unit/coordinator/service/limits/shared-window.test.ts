import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Admissions, SharedWindow, WINDOW_MS } from '../../../../../coordinator/service/limits/shared-window';

const THREADS = 3;

/** When an admission was asked for, and when it was there, by the clock of all. */
type Admitted = [fromMs: number, toMs: number];

/** Threads that all ask one window after another, until the clock that they move is at `endMs`. */
async function contend(parts: {
  capacity: number;
  startMs: number;
  endMs: number;
  stepMs: number;
  replacements: number;
  /** Of the ring; less than the capacity: several admissions share one. */
  places?: number;
}): Promise<{ admitted: Admitted[]; replaced: number }> {
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
    const { capacity, places } = parts;
    let window = SharedWindow.create(capacity, [], places);
    const runs = workers.map(async (worker) => {
      for (;;) {
        worker.postMessage(window.memory);
        const [{ admitted }] = (await once(worker, 'message')) as [{ admitted: Admitted[] | null }];
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
      window = SharedWindow.create(capacity, window.retire(parts.startMs), places);
    }
    return { admitted: (await Promise.all(runs)).flat().sort((a, b) => a[0] - b[0]), replaced };
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** The most whose times are in one minute. */
function mostWithinAMinute(admitted: Admitted[]): number {
  const times = admitted.map(([fromMs]) => fromMs);
  let most = 0;
  for (let first = 0, last = 0; last < times.length; last += 1) {
    while (times[first] + WINDOW_MS <= times[last]) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/** The most that were made in one minute, whenever it was that each was made. */
function mostMadeWithinAMinute(admitted: Admitted[]): number {
  let most = 0;
  for (const [first, [startMs]] of admitted.entries()) {
    let made = 0;
    for (let i = first; i < admitted.length && admitted[i][0] < startMs + WINDOW_MS; i += 1)
      if (admitted[i][1] < startMs + WINDOW_MS) made += 1;
    most = Math.max(most, made);
  }
  return most;
}

test.each([
  [1, 1],
  [2, 2],
  [7, 7],
  [100, 100],
  [7, 1],
  [100, 9],
])('threads that ask at once are admitted %i times in %i places, however many ask', async (capacity, places) => {
  const { admitted } = await contend({
    capacity,
    places,
    startMs: 100_000,
    endMs: 100_000 + 50_000,
    stepMs: 1,
    replacements: 0,
  });
  expect(admitted).toHaveLength(capacity);
});

test.each([
  [1, 1],
  [5, 5],
  [64, 64],
  [64, 10],
])(
  'no minute has more than %i admissions, in %i places, of threads that ask at once, and each has that many',
  async (capacity, places) => {
    const minutes = 200;
    const { admitted } = await contend({
      capacity,
      places,
      startMs: 100_000,
      endMs: 100_000 + minutes * WINDOW_MS,
      stepMs: 60,
      replacements: 0,
    });
    // Of those that share a place, one may have read the clock long before the others.
    if (places === capacity) expect(mostWithinAMinute(admitted)).toBe(capacity);
    else expect(mostMadeWithinAMinute(admitted)).toBeLessThanOrEqual(capacity);
    // A place that is free is taken within some steps; a thread may be held up between its clock and its admission.
    expect(admitted.length).toBeGreaterThan(capacity * minutes * 0.9);
    expect(admitted.length).toBeLessThanOrEqual(capacity * minutes);
  },
);

test.each([40, 6])(
  'a window of %i places that is replaced while threads count in it loses no admission and repeats none',
  async (places) => {
    const { admitted, replaced } = await contend({
      capacity: 40,
      places,
      startMs: 100_000,
      endMs: 100_000 + 50 * WINDOW_MS,
      stepMs: 20,
      replacements: 30,
    });
    expect(replaced).toBe(30);
    if (places === 40) expect(mostWithinAMinute(admitted)).toBe(40);
    else expect(mostMadeWithinAMinute(admitted)).toBeLessThanOrEqual(40);
  },
);

/** Of 8 microseconds. */
const TICKS_PER_MS = 125;
const at = (ms: number, count = 1): Admissions => ({ tick: ms * TICKS_PER_MS, count });

test('what was admitted goes over to the next window, the latest of it if that is smaller', () => {
  const window = SharedWindow.create(4);
  for (const nowMs of [1, 2, 3, 4]) window.admit(100_000 + nowMs);
  expect(window.admit(100_005)).toEqual({ type: 'full', firstFreeMs: 160_001 });
  const before = window.retire(100_005);
  expect(before).toEqual([at(100_001), at(100_002), at(100_003), at(100_004)]);
  expect(window.admit(100_006)).toEqual({ type: 'retired' });
  const larger = SharedWindow.create(5, before);
  expect(larger.admit(100_007)).toEqual({ type: 'admitted', size: 5 });
  expect(larger.admit(100_007)).toEqual({ type: 'full', firstFreeMs: 160_001 });
  expect(SharedWindow.create(2, before).admit(100_007)).toEqual({ type: 'full', firstFreeMs: 160_003 });
});

test('what is a minute old does not go over to the next window', () => {
  const admitted = (capacity: number): SharedWindow => {
    const window = SharedWindow.create(capacity);
    for (const nowMs of [100_000, 120_000, 140_000]) window.admit(nowMs);
    return window;
  };
  for (const capacity of [3, 4, 64]) {
    expect(admitted(capacity).retire(159_999)).toEqual([at(100_000), at(120_000), at(140_000)]);
    expect(admitted(capacity).retire(160_000)).toEqual([at(120_000), at(140_000)]);
    expect(admitted(capacity).retire(200_000)).toEqual([]);
  }
});

test('several admissions share a place, which is free with the latest of them', () => {
  // Places of 3, 2 and 2.
  const window = SharedWindow.create(7, [], 3);
  for (let i = 0; i < 7; i += 1) expect(window.admit(100_000 + i)).toEqual({ type: 'admitted', size: i + 1 });
  expect(window.admit(160_001)).toEqual({ type: 'full', firstFreeMs: 160_002 });
  expect(window.isQuiet(160_005)).toBe(false);
  expect([1, 2, 3].map(() => window.admit(160_002))).toEqual([5, 6, 7].map((size) => ({ type: 'admitted', size })));
  expect(window.admit(160_002)).toEqual({ type: 'full', firstFreeMs: 160_004 });
  const before = window.retire(160_003);
  expect(before).toEqual([at(100_004, 2), at(100_006, 2), at(160_002, 3)]);
  const next = SharedWindow.create(9, before, 2);
  expect([1, 2].map(() => next.admit(160_003))).toEqual([8, 9].map((size) => ({ type: 'admitted', size })));
  // The first place has what came at 160,002, too.
  expect(next.admit(160_003)).toEqual({ type: 'full', firstFreeMs: 220_002 });
});

test('a place that is filled slowly is as late as its latest admission', () => {
  const window = SharedWindow.create(4, [], 1);
  for (const nowMs of [100_000, 150_000, 200_000]) window.admit(nowMs);
  expect(window.isQuiet(259_999)).toBe(false);
  expect(window.isQuiet(260_000)).toBe(true);
  expect(window.retire(250_000)).toEqual([at(200_000, 3)]);
});
