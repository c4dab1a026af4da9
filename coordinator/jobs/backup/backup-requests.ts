import { randomBytes } from 'node:crypto';
import { backupId, isBackupId, isUnreadable } from '../../../shared/backup-store/backup-format';
import type { OpenTarget } from '../../../shared/backup-store/backup-target';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { outcomeTransaction, mustBeFirst, type StoreDedup } from '../../service/idempotency/store-dedup';
import { ALIASES_PATH, aliasesFromEntry, mustBeNoAlias } from '../../service/collections/alias-record';
import { collectionFromEntry, collectionPath, COLLECTIONS_PREFIX } from '../../service/collections/collection-record';
import type { ReshardRequests } from '../reshard/reshard-requests';
import type {
  BackupsService,
  BackupView,
  NewBackup,
  NewRestore,
  RestorableView,
  RestoreView,
} from '../../service/service';
import {
  type BackupRecord,
  BACKUPS_PATH,
  backupFromEntry,
  basesOf,
  backupPath,
  isPastReturn,
  type RestoredCollection,
  type RestoreRecord,
  RESTORES_PATH,
  restoreFromEntry,
  restorePath,
} from './backup-record';
import type { JobRecord } from '../record/job-record';
import { checkFeatures, type CollectionObstacle } from '../../service/collections/collection-obstacle';
import type { StoredJobs } from '../record/stored-jobs';
import { lastCheck } from './backup-checks';
import { BackupRepository, type StoredBackup } from './backup-repository';
import { restorableOf } from '../restore/restorable';
import { readable, RestoreMoment } from '../restore/restore-moment';
import { chosenOf, type RestoreSource, sourceOf, sourceOfMoment } from '../restore/restore-source';
import { ShippedLogs } from './shipped-logs';
import { VERIFY, type VerifyInput, verifyJob } from './verify-kind';
import { intoExisting } from '../restore/taken-names';

const ATTEMPTS_MAX = 16;
/** Finished backups that a list shows, the newest that this service has sealed; and as many that it has not. */
const LISTED_MAX = 1000;

/** What is kept of a request that is done once. */
interface Outcome {
  dedup: StoreDedup;
  result: unknown;
}

/** Begins backups and restores, gives them up and shows them. Somebody else drives them (BackupDriver). */
export class BackupRequests implements BackupsService {
  constructor(
    private readonly options: {
      store: ClusterStore;
      clock: Clock;
      /** BACKUP_TARGET; empty: there is none. */
      target: string;
      openTarget: OpenTarget;
      reshards: Pick<ReshardRequests, 'mustBeEmpty'>;
      jobs: Pick<StoredJobs, 'begin' | 'newId' | 'underWay' | 'cancel'>;
      collectionObstacle?: CollectionObstacle | undefined;
    },
  ) {}

  async create({ collections, target }: NewBackup, dedup?: StoreDedup): Promise<BackupView> {
    const { store, clock } = this.options;
    const name = this.checked(target);
    for (const collection of collections ?? []) {
      const entry = await store.get(collectionPath(collection));
      if (entry === null || collectionFromEntry(entry).state !== 'ready')
        throw new QuiverError('not_found', `collection "${collection}" does not exist`);
    }
    const record = newBackupRecord(clock.wallMs(), name, {
      collections: collections === undefined ? null : [...new Set(collections)],
      scheduled: false,
    });
    await this.put(backupPath(record.id), 0, record, dedup && { dedup, result: backupView(record) });
    return backupView(record);
  }

