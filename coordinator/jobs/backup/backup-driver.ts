import { JobDriver } from '../driving/job-driver';
import { type RestoreWorkOptions, RestoreWork } from '../restore/restore-work';
import type { BackupRecord, RestoreRecord } from './backup-record';
import { BackupRepository } from './backup-repository';
import { type BackupWorkOptions, BackupWork } from './backup-work';

/** How often the target is asked for its newest backup: others may have taken or deleted one. */
const NEWEST_EVERY_MS = 300_000;

/** Drives backups and restores, and tells how old the newest backup is. */
export class BackupDriver {
  private readonly backups: JobDriver<BackupRecord>;
  private readonly restores: JobDriver<RestoreRecord>;
  private newestTimer: NodeJS.Timeout | null = null;

  constructor(private readonly options: BackupWorkOptions & RestoreWorkOptions) {
    this.backups = new JobDriver<BackupRecord>(new BackupWork(options), options);
    this.restores = new JobDriver<RestoreRecord>(new RestoreWork(options), options);
  }

  /** Errors: unavailable. */
  async start(): Promise<void> {
    await this.backups.start();
    await this.restores.start();
    this.newestTimer = setInterval(() => this.reportNewestBackup(), NEWEST_EVERY_MS);
    this.reportNewestBackup();
  }

  async close(): Promise<void> {
    if (this.newestTimer !== null) clearInterval(this.newestTimer);
    await Promise.all([this.backups.close(), this.restores.close()]);
  }

  /** For the age of the newest backup, which every process shows. */
  private reportNewestBackup(): void {
    const { target, openTarget, clock, observer, log } = this.options;
    if (target === '') return;
    new BackupRepository(openTarget(target), () => clock.wallMs()).newest().then(
      (found) => observer.newest(found === null ? 0 : Date.parse(found.finishedAt)),
      (error: unknown) => log.warn({ error }, 'the backup target could not be asked for its newest backup'),
    );
  }
}
