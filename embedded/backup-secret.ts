import { createHash, randomBytes } from 'node:crypto';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile, syncFolder } from '../shared/base/files/stable-folder';
import type { Logger } from '../shared/base/logs/logger';
import { unlessMissing } from '../shared/base/files/missing-file';

/** Of DATA_DIR. Its text is what BACKUP_SECRET would be. */
const FILE = 'backup-secret';
const SECRET = /^[0-9a-f]{64}$/;
const SECRET_BYTES = 32;
/** Beside it: what it is known by, twice, so that damage of this file is told from damage of the secret. */
const CHECK_FILE = 'backup-secret.check';
const CHECK = /^([0-9a-f]{16}) \1$/;
const CHECK_LENGTH = 16;

/**
 * The secret that seals the backups of an embedded service, out of its data folder; made there if it is missing. It is
 * never in a backup, so whoever may lose the folder keeps a copy elsewhere.
 */
export async function ownBackupSecret(dataDir: string, log: Pick<Logger, 'info' | 'error'>): Promise<string> {
  const path = join(dataDir, FILE);
  try {
    const text = await unlessMissing(readFile(path, 'utf8'));
    const present = text?.trim() ?? '';
    if (SECRET.test(present)) {
      await reportOtherSecret(dataDir, present, log).catch((error: unknown) =>
        log.error({ error, path }, 'whether the secret that seals backups is that of before is not known'),
      );
      return present;
    }
    if (text !== null) {
      log.error(
        { path, kept: `${path}.damaged` },
        'the secret that seals backups is damaged: another one is made, and backups of before count as not sealed by this service (BACKUP_SECRET_OTHER takes a copy)',
      );
      await rename(path, `${path}.damaged`);
    } else if (CHECK.test((await checkIn(dataDir)).trim())) {
      log.error(
        { path },
        'the secret that seals backups is gone: another one is made, and backups of before count as not sealed by this service (BACKUP_SECRET_OTHER takes a copy)',
      );
    }
    const made = randomBytes(SECRET_BYTES).toString('hex');
    await replaceFile(path, `${made}\n`);
    await replaceFile(join(dataDir, CHECK_FILE), checkOf(made));
    await syncFolder(dataDir);
    log.info(
      { path },
      'a secret that seals backups was made: keep a copy of it elsewhere than in the data folder and in ' +
        'BACKUP_TARGET, since without it keys are restored from a backup only on trust',
    );
    return made;
  } catch (error) {
    // Data are served without it.
    log.error(
      { error, path },
      'the secret that seals backups could not be read or kept: backups that are taken until the next start count as not sealed by this service afterwards',
    );
    return randomBytes(SECRET_BYTES).toString('hex');
  }
}

/**
 * Says so when the secret is another one than at the last start: somebody put it there, or a character of it is
 * damaged. Errors: those of the file system.
 */
async function reportOtherSecret(dataDir: string, secret: string, log: Pick<Logger, 'error'>): Promise<void> {
  const noted = await checkIn(dataDir);
  const check = checkOf(secret);
  if (noted === check) return;
  if (noted.trim() !== check.trim() && CHECK.test(noted.trim())) {
    log.error(
      { path: join(dataDir, FILE) },
      'the secret that seals backups is another one than at the last start: if nobody put it there, it is ' +
        'damaged, and the one of before is to be put back; backups of before count as not sealed by this service ' +
        '(BACKUP_SECRET_OTHER takes a copy)',
    );
  }
  await replaceFile(join(dataDir, CHECK_FILE), check);
}

/** '': there is none. Errors: those of the file system. */
async function checkIn(dataDir: string): Promise<string> {
  return (await unlessMissing(readFile(join(dataDir, CHECK_FILE), 'utf8'))) ?? '';
}

function checkOf(secret: string): string {
  const digits = createHash('sha256').update(secret).digest('hex').slice(0, CHECK_LENGTH);
  return `${digits} ${digits}\n`;
}
