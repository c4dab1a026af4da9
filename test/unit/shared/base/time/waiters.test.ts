import { ManualClock } from '../../../../support/manual-clock';
import { deadlineTimer, inTime } from '../../../../../shared/base/time/deadline';
import { Waiters } from '../../../../../shared/base/time/waiters';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

describe('waiters', () => {
  const clock = new ManualClock();
  const inMs = (ms: number): number => clock.monotonicMs() + ms;

  test('all that wait are woken, once; who comes later waits for the next time', async () => {
    const waiters = new Waiters(clock);
    const first = [waiters.next(inMs(100)), waiters.next(inMs(Infinity))];
    waiters.wake();
    expect(await Promise.all(first)).toEqual([true, true]);
    const later = waiters.next(inMs(100));
    jest.advanceTimersByTime(100);
    expect(await later).toBe(false);
    waiters.wake();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a deadline that has passed ends the wait at once, one that no timer reaches does not', async () => {
    const waiters = new Waiters(clock);
    const past = waiters.next(inMs(-5));
    const far = waiters.next(inMs(Number.MAX_SAFE_INTEGER));
    jest.advanceTimersByTime(1);
    expect(await past).toBe(false);
    expect(jest.getTimerCount()).toBe(1);
    waiters.wake();
    expect(await far).toBe(true);
  });
});

describe('work in time', () => {
  const late = (): Error => new Error('late');

  test('gives its answer or its own failure, and leaves no timer', async () => {
    expect(await inTime(Promise.resolve(1), 10, late)).toBe(1);
    await expect(inTime(Promise.reject(new Error('own')), 10, late)).rejects.toThrow('own');
    expect(jest.getTimerCount()).toBe(0);
  });

  test('is given up when it takes longer, and may fail unheard then', async () => {
    let fail: (error: Error) => void = () => undefined;
    const waited = inTime(new Promise((_, reject) => (fail = reject)), 10, late);
    jest.advanceTimersByTime(10);
    await expect(waited).rejects.toThrow('late');
    fail(new Error('own'));
  });

  test('a timer for longer than timers can wait waits as long as it can', () => {
    const fired = jest.fn();
    deadlineTimer(2 ** 40, fired);
    jest.advanceTimersByTime(2 ** 31 - 2);
    expect(fired).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledTimes(1);
  });
});
