import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isDamage, QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { ShardId, ShardSpec } from '../../../../shared/contract/shard/shard-client';
import { shardNoteName, type StoreNotes } from '../../kv/store-notes';
import { refusalOfDisk } from '../../files/disk-trouble';
import { readStoreStamp } from '../../kv/store-stamp';
import { forgetPositions } from '../../positions/position-segments';
import { removeManifest } from './checkpoint';
import { Shard, type ShardDependencies } from '../shard';
import type { ShardOptions } from '../shard-options';
import { unlessMissing } from '../../../../shared/base/files/missing-file';

/** What an operator can do about a shard that is lost, in the form without replicas. */
const WAYS_OUT =
  'put them back from a copy, restore the collection from a backup, or accept the loss (quiver repair ' +
  '--accept-loss; docs/operations.md)';

/** What is noted of one that was closed. */
export type ClosedShard = Pick<Shard, 'spec' | 'lastOperation' | 'isSaved'>;

/**
 * Opens shards by what is noted of them apart from their data: one that was here is never made again, unless somebody
 * accepted that it is lost.
 */
export class NotedOpening {
  constructor(
    private readonly options: ShardOptions,
    private readonly notes: StoreNotes,
  ) {}

  /**
   * Opens the shard in `folder`, or makes it where it never was and need not be. Errors: as of Shard.open,
   * storage_failed where the file system fails; storage_damaged with the ways out for one that is gone, damaged or an
   * earlier copy.
   */
  async open(folder: string, spec: ShardSpec, mustExist: boolean, dependencies: ShardDependencies): Promise<Shard> {
    const note = shardNoteName(spec);
    try {
      if (await this.notes.isLossAccepted(note)) return await this.openWhatIsLeft(folder, spec, dependencies);
      await this.notes.mustNotBeEarlier(note, join(folder, 'records'));
      // What a restore fills and nobody has seen yet is filled again from the same backup.
      const isNoted = this.notes.isKnown(note) && spec.seed === undefined;
      return await this.openAndNote(folder, spec, { ...dependencies, mustExist: mustExist || isNoted });
    } catch (error) {
      // Even a shard that is only read may have to write when it is opened.
      const refusal = isDamage(error) ? null : refusalOfDisk(error);
      if (refusal !== null)
        throw new QuiverError(
          'storage_failed',
          `${refusal}: a shard that is not open can't be opened, also for reads, until the disk takes writes again`,
          { cause: error, details: { folder } },
        );
      // Of the file system, in words of its own.
      if ((error as NodeJS.ErrnoException).syscall !== undefined)
        throw new QuiverError('storage_failed', `the shard can't be opened: ${(error as Error).message}`, {
          cause: error,
          details: { folder },
        });
      if (!isDamage(error)) throw error;
      const what = (await readStoreStamp(join(folder, 'records'))) === null ? 'its data are gone' : error.message;
      this.options.logger.error(
        { error, ...idOf(spec), folder },
        `a shard is not opened, because ${what}; nothing is made in their place`,
      );
      throw new QuiverError('storage_damaged', `${what}; ${WAYS_OUT}`, {
        cause: error,
        details: { folder, ...error.details },
      });
    }
  }

  /** Notes how far a shard was when it was closed. What was noted before is enough to tell most. */
  async noteClosed({ spec, lastOperation, isSaved }: ClosedShard, folder: string): Promise<void> {
    if (isSaved) await this.notes.closed(shardNoteName(spec), join(folder, 'records'), lastOperation);
  }

  /** What is left of a shard whose loss was accepted: its records as they are, or nothing. */
  private async openWhatIsLeft(folder: string, spec: ShardSpec, dependencies: ShardDependencies): Promise<Shard> {
    const { logger } = this.options;
    const facts = { ...idOf(spec), folder };
    const openLeft = (): Promise<Shard | null> =>
      this.openAndNote(folder, spec, { ...dependencies, mustExist: true, isStable: false }).catch((error: unknown) => {
        if (!isDamage(error)) throw error;
        logger.warn({ error, ...facts }, 'what is left of a shard whose loss was accepted can not be opened as it is');
        return null;
      });
    // By the watermark, records that lack what was stored are refused; so are those that lack what the checkpoint has.
    await rm(join(folder, 'records', 'SYNCED'), { force: true });
    await forgetPositions(folder);
    let left = await openLeft();
    if (left === null) {
      await removeManifest(folder);
      left = await openLeft();
    }
    if (left !== null) {
      logger.warn(facts, 'the loss of data of a shard was accepted: what is left is served');
      return left;
    }
    const kept = await putAside(folder);
    logger.warn(
      { ...facts, kept },
      'the loss of a shard was accepted: it begins empty, and what was left of it is kept beside it',
    );
    return this.openAndNote(folder, spec, dependencies);
  }

  private async openAndNote(folder: string, spec: ShardSpec, dependencies: ShardDependencies): Promise<Shard> {
    const note = shardNoteName(spec);
    const shard = await Shard.open(folder, spec, this.options, dependencies);
    try {
      // Of a blank one there is nothing to note before its first change.
      if (dependencies.isBlank !== true) await this.notes.opened(note, join(folder, 'records'), shard.lastOperation);
    } catch (error) {
      await shard.close('reopened');
      throw error;
    }
    shard.beforeNextChange(() => this.notes.written(note, join(folder, 'records')));
    return shard;
  }
}

/** Where data are put that nobody opens any more. */
export function retiredFolder(folder: string): string {
  return `${folder}.retired`;
}

/** All that was put aside of a shard without replicas. Errors: those of the file system. */
export async function keptAside(folder: string): Promise<string[]> {
  const names = (await unlessMissing(readdir(dirname(folder)))) ?? [];
  const shard = basename(folder);
  return names
    .filter((name) => name === `${shard}.retired` || (name.startsWith(`${shard}-`) && name.endsWith('.retired')))
    .map((name) => join(dirname(folder), name));
}

/**
 * Puts a folder aside, in the place of nothing that was put there before: after a crash, that may be all there is.
 * null: there is none.
 */
async function putAside(folder: string): Promise<string | null> {
  const before = new Set(await keptAside(folder));
  let place = retiredFolder(folder);
  for (let number = 2; before.has(place); number += 1) place = retiredFolder(`${folder}-${number}`);
  return unlessMissing(rename(folder, place).then(() => place));
}

function idOf({ collectionUid, shard }: ShardId): ShardId {
  return { collectionUid, shard };
}