  async list(target?: string): Promise<BackupView[]> {
    const name = this.checked(target);
    const { entries } = await this.options.store.list(BACKUPS_PATH);
    const damaged: BackupView[] = [];
    const views = readableEntries(
      entries,
      (entry) => {
        const record = backupFromEntry(entry);
        return record.target === name && isShown(record) ? backupView(record) : null;
      },
      // Of which target it is, it does not say.
      ({ key, reason }) => damaged.push(unreadableView(key.slice(BACKUPS_PATH.length), name, reason)),
    );
    views.push(...damaged);
    const verified = await this.options.jobs.underWay(VERIFY);
    const repository = this.repository(name);
    const shown = new Set(views.map(({ id }) => id));
    let strange = 0;
    for await (const { id, stored, error } of repository.looks(LISTED_MAX, (one) => !shown.has(one))) {
      // Those that somebody else has put there take no place of another one.
      if (stored?.seal !== 'sealed' && (strange += 1) > LISTED_MAX) continue;
      views.push(
        stored === null ? unreadableView(id, name, error) : await this.finishedView(stored, name, repository, verified),
      );
    }
    return views.sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** Of one that is in the target; null: there is none. One that can't be read is shown as that. */
  private async viewOf(id: string, target: string, repository: BackupRepository): Promise<BackupView | null> {
    let stored: StoredBackup | null;
    try {
      stored = await repository.load(id);
    } catch (error) {
      if (isUnreadable(error)) return unreadableView(id, target, error.message);
      throw error;
    }
    return stored && this.finishedView(stored, target, repository, await this.options.jobs.underWay(VERIFY));
  }

  async restorable(target?: string): Promise<RestorableView[]> {
    const repository = this.repository(this.checked(target));
    const logs = new ShippedLogs(repository.target);
    // What was told first: it is true of whatever is known of the collections later.
    const reported = await logs.reported();
    const histories = await logs.histories();
    if (histories.length === 0) return [];
    const manifests = (await readable(repository)).map(({ manifest }) => manifest);
    const views: RestorableView[] = [];
    for (const history of histories)
      views.push(...(await restorableOf(history, { logs, reported, manifests, histories })));
    return views;
  }

  async get(id: string, target?: string): Promise<BackupView> {
    const name = this.checked(target);
    const entry = await this.options.store.get(backupPath(id));
    const record = entry === null ? null : readOrReason(() => backupFromEntry(entry));
    if (typeof record === 'string') return unreadableView(id, name, record);
    if (record !== null && isShown(record)) return backupView(record);
    const repository = this.repository(record?.target ?? name);
    const view = isBackupId(id) ? await this.viewOf(id, record?.target ?? name, repository) : null;
    if (view === null) throw noBackup(id);
    return view;
  }

  async delete(id: string, target?: string, dedup?: StoreDedup): Promise<BackupView> {
    const name = this.checked(target);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const entry = await this.options.store.get(backupPath(id));
      const found = entry === null ? null : readOrReason(() => backupFromEntry(entry));
      const present = found !== null && typeof found !== 'string' && isShown(found) ? found : null;
      if (present?.state === 'deleting' || present?.state === 'cancelling') return backupView(present);
      const view = present === null ? await this.get(id, name) : null;
      await this.mustNotBeRestored(id, present?.target ?? name);
      // One that is finished is gone at once. Of one under way, or that failed, the driver takes care, wherever it is
      // written.
      if (present?.state !== 'running' && present?.state !== 'failed')
        await this.repository(present?.target ?? name).makeVoid(id);
      const record: BackupRecord = present ?? { ...recordOf(view!, name), state: 'deleting' };
      const changed: BackupRecord = { ...record, state: present?.state === 'running' ? 'cancelling' : 'deleting' };
      if (
        !(await this.transact(
          backupPath(id),
          entry?.revision ?? 0,
          changed,
          dedup && { dedup, result: backupView(changed) },
        ))
      )
        continue;
      await this.stopVerifying(id, record.target);
      return backupView(changed);
    }
    throw tooBusy();
  }

  /** What is deleted is not damaged. */
  private async stopVerifying(backup: string, target: string): Promise<void> {
    const { jobs } = this.options;
    for (const { id } of (await jobs.underWay(VERIFY)).filter((job) => isOf(job, backup, target)))
      await jobs.cancel(id);
  }

