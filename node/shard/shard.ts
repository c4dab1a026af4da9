import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { ShardSpec, ShardStatus, WriteOperation, WriteOutcome } from '../../shared/shard/shard-client';
import { RecordStore } from '../records/record-store';
import { SlotAllocator } from '../records/slot-allocator';
import { type CheckpointFile, type Manifest, removeOtherCheckpoints, writeCheckpointFile, writeManifest } from './checkpoint';
import { recoverShard } from './recovery';
import type { ShardIndexes } from './shard-indexes';
import type { ShardOptions } from './shard-options';
import { ShardReader } from './shard-reader';
import { type ShardCounters, ShardWriter } from './shard-writer';
import { WriteQueue } from './write-queue';

/**
 * When a checkpoint is due: after this many changed items or rows newly in a graph, or a tenth of the shard where that
 * is more. It bounds what a start after a crash has to repeat to some seconds, and the writing to a small part of the load.
 */
const CHECKPOINT_CHANGES_MIN = 50_000;
const CHECKPOINT_SHARE = 0.1;
const CHECKPOINT_CHECK_MS = 5_000;

/** One shard, open: records, indexes, and the paths between them. Everything it holds on disk is under its folder. */
export class Shard {
  readonly reader: ShardReader;
  private readonly writer: ShardWriter;
  private readonly queue: WriteQueue;
  private readonly timer: NodeJS.Timeout;
  private checkpointing: Promise<void> | null = null;
  private closing: Promise<void> | null = null;
  /** Rows in graphs when the last checkpoint began: graphs grow in the background, and building them is dear. */
  private sealedRowsAtCheckpoint: number;

  private constructor(
    private readonly parts: {
      folder: string;
      records: RecordStore;
      indexes: ShardIndexes;
      counters: ShardCounters;
      slots: SlotAllocator;
      options: ShardOptions;
    },
    private manifest: Manifest | null,
    dim: number,
    onDiverged: (error: Error) => void,
  ) {
    const { records, indexes, slots, counters } = parts;
    this.reader = new ShardReader({ dim, records, indexes, slots });
    this.writer = new ShardWriter({ dim, records, indexes, slots, counters, onDiverged });
    this.queue = new WriteQueue((requests) => this.writer.commit(requests));
    this.sealedRowsAtCheckpoint = this.sealedRows();
    this.timer = setInterval(() => this.checkpointIfDue(), CHECKPOINT_CHECK_MS);
    this.timer.unref();
  }

  /**
   * Opens the shard in `folder`, making it when it does not exist. `onDiverged` is called when the shard can no longer
   * answer rightly and has to be closed and opened anew.
   * Errors: storage_failed, also for a folder in use and for a shard of another dimension or metric.
   */
  static async open(folder: string, spec: ShardSpec, options: ShardOptions, onDiverged: (error: Error) => void): Promise<Shard> {
    await mkdir(folder, { recursive: true });
    const records = new RecordStore(await options.openStore(join(folder, 'records')));
    try {
      await checkSpec(records, spec);
      const { indexes, counters, manifest } = await recoverShard({
        folder,
        records,
        factories: options.factories,
        logger: options.logger,
        vectorOptions: {
          folder: join(folder, 'vectors'),
          dim: spec.dim,
          metric: spec.metric,
          recallTarget: options.recallTarget,
          buildThreads: options.buildThreads,
          onBackgroundError: (error) => options.logger.error({ error, folder }, 'background work of the vector index failed'),
        },
      });
      const { limit, free } = indexes.directory.freeSlots();
      const slots = new SlotAllocator(limit, free);
      await removeOtherCheckpoints(folder, manifest?.number ?? null);
      return new Shard({ folder, records, indexes, counters, slots, options }, manifest, spec.dim, onDiverged);
    } catch (error) {
      await records.close();
      throw error;
    }
  }

  write(operations: WriteOperation[]): Promise<WriteOutcome[]> {
    return this.queue.push(operations);
  }

  get vectorCount(): number {
    return this.parts.indexes.directory.liveCount;
  }

