import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { DOCUMENT_CHUNKS_MAX } from '../../../shared/contract/shard/chunk-id';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import type { Clock } from '../../../shared/base/time/clock';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
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
import { firstChunkOf, type StoredDocuments } from '../../service/documents/stored-documents';
import type { JobRights } from '../../service/jobs-service';
import type { KeyWriter } from '../../service/keys/quota/key-quota';
import type { NewDocument, VectorView } from '../../service/service';
import { collectionNotFound } from '../../service/routing/collection-not-found';
import { flawOf, METADATA_DEPTH_MAX } from '../../service/vectors/metadata-flaw';
import type { JobKind, RunningJob } from '../record/job-kind';
import type { JobRecord } from '../record/job-record';
import { Company } from './company';
import { DocumentEmbedder } from './document-embedder';
import { DocumentSteps, STORING, tokenIn, wroteNothing } from './document-steps';
import type { DocumentRoom } from './document-room';
import type { DocumentTurns } from './document-turns';
import { passing, unresolved } from './passing-errors';
import type { WaitingFiles } from './waiting-files';

export const DOCUMENT = 'document';

/** Documents at once: while one is parsed, the texts of others are embedded. */
const DOCUMENTS_AT_ONCE = 4;
/** Chunks and vectors of a document, and what else is in one write: the log of a shard takes it as one entry. */
const WRITE_BYTES_MAX = 128 * 1024 * 1024;
/** Of each chunk in it, besides its vector, text and metadata: its id, and what goes with it. */
const CHUNK_BYTES = 128;
/** Another change of the document that comes between reading and writing has it read again. */
const WRITE_ATTEMPTS = 8;
/** Between two of these attempts. */
const WRITE_PAUSES = { firstMs: 10, longestMs: 1_000 };
/** Jobs, and bytes, of vectors that are kept for a next attempt, where a shard could not take the document. */
const KEPT_ATTEMPTS = 8;
const KEPT_BYTES_MAX = 128 * 1024 * 1024;

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

/**
 * Parses, cuts, embeds and stores one document. Nothing of it can be seen until one write puts all of its chunks in the
 * place of those that were there. So whoever goes on with a job revokes a write that may be on its way, and begins
 * anew, unless it was done, which the chunks tell.
 */
export class DocumentKind implements JobKind {
  readonly kind = DOCUMENT;
  readonly rights: JobRights = { see: 'readonly', change: 'readwrite' };
  readonly atOnce = DOCUMENTS_AT_ONCE;
  /** By job, vectors by text. */
  private readonly kept = new Map<string, { vectors: Map<string, Float32Array>; since: string | undefined }>();
  private readonly company = new Company();
  private readonly texts: DocumentEmbedder;

  constructor(
    private readonly parts: {
      files: WaitingFiles;
      room: Pick<DocumentRoom, 'release'>;
      parser: Pick<DocumentParser, 'parse'>;
      turns: Pick<DocumentTurns, 'lastGeneration' | 'end'>;
      stored: Pick<StoredDocuments, 'first' | 'chunks' | 'strays' | 'exchange' | 'revoke'>;
      catalog: Pick<CollectionCatalog, 'find' | 'read'>;
      embedder: Pick<CollectionEmbedder, 'embedPassages' | 'settle' | 'measure'>;
      metadataBytesMax: number;
      metadataFieldsMax: number;
      clock: Clock;
      /** Names this process in notes; a new one at each start. */
      worker: string;
      /** Whether another process still runs, though it does not drive. */
      isAlive: (worker: string) => boolean;
    },
  ) {
    this.texts = new DocumentEmbedder(parts);
  }

  sharesOf({ collection, input }: JobRecord): string[] {
    return [(input as DocumentInput).holder ?? '', collection ?? ''];
  }

  /** Its shards and its model are what its other documents need, too. */
  obstructedWith({ collection }: JobRecord): string {
    return collection ?? '';
  }

  uncancellableAt({ step }: JobRecord): string | null {
    return step === STORING ? 'its chunks are being stored; delete the document once it is done' : null;
  }