  /** Gives a backup up that is under way; one that is over by now stays as it is. Errors: unavailable. */
  async cancel(id: string): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const entry = await this.options.store.get(backupPath(id));
      const present = entry === null ? null : backupFromEntry(entry);
      if (entry === null || present?.state !== 'running') return;
      if (await this.transact(entry.key, entry.revision, { ...present, state: 'cancelling' })) return;
    }
    throw tooBusy();
  }

  /**
   * A restore that has not begun yet, or another service's, is held by what is in the target (BackupRepository.hold).
   */
  private async mustNotBeRestored(backup: string, target: string): Promise<void> {
    // One that can't be read is not driven any more.
    const restores = readableEntries((await this.options.store.list(RESTORES_PATH)).entries, restoreFromEntry);
    const reader = restores.find(
      (one) => one.state === 'running' && one.target === target && basesOf(one).includes(backup),
    );
    if (reader !== undefined)
      throw new QuiverError(
        'conflict',
        `backup ${backup} is being restored by ${reader.id}: wait for that, or give it up first`,
      );
  }

  async verify(id: string, target?: string): Promise<BackupView> {
    const { store, jobs } = this.options;
    const name = this.checked(target);
    const entry = await store.get(backupPath(id));
    if (entry !== null && isShown(backupFromEntry(entry)))
      throw new QuiverError('invalid_parameter', `backup ${id} is not complete: there is nothing to verify`);
    const view = await this.get(id, name);
    if (view.verification?.state === 'running') return view;
    if (view.state === 'unreadable')
      throw new QuiverError(
        'invalid_parameter',
        `backup ${id} can not be read, so there is nothing to verify: ${view.error ?? ''}`,
      );
    await jobs.begin({ ...verifyJob({ backup: id, target: name }), id: jobs.newId(VERIFY) });
    return { ...view, verification: { state: 'running', objects: 0, of: 0, bytes: 0, damaged: [], checkedAt: null } };
  }

  async restore(input: NewRestore, dedup?: StoreDedup): Promise<RestoreView> {
    const { store, clock } = this.options;
    const target = this.checked(input.target);
    const source = await this.restoredFrom(input, target);
    const wallMs = clock.wallMs();
    const chosen = chosenOf(source, input, new Date(wallMs).toISOString());
    const records = chosen.map(({ record }) => collectionFromEntry({ key: '', value: record }));
    const { collectionObstacle = () => null } = this.options;
    for (const record of records) checkFeatures(record, collectionObstacle);
    const names = records.map(({ name }) => name);
    for (const [i, name] of names.entries())
      if (names.indexOf(name) !== i)
        throw new QuiverError('invalid_parameter', `two collections would be restored as "${name}"`);
    const aliases = aliasesFromEntry(await store.get(ALIASES_PATH));
    for (const name of names) mustBeNoAlias(aliases, name);
    const present = new Map(
      (await store.list(COLLECTIONS_PREFIX)).entries
        .filter(({ key }) => names.includes(key.slice(COLLECTIONS_PREFIX.length)))
        .map(collectionFromEntry)
        .map((one) => [one.name, one]),
    );
    const parts = { store, reshards: this.options.reshards };
    const collections: RestoredCollection[] = [];
    for (const [i, name] of names.entries()) {
      const taken = present.get(name);
      collections.push(taken === undefined ? chosen[i] : await intoExisting(parts, taken, chosen[i], input));
    }
    const record: RestoreRecord = {
      id: `restore-${backupId(wallMs, randomBytes(4).toString('hex'))}`,
      backup: source.id,
      ...(input.until !== undefined && {
        until: typeof input.until === 'string' ? input.until : JSON.stringify(input.until),
      }),
      target,
      state: 'running',
      collections,
      manifests: source.manifests,
      keys: input.keys,
      warnings: source.warnings,
      startedAt: new Date(wallMs).toISOString(),
      endedAt: null,
      error: null,
    };
    await this.put(restorePath(record.id), 0, record, dedup && { dedup, result: restoreView(record) });
    return restoreView(record);
  }

  async restores(): Promise<RestoreView[]> {
    const { entries } = await this.options.store.list(RESTORES_PATH);
    const damaged: RestoreView[] = [];
    const views = readableEntries(
      entries,
      (entry) => restoreView(restoreFromEntry(entry)),
      ({ key, reason }) => damaged.push(unreadableRestore(key.slice(RESTORES_PATH.length), reason)),
    );
    return [...views, ...damaged].sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  async restoreState(id: string): Promise<RestoreView> {
    const entry = await this.options.store.get(restorePath(id));
    if (entry === null) throw noRestore(id);
    const view = readOrReason(() => restoreView(restoreFromEntry(entry)));
    return typeof view === 'string' ? unreadableRestore(id, view) : view;
  }

  /** `isToEnd`: only one that is under way, so that one that is over by now is not forgotten. */
  async cancelRestore(id: string, dedup?: StoreDedup, { isToEnd = false } = {}): Promise<RestoreView> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const entry = await this.options.store.get(restorePath(id));
      if (entry === null) throw noRestore(id);
      const found = readOrReason(() => restoreView(restoreFromEntry(entry)));
      // One that can't be read is forgotten: nothing else can be done with it.
      const record = typeof found === 'string' ? null : restoreFromEntry(entry);
      const view = typeof found === 'string' ? unreadableRestore(id, found) : found;
      if (record?.state === 'cancelling') return view;
      if (record?.state === 'running') {
        if (isPastReturn(record))
          throw new QuiverError(
            'conflict',
            `restore ${id} can no longer be cancelled: its collections are being published. Delete its record when it has finished`,
          );
        const changed: RestoreRecord = { ...record, state: 'cancelling' };
        if (await this.transact(entry.key, entry.revision, changed, dedup && { dedup, result: restoreView(changed) }))
          return restoreView(changed);
      } else {
        if (isToEnd) return view;
        const { guards, changes } = outcomeTransaction(dedup, view);
        const result = await this.options.store.transact(
          [{ key: entry.key, revision: entry.revision }, ...guards],
          [{ type: 'delete', key: entry.key }, ...changes],
        );
        mustBeFirst(dedup, result);
        if (result.applied) return view;
      }
    }
    throw tooBusy();
  }

  private async finishedView(
    { manifest, seal }: StoredBackup,
    target: string,
    repository: BackupRepository,
    verified: readonly JobRecord[],
  ): Promise<BackupView> {
    const running = verified.find((job) => isOf(job, manifest.id, target));
    const check = running === undefined ? await lastCheck(repository.target, manifest.id, seal === 'sealed') : null;
    const verification =
      running !== undefined
        ? {
            state: 'running' as const,
            objects: running.done,
            of: running.total,
            bytes: 0,
            damaged: [],
            checkedAt: null,
          }
        : check && {
            state: 'done' as const,
            objects: check.objects,
            of: check.objects,
            bytes: check.bytes,
            damaged: check.damaged,
            checkedAt: check.checkedAt,
          };
    return {
      id: manifest.id,
      target,
      state: 'done',
      sealed: seal === 'sealed',
      leftOut: (manifest.leftOut ?? []).map(({ name, reason }) => ({ name, reason })),
      startedAt: manifest.startedAt,
      endedAt: manifest.finishedAt,
      error: null,
      waitsFor: null,
      progress: 1,
      copiedBytes: manifest.copiedBytes,
      totalBytes: manifest.totalBytes,
      items: sum(manifest.collections.flatMap(({ shards }) => shards.map(({ items }) => items))),
      collections: manifest.collections.map(({ name, shards }) => ({
        name,
        shards: shards.map(({ items, totalBytes, position }, shard) => ({
          shard,
          state: 'done',
          items,
          copiedBytes: null,
          totalBytes,
          position: position?.sequence ?? null,
        })),
      })),
      verification: verification ?? null,
    };
  }

  /** What is restored: a backup, or what leads to a moment. */
  private async restoredFrom({ until, ...input }: NewRestore, target: string): Promise<RestoreSource> {
    if (until === undefined) {
      if (input.backup === undefined)
        throw new QuiverError('invalid_parameter', 'backup or until must say what is to be restored');
      const stored = isBackupId(input.backup) ? await this.judged(input.backup, target) : null;
      if (stored === null) throw noBackup(input.backup);
      return sourceOf(stored, input);
    }
    if (input.backup !== undefined && !isBackupId(input.backup)) throw noBackup(input.backup);
    return sourceOfMoment(await new RestoreMoment(this.repository(target)).find({ ...input, until }), input);
  }

  /** A backup that can be read. Errors: invalid_parameter with the reason for one that can't. */
  private async judged(id: string, target: string): Promise<StoredBackup | null> {
    return this.repository(target)
      .load(id)
      .catch((error: unknown) => {
        if (isUnreadable(error))
          throw new QuiverError('invalid_parameter', `backup ${id} can not be restored: ${error.message}`, {
            cause: error,
          });
        throw error;
      });
  }

  private repository(target: string): BackupRepository {
    return new BackupRepository(this.options.openTarget(target), () => this.options.clock.wallMs());
  }

  private checked(target: string | undefined): string {
    const name = target ?? this.options.target;
    this.options.openTarget(name);
    return name;
  }

  private async put(key: string, revision: number, record: object, once?: Outcome): Promise<void> {
    if (!(await this.transact(key, revision, record, once))) throw tooBusy();
  }

  private async transact(key: string, revision: number, record: object, once?: Outcome): Promise<boolean> {
    const { guards, changes } = outcomeTransaction(once?.dedup, once?.result);
    const result = await this.options.store.transact(
      [{ key, revision }, ...guards],
      [{ type: 'put', key, value: JSON.stringify(record) }, ...changes],
    );
    mustBeFirst(once?.dedup, result);
    return result.applied;
  }
}

