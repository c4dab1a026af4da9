import { randomBytes } from 'node:crypto';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile, syncFolder } from '../shared/files/stable-folder';
import type { Logger } from '../shared/logs/logger';

/** Of DATA_DIR. Its text is what BACKUP_SECRET would be. */
const FILE = 'backup-secret';
const SECRET = /^[0-9a-f]{64}$/;
const SECRET_BYTES = 32;

/**
 * The secret that seals the backups of an embedded service, out of its data folder; made there if it is missing. It is never in a
 * backup, so whoever may lose the folder keeps a copy elsewhere.
 */
export async function ownBackupSecret(dataDir: string, log: Pick<Logger, 'info' | 'error'>): Promise<string> {
  const path = join(dataDir, FILE);
  try {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    const present = text?.trim() ?? '';
    if (SECRET.test(present)) return present;
    if (text !== null) {
      log.error(
        { path, kept: `${path}.damaged` },
        'the secret that seals backups is damaged: another one is made, and backups of before count as not sealed by this service (BACKUP_SECRET_OTHER takes a copy)',
      );
      await rename(path, `${path}.damaged`);
    }
    const made = randomBytes(SECRET_BYTES).toString('hex');
    await replaceFile(path, `${made}\n`);
    await syncFolder(dataDir);
    log.info(
      { path },
      'a secret that seals backups was made: keep a copy of it elsewhere than in the data folder and in BACKUP_TARGET, since without it keys are restored from a backup only on trust',
    );
    return made;
  } catch (error) {
    // Data are served without it.
    log.error({ error, path }, 'the secret that seals backups could not be read or kept: backups that are taken until the next start count as not sealed by this service afterwards');
    return randomBytes(SECRET_BYTES).toString('hex');
  }
}
