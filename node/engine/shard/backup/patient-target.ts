import type { BackupSeals } from '../../../../shared/backup-store/backup-seals';
import type { BackupObject, BackupTarget } from '../../../../shared/backup-store/backup-target';
import { isQuiverError, QuiverError } from '../../../../shared/base/errors/quiver-error';
import { unlessStopped } from '../../../../shared/base/time/deadline';
import { RetryBackoff } from '../../../../shared/base/time/retry-backoff';
import type { Logger } from '../../../../shared/base/logs/logger';
import type { Patience } from './backup-access';

const USUAL: Patience = { unavailableMs: 600_000, refusedMs: 60_000, firstPauseMs: 500 };
const LONGEST_PAUSE_MS = 15_000;

/**
 * A target as a restored shard reads it: what fails is tried again for some minutes, so that a shard which is half
 * filled does not begin again. After that the backup counts as one that can't be used.
 */
export class PatientTarget implements BackupTarget {
  readonly name: string;
  readonly seals: BackupSeals;
  /** Since when no read has succeeded, though some were tried; null: the last one did. */
  private failingSinceMs: number | null = null;

  constructor(
    private readonly target: BackupTarget,
    private readonly how: { ended: AbortSignal; log: Pick<Logger, 'warn'>; patience: Patience | undefined },
  ) {
    this.name = target.name;
    this.seals = target.seals;
  }

  /** Errors: invalid_parameter when it has failed for too long, unavailable when the shard is not wanted any more. */
  get(key: string, bytesMax?: number): Promise<Buffer | null> {
    return this.patiently(key, () => this.target.get(key, bytesMax));
  }

  /** Errors: as `get`. */
  list(prefix: string, after?: string): Promise<BackupObject[]> {
    return this.patiently(prefix, () => this.target.list(prefix, after));
  }

  put(key: string, bytes: Buffer): Promise<void> {
    return this.target.put(key, bytes);
  }

  create(key: string, bytes: Buffer): Promise<boolean> {
    return this.target.create(key, bytes);
  }

  delete(key: string): Promise<void> {
    return this.target.delete(key);
  }

  private async patiently<Found>(key: string, read: () => Promise<Found>): Promise<Found> {
    const { ended, log, patience = USUAL } = this.how;
    const pauses = new RetryBackoff({ firstMs: patience.firstPauseMs, longestMs: LONGEST_PAUSE_MS });
    for (;;) {
      if (ended.aborted) throw unwanted();
      try {
        // A target that does not answer holds up nobody.
        const found = await unlessStopped(read(), ended, unwanted);
        this.failingSinceMs = null;
        return found;
      } catch (error) {
        if (ended.aborted) throw unwanted();
        if (!isQuiverError(error) || (error.kind !== 'unavailable' && error.kind !== 'storage_failed')) throw error;
        const nowMs = performance.now();
        this.failingSinceMs ??= nowMs;
        const leftMs =
          this.failingSinceMs + (error.kind === 'unavailable' ? patience.unavailableMs : patience.refusedMs) - nowMs;
        if (leftMs <= 0)
          throw new QuiverError('invalid_parameter', `the backup can not be read: ${error.message}`, { cause: error });
        log.warn(
          { error, key, leftMs },
          'the backup that a shard is filled from can not be read at present; it is tried again',
        );
        await pauses.pause(ended);
      }
    }
  }
}

function unwanted(): QuiverError {
  return new QuiverError('unavailable', 'the shard is not wanted any more');
}
