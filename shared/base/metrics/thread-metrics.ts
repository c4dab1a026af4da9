import type { ProcessMetrics } from './process-metrics';

/** What became of the threads that serve, where a process has any. */
export function addThreadMetrics(metrics: ProcessMetrics, threads: { failures: number }): void {
  metrics.counter(
    'quiver_thread_failures_total',
    'Threads that ended by an error or stood still, and were replaced',
    () => threads.failures,
  );
}
