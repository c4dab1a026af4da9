import type { StoreChange } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { WatchedEntries } from '../../../shared/cluster-store/entries/watched-entries';
import type { OpenTarget } from '../../../shared/backup-store/backup-target';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { inTime } from '../../../shared/base/time/deadline';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
import { BackupPass, type BackupPassParts, ofStore, StoreAway } from './backup-pass';
import {
  type BackupRecord,
  BACKUPS_PATH,
  backupFromEntry,
  basesOf,
  claimIdOf,
  isPastReturn,
  logsOf,
  type RestoreRecord,
  RESTORES_PATH,
  restoreFromEntry,
} from './backup-record';
import { endedJob } from '../record/job-record';
import type { StoredJobs } from '../record/stored-jobs';
import { backupJob, restoreJob } from './backup-jobs';
import { collectionFromEntry, COLLECTIONS_PREFIX } from '../../service/collections/collection-record';
import { BackupRepository } from './backup-repository';
import { VERIFY, verifyJob } from './verify-kind';
import { newBackupRecord } from './backup-requests';
import { CollectionHistories } from './collection-histories';
import { ShippedLogs } from './shipped-logs';
import { BackupSchedule, deleteOldBackups } from './backup-schedule';
import type { Cron } from './cron';
import type { KeepRule } from './kept-backups';
import { type DriverLeadership, OwnedEntry, Superseded } from '../driving/owned-entry';
import { RestorePass, type RestorePassParts } from '../restore/restore-pass';
import { restoreKeys } from '../restore/restored-keys';

const CHECK_EVERY_MS = 1_000;
/** How long a process that stops waits for what is under way. */
const CLOSE_MS = 5_000;
/** How often the target is asked for its newest backup: others may have taken or deleted one. */
const NEWEST_EVERY_MS = 300_000;
/** A restore that fails so often in a way that nobody expects has something that no other attempt will mend. */
const UNEXPECTED_MAX = 5;
const PAUSES = { firstMs: 500, longestMs: 30_000 };
/** What failed, or is over, is shown for so long. */
const SHOWN_MAX = 20;
const SHOWN_MS = 7 * 24 * 3_600_000;

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

/**
 * Does what the entries of backups and restores say, one process at a time: in a cluster the controller, otherwise the
 * only one. What another process left, wherever it died, goes on here.
 */
export class BackupDriver {
  private readonly entries: WatchedEntries<BackupRecord>;
  private readonly restores: WatchedEntries<RestoreRecord>;
  private readonly running = new Map<string, { done: Promise<void>; stop: AbortController; state: string }>();
  private readonly attempts = new Map<string, { backoff: RetryBackoff; notBeforeMs: number; unexpected: number }>();
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | null = null;
  private newestTimer: NodeJS.Timeout | null = null;
  private readonly schedule: BackupSchedule | null;
  private scheduling = false;
  private readonly histories: CollectionHistories | null;