  unpausableAt({ step }: JobRecord): string | null {
    return step === STORING ? 'its chunks are being stored' : null;
  }

  /**
   * The document was acknowledged, so it fails only of what it is itself: whatever may pass is tried again, until
   * somebody gives it up.
   */
  async run(job: RunningJob, stop: AbortSignal): Promise<object> {
    try {
      return await this.runOnce(job, stop);
    } catch (error) {
      throw passing(error);
    }
  }

  private async runOnce(job: RunningJob, stop: AbortSignal): Promise<object> {
    const { stored } = this.parts;
    const name = job.record.collection!;
    const input = job.record.input as DocumentInput;
    const collection = await this.collection(name, input);
    const { identity, documentId } = input;
    const token = tokenIn(job.record);
    const steps = new DocumentSteps(job, this.company, this.parts);
    await steps.noteLost();
    if (token !== null) await unresolved(stored.revoke(name, { identity, documentId, token }));
    const before = await this.verdict(input, await stored.first(name, documentId));
    if (before !== null) return before;
    try {
      await steps.begin(stop);
      return await this.made(steps, { collection, input }, stop);
    } catch (error) {
      // Whoever goes on with it is another process, or begins much later.
      if (stop.aborted) this.kept.delete(job.record.id);
      else this.keepWithin();
      await steps.stop().catch(() => undefined);
      throw error;
    } finally {
      steps.end();
    }
  }

