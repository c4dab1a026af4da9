import { bootTimeMs } from '../../../../../node/engine/kv/boot-time';
import { sleeplessClock, systemClock } from '../../../../../shared/base/time/clock';
import { eventually } from '../../../../support/eventually';
import { ManualClock } from '../../../../support/manual-clock';

test('time that the machine slept is counted, once, although the monotonic clock stood still', () => {
  const monotonic = new ManualClock(1000);
  let bootMs = 50_000;
  const clock = sleeplessClock(monotonic, () => bootMs);
  const pass = (awakeMs: number, asleepMs = 0): number => {
    const before = clock.monotonicMs();
    monotonic.advance(awakeMs);
    bootMs += awakeMs + asleepMs;
    return clock.monotonicMs() - before;
  };
  expect(pass(70)).toBe(70);
  expect(pass(5, 3000)).toBe(3005);
  expect(pass(70)).toBe(70);
});

test('a thread that is held up between the two clocks is not taken for a machine that slept', () => {
  let nowMs = 0;
  let heldUpMs = 0;
  const read = (): number => {
    nowMs += heldUpMs;
    return nowMs;
  };
  const clock = sleeplessClock({ wallMs: read, monotonicMs: read }, read);
  heldUpMs = 400;
  clock.monotonicMs();
  heldUpMs = 0;
  expect(clock.monotonicMs()).toBe(nowMs);
});

test('a second clock that stops changes nothing', () => {
  const monotonic = new ManualClock(1000);
  const clock = sleeplessClock(monotonic, () => 7);
  monotonic.advance(500);
  expect(clock.monotonicMs()).toBe(1500);
});

test('the machine’s time since its start goes on like the monotonic clock while it is awake', async () => {
  const before = [systemClock.monotonicMs(), bootTimeMs()];
  // The machine tells it in hundredths of a second.
  await eventually('it goes on', () => bootTimeMs() > before[1] + 10);
  const after = [systemClock.monotonicMs(), bootTimeMs()];
  expect(sleeplessClock(systemClock, bootTimeMs).monotonicMs()).toBeGreaterThanOrEqual(after[0]);
});
