import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Clock, systemClock } from '../time/clock';
import { inTime } from '../time/deadline';
import { type Scrape, SharedScrape } from './shared-scrape';
import { StepHistogram, type StepHistogramOptions } from './step-histogram';

/**
 * How often the delay of the event loop is sampled: often enough to catch delays that people notice, too rarely to cost
 * anything measurable.
 */
const SAMPLE_MS = 100;
/** From the usual lateness of a timer to what clients take for an outage, in seconds. */
const DELAY_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** A part that takes longer is left out of the scrape. By default, Prometheus gives up on a target after 10 s. */
const MEASURE_TIMEOUT_MS = 5_000;

/** Gauges of prom-client that are named like counters. They repeat what `nodejs_active_resources` shows by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * prom-client has libuv sample the delay of the event loop a hundred times a second: two thirds of what an idle process
 * did. It can't be told not to, but to do so once an hour; what it would show is shown of the samples that are taken
 * anyway.
 */
const NEVER_MS = 3_600_000;
const LAGS: readonly [name: string, help: string, read: (histogram: RecordableHistogram) => number][] = [
  ['min', 'The minimum recorded event loop delay.', ({ min }) => min],
  ['max', 'The maximum recorded event loop delay.', ({ max }) => max],
  ['mean', 'The mean of the recorded event loop delays.', ({ mean }) => mean],
  ['stddev', 'The standard deviation of the recorded event loop delays.', ({ stddev }) => stddev],
  ['p50', 'The 50th percentile of the recorded event loop delays.', (histogram) => histogram.percentile(50)],
  ['p90', 'The 90th percentile of the recorded event loop delays.', (histogram) => histogram.percentile(90)],
  ['p99', 'The 99th percentile of the recorded event loop delays.', (histogram) => histogram.percentile(99)],
];

/** Metrics that are measured at each scrape. */
export interface ScrapedPart<Measures> {
  /** Called at every scrape; should answer within {@link MEASURE_TIMEOUT_MS}. null: there is nothing to show yet. */
  measure(): Promise<Measures | null>;
  /** Sets the gauges. null: there are no values yet or measuring failed, so the old values must not be shown. */
  show(measures: Measures | null): void;
}

/** What a process is, as labels that stay the same for its life. */
export interface ProcessIdentity {
  role: 'embedded' | 'coordinator' | 'node';
  /** Its name in the cluster. */
  member: string;
  version: string;
}

/**
 * The metrics of one process, in a registry of its own: memory, processor and event loop, to which every part of the
 * program adds its metrics. Names and units follow Prometheus's conventions; labels are bounded.
 */
export class ProcessMetrics {
  readonly registry = new Registry();
  private readonly parts: ScrapedPart<unknown>[] = [];
  private readonly preparations: (() => Promise<void>)[] = [];
  /** Kept outside the registry, which accepts only prom-client's own metrics. */
  private readonly stepHistograms: { text(): string }[] = [];
  private readonly onMeasureError: (error: unknown) => void;
  private readonly timeoutMs: number;
  private readonly failures: Counter;
  private readonly shared: SharedScrape;

  /** `onMeasureError` gets the reason why a part could not be measured; the scrape continues without it. */
  constructor(options: {
    identity: ProcessIdentity;
    onMeasureError: (error: unknown) => void;
    measureTimeoutMs?: number;
    clock?: Clock;
  }) {
    this.shared = new SharedScrape({
      build: async () => ({ contentType: this.contentType, text: await this.text() }),
      clock: options.clock ?? systemClock,
    });
    this.onMeasureError = options.onMeasureError;
    this.timeoutMs = options.measureTimeoutMs ?? MEASURE_TIMEOUT_MS;
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: NEVER_MS });
    for (const name of [...MISNAMED, ...LAGS.map(([lag]) => lagName(lag))]) this.registry.removeSingleMetric(name);
    observeEventLoopDelay(this.registry);
    const { role, member, version } = options.identity;
    new Gauge({
      name: 'quiver_process_info',
      help: 'Always 1; the labels say what the process is',
      labelNames: ['role', 'member', 'version'],
      registers,
    }).set({ role, member, version }, 1);
    this.failures = new Counter({
      name: 'quiver_measure_failures_total',
      help: 'Parts of scrapes that could not be measured and were left out',
      registers,
    });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Adds gauges that are measured together at every scrape. */
  add<Measures>(part: ScrapedPart<Measures>): void {
    part.show(null);
    this.parts.push(part as ScrapedPart<unknown>);
  }

  /** Adds a gauge whose value can be read at once. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** Adds a counter that is counted elsewhere; `read` must never fall while the process lives. */
  counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  /** Adds a histogram for the hot path. */
  stepHistogram<Step extends string>(options: StepHistogramOptions<Step>): StepHistogram<Step> {
    const histogram = new StepHistogram(options);
    this.stepHistograms.push(histogram);
    return histogram;
  }

  /** Has `prepare` called before every scrape that is made; the scrape waits for it. */
  beforeRead(prepare: () => Promise<void>): void {
    this.preparations.push(prepare);
  }

  /** The metrics, at most a second old. Every port of the process gives the same answer. */
  read(): Promise<Scrape> {
    return this.shared.read();
  }

  /** The metrics in Prometheus's text format, measured now. */
  async text(): Promise<string> {
    await Promise.all(this.preparations.map((prepare) => prepare()));
    await Promise.all(this.parts.map(async (part) => part.show(await this.measured(part))));
    return [await this.registry.metrics(), ...this.stepHistograms.map((histogram) => `${histogram.text()}\n`)].join(
      '\n',
    );
  }

  private async measured(part: ScrapedPart<unknown>): Promise<unknown> {
    try {
      return await inTime(part.measure(), this.timeoutMs, () => new Error(`not measured within ${this.timeoutMs} ms`));
    } catch (error) {
      this.failures.inc();
      this.onMeasureError(error);
      return null;
    }
  }
}

/**
 * How late the event loop runs its timers, as a histogram. Histograms can be summed over processes and scrapers;
 * quantiles since the last scrape can't.
 */
function observeEventLoopDelay(registry: Registry): void {
  const delays = new Histogram({
    name: 'quiver_event_loop_delay_seconds',
    help: 'How late the event loop ran a timer, sampled ten times a second',
    buckets: DELAY_BUCKETS,
    registers: [registry],
  });
  const sinceScrape = createHistogram();
  const lags = LAGS.map(([name, help, read], i) => ({
    gauge: new Gauge({ name: lagName(name), help, registers: [registry], ...(i === 0 && { collect: () => show() }) }),
    read,
  }));
  /** Of the time since the last scrape that saw a sample. */
  const show = (): void => {
    if (sinceScrape.count === 0) return;
    for (const { gauge, read } of lags) gauge.set(read(sinceScrape) / 1e9);
    sinceScrape.reset();
  };
  let expectedMs = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const lateMs = Math.max(0, nowMs - expectedMs);
    delays.observe(lateMs / 1000);
    sinceScrape.record(Math.max(1, Math.round(lateMs * 1e6)));
    expectedMs = nowMs + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
}

function lagName(lag: string): string {
  return `nodejs_eventloop_lag_${lag}_seconds`;
}
