import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { OpenTarget } from '../../../shared/backup-store/backup-target';
import { isQuiverError, type QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { DriverLeadership } from '../driving/owned-entry';
import { StoreAway } from './backup-pass';
import { BackupRepository } from './backup-repository';

/** What failed, or is over, is shown for so long. */
const SHOWN_MS = 7 * 24 * 3_600_000;

/** What those need who drive backups and restores. */
export interface BackupWorkParts {
  store: ClusterStore;
  clock: Clock;
  leadership: DriverLeadership;
  openTarget: OpenTarget;
  log: Logger;
}

export function isOfBackups(error: unknown): boolean {
  return error instanceof StoreAway;
}

/**
 * The backups in a target; `refusal`: why this service may have none there, where BACKUP_TARGET is not what it was.
 */
export function openedTarget(
  { openTarget, clock }: Pick<BackupWorkParts, 'openTarget' | 'clock'>,
  target: string,
): { repository: BackupRepository; refusal: null } | { repository: null; refusal: QuiverError } {
  try {
    return { repository: new BackupRepository(openTarget(target), () => clock.wallMs()), refusal: null };
  } catch (error) {
    if (!isQuiverError(error) || error.kind !== 'invalid_parameter') throw error;
    return { repository: null, refusal: error };
  }
}

/** What is over is shown for a while. */
export function forgetEnded(
  { store, clock, leadership }: Pick<BackupWorkParts, 'store' | 'clock' | 'leadership'>,
  key: string,
  endedAt: string | null,
): void {
  if (endedAt !== null && clock.wallMs() - Date.parse(endedAt) < SHOWN_MS) return;
  if (leadership.guard === null) return;
  store.transact([], [{ type: 'delete', key }]).catch(() => undefined);
}
