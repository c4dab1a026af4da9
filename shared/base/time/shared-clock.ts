import type { Clock } from './clock';

/** Milliseconds by a clock that all threads of the process share; only differences mean something. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** That clock, for what all threads count together. */
export const sharedClock: Clock = { wallMs: () => Date.now(), monotonicMs: sharedMs };

/** A deadline by the clock that all threads share: what waits for another thread has no more time than it had here. */
export function sharedDeadline(deadlineMs: number, clock: Pick<Clock, 'monotonicMs'>): number {
  return sharedMs() + deadlineMs - clock.monotonicMs();
}

/** The other way: a deadline that came from another thread, by the clock of this one. */
export function ownDeadline(sharedDeadlineMs: number, clock: Pick<Clock, 'monotonicMs'>): number {
  return clock.monotonicMs() + sharedDeadlineMs - sharedMs();
}
