import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { makeStableFolder, replaceFile, syncFolder } from '../../../shared/base/files/stable-folder';
import type { Logger } from '../../../shared/base/logs/logger';
import { readSmallFiles } from './small-files';
import { isOtherStore, readStoreStamp, type StoreStamp } from './store-stamp';
import { isMissing } from '../../../shared/base/files/missing-file';

/** Only the user of the process may read it. */
const OWN = 0o700;
const NAME = /^[A-Za-z0-9-]{1,64}(?:\.\d{1,9})?$/;

/** Nothing in it: the store exists. */
interface Note {
  /** Of the opening in which it was changed last. */
  stamp?: StoreStamp | undefined;
  /** The number of its last change. */
  operation?: number | undefined;
  /** It was changed in that opening, and nobody noted how far. */
  isWritten?: boolean | undefined;
  acceptLoss?: boolean | undefined;
}

/**
 * What is noted of each store that was open here, apart from its data: that it exists, and how far it was when it was
 * closed, or that it was changed since. So data that are gone, or an earlier copy that was put in their place, are not
 * taken for a new store or for the latest state. An earlier copy that lacks nothing is as good as the latest.
 *
 * `<folder>/<name>` is a Note as JSON, with a checksum, written with the first change after an opening and after the
 * last one: a store that is only read costs the reading of it. Nothing is synced but an accepted loss: after a loss of
 * power a note may be of before, or be missing, which refuses nothing that is sound. What can't be noted, on a full
 * disk, say, is logged and stops nothing.
 */
export class StoreNotes {
  /** What was read or written so far: nobody else writes there while the stores are open. */
  private readonly notes = new Map<string, Note>();

  private constructor(
    private readonly folder: string,
    private readonly known: Set<string>,
    private readonly log: Pick<Logger, 'warn'>,
    private readonly mayBeReplaced: boolean,
  ) {}