  constructor(
    private readonly options: Omit<BackupPassParts, 'stop'> &
      Omit<RestorePassParts, 'stop'> & {
        target: string;
        jobs: Pick<StoredJobs, 'begun' | 'newId'>;
        schedule: { cron: Cron; keep: KeepRule | null } | null;
        leadership: DriverLeadership;
        openTarget: OpenTarget;
        /** Whether logs are shipped to the target. */
        shipsLogs?: boolean;
        log: Logger;
        observer: BackupObserver;
      },
  ) {
    const { store, log } = options;
    const onUnreadable = (error: unknown): void =>
      log.error({ error }, 'an entry of a backup is unreadable and left alone');
    this.entries = new WatchedEntries({ store, prefix: BACKUPS_PATH, decode: backupFromEntry, onUnreadable });
    this.restores = new WatchedEntries({ store, prefix: RESTORES_PATH, decode: restoreFromEntry, onUnreadable });
    const { schedule, clock, target, shipsLogs = false } = options;
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

  /** Errors: unavailable. */
  async start(): Promise<void> {
    for (const entries of [this.entries, this.restores]) {
      await entries.follow();
      entries.onChange(() => this.look());
    }
    this.timer = setInterval(() => this.look(), CHECK_EVERY_MS);
    this.newestTimer = setInterval(() => this.reportNewestBackup(), NEWEST_EVERY_MS);
    this.reportNewestBackup();
    this.look();
  }

  async close(): Promise<void> {
    this.stopping.abort();
    for (const timer of [this.timer, this.newestTimer]) if (timer !== null) clearInterval(timer);
    this.entries.close();
    this.restores.close();
    const running = [...this.running.values()];
    for (const { stop } of running) stop.abort();
    // What waits for a target that does not answer is left: whoever drives next goes on with it.
    await inTime(Promise.all(running.map(({ done }) => done)), CLOSE_MS, () => new Error('late')).catch(
      () => undefined,
    );
  }

  private look(): void {
    if (this.stopping.signal.aborted) return;
    if (this.options.leadership.guard === null) {
      this.histories?.forget();
      for (const { stop } of this.running.values()) stop.abort();
      return;
    }
    const backups = this.entries.all().sort((a, b) => (a.key < b.key ? -1 : 1));
    void this.histories?.look();
    // One at a time: each asks for all that a target can take.
    const first = backups.find(({ value }) => value.state === 'running');
    for (const { key, value } of backups) {
      if (value.state === 'failed') this.forget(key, value.endedAt);
      else if (value.state !== 'running' || key === first?.key)
        this.begin(key, value.state, (stop) => this.advanceBackup(key, stop));
    }
    this.lookAtSchedule(first !== undefined);
    for (const { key, value } of this.restores.all()) {
      if (value.state === 'failed' || value.state === 'done') this.forget(key, value.endedAt);
      else this.begin(key, value.state, (stop) => this.advanceRestore(key, stop));
    }
  }

  private begin(key: string, state: string, run: (stop: AbortSignal) => Promise<void>): void {
    const present = this.running.get(key);
    if (present !== undefined) {
      if (present.state !== state) present.stop.abort();
      return;
    }
    const attempt = this.attempts.get(key);
    if (attempt !== undefined && attempt.notBeforeMs > performance.now()) return;
    const stop = new AbortController();
    const done = run(stop.signal)
      .then(
        () => void this.attempts.delete(key),
        (error: unknown) => this.noteFailure(key, state, error),
      )
      .finally(() => {
        this.running.delete(key);
        setImmediate(() => this.look());
      });
    this.running.set(key, { done, stop, state });
  }

  private noteFailure(key: string, state: string, error: unknown): void {
    const attempt = this.attempts.get(key) ?? { backoff: new RetryBackoff(PAUSES), notBeforeMs: 0, unexpected: 0 };
    attempt.notBeforeMs = performance.now() + attempt.backoff.nextMs();
    this.attempts.set(key, attempt);
    if (this.stopping.signal.aborted) return;
    const isUsual = isExpected(error);
    if (!isUsual) attempt.unexpected += 1;
    this.options.log[isUsual ? 'warn' : 'error']({ error, key, state }, 'backup or restore step failed; retrying');
  }

  private async advanceBackup(key: string, stop: AbortSignal): Promise<void> {
    const { store, clock, log, observer } = this.options;
    const entry = await store.get(key);
    if (entry === null) return this.entries.refresh();
    const owned = new OwnedEntry(this.options, key, backupFromEntry(entry), entry.revision);
    const { id, target, startedAt, state } = owned.content;
    const { repository, refusal } = this.opened(target);
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
  }

  private endedBackup(record: BackupRecord, outcome: Parameters<typeof endedJob>[1]): StoreChange {
    const wallMs = this.options.clock.wallMs();
    return endedJob(backupJob(record, wallMs), outcome, wallMs);
  }

  /**
   * The backups in a target; `refusal`: why this service may have none there, where BACKUP_TARGET is not what it was.
   */
  private opened(
    target: string,
  ): { repository: BackupRepository; refusal: null } | { repository: null; refusal: QuiverError } {
    const { openTarget, clock } = this.options;
    try {
      return { repository: new BackupRepository(openTarget(target), () => clock.wallMs()), refusal: null };
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'invalid_parameter') throw error;
      return { repository: null, refusal: error };
    }
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

  private async advanceRestore(key: string, stop: AbortSignal): Promise<void> {
    const { store, clock, log } = this.options;
    const entry = await store.get(key);
    if (entry === null) return this.restores.refresh();
    const owned = new OwnedEntry(this.options, key, restoreFromEntry(entry), entry.revision);
    const pass = new RestorePass(owned, { ...this.options, stop });
    const { id, backup, target, state } = owned.content;
    const { repository, refusal } = this.opened(target);
    if (state === 'running') {
      try {
        // One that only has to be made visible needs its target no more, but for keys.
        if (repository !== null) await this.hold(repository, owned);
        else if (!isPastReturn(owned.content)) throw refusal;
        const deleted = await pass.run();
        if (owned.content.keys) {
          if (repository === null) throw refusal;
          await restoreKeys(store, await this.judgedKeys(repository, owned.content));
        }
        const warnings = [...(owned.content.warnings ?? []), ...deleted.map(deletedSince)];
        await owned.change({ state: 'done', warnings, endedAt: new Date(clock.wallMs()).toISOString() });
        log.info({ restore: id, backup, collections: owned.content.collections.length }, 'a restore is complete');
      } catch (error) {
        const isLasting = isQuiverError(error) && !error.retryable && error.kind !== 'storage_failed';
        const isVain = !isExpected(error) && (this.attempts.get(key)?.unexpected ?? 0) >= UNEXPECTED_MAX;
        if (stop.aborted || (!isLasting && !isVain)) throw error;
        log.error({ error, restore: id, backup }, 'a restore failed');
        await owned.change({
          state: 'cancelling',
          error: isQuiverError(error) ? error.message : 'it failed; the log says why',
        });
        await this.undo(owned, pass);
      }
    } else await this.undo(owned, pass);
    await repository
      ?.release(claimIdOf(id))
      .catch((error: unknown) =>
        log.warn({ error, restore: id, target }, 'the backup of a restore is held for some days yet'),
      );
    await this.restores.refresh();
  }

  /**
   * The keys of the backup that was judged when the restore was asked for. Errors: storage_damaged when it is another
   * one by now.
   */
  private async judgedKeys(repository: BackupRepository, { backup, manifests }: RestoreRecord): Promise<string[]> {
    const { manifest, seal, sha256 } = await repository.held(backup);
    // An earlier version that was asked for it judged nothing.
    const isJudged = manifests === undefined ? seal === 'sealed' : manifests[backup] === sha256;
    if (!isJudged)
      throw new QuiverError(
        'storage_damaged',
        `backup ${backup} is not what it was when the restore was asked for, or is not sealed by this service: its keys are not restored`,
      );
    return manifest.keys;
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

  /** A target that this service can only read is not cleaned up by it, either. */
  private async hold(repository: BackupRepository, owned: OwnedEntry<RestoreRecord>): Promise<void> {
    const { id, backup, startedAt, isHeld = false } = owned.content;
    try {
      await repository.hold(claimIdOf(id), basesOf(owned.content), { startedAt, isHeld, logs: logsOf(owned.content) });
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'storage_failed') throw error;
      this.options.log.warn(
        { error, restore: id, backup },
        'the backup could not be marked as in use: another service that deletes it meanwhile makes the restore fail',
      );
      return;
    }
    if (!isHeld) await owned.change({ isHeld: true });
  }

  private async undo(owned: OwnedEntry<RestoreRecord>, pass: RestorePass): Promise<void> {
    await pass.undo();
    const wallMs = this.options.clock.wallMs();
    if (owned.content.error === null)
      await owned.end([endedJob(restoreJob(owned.content, wallMs), { state: 'cancelled' }, wallMs)]);
    else await owned.change({ state: 'failed', endedAt: new Date(this.options.clock.wallMs()).toISOString() });
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

  /** For the age of the newest backup, which every process shows. */
  private reportNewestBackup(): void {
    const { target, openTarget, clock, observer, log } = this.options;
    if (target === '') return;
    new BackupRepository(openTarget(target), () => clock.wallMs()).newest().then(
      (found) => observer.newest(found === null ? 0 : Date.parse(found.finishedAt)),
      (error: unknown) => log.warn({ error }, 'the backup target could not be asked for its newest backup'),
    );
  }

  /** What is over is shown for a while. */
  private forget(key: string, endedAt: string | null): void {
    const { store, clock, leadership } = this.options;
    if (endedAt !== null && clock.wallMs() - Date.parse(endedAt) < SHOWN_MS) return;
    if (leadership.guard === null) return;
    store.transact([], [{ type: 'delete', key }]).catch(() => undefined);
  }
}

function isExpected(error: unknown): boolean {
  return error instanceof Superseded || error instanceof StoreAway || isQuiverError(error);
}

function deletedSince(name: string): string {
  return `collection "${name}" was restored, and was deleted before the restore had ended`;
}
