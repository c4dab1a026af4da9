import { type CountsByStep, quantileOf } from '../../../shared/base/metrics/step-histogram';
import type { Clock } from '../../../shared/base/time/clock';
import type { HttpLoad } from '../load/http-load';
import type { ActivityService, ActivityView, RateView } from '../../cluster/operations/activity-service';
import type { SlowRequests } from './slow-requests';

/** How often the counts are kept. */
const KEEP_MS = 5_000;
/** Rates are over the last time between this and twice this: short enough to see a change, long enough to be steady. */
const RATE_MS = 5_000;
/** Quantiles are over the last minute: those of a few requests would jump. */
const QUANTILE_MS = 60_000;

/** What is counted: durations in seconds, and failures, by name. */
export interface CountedCalls {
  counts(): CountsByStep;
  /** Calls that failed; a name that is missing has none. */
  failures(): ReadonlyMap<string, number>;
  readonly bounds: readonly number[];
}

interface Kept {
  atMs: number;
  requests: Copy;
  embedding: Copy;
  processorMs: number;
}

interface Copy {
  buckets: Map<string, Float64Array>;
  failures: Map<string, number>;
}

const NOTHING: Copy = { buckets: new Map(), failures: new Map() };

/**
 * What a process does at present, from the counts of its metrics: these are kept every few seconds, and the differences
 * are the rates. So a request costs nothing more than its metrics do.
 */
export class RecentActivity implements ActivityService {
  private readonly parts: {
    id: string;
    clock: Clock;
    requests: CountedCalls;
    embedding: CountedCalls;
    load: Pick<HttpLoad, 'requests' | 'bodyBytes' | 'refused'>;
    slow: SlowRequests;
  };
  private readonly startedMs: number;
  /** The earliest first; never empty. */
  private readonly kept: Kept[] = [];
  private readonly timer: NodeJS.Timeout;

  constructor(parts: RecentActivity['parts']) {
    this.parts = parts;
    this.startedMs = parts.clock.monotonicMs();
    this.kept.push({ atMs: this.startedMs, requests: NOTHING, embedding: NOTHING, processorMs: processorMs() });
    this.timer = setInterval(() => this.keep(), KEEP_MS);
    this.timer.unref();
  }

  async activity(): Promise<ActivityView> {
    const { id, clock, load, slow } = this.parts;
    const now = this.now();
    const rateFrom = this.before(now.atMs - RATE_MS);
    const quantileFrom = this.before(now.atMs - QUANTILE_MS);
    const requests = ratesOf(this.parts.requests, now.requests, {
      rateFrom: rateFrom.requests,
      quantileFrom: quantileFrom.requests,
      rateMs: now.atMs - rateFrom.atMs,
    });
    const embedding = ratesOf(this.parts.embedding, now.embedding, {
      rateFrom: rateFrom.embedding,
      quantileFrom: quantileFrom.embedding,
      rateMs: now.atMs - rateFrom.atMs,
    });
    const { rss, heapUsed } = process.memoryUsage();
    const elapsedMs = Math.max(1, now.atMs - rateFrom.atMs);
    return {
      process: {
        id,
        pid: process.pid,
        uptimeSeconds: Math.round(clock.monotonicMs() - this.startedMs) / 1000,
        memoryBytes: rss,
        heapBytes: heapUsed,
        processors: rounded((now.processorMs - rateFrom.processorMs) / elapsedMs),
      },
      rateSeconds: rounded((now.atMs - rateFrom.atMs) / 1000),
      quantileSeconds: rounded((now.atMs - quantileFrom.atMs) / 1000),
      requests: requests.all,
      operations: requests.each.map(([endpoint, rates]) => ({ endpoint, ...rates })),
      embedding: embedding.each.map(([kind, rates]) => ({ kind, ...rates })),
      inFlight: load.requests,
      bodyBytes: load.bodyBytes,
      shed: load.refused,
      slow: slow.latest(),
      slowMs: slow.slowMs,
    };
  }

  close(): void {
    clearInterval(this.timer);
  }

  private keep(): void {
    const now = this.now();
    this.kept.push(now);
    // The one before the longest time is needed, too.
    while (this.kept.length > 1 && this.kept[1].atMs <= now.atMs - QUANTILE_MS) this.kept.shift();
  }

  private now(): Kept {
    const { clock, requests, embedding } = this.parts;
    return {
      atMs: clock.monotonicMs(),
      requests: copyOf(requests),
      embedding: copyOf(embedding),
      processorMs: processorMs(),
    };
  }

  /** The latest counts that were kept at that time or before; the first if there are none. */
  private before(atMs: number): Kept {
    return this.kept.findLast((kept) => kept.atMs <= atMs) ?? this.kept[0];
  }
}

/** Of all threads, since the start. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function copyOf(calls: CountedCalls): Copy {
  return {
    buckets: new Map([...calls.counts()].map(([name, { buckets }]) => [name, buckets.slice()])),
    failures: new Map(calls.failures()),
  };
}

interface Since {
  rateFrom: Copy;
  quantileFrom: Copy;
  rateMs: number;
}

/** The rates of each name that was ever counted, the busiest first, and of all together. */
function ratesOf({ bounds }: CountedCalls, now: Copy, since: Since): { all: RateView; each: [string, RateView][] } {
  const names = [...now.buckets.keys()];
  const each = names
    .map((name): [string, RateView] => [name, rateOf(bounds, [name], now, since)])
    .filter(([, { total }]) => total > 0)
    .sort(([a, x], [b, y]) => y.perSecond - x.perSecond || y.total - x.total || (a < b ? -1 : 1));
  return { all: rateOf(bounds, names, now, since), each };
}

function rateOf(
  bounds: readonly number[],
  names: readonly string[],
  now: Copy,
  { rateFrom, quantileFrom, rateMs }: Since,
): RateView {
  const total = sumOf(names, now);
  const seconds = Math.max(rateMs, 1) / 1000;
  const earlier = sumOf(names, rateFrom);
  const recent = bucketsBetween(names, quantileFrom, now, bounds.length + 1);
  return {
    perSecond: rounded((total.calls - earlier.calls) / seconds),
    errorsPerSecond: rounded((total.failures - earlier.failures) / seconds),
    p50Ms: milliseconds(quantileOf(recent, bounds, 0.5)),
    p99Ms: milliseconds(quantileOf(recent, bounds, 0.99)),
    total: total.calls,
    errors: total.failures,
  };
}

function sumOf(names: readonly string[], { buckets, failures }: Copy): { calls: number; failures: number } {
  let calls = 0;
  let failed = 0;
  for (const name of names) {
    for (const count of buckets.get(name) ?? []) calls += count;
    failed += failures.get(name) ?? 0;
  }
  return { calls, failures: failed };
}

function bucketsBetween(names: readonly string[], earlier: Copy, now: Copy, length: number): Float64Array {
  const between = new Float64Array(length);
  for (const name of names) {
    const before = earlier.buckets.get(name);
    now.buckets.get(name)?.forEach((count, i) => (between[i] += count - (before?.[i] ?? 0)));
  }
  return between;
}

function milliseconds(seconds: number | null): number | null {
  return seconds === null ? null : rounded(seconds * 1000);
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
