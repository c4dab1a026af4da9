import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';
import { makeStableFolder, replaceFile, syncFolder } from '../../shared/files/stable-folder';
import { isEarlierStore, isOtherStore, readStoreStamp, type StoreStamp } from './store-stamp';

const NAME = /^[A-Za-z0-9-]{1,64}(?:\.\d{1,9})?$/;

interface Note {
  stamp?: StoreStamp | undefined;
  acceptLoss?: boolean | undefined;
}

/**
 * What is noted of each store that was open here, apart from its data: that it exists, and how far it was when it was opened
 * and closed last. So data that are gone, or an earlier copy that was put in their place, are not taken for a new store or for
 * the latest state.
 *
 * `<folder>/<name>` holds a StoreStamp, or that a loss was accepted. That a store exists is on stable storage when it was noted
 * first. The stamp is not synced: after a loss of power it may be of before, which refuses nothing that is sound.
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
    return this.isKnown(name) && (await this.read(name))?.acceptLoss === true;
  }

  /** Errors: storage_damaged when the store in `folder`, which is not open, is an earlier copy of what was noted; storage_failed. */
  async mustNotBeEarlier(name: string, folder: string): Promise<void> {
    if (!this.isKnown(name)) return;
    const [noted, found] = await Promise.all([this.read(name), readStoreStamp(folder)]);
    if (noted?.stamp === undefined || found === null || this.isInOrder(found, noted.stamp)) return;
    throw new QuiverError('storage_damaged', 'its data are an earlier copy, and lack what was stored since', { details: { folder, found, noted: noted.stamp } });
  }

  /**
   * Notes that the store in `folder` was opened, or is closed. What was noted stays where that one is earlier, or gone by now.
   * Errors: storage_failed; those of the file system.
   */
  async note(name: string, folder: string): Promise<void> {
    const [noted, found] = await Promise.all([this.read(name), readStoreStamp(folder)]);
    if (noted?.stamp !== undefined && (found === null || !this.isInOrder(found, noted.stamp))) return;
    await this.write(name, { stamp: found ?? undefined });
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

  private isInOrder(found: StoreStamp, noted: StoreStamp): boolean {
    return isOtherStore(found, noted) ? this.mayBeReplaced : !isEarlierStore(found, noted);
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

  /** null: nothing but that the store exists. */
  private async read(name: string): Promise<Note | null> {
    if (!this.isKnown(name)) return null;
    try {
      return noteOf(JSON.parse(await readFile(join(this.folder, name), 'utf8')));
    } catch {
      // Torn by a loss of power, or gone: what it was for is known by its name.
      return null;
    }
  }
}

function noteOf(json: unknown): Note | null {
  if (typeof json !== 'object' || json === null) return null;
  const { stamp, acceptLoss } = json as { stamp?: Partial<StoreStamp>; acceptLoss?: unknown };
  const isStamp = typeof stamp?.store === 'string' && Number.isSafeInteger(stamp.opening) && Number.isSafeInteger(stamp.changes);
  return { stamp: isStamp ? (stamp as StoreStamp) : undefined, acceptLoss: acceptLoss === true };
}

/** Under which the store of a shard is noted. */
export function shardNoteName({ collectionUid, shard }: { collectionUid: string; shard: number }): string {
  return `${collectionUid}.${shard}`;
}
