import { mkdirSync, statSync } from 'node:fs';
import { QuiverError } from '../shared/errors/quiver-error';
import type { Logger } from '../shared/logs/logger';

/** For the user of the process alone: whoever reads the folder reads everything stored, whatever the API's keys allow. */
const OWN = 0o700;
/** Rights of everybody beyond the folder's user and group. The group is left alone: platforms give volumes by it. */
const OTHERS = 0o007;

/** Makes the data folder where it is missing; says so in the log where others may look into it. Errors: storage_failed. */
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
