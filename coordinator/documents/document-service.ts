import { randomUUID } from 'node:crypto';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import type { Config } from '../../shared/config/config';
import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import type { Logger } from '../../shared/logs/logger';
import type { Clock } from '../../shared/time/clock';
import type { CollectionsService, DocumentsService, VectorInput, VectorsService, WriteTiming } from '../service';
import { type Chunk, chunkText } from './chunk';
import { checkFileType, readTextFile, storedFileName } from './text-file';
import { type OpenUpload, UploadJournal } from './upload-journal';

export interface DocumentServiceOptions {
  collections: Pick<CollectionsService, 'get'>;
  vectors: Pick<VectorsService, 'upsert' | 'delete' | 'fetch'>;
  store: ClusterStore;
  config: Pick<Config, 'chunkSize' | 'chunkOverlap' | 'uploadBytesMax' | 'metadataBytesMax'>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  /** Names this process among those that share the store; another one each time it starts. */
  instanceId: string;
}

/**
 * Chunks per write: bounds the memory of an upload to a few megabytes at any dimension, and one call of a slow
 * embedding model to a few seconds.
 */
const CHUNKS_PER_BATCH = 64;

/** JSON of a chunk's metadata beside its text: keys, document id, number and a file name of 255 characters, escaped. */
const METADATA_FRAME_BYTES = 2048;
/** Most bytes of a UTF-16 code unit in JSON: a control character as \u0000. */
const JSON_BYTES_PER_UNIT = 6;
/** The shortest chunks that still make sense, whatever the limit on metadata. */
const CHUNK_SIZE_MIN = 16;

/**
 * Text documents as chunks: each an item of its own with id `<document id>-chunk-<n>`, its text, and metadata
 * document_id, chunk_index, source and text.
 *
 * All or nothing: an upload that fails takes back the chunks it has written. A journal entry in the cluster store
 * stands for the upload while it runs; should its process die, or taking back fail, {@link recoverUploads} finishes it.
 */
export class DocumentService implements DocumentsService {
  private readonly journal: UploadJournal;
  /** Uploads of this process that are under way. */
  private readonly running = new Set<string>();

  constructor(private readonly options: DocumentServiceOptions) {
    this.journal = new UploadJournal(options.store);
  }

  async upload(
    collection: string,
    file: { name: string; content: AsyncIterable<Buffer> },
  ): Promise<{ documentId: string; chunksCreated: number; timing: WriteTiming }> {
    const { clock, config } = this.options;
    const startedMs = clock.monotonicMs();
    const { createdAt } = await this.options.collections.get(collection);
    checkFileType(file.name);
    const text = await readTextFile(file.content, config.uploadBytesMax);
    const chunks = chunkText(text, { size: this.chunkSize, overlap: config.chunkOverlap });
    const first = chunks.next();
    if (first.done === true) throw new QuiverError('invalid_parameter', 'The file is empty');
    const upload = { documentId: randomUUID(), collection, owner: this.options.instanceId, batchSize: CHUNKS_PER_BATCH };
    this.running.add(upload.documentId);
    try {
      const written = await this.write(upload, { source: storedFileName(file.name), first: first.value, rest: chunks, createdAt });
      const totalMs = clock.monotonicMs() - startedMs;
      return { documentId: upload.documentId, chunksCreated: written.count, timing: { ...written.timing, totalMs } };
    } finally {
      this.running.delete(upload.documentId);
    }
  }

  /**
   * Takes back what uploads of dead processes left behind; called at start, and harmless at any time. `isAlive` says
   * which of the other processes still run. What can't be taken back now stays in the journal for the next call.
   */
  async recoverUploads(isAlive: (instanceId: string) => boolean = () => false): Promise<void> {
    for (const upload of await this.journal.list()) {
      if (this.running.has(upload.documentId) || (upload.owner !== this.options.instanceId && isAlive(upload.owner))) continue;
      try {
        await this.takeBack(upload, await this.countWritten(upload));
        this.options.log.warn({ documentId: upload.documentId, collection: upload.collection }, 'took back an upload that was cut short');
      } catch (error) {
        this.options.log.warn({ documentId: upload.documentId, collection: upload.collection, error }, 'could not take back an upload yet');
      }
    }
  }

