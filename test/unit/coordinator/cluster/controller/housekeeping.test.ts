import type { ClusterMap } from '../../../../../coordinator/cluster/cluster-map';
import { Housekeeping } from '../../../../../coordinator/cluster/controller/housekeeping';
import type { RunningService } from '../../../../../coordinator/service-factory';
import { silentLogger } from '../../../../../shared/base/logs/logger';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** That of a controller whose service tidies up in this way, and has begun to. */
async function tidying(recover: RunningService['recover']): Promise<Housekeeping> {
  let began = 0;
  const service = {
    recover: (others) => {
      began += 1;
      return recover(others);
    },
  } as RunningService;
  const map = { coordinators: { all: () => [] } } as unknown as ClusterMap;
  const housekeeping = new Housekeeping({
    service,
    leadership: { guard: { key: 'controller', revision: 1 } },
    map,
    log: silentLogger,
    requestTimeoutMs: 10_000,
  });
  await jest.advanceTimersByTimeAsync(15_000);
  expect(began).toBe(1);
  return housekeeping;
}

/** Whether it has closed after this many milliseconds. */
async function closesWithin(housekeeping: Housekeeping, milliseconds: number): Promise<boolean> {
  let isClosed = false;
  void housekeeping.close().then(() => (isClosed = true));
  await jest.advanceTimersByTimeAsync(milliseconds);
  return isClosed;
}

test('a stop does not wait for what a node that hangs holds up', async () => {
  const housekeeping = await tidying(() => new Promise(() => undefined));
  expect(await closesWithin(housekeeping, 1_000)).toBe(true);
  expect(jest.getTimerCount()).toBe(0);
});

test.each(['ends', 'fails'])('a stop waits for a moment for what is under way and %s then', async (how) => {
  let isOver = false;
  const housekeeping = await tidying(async ({ stop } = {}) => {
    await new Promise((done) => stop!.addEventListener('abort', done));
    await new Promise((done) => setTimeout(done, 100));
    isOver = true;
    if (how === 'fails') throw new Error('away');
  });
  expect(await closesWithin(housekeeping, 99)).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(isOver).toBe(true);
  expect(jest.getTimerCount()).toBe(0);
});
