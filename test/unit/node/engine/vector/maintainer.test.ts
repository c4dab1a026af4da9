import { Maintainer } from '../../../../../node/engine/vector/maintainer';
import type { NativeStatus } from '../../../../../node/engine/vector/native-binding';

const DIM = 128;
const BATCH = 1_000;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** An index whose steps end at once, and what was done to it. */
function openIndex(processors: number) {
  const status: NativeStatus = {
    rows: 0,
    live: 0,
    graphRows: 0,
    graphDead: 0,
    refinedRows: 0,
    deviations: 3,
    cellRows: 0,
    unsketchedRows: 0,
    effortAt10: 64,
    effortAt100: 128,
    effortRows: 0,
    damaged: 0,
    memoryBytes: 0,
    spilledBytes: 0,
    originals: 'originals-1.f32',
  };
  const steps: string[] = [];
  const failures: unknown[] = [];
  let searched = false;
  let fails = false;
  const maintainer = new Maintainer({
    dim: DIM,
    processors,
    status: () => ({ ...status }),
    takeSearched: () => {
      const taken = searched;
      searched = false;
      return taken;
    },
    rest: () => steps.push('rest'),
    run: async (step) => {
      steps.push(step.type);
      if (fails) throw new Error('no space left on device');
      if (step.type === 'extend') status.graphRows += step.rows;
      if (step.type === 'refine') status.refinedRows += step.rows;
      if (step.type === 'calibrate') status.effortRows = status.graphRows;
      if (step.type === 'cells') status.cellRows = status.graphRows;
    },
    onError: (error) => {
      if (!fails) throw error;
      failures.push(error);
    },
  });
  /** Whether steps fail from now on. */
  const fail = (are: boolean): void => {
    fails = are;
  };
  /** Puts batches, one each `everyMs`. */
  const load = async (batches: number, everyMs: number): Promise<void> => {
    for (let i = 0; i < batches; i++) {
      await jest.advanceTimersByTimeAsync(everyMs);
      status.rows += BATCH;
      status.live += BATCH;
      maintainer.put(BATCH);
    }
  };
  const search = (): void => {
    searched = true;
  };
  return { status, steps, failures, maintainer, load, search, fail };
}

test('builders wait while a load goes on, and begin when it pauses', async () => {
  const { status, steps, maintainer, load } = openIndex(2);
  await load(100, 30);
  expect(steps).toEqual([]);
  await jest.advanceTimersByTimeAsync(110);
  expect(steps[0]).toBe('extend');
  expect(status.graphRows).toBe(100_000);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(steps.at(-1)).toBe('rest');
  expect(status).toMatchObject({ refinedRows: 100_000, effortRows: 100_000 });
  await maintainer.close();
});

test('the pauses between the batches of a slow load are no end of it', async () => {
  const { steps, maintainer, load } = openIndex(2);
  await load(40, 90);
  expect(steps).toEqual([]);
  await jest.advanceTimersByTimeAsync(150);
  expect(steps).toEqual([]);
  await jest.advanceTimersByTimeAsync(100);
  expect(steps[0]).toBe('extend');
  await maintainer.close();
});

test('builders begin during a load once a scan of what waits would take long', async () => {
  const { status, steps, maintainer, load } = openIndex(2);
  await load(500, 30);
  expect(steps).toEqual([]);
  await load(20, 30);
  expect(steps).toContain('extend');
  expect(status.rows - status.graphRows).toBeLessThanOrEqual(500_000 + BATCH);
  await maintainer.close();
});

test('while somebody searches, fewer rows wait', async () => {
  const { status, steps, maintainer, load, search } = openIndex(2);
  search();
  await load(125, 30);
  expect(steps).toEqual([]);
  await load(20, 30);
  expect(steps).toContain('extend');
  expect(status.rows - status.graphRows).toBeLessThanOrEqual(125_000 + BATCH);
  await maintainer.close();
});

test('a search during a load has builders begin at once, and they stop when nobody searches any more', async () => {
  const { status, steps, maintainer, load, search } = openIndex(2);
  await load(300, 30);
  expect(steps).toEqual([]);
  search();
  await load(20, 30);
  expect(status.rows - status.graphRows).toBeLessThanOrEqual(125_000 + BATCH);
  await load(340, 30);
  const linked = status.graphRows;
  await load(100, 30);
  expect(status.graphRows).toBe(linked);
  await maintainer.close();
});

test.each([
  ['rows that come slowly', 2, 200],
  ['a machine with processors to spare', 8, 30],
])('builders do not wait for %s', async (_what, processors, everyMs) => {
  const { steps, maintainer, load } = openIndex(processors);
  await load(20, everyMs);
  expect(steps[0]).toBe('extend');
  await maintainer.close();
});

test('builders do not wait when somebody asks for the best index', async () => {
  const { steps, maintainer, load } = openIndex(2);
  await load(20, 30);
  expect(steps).toEqual([]);
  maintainer.optimize();
  await jest.advanceTimersByTimeAsync(0);
  expect(steps[0]).toBe('extend');
  await maintainer.close();
});

test('a step that failed is tried again after a while, also where nobody writes any more', async () => {
  const { status, steps, failures, maintainer, load, fail } = openIndex(2);
  fail(true);
  await load(20, 30);
  await jest.advanceTimersByTimeAsync(5_000);
  expect([steps, failures.length]).toEqual([['extend'], 1]);
  fail(false);
  await jest.advanceTimersByTimeAsync(31_000);
  expect(status).toMatchObject({ graphRows: 20_000, effortRows: 20_000 });
  await maintainer.close();
});

test('a compaction that waits for a step which fails has its turn', async () => {
  const { steps, maintainer, load, fail } = openIndex(2);
  fail(true);
  await load(20, 30);
  maintainer.optimize();
  const compacted = maintainer.compact();
  await jest.advanceTimersByTimeAsync(1_000);
  expect(steps).toEqual(['extend']);
  fail(false);
  await jest.advanceTimersByTimeAsync(31_000);
  await compacted;
  await maintainer.close();
});
