import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { mustBeKnownFormat } from './files/later-format';
import { removeTrialFiles, trialFile } from './files/trial-files';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { Logger } from '../../shared/base/logs/logger';
import { isMissing } from '../../shared/base/files/missing-file';

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

/**
 * The format of the folder: what lies where, and the small files beside the shards, which have no version of their own
 * (`node/store.json`, `node/cluster.json`, `node/stores/`). A folder that does not say is of format 1. Shards carry
 * theirs (shard-format.ts).
 */
const FORMAT = 1;
const FORMAT_FILE = 'format.json';
/** One of these is there after a start; folders of the first versions have no format. */
const DATA = [FORMAT_FILE, 'cluster', 'node'];

/**
 * Makes the data folder if it is missing, unless data are `expected` in it. Logs a warning if others may read it.
 * Errors: storage_failed, LaterFormatError; a folder of a later version is left as it is.
 */
export function prepareDataFolder(folder: string, log: Pick<Logger, 'warn'>, { expected = false } = {}): void {
  if (expected && !DATA.some((name) => existsSync(join(folder, name)))) {
    throw new QuiverError(
      'storage_failed',
      `there are no data in ${folder} (DATA_DIR), and DATA_EXPECTED says that there are: mount the volume or put them back, or unset DATA_EXPECTED for a service that begins empty`,
    );
  }
  let mode: number;
  try {
    makeFolder(folder);
    ({ mode } = statSync(folder));
  } catch (error) {
    throw new QuiverError('storage_failed', `the data folder ${folder} cannot be made: ${reasonOf(error)} (DATA_DIR)`, {
      cause: error,
    });
  }
  mustBeWritable(folder);
  removeTrialFiles(folder);
  claimFormat(join(folder, FORMAT_FILE));
  if ((mode & OTHERS) === 0) return;
  log.warn(
    { dataDir: folder, mode: (mode & 0o777).toString(8) },
    'every user of this machine has access to the data folder (DATA_DIR): take it from them, as by chmod o-rwx',
  );
}

/**
 * Makes a folder and those above it that are missing. Node's own way tries for ever where a file system says that a
 * folder is not there which it has, as /proc does.
 */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  try {
    mkdirSync(folder, { mode: OWN });
  } catch (error) {
    const above = dirname(folder);
    if (!isMissing(error) || above === folder || existsSync(above)) throw error;
    makeFolder(above);
    makeFolder(folder);
  }
}

/** A full disk is no reason: what is stored can be read, and room may come. */
const FULL = new Set(['ENOSPC', 'EDQUOT']);
/** What the system says, in words of people. */
const REASONS: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only',
  ENOTDIR: 'a part of the path is a file, and no folder',
  EEXIST: 'there is a file of that name',
  ENOSPC: 'its disk is full',
  EDQUOT: 'the quota of its disk is used up',
};

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM')
    return `the user of this process${typeof process.getuid === 'function' ? ` (uid ${process.getuid()})` : ''} may not write there (${code})`;
  return code in REASONS ? `${REASONS[code]} (${code})` : message;
}

/** Errors: storage_failed, with the reason for people. */
function mustBeWritable(folder: string): void {
  const trial = trialFile(folder);
  try {
    closeSync(openSync(trial, 'wx', 0o600));
    // Another process that starts may have removed it.
    rmSync(trial, { force: true });
  } catch (error) {
    if (FULL.has((error as NodeJS.ErrnoException).code ?? '')) return;
    throw new QuiverError(
      'storage_failed',
      `the data folder ${folder} cannot be written: ${reasonOf(error)} (DATA_DIR)`,
      { cause: error },
    );
  }
}

function claimFormat(file: string): void {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (!isMissing(error))
      throw new QuiverError('storage_failed', `${file} cannot be read: ${(error as Error).message}`, { cause: error });
    return noteFormat(file);
  }
  const format = /^\{"format":(\d{1,9})[,}]/.exec(text)?.[1];
  if (format === undefined) {
    throw new QuiverError(
      'storage_failed',
      `${file} is damaged: it does not begin with {"format":${FORMAT}}; put it back, or remove it unless a later version has been there: a folder without it is of format 1`,
    );
  }
  mustBeKnownFormat(file, Number(format), FORMAT);
}

function noteFormat(file: string): void {
  try {
    writeFileSync(`${file}.next`, `{"format":${FORMAT}}\n`, { mode: 0o600, flush: true });
    renameSync(`${file}.next`, file);
  } catch {
    // A full or read-only disk: whoever has to write there says so. A folder without the file is of format 1, too.
  }
}
