import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { KeptLogs } from '../../replication/shipping/kept-logs';
import type { LogShipping } from '../../replication/shipping/log-shipping';

/** How the shipping of logs to the backup target gets on. */
export function addShippingMetrics(
  metrics: ProcessMetrics,
  shipping: Pick<LogShipping, 'state'>,
  kept: Pick<KeptLogs, 'state'>,
): void {
  metrics.gauge(
    'quiver_backup_log_behind_seconds',
    'Seconds since the moment up to which the logs of all shards that this process leads are in the backup target',
    () => shipping.state().behindSeconds,
  );
  metrics.counter(
    'quiver_backup_log_shipped_bytes_total',
    'Bytes of logs that were written to the backup target',
    () => shipping.state().bytes,
  );
  metrics.counter(
    'quiver_backup_log_failures_total',
    'Attempts to ship a log that failed; each is tried again',
    () => shipping.state().failures,
  );
  metrics.gauge(
    'quiver_backup_log_kept_bytes',
    'Bytes of logs that are kept for the backup target alone (BACKUP_LOG_KEPT_BYTES)',
    () => kept.state().keptBytes,
  );
  metrics.counter(
    'quiver_backup_log_given_up_bytes_total',
    'Bytes of logs that were given up before they were in the backup target, to make room',
    () => kept.state().givenUpBytes,
  );
  metrics.counter(
    'quiver_backup_log_gaps_total',
    'How often entries of a log were given up that are not in the backup target',
    () => shipping.state().gaps,
  );
}
