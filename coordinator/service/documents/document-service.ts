import { createHash, type Hash, randomUUID } from 'node:crypto';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { Config } from '../../../shared/base/config/config';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { StoredOutcomes } from '../idempotency/stored-outcomes';
import type { StoreDedup } from '../idempotency/store-dedup';
import type { KeyQuotaAdmission, KeyWriter } from '../keys/quota/key-quota';
import { UploadCharges } from '../keys/quota/upload-charges';
import type {
  CollectionsService,
  DocumentsService,
  UploadedFile,
  UploadResult,
  VectorInput,
  VectorsService,
  WriteTiming,
} from '../service';
import type { Chunk } from './chunk';
import { chunkItem, chunkSizeWithin } from './document-chunks';
import { fittedChunks, type MeasureTexts } from './fitted-chunks';
import { checkFileType, readTextFile, storedFileName } from './text-file';
import { type JournaledUpload, UploadJournal } from './upload-journal';
import { type OtherUploaders, UploadRecovery } from './upload-recovery';

export interface DocumentServiceOptions {
  collections: Pick<CollectionsService, 'get'>;
  /** What measures chunks with such metadata for the model of a collection; default: none is too long for it. */
  measuring?: (collection: string, metadata: string) => Promise<MeasureTexts>;
  vectors: Pick<VectorsService, 'upsert' | 'delete'>;
  keyQuotas: KeyQuotaAdmission;
  store: ClusterStore;
  /** Of uploads with a mark. */
  outcomes: Pick<StoredOutcomes, 'find' | 'peek'>;
  config: Pick<Config, 'chunkSize' | 'chunkOverlap' | 'uploadBytesMax' | 'metadataBytesMax'>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  /** Identifies this process among those that share the store; a new one at each start. */
  instanceId: string;
}

/**
 * Chunks per write: bounds the memory of an upload to a few megabytes at any dimension, and one call of a slow
 * embedding model to a few seconds.
 */
const CHUNKS_PER_BATCH = 64;
/** The same for long chunks: characters per write, if it has more than one chunk. */
const CHARACTERS_PER_BATCH = 256 * 1024;
/**
 * How many chunk numbers the journal announces at a time. So thousands of chunks need one write to it, and few numbers
 * are deleted in vain.
 */
const CHUNKS_ANNOUNCED = 4096;
/** Before it writes a batch, an upload checks that it still owns its entry if it has not done so for this long. */
const CONFIRM_AFTER_MS = 2_000;

const NO_OTHERS: OtherUploaders = { isAlive: () => false, writesMs: 0 };

/**
 * Text documents as chunks. Each chunk is an item with id `<document id>-chunk-<n>`, its text, and the metadata
 * document_id, chunk_index, source and text. A document is cut, embedded and stored in batches as it arrives, so memory
 * holds one batch, however long the document is.
 *
 * All or nothing: an upload that fails takes back the chunks that it has written, also when its client disconnects. A
 * journal entry in the cluster store represents the upload while it runs. If its process dies, or taking back fails,
 * {@link recoverUploads} finishes it.
 */
export class DocumentService implements Pick<DocumentsService, 'upload'> {
  private readonly journal: UploadJournal;
  private readonly recovery: UploadRecovery;

  constructor(private readonly options: DocumentServiceOptions) {
    const { vectors, clock, log, instanceId } = options;
    this.journal = new UploadJournal(options.store);
    this.recovery = new UploadRecovery({ journal: this.journal, vectors, clock, log, instanceId });
  }

  async upload(collection: string, file: UploadedFile, dedup?: StoreDedup, writer?: KeyWriter): Promise<UploadResult> {
    if (dedup === undefined) return this.store(collection, file, { writer });
    const { outcomes, config } = this.options;
    const hash = createHash('sha256').update(dedup.digest);
    const content = hashed(file.content, hash);
    // What the form says of it may come behind the file.
    const digest = (): string =>
      createHash('sha256')
        .update(JSON.stringify([hash.digest('hex'), file.expiresAt?.() ?? null]))
        .digest('hex')
        .slice(0, dedup.digest.length);
    if ((await outcomes.peek(dedup)) === null) {
      let whole: StoreDedup | null = null;
      const wholeDedup = (): StoreDedup => (whole ??= { ...dedup, digest: digest() });
      try {
        return await this.store(collection, { ...file, content }, { dedup: wholeDedup, writer });
      } catch (error) {
        // It may be complete: the answer of the store was lost, or another request under the same key was quicker.
        const done = whole === null ? null : await outcomes.find(whole);
        if (done === null) throw error;
        return { ...(done.result as UploadResult), isRepeated: true };
      }
    }
    let bytes = 0;
    for await (const piece of content) {
      bytes += piece.length;
      // Whatever it is, it is not the file that was stored.
      if (bytes > config.uploadBytesMax) break;
    }
    const done = await outcomes.find({ ...dedup, digest: digest() });
    if (done === null)
      throw new QuiverError('unavailable', 'what became of this upload is no longer known; it may be sent again');
    return { ...(done.result as UploadResult), isRepeated: true };
  }

