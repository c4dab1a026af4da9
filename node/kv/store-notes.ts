import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';
import { makeStableFolder, replaceFile, syncFolder } from '../../shared/files/stable-folder';
import { isOtherStore, readStoreStamp, type StoreStamp } from './store-stamp';

const NAME = /^[A-Za-z0-9-]{1,64}(?:\.\d{1,9})?$/;

/** Nothing in it: the store exists. */
interface Note {
  stamp?: StoreStamp | undefined;
  /** The number of its last change then. */
  operation?: number | undefined;
  /** It was changed since. */
  isWritten?: boolean | undefined;
  acceptLoss?: boolean | undefined;
}

/**
 * What is noted of each store that was open here, apart from its data: that it exists, how far it was when it was opened or
 * closed last, and whether it was changed since. So data that are gone, or an earlier copy that was put in their place, are not
 * taken for a new store or for the latest state. An earlier copy that lacks nothing is as good as the latest.
 *
 * `<folder>/<name>` is a Note as JSON. That a store exists is on stable storage when it was noted first. The rest is not synced:
 * after a loss of power it may be of before, which refuses nothing that is sound.
 */
export class StoreNotes {
  private constructor(
    private readonly folder: string,
    private readonly known: Set<string>,
    private readonly mayBeReplaced: boolean,
  ) {}

  /**
   * Reads which stores are noted; makes the folder. `mayBeReplaced`: whether another store may come in the place of one by
   * itself, as by a copy from another replica. Errors: those of the file system.
   */
  static async load(folder: string, { mayBeReplaced = false } = {}): Promise<StoreNotes> {
    await makeStableFolder(folder, 0o700);
    return new StoreNotes(folder, new Set((await readdir(folder)).filter((name) => NAME.test(name))), mayBeReplaced);
  }

  isKnown(name: string): boolean {
    return this.known.has(name);
  }

  /** The stores that are noted. */
  names(): string[] {
    return [...this.known];
  }

  /** Whether somebody accepted that data of the store are lost, since it was opened last. */
  async isLossAccepted(name: string): Promise<boolean> {
    return (await this.read(name)).acceptLoss === true;
  }

  /**
   * Errors: storage_damaged when the store in `folder`, which is not open, is an earlier copy of one that was changed since, or
   * another one; storage_failed.
   */
  async mustNotBeEarlier(name: string, folder: string): Promise<void> {
    const [noted, found] = await Promise.all([this.read(name), readStoreStamp(folder)]);
    if (found !== null && !this.mayBe(found, noted)) throw earlier({ folder, found, ...noted });
  }

  /**
   * Notes that the store in `folder` was opened, and how far it is: `operation`, the number of its last change. Errors:
   * storage_damaged when it was further; storage_failed; those of the file system.
   */
  async opened(name: string, folder: string, operation: number): Promise<void> {
    const [noted, found] = await Promise.all([this.read(name), readStoreStamp(folder)]);
    const isSame = noted.stamp !== undefined && found !== null && !isOtherStore(found, noted.stamp);
    if (isSame && operation < (noted.operation ?? 0)) throw earlier({ folder, found, lastOperation: operation, ...noted });
    await this.write(name, { stamp: found ?? undefined, operation });
  }

  /** Notes how far the store was when it was closed, unless something else is in its place. Errors: as of `opened`. */
  async closed(name: string, folder: string, operation: number): Promise<void> {
    const [noted, found] = await Promise.all([this.read(name), readStoreStamp(folder)]);
    if (found !== null && this.mayBe(found, noted)) await this.write(name, { stamp: found, operation });
  }

  /** Notes that the store, which is open, is about to be changed. Errors: those of the file system. */
  async written(name: string): Promise<void> {
    await this.write(name, { ...(await this.read(name)), isWritten: true });
  }

  /** The next opening of the store takes what is left of it, be it nothing. Errors: those of the file system. */
  acceptLoss(name: string): Promise<void> {
    this.known.delete(name);
    return this.write(name, { acceptLoss: true });
  }

  /** The store was dropped. */
  async forget(name: string): Promise<void> {
    if (this.known.delete(name)) await rm(join(this.folder, name), { force: true });
  }

  private mayBe(found: StoreStamp, { stamp, isWritten = false }: Note): boolean {
    if (stamp === undefined) return true;
    return isOtherStore(found, stamp) ? this.mayBeReplaced : !isWritten || found.opening >= stamp.opening;
  }

  private async write(name: string, note: Note): Promise<void> {
    const path = join(this.folder, name);
    const text = `${JSON.stringify(note)}\n`;
    if (this.known.has(name)) {
      const aside = `${path}.${randomUUID()}`;
      await writeFile(aside, text, { mode: 0o600 });
      await rename(aside, path);
      return;
    }
    await replaceFile(path, text);
    await syncFolder(this.folder);
    this.known.add(name);
  }

  private async read(name: string): Promise<Note> {
    if (!this.isKnown(name)) return {};
    try {
      return noteOf(JSON.parse(await readFile(join(this.folder, name), 'utf8')));
    } catch {
      // Torn by a loss of power, or gone: what it was for is known by its name.
      return {};
    }
  }
}

function earlier(details: Record<string, unknown>): QuiverError {
  return new QuiverError('storage_damaged', 'its data are an earlier copy, and lack what was stored since', { details });
}

function noteOf(json: unknown): Note {
  if (typeof json !== 'object' || json === null) return {};
  const { stamp, operation, isWritten, acceptLoss } = json as { stamp?: Partial<StoreStamp>; operation?: unknown; isWritten?: unknown; acceptLoss?: unknown };
  return {
    ...(typeof stamp?.store === 'string' && Number.isSafeInteger(stamp.opening) && { stamp: stamp as StoreStamp }),
    ...(typeof operation === 'number' && { operation }),
    isWritten: isWritten === true,
    acceptLoss: acceptLoss === true,
  };
}

/** Under which the store of a shard is noted. */
export function shardNoteName({ collectionUid, shard }: { collectionUid: string; shard: number }): string {
  return `${collectionUid}.${shard}`;
}
