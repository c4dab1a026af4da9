import type { Clock } from '../../../shared/base/time/clock';
import { SharedWindow, WINDOW_MS } from './shared-window';
import { limitOf } from './subject';

/** Places of a new window: most subjects are quiet, and a window that is full is replaced by a larger one. */
const CAPACITY_MIN = 8;
/** By which a window grows: a subject that uses its limit has few replacements to wait for. */
const GROWTH = 8;
/** As in SlidingWindowLimiter: room for every key, and a bound on what a flood of client addresses can take. */
const SUBJECTS_MAX = 100_000;

interface Entry {
  window: SharedWindow;
  /** A window that is quite new need not have been used by whoever asked for it. */
  madeMs: number;
}

/**
 * The windows of a process by subject. The main thread makes, replaces and drops them, and all threads count in them. A
 * window that is replaced or dropped is retired, so that whoever still has it asks for the present one. A subject that
 * was quiet for a minute is dropped when others come; beyond `subjectsMax`, those that were made first are dropped
 * early.
 */
export class WindowTable {
  private readonly limit: number;
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  private readonly subjectsMax: number;
  /** In the order in which they were made or last looked at. */
  private readonly windows = new Map<string, Entry>();

  /** `limit`: of subjects that have none of their own. `clock`: one that all threads share. */
  constructor(parts: { limit: number; clock: Pick<Clock, 'monotonicMs'>; subjectsMax?: number }) {
    this.limit = parts.limit;
    this.clock = parts.clock;
    this.subjectsMax = parts.subjectsMax ?? SUBJECTS_MAX;
  }

  /** The window of a subject. `full`: the capacity of the one that the caller found full; 0 if none was. */
  of(subject: string, full: number): SharedWindow {
    const entry = this.windows.get(subject);
    const limit = limitOf(subject, this.limit);
    if (entry === undefined) {
      const made: Entry = {
        window: SharedWindow.create(Math.min(limit, CAPACITY_MIN)),
        madeMs: this.clock.monotonicMs(),
      };
      this.windows.set(subject, made);
      this.dropQuiet();
      return made.window;
    }
    const { window } = entry;
    if (window.capacity <= full && window.capacity < limit)
      entry.window = SharedWindow.create(
        Math.min(limit, window.capacity * GROWTH),
        window.retire(this.clock.monotonicMs()),
      );
    return entry.window;
  }

  /** Subjects in memory now. */
  get subjectCount(): number {
    return this.windows.size;
  }

  /** Looks at two, because each call follows one new subject: so it keeps up without ever delaying a request. */
  private dropQuiet(): void {
    const nowMs = this.clock.monotonicMs();
    let looks = 2;
    for (const [subject, entry] of this.windows) {
      if (looks-- === 0) return;
      const isTooMany = this.windows.size > this.subjectsMax;
      this.windows.delete(subject);
      if (isTooMany) {
        entry.window.retire(nowMs);
        continue;
      }
      if (isQuiet(entry, nowMs)) {
        const recent = entry.window.retire(nowMs);
        // Unless it was used at this very moment.
        if (recent.length === 0) continue;
        entry.window = SharedWindow.create(entry.window.capacity, recent);
      }
      this.windows.set(subject, entry);
    }
  }
}

function isQuiet({ window, madeMs }: Entry, nowMs: number): boolean {
  return madeMs + WINDOW_MS <= nowMs && window.isQuiet(nowMs);
}
