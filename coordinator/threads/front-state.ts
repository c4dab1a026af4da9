import type { Clock } from '../../shared/time/clock';

/**
 * What a front thread and the main thread show each other in shared memory, as int32 numbers:
 * what can't wait for a message, because the other side may be busy.
 */
export const FRONT_STATE = {
  /** Rises while the front thread's event loop turns. */
  beat: 0,
  /** Connections that it has taken since it started, of those handed to it, in their order. */
  taken: 1,
  /** Those of them that are closed; the main thread knows how many it dealt. */
  closed: 2,
  /** The closed ones that were only told that there is no room. */
  closedTurnedAway: 3,
  /** When the main thread's event loop turned last, by {@link sharedMs}; wraps around. */
  mainBeat: 4,
} as const;

/** How often the main thread shows that its event loop turns. */
export const MAIN_BEAT_MS = 100;

const FIELDS = Object.keys(FRONT_STATE).length;

export function newFrontState(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(FIELDS * Int32Array.BYTES_PER_ELEMENT));
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

/** Milliseconds by a clock that all threads of the process share; only differences mean something. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
