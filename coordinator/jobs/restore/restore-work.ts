import { WatchedEntries, type Watched } from '../../../shared/cluster-store/entries/watched-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { restoreJob } from '../backup/backup-jobs';
import {
  basesOf,
  claimIdOf,
  isPastReturn,
  logsOf,
  type RestoreRecord,
  RESTORES_PATH,
  restoreFromEntry,
} from '../backup/backup-record';
import type { BackupRepository } from '../backup/backup-repository';
import { type BackupWorkParts, forgetEnded, isOfBackups, openedTarget } from '../backup/backup-work-parts';
import type { DrivenWork, Failures } from '../driving/job-driver';
import { OwnedEntry, Superseded } from '../driving/owned-entry';
import { endedJob } from '../record/job-record';
import { RestorePass, type RestorePassParts } from './restore-pass';
import { restoreKeys } from './restored-keys';

/** A restore that fails so often in a way that nobody expects has something that no other attempt will mend. */
const UNEXPECTED_MAX = 5;

export type RestoreWorkOptions = Omit<RestorePassParts, 'stop'> & BackupWorkParts;

/** Does what the entries of restores say. */
export class RestoreWork implements DrivenWork<RestoreRecord> {
  readonly name = 'a restore';
  readonly entries: WatchedEntries<RestoreRecord>;
  readonly isExpected = isOfBackups;

  constructor(private readonly options: RestoreWorkOptions) {
    const { store, log } = options;
    const onUnreadable = (error: unknown): void =>
      log.error({ error }, 'an entry of a restore is unreadable and left alone');
    this.entries = new WatchedEntries({ store, prefix: RESTORES_PATH, decode: restoreFromEntry, onUnreadable });
  }

  stepOf({ state }: RestoreRecord): string {
    return state;
  }

  *due(): Iterable<Watched<RestoreRecord>> {
    for (const found of this.entries.all()) {
      const { state, endedAt } = found.value;
      if (state === 'failed' || state === 'done') forgetEnded(this.options, found.key, endedAt);
      else yield found;
    }
  }

  isOvertaken(begun: RestoreRecord, now: RestoreRecord | null): boolean {
    return now !== null && now.state !== begun.state;
  }

  async run({ key }: Watched<RestoreRecord>, stop: AbortSignal, { unexpected }: Failures): Promise<number> {
    const { store, clock, log } = this.options;
    const entry = await store.get(key);
    if (entry === null) {
      await this.entries.refresh();
      return 0;
    }
    const owned = new OwnedEntry(this.options, key, restoreFromEntry(entry), entry.revision);
    const pass = new RestorePass(owned, { ...this.options, stop });
    const { id, backup, target, state } = owned.content;
    const { repository, refusal } = openedTarget(this.options, target);
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
        const isUsual = isQuiverError(error) || error instanceof Superseded || isOfBackups(error);
        const isVain = !isUsual && unexpected >= UNEXPECTED_MAX;
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
    await this.entries.refresh();
    return 0;
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
}

function deletedSince(name: string): string {
  return `collection "${name}" was restored, and was deleted before the restore had ended`;
}
