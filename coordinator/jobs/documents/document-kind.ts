import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { DOCUMENT_CHUNKS_MAX } from '../../../shared/contract/shard/chunk-id';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionCatalog } from '../../service/collections/collection-catalog';
import type { CollectionEmbedder } from '../../service/collections/collection-embedder';
import type { CollectionRecord } from '../../service/collections/collection-record';
import { documentChanges, textsToEmbed, vectorsByText } from '../../service/documents/document-changes';
import { type DocumentFacts, documentView, generationOf, wantedChunks } from '../../service/documents/document-facts';
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
/** Another change of the document that comes between reading and writing has it read again. */
const WRITE_ATTEMPTS = 8;
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
    // One whose write may still be under way stays past return.
    const steps = new JobSteps(job, job.record.step === STORING);
    steps.report('parsing', { waitsFor: null });
    const parsed = await this.parsed(job.record.id, input, stop);
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
    { chunking }: DocumentInput,
    stop: AbortSignal,
  ): Promise<DocumentChunk[]> {
    const measure: MeasureTexts = async (texts) => this.parts.embedder.measure(collection, texts);
    const chunks: DocumentChunk[] = [];
    for await (const chunk of cutDocument(parsed, chunking, measure)) {
      stop.throwIfAborted();
      if (chunks.push(chunk) > DOCUMENT_CHUNKS_MAX) throw tooLarge(`more than ${DOCUMENT_CHUNKS_MAX} chunks`);
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
    const wanted = wantedChunks(facts, chunks, { metadata, textInMetadata: input.textInMetadata }, (row) =>
      parsed.rows === undefined ? {} : parsed.rows[row].fields,
    );
    const longest = wanted.find((chunk) => Buffer.byteLength(chunk.metadata) > metadataBytesMax);
    if (longest !== undefined)
      throw new QuiverError(
        'limit_exceeded',
        `the metadata of a chunk would have ${Buffer.byteLength(longest.metadata)} bytes, more than ` +
          `MAX_METADATA_BYTES (${metadataBytesMax}); give less, or smaller chunks`,
      );
    mustFit(wanted, collection.dim);
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
    await steps.job.note({ step: STORING });
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
    steps.report('embedding', { done: total - batches.flat().length, total });
    const work = async (): Promise<void> => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        const vectors = await this.embedded(collection, batch, stop);
        batch.forEach((text, i) => made.set(text, vectors[i]));
        steps.report('embedding', { done: made.size, total, waitsFor: null });
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

/** What a job is at, in words. */
class JobSteps {
  constructor(
    readonly job: RunningJob,
    private readonly isPastReturn: boolean,
  ) {}

  report(step: string, progress: JobProgress = {}): void {
    this.job.report({ ...(!this.isPastReturn && { step }), ...progress });
  }
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

/** Errors: limit_exceeded. */
function mustFit(wanted: readonly { text: string; metadata: string }[], dim: number): void {
  const vector = dim * Float32Array.BYTES_PER_ELEMENT;
  const bytes = wanted.reduce((sum, { text, metadata }) => sum + vector + text.length + metadata.length, 0);
  if (bytes > WRITE_BYTES_MAX)
    throw tooLarge(`${wanted.length} chunks of ${bytes} bytes, more than the ${WRITE_BYTES_MAX} of one write`);
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
