import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { QuiverError } from '../errors/quiver-error';
import { makeStableFolder, syncFolder } from '../files/stable-folder';
import type { BackupObject, BackupTarget } from './backup-target';

/** The ending of files that are being written. Object names never end so. */
const UNFINISHED = '.unfinished';

/**
 * Backups in a folder: one file for each object. An object is on stable storage when its `put` resolves. In a cluster, the
 * folder has to be the same on every member, as a network file system is.
 */
export class FolderTarget implements BackupTarget {
  constructor(
    readonly name: string,
    private readonly folder: string,
  ) {}

  put(key: string, bytes: Buffer): Promise<void> {
    return this.attempt('write', async () => {
      const path = this.pathOf(key);
      await makeStableFolder(dirname(path), 0o700);
      const aside = `${path}.${randomUUID()}${UNFINISHED}`;
      try {
        const file = await open(aside, 'wx', 0o600);
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(aside, path);
      } catch (error) {
        await rm(aside, { force: true });
        throw error;
      }
      await syncFolder(dirname(path));
    });
  }

  get(key: string): Promise<Buffer | null> {
    return this.attempt('read', () => orMissing(readFile(this.pathOf(key)), null));
  }

  list(prefix: string): Promise<BackupObject[]> {
    return this.attempt('list', async () => {
      const from = join(this.folder, dirname(`${prefix}x`));
      const entries = await orMissing(readdir(from, { recursive: true, withFileTypes: true }), []);
      const found: BackupObject[] = [];
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name);
        const key = relative(this.folder, path).split(sep).join('/');
        if (!entry.isFile() || entry.name.endsWith(UNFINISHED) || !key.startsWith(prefix)) continue;
        const bytes = await orMissing(
          stat(path).then(({ size }) => size),
          null,
        );
        if (bytes !== null) found.push({ key, bytes });
      }
      return found;
    });
  }

  delete(key: string): Promise<void> {
    return this.attempt('remove from', async () => {
      const path = this.pathOf(key);
      await rm(path, { force: true });
      // Folders of data go with the last of their objects, and with what a process left there that ended while it wrote.
      for (let inner = dirname(key); inner.includes('/'); inner = dirname(inner)) if (!(await this.removeEmpty(join(this.folder, inner)))) return;
    });
  }

  private async removeEmpty(folder: string): Promise<boolean> {
    const left = await orMissing(readdir(folder), null);
    if (left === null) return true;
    if (!left.every((name) => name.endsWith(UNFINISHED))) return false;
    for (const name of left) await rm(join(folder, name), { force: true });
    return rmdir(folder).then(
      () => true,
      () => false,
    );
  }

  private pathOf(key: string): string {
    if (!/^[\w.-]+(?:\/[\w.-]+)*$/.test(key) || key.split('/').some((part) => part === '.' || part === '..')) throw new QuiverError('internal', `no object name: ${key}`);
    return join(this.folder, key);
  }

  private async attempt<Result>(verb: string, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof QuiverError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      const refused = code === 'ENOSPC' || code === 'EDQUOT' || code === 'EACCES' || code === 'EROFS' || code === 'EPERM';
      throw new QuiverError(refused ? 'storage_failed' : 'unavailable', `the backup target failed to ${verb} an object${code === undefined ? '' : ` (${code})`}`, { cause: error });
    }
  }
}

async function orMissing<Found, Missing>(found: Promise<Found>, missing: Missing): Promise<Found | Missing> {
  return found.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return missing;
    throw error;
  });
}