  async status(): Promise<ShardStatus> {
    const { indexes, records, counters } = this.parts;
    const vectors = indexes.vectors.status();
    return {
      vectorCount: indexes.directory.liveCount,
      lastOperation: counters.lastOperation,
      lastStamp: indexes.directory.lastStamp,
      diskBytes: vectors.diskBytes + (await records.sizeBytes()),
      memoryBytes: vectors.memoryBytes + indexes.directory.memoryBytes + indexes.filters.memoryBytes + indexes.keywords.memoryBytes,
      segments: vectors.segments,
    };
  }

  /** Resolves when no write is queued and the vector index has no background work. */
  async settled(): Promise<void> {
    await this.queue.settled();
    await this.parts.indexes.vectors.settled();
  }

  /** Writes the present state of the indexes, so that a later start does not have to repeat what led to it. */
  checkpoint(): Promise<void> {
    this.checkpointing ??= this.writeCheckpoint().finally(() => (this.checkpointing = null));
    return this.checkpointing;
  }

  /** Finishes what is queued, writes a checkpoint when anything changed (unless `discard`), and closes; idempotent. */
  close(options: { discard: boolean } = { discard: false }): Promise<void> {
    this.closing ??= this.finish(options.discard);
    return this.closing;
  }

  private async finish(discard: boolean): Promise<void> {
    clearInterval(this.timer);
    const { indexes, records, folder, options } = this.parts;
    await this.queue.settled();
    await this.checkpointing?.catch(() => undefined);
    if (!discard && this.isChanged()) {
      await this.checkpoint().catch((error: unknown) => options.logger.error({ error, folder }, 'the closing checkpoint failed; the next start repairs from the records'));
    }
    await indexes.vectors.close();
    await records.close();
  }

  /** Whether a checkpoint would hold more than the last one: newer operations, or more of the graph. */
  private isChanged(): boolean {
    return this.parts.counters.lastOperation > (this.manifest?.operation ?? 0) || this.sealedRows() !== this.sealedRowsAtCheckpoint;
  }

  private sealedRows(): number {
    return this.parts.indexes.vectors.status().segments.reduce((rows, segment) => rows + (segment.kind === 'sealed' ? segment.rows : 0), 0);
  }

  private checkpointIfDue(): void {
    const { indexes, folder, options } = this.parts;
    const due = Math.max(CHECKPOINT_CHANGES_MIN, indexes.directory.liveCount * CHECKPOINT_SHARE);
    const progress = Math.max(this.writer.changesSinceCheckpoint, Math.abs(this.sealedRows() - this.sealedRowsAtCheckpoint));
    if (this.closing !== null || progress < due) return;
    this.checkpoint().catch((error: unknown) => options.logger.error({ error, folder }, 'a checkpoint failed; the last one stays in force'));
  }

  private async writeCheckpoint(): Promise<void> {
    const { folder, indexes, counters, records } = this.parts;
    const number = (this.manifest?.number ?? 0) + 1;
    // What follows covers every operation up to here; slots touched later are repaired from the journal at the next start.
    const operation = counters.lastOperation;
    const lastRecno = counters.lastRecno;
    const sealedRows = this.sealedRows();
    this.writer.changesSinceCheckpoint = 0;
    await removeOtherCheckpoints(folder, this.manifest?.number ?? null);
    const write = (name: CheckpointFile, chunks: Iterable<Buffer>) => writeCheckpointFile(folder, number, name, chunks);
    const files = {
      directory: await write('directory', indexes.directory.save()),
      filters: await write('filters', indexes.filters.save()),
      keywords: await write('keywords', indexes.keywords.save()),
    };
    const vectors = await indexes.vectors.save();
    const manifest: Manifest = { operation, lastRecno, number, files, vectors };
    await writeManifest(folder, manifest);
    this.manifest = manifest;
    this.sealedRowsAtCheckpoint = sealedRows;
    await removeOtherCheckpoints(folder, number);
    await indexes.vectors.discardOtherSaves(vectors);
    await records.trimJournal(operation);
  }
}

async function checkSpec(records: RecordStore, spec: ShardSpec): Promise<void> {
  const wanted = JSON.stringify({ format: 1, uid: spec.collectionUid, shard: spec.shard, dim: spec.dim, metric: spec.metric });
  const stored = await records.spec();
  if (stored === null) return records.writeSpec(wanted);
  if (stored !== wanted) throw new QuiverError('storage_failed', `the shard on disk is ${stored}, not ${wanted}`);
}
