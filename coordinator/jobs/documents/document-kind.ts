import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { DOCUMENT_CHUNKS_MAX } from '../../../shared/contract/shard/chunk-id';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import type { Clock } from '../../../shared/base/time/clock';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { CollectionCatalog } from '../../service/collections/collection-catalog';
import type { CollectionEmbedder } from '../../service/collections/collection-embedder';
import type { CollectionRecord } from '../../service/collections/collection-record';
import { documentChanges, textsToEmbed, vectorsByText } from '../../service/documents/document-changes';
import {
  type DocumentFacts,
  documentView,
  generationOf,
  type WantedChunk,
  wantedChunks,
} from '../../service/documents/document-facts';
import type { MeasureTexts } from '../../service/documents/fitted-chunks';
import { cutDocument } from '../../service/documents/cut-document';
import type { DocumentParser } from '../../service/documents/formats/document-parser';
import type { Chunking, DocumentChunk, ParsedDocument } from '../../service/documents/formats/parsed-document';
import type { StoredDocuments } from '../../service/documents/stored-documents';
import type { JobRights } from '../../service/jobs-service';
import type { KeyWriter } from '../../service/keys/quota/key-quota';
import type { NewDocument } from '../../service/service';
import { collectionNotFound } from '../../service/routing/collection-not-found';
import type { JobKind, JobProgress, RunningJob } from '../record/job-kind';
import type { JobRecord } from '../record/job-record';
import type { WaitingFiles } from './waiting-files';

export const DOCUMENT = 'document';

/** Documents at once: while one is parsed, the texts of others are embedded. */
const DOCUMENTS_AT_ONCE = 4;
/** Texts of a document that are embedded in one call, and calls at once: the models have the next ones ready. */
const TEXTS_AT_ONCE = 64;
const CHARACTERS_AT_ONCE = 256 * 1024;
const CALLS_AT_ONCE = 2;
/** A queue of texts that is full is asked again after so long. */
const FULL_MS = 100;
/** Chunks and vectors of a document, and what else is in one write: the log of a shard takes it as one entry. */
const WRITE_BYTES_MAX = 128 * 1024 * 1024;
/** Of each chunk in it, besides its vector, text and metadata: its id, and what goes with it. */
const CHUNK_BYTES = 128;
/** Another change of the document that comes between reading and writing has it read again. */
const WRITE_ATTEMPTS = 8;
/** A job at which so many processes ended is given up: the next one would end, too. */
const LOST_MAX = 3;
/** Jobs whose vectors are kept for a next attempt, where a shard could not take the document. */
const KEPT_ATTEMPTS = 8;

/** What is asked for. The file waits under the job's id. */
export interface DocumentInput extends Omit<NewDocument, 'chunking' | 'metadata' | 'key' | 'expiresAt'> {
  /** Of the collection. */
  identity: string;
  documentId: string;
  key: string | null;
  metadata: string;
  chunking: Chunking;
  expiresAt: number | null;
  generation: number;
  /** undefined: nobody's quota. */
  writer?: Pick<KeyWriter, 'identity' | 'quota'> | undefined;
}

/** What a run leaves to the next one. */
interface DocumentNotes {
  /** The process that works on it; null: it stopped of itself, or waits for the model, which may take hours. */
  worker: string | null;
  /** Processes that ended while they worked on it. */
  lost: number;
}

/** Where a job is from when on it can't be given up: its write may be done. */
const STORING = 'storing';

/**
 * Parses, cuts, embeds and stores one document. Nothing of it can be seen until one write puts all of its chunks in the
 * place of those that were there. So whoever goes on with a job begins anew, unless that write was done, which the
 * chunks tell.
 */
export class DocumentKind implements JobKind {
  readonly kind = DOCUMENT;
  readonly rights: JobRights = { see: 'readonly', change: 'readwrite' };
  readonly atOnce = DOCUMENTS_AT_ONCE;
  /** By job, vectors by text. */
  private readonly kept = new Map<string, Map<string, Float32Array>>();
  /** Names this process in notes. */
  private readonly worker = randomUUID();

