/** What becomes of backups, for the metrics. */
export interface BackupObserver {
  /** `partial`: it is there, and lacks collections that it was to have. */
  ended(
    outcome: 'done' | 'partial' | 'failed',
    facts: { copiedBytes: number; totalBytes: number; seconds: number; finishedMs: number },
  ): void;
  /**
   * How many objects of BACKUP_TARGET that say what backups consist of could not be read when it was last cleaned up.
   */
  unreadable(count: number): void;
  /** When the newest backup in the target was complete, by wall time; 0: there is none. */
  newest(finishedMs: number): void;
}
