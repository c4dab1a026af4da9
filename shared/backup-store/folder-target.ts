import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { QuiverError } from '../base/errors/quiver-error';
import { makeStableFolder, syncFolder } from '../base/files/stable-folder';
import type { BackupSeals } from './backup-seals';
import { type BackupObject, type BackupTarget, isObjectName } from './backup-target';

/** The ending of files that are being written. Object names never end so. */
const UNFINISHED = '.unfinished';
/** Of a text that is shown because it is no name. */
const NAME_LENGTH = 100;
/** What `open` says of a link, or of a name below a file: there is no such object. */
const NO_FILE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);
/** What file systems without hard links answer to `link`: FAT and some network shares. */
const LINKLESS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Backups in a folder: one file for each object. An object is on stable storage when its `put` resolves. In a cluster,
 * the folder has to be the same on every member, as a network file system is.
 */
export class FolderTarget implements BackupTarget {
  constructor(
    readonly name: string,
    private readonly folder: string,
    readonly seals: BackupSeals,
  ) {}

  async put(key: string, bytes: Buffer): Promise<void> {
    await this.write(key, bytes, async (aside, path) => {
      await rename(aside, path);
      return true;
    });
  }

  /**
   * By a hard link, which never takes the place of a file. A file system that knows none looks first, and then renames.
   */
  create(key: string, bytes: Buffer): Promise<boolean> {
    return this.write(key, bytes, async (aside, path) => {
      const code = await link(aside, path).then(
        () => null,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST' && !LINKLESS.has(error.code)) throw error;
          return error.code;
        },
      );
      if (code !== null && code !== 'EEXIST' && (await orMissing(stat(path), null)) === null) {
        await rename(aside, path);
        return true;
      }
      await rm(aside);
      return code === null;
    });
  }

  /** Writes a file aside, and brings it to its place by `place`, which takes it away; answers what that does. */
  private write(
    key: string,
    bytes: Buffer,
    place: (aside: string, path: string) => Promise<boolean>,
  ): Promise<boolean> {
    return this.attempt('write', async () => {
      const path = await this.pathOf(key);
      await makeStableFolder(dirname(path), 0o700);
      const aside = `${path}.${randomUUID()}${UNFINISHED}`;
      let isPlaced: boolean;
      try {
        const file = await open(aside, 'wx', 0o600);
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        isPlaced = await place(aside, path);
      } catch (error) {
        await rm(aside, { force: true });
        throw error;
      }
      // Also of what somebody else has just placed, and may not have synced.
      await syncFolder(dirname(path));
      return isPlaced;
    });
  }

  get(key: string, bytesMax = Infinity): Promise<Buffer | null> {
    return this.attempt('read', async () => {
      // What is no file of its own is no object: a link leads who knows where, and who opens a pipe waits for its
      // writer.
      const file = await orMissing(
        open(await this.pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK),
        null,
      );
      if (file === null) return null;
      try {
        const facts = await file.stat();
        if (!facts.isFile()) return null;
        if (facts.size > bytesMax)
          throw new QuiverError('storage_damaged', `the backup is damaged: ${key} has more bytes than it may have`);
        return await file.readFile();
      } finally {
        await file.close();
      }
    });
  }

  list(prefix: string, after = ''): Promise<BackupObject[]> {
    return this.attempt('list', async () => {
      const from = dirname(await this.pathOf(`${prefix}x`));
      const entries = await orMissing(readdir(from, { recursive: true, withFileTypes: true }), []);
      const found: BackupObject[] = [];
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name);
        const key = relative(this.folder, path).split(sep).join('/');
        if (
          !entry.isFile() ||
          entry.name.endsWith(UNFINISHED) ||
          !key.startsWith(prefix) ||
          key <= after ||
          !isObjectName(key)
        )
          continue;
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
      const path = await this.pathOf(key);
      await rm(path, { force: true }).catch((error: NodeJS.ErrnoException) => {
        // A folder in the place of an object is none.
        if (error.code !== 'ERR_FS_EISDIR' && !NO_FILE.has(error.code)) throw error;
      });
      // Folders of data go with the last of their objects, and with what a process left there that ended while it
      // wrote.
      for (let inner = dirname(key); inner.includes('/'); inner = dirname(inner))
        if (!(await this.removeEmpty(join(this.folder, inner)))) return;
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

  /**
   * Nothing that somebody put there as a link leads out of the folder. Errors: storage_damaged for what is no name;
   * storage_failed for a link.
   */
  private async pathOf(key: string): Promise<string> {
    if (!isObjectName(key))
      throw new QuiverError(
        'storage_damaged',
        `the backup is damaged: ${JSON.stringify(key.slice(0, NAME_LENGTH))} is no name of an object`,
      );
    for (let at = key.indexOf('/'); at >= 0; at = key.indexOf('/', at + 1)) {
      const folder = join(this.folder, key.slice(0, at));
      const found = await orMissing(lstat(folder), null);
      if (found === null) break;
      if (found.isSymbolicLink())
        throw new QuiverError(
          'storage_failed',
          `the folder ${key.slice(0, at)} of the backup target is a link, which is not followed`,
        );
    }
    return join(this.folder, key);
  }

  private async attempt<Result>(verb: string, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof QuiverError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      const refused =
        code === 'ENOSPC' || code === 'EDQUOT' || code === 'EACCES' || code === 'EROFS' || code === 'EPERM';
      throw new QuiverError(
        refused ? 'storage_failed' : 'unavailable',
        `the backup target failed to ${verb} an object${code === undefined ? '' : ` (${code})`}`,
        { cause: error },
      );
    }
  }
}

async function orMissing<Found, Missing>(found: Promise<Found>, missing: Missing): Promise<Found | Missing> {
  return found.catch((error: NodeJS.ErrnoException) => {
    if (NO_FILE.has(error.code)) return missing;
    throw error;
  });
}
