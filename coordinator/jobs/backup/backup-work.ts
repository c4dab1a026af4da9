import { WatchedEntries, type Watched } from '../../../shared/cluster-store/entries/watched-entries';
import type { StoreChange } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError, type QuiverError } from '../../../shared/base/errors/quiver-error';
import { readableEntries } from '../../service/readable-entries';
import { collectionFromEntry, COLLECTIONS_PREFIX } from '../../service/collections/collection-record';
import type { DrivenWork } from '../driving/job-driver';
import { OwnedEntry, Superseded } from '../driving/owned-entry';
import { endedJob } from '../record/job-record';
import type { StoredJobs } from '../record/stored-jobs';
import { backupJob } from './backup-jobs';
import type { BackupObserver } from './backup-observer';
import { BackupPass, type BackupPassParts, ofStore, StoreAway } from './backup-pass';
import { type BackupRecord, BACKUPS_PATH, backupFromEntry } from './backup-record';
import type { BackupRepository } from './backup-repository';
import { newBackupRecord } from './backup-requests';
import { BackupSchedule, deleteOldBackups } from './backup-schedule';
import { CollectionHistories } from './collection-histories';
import type { Cron } from './cron';
import type { KeepRule } from './kept-backups';
import { type BackupWorkParts, forgetEnded, isOfBackups, openedTarget } from './backup-work-parts';
import { ShippedLogs } from './shipped-logs';
import { VERIFY, verifyJob } from './verify-kind';

/** So many names of what is wrong are in a line of the log. */
const SHOWN_MAX = 20;

export type BackupWorkOptions = Omit<BackupPassParts, 'stop'> &
  BackupWorkParts & {
    target: string;
    jobs: Pick<StoredJobs, 'begun' | 'newId'>;
    schedule: { cron: Cron; keep: KeepRule | null } | null;
    /** Whether logs are shipped to the target. */
    shipsLogs?: boolean;
    observer: BackupObserver;
  };

/** Does what the entries of backups say, and begins those that are due. */
export class BackupWork implements DrivenWork<BackupRecord> {
  readonly name = 'a backup';
  readonly entries: WatchedEntries<BackupRecord>;
  readonly isExpected = isOfBackups;
  private readonly schedule: BackupSchedule | null;
  private scheduling = false;
  private readonly histories: CollectionHistories | null;

  constructor(private readonly options: BackupWorkOptions) {
    const { store, schedule, clock, target, shipsLogs = false, log } = options;
    const onUnreadable = (error: unknown): void =>
      log.error({ error }, 'an entry of a backup is unreadable and left alone');
    this.entries = new WatchedEntries({ store, prefix: BACKUPS_PATH, decode: backupFromEntry, onUnreadable });
    this.histories =
      shipsLogs && target !== ''
        ? new CollectionHistories({ store, clock, log, logs: new ShippedLogs(options.openTarget(target)) })
        : null;
    const newRecord = (): BackupRecord =>
      newBackupRecord(clock.wallMs(), target, { collections: null, scheduled: true });
    this.schedule =
      schedule === null || target === ''
        ? null
        : new BackupSchedule({ store, clock, cron: schedule.cron, newRecord, log });
  }

  stepOf({ state }: BackupRecord): string {
    return state;
  }

  *due(): Iterable<Watched<BackupRecord>> {
    const backups = this.entries.all().sort((a, b) => (a.key < b.key ? -1 : 1));
    void this.histories?.look();
    // One at a time: each asks for all that a target can take.
    const first = backups.find(({ value }) => value.state === 'running');
    for (const found of backups) {
      const { state, endedAt } = found.value;
      if (state === 'failed') forgetEnded(this.options, found.key, endedAt);
      else if (state !== 'running' || found === first) yield found;
    }
    this.lookAtSchedule(first !== undefined);
  }

  isOvertaken(begun: BackupRecord, now: BackupRecord | null): boolean {
    return now !== null && now.state !== begun.state;
  }

  rest(): void {
    this.histories?.forget();
  }

