import {
  allEnded,
  lookAt,
  openAt,
  type LifecycleDependencies,
  ShardPlace,
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
  const place = new ShardPlace<FakeShard>(
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
  return { place, told, attempts, attempt };
}

test('a shard is opened at once, and whoever asks meanwhile gets it', async () => {
  const { place, told, attempt } = placeOf();
  expect(place).toMatchObject({ state: 'opening', open: null, isFailing: false, wasOpen: false });
  const asked = place.ready;
  const shard = (await attempt(1)).succeed();
  expect(await asked).toBe(shard);
  expect(place).toMatchObject({ state: 'open', open: shard, isFailing: false, wasOpen: true });
  await place.end('closed');
  expect(told).toEqual(['open', 'closed: closed']);
});

test('one that cannot be opened says why, is told of with its pause, and is tried again until it can', async () => {
  const pausesMs: number[] = [];
  const { place, attempt } = placeOf({ onFailed: (_error, retryMs) => pausesMs.push(retryMs) });
  const asked = place.ready;
  (await attempt(1)).fail(new Error('no space left'));
  await expect(asked).rejects.toThrow('no space left');
  expect(place).toMatchObject({ open: null, isFailing: true, wasOpen: false });
  for (const number of [2, 3, 4]) {
    const next = await attempt(number);
    expect(place).toMatchObject({ state: 'opening', isFailing: true });
    next.fail(new Error('no space left'));
    await eventually('it has failed', () => pausesMs.length === number);
  }
  const shard = (await attempt(5)).succeed();
  await eventually('it is open', () => place.open === shard);
  expect(place.isFailing).toBe(false);
  // Each between half and all of 4, 8, 16, 16.
  [4, 8, 16, 16].forEach((limitMs, i) => {
    expect(pausesMs[i]).toBeGreaterThanOrEqual(limitMs / 2);
    expect(pausesMs[i]).toBeLessThanOrEqual(limitMs);
  });
  await place.end('closed');
});

test('its owner may end it when it could not be opened: nothing is tried again', async () => {
  const { place, attempt, attempts } = placeOf({ onFailed: () => void place.end('closed') });
  (await attempt(1)).fail(new Error('no'));
  await expect(place.ready).rejects.toThrow('no');
  await place.end('closed');
  expect(place.state).toBe('ended');
  await turn();
  expect(attempts).toHaveLength(1);
});

test('what failed is closed before it is opened anew, and calls wait for that', async () => {
  let closed = (): void => undefined;
  const closing = new Promise<void>((done) => (closed = done));
  const { place, told, attempt, attempts } = placeOf({ closeFailed: () => closing });
  (await attempt(1)).succeed();
  await place.ready;
  place.reopen();
  expect(place).toMatchObject({ state: 'closing', open: null, isFailing: true });
  // What failed fails in more than one way: it is one failure.
  place.reopen();
  const asked = place.ready;
  expect(attempts).toHaveLength(1);
  closed();
  const shard = (await attempt(2)).succeed();
  expect(await asked).toBe(shard);
  expect(place).toMatchObject({ state: 'open', open: shard, isFailing: false });
  await place.end('closed');
  expect(told).toEqual(['open', 'open', 'closed: closed']);
});

test('when it cannot be opened anew calls fail unavailable at once, and wait again while the next attempt runs', async () => {
  const { place, attempt, told } = placeOf();
  (await attempt(1)).succeed();
  await place.ready;
  place.reopen();
  (await attempt(2)).fail(new Error('damaged'));
  await expect(place.ready).rejects.toMatchObject({ kind: 'unavailable', cause: new Error('damaged') });
  const third = await attempt(3);
  const asked = place.ready;
  const shard = third.succeed();
  expect(await asked).toBe(shard);
  expect(told).toEqual(['open', 'closed: failed', 'not open: damaged', 'open']);
  await place.end('closed');
});

test('a failure while it is being opened counts once it is open', async () => {
  const { place, told, attempt } = placeOf();
  place.reopen();
  expect(place.state).toBe('opening');
  (await attempt(1)).succeed();
  (await attempt(2)).succeed();
  await eventually('it is open', () => place.state === 'open');
  expect(told).toEqual(['open', 'closed: failed', 'open']);
  await place.end('closed');
});

test('a failure while it is being opened counts for nothing when it could not be opened', async () => {
  const { place, told, attempt } = placeOf();
  place.reopen();
  (await attempt(1)).fail(new Error('no'));
  (await attempt(2)).succeed();
  await eventually('it is open', () => place.state === 'open');
  expect(told).toEqual(['not open: no', 'open']);
  await place.end('closed');
});

test.each(['closed', 'dropped'] as const)(
  'what is %s while it is being opened is closed as soon as it is open, and never told to be',
  async (reason) => {
    const { place, told, attempt } = placeOf();
    const first = await attempt(1);
    const ending = place.end(reason);
    expect(place.state).toBe('ended');
    first.succeed();
    await ending;
    expect(told).toEqual([`closed: ${reason}`]);
    expect(place.open).toBeNull();
  },
);

test('what can not be opened any more when it ends is not told of', async () => {
  const { place, told, attempt } = placeOf();
  const first = await attempt(1);
  const ending = place.end('dropped');
  first.fail(new Error('its folder is gone'));
  await ending;
  expect(told).toEqual([]);
});

test.each([
  ['is closed because it failed', NEVER, true],
  ['waits to be opened anew', NEVER, false],
])('one that ends while it %s is not opened again, and calls hear of it', async (_name, pauses, isClosing) => {
  let closed = (): void => undefined;
  const { place, attempt, attempts } = placeOf({
    pauses,
    pausesFirst: true,
    closeFailed: () => new Promise((done) => (closed = done)),
  });
  (await attempt(1)).succeed();
  await place.ready;
  place.reopen();
  const asked = place.ready;
  if (!isClosing) {
    closed();
    await eventually('it waits', () => place.state === 'failed');
  }
  const ending = place.end('dropped');
  closed();
  await expect(asked).rejects.toMatchObject({ kind: 'unavailable', message: 'the node is shutting down' });
  await ending;
  expect(attempts).toHaveLength(1);
});

test('one that ends between two attempts is not tried again', async () => {
  const { place, attempt, attempts, told } = placeOf({ pauses: NEVER });
  (await attempt(1)).fail(new Error('no'));
  await eventually('it waits', () => place.state === 'failed');
  await place.end('closed');
  expect(place.ended.aborted).toBe(true);
  place.reopen();
  await turn();
  expect(attempts).toHaveLength(1);
  expect(told).toEqual(['not open: no']);
});

test('it ends once, with the first reason, and tells when closing fails', async () => {
  const { place, told, attempt } = placeOf();
  const shard = (await attempt(1)).succeed();
  await place.ready;
  shard.close = async (reason) => {
    told.push(reason);
    throw new Error('the disk is gone');
  };
  await expect(Promise.all([place.end('dropped'), place.end('closed')])).rejects.toThrow('the disk is gone');
  expect(told).toEqual(['open', 'dropped']);
});

test('without a pause first it is opened anew at once, though not twice within the first pause', async () => {
  const firstMs = 200;
  const { place, attempt, attempts } = placeOf({ pauses: { firstMs, longestMs: firstMs } });
  const first = await attempt(1);
  const openedMs = performance.now();
  first.succeed();
  await place.ready;
  place.reopen();
  await eventually('it is opened anew', () => attempts.length === 2);
  // Timers fire up to a millisecond early.
  expect(performance.now() - openedMs).toBeGreaterThanOrEqual(firstMs - 1);
  attempts[1].succeed();
  await place.ready;
  const reopenedMs = performance.now();
  await eventually('it was open for as long', () => performance.now() - reopenedMs > firstMs);
  place.reopen();
  await turn();
  expect(attempts).toHaveLength(3);
  attempts[2].succeed();
  await place.end('closed');
});

test('of many places what is open is looked at, and what closes meanwhile is left out', async () => {
  const some = Array.from({ length: 3 }, () => placeOf());
  const shards = await Promise.all([some[0], some[2]].map(async ({ attempt }) => (await attempt(1)).succeed()));
  await Promise.all([some[0].place.ready, some[2].place.ready]);
  const places = some.map(({ place }) => place);
  expect(openAt(places)).toEqual(shards);
  const look = async (shard: FakeShard): Promise<number> => {
    if (shard === shards[0]) throw new Error('closed');
    return shards.indexOf(shard);
  };
  expect(await lookAt(places, look)).toEqual([1]);
  some[1].attempts[0].succeed();
  await Promise.all(places.map((place) => place.end('closed')));
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
