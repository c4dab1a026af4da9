import crypto from 'node:crypto';
import timers from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import type { Clock } from '../../../shared/base/time/clock';
import type { Schedule } from '../schedule';

const {
  setTimeout: realSetTimeout,
  clearTimeout: realClearTimeout,
  setInterval: realSetInterval,
  clearInterval: realClearInterval,
  setImmediate: realSetImmediate,
  clearImmediate: realClearImmediate,
} = globalThis;

/** Some Monday. */
const START_MS = Date.UTC(2026, 0, 5);

/**
 * The timers, clocks and random numbers of code that is made of promises, of a schedule's time and one seed: so it runs
 * in a simulation as it ships. In force between `begin` and `end`, for all of the process; one at a time.
 */
export class VirtualTime {
  readonly clock: Clock = { wallMs: () => START_MS + this.schedule.now, monotonicMs: () => this.schedule.now };
  /** Whether promises may have something to do. */
  private isTouched = true;
  private end: (() => void) | null = null;

  constructor(
    private readonly schedule: Schedule,
    private readonly random: () => number,
  ) {}

  /** Runs everything until that time, and what follows from it. */
  async runUntil(time: number): Promise<void> {
    await this.settlePromises();
    while (this.schedule.runNext(time)) await this.settlePromises();
    this.schedule.runUntil(time);
  }

  /** To be called by what settles a promise, or calls a listener. */
  touch(): void {
    this.isTouched = true;
  }

  private async settlePromises(): Promise<void> {
    if (!this.isTouched) return;
    this.isTouched = false;
    // All that promises do comes before it.
    await new Promise((done) => realSetImmediate(done));
  }

  begin(): void {
    const { random } = this;
    const { random: realRandom } = Math;
    const { now: realDate } = Date;
    const { randomBytes: realBytes } = crypto;
    const { setTimeout: realSleep } = timers;
    const now = (): number => this.schedule.now;
    const later = (act: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): VirtualTimer =>
      this.later(() => act(...given), ms, false);
    const stop = (timer?: VirtualTimer): void => void (timer !== undefined && timer !== null && (timer.isOver = true));
    Object.assign(globalThis, {
      setTimeout: later,
      clearTimeout: stop,
      setInterval: (act: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
        this.later(() => act(...given), Math.max(1, ms), true),
      clearInterval: stop,
      setImmediate: (act: (...given: unknown[]) => void, ...given: unknown[]) => later(act, 0, ...given),
      // Node's own counts one too few when it is told of what it does not know, and then runs none any more.
      clearImmediate: stop,
    });
    Object.assign(timers, {
      setTimeout: (ms?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
        this.sleep(ms ?? 0, value, options?.signal),
    });
    Object.assign(crypto, {
      randomBytes: (size: number) => Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256))),
    });
    Math.random = random;
    Date.now = () => START_MS + this.schedule.now;
    const clocks = new Set([performance, globalThis.performance]);
    for (const one of clocks) Object.defineProperty(one, 'now', { value: now, configurable: true, writable: true });
    this.end = () => {
      Object.assign(globalThis, {
        setTimeout: realSetTimeout,
        clearTimeout: realClearTimeout,
        setInterval: realSetInterval,
        clearInterval: realClearInterval,
        setImmediate: realSetImmediate,
        clearImmediate: realClearImmediate,
      });
      Object.assign(timers, { setTimeout: realSleep });
      Object.assign(crypto, { randomBytes: realBytes });
      Math.random = realRandom;
      Date.now = realDate;
      for (const one of clocks) Reflect.deleteProperty(one, 'now');
    };
  }

  finish(): void {
    this.end?.();
    this.end = null;
  }

  private later(act: () => void, ms: number, repeats: boolean): VirtualTimer {
    const timer = new VirtualTimer();
    const run = (): void => {
      if (timer.isOver) return;
      this.touch();
      if (repeats) this.schedule.after(ms, run);
      else timer.isOver = true;
      act();
    };
    this.schedule.after(ms, run);
    return timer;
  }

  private sleep(ms: number, value: unknown, signal?: AbortSignal): Promise<unknown> {
    return new Promise((done, fail) => {
      if (signal?.aborted === true) return fail(signal.reason as Error);
      const abort = (): void => {
        timer.isOver = true;
        fail(signal!.reason as Error);
      };
      const timer = this.later(
        () => {
          signal?.removeEventListener('abort', abort);
          done(value);
        },
        ms,
        false,
      );
      signal?.addEventListener('abort', abort);
    });
  }
}

class VirtualTimer {
  isOver = false;

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}