  /** The configured size, less where metadata as long as allowed could not hold such a text. */
  private get chunkSize(): number {
    const { chunkSize, metadataBytesMax } = this.options.config;
    const fitting = Math.floor((metadataBytesMax - METADATA_FRAME_BYTES) / JSON_BYTES_PER_UNIT);
    return Math.min(chunkSize, Math.max(fitting, CHUNK_SIZE_MIN));
  }

  private async write(
    upload: OpenUpload,
    document: { source: string; first: Chunk; rest: Iterator<Chunk>; createdAt: string },
  ): Promise<{ count: number; timing: WriteTiming }> {
    const timing = { embeddingMs: 0, storageMs: 0, totalMs: 0 };
    let count = 0;
    await this.journal.open(upload);
    try {
      let chunk: IteratorResult<Chunk, unknown> = { done: false, value: document.first };
      while (chunk.done !== true) {
        const batch: VectorInput[] = [];
        for (; chunk.done !== true && batch.length < upload.batchSize; chunk = document.rest.next()) {
          batch.push(itemOf(upload.documentId, count + batch.length, document.source, chunk.value.text));
        }
        count += batch.length;
        const written = await this.options.vectors.upsert(upload.collection, batch);
        timing.embeddingMs += written.timing.embeddingMs;
        timing.storageMs += written.timing.storageMs;
      }
      await this.checkSameCollection(upload.collection, document.createdAt);
      await this.journal.close(upload.documentId);
    } catch (error) {
      await this.takeBackNow(upload, count);
      throw error;
    }
    return { count, timing };
  }

  /** A collection that was deleted and made again meanwhile has only some of the chunks. */
  private async checkSameCollection(collection: string, createdAt: string): Promise<void> {
    const now = await this.options.collections.get(collection);
    if (now.createdAt !== createdAt) throw new QuiverError('not_found', `Collection "${collection}" was deleted during the upload`);
  }

  /** After a failure: the caller hears of that one, not of what may go wrong here; the journal keeps what is left to do. */
  private async takeBackNow(upload: OpenUpload, count: number): Promise<void> {
    try {
      await this.takeBack(upload, count);
    } catch (error) {
      const facts = { documentId: upload.documentId, collection: upload.collection, error };
      this.options.log.warn(facts, 'could not take back the chunks of a failed upload; the next start tries again');
    }
  }

  /** Deletes chunks `count` − 1 down to 0, so that what is left after a crash is still the beginning; then forgets the upload. */
  private async takeBack(upload: OpenUpload, count: number): Promise<void> {
    for (let end = count; end > 0; ) {
      const start = Math.floor((end - 1) / upload.batchSize) * upload.batchSize;
      const isGone = await isCollectionGone(() => this.options.vectors.delete(upload.collection, chunkIds(upload.documentId, start, end)));
      if (isGone) break;
      end = start;
    }
    await this.journal.close(upload.documentId);
  }

  /** An upper bound on the chunks of an upload that are stored: where the first batch begins of which nothing is. */
  private async countWritten(upload: OpenUpload): Promise<number> {
    for (let start = 0; ; start += upload.batchSize) {
      const ids = chunkIds(upload.documentId, start, start + upload.batchSize);
      let found = 0;
      const isGone = await isCollectionGone(async () => {
        found = (await this.options.vectors.fetch(upload.collection, ids, { vectors: false })).length;
      });
      if (isGone || found === 0) return start;
    }
  }
}

/** Runs `call`; true if it failed because there is no such collection: then there is nothing to take back in it. */
async function isCollectionGone(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return false;
  } catch (error) {
    if (isQuiverError(error) && error.kind === 'not_found') return true;
    throw error;
  }
}

function itemOf(documentId: string, index: number, source: string, text: string): VectorInput {
  const metadata = JSON.stringify({ document_id: documentId, chunk_index: index, source, text });
  return { externalId: chunkId(documentId, index), source: { text }, metadata, text };
}

function chunkIds(documentId: string, start: number, end: number): string[] {
  return Array.from({ length: end - start }, (_, i) => chunkId(documentId, start + i));
}

function chunkId(documentId: string, index: number): string {
  return `${documentId}-chunk-${index}`;
}
