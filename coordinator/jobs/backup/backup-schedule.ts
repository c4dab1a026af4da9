import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { collectionFromEntry } from '../../service/collections/collection-record';
import { type BackupRecord, backupPath, SCHEDULE_PATH } from './backup-record';
import type { BackupRepository } from './backup-repository';
import type { Cron } from './cron';
import { type KeepRule, keptBackups } from './kept-backups';

/** A time that is further ahead is of a clock that was wrong. */
const AHEAD_MS = 3_600_000;

/**
 * Begins backups when they are due, once each, whoever is the controller: the entry says up to when that was done. What
 * was due while nobody was there is made up for once.
 */
export class BackupSchedule {
  private dueMs: number | null = null;
  /** When that was found, by wall time. */
  private foundMs = 0;

  constructor(
    private readonly parts: {
      store: ClusterStore;
      clock: Clock;
      cron: Cron;
      newRecord: () => BackupRecord;
      log: Logger;
    },
  ) {}

  /** Begins a backup if one is due. `isBusy`: one is under way already. Errors: unavailable. */
  async look(isBusy: boolean): Promise<void> {
    const { store, clock, cron, newRecord, log } = this.parts;
    const nowMs = clock.wallMs();
    if (this.dueMs !== null && nowMs < this.dueMs && this.foundMs - nowMs <= AHEAD_MS) return;
    const entry = await store.get(SCHEDULE_PATH);
    const lastMs = Number(entry?.value ?? nowMs);
    if (entry !== null && !(lastMs - nowMs <= AHEAD_MS)) {
      // Nothing would be due until that time comes.
      log.warn(
        { last: entry.value, nowMs },
        'the last scheduled backup is noted with a time that has not come, or is none: a clock was ahead; the ' +
          'schedule goes on from now',
      );
      const { applied } = await store.transact(
        [{ key: SCHEDULE_PATH, revision: entry.revision }],
        [{ type: 'put', key: SCHEDULE_PATH, value: String(nowMs) }],
      );
      this.next(applied ? cron.after(nowMs) : null, nowMs);
      return;
    }
    const dueMs = cron.after(Math.min(lastMs, nowMs));
    if (dueMs === null || nowMs < dueMs) {
      this.next(dueMs, nowMs);
      if (entry === null)
        await store.transact(
          [{ key: SCHEDULE_PATH, revision: 0 }],
          [{ type: 'put', key: SCHEDULE_PATH, value: String(nowMs) }],
        );
      return;
    }
    const record = newRecord();
    if (isBusy) log.warn({}, 'a scheduled backup is left out, because the one before is still under way');
    const result = await store.transact(
      [{ key: SCHEDULE_PATH, revision: entry?.revision ?? 0 }],
      [
        { type: 'put', key: SCHEDULE_PATH, value: String(nowMs) },
        ...(isBusy ? [] : [{ type: 'put' as const, key: backupPath(record.id), value: JSON.stringify(record) }]),
      ],
    );
    if (result.applied) this.next(cron.after(nowMs), nowMs);
  }

  private next(dueMs: number | null, foundMs: number): void {
    this.dueMs = dueMs;
    this.foundMs = foundMs;
  }
}

/**
 * Deletes the scheduled backups that the rule does not keep. Those that somebody asked for stay, and so does the last
 * one that has a collection which is still there: others may have been taken without it. `present`: the collections
 * that are there, by their identities. Errors: those of the target.
 */
export async function deleteOldBackups(
  repository: BackupRepository,
  rule: KeepRule,
  { log, present }: { log: Logger; present: ReadonlySet<string> },
): Promise<void> {
  // What anybody could have written takes the place of nothing that this service has sealed; what is sealed, that of
  // the rest.
  const found = { sealed: new Map<string, DatedBackup>(), others: new Map<string, DatedBackup>() };
  const lastOnes = new Set<string>();
  const wanted = new Set(present);
  for (const id of await repository.ids()) {
    const stored = await repository.load(id).catch(() => null);
    if (stored === null) continue;
    const { manifest, seal } = stored;
    const finishedMs = Date.parse(manifest.finishedAt);
    const has = manifest.collections
      .map(({ uid, record }) => identityIn(record) ?? uid)
      .filter((identity) => wanted.has(identity));
    if (seal === 'sealed') for (const identity of has) wanted.delete(identity);
    if (has.length > 0) lastOnes.add(id);
    // A time that has not come says nothing of which is older.
    if (manifest.scheduled && !repository.isAhead(finishedMs))
      (seal === 'sealed' ? found.sealed : found.others).set(id, { finishedMs });
  }
  for (const [backups, extra] of [
    [found.sealed, []],
    [found.others, [...found.sealed.values()]],
  ] as const) {
    const kept = keptBackups([...extra, ...backups.values()], rule);
    for (const [id, backup] of backups) {
      if (kept.has(backup) || lastOnes.has(id)) continue;
      await repository.makeVoid(id);
      log.info(
        { backup: id, finishedAt: new Date(backup.finishedMs).toISOString() },
        'a scheduled backup is old and deleted',
      );
    }
  }
}

interface DatedBackup {
  finishedMs: number;
}

/** What stays of a collection with other shards; null: it can't be read. */
function identityIn(record: string): string | null {
  try {
    return collectionFromEntry({ key: '', value: record }).identity;
  } catch {
    return null;
  }
}
