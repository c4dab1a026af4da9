import type { Clock } from '../../../shared/base/time/clock';

const SAMPLE_MS = 200;
/**
 * Weight of the newest sample. A single pause (a large body, a garbage collection) does not count as overload; a
 * lasting delay does within a second or two.
 */
const NEWEST_WEIGHT = 0.25;

/** How late the event loop runs its timers, in milliseconds, smoothed. */
export class EventLoopLag {
  private readonly clock: Clock;
  private readonly timer: NodeJS.Timeout;
  private expectedMs: number;
  private smoothedMs = 0;

  constructor(options: { clock: Clock }) {
    this.clock = options.clock;
    this.expectedMs = this.clock.monotonicMs() + SAMPLE_MS;
    this.timer = setInterval(() => this.sample(), SAMPLE_MS);
    this.timer.unref();
  }

  get delayMs(): number {
    return this.smoothedMs;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private sample(): void {
    const nowMs = this.clock.monotonicMs();
    const lateMs = Math.max(0, nowMs - this.expectedMs);
    this.smoothedMs += (lateMs - this.smoothedMs) * NEWEST_WEIGHT;
    this.expectedMs = nowMs + SAMPLE_MS;
  }
}
