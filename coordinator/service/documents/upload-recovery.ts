import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { inPool } from '../collections/call-pool';
import type { VectorsService } from '../service';
import { chunkIds } from './document-chunks';
import type { JournaledUpload, OpenUpload, UploadJournal } from './upload-journal';

/** Ids per delete: one write to each shard, of some tens of kilobytes. */
const IDS_PER_DELETE = 1000;
/** What could not be taken back is tried again after this long: by then a shard without a primary has one. */
const RETRY_MS = 15_000;

/** One whose shard is away is waited for as long as a call may take; by then, others have been taken back. */
const PATIENCE_MS = 1_000;

/** What a recovery knows about the other processes that share the journal. */
export interface OtherUploaders {
  /** Whether another process still runs, and so may be uploading. */
  isAlive: (instanceId: string) => boolean;
  /** For how long writes of a process that is gone may still be under way. */
  writesMs: number;
}

/** What is known of an upload of this process that failed at its end. */
interface OwnEnd {
  isComplete?: (() => Promise<boolean>) | undefined;
  onIncomplete?: (() => void) | undefined;
}

/**
 * Takes uploads back: deletes by id every chunk that may have been stored, since the journal bounds their number. A
 * delete goes to every shard that may hold a chunk, after everything sent to that shard before. So a write of this
 * process with an unknown outcome is not stored after it.
 */
export class UploadRecovery {
  private readonly journal: UploadJournal;
  private readonly vectors: Pick<VectorsService, 'delete'>;
  private readonly clock: Clock;
  private readonly log: Pick<Logger, 'warn'>;
  /** Entries of the journal that were told of. */
  private readonly unreadable = new Set<string>();
  private readonly instanceId: string;
  /** Documents that this process is uploading or taking back. */
  private readonly busy = new Set<string>();
  private readonly retries = new Map<string, NodeJS.Timeout>();

  constructor(options: {
    journal: UploadJournal;
    vectors: Pick<VectorsService, 'delete'>;
    clock: Clock;
    log: Pick<Logger, 'warn'>;
    instanceId: string;
  }) {
    this.journal = options.journal;
    this.vectors = options.vectors;
    this.clock = options.clock;
    this.log = options.log;
    this.instanceId = options.instanceId;
  }

  /** Runs an upload of this process; no recovery touches it meanwhile. */
  async guarded<Result>(documentId: string, run: () => Promise<Result>): Promise<Result> {
    this.busy.add(documentId);
    try {
      return await run();
    } finally {
      this.busy.delete(documentId);
    }
  }

  /**
   * Takes back an upload of this process that failed, unless it is complete after all, as far as `isComplete` tells.
   * The caller gets the error of the upload, not one from here. What can't be done or found out now is tried again
   * until it succeeds, by another process if this one ends. `onIncomplete` is called once, when it is known not to be
   * complete. Answers whether it is known to be complete.
   */
  async takeBackOwn(upload: OpenUpload, { isComplete, onIncomplete }: OwnEnd = {}): Promise<boolean> {
    let isKnown = false;
    try {
      if ((await isComplete?.()) === true) return true;
      isKnown = true;
      onIncomplete?.();
      // Another process may have removed the entry, because it took this one for dead.
      const entry = await this.journal.put({ ...upload, owner: this.instanceId, takenBackAtMs: null });
      await this.deleteChunks(upload);
      await this.journal.close(entry);
    } catch (error) {
      this.log.warn(
        { documentId: upload.documentId, collection: upload.collection, error },
        'could not take back the chunks of a failed upload; it is tried again',
      );
      const end: OwnEnd = { isComplete, onIncomplete: isKnown ? undefined : onIncomplete };
      this.retries.set(
        upload.documentId,
        setTimeout(() => void this.guarded(upload.documentId, () => this.takeBackOwn(upload, end)), RETRY_MS).unref(),
      );
    }
    return false;
  }

  /**
   * Takes back what dead processes left; harmless at any time. What can't be taken back now stays for the next call.
   */
  async recover(others: OtherUploaders): Promise<void> {
    const takeBack = async (entry: JournaledUpload): Promise<void> => {
      const { documentId, collection, owner } = entry.upload;
      if (this.busy.has(documentId) || this.retries.has(documentId)) return;
      if (owner !== this.instanceId && others.isAlive(owner)) return;
      if (!this.isDue(entry, others)) return;
      try {
        await this.guarded(documentId, () => this.takeBackFound(entry, others));
      } catch (error) {
        this.log.warn({ documentId, collection, error }, 'could not take back an upload yet');
      }
    };
    const found = await this.journal.list(({ key, reason }) => {
      if (!this.unreadable.has(key)) this.log.warn({ reason }, 'an upload can’t be taken back and is left alone');
      this.unreadable.add(key);
    });
    await inPool(found, takeBack, { patienceMs: PATIENCE_MS });
  }

  close(): void {
    for (const timer of this.retries.values()) clearTimeout(timer);
    this.retries.clear();
  }

  /** An upload that was taken back is examined again once no write of its own process can be under way any more. */
  private isDue({ upload }: JournaledUpload, { writesMs }: OtherUploaders): boolean {
    return upload.takenBackAtMs === null || this.clock.wallMs() - upload.takenBackAtMs >= writesMs;
  }

  private async takeBackFound(found: JournaledUpload, others: OtherUploaders): Promise<void> {
    const { documentId, collection, takenBackAtMs } = found.upload;
    // From here on, its own process can't complete it, should it still run.
    const entry = await this.journal.change(found, { owner: this.instanceId });
    await this.deleteChunks(entry.upload);
    if (takenBackAtMs === null) this.log.warn({ documentId, collection }, 'took back an upload that was cut short');
    if (takenBackAtMs === null && others.writesMs > 0)
      await this.journal.change(entry, { takenBackAtMs: this.clock.wallMs() });
    else await this.journal.close(entry);
  }

  private async deleteChunks({ documentId, collection, chunksEnd }: OpenUpload): Promise<void> {
    for (let start = 0; start < chunksEnd; start += IDS_PER_DELETE) {
      const ids = chunkIds(documentId, start, Math.min(start + IDS_PER_DELETE, chunksEnd));
      try {
        await this.vectors.delete(collection, ids);
      } catch (error) {
        // The chunks are gone with their collection.
        if (isQuiverError(error) && error.kind === 'not_found') return;
        throw error;
      }
    }
  }
}
