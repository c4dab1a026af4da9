import { BACKUPS_PREFIX, CLAIMS_PREFIX, idOfKey, VOIDS_PREFIX } from '../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';

/** Names of objects of a backup, by its id. */

/** When a backup began, by its id. */
export function msOfId(id: string): number {
  return Date.parse(id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z'));
}

export function manifestKey(id: string): string {
  return `${BACKUPS_PREFIX}${id}.json`;
}

export function voidKey(id: string): string {
  return `${VOIDS_PREFIX}${id}.json`;
}

export function claimKey(id: string): string {
  return `${CLAIMS_PREFIX}${id}.json`;
}

/** The ids of the objects `<prefix><id>.json`; what else is there is nothing. Errors: those of the target. */
export async function idsUnder(target: BackupTarget, prefix: string): Promise<string[]> {
  return (await target.list(prefix)).flatMap(({ key }) => {
    const id = idOfKey(key, prefix);
    return id !== null && key === `${prefix}${id}.json` ? [id] : [];
  });
}
