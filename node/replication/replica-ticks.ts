import type { Clock } from '../../shared/time/clock';
import { deadlineTimer } from '../../shared/time/deadline';

/** What is to be done at a time, at most one time at once. `act` gets the time of the clock, the same for all of a moment. */
export interface Ticking {
  act(nowMs: number): void;
}

/**
 * One timer for all replicas of a node. What is due within the same millisecond is done in the same turn of the event loop
 * and at the same time of the clock, so that heartbeats of one moment go out together.
 */
export class ReplicaTicks {
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  /** By whole milliseconds, so that there are few of them however many replicas there are. */
  private readonly due = new Map<number, Set<Ticking>>();
  private readonly moments = new Map<Ticking, number>();
  private timer: NodeJS.Timeout | null = null;
  private timerAtMs = Infinity;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.clock = clock;
  }

  /** In the place of the time that was set before. Infinity: none. */
  set(ticking: Ticking, atMs: number): void {
    const moment = Math.ceil(atMs);
    const before = this.moments.get(ticking);
    if (before === moment) return;
    if (before !== undefined) this.remove(ticking, before);
    if (atMs === Infinity) return;
    this.moments.set(ticking, moment);
    const others = this.due.get(moment);
    if (others === undefined) this.due.set(moment, new Set([ticking]));
    else others.add(ticking);
    if (moment < this.timerAtMs) this.arm(moment);
  }

  private remove(ticking: Ticking, moment: number): void {
    this.moments.delete(ticking);
    const others = this.due.get(moment)!;
    others.delete(ticking);
    if (others.size > 0) return;
    this.due.delete(moment);
    if (this.due.size === 0) this.disarm();
  }

  private arm(moment: number): void {
    this.disarm();
    this.timerAtMs = moment;
    this.timer = deadlineTimer(moment - this.clock.monotonicMs(), () => this.tick());
  }

  private disarm(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.timerAtMs = Infinity;
  }

  private tick(): void {
    this.disarm();
    const nowMs = this.clock.monotonicMs();
    const acting: Ticking[] = [];
    for (const [moment, some] of this.due) {
      if (moment > nowMs) continue;
      this.due.delete(moment);
      for (const ticking of some) {
        this.moments.delete(ticking);
        acting.push(ticking);
      }
    }
    try {
      for (const ticking of acting) ticking.act(nowMs);
    } finally {
      const next = Math.min(...this.due.keys());
      if (next < this.timerAtMs) this.arm(next);
    }
  }
}
