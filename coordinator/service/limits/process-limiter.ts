import type { Clock } from '../../../shared/base/time/clock';
import type { RateDecision, RateLimiter } from './rate-limiter';
import { PLACES_MAX, SharedWindow, WINDOW_MS } from './shared-window';
import { limitOf } from './subject';
import { WindowLimiter } from './window-limiter';

/** Admissions of a new window: most subjects are quiet, and a window that is full is replaced by a larger one. */
const CAPACITY_MIN = 8;
/** By which a window grows: a subject that uses its limit has few replacements to wait for. */
const GROWTH = 8;
/** Room for every key, and a bound on what a flood of client addresses can take. */
const SUBJECTS_MAX = 100_000;

interface Entry {
  window: SharedWindow;
  /** A window that is quite new need not have been used by whoever asked for it. */
  madeMs: number;
}

/**
 * A limit of this process, on its main thread: it has the windows by subject, makes, replaces and drops them, and all
 * threads count in them. A window that is replaced or dropped is retired, so that whoever still has it asks for the
 * present one. A subject that was quiet for a minute is dropped when others come; beyond `subjectsMax`, one that was
 * looked at long ago is dropped early. So subjects that strangers can invent (client addresses) need a limiter of their
 * own, apart from keys.
 */
export class ProcessLimiter implements RateLimiter {
  private readonly limit: number;
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  private readonly subjectsMax: number;
  private readonly limiter: WindowLimiter;
  /** In the order in which they were made or last looked at. */
  private readonly windows = new Map<string, Entry>();

  /**
   * `limit`: admissions in any 60 seconds of subjects that have no limit of their own; 0 admits everything. `clock`:
   * one that all threads share.
   */
  constructor(parts: { limit: number; clock: Pick<Clock, 'monotonicMs'>; subjectsMax?: number }) {
    this.limit = parts.limit;
    this.clock = parts.clock;
    this.subjectsMax = parts.subjectsMax ?? SUBJECTS_MAX;
    this.limiter = new WindowLimiter({ ...parts, source: (subject, full) => this.windowOf(subject, full) });
  }

  admit(subject: string): RateDecision | Promise<RateDecision> {
    return this.limiter.admit(subject);
  }

  /** The memory of a subject's window, for another thread. `full`: as {@link windowOf}. */
  window(subject: string, full: number): SharedArrayBuffer {
    return this.windowOf(subject, full).memory;
  }

  /** Subjects in memory now. */
  get subjectCount(): number {
    return this.windows.size;
  }

  /** The window of a subject. `full`: the capacity of the one that the caller found full; 0 if none was. */
  private windowOf(subject: string, full: number): SharedWindow {
    const entry = this.windows.get(subject);
    const limit = limitOf(subject, this.limit);
    const nowMs = this.clock.monotonicMs();
    if (entry === undefined) {
      const made: Entry = { window: SharedWindow.create(Math.min(limit, CAPACITY_MIN)), madeMs: nowMs };
      this.windows.set(subject, made);
      this.dropQuiet(nowMs);
      return made.window;
    }
    const { window } = entry;
    if (window.capacity <= full && window.capacity < limit)
      entry.window = SharedWindow.create(grown(window.capacity, limit), window.retire(nowMs));
    return entry.window;
  }

  /** Looks at two, because each call follows one new subject: so it keeps up without ever delaying a request. */
  private dropQuiet(nowMs: number): void {
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

/** The capacity of the next window. A window of all places takes the same memory whatever its capacity. */
function grown(capacity: number, limit: number): number {
  const next = capacity * GROWTH;
  return next < Math.min(limit, PLACES_MAX) ? next : limit;
}

function isQuiet({ window, madeMs }: Entry, nowMs: number): boolean {
  return madeMs + WINDOW_MS <= nowMs && window.isQuiet(nowMs);
}