/** What `read` answers, or why the entry of the cluster store can't be read. Other errors are thrown. */
function readOrReason<Content>(read: () => Content): Content | string {
  try {
    return read();
  } catch (error) {
    if (isQuiverError(error) && error.kind === 'storage_failed') return error.message;
    throw error;
  }
}

/** Whether a job verifies this backup. */
function isOf({ input }: JobRecord, backup: string, target: string): boolean {
  const of = input as VerifyInput;
  return of.backup === backup && of.target === target;
}

/** Not what an earlier version kept of a verification: a job of its own says that. */
function isShown({ state }: BackupRecord): boolean {
  return state !== 'verifying';
}

/** A backup that begins now. */
export function newBackupRecord(
  wallMs: number,
  target: string,
  of: Pick<BackupRecord, 'collections' | 'scheduled'>,
): BackupRecord {
  const id = backupId(wallMs, randomBytes(4).toString('hex'));
  return {
    id,
    target,
    state: 'running',
    ...of,
    startedAt: new Date(wallMs).toISOString(),
    endedAt: null,
    error: null,
    progress: [],
  };
}

function backupView(record: BackupRecord): BackupView {
  const shards = record.progress.flatMap((one) => one.shards);
  return {
    id: record.id,
    target: record.target,
    state: record.state as Exclude<BackupRecord['state'], 'verifying'>,
    sealed: null,
    leftOut: record.progress.flatMap(({ name, leftOut }) => (leftOut === undefined ? [] : [{ name, reason: leftOut }])),
    startedAt: record.startedAt,
    endedAt: record.endedAt,
    error: record.error,
    waitsFor: (record.state === 'running' && shards.find(({ waitsFor }) => waitsFor !== undefined)?.waitsFor) || null,
    progress: shards.length === 0 ? 0 : shards.filter(({ state }) => state === 'done').length / shards.length,
    copiedBytes: sum(shards.map(({ copiedBytes }) => copiedBytes)),
    totalBytes: sum(shards.map(({ totalBytes }) => totalBytes)),
    items: sum(shards.map(({ items }) => items)),
    collections: record.progress.filter(({ leftOut }) => leftOut === undefined),
    verification: null,
  };
}

