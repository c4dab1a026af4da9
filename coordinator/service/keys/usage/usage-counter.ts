import type { UsageView } from '../keys-service';
import type { UsageTotals } from './usage-entries';

const HOUR_MS = 3_600_000;
const HOURS_PER_DAY = 24;
/** 30 days and the current hour touch at most 32 calendar days; older days are dropped. */
const DAYS_KEPT = 32;
/** Far more than the API has routes. Further endpoints are counted together, so that a counter stays small. */
const ENDPOINTS_MAX = 128;
const OTHER_ENDPOINTS = 'other';

/** Requests about one subject: in total, per endpoint, and per hour of the last days. A pure value without a clock. */
export class UsageCounter {
  private requests = 0;
  private lastRequestMs = 0;
  private readonly byEndpoint = new Map<string, number>();
  /** Day since the epoch (UTC) → requests in each of its hours. */
  private readonly hoursByDay = new Map<number, number[]>();

  add(endpoint: string, nowMs: number): void {
    this.requests += 1;
    this.lastRequestMs = Math.max(this.lastRequestMs, nowMs);
    this.addToEndpoint(endpoint, 1);
    const hour = Math.floor(nowMs / HOUR_MS);
    this.hoursOf(Math.floor(hour / HOURS_PER_DAY))[hour % HOURS_PER_DAY] += 1;
  }

  addTotals(totals: UsageTotals): void {
    this.requests += totals.requests;
    this.lastRequestMs = Math.max(this.lastRequestMs, totals.lastRequestMs);
    for (const [endpoint, requests] of Object.entries(totals.byEndpoint)) this.addToEndpoint(endpoint, requests);
  }

  addHours(day: number, hours: readonly number[]): void {
    const own = this.hoursOf(day);
    for (let hour = 0; hour < HOURS_PER_DAY; hour += 1) own[hour] += hours[hour] ?? 0;
  }

  addCounter(other: UsageCounter): void {
    this.addTotals(other.totals());
    for (const [day, hours] of other.hoursByDay) this.addHours(day, hours);
  }

  /** Drops the days that no view needs any more, and answers them. */
  forgetOldDays(nowMs: number): number[] {
    const firstKept = Math.floor(nowMs / HOUR_MS / HOURS_PER_DAY) - DAYS_KEPT + 1;
    const old = [...this.hoursByDay.keys()].filter((day) => day < firstKept);
    for (const day of old) this.hoursByDay.delete(day);
    return old;
  }

  totals(): UsageTotals {
    return {
      requests: this.requests,
      byEndpoint: Object.fromEntries(this.byEndpoint),
      lastRequestMs: this.lastRequestMs,
    };
  }

  hours(day: number): readonly number[] {
    return this.hoursByDay.get(day) ?? [];
  }

  get lastMs(): number {
    return this.lastRequestMs;
  }

  /** Spans are counted in whole hours from the start of their first hour, so they omit nothing. */
  view(nowMs: number): UsageView {
    return {
      totalRequests: this.requests,
      last24h: this.inLastHours(24, nowMs),
      last7d: this.inLastHours(24 * 7, nowMs),
      last30d: this.inLastHours(24 * 30, nowMs),
      byEndpoint: Object.fromEntries([...this.byEndpoint].sort((a, b) => b[1] - a[1])),
      lastRequestAt: this.lastRequestMs === 0 ? null : new Date(this.lastRequestMs).toISOString(),
    };
  }

  private inLastHours(span: number, nowMs: number): number {
    const first = Math.floor(nowMs / HOUR_MS) - span;
    let sum = 0;
    for (const [day, hours] of this.hoursByDay) {
      for (let hour = 0; hour < HOURS_PER_DAY; hour += 1) if (day * HOURS_PER_DAY + hour >= first) sum += hours[hour];
    }
    return sum;
  }

  private addToEndpoint(endpoint: string, requests: number): void {
    const name = this.byEndpoint.has(endpoint) || this.byEndpoint.size < ENDPOINTS_MAX ? endpoint : OTHER_ENDPOINTS;
    this.byEndpoint.set(name, (this.byEndpoint.get(name) ?? 0) + requests);
  }

  private hoursOf(day: number): number[] {
    let hours = this.hoursByDay.get(day);
    if (hours === undefined) {
      hours = new Array<number>(HOURS_PER_DAY).fill(0);
      this.hoursByDay.set(day, hours);
    }
    return hours;
  }
}

/** The day of a wall time, counted from the epoch in UTC. */
export function dayOfMs(wallMs: number): number {
  return Math.floor(wallMs / HOUR_MS / HOURS_PER_DAY);
}
