import { mkdirSync, statSync } from 'node:fs';
import { QuiverError } from '../shared/errors/quiver-error';
import type { Logger } from '../shared/logs/logger';

/**
 * Only the user of the process may read the folder: whoever reads it can read everything stored, whatever the API's
 * keys allow.
 */
const OWN = 0o700;
/**
 * Rights of others, outside the folder's user and group. The group keeps its rights, because platforms use it to
 * provide volumes.
 */
const OTHERS = 0o007;

/** Makes the data folder if it is missing. Logs a warning if others may read it. Errors: storage_failed. */
export function prepareDataFolder(folder: string, log: Pick<Logger, 'warn'>): void {
  let mode: number;
  try {
    mkdirSync(folder, { recursive: true, mode: OWN });
    ({ mode } = statSync(folder));
  } catch (error) {
    throw new QuiverError('storage_failed', `the data folder ${folder} cannot be made: ${(error as Error).message}`, { cause: error });
  }
  if ((mode & OTHERS) === 0) return;
  log.warn({ dataDir: folder, mode: (mode & 0o777).toString(8) }, 'every user of this machine has access to the data folder (DATA_DIR): take it from them, as by chmod o-rwx');
}