/** The entry of a backup that has none any more. */
function recordOf(view: BackupView, target: string): BackupRecord {
  return {
    id: view.id,
    target,
    state: 'deleting',
    collections: null,
    scheduled: false,
    startedAt: view.startedAt,
    endedAt: view.endedAt,
    error: null,
    progress: [],
  };
}

function unreadableView(id: string, target: string, error: string): BackupView {
  return {
    id,
    target,
    state: 'unreadable',
    sealed: false,
    leftOut: [],
    startedAt: '',
    endedAt: null,
    error,
    waitsFor: null,
    progress: 1,
    copiedBytes: 0,
    totalBytes: 0,
    items: 0,
    collections: [],
    verification: null,
  };
}

/** When a restore began, by its id. */
function begunAt(id: string): string {
  const [, date, time] = /(\d{8})T(\d{6})Z/.exec(id) ?? ['', '19700101', '000000'];
  const [year, month, day] = [date.slice(0, 4), date.slice(4, 6), date.slice(6)];
  return `${year}-${month}-${day}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}.000Z`;
}

/** One whose entry is damaged: nobody drives it any more. */
function unreadableRestore(id: string, error: string): RestoreView {
  return {
    id,
    backup: '',
    until: null,
    target: '',
    state: 'failed',
    keys: false,
    warnings: [],
    startedAt: begunAt(id),
    endedAt: null,
    error,
    progress: 0,
    collections: [],
  };
}

function restoreView({
  collections,
  warnings = [],
  isPublishing: _isPublishing,
  isHeld: _isHeld,
  manifests: _manifests,
  ...record
}: RestoreRecord): RestoreView {
  const shown = collections.map(({ from, record: value, shardsReady }) => {
    const { name, shards } = collectionFromEntry({ key: '', value });
    return { from, name, shards, shardsReady: record.state === 'done' ? shards : Math.min(shards, shardsReady) };
  });
  const all = sum(shown.map(({ shards }) => shards));
  return {
    ...record,
    warnings,
    until: record.until ?? null,
    progress: all === 0 ? 1 : sum(shown.map(({ shardsReady }) => shardsReady)) / all,
    collections: shown,
  };
}

function noBackup(id: string): QuiverError {
  return new QuiverError('not_found', `backup "${id}" does not exist`);
}

function noRestore(id: string): QuiverError {
  return new QuiverError('not_found', `restore "${id}" does not exist`);
}

function tooBusy(): QuiverError {
  return new QuiverError('unavailable', 'the cluster store is too busy; the call may be retried');
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
