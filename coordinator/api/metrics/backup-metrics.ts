import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { BackupObserver } from '../../jobs/backup/backup-observer';

/** What becomes of backups. Those that ended are counted by the process that drove them. */
export class BackupMetrics implements BackupObserver {
  private readonly ends = { done: 0, failed: 0 };
  private lastGoodMs = 0;
  private copiedBytes = 0;
  private unreadableCount = 0;

  constructor(metrics: ProcessMetrics) {
    metrics.counter('quiver_backups_completed_total', 'Backups that were completed', () => this.ends.done);
    metrics.counter(
      'quiver_backups_failed_total',
      'Backups that failed, or lack a collection that they were to have',
      () => this.ends.failed,
    );
    metrics.counter(
      'quiver_backup_copied_bytes_total',
      'Bytes that completed backups wrote to their target',
      () => this.copiedBytes,
    );
    metrics.gauge(
      'quiver_backup_last_success_timestamp_seconds',
      'When the newest backup in BACKUP_TARGET that has all that it was to have was complete, in seconds since 1970; 0: there is none',
      () => this.lastGoodMs / 1000,
    );
    metrics.gauge(
      'quiver_backup_unreadable_objects',
      'Manifests in BACKUP_TARGET that could not be read when it was last cleaned up',
      () => this.unreadableCount,
    );
  }

  unreadable(count: number): void {
    this.unreadableCount = count;
  }

  ended(outcome: 'done' | 'partial' | 'failed', facts: { copiedBytes: number; finishedMs: number }): void {
    this.ends[outcome === 'done' ? 'done' : 'failed'] += 1;
    this.copiedBytes += facts.copiedBytes;
    if (outcome === 'done') this.lastGoodMs = Math.max(this.lastGoodMs, facts.finishedMs);
  }

  newest(finishedMs: number): void {
    this.lastGoodMs = finishedMs;
  }
}
