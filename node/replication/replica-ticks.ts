import type { Clock } from '../../shared/base/time/clock';
import { deadlineTimer } from '../../shared/base/time/deadline';

/**
 * What is to be done at a time, at most one time at once. `act` gets the time of the clock, the same for all of a
 * moment.
 */
export interface Ticking {
  act(nowMs: number): void;
  /** Of ReplicaTicks, which alone changes it: when it is due, in whole milliseconds; null: never. */
  moment: number | null;
}

/** Those that were set for a moment. Some may be due at another one by now: only `count` of them are not. */
interface Due {
  tickings: Ticking[];
  count: number;
}

/**
 * One timer for all replicas of a node. What is due within the same millisecond is done in the same turn of the event
 * loop and at the same time of the clock, so that heartbeats of one moment go out together.
 */
export class ReplicaTicks {
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  /** By whole milliseconds, so that there are few of them however many replicas there are. */
  private readonly due = new Map<number, Due>();
  private timer: NodeJS.Timeout | null = null;
  private timerAtMs = Infinity;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.clock = clock;
  }

  /** In the place of the time that was set before. Infinity: none. */
  set(ticking: Ticking, atMs: number): void {
    const moment = atMs === Infinity ? null : Math.ceil(atMs);
    if (ticking.moment === moment) return;
    if (ticking.moment !== null) this.leave(ticking.moment);
    ticking.moment = moment;
    if (moment === null) return;
    const due = this.due.get(moment);
    if (due === undefined) this.due.set(moment, { tickings: [ticking], count: 1 });
    else {
      due.count += 1;
      due.tickings.push(ticking);
      // One that comes and goes is in it several times.
      if (due.tickings.length > due.count * 2)
        due.tickings = [...new Set(due.tickings.filter((one) => one.moment === moment))];
    }
    if (moment < this.timerAtMs) this.arm(moment);
  }

  private leave(moment: number): void {
    const due = this.due.get(moment)!;
    due.count -= 1;
    if (due.count > 0) return;
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
    for (const [moment, { tickings }] of this.due) {
      if (moment > nowMs) continue;
      this.due.delete(moment);
      for (const ticking of tickings) {
        if (ticking.moment !== moment) continue;
        ticking.moment = null;
        acting.push(ticking);
      }
    }
    try {
      for (const ticking of acting) ticking.act(nowMs);
    } finally {
      let next = Infinity;
      for (const moment of this.due.keys()) if (moment < next) next = moment;
      if (next < this.timerAtMs) this.arm(next);
    }
  }
}
