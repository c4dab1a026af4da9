import { open, readdir, readFile, rename, rm, stat, statfs, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { makeStableFolder, syncFolder } from '../../../shared/base/files/stable-folder';
import type { DocumentSource } from '../../service/documents/formats/parsed-document';
import type { WaitingFiles } from './waiting-files';
import { isMissing } from '../../../shared/base/files/missing-file';

/** Of a file that is still written. */
const UNFINISHED = '.part';
/** Of the disk: shards and their logs need it more. */
const KEPT_PART = 0.1;
const KEPT_BYTES_MAX = 4 * 1024 ** 3;
/** What is left is looked at again after so many bytes. */
const LOOK_EVERY_BYTES = 8 * 1024 ** 2;

/** A file of so many bytes is read at once: a stream costs more than it. */
const READ_BYTES_MAX = 256 * 1024;

/** Files in a folder of the only process that there is: the embedded form. */
export class FolderFiles implements WaitingFiles {
  readonly bounds = { bytesMax: 16 * 1024 ** 3, writtenMax: null };

  /** Files that are still written. Others that are unfinished are of a process that ended. */
  private readonly written = new Set<string>();

  /** `diskOf`: tells of the disk of a folder, in bytes; default: the system. */
  constructor(
    private readonly folder: string,
    private readonly diskOf: (folder: string) => Promise<{ free: number; size: number }> = systemDisk,
  ) {}

  async left(): Promise<number> {
    // The folder itself is made with the first file.
    const { free, size } = await stored(() => this.diskOf(dirname(this.folder)));
    return Math.max(0, free - Math.min(KEPT_PART * size, KEPT_BYTES_MAX));
  }

  async put(id: string, content: AsyncIterable<Buffer>): Promise<number> {
    const path = this.pathOf(id);
    const unfinished = path + UNFINISHED;
    let isWritten = false;
    let bytes = 0;
    this.written.add(id);
    try {
      await stored(async () => makeStableFolder(this.folder, 0o700));
      const file = await stored(() => open(unfinished, 'wx', 0o600));
      try {
        let unseen = 0;
        for await (const piece of content) {
          await stored(() => file.appendFile(piece));
          unseen += piece.length;
          bytes += piece.length;
          if (unseen < LOOK_EVERY_BYTES) continue;
          unseen = 0;
          if ((await this.left()) === 0) throw diskFull();
        }
        await stored(() => file.sync());
      } finally {
        await file.close();
      }
      await stored(async () => {
        await rename(unfinished, path);
        await syncFolder(this.folder);
      });
      isWritten = true;
      return bytes;
    } finally {
      if (!isWritten) await rm(unfinished, { force: true }).catch(() => undefined);
      this.written.delete(id);
    }
  }

  async find(id: string): Promise<DocumentSource['content'] | null> {
    const path = this.pathOf(id);
    try {
      return (await stat(path)).size > READ_BYTES_MAX ? { path } : { bytes: await readFile(path) };
    } catch (error) {
      if (isMissing(error)) return null;
      throw failed(error);
    }
  }

  async delete(id: string): Promise<void> {
    await stored(() =>
      unlink(this.pathOf(id)).catch((error: unknown) => {
        if (!isMissing(error)) throw error;
      }),
    );
  }

  async list(): Promise<string[]> {
    const names = await this.names();
    const isLost = (name: string): boolean =>
      name.endsWith(UNFINISHED) && !this.written.has(name.slice(0, -UNFINISHED.length));
    for (const name of names) if (isLost(name)) await this.delete(name);
    return names.filter((name) => !name.endsWith(UNFINISHED));
  }

  private async names(): Promise<string[]> {
    try {
      return await readdir(this.folder);
    } catch (error) {
      if (isMissing(error)) return [];
      throw failed(error);
    }
  }

  private pathOf(id: string): string {
    return join(this.folder, id);
  }
}

async function stored<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw failed(cause);
  }
}

/** What waits is refused before it takes the room of what is stored. */
export function diskFull(): QuiverError {
  return new QuiverError(
    'overloaded',
    'server busy: the disk has no room for documents that wait, beside what is kept for stored data; ' +
      'add more when some are stored, or give the disk more room',
  );
}

async function systemDisk(folder: string): Promise<{ free: number; size: number }> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { free: bavail * bsize, size: blocks * bsize };
}

function failed(cause: unknown): QuiverError {
  return new QuiverError('storage_failed', 'the disk could not hold the document until its turn', { cause });
}