  /** `mark`: once the file was read. */
  private async store(
    collection: string,
    file: UploadedFile,
    { dedup, writer }: { dedup?: () => StoreDedup; writer: KeyWriter | undefined },
  ): Promise<UploadResult> {
    const { clock, config } = this.options;
    const startedMs = clock.monotonicMs();
    const { createdAt } = await this.options.collections.get(collection);
    checkFileType(file.name);
    const documentId = randomUUID();
    const source = storedFileName(file.name);
    const { measuring = async () => async () => null } = this.options;
    const batches = batchesOf(
      fittedChunks(
        readTextFile(file.content, config.uploadBytesMax),
        { size: chunkSizeWithin(config), overlap: config.chunkOverlap },
        await measuring(collection, chunkItem(documentId, 0, source, '').metadata!),
      ),
    );
    const first = await batches.next();
    if (first.done === true) throw new QuiverError('invalid_parameter', 'The file is empty');
    const document = { documentId, collection, createdAt, source };
    const charges = writer === undefined ? null : new UploadCharges(this.options.keyQuotas, writer, clock.wallMs());
    const written = await this.recovery.guarded(documentId, () =>
      this.write(document, first.value, batches, { dedup, expiryGiven: file.expiresAt, charges }),
    );
    return {
      documentId,
      chunksCreated: written.count,
      timing: { ...written.timing, totalMs: clock.monotonicMs() - startedMs },
    };
  }

  /**
   * Takes back what uploads of dead processes left behind. Called at the start, and harmless at any time. `others`
   * describes the processes that share the store. What can't be taken back now stays in the journal for the next call.
   */
  recoverUploads(others: OtherUploaders = NO_OTHERS): Promise<void> {
    return this.recovery.recover(others);
  }

  /** Cancels what would be tried again later. */
  close(): void {
    this.recovery.close();
  }

  private async write(
    document: { documentId: string; collection: string; createdAt: string; source: string },
    first: Chunk[],
    rest: AsyncGenerator<Chunk[]>,
    {
      dedup,
      expiryGiven = () => undefined,
      charges,
    }: {
      dedup?: (() => StoreDedup) | undefined;
      expiryGiven?: (() => number | undefined) | undefined;
      charges: UploadCharges | null;
    },
  ): Promise<{ count: number; timing: WriteTiming }> {
    const { documentId, collection, createdAt, source } = document;
    const { clock } = this.options;
    const timing = { embeddingMs: 0, storageMs: 0, totalMs: 0 };
    const upload = {
      documentId,
      collection,
      owner: this.options.instanceId,
      chunksEnd: CHUNKS_ANNOUNCED,
      takenBackAtMs: null,
    };
    let entry: JournaledUpload = { upload, revision: 0 };
    let count = 0;
    let once: { dedup: StoreDedup; result: UploadResult } | undefined;
    const expiresAt = expiryGiven();
    const options = charges === null ? undefined : { writer: charges.writer };
    try {
      entry = await this.journal.put(upload);
      let confirmedMs = clock.monotonicMs();
      for (
        let batch: IteratorResult<Chunk[], unknown> = { done: false, value: first };
        batch.done !== true;
        batch = await rest.next()
      ) {
        const items = batch.value.map(({ text }, i): VectorInput => ({
          ...chunkItem(documentId, count + i, source, text),
          ...(expiresAt !== undefined && { expiresAt }),
        }));
        if (count + items.length > entry.upload.chunksEnd) {
          entry = await this.journal.change(entry, { chunksEnd: entry.upload.chunksEnd + CHUNKS_ANNOUNCED });
          confirmedMs = clock.monotonicMs();
        } else if (clock.monotonicMs() - confirmedMs > CONFIRM_AFTER_MS) {
          await this.journal.confirm(entry);
          confirmedMs = clock.monotonicMs();
        }
        count += items.length;
        const written = await this.options.vectors.upsert(collection, items, options);
        timing.embeddingMs += written.timing.embeddingMs;
        timing.storageMs += written.timing.storageMs;
      }
      if (expiryGiven() !== expiresAt)
        throw new QuiverError('invalid_parameter', 'expires_at must come before the file');
      await this.checkSameCollection(collection, createdAt);
      if (dedup !== undefined) once = { dedup: dedup(), result: { documentId, chunksCreated: count, timing } };
      await this.journal.close(entry, once);
    } catch (error) {
      // Its chunks must stay if it is complete, and only the answer of the store was lost.
      const ended = once?.dedup;
      const isComplete = await this.recovery.takeBackOwn(
        { ...entry.upload, chunksEnd: count },
        { isComplete: ended && (() => this.isKept(documentId, ended)), onIncomplete: () => charges?.giveBack() },
      );
      if (isComplete) return { count, timing };
      throw error;
    }
    return { count, timing };
  }

  /** Whether the outcome under the mark is that of this upload. Errors: unavailable. */
  private async isKept(documentId: string, dedup: StoreDedup): Promise<boolean> {
    const outcome = await this.options.outcomes.peek(dedup);
    return (outcome?.result as UploadResult | undefined)?.documentId === documentId;
  }

  /** A collection that was deleted and made again meanwhile would have only some of the chunks. */
  private async checkSameCollection(collection: string, createdAt: string): Promise<void> {
    const now = await this.options.collections.get(collection);
    if (now.createdAt !== createdAt)
      throw new QuiverError('not_found', `Collection "${collection}" was deleted during the upload`);
  }
}

/** The content, added to the hash on its way. */
async function* hashed(content: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of content) {
    hash.update(piece);
    yield piece;
  }
}

/** The chunks of a text in batches to write, each as soon as it is full; none is empty. */
async function* batchesOf(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk[]> {
  let batch: Chunk[] = [];
  let characters = 0;
  for await (const chunk of chunks) {
    if (
      batch.length === CHUNKS_PER_BATCH ||
      (batch.length > 0 && characters + chunk.text.length > CHARACTERS_PER_BATCH)
    ) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(chunk);
    characters += chunk.text.length;
  }
  if (batch.length > 0) yield batch;
}
