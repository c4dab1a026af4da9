import { ProcessLimiter } from '../../../../../coordinator/service/limits/process-limiter';
import type { RateDecision } from '../../../../../coordinator/service/limits/rate-limiter';
import { PLACES_MAX, SharedWindow, WINDOW_MS } from '../../../../../coordinator/service/limits/shared-window';
import { subjectWithLimit } from '../../../../../coordinator/service/limits/subject';
import { WindowLimiter } from '../../../../../coordinator/service/limits/window-limiter';
import { ManualClock } from '../../../../support/manual-clock';

const THREADS = 3;

function limiterOf(limit: number, subjectsMax?: number) {
  const clock = new ManualClock(1000);
  const limiter = new ProcessLimiter({ limit, clock, ...(subjectsMax !== undefined && { subjectsMax }) });
  // On the main thread, the answer is there at once.
  return { clock, limiter, admit: (subject: string) => limiter.admit(subject) as RateDecision };
}

describe('on the main thread', () => {
  test('admits the limit, then refuses and says when a place is free', () => {
    const { clock, admit } = limiterOf(3);
    expect(admit('a')).toEqual({ allowed: true, limit: 3, remaining: 2, resetSeconds: 60 });
    clock.advance(20_000);
    expect(admit('a')).toEqual({ allowed: true, limit: 3, remaining: 1, resetSeconds: 60 });
    expect(admit('a')).toEqual({ allowed: true, limit: 3, remaining: 0, resetSeconds: 60 });
    clock.advance(500);
    expect(admit('a')).toEqual({ allowed: false, limit: 3, remaining: 0, resetSeconds: 40 });
    clock.advance(39_499);
    expect(admit('a')).toEqual({ allowed: false, limit: 3, remaining: 0, resetSeconds: 1 });
    clock.advance(1);
    expect(admit('a')).toEqual({ allowed: true, limit: 3, remaining: 0, resetSeconds: 60 });
  });

  test('waiting as long as a refusal says is always enough', () => {
    const { clock, admit } = limiterOf(2);
    admit('a');
    clock.advance(0.75);
    admit('a');
    clock.advance(7.125);
    const refused = admit('a');
    expect(refused.allowed).toBe(false);
    clock.advance(refused.resetSeconds * 1000);
    expect(admit('a').allowed).toBe(true);
  });

  test('a refused request costs nothing', () => {
    const { clock, admit } = limiterOf(1);
    admit('a');
    for (let second = 0; second < 59; second += 1) {
      clock.advance(1000);
      expect(admit('a').allowed).toBe(false);
    }
    clock.advance(1000);
    expect(admit('a').allowed).toBe(true);
  });

  test('subjects do not share a limit, and one may have its own', () => {
    const { admit } = limiterOf(1);
    expect(admit('a').allowed).toBe(true);
    expect(admit('b').allowed).toBe(true);
    expect(admit('a').allowed).toBe(false);
    const own = subjectWithLimit('a', 2);
    expect([admit(own), admit(own), admit(own)].map(({ allowed }) => allowed)).toEqual([true, true, false]);
  });

  test('0 admits everything and remembers nobody', () => {
    const { limiter, admit } = limiterOf(0);
    for (let call = 0; call < 1000; call += 1)
      expect(admit(`subject ${call}`)).toEqual({ allowed: true, limit: 0, remaining: 0, resetSeconds: 0 });
    expect(limiter.subjectCount).toBe(0);
  });

  test('idle subjects are dropped when others come', () => {
    const { clock, limiter, admit } = limiterOf(10);
    for (let subject = 0; subject < 1000; subject += 1) admit(`subject ${subject}`);
    expect(limiter.subjectCount).toBe(1000);
    clock.advance(60_000);
    for (let other = 0; other < 1200; other += 1) {
      clock.advance(60_000);
      admit(`other ${other}`);
    }
    expect(limiter.subjectCount).toBeLessThanOrEqual(2);
  });

  test('a flood of subjects stays within the bound', () => {
    const { clock, limiter, admit } = limiterOf(1, 100);
    for (let subject = 0; subject < 10_000; subject += 1) {
      clock.advance(0.01);
      admit(`subject ${subject}`);
      expect(limiter.subjectCount).toBeLessThanOrEqual(100);
    }
    expect(admit('subject 9999').allowed).toBe(false);
  });

  test.each([PLACES_MAX, PLACES_MAX + 1, 1_000_000])(
    'a limit of %i is kept exactly and within half a megabyte',
    (limit) => {
      const { clock, limiter, admit } = limiterOf(limit);
      let admitted = 0;
      for (let call = 0; call < limit * 1.2; call += 1) {
        if (call % 24 === 0) clock.advance(1);
        const { allowed, remaining } = admit('a');
        if (allowed) admitted += 1;
        if (remaining !== limit - admitted) throw new Error(`${remaining} remain of ${limit} after ${admitted}`);
      }
      expect(admitted).toBe(limit);
      expect(limiter.window('a', 0).byteLength).toBeLessThanOrEqual((PLACES_MAX + 2) * 8);
      clock.advance(WINDOW_MS);
      expect(admit('a')).toMatchObject({ allowed: true, remaining: limit - 1 });
    },
  );

  test('the highest limit that a key may have fits', () => {
    const { admit } = limiterOf(1_000_000_000);
    for (let call = 1; call <= 2 * PLACES_MAX; call += 1)
      if (admit('a').remaining !== 1_000_000_000 - call) throw new Error(`after ${call}`);
  });
});

