import {
  allEnded,
  lookAt,
  openAt,
  type LifecycleDependencies,
  ShardLifecycle,
} from '../../../../../../node/engine/shard/opening/shard-lifecycle';
import { eventually } from '../../../../../support/eventually';

/** The life of a place, over shards that open and close when the test says so. */

const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'ip' } as const;
/** Short, so that the tests wait for states and not for clocks. */
const PAUSES = { firstMs: 4, longestMs: 16 };
/** A pause that no test sees the end of. */
const NEVER = { firstMs: 3_600_000, longestMs: 3_600_000 };

/** All that follows at once has happened: a pause that was cut short has ended. */
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

class FakeShard {
  constructor(private readonly told: string[]) {}

  async close(reason: string): Promise<void> {
    this.told.push(`closed: ${reason}`);
  }
}

interface Attempt {
  succeed(): FakeShard;
  fail(error: Error): void;
}

/** A place, the attempts to open it that wait for the test to decide them, and what it told. */
function placeOf(more: Partial<LifecycleDependencies<FakeShard>> & { pauses?: typeof PAUSES } = {}) {
  const { pauses = PAUSES, ...dependencies } = more;
  const told: string[] = [];
  const attempts: Attempt[] = [];
  const lifecycle = new ShardLifecycle<FakeShard>(
    SPEC,
    {
      pausesFirst: false,
      open: () =>
        new Promise((done, fail) => {
          const succeed = (): FakeShard => {
            const shard = new FakeShard(told);
            done(shard);
            return shard;
          };
          attempts.push({ succeed, fail });
        }),
      onOpened: () => told.push('open'),
      onFailed: (error) => told.push(`not open: ${(error as Error).message}`),
      closeFailed: (shard) => shard.close('failed'),
      ...dependencies,
    },
    pauses,
  );
  const attempt = async (number: number): Promise<Attempt> => {
    await eventually(`attempt ${number}`, () => attempts.length >= number);
    expect(attempts).toHaveLength(number);
    return attempts[number - 1];
  };
  return { lifecycle, told, attempts, attempt };
}

test('a shard is opened at once, and whoever asks meanwhile gets it', async () => {
  const { lifecycle, told, attempt } = placeOf();
  expect(lifecycle).toMatchObject({ state: 'opening', open: null, isFailing: false, wasOpen: false });
  const asked = lifecycle.ready;
  const shard = (await attempt(1)).succeed();
  expect(await asked).toBe(shard);
  expect(lifecycle).toMatchObject({ state: 'open', open: shard, isFailing: false, wasOpen: true });
  await lifecycle.end('closed');
  expect(told).toEqual(['open', 'closed: closed']);
});

test('one that cannot be opened says why, is told of with its pause, and is tried again until it can', async () => {
  const pausesMs: number[] = [];
  const { lifecycle, attempt } = placeOf({ onFailed: (_error, retryMs) => pausesMs.push(retryMs) });
  const asked = lifecycle.ready;
  (await attempt(1)).fail(new Error('no space left'));
  await expect(asked).rejects.toThrow('no space left');
  expect(lifecycle).toMatchObject({ open: null, isFailing: true, wasOpen: false });
  for (const number of [2, 3, 4]) {
    const next = await attempt(number);
    expect(lifecycle).toMatchObject({ state: 'opening', isFailing: true });
    next.fail(new Error('no space left'));
    await eventually('it has failed', () => pausesMs.length === number);
  }
  const shard = (await attempt(5)).succeed();
  await eventually('it is open', () => lifecycle.open === shard);
  expect(lifecycle.isFailing).toBe(false);
  // Each between half and all of 4, 8, 16, 16.
  [4, 8, 16, 16].forEach((limitMs, i) => {
    expect(pausesMs[i]).toBeGreaterThanOrEqual(limitMs / 2);
    expect(pausesMs[i]).toBeLessThanOrEqual(limitMs);
  });
  await lifecycle.end('closed');
});

