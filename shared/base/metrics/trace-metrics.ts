import type { TraceCounts } from '../trace/span';
import type { ProcessMetrics } from './process-metrics';

/** What became of the spans of a process, where traces are sent. */
export function addTraceMetrics(metrics: ProcessMetrics, counts: () => TraceCounts): void {
  metrics.counter(
    'quiver_trace_spans_exported_total',
    'Spans that the receiver of traces took',
    () => counts().exported,
  );
  metrics.counter('quiver_trace_spans_failed_total', 'Spans that could not be sent', () => counts().failed);
  metrics.counter(
    'quiver_trace_spans_dropped_total',
    'Spans for which there was no room while others waited to be sent',
    () => counts().dropped,
  );
}

/** The counts of several threads together, each of which tells what it has counted in all. */
export class ThreadTraceCounts {
  private readonly latest = new Map<object, TraceCounts>();

  take(thread: object, counts: TraceCounts): void {
    this.latest.set(thread, counts);
  }

  sum(): TraceCounts {
    const sum: TraceCounts = { exported: 0, failed: 0, dropped: 0, waiting: 0 };
    for (const counts of this.latest.values())
      for (const name of Object.keys(sum) as (keyof TraceCounts)[]) sum[name] += counts[name];
    return sum;
  }
}
