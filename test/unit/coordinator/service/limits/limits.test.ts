import { AdmissionWindow } from '../../../../../coordinator/service/limits/admission-window';
import { SlidingWindowLimiter } from '../../../../../coordinator/service/limits/sliding-window-limiter';
import { ManualClock } from '../../../../support/manual-clock';

function limiterOf(limit: number, subjectsMax?: number): { clock: ManualClock; limiter: SlidingWindowLimiter } {
  const clock = new ManualClock(1000);
  return { clock, limiter: new SlidingWindowLimiter({ limit, clock, subjectsMax }) };
}

describe('SlidingWindowLimiter', () => {
  test('admits the limit, then refuses and says when a place is free', () => {
    const { clock, limiter } = limiterOf(3);
    expect(limiter.admit('a')).toEqual({ allowed: true, limit: 3, remaining: 2, resetSeconds: 60 });
    clock.advance(20_000);
    expect(limiter.admit('a')).toEqual({ allowed: true, limit: 3, remaining: 1, resetSeconds: 60 });
    expect(limiter.admit('a')).toEqual({ allowed: true, limit: 3, remaining: 0, resetSeconds: 60 });
    clock.advance(500);
    expect(limiter.admit('a')).toEqual({ allowed: false, limit: 3, remaining: 0, resetSeconds: 40 });
    clock.advance(39_499);
    expect(limiter.admit('a')).toEqual({ allowed: false, limit: 3, remaining: 0, resetSeconds: 1 });
    clock.advance(1);
    expect(limiter.admit('a')).toEqual({ allowed: true, limit: 3, remaining: 0, resetSeconds: 60 });
  });

  test('waiting as long as a refusal says is always enough', () => {
    const { clock, limiter } = limiterOf(2);
    limiter.admit('a');
    clock.advance(0.75);
    limiter.admit('a');
    clock.advance(7.125);
    const refused = limiter.admit('a');
    expect(refused.allowed).toBe(false);
    clock.advance(refused.resetSeconds * 1000);
    expect(limiter.admit('a').allowed).toBe(true);
  });

  test('a refused request costs nothing', () => {
    const { clock, limiter } = limiterOf(1);
    limiter.admit('a');
    for (let second = 0; second < 59; second += 1) {
      clock.advance(1000);
      expect(limiter.admit('a').allowed).toBe(false);
    }
    clock.advance(1000);
    expect(limiter.admit('a').allowed).toBe(true);
  });

  test('subjects do not share a limit', () => {
    const { limiter } = limiterOf(1);
    expect(limiter.admit('a').allowed).toBe(true);
    expect(limiter.admit('b').allowed).toBe(true);
    expect(limiter.admit('a').allowed).toBe(false);
  });

  test('0 admits everything and remembers nobody', () => {
    const { limiter } = limiterOf(0);
    for (let call = 0; call < 1000; call += 1) {
      expect(limiter.admit(`subject ${call}`)).toEqual({ allowed: true, limit: 0, remaining: 0, resetSeconds: 0 });
    }
    expect(limiter.subjectCount).toBe(0);
  });

  test('idle subjects are dropped', () => {
    const { clock, limiter } = limiterOf(10);
    for (let subject = 0; subject < 1000; subject += 1) limiter.admit(`subject ${subject}`);
    expect(limiter.subjectCount).toBe(1000);
    clock.advance(60_000);
    for (let call = 0; call < 600; call += 1) {
      clock.advance(60_000);
      limiter.admit('busy');
    }
    expect(limiter.subjectCount).toBe(1);
  });

  test('a flood of subjects stays within the bound and forgets the quietest first', () => {
    const { clock, limiter } = limiterOf(1, 100);
    for (let subject = 0; subject < 10_000; subject += 1) {
      clock.advance(0.01);
      limiter.admit(`subject ${subject}`);
      expect(limiter.subjectCount).toBeLessThanOrEqual(100);
    }
    expect(limiter.admit('subject 9999').allowed).toBe(false);
    expect(limiter.admit('subject 0').allowed).toBe(true);
  });

  test('a limit of a million is kept exactly and within memory', () => {
    const { clock, limiter } = limiterOf(1_000_000);
    let admitted = 0;
    for (let call = 0; call < 1_200_000; call += 1) {
      if (call % 24 === 0) clock.advance(1);
      if (limiter.admit('a').allowed) admitted += 1;
    }
    expect(admitted).toBe(1_000_000);
  });
});

describe('AdmissionWindow', () => {
  test('its memory is bounded by the milliseconds of the window and given back after a burst', () => {
    const window = new AdmissionWindow(60_000);
    let nowMs = 0;
    for (let admission = 0; admission < 1_000_000; admission += 1) {
      nowMs += 0.3;
      window.expire(nowMs);
      window.add(nowMs);
    }
    expect(window.memoryBytes).toBeLessThanOrEqual(65_536 * 12);
    for (let minute = 0; minute < 20; minute += 1) {
      nowMs += 60_000;
      window.expire(nowMs);
      window.add(nowMs);
    }
    expect(window.size).toBe(1);
    expect(window.memoryBytes).toBeLessThan(200);
  });
});
