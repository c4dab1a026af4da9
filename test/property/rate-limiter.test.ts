import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ProcessLimiter } from '../../coordinator/service/limits/process-limiter';
import type { RateDecision } from '../../coordinator/service/limits/rate-limiter';
import { SharedWindow } from '../../coordinator/service/limits/shared-window';
import type { Clock } from '../../shared/base/time/clock';
import { ManualClock } from '../support/manual-clock';
import { runSeed } from '../support/values/random';

const seed = runSeed('rate-limiter');
/** Each of some 150 steps, which are compared without `expect`: that would take most of the time. */
const runs = 100;

/** The obvious limiter: every admission's time in a list. */
class ListLimiter {
  private readonly times = new Map<string, number[]>();

  constructor(private readonly limit: number) {}

  admit(subject: string, nowMs: number, windowMs: number): boolean {
    const allowed = this.count(subject, nowMs, windowMs) < this.limit;
    if (allowed) this.times.set(subject, [...(this.times.get(subject) ?? []), nowMs]);
    return allowed;
  }

  count(subject: string, nowMs: number, windowMs: number): number {
    return (this.times.get(subject) ?? []).filter((time) => time + windowMs > nowMs).length;
  }
}

const steps = (gap: fc.Arbitrary<number>): fc.Arbitrary<{ gapMs: number; subject: string }[]> =>
  fc.array(fc.record({ gapMs: gap, subject: fc.constantFrom('a', 'b', 'c') }), {
    minLength: 1,
    maxLength: 300,
    size: 'max',
  });

const wholeGap = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 5 }),
  fc.integer({ min: 0, max: 30_000 }),
  fc.constantFrom(59_999, 60_000, 60_001),
);
/** In whole microseconds, the resolution of windows in shared memory; sums of such fractions are off by far less. */
const thousandth = (microseconds: number): number => microseconds / 1_000;
const OFF_MS = 0.000_1;
const brokenGap = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 2_000 }).map(thousandth),
  fc.integer({ min: 0, max: 20_000_000 }).map(thousandth),
);

/** On one thread, it answers at once. */
const limiterOf = (parts: { limit: number; clock: Clock }) => {
  const limiter = new ProcessLimiter(parts);
  return { admit: (subject: string) => limiter.admit(subject) as RateDecision };
};

describe('a sliding window against a list of timestamps', () => {
  // 30.5 ± 30: from 1 to 60 seconds.
  test('decides as the list does at whole milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), steps(wholeGap), (limit, sequence) => {
        const clock = new ManualClock(1000);
        const limiter = limiterOf({ limit, clock });
        const list = new ListLimiter(limit);
        for (const { gapMs, subject } of sequence) {
          clock.advance(gapMs);
          const decision = limiter.admit(subject);
          assert.equal(decision.allowed, list.admit(subject, clock.monotonicMs(), 60_000));
          assert.equal(decision.remaining, limit - list.count(subject, clock.monotonicMs(), 60_000));
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
        const limiter = limiterOf({ limit, clock });
        const admitted = new Map<string, number[]>();
        for (const { gapMs, subject } of sequence) {
          clock.advance(gapMs);
          const nowMs = clock.monotonicMs();
          const times = admitted.get(subject) ?? [];
          const within = (windowMs: number): number => times.filter((time) => time + windowMs > nowMs).length;
          const decision = limiter.admit(subject);
          assert.ok(Math.abs(decision.resetSeconds - 30.5) < 30, `${decision.resetSeconds}`);
          if (decision.allowed) {
            assert.ok(within(60_000 - OFF_MS) < limit);
            admitted.set(subject, [...times, nowMs]);
          } else {
            assert.ok(within(60_001) >= limit);
          }
        }
      }),
      { seed, numRuns: runs },
    );
  });

  test('with several in a place it never admits more, and refuses fewer than a place has too many', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 20 }),
        fc.integer({ min: 1, max: 6 }),
        steps(brokenGap),
        fc.nat({ max: 300 }),
        (capacity, places, sequence, replacedAfter) => {
          let window = SharedWindow.create(capacity, [], places);
          const clock = new ManualClock(1000);
          const times: number[] = [];
          const depth = Math.ceil(capacity / Math.min(places, capacity));
          for (const [step, { gapMs }] of sequence.entries()) {
            clock.advance(gapMs);
            const nowMs = clock.monotonicMs();
            // Then those of one place may be in two.
            if (step === replacedAfter) window = SharedWindow.create(capacity, window.retire(nowMs), places);
            const within = (windowMs: number): number => times.filter((time) => time + windowMs > nowMs).length;
            const admission = window.admit(nowMs);
            if (admission.type === 'admitted') {
              assert.ok(within(60_000 - OFF_MS) < capacity);
              times.push(nowMs);
              assert.ok(admission.size >= within(60_000 - OFF_MS) && admission.size <= capacity);
            } else {
              assert.ok(admission.type === 'full' && admission.firstFreeMs > nowMs);
              if (step < replacedAfter) assert.ok(within(60_001) > capacity - depth);
            }
          }
        },
      ),
      { seed, numRuns: runs },
    );
  });
});