test('its owner may end it when it could not be opened: nothing is tried again', async () => {
  const { lifecycle, attempt, attempts } = placeOf({ onFailed: () => void lifecycle.end('closed') });
  (await attempt(1)).fail(new Error('no'));
  await expect(lifecycle.ready).rejects.toThrow('no');
  await lifecycle.end('closed');
  expect(lifecycle.state).toBe('ended');
  await turn();
  expect(attempts).toHaveLength(1);
});

test('what failed is closed before it is opened anew, and calls wait for that', async () => {
  let closed = (): void => undefined;
  const closing = new Promise<void>((done) => (closed = done));
  const { lifecycle, told, attempt, attempts } = placeOf({ closeFailed: () => closing });
  (await attempt(1)).succeed();
  await lifecycle.ready;
  lifecycle.reopen();
  expect(lifecycle).toMatchObject({ state: 'closing', open: null, isFailing: true });
  // What failed fails in more than one way: it is one failure.
  lifecycle.reopen();
  const asked = lifecycle.ready;
  expect(attempts).toHaveLength(1);
  closed();
  const shard = (await attempt(2)).succeed();
  expect(await asked).toBe(shard);
  expect(lifecycle).toMatchObject({ state: 'open', open: shard, isFailing: false });
  await lifecycle.end('closed');
  expect(told).toEqual(['open', 'open', 'closed: closed']);
});

test('when it cannot be opened anew calls fail unavailable at once, and wait again while the next attempt runs', async () => {
  const { lifecycle, attempt, told } = placeOf();
  (await attempt(1)).succeed();
  await lifecycle.ready;
  lifecycle.reopen();
  (await attempt(2)).fail(new Error('damaged'));
  await expect(lifecycle.ready).rejects.toMatchObject({ kind: 'unavailable', cause: new Error('damaged') });
  const third = await attempt(3);
  const asked = lifecycle.ready;
  const shard = third.succeed();
  expect(await asked).toBe(shard);
  expect(told).toEqual(['open', 'closed: failed', 'not open: damaged', 'open']);
  await lifecycle.end('closed');
});

test('a failure while it is being opened counts once it is open', async () => {
  const { lifecycle, told, attempt } = placeOf();
  lifecycle.reopen();
  expect(lifecycle.state).toBe('opening');
  (await attempt(1)).succeed();
  (await attempt(2)).succeed();
  await eventually('it is open', () => lifecycle.state === 'open');
  expect(told).toEqual(['open', 'closed: failed', 'open']);
  await lifecycle.end('closed');
});

test('a failure while it is being opened counts for nothing when it could not be opened', async () => {
  const { lifecycle, told, attempt } = placeOf();
  lifecycle.reopen();
  (await attempt(1)).fail(new Error('no'));
  (await attempt(2)).succeed();
  await eventually('it is open', () => lifecycle.state === 'open');
  expect(told).toEqual(['not open: no', 'open']);
  await lifecycle.end('closed');
});

test.each(['closed', 'dropped'] as const)(
  'what is %s while it is being opened is closed as soon as it is open, and never told to be',
  async (reason) => {
    const { lifecycle, told, attempt } = placeOf();
    const first = await attempt(1);
    const ending = lifecycle.end(reason);
    expect(lifecycle.state).toBe('ended');
    first.succeed();
    await ending;
    expect(told).toEqual([`closed: ${reason}`]);
    expect(lifecycle.open).toBeNull();
  },
);

test('what can not be opened any more when it ends is not told of', async () => {
  const { lifecycle, told, attempt } = placeOf();
  const first = await attempt(1);
  const ending = lifecycle.end('dropped');
  first.fail(new Error('its folder is gone'));
  await ending;
  expect(told).toEqual([]);
});

