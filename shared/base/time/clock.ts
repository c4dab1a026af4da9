/** The thread is held up in all of them only on a machine that does nothing else. */
const FIRST_READINGS = 5;

/** The clocks of a process, as one object that is passed in: the pure core never reads the time itself. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch; may jump. Only for timestamps that people see. */
  wallMs(): number;
  /** Monotonic time in milliseconds from an arbitrary origin, with a fraction. For durations, deadlines and windows. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * A clock by which leases may be judged. Monotonic clocks may stand still while the machine sleeps; then a lease would
 * still look good to a primary that was replaced long ago. So `bootTimeMs` is a second clock that counts this time,
 * too, and the time that passed is the longest that either of them says: a lease is over as soon as one of the two says
 * so. Neither may fall.
 */
export function sleeplessClock(clock: Clock, bootTimeMs: () => number): Clock {
  // A thread that is held up between two readings must not be taken for a machine that slept. So the difference at the
  // start may only be too large, and that of each reading too small.
  let aheadMs = Infinity;
  for (let reading = 0; reading < FIRST_READINGS; reading += 1) {
    const nowMs = clock.monotonicMs();
    aheadMs = Math.min(aheadMs, bootTimeMs() - nowMs);
  }
  let sleptMs = 0;
  const monotonicMs = (): number => {
    const bootMs = bootTimeMs();
    const nowMs = clock.monotonicMs();
    sleptMs = Math.max(sleptMs, bootMs - nowMs - aheadMs);
    return nowMs + sleptMs;
  };
  return { wallMs: () => clock.wallMs(), monotonicMs };
}