  constructor(
    private readonly parts: {
      files: WaitingFiles;
      parser: Pick<DocumentParser, 'parse'>;
      stored: Pick<StoredDocuments, 'first' | 'chunks' | 'strays' | 'exchange'>;
      catalog: Pick<CollectionCatalog, 'find' | 'read'>;
      embedder: Pick<CollectionEmbedder, 'embedPassages' | 'settle' | 'measure'>;
      metadataBytesMax: number;
      clock: Clock;
    },
  ) {}

  uncancellableAt({ step }: JobRecord): string | null {
    return step === STORING ? 'its chunks are being stored; delete the document once it is done' : null;
  }

  async run(job: RunningJob, stop: AbortSignal): Promise<object> {
    const { stored } = this.parts;
    const name = job.record.collection!;
    const input = job.record.input as DocumentInput;
    const collection = await this.collection(name, input);
    const first = await stored.first(name, input.documentId);
    const before = first === null ? null : judged(input, first.metadata);
    if (before !== null) return before;
    const steps = new JobSteps(job, this.worker);
    await steps.begin();
    try {
      return await this.made(steps, { name, collection, input }, stop);
    } catch (error) {
      await steps.stop().catch(() => undefined);
      throw error;
    }
  }

  private async made(
    steps: JobSteps,
    { name, collection, input }: { name: string; collection: CollectionRecord; input: DocumentInput },
    stop: AbortSignal,
  ): Promise<object> {
    const { stored } = this.parts;

    const parsed = await this.parsed(steps.job.record.id, input, stop);
    steps.report('cutting');
    const chunks = await this.cut(collection, parsed, input, stop);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.store(steps, { collection, input, parsed, chunks }, stop);
      } catch (error) {
        if (!isQuiverError(error) || error.kind !== 'conflict' || attempt === WRITE_ATTEMPTS) throw error;
        const now = await stored.first(name, input.documentId);
        const since = now === null ? null : judged(input, now.metadata);
        if (since !== null) return since;
      }
    }
  }

  async ended({ id }: JobRecord): Promise<void> {
    this.kept.delete(id);
    await this.parts.files.delete(id);
  }

  /** Errors: not_found. */
  private async collection(name: string, { identity }: DocumentInput): Promise<CollectionRecord> {
    const collection = await this.parts.catalog.find(name);
    if (collection.identity !== identity) throw collectionNotFound(name);
    return collection;
  }

  private async parsed(id: string, { file }: DocumentInput, stop: AbortSignal): Promise<ParsedDocument> {
    const content = await this.parts.files.find(id);
    if (content === null)
      throw new QuiverError('storage_failed', 'the file that waited for the job is gone; add the document again');
    return this.parts.parser.parse({ content, name: file.name, type: file.type }, { signal: stop });
  }

  private async cut(
    collection: CollectionRecord,
    parsed: ParsedDocument,
    { chunking, metadata, textInMetadata }: DocumentInput,
    stop: AbortSignal,
  ): Promise<DocumentChunk[]> {
    const measure: MeasureTexts = async (texts) => this.parts.embedder.measure(collection, texts);
    const chunks: DocumentChunk[] = [];
    // What each has at least: a few bytes of a file may become a chunk with all of the metadata.
    const fit = new WriteFit(collection.dim);
    const shared = { ...(JSON.parse(metadata) as JsonObject), ...(textInMetadata && { text: '' }) };
    const metadataBytes = Buffer.byteLength(JSON.stringify(shared));
    for await (const chunk of cutDocument(parsed, chunking, measure)) {
      stop.throwIfAborted();
      if (chunks.push(chunk) > DOCUMENT_CHUNKS_MAX) throw tooLarge(`more than ${DOCUMENT_CHUNKS_MAX} chunks`);
      fit.add((textInMetadata ? 2 : 1) * Buffer.byteLength(chunk.text) + metadataBytes);
    }
    return chunks;
  }

  private async store(
    steps: JobSteps,
    of: { collection: CollectionRecord; input: DocumentInput; parsed: ParsedDocument; chunks: DocumentChunk[] },
    stop: AbortSignal,
  ): Promise<object> {
    const { stored, clock, metadataBytesMax } = this.parts;
    const { collection, input, parsed, chunks } = of;
    const { documentId, identity, file, expiresAt } = input;
    const known = await stored.chunks(collection.name, documentId);
    const facts: DocumentFacts = {
      documentId,
      key: input.key,
      source: file.name,
      type: parsed.type,
      title: parsed.title ?? null,
      pages: parsed.pages.length > 0 ? parsed.pages.length : null,
      chunks: chunks.length,
      bytes: file.bytes,
      sha256: file.sha256,
      chunking: input.chunking,
      updatedAt: new Date(clock.wallMs()).toISOString(),
      generation: input.generation,
    };
    const metadata = JSON.parse(input.metadata) as JsonObject;
    const fit = new WriteFit(collection.dim);
    const mustFit = (chunk: WantedChunk): void => {
      const bytes = Buffer.byteLength(chunk.metadata);
      if (bytes > metadataBytesMax)
        throw new QuiverError(
          'limit_exceeded',
          `the metadata of a chunk would have ${bytes} bytes, more than MAX_METADATA_BYTES (${metadataBytesMax}); ` +
            'give less, or smaller chunks',
        );
      fit.add(Buffer.byteLength(chunk.text) + bytes);
    };
    const rowFields = (row: number): Record<string, unknown> =>
      parsed.rows === undefined ? {} : parsed.rows[row].fields;
    const options = { metadata, textInMetadata: input.textInMetadata };
    const wanted = await inSlices(wantedChunks(facts, chunks, options, { rowFields, mustFit }));
    stop.throwIfAborted();
    const vectors = vectorsByText(known);
    const embedded = await this.embed(steps, collection, textsToEmbed(wanted, vectors), stop);
    for (const [text, vector] of embedded) vectors.set(text, vector);
    const ids = wanted.map(({ externalId }) => externalId);
    const strays = await stored.strays(collection.name, documentId, known, ids);
    const { puts, gone } = documentChanges(wanted, [...known, ...strays], {
      vectors,
      expiresAt: expiresAt ?? undefined,
    });
    // From here on nobody can give it up: of what is done, nothing could be taken back.
    await steps.store();
    stop.throwIfAborted();
    await stored.exchange(collection.name, { identity, puts, gone }, input.writer);
    return result(known.length === 0 ? 'inserted' : 'replaced', facts, embedded.size);
  }

  /** The vectors of texts, by text. */
  private async embed(
    steps: JobSteps,
    collection: CollectionRecord,
    texts: string[],
    stop: AbortSignal,
  ): Promise<Map<string, Float32Array>> {
    const { id } = steps.job.record;
    const made = this.kept.get(id) ?? new Map<string, Float32Array>();
    this.keep(id, made);
    const batches = batchesOf(texts.filter((text) => !made.has(text)));
    const total = texts.length;
    steps.reportWaiting({ done: total - batches.flat().length, total });
    const work = async (): Promise<void> => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        const vectors = await this.embedded(collection, batch, stop);
        batch.forEach((text, i) => made.set(text, vectors[i]));
        steps.reportWaiting({ done: made.size, total });
      }
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
    return made;
  }

  private async embedded(collection: CollectionRecord, texts: string[], stop: AbortSignal): Promise<Float32Array[]> {
    const { embedder } = this.parts;
    for (;;) {
      stop.throwIfAborted();
      try {
        const { vectors, unsettled } = await embedder.embedPassages(collection, texts);
        return unsettled === null ? vectors : ((await embedder.settle(collection, unsettled, texts)) ?? vectors);
      } catch (error) {
        // Others have their turn first.
        if (!isQuiverError(error) || error.kind !== 'overloaded') throw error;
        await sleep(FULL_MS, undefined, { signal: stop });
      }
    }
  }

  private keep(id: string, vectors: Map<string, Float32Array>): void {
    this.kept.delete(id);
    this.kept.set(id, vectors);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= KEPT_ATTEMPTS) return;
      this.kept.delete(oldest);
    }
  }
}

