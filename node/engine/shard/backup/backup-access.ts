import type { OpenTarget } from '../../../../shared/backup-store/backup-target';
import type { WriteResult } from '../../../../shared/contract/shard/shard-client';
import type { WriteSource } from '../../../../shared/contract/writes/write-source';
import type { Pace } from '../../../../shared/base/time/pace';

/** For how long reads that fail are tried again, by why they fail. */
export interface Patience {
  /** It can't be reached, or is too busy. */
  unavailableMs: number;
  /** It refuses: credentials may be on their way. */
  refusedMs: number;
  firstPauseMs: number;
}

/** Where the shards of a process write backups to, and read them from. */
export interface BackupAccess {
  open: OpenTarget;
  /** Of all shards together. */
  pace: Pace;
  /**
   * Whose log a shard follows: `replica`, that of its replica; `own`, its own, for shipping; absent: nothing of it is
   * shipped.
   */
  log?: 'replica' | 'own' | undefined;
  /** The wall clock; absent: that of the process. */
  wallMs?: () => number;
  /** Which writes of a replicated log are new, from what was stored of them; absent: where none is followed. */
  ledger?: (stored: { key: Buffer; value: Buffer }[]) => WriteNames;
  /** How long a restored shard waits for a target that fails; default: as PatientTarget. */
  patience?: Patience | undefined;
}

/** Tells writes that are in a log twice. */
export interface WriteNames {
  begin(source: WriteSource, sequence: number): { type: string };
  finish(source: WriteSource, result: WriteResult): void;
}
