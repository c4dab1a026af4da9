import type { Metric, Registry } from 'prom-client';

/** Counts of one step, by bucket (not cumulative, the last is +Inf). */
interface StepCounts {
  buckets: Float64Array;
  sum: number;
  count: number;
}

interface Sample {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}

/**
 * A histogram over a fixed set of values of one label, for the hot path: an observation is a search in a short array and
 * three additions, where prom-client's own hashes and checks labels each time (some ten times as long). Every step has
 * its series from the start.
 */
export class StepHistogram<Step extends string> {
  private readonly counts: Map<Step, StepCounts>;
  private readonly bounds: readonly number[];

  /** `buckets`: rising upper bounds, in the unit of the metric. */
  constructor(private readonly options: { name: string; help: string; label: string; steps: readonly Step[]; buckets: readonly number[]; registry: Registry }) {
    this.bounds = options.buckets;
    this.counts = new Map(options.steps.map((step) => [step, { buckets: new Float64Array(this.bounds.length + 1), sum: 0, count: 0 }]));
    // prom-client asks a metric for nothing but these.
    const metric = { name: options.name, help: options.help, type: 'histogram', aggregator: 'sum', get: () => this.get(), getForPromString: () => this.get(), reset: () => this.reset() };
    options.registry.registerMetric(metric as unknown as Metric);
  }

  observe(step: Step, value: number): void {
    const counts = this.counts.get(step);
    if (counts === undefined) return;
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]) bucket += 1;
    counts.buckets[bucket] += 1;
    counts.sum += value;
    counts.count += 1;
  }

  private async get(): Promise<object> {
    const { name, help } = this.options;
    return { name, help, type: 'histogram', aggregator: 'sum', values: [...this.counts].flatMap(([step, counts]) => this.samplesOf(step, counts)) };
  }

  private samplesOf(step: Step, { buckets, sum, count }: StepCounts): Sample[] {
    const { name, label } = this.options;
    const samples: Sample[] = [];
    let below = 0;
    buckets.forEach((inBucket, i) => {
      below += inBucket;
      samples.push({ metricName: `${name}_bucket`, labels: { le: i < this.bounds.length ? this.bounds[i] : '+Inf', [label]: step }, value: below });
    });
    samples.push({ metricName: `${name}_sum`, labels: { [label]: step }, value: sum });
    samples.push({ metricName: `${name}_count`, labels: { [label]: step }, value: count });
    return samples;
  }

  private reset(): void {
    for (const counts of this.counts.values()) {
      counts.buckets.fill(0);
      counts.sum = 0;
      counts.count = 0;
    }
  }
}
