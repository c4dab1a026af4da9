import type { OpenTarget } from '../../../shared/backup/backup-target';
import type { Pace } from '../../../shared/time/pace';

/** Where the shards of a process write backups to, and read them from. */
export interface BackupPlace {
  open: OpenTarget;
  /** Of all shards together. */
  pace: Pace;
}
