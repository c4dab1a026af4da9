import assert from 'node:assert/strict';
import fc from 'fast-check';
import { SlidingWindowLimiter } from '../../coordinator/limits/sliding-window-limiter';
import { ManualClock } from '../../shared/time/clock';
import { runSeed } from '../support/random';

const seed = runSeed('rate-limiter');
/** Each of some 150 steps, which are compared without `expect`: that would take most of the time. */
const runs = 100;

/** The obvious limiter: every admission's time in a list. */
class ListLimiter {
  private readonly times = new Map<string, number[]>();

  constructor(private readonly limit: number) {}

  admit(subject: string, nowMs: number, windowMs: number): boolean {
    const times = this.times.get(subject) ?? [];
    const allowed = times.filter((time) => time + windowMs > nowMs).length < this.limit;
    if (allowed) this.times.set(subject, [...times, nowMs]);
    return allowed;
  }
}

const steps = (gap: fc.Arbitrary<number>): fc.Arbitrary<{ gapMs: number; subject: string }[]> =>
  fc.array(fc.record({ gapMs: gap, subject: fc.constantFrom('a', 'b', 'c') }), { minLength: 1, maxLength: 300, size: 'max' });

const wholeGap = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 30_000 }), fc.constantFrom(59_999, 60_000, 60_001));
const brokenGap = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 2, noNaN: true }), fc.double({ min: 0, max: 20_000, noNaN: true }));

describe('sliding window against a list of timestamps', () => {
  // 30.5 ± 30: from 1 to 60 seconds.
  test('decides as the list does at whole milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), steps(wholeGap), (limit, sequence) => {
        const clock = new ManualClock(1000);
        const limiter = new SlidingWindowLimiter({ limit, clock });
        const list = new ListLimiter(limit);
        for (const { gapMs, subject } of sequence) {
          clock.advance(gapMs);
          const decision = limiter.admit(subject);
          assert.equal(decision.allowed, list.admit(subject, clock.monotonicMs(), 60_000));
          assert.ok(Math.abs(decision.resetSeconds - 30.5) < 30, `${decision.resetSeconds}`);
        }
      }),
      { seed, numRuns: runs },
    );
  });

  test('within milliseconds it never admits more than the limit in 60 s and refuses only what 60.001 s would', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), steps(brokenGap), (limit, sequence) => {
        const clock = new ManualClock(1000);
        const limiter = new SlidingWindowLimiter({ limit, clock });
        const admitted = new Map<string, number[]>();
        for (const { gapMs, subject } of sequence) {
          clock.advance(gapMs);
          const nowMs = clock.monotonicMs();
          const times = admitted.get(subject) ?? [];
          const within = (windowMs: number): number => times.filter((time) => time + windowMs > nowMs).length;
          const decision = limiter.admit(subject);
          assert.ok(Math.abs(decision.resetSeconds - 30.5) < 30, `${decision.resetSeconds}`);
          if (decision.allowed) {
            assert.ok(within(60_000) < limit);
            admitted.set(subject, [...times, nowMs]);
          } else {
            assert.ok(within(60_001) >= limit);
          }
        }
      }),
      { seed, numRuns: runs },
    );
  });
});
