import type { OpenTarget } from '../../../shared/backup/backup-target';
import type { Pace } from '../../../shared/time/pace';

/** For how long reads that fail are tried again, by why they fail. */
export interface Patience {
  /** It can't be reached, or is too busy. */
  unavailableMs: number;
  /** It refuses: credentials may be on their way. */
  refusedMs: number;
  firstPauseMs: number;
}

/** Where the shards of a process write backups to, and read them from. */
export interface BackupPlace {
  open: OpenTarget;
  /** Of all shards together. */
  pace: Pace;
  /** How long a restored shard waits for a target that fails; default: as PatientTarget. */
  patience?: Patience | undefined;
}