test.each([
  ['is closed because it failed', NEVER, true],
  ['waits to be opened anew', NEVER, false],
])('one that ends while it %s is not opened again, and calls hear of it', async (_name, pauses, isClosing) => {
  let closed = (): void => undefined;
  const { lifecycle, attempt, attempts } = placeOf({
    pauses,
    pausesFirst: true,
    closeFailed: () => new Promise((done) => (closed = done)),
  });
  (await attempt(1)).succeed();
  await lifecycle.ready;
  lifecycle.reopen();
  const asked = lifecycle.ready;
  if (!isClosing) {
    closed();
    await eventually('it waits', () => lifecycle.state === 'failed');
  }
  const ending = lifecycle.end('dropped');
  closed();
  await expect(asked).rejects.toMatchObject({ kind: 'unavailable', message: 'the node is shutting down' });
  await ending;
  expect(attempts).toHaveLength(1);
});

test('one that ends between two attempts is not tried again', async () => {
  const { lifecycle, attempt, attempts, told } = placeOf({ pauses: NEVER });
  (await attempt(1)).fail(new Error('no'));
  await eventually('it waits', () => lifecycle.state === 'failed');
  await lifecycle.end('closed');
  expect(lifecycle.ended.aborted).toBe(true);
  lifecycle.reopen();
  await turn();
  expect(attempts).toHaveLength(1);
  expect(told).toEqual(['not open: no']);
});

test('it ends once, with the first reason, and tells when closing fails', async () => {
  const { lifecycle, told, attempt } = placeOf();
  const shard = (await attempt(1)).succeed();
  await lifecycle.ready;
  shard.close = async (reason) => {
    told.push(reason);
    throw new Error('the disk is gone');
  };
  await expect(Promise.all([lifecycle.end('dropped'), lifecycle.end('closed')])).rejects.toThrow('the disk is gone');
  expect(told).toEqual(['open', 'dropped']);
});

test('without a pause first it is opened anew at once, though not twice within the first pause', async () => {
  const firstMs = 200;
  const { lifecycle, attempt, attempts } = placeOf({ pauses: { firstMs, longestMs: firstMs } });
  const first = await attempt(1);
  const openedMs = performance.now();
  first.succeed();
  await lifecycle.ready;
  lifecycle.reopen();
  await eventually('it is opened anew', () => attempts.length === 2);
  // Timers fire up to a millisecond early.
  expect(performance.now() - openedMs).toBeGreaterThanOrEqual(firstMs - 1);
  attempts[1].succeed();
  await lifecycle.ready;
  const reopenedMs = performance.now();
  await eventually('it was open for as long', () => performance.now() - reopenedMs > firstMs);
  lifecycle.reopen();
  await turn();
  expect(attempts).toHaveLength(3);
  attempts[2].succeed();
  await lifecycle.end('closed');
});

test('of many places what is open is looked at, and what closes meanwhile is left out', async () => {
  const some = Array.from({ length: 3 }, () => placeOf());
  const shards = await Promise.all([some[0], some[2]].map(async ({ attempt }) => (await attempt(1)).succeed()));
  await Promise.all([some[0].lifecycle.ready, some[2].lifecycle.ready]);
  const lifecycles = some.map(({ lifecycle }) => lifecycle);
  expect(openAt(lifecycles)).toEqual(shards);
  const look = async (shard: FakeShard): Promise<number> => {
    if (shard === shards[0]) throw new Error('closed');
    return shards.indexOf(shard);
  };
  expect(await lookAt(lifecycles, look)).toEqual([1]);
  some[1].attempts[0].succeed();
  await Promise.all(lifecycles.map((lifecycle) => lifecycle.end('closed')));
});

test('all have ended when the first of those that fail is told', async () => {
  await allEnded([Promise.resolve()]);
  let end = (): void => undefined;
  const slow = new Promise<void>((resolve) => (end = resolve));
  let isOver = false;
  const all = allEnded([slow, Promise.reject(new Error('first')), Promise.reject(new Error('second'))]).finally(
    () => (isOver = true),
  );
  const failed = expect(all).rejects.toThrow('first');
  await new Promise((wake) => setImmediate(wake));
  expect(isOver).toBe(false);
  end();
  await failed;
});
