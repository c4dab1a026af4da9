import { StampClock } from '../../../../../coordinator/service/routing/stamp-clock';
import type { Clock } from '../../../../../shared/base/time/clock';

const START_MS = Date.UTC(2026, 0, 1);
const EPOCH_MS = Date.UTC(2020, 0, 1);
const DAY_MS = 86_400_000;

/** Wall and monotonic time apart, as on a real machine. */
class TwoClocks implements Clock {
  wall = START_MS;
  monotonic = 500;
  wallMs = (): number => this.wall;
  monotonicMs = (): number => this.monotonic;

  pass(milliseconds: number): void {
    this.wall += milliseconds;
    this.monotonic += milliseconds;
  }
}

function setUp() {
  const clock = new TwoClocks();
  const stamps = new StampClock({ clock });
  /** A stamp as time after the start and counter. */
  const next = (): string => {
    const stamp = stamps.reserve(1);
    const ms = Math.floor(stamp / 4096) + EPOCH_MS - START_MS;
    return `${ms} ms + ${stamp % 4096}`;
  };
  return { clock, stamps, next };
}

describe('stamps', () => {
  test('are milliseconds since 2020 times 4096, counted up within one', () => {
    const { clock, stamps, next } = setUp();
    expect(stamps.reserve(1)).toBe((START_MS - EPOCH_MS) * 4096);
    expect(next()).toBe('0 ms + 1');
    clock.pass(3);
    expect(next()).toBe('3 ms + 0');
  });

  test('a batch has consecutive ones, and borrows from the future if it needs to', () => {
    const { stamps, next } = setUp();
    const first = stamps.reserve(10_000);
    expect(stamps.reserve(1)).toBe(first + 10_000);
    expect(next()).toBe('2 ms + 1809');
  });

  test('never follow the wall clock back', () => {
    const { clock, next } = setUp();
    expect(next()).toBe('0 ms + 0');
    clock.wall -= 30 * DAY_MS;
    expect(next()).toBe('0 ms + 1');
    clock.pass(5);
    expect(next()).toBe('0 ms + 2');
    clock.wall += 30 * DAY_MS;
    clock.pass(3);
    expect(next()).toBe('6 ms + 0');
  });

  test('follow a jump ahead at twice the speed of time, and a short one is forgotten', () => {
    const { clock, next } = setUp();
    clock.wall += 365 * DAY_MS;
    expect(next()).toBe('0 ms + 0');
    clock.pass(1000);
    expect(next()).toBe('2000 ms + 0');
    clock.wall -= 365 * DAY_MS;
    expect(next()).toBe('2000 ms + 1');
    clock.pass(1001);
    expect(next()).toBe('2001 ms + 0');
  });

  test('stay above every stamp seen at a shard, however far ahead', () => {
    const { clock, stamps } = setUp();
    const ahead = (START_MS - EPOCH_MS + 10 * DAY_MS) * 4096 + 7;
    stamps.observe(ahead);
    stamps.observe(12);
    expect(stamps.reserve(3)).toBe(ahead + 1);
    clock.pass(10);
    expect(stamps.reserve(1)).toBe(ahead + 4);
  });

  test('a wall clock before 2020 or beyond what fits still gives rising safe integers', () => {
    for (const wall of [0, Date.UTC(2300, 0, 1)]) {
      const clock = new TwoClocks();
      clock.wall = wall;
      const stamps = new StampClock({ clock });
      const first = stamps.reserve(5);
      expect(Number.isSafeInteger(first)).toBe(true);
      expect(first).toBeGreaterThan(0);
      expect(stamps.reserve(1)).toBe(first + 5);
    }
  });

  test('refuse what is no stamp', () => {
    const { stamps } = setUp();
    for (const bad of [-1, 0.5, NaN, 2 ** 53]) expect(() => stamps.observe(bad)).toThrow('safe integer');
    expect(() => stamps.reserve(0)).toThrow('at least one');
  });
});