/** What a job is at, in words, and whether a process works on it that may end of it. */
class JobSteps {
  /** One whose write may still be under way stays past return. */
  private readonly isPastReturn: boolean;
  private readonly lost: number;

  /** Errors: limit_exceeded where too many processes ended. */
  constructor(
    readonly job: RunningJob,
    private readonly worker: string,
  ) {
    this.isPastReturn = job.record.step === STORING;
    this.lost = lostBefore(job, worker);
  }

  /** Errors: those of `note`. */
  begin(): Promise<void> {
    this.report('parsing', { waitsFor: null });
    return this.job.note({ notes: this.notes(this.worker) });
  }

  report(step: string, progress: JobProgress = {}): void {
    this.job.report({ ...(!this.isPastReturn && { step }), ...progress });
  }

  reportWaiting(progress: JobProgress): void {
    this.report('embedding', { ...progress, waitsFor: null, notes: this.notes(null) });
  }

  /** Errors: those of `note`. */
  store(): Promise<void> {
    return this.job.note({ step: STORING, notes: this.notes(this.worker) });
  }

  /** A process that stops, or tries again, is not one that ended. Errors: those of `note`. */
  stop(): Promise<void> {
    return this.job.note({ notes: this.notes(null) });
  }

  private notes(worker: string | null): DocumentNotes {
    return { worker, lost: this.lost };
  }
}

