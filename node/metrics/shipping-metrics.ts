import type { ProcessMetrics } from '../../shared/metrics/process-metrics';
import type { LogShipping } from '../shipping/log-shipping';

/** How the shipping of logs to the backup target gets on. */
export function addShippingMetrics(metrics: ProcessMetrics, shipping: Pick<LogShipping, 'state'>): void {
  metrics.gauge(
    'quiver_backup_log_behind_seconds',
    'Seconds since the moment up to which the logs of all shards that this process leads are in the backup target',
    () => shipping.state().behindSeconds,
  );
  metrics.counter('quiver_backup_log_shipped_bytes_total', 'Bytes of logs that were written to the backup target', () => shipping.state().bytes);
  metrics.counter('quiver_backup_log_failures_total', 'Attempts to ship a log that failed; each is tried again', () => shipping.state().failures);
  metrics.counter('quiver_backup_log_gaps_total', 'How often entries of a log were given up that are not in the backup target', () => shipping.state().gaps);
}
