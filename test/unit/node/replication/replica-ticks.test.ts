import { ReplicaTicks, type Ticking } from '../../../../node/replication/replica-ticks';
import { ManualClock } from '../../../support/manual-clock';

/** One timer for all: each is called once at the time that it set last. */

let clock: ManualClock;
let ticks: ReplicaTicks;
let acted: string[];

beforeEach(() => {
  jest.useFakeTimers();
  clock = new ManualClock(1000);
  ticks = new ReplicaTicks(clock);
  acted = [];
});

afterEach(() => jest.useRealTimers());

function ticking(name: string, act: (nowMs: number) => void = () => undefined): Ticking {
  return {
    act: (nowMs) => {
      acted.push(`${name} ${nowMs}`);
      act(nowMs);
    },
    moment: null,
  };
}

function pass(ms: number): void {
  for (let i = 0; i < ms; i += 1) {
    clock.advance(1);
    jest.advanceTimersByTime(1);
  }
}

test('those of one millisecond act in one turn, at the same time', () => {
  ticks.set(ticking('a'), 1009.2);
  ticks.set(ticking('b'), 1010);
  ticks.set(ticking('c'), 1020);
  pass(15);
  expect(acted).toEqual(['a 1010', 'b 1010']);
  pass(15);
  expect(acted).toEqual(['a 1010', 'b 1010', 'c 1020']);
});

test('one that is set again acts once, at the last time that it set, however often it came and went', () => {
  const a = ticking('a');
  ticks.set(ticking('b'), 1010);
  for (let i = 0; i < 20; i += 1) {
    ticks.set(a, 1010);
    ticks.set(a, 1020);
  }
  ticks.set(a, 1010);
  pass(30);
  expect(acted.toSorted()).toEqual(['a 1010', 'b 1010']);
});

test('one that is due no more does not act, and leaves no timer', () => {
  const a = ticking('a');
  ticks.set(a, 1010);
  ticks.set(a, Infinity);
  expect(jest.getTimerCount()).toBe(0);
  pass(20);
  expect(acted).toEqual([]);
});

test('one may set its next time while it acts', () => {
  const a: Ticking = ticking('a', (nowMs) => ticks.set(a, nowMs + 5));
  ticks.set(a, 1005);
  pass(16);
  expect(acted).toEqual(['a 1005', 'a 1010', 'a 1015']);
});
