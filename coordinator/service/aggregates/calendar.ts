import type { CalendarUnit } from '../aggregates-service';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Clocks of a zone are never set by more at once, and offsets are smaller. */
const SIDE_MS = DAY_MS;
/** Days from a Monday to the first of 1970. */
const EPOCH_WEEKDAY = 3;

/** The clocks of a time zone: what they show at a time. */
export class ZoneClock {
  private readonly format: Intl.DateTimeFormat | null;

  /** `timeZone`: an IANA name. One that is unknown is a RangeError. */
  constructor(timeZone: string) {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    this.format = format.resolvedOptions().timeZone === 'UTC' ? null : format;
  }

  /** By how many milliseconds the clocks are ahead of UTC at a time. */
  offsetMs(atMs: number): number {
    if (this.format === null) return 0;
    const wholeMs = Math.floor(atMs / 1_000) * 1_000;
    const parts: Record<string, string> = {};
    for (const { type, value } of this.format.formatToParts(wholeMs)) parts[type] = value;
    const year = parts.era.startsWith('B') ? 1 - Number(parts.year) : Number(parts.year);
    const shown = utcMs(year, Number(parts.month) - 1, Number(parts.day));
    return (
      shown + Number(parts.hour) * HOUR_MS + Number(parts.minute) * MINUTE_MS + Number(parts.second) * 1_000 - wholeMs
    );
  }

  /** What the clocks show, as the milliseconds since 1970 of clocks in UTC that show the same. */
  shownMs(atMs: number): number {
    return atMs + this.offsetMs(atMs);
  }

  /** The first time at which the clocks show this or, where they skip it, more. */
  firstMs(shownMs: number): number {
    if (this.format === null) return shownMs;
    const [before, after] = [this.offsetMs(shownMs - SIDE_MS), this.offsetMs(shownMs + SIDE_MS)];
    const candidates =
      before === after ? [shownMs - before] : [shownMs - before, shownMs - after].sort((a, b) => a - b);
    const first = candidates.find((atMs) => this.shownMs(atMs) === shownMs);
    if (first !== undefined) return first;
    // It lies where the clocks are set forward: at that moment.
    let [low, high] = [shownMs - SIDE_MS, shownMs + SIDE_MS];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.shownMs(middle) >= shownMs) high = middle;
      else low = middle;
    }
    return high;
  }

  /** ISO 8601 with the offset that holds then. */
  text(atMs: number): string {
    const offset = this.offsetMs(atMs);
    const shown = new Date(atMs + offset).toISOString().replace(/\.000Z$|Z$/, '');
    if (this.format === null) return `${shown}Z`;
    const seconds = Math.abs(offset) / 1_000;
    const sign = offset < 0 ? '-' : '+';
    const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
    if (seconds % 60 !== 0) parts.push(seconds % 60);
    return `${shown}${sign}${parts.map((part) => String(part).padStart(2, '0')).join(':')}`;
  }
}

/**
 * The edges of the units of a calendar from that which has the first time to behind that which has the last, one for
 * each step; weeks begin on Monday.
 */
export function* calendarEdges(
  unit: CalendarUnit,
  clock: ZoneClock,
  firstMs: number,
  lastMs: number,
): Generator<number> {
  let edge = edgeBefore(unit, clock, firstMs);
  for (; edge <= lastMs; edge = edgeAfter(unit, clock, edge)) yield edge;
  yield edge;
}

function edgeBefore(unit: CalendarUnit, clock: ZoneClock, atMs: number): number {
  const shown = clock.shownMs(atMs);
  if (unit === 'hour' || unit === 'minute') return atMs - modulo(shown, unit === 'hour' ? HOUR_MS : MINUTE_MS);
  const edge = clock.firstMs(startOf(unit, shown));
  // Clocks that are set back over midnight show the day before once more.
  return edge <= atMs ? edge : clock.firstMs(startOf(unit, shown - 1));
}

function edgeAfter(unit: CalendarUnit, clock: ZoneClock, edgeMs: number): number {
  if (unit === 'hour' || unit === 'minute') {
    const step = unit === 'hour' ? HOUR_MS : MINUTE_MS;
    const next = edgeMs + step;
    // Clocks may be set by half an hour.
    const over = modulo(clock.shownMs(next), step);
    return over === 0 || next - over <= edgeMs ? next : next - over;
  }
  const shown = clock.shownMs(edgeMs);
  const next = clock.firstMs(nextStart(unit, startOf(unit, shown)));
  // Where a whole day is left out, the next begins with the one after.
  return next > edgeMs ? next : clock.firstMs(nextStart(unit, nextStart(unit, startOf(unit, shown))));
}

function startOf(unit: CalendarUnit, shownMs: number): number {
  const date = new Date(shownMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const day = Math.floor(shownMs / DAY_MS);
  switch (unit) {
    case 'year':
      return utcMs(year, 0, 1);
    case 'quarter':
      return utcMs(year, month - (month % 3), 1);
    case 'month':
      return utcMs(year, month, 1);
    case 'week':
      return (day - modulo(day + EPOCH_WEEKDAY, 7)) * DAY_MS;
    case 'day':
    case 'hour':
    case 'minute':
      return day * DAY_MS;
  }
}

function nextStart(unit: CalendarUnit, startMs: number): number {
  const date = new Date(startMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (unit === 'year') return utcMs(year + 1, 0, 1);
  if (unit === 'quarter') return utcMs(year, month + 3, 1);
  if (unit === 'month') return utcMs(year, month + 1, 1);
  return startMs + (unit === 'week' ? 7 : 1) * DAY_MS;
}

/** As Date.UTC, which takes years below 100 for those of the last century. */
function utcMs(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month, day);
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
