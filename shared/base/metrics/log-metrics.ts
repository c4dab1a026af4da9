import type { LineOutput } from '../process/line-output';
import type { ProcessMetrics } from './process-metrics';

/** What becomes of the lines that a process writes to standard output. */
export function addLogMetrics(metrics: ProcessMetrics, output: LineOutput): void {
  metrics.gauge('quiver_log_failing', '1 while the log can not be written, or nobody reads it, else 0', () =>
    output.isFailing ? 1 : 0,
  );
  metrics.gauge('quiver_log_waiting_bytes', 'Bytes of the log that wait to be written', () => output.heldBytes);
  metrics.counter('quiver_log_lost_lines_total', 'Lines of the log that were lost', () => output.lostLines);
}
