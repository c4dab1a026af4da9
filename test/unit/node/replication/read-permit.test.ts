import { PermitWatch, ReadPermit } from '../../../../node/replication/read-permit';

/** A permit over clocks that are set by hand; `slept` is what only one of them counts. */
function permitAt(startMs = 1_000_000) {
  const now = { ms: startMs, slept: 0 };
  // The replica's own clock begins elsewhere, and counts both.
  const clock = { monotonicMs: () => now.ms + now.slept - 900_000 };
  const clocks = { monotonicMs: () => now.ms, bootMs: () => now.ms + 50_000 + now.slept };
  const permit = new ReadPermit(clock, clocks);
  return { now, permit, watch: new PermitWatch(permit.memory, clocks), inMs: (ms: number) => clock.monotonicMs() + ms };
}

test('nothing may be read before there is a grant, and nothing after it is withdrawn', () => {
  const { permit, watch, inMs } = permitAt();
  expect(watch.begin()).toBe(-1);
  permit.set('primary', 3, inMs(1_000));
  const grant = watch.begin();
  expect(grant).toBeGreaterThanOrEqual(0);
  expect(watch.isPrimary).toBe(true);
  expect(watch.holds(grant)).toBe(true);
  permit.withdraw();
  expect(watch.begin()).toBe(-1);
  expect(watch.holds(grant)).toBe(false);
});

test('a read is noted once for whoever asks, and only where there is a grant', () => {
  const { permit, watch, inMs } = permitAt();
  watch.begin();
  expect(permit.takeRead()).toBe(false);
  permit.set('primary', 3, inMs(1_000));
  watch.begin();
  watch.begin();
  expect([permit.takeRead(), permit.takeRead()]).toEqual([true, false]);
  watch.begin();
  expect(permit.takeRead()).toBe(true);
});

test.each(['runs', 'counts sleep'])(
  'a grant is over as soon as the clock that %s says so, and lasts on when it is extended',
  (which) => {
    const { now, permit, watch, inMs } = permitAt();
    permit.set('follower', 3, inMs(700));
    const grant = watch.begin();
    expect(watch.isPrimary).toBe(false);
    const pass = (ms: number): void => {
      if (which === 'runs') now.ms += ms;
      else now.slept += ms;
    };
    pass(699);
    expect(watch.holds(grant)).toBe(true);
    pass(1);
    expect(watch.holds(grant)).toBe(false);
    expect(watch.begin()).toBe(-1);
    permit.set('follower', 3, inMs(700));
    expect(watch.begin()).toBe(grant);
  },
);

test('a grant that is over stays over, however long nothing changes', () => {
  const { now, permit, watch, inMs } = permitAt();
  const until = inMs(1_000);
  permit.set('primary', 3, until);
  now.ms += 2_000;
  permit.set('primary', 3, until);
  // The numbers in shared memory wrap around.
  now.ms += 2 ** 31;
  expect(watch.begin()).toBe(-1);
});

test('a grant that is over stays over for a month in which nothing is told, and until then whoever is asked knows that it is', () => {
  const { now, permit, watch, inMs } = permitAt();
  permit.set('primary', 3, inMs(1_000));
  expect(permit.isOutdated()).toBe(false);
  now.ms += 1_000;
  for (let days = 0; days < 37; days += 1) {
    expect(watch.begin()).toBe(-1);
    expect(permit.isOutdated()).toBe(true);
    now.ms += 86_400_000;
  }
  permit.set('primary', 3, -Infinity);
  expect(permit.isOutdated()).toBe(false);
});

test('what was read under one grant does not count under the next', () => {
  const { permit, watch, inMs } = permitAt();
  permit.set('primary', 3, inMs(1_000));
  const reads: [string, () => void][] = [
    ['withdrawn', () => permit.set('primary', 3, -Infinity)],
    ['another epoch', () => permit.set('primary', 4, inMs(1_000))],
    ['another role', () => permit.set('follower', 4, inMs(1_000))],
    ['an earlier end', () => permit.set('follower', 4, inMs(500))],
    ['an end that has passed', () => permit.set('follower', 4, inMs(-1))],
  ];
  for (const [, change] of reads) {
    permit.set('primary', 3, inMs(1_000));
    const grant = watch.begin();
    change();
    permit.set('follower', 4, inMs(1_000));
    expect(watch.begin()).toBeGreaterThanOrEqual(0);
    expect(watch.holds(grant)).toBe(false);
  }
});

test('a grant that is extended stays the same one', () => {
  const { now, permit, watch, inMs } = permitAt();
  permit.set('primary', 3, inMs(1_000));
  const grant = watch.begin();
  now.ms += 900;
  permit.set('primary', 3, inMs(1_000));
  now.ms += 900;
  expect(watch.holds(grant)).toBe(true);
});

test('a grant without an end lasts, as long as it is told again now and then', () => {
  const { now, permit, watch } = permitAt();
  permit.set('primary', 1, Infinity);
  const grant = watch.begin();
  for (let week = 0; week < 20; week += 1) {
    now.ms += 7 * 86_400_000;
    expect(watch.holds(grant)).toBe(true);
    permit.set('primary', 1, Infinity);
  }
});

test('clocks whose milliseconds no longer fit into a word are compared right', () => {
  for (const startMs of [2 ** 31 - 500, 2 ** 32 - 500, 2 ** 40 + 0.5]) {
    const { now, permit, watch, inMs } = permitAt(startMs);
    permit.set('primary', 1, inMs(1_000));
    const grant = watch.begin();
    now.ms += 998;
    expect(watch.holds(grant)).toBe(true);
    now.ms += 3;
    expect(watch.holds(grant)).toBe(false);
  }
});
