import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { ReplicaPurge } from '../../../../shared/contract/shard/shard-purge';
import { inSlices } from '../../../../shared/base/time/work-slices';
import type { RecordStore } from '../../records/record-store';
import { forgetLineage } from '../backup/lineage';
import type { Checkpointer } from '../opening/checkpointer';
import type { ShardIndexes } from '../shard-indexes';
import type { ShardLogger } from '../shard-options';

/** Of `stat`'s blocks. */
const BLOCK_BYTES = 512;
const NOTHING = { step: '', bytesBefore: 0, bytesAfter: 0, unshipped: 0, error: '' };

/**
 * Drops what is applied from the log of a replica. Tells, while it waits, how many entries are kept because they are
 * not in the backup target yet.
 */
export type TrimLog = (waits: (unshipped: number) => void) => Promise<void>;

/**
 * Rewrites the files of a shard that is open, so that none of them holds anything of items that are gone: the vectors'
 * rows, positions of words, the saved indexes, the records with their write-ahead log and, of a replica, the log that
 * is replicated. Reads and writes go on. One that is cut off, by a crash or because the shard closes, leaves the shard
 * as it was, and can be begun again.
 */
export class ShardPurge {
  private state: Omit<ReplicaPurge, 'node'> = { state: 'none', ...NOTHING };
  /** Another one was asked for while this one runs, which may be past what was deleted since it began. */
  private isAskedAgain = false;
  private isClosed = false;
  /** What it changes itself, in a step that does not take long, or looks whether the shard closes. */
  private changing: Promise<void> = Promise.resolve();

  constructor(
    private readonly parts: {
      records: RecordStore;
      indexes: ShardIndexes;
      checkpointer: Checkpointer;
      logger: ShardLogger;
      /** Removes the records of expired items, as far as that is for this replica to do. */
      removeExpired: () => Promise<void>;
      trimLog: TrimLog;
      folder: string;
    },
  ) {}

  /** How far the last one is. With `start`, another begins, as soon as the one is over that is under way. */
  advance(start: boolean): ReplicaPurge[] {
    if (start && this.state.state === 'running') this.isAskedAgain = true;
    else if (start) this.begin(0);
    return [{ node: '', ...this.state }];
  }

  get isRunning(): boolean {
    return this.state.state === 'running';
  }

  /**
   * Goes on with nothing more, and waits for what it changes itself. What others do for it ends with them: whoever
   * closes the indexes, the store and the checkpoints does that after this.
   */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.changing.catch(() => undefined);
  }

  /** `bytesBefore`: when the first of those began that follow each other. */
  private begin(bytesBefore: number): void {
    this.isAskedAgain = false;
    this.state = { state: 'running', ...NOTHING, step: 'expired', bytesBefore };
    void this.run();
  }

  private async run(): Promise<void> {
    const { parts } = this;
    const { indexes, checkpointer, records, logger, folder } = parts;
    const steps: { name: string; run: () => Promise<void>; isOwn?: true }[] = [
      { name: 'expired', run: parts.removeExpired },
      { name: 'log', run: () => this.trimLog() },
      { name: 'vectors', run: () => indexes.vectors.purge() },
      { name: 'directory', run: () => inSlices(this.untilClosed(indexes.directory.rewriteInSteps())), isOwn: true },
      { name: 'positions', run: async () => indexes.phrases.positions?.dropStale() },
      { name: 'checkpoint', run: () => checkpointer.writeAnew() },
      { name: 'records', run: () => records.purge() },
      // The next backup names nothing of one before, whose objects have what is gone.
      { name: 'backups', run: () => forgetLineage(folder), isOwn: true },
    ];
    try {
      this.state.bytesBefore ||= await this.bytes();
      for (const { name, run, isOwn } of steps) {
        this.state.step = name;
        // The files may be gone by now.
        this.checkOpen();
        const running = run();
        if (isOwn) this.changing = running;
        await running;
      }
      this.state = { ...this.state, state: 'done', step: '', bytesAfter: await this.bytes() };
    } catch (error) {
      const { step } = this.state;
      if (this.isClosed) logger.info({ folder, step }, 'a purge of a shard was cut off, because the shard is closed');
      else logger.error({ error, folder, step }, 'a purge of a shard failed');
      this.state = { ...this.state, state: 'failed', error: (error as Error).message };
    }
    if (this.isAskedAgain && !this.isClosed) this.begin(this.state.bytesBefore);
  }

  private *untilClosed(steps: Iterable<undefined>): Generator<undefined, void> {
    for (const _ of steps) {
      this.checkOpen();
      yield;
    }
  }

  private checkOpen(): void {
    if (this.isClosed) throw new QuiverError('unavailable', 'the shard is closed');
  }

  private async trimLog(): Promise<void> {
    await this.parts.trimLog((unshipped) => (this.state.unshipped = unshipped));
    this.state.unshipped = 0;
  }

  private bytes(): Promise<number> {
    return bytesIn(this.parts.folder);
  }
}

/** Bytes that the files in a folder take, also those of folders in it. What goes meanwhile does not count. */
async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    // Files may be longer than what they take.
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => null);
    bytes += (found?.blocks ?? 0) * BLOCK_BYTES;
  }
  return bytes;
}