  /**
   * Reads which stores are noted. `mayBeReplaced`: whether another store may come in the place of one by itself, as by
   * a copy from another replica. Errors: storage_failed.
   */
  static async load(folder: string, log: Pick<Logger, 'warn'>, { mayBeReplaced = false } = {}): Promise<StoreNotes> {
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (isMissing(error)) return [];
      throw new QuiverError('storage_failed', `${folder} cannot be read: ${error.message}`, { cause: error });
    });
    return new StoreNotes(folder, new Set(names.filter((name) => NAME.test(name))), log, mayBeReplaced);
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
   * Errors: storage_damaged when the store in `folder`, which is not open, is an earlier copy of one that was changed
   * since, or another one; storage_failed.
   */
  async mustNotBeEarlier(name: string, folder: string): Promise<void> {
    const noted = await this.read(name);
    if (noted.stamp === undefined) return;
    const found = await readStoreStamp(folder);
    if (found === null || this.mayBe(found, noted)) return;
    if (isOtherStore(found, noted.stamp))
      throw new QuiverError('storage_damaged', 'its data are those of another store', {
        details: { folder, found, ...noted },
      });
    throw earlier({ folder, found, ...noted });
  }

  /**
   * Whether the store in `folder`, which is not open, is the one that is noted, and has all that was stored:
   * `operation` is the number of its last change. Never throws: what is not certain is found out by opening it.
   */
  async isWhole(name: string, folder: string, operation: number): Promise<boolean> {
    const noted = await this.read(name);
    if (
      !this.isKnown(name) ||
      noted.acceptLoss === true ||
      noted.isWritten === true ||
      noted.operation === undefined ||
      noted.operation > operation
    )
      return false;
    return this.mustNotBeEarlier(name, folder).then(
      () => true,
      () => false,
    );
  }

  /**
   * The store in `folder` was opened; `operation` is the number of its last change. Notes what is not noted of it.
   * Errors: storage_damaged when it was further; storage_failed.
   */
  async opened(name: string, folder: string, operation: number): Promise<void> {
    const noted = await this.read(name);
    const isNew = noted.stamp === undefined || noted.operation === undefined;
    const found = isNew || this.mayBeReplaced || noted.isWritten === true ? await readStoreStamp(folder) : null;
    const isOther = noted.stamp !== undefined && found !== null && isOtherStore(found, noted.stamp);
    if (!isOther && operation < (noted.operation ?? 0)) throw earlier({ folder, lastOperation: operation, ...noted });
    if (isNew || isOther || noted.isWritten === true)
      await this.tryToWrite(name, { stamp: found ?? undefined, operation });
  }

  /** The store in `folder`, which is open, is about to be changed for the first time. */
  async written(name: string, folder: string): Promise<void> {
    const { operation } = await this.read(name);
    await this.tryToWrite(name, { stamp: (await readStoreStamp(folder)) ?? undefined, operation, isWritten: true });
  }

  /**
   * The store was closed, and all of it is on stable storage. Notes how far it is, unless something else is in its
   * place.
   */
  async closed(name: string, folder: string, operation: number): Promise<void> {
    const noted = await this.read(name);
    if (noted.isWritten !== true) return;
    const found = await readStoreStamp(folder).catch(() => null);
    if (found !== null && this.mayBe(found, noted)) await this.tryToWrite(name, { stamp: found, operation });
  }

  /**
   * The next opening of the store takes what is left of it, be it nothing. On stable storage when it resolves. Errors:
   * those of the file system.
   */
  async acceptLoss(name: string): Promise<void> {
    await makeStableFolder(this.folder, OWN);
    await replaceFile(join(this.folder, name), textOf({ acceptLoss: true }));
    await syncFolder(this.folder);
    this.notes.set(name, { acceptLoss: true });
    this.known.add(name);
  }

  /** The store was dropped. */
  async forget(name: string): Promise<void> {
    this.notes.delete(name);
    if (this.known.delete(name)) await rm(join(this.folder, name), { force: true });
  }

  private mayBe(found: StoreStamp, { stamp, isWritten = false }: Note): boolean {
    if (stamp === undefined) return true;
    return isOtherStore(found, stamp) ? this.mayBeReplaced : !isWritten || found.opening >= stamp.opening;
  }

  private async tryToWrite(name: string, note: Note): Promise<void> {
    const path = join(this.folder, name);
    const aside = `${path}.${randomUUID()}`;
    try {
      if (this.known.size === 0) await mkdir(this.folder, { recursive: true, mode: OWN });
      await writeFile(aside, textOf(note), { mode: 0o600 });
      await rename(aside, path);
      this.notes.set(name, note);
      this.known.add(name);
    } catch (error) {
      this.log.warn(
        { error, store: name },
        'how far a store is could not be noted: an earlier copy of it may not be told',
      );
      await rm(aside, { force: true }).catch(() => undefined);
    }
  }

  private async read(name: string): Promise<Note> {
    if (!this.isKnown(name)) return {};
    const known = this.notes.get(name);
    if (known !== undefined) return known;
    let note: Note = {};
    try {
      const [text] = await readSmallFiles([join(this.folder, name)]);
      if (text === null) throw new Error('it is gone');
      note = noteIn(text.toString());
    } catch (error) {
      // Torn by a loss of power, damaged, or gone: what it was for is known by its name, and it is written again.
      this.log.warn(
        { error, store: name },
        'the note of how far a store was cannot be used: an earlier copy of it may not be told',
      );
    }
    this.notes.set(name, note);
    return note;
  }
}

function textOf(note: Note): string {
  return `${JSON.stringify({ ...note, crc: crc32(JSON.stringify(note)) })}\n`;
}

/** Throws where it is not as it was written. Those of the first versions have no checksum. */
function noteIn(text: string): Note {
  const { crc, ...note } = JSON.parse(text) as { crc?: unknown };
  if (crc !== undefined && crc !== crc32(JSON.stringify(note))) throw new Error('it does not match its checksum');
  return noteOf(note);
}

function earlier(details: Record<string, unknown>): QuiverError {
  return new QuiverError('storage_damaged', 'its data are an earlier copy, and lack what was stored since', {
    details,
  });
}

function noteOf(json: object): Note {
  const { stamp, operation, isWritten, acceptLoss } = json as {
    stamp?: Partial<StoreStamp>;
    operation?: unknown;
    isWritten?: unknown;
    acceptLoss?: unknown;
  };
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
