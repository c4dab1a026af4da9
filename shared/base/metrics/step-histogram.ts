/** Name of a histogram of steps, and the values of its label: those that are shown from the start. */
export interface StepHistogramOptions<Step extends string> {
  name: string;
  help: string;
  label: string;
  steps: readonly Step[];
  /**
   * Whether others may come, which are shown once they were observed; else they are ignored. Their number must be
   * bounded.
   */
  isOpen?: boolean;
  /** Rising upper bounds, in the unit of the metric. */
  buckets: readonly number[];
}

/** Counts of one step by bucket (not cumulative; the last is +Inf). */
export interface StepCounts {
  buckets: Float64Array;
  sum: number;
  count: number;
}

export type CountsByStep = ReadonlyMap<string, Readonly<StepCounts>>;

/**
 * A histogram over a fixed set of values of one label, for the hot path. An observation is a search in a short array
 * and three additions. prom-client's own histogram hashes and checks the labels each time, which takes about ten times
 * as long.
 */
export class StepHistogram<Step extends string> {
  private readonly counts: Map<Step, StepCounts>;
  readonly bounds: readonly number[];

  constructor(private readonly options: StepHistogramOptions<Step>) {
    this.bounds = options.buckets;
    this.counts = new Map(options.steps.map((step) => [step, this.noCounts()]));
  }

  /** The counts as they are; they go on. */
  read(): CountsByStep {
    return this.counts;
  }

  observe(step: Step, value: number): void {
    let counts = this.counts.get(step);
    if (counts === undefined) {
      if (this.options.isOpen !== true) return;
      this.counts.set(step, (counts = this.noCounts()));
    }
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]) bucket += 1;
    counts.buckets[bucket] += 1;
    counts.sum += value;
    counts.count += 1;
  }

  /** In Prometheus's text format, as prom-client writes a histogram. */
  text(): string {
    const { name, help } = this.options;
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
    for (const [step, counts] of this.counts) lines.push(...this.linesOf(step, counts));
    return lines.join('\n');
  }

  private noCounts(): StepCounts {
    return { buckets: new Float64Array(this.bounds.length + 1), sum: 0, count: 0 };
  }

  private linesOf(step: Step, { buckets, sum, count }: StepCounts): string[] {
    const { name, label } = this.options;
    const lines: string[] = [];
    let below = 0;
    buckets.forEach((inBucket, i) => {
      below += inBucket;
      lines.push(`${name}_bucket{le="${this.bounds[i] ?? '+Inf'}",${label}="${step}"} ${below}`);
    });
    lines.push(`${name}_sum{${label}="${step}"} ${sum}`, `${name}_count{${label}="${step}"} ${count}`);
    return lines;
  }
}

/**
 * The value below which this part of the counted ones is, by the bucket that it falls into and evenly within that, as
 * Prometheus's histogram_quantile; the greatest bound for what is beyond. null: nothing was counted.
 */
export function quantileOf(buckets: Float64Array, bounds: readonly number[], part: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return null;
  let below = 0;
  for (let i = 0; i < bounds.length; i++) {
    if (below + buckets[i] >= part * total) {
      const from = i === 0 ? 0 : bounds[i - 1];
      return buckets[i] === 0 ? from : from + ((bounds[i] - from) * (part * total - below)) / buckets[i];
    }
    below += buckets[i];
  }
  return bounds[bounds.length - 1];
}