  async run({ key }: Watched<BackupRecord>, stop: AbortSignal): Promise<number> {
    const { store, clock, log, observer } = this.options;
    const entry = await store.get(key);
    if (entry === null) {
      await this.entries.refresh();
      return 0;
    }
    const owned = new OwnedEntry(this.options, key, backupFromEntry(entry), entry.revision);
    const { id, target, startedAt, state } = owned.content;
    const { repository, refusal } = openedTarget(this.options, target);
    if (repository === null) {
      await this.endRefused(owned, refusal);
    } else if (state === 'running') {
      try {
        const manifest = await new BackupPass(owned, repository, { ...this.options, stop }).run();
        const { copiedBytes, totalBytes, leftOut: lacking = [] } = manifest;
        const result = {
          backup: id,
          copied_bytes: copiedBytes,
          total_bytes: totalBytes,
          left_out: lacking.map(({ name }) => name),
        };
        await ofStore(owned.end([this.endedBackup(owned.content, { state: 'done', result })]));
        const seconds = (clock.wallMs() - Date.parse(startedAt)) / 1000;
        log.info(
          { backup: id, target, copiedBytes: manifest.copiedBytes, totalBytes: manifest.totalBytes, seconds },
          'a backup is complete',
        );
        const keep = this.options.schedule?.keep ?? null;
        if (keep !== null && owned.content.scheduled)
          await this.deleteOld(repository, keep).catch((error: unknown) =>
            log.warn({ error, target }, 'old backups are left for now'),
          );
        const { leftOut = [] } = manifest;
        if (leftOut.length > 0)
          log.error(
            { backup: id, target, leftOut: leftOut.slice(0, SHOWN_MAX), count: leftOut.length },
            'a backup lacks collections that it was to have: they are in earlier backups only',
          );
        observer.ended(leftOut.length > 0 ? 'partial' : 'done', {
          ...manifest,
          seconds,
          finishedMs: Date.parse(manifest.finishedAt),
        });
      } catch (error) {
        // Somebody else goes on with it, or gives it up; or it begins again from the entry.
        if (stop.aborted || error instanceof Superseded || error instanceof StoreAway) throw error;
        // Who was replaced must not make it void: the next driver may have finished it. From here on every driver does.
        await owned.change({
          state: 'cancelling',
          error: isQuiverError(error) ? error.message : 'it failed; the log says why',
        });
        log.error({ error, backup: id, target }, 'a backup failed');
        await this.fail(owned, repository);
      }
      await this.sweep(repository).catch((error: unknown) =>
        log.warn({ error, target }, 'what no backup needs is left in the target for now'),
      );
    } else if (state === 'cancelling' && owned.content.error !== null) {
      await this.fail(owned, repository);
      await this.sweep(repository).catch((error: unknown) =>
        log.warn({ error, target }, 'what no backup needs is left in the target for now'),
      );
    } else if (state === 'verifying') {
      // An earlier version kept it so.
      await owned.end(
        this.options.jobs.begun({ ...verifyJob({ backup: id, target }), id: this.options.jobs.newId(VERIFY) }).changes,
      );
    } else {
      await repository.makeVoid(id);
      await this.sweep(repository);
      await owned.end(state === 'cancelling' ? [this.endedBackup(owned.content, { state: 'cancelled' })] : []);
    }
    await this.entries.refresh();
    return 0;
  }

  private endedBackup(record: BackupRecord, outcome: Parameters<typeof endedJob>[1]): StoreChange {
    const wallMs = this.options.clock.wallMs();
    return endedJob(backupJob(record, wallMs), outcome, wallMs);
  }

  /** Ends what was to be done in a target that this service has nothing to do with any more. What is there stays. */
  private async endRefused(owned: OwnedEntry<BackupRecord>, refusal: QuiverError): Promise<void> {
    const { id, target, state, error } = owned.content;
    this.options.log.error(
      { error: refusal, backup: id, target, state },
      'the target of a backup is not, or no longer, one of this service: what is there is left as it is',
    );
    if (state === 'running') await owned.change({ state: 'cancelling', error: refusal.message });
    if (state === 'running' || (state === 'cancelling' && error !== null)) await this.fail(owned, null);
    else await owned.end(state === 'cancelling' ? [this.endedBackup(owned.content, { state: 'cancelled' })] : []);
  }

  /** Ends a backup as failed, whether its target can be told or not. `repository`: null where there is none to tell. */
  private async fail(owned: OwnedEntry<BackupRecord>, repository: BackupRepository | null): Promise<void> {
    const { clock, log, observer } = this.options;
    const { id } = owned.content;
    await repository
      ?.makeVoid(id)
      .catch((error: unknown) =>
        log.warn({ error, backup: id }, 'what a failed backup wrote is left in the target for now'),
      );
    await owned.change({ state: 'failed', endedAt: new Date(clock.wallMs()).toISOString() });
    observer.ended('failed', { copiedBytes: 0, totalBytes: 0, seconds: 0, finishedMs: 0 });
  }

  private async sweep(repository: BackupRepository): Promise<void> {
    const unreadable = await repository.sweep();
    const { log, observer } = this.options;
    const target = repository.target.name;
    if (unreadable.length > 0)
      log.error(
        { target, unreadable: unreadable.slice(0, SHOWN_MAX), count: unreadable.length },
        'manifests in the target are damaged, or of a later version; all that they may need stays',
      );
    if (target === this.options.target) observer.unreadable(unreadable.length);
  }

  private async deleteOld(repository: BackupRepository, keep: KeepRule): Promise<void> {
    const { store, log } = this.options;
    const damaged: string[] = [];
    const identities = readableEntries(
      (await store.list(COLLECTIONS_PREFIX)).entries,
      (entry) => collectionFromEntry(entry).identity,
      ({ key }) => damaged.push(key),
    );
    if (damaged.length > 0) {
      log.warn(
        { entries: damaged.slice(0, SHOWN_MAX) },
        'no old backup is deleted while records of collections are damaged',
      );
      return;
    }
    const present = new Set(identities);
    await deleteOldBackups(repository, keep, { log, present });
  }

  private lookAtSchedule(isBusy: boolean): void {
    if (this.schedule === null || this.scheduling) return;
    this.scheduling = true;
    this.schedule
      .look(isBusy)
      .catch((error: unknown) =>
        this.options.log.warn({ error }, 'it could not be seen whether a backup is due; it is tried again'),
      )
      .finally(() => (this.scheduling = false));
  }
}
