import type { Clock } from '../../../shared/base/time/clock';

/** What clients wait for while another set of shards takes over, step by step, for the log. */
export class PauseSteps {
  private readonly startMs: number;
  private readonly steps = new Map<string, number>();
  private lastMs: number;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {
    this.startMs = clock.monotonicMs();
    this.lastMs = this.startMs;
  }

  /** The step has come to its end, and the next one begins. */
  note(step: string): void {
    const nowMs = this.clock.monotonicMs();
    this.steps.set(step, (this.steps.get(step) ?? 0) + nowMs - this.lastMs);
    this.lastMs = nowMs;
  }

  /** In whole milliseconds: all of it, and what each step took of it. */
  get facts(): { pauseMs: number; stepsMs: Record<string, number> } {
    const stepsMs = Object.fromEntries([...this.steps].map(([step, ms]) => [step, Math.round(ms)]));
    return { pauseMs: Math.round(this.lastMs - this.startMs), stepsMs };
  }
}