/** The limiters of some threads over one process, as if each message were answered at once. */
function threadsOf(limit: number, subjectsMax?: number) {
  const clock = new ManualClock(1_000_000);
  const process = new ProcessLimiter({ limit, clock, ...(subjectsMax !== undefined && { subjectsMax }) });
  let asked = 0;
  const limiters = Array.from({ length: THREADS }, () => {
    return new WindowLimiter({
      limit,
      clock,
      source: async (subject, full) => {
        asked += 1;
        return new SharedWindow(process.window(subject, full));
      },
    });
  });
  const admit = async (thread: number, subject: string): Promise<RateDecision> =>
    limiters[thread % THREADS].admit(subject);
  return { clock, process, admit, asked: () => asked };
}

describe('on several threads', () => {
  test('threads together admit exactly the limit, and ask for a window only when it grows', async () => {
    const { clock, admit, asked } = threadsOf(1_000);
    for (let minute = 0; minute < 3; minute += 1) {
      let admitted = 0;
      for (let call = 0; call < 2_000; call += 1) {
        const decision = await admit(call, 'a');
        if (decision.allowed) admitted += 1;
        expect(decision).toMatchObject({ limit: 1_000, remaining: 1_000 - admitted, resetSeconds: 60 });
      }
      expect(admitted).toBe(1_000);
      clock.advance(WINDOW_MS);
    }
    // 8, 64, 512 and 1,000 places, for each thread; a thread that comes late skips some.
    expect(asked()).toBeLessThanOrEqual(7 * THREADS);
  });

  test('subjects that are quiet for a minute are dropped, and counted from nothing when they come again', async () => {
    const { clock, process, admit } = threadsOf(2);
    for (let subject = 0; subject < 1_000; subject += 1) await admit(subject, `subject ${subject}`);
    expect(process.subjectCount).toBe(1_000);
    clock.advance(WINDOW_MS);
    for (let subject = 0; subject < 600; subject += 1) await admit(subject, `later ${subject}`);
    expect(process.subjectCount).toBe(600);
    for (let i = 0; i < 2; i += 1) expect((await admit(i, 'subject 0')).allowed).toBe(true);
    expect((await admit(0, 'subject 0')).allowed).toBe(false);
  });

  test('a subject that is used stays, however old its window is', async () => {
    const { clock, admit } = threadsOf(3);
    for (let i = 0; i < 3; i += 1) {
      expect((await admit(i, 'used')).allowed).toBe(true);
      clock.advance(WINDOW_MS / 4);
    }
    for (let i = 0; i < 50; i += 1) await admit(i, `other ${i}`);
    expect((await admit(0, 'used')).allowed).toBe(false);
  });

  test('a flood of subjects stays within the bound', async () => {
    const { process, admit } = threadsOf(1, 100);
    for (let subject = 0; subject < 5_000; subject += 1) {
      expect((await admit(subject, `subject ${subject}`)).allowed).toBe(true);
      expect(process.subjectCount).toBeLessThanOrEqual(100);
    }
    expect((await admit(0, 'subject 4999')).allowed).toBe(false);
  });
});