/** Processes that ended while they worked on a job, by what the last run left. Errors: limit_exceeded. */
function lostBefore({ record, foundState }: RunningJob, worker: string): number {
  const notes = record.notes as DocumentNotes | null;
  if (notes === null) return 0;
  // One that was paused is left as it was.
  const isLost = foundState === 'running' && notes.worker !== null && notes.worker !== worker;
  const lost = notes.lost + (isLost ? 1 : 0);
  if (lost < LOST_MAX) return lost;
  throw new QuiverError(
    'limit_exceeded',
    `${lost} processes ended while they worked on the document, which may take more memory than there is: ` +
      'cut it into several, or ask for larger chunks or less metadata',
  );
}

/** What a job came to that is not to store its document, by what is stored of it; null: it is to store it. */
function judged({ generation, onExists, key, documentId }: DocumentInput, metadata: string): object | null {
  const stored = generationOf(metadata);
  const view = documentView(metadata);
  // It was stored before the process ended that did it.
  if (stored === generation) return { outcome: 'stored', document_id: documentId, chunks: view?.chunks ?? null };
  if (stored > generation) return { outcome: 'overtaken', document_id: documentId };
  if (onExists === 'skip') return { outcome: 'skipped', document_id: documentId };
  if (onExists === 'error') throw documentExists(key ?? documentId);
  return null;
}

function result(outcome: 'inserted' | 'replaced', { documentId, chunks, pages }: DocumentFacts, embedded: number) {
  return { outcome, document_id: documentId, chunks, pages, embedded };
}

export function documentExists(key: string): QuiverError {
  return new QuiverError('already_exists', `a document with the document_key ${JSON.stringify(key)} is there already`);
}

/** Counts the chunks of a document as they are made, so that those of one that is too large are never all there. */
class WriteFit {
  private chunks = 0;
  private bytes = 0;
  private readonly each: number;

  constructor(dim: number) {
    this.each = dim * Float32Array.BYTES_PER_ELEMENT + CHUNK_BYTES;
  }

  /** `bytes`: of the next chunk's text and metadata. Errors: limit_exceeded. */
  add(bytes: number): void {
    this.chunks += 1;
    this.bytes += this.each + bytes;
    if (this.bytes > WRITE_BYTES_MAX)
      throw tooLarge(
        `more than ${this.chunks - 1} chunks, which is all that the ${WRITE_BYTES_MAX} bytes of one write hold`,
      );
  }
}

function tooLarge(what: string): QuiverError {
  return new QuiverError('limit_exceeded', `the document makes ${what}: cut it into several, or ask for larger chunks`);
}

function batchesOf(texts: readonly string[]): string[][] {
  const batches: string[][] = [];
  let characters = Infinity;
  for (const text of texts) {
    const last = batches.at(-1);
    if (last === undefined || last.length === TEXTS_AT_ONCE || characters + text.length > CHARACTERS_AT_ONCE) {
      batches.push([text]);
      characters = text.length;
    } else {
      last.push(text);
      characters += text.length;
    }
  }
  return batches;
}
