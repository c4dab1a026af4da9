import type { OpenTarget } from '../../../../shared/backup-store/backup-target';
import { isQuiverError } from '../../../../shared/base/errors/quiver-error';
import type { ShardBackupOrder, ShardBackupState } from '../../../../shared/contract/shard/shard-backup';
import type { ShardLogger } from '../shard-options';
import type { BackupAccess } from './backup-access';
import { type BackupSource, ShardBackup } from './shard-backup';

/** Whoever drives a backup has asked how it ended by then, or is gone. */
const ASKED_WITHIN_MS = 60_000;

interface Job {
  backup: string;
  state: ShardBackupState;
  stop: AbortController;
  ended: Promise<void>;
}

/** The backup of one shard that is under way, or the last one. */
export class ShardBackups {
  private job: Job | null = null;
  private closed = false;
  private askedMs = -Infinity;
  /** Somebody was told how the job ended. */
  private isReported = false;

  constructor(
    private readonly source: BackupSource,
    private readonly place: BackupAccess,
    private readonly log: ShardLogger,
  ) {}

  /**
   * Begins what is ordered, unless that was done; a backup under way for another order ends. Errors: invalid_parameter.
   */
  async advance(order: ShardBackupOrder): Promise<ShardBackupState> {
    this.askedMs = performance.now();
    if (this.job?.backup !== order.backup) {
      const target = this.place.open(order.target);
      const before = this.job;
      this.job = this.begin(order, target, before?.ended ?? Promise.resolve());
      this.isReported = false;
      before?.stop.abort();
    }
    this.isReported ||= this.job.state.state !== 'running';
    return { ...this.job.state };
  }

  /** One is under way, or somebody will ask how it ended, for whom it would be begun again. */
  get isWanted(): boolean {
    return (
      this.job !== null &&
      (this.job.state.state === 'running' || (!this.isReported && performance.now() - this.askedMs < ASKED_WITHIN_MS))
    );
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.closed = true;
    this.job?.stop.abort();
    await this.job?.ended;
  }

  private begin(order: ShardBackupOrder, target: ReturnType<OpenTarget>, before: Promise<void>): Job {
    const stop = new AbortController();
    if (this.closed) stop.abort();
    const state: ShardBackupState = {
      state: 'running',
      copiedBytes: 0,
      totalBytes: 0,
      items: 0,
      manifest: null,
      position: null,
      needs: [],
      error: null,
    };
    const run = async (): Promise<void> => {
      await before;
      try {
        const parts = { target, pace: this.place.pace, stop: stop.signal, progress: state, log: this.log };
        Object.assign(state, await new ShardBackup(this.source, order, parts).run(), { state: 'done' });
      } catch (error) {
        if (!stop.signal.aborted)
          this.log.error({ error, ...this.source.id, backup: order.backup }, 'the backup of a shard failed');
        Object.assign(state, {
          state: 'failed',
          error: isQuiverError(error) ? error.message : 'it failed; the log of the node says why',
        });
      }
    };
    return { backup: order.backup, state, stop, ended: run() };
  }
}