  private async made(
    steps: DocumentSteps,
    { collection, input }: { collection: CollectionRecord; input: DocumentInput },
    stop: AbortSignal,
  ): Promise<object> {
    const parsed = await this.parsed(steps.job.record.id, input, stop);
    steps.report('cutting');
    const chunks = await this.cut(collection, parsed, input, stop);
    const pauses = new RetryBackoff(WRITE_PAUSES);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.store(steps, { collection, input, parsed, chunks }, stop);
      } catch (error) {
        if (!isQuiverError(error) || error.kind !== 'conflict' || attempt === WRITE_ATTEMPTS) throw error;
        await pauses.pause(stop);
      }
    }
  }

  async ended({ id, input }: JobRecord): Promise<void> {
    this.kept.delete(id);
    const { turns, files, room } = this.parts;
    // One that fails leaves the others to be done; a sweep does it later.
    const freed = [() => turns.end(input as DocumentInput, id), () => files.delete(id), () => room.release(id)];
    const errors: unknown[] = [];
    for (const free of freed) await free().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }

  /** What it came to, where it is not to store its document, by what is stored of it; null: it is to. */
  private async verdict(input: DocumentInput, first: VectorView | null): Promise<object | null> {
    const { generation, onExists, key, documentId } = input;
    if (first === null) return null;
    const stored = generationOf(first.metadata);
    // It was stored before the process ended that did it.
    if (stored === generation)
      return { outcome: 'stored', document_id: documentId, chunks: documentView(first.metadata)?.chunks ?? null };
    // One that no upload has had says nothing: somebody wrote it, or it was restored from another cluster.
    if (stored > generation && stored <= (await this.parts.turns.lastGeneration()))
      return { outcome: 'overtaken', document_id: documentId };
    if (onExists === 'skip') return { outcome: 'skipped', document_id: documentId };
    if (onExists === 'error') throw documentExists(key ?? documentId);
    return null;
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
      throw new QuiverError('storage_damaged', 'the file that waited for the job is gone; add the document again');
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
    steps: DocumentSteps,
    of: { collection: CollectionRecord; input: DocumentInput; parsed: ParsedDocument; chunks: DocumentChunk[] },
    stop: AbortSignal,
  ): Promise<object> {
    const { stored, clock, metadataBytesMax, metadataFieldsMax } = this.parts;
    const { collection, input, parsed, chunks } = of;
    const { documentId, identity, file, expiresAt } = input;
    const known = await stored.chunks(collection.name, documentId);
    // By what the write goes out from: another upload may have come since this one began.
    const verdict = await this.verdict(input, firstChunkOf(known));
    if (verdict !== null) return verdict;
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
      fingerprint: input.fingerprint ?? null,
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
    const rowFields = (row: number): Record<string, unknown> => {
      const { fields } = parsed.rows![row];
      const flaw = flawOf(fields, METADATA_DEPTH_MAX - 1, { count: metadataFieldsMax });
      if (flaw !== null) throw badRow(row, flaw, metadataFieldsMax);
      return fields;
    };
    const options = { metadata, textInMetadata: input.textInMetadata };
    const wanted = await inSlices(wantedChunks(facts, chunks, options, { rowFields, mustFit }));
    stop.throwIfAborted();
    const vectors = vectorsByText(known);
    const embedded = await this.embed(steps, collection, textsToEmbed(wanted, vectors), stop);
    for (const [text, vector] of embedded) vectors.set(text, vector);
    const ids = wanted.map(({ externalId }) => externalId);
    const strays = await stored.strays(collection.name, documentId, known, ids);
    if (strays.some(({ metadata: text }) => documentView(text)?.documentId === documentId))
      throw new QuiverError('conflict', 'another upload of the document came between');
    const { puts, gone } = documentChanges(wanted, [...known, ...strays], {
      vectors,
      expiresAt: expiresAt ?? undefined,
    });
    // From here on nobody can give it up: of what is done, nothing could be taken back.
    const token = await steps.store(stop);
    const { vectorsSince } = collection;
    try {
      await stored.exchange(collection.name, { identity, vectorsSince, puts, gone, token }, input.writer);
    } catch (error) {
      if (!wroteNothing(error)) {
        // As soon as its shard can be asked, it is known whether it was done, and the job can be given up again.
        const revoked = stored.revoke(collection.name, { identity, documentId, token });
        await unresolved(revoked.catch(() => Promise.reject(error)));
        const now = await this.verdict(input, await unresolved(stored.first(collection.name, documentId)));
        if (now !== null) return now;
      }
      steps.settle();
      throw error;
    }
    return result(known.length === 0 ? 'inserted' : 'replaced', facts, embedded.size);
  }

  /** The vectors of texts, by text. */
  private async embed(
    steps: DocumentSteps,
    collection: CollectionRecord,
    texts: string[],
    stop: AbortSignal,
  ): Promise<Map<string, Float32Array>> {
    const { id } = steps.job.record;
    const kept = this.kept.get(id);
    const { vectorsSince: since } = collection;
    const made = kept !== undefined && kept.since === since ? kept.vectors : new Map<string, Float32Array>();
    this.kept.set(id, { vectors: made, since });
    const missing = texts.filter((text) => !made.has(text));
    const total = texts.length;
    steps.reportWaiting({ done: total - missing.length, total });
    const onMade = (some: readonly string[], vectors: Float32Array[]): void => {
      some.forEach((text, i) => made.set(text, vectors[i]));
      steps.reportWaiting({ done: made.size, total });
    };
    await this.texts.embed(collection, missing, onMade, stop);
    return made;
  }

  /** Of what is kept, the newest stay. */
  private keepWithin(): void {
    let bytes = 0;
    for (const [count, [id, { vectors }]] of [...this.kept].toReversed().entries()) {
      const [first] = vectors.values();
      bytes += vectors.size * (first?.byteLength ?? 0);
      if (count >= KEPT_ATTEMPTS || bytes > KEPT_BYTES_MAX) this.kept.delete(id);
    }
  }
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

/** A row whose fields no metadata may have. */
function badRow(row: number, flaw: NonNullable<ReturnType<typeof flawOf>>, fieldsMax: number): QuiverError {
  const what = {
    'too deep': `are more than ${METADATA_DEPTH_MAX - 1} levels deep`,
    'too many': `have more than ${fieldsMax} keys and array elements (MAX_METADATA_FIELDS)`,
    'not finite': 'hold a number beyond the range of a double',
  }[flaw];
  return new QuiverError('limit_exceeded', `the fields of row ${row + 1} ${what}`);
}

function tooLarge(what: string): QuiverError {
  return new QuiverError('limit_exceeded', `the document makes ${what}: cut it into several, or ask for larger chunks`);
}
