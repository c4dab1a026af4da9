import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { DOCUMENT_CHUNKS_MAX } from '../../../shared/contract/shard/chunk-id';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import type { Clock } from '../../../shared/base/time/clock';
import type { StoreChange } from '../../../shared/cluster-store/cluster-store';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { CollectionCatalog } from '../../service/collections/collection-catalog';
import type { CollectionEmbedder } from '../../service/collections/collection-embedder';
import type { CollectionRecord } from '../../service/collections/collection-record';
import { passageOf } from '../../models/passage-template';
import { documentChanges, type PassageOf, textsToEmbed, vectorsByText } from '../../service/documents/document-changes';
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
import type {
  Chunking,
  DocumentChunk,
  DocumentType,
  ParsedDocument,
} from '../../service/documents/formats/parsed-document';
import { firstChunkOf, type StoredDocuments } from '../../service/documents/stored-documents';
import type { JobRights } from '../../service/jobs-service';
import type { KeyWriter } from '../../service/keys/quota/key-quota';
import type { NewDocument, VectorView } from '../../service/service';
import { collectionNotFound } from '../../service/routing/collection-not-found';
import { flawOf, METADATA_DEPTH_MAX } from '../../service/vectors/metadata-flaw';
import type { JobKind, JobProgress, RunningJob } from '../record/job-kind';
import type { JobRecord } from '../record/job-record';
import { Company } from './company';
import { DocumentEmbedder } from './document-embedder';
import { DocumentSteps, firstStep, STORING, tokenIn, wroteNothing } from './document-steps';
import type { DocumentRoom } from './document-room';
import { measuredBeside } from '../../service/documents/measured-passages';
import { type DocumentTurns, endOfTurn } from './document-turns';
import { passing, unresolved } from './passing-errors';
import type { WaitingFiles } from './waiting-files';
import { WriteMemory } from './write-memory';

export const DOCUMENT = 'document';

/**
 * Documents at once: while some are parsed and stored, there are texts of others enough to keep the model at work. A
 * large one, of which there may be as much in memory as one write holds, takes the place of three.
 */
const PLACES = 12;
const PLACES_OF_LARGE = 3;
/** Of one key: large ones may be at their model for hours, and those of others are not to wait for that. */
const PLACES_OF_KEY = 9;
/** What is small: what it may become in memory, by its bytes, is a fraction of a write. */
const SMALL_BYTES = 64 * 1024;
const SMALL_METADATA = 1024;
/** Of formats that are compressed. */
const SMALL_COMPRESSED_BYTES = 16 * 1024;
const COMPRESSED: readonly DocumentType[] = ['docx', 'pdf'];
/** Chunks and vectors of a document, and what else is in one write: the log of a shard takes it as one entry. */
const WRITE_BYTES_MAX = 128 * 1024 * 1024;
/** Of all that are made at once: of one that is small, as most are, nothing counts. */
const WRITES_BYTES_MAX = Math.floor(PLACES / PLACES_OF_LARGE) * WRITE_BYTES_MAX;
const SMALL_WRITE_BYTES = 16 * 1024 * 1024;
/** Of each chunk in it, besides its vector, text and metadata: its id, and what goes with it. */
const CHUNK_BYTES = 128;
/** Another change of the document that comes between reading and writing has it read again. */
const WRITE_ATTEMPTS = 8;
/** Between two of these attempts. */
const WRITE_PAUSES = { firstMs: 10, longestMs: 1_000 };
/**
 * A chunk of so many bytes for each token that the model reads is measured before it is embedded. Others, which hardly
 * ever have too many tokens, are embedded at once, and measured only if the model had to cut one.
 */
const BYTES_OF_TOKEN = 3;
/**
 * Jobs, and bytes, of vectors that are kept for a next attempt, where a shard could not take the document. Those that
 * run count, and keep theirs.
 */
const KEPT_ATTEMPTS = 2 * PLACES;
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
  readonly atOnce = PLACES;
  readonly atOnceOfOne = PLACES_OF_KEY;
  /** By job. */
  private readonly kept = new Map<string, KeptVectors>();
  private readonly running = new Set<string>();
  private readonly company = new Company();
  private readonly memory = new WriteMemory(WRITES_BYTES_MAX);
  private readonly texts: DocumentEmbedder;

  constructor(
    private readonly parts: {
      files: WaitingFiles;
      room: Pick<DocumentRoom, 'release'>;
      parser: Pick<DocumentParser, 'parse'>;
      turns: Pick<DocumentTurns, 'lastGeneration'>;
      stored: Pick<StoredDocuments, 'first' | 'chunks' | 'strays' | 'exchange' | 'revoke'>;
      catalog: Pick<CollectionCatalog, 'find' | 'read'>;
      embedder: Pick<CollectionEmbedder, 'embedPassages' | 'settle' | 'measure'>;
      /** As the quota of the upload's key is now. */
      presentWriter: (then: NonNullable<DocumentInput['writer']>) => Promise<DocumentInput['writer']>;
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

  placesOf({ input }: JobRecord): number {
    const { file, metadata } = input as DocumentInput;
    const most = COMPRESSED.includes(file.type) ? SMALL_COMPRESSED_BYTES : SMALL_BYTES;
    return file.bytes <= most && metadata.length <= SMALL_METADATA ? 1 : PLACES_OF_LARGE;
  }

  sharesOf({ collection, input }: JobRecord): string[] {
    return [(input as DocumentInput).holder ?? '', collection ?? ''];
  }

  /** Its shards and its model are what its other documents need, too. */
  obstructedWith({ collection }: JobRecord): string {
    return collection ?? '';
  }

  /** Where nobody is alone at it, the first step needs no change of its own. */
  begunWith({ notes }: JobRecord): JobProgress {
    return notes === null && this.company.isOpen ? firstStep(this.parts.worker) : {};
  }

  endedWith({ id, input }: JobRecord): StoreChange[] {
    return [endOfTurn(input as DocumentInput, id)];
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
    const { id } = job.record;
    this.running.add(id);
    try {
      return await this.runOnce(job, stop);
    } catch (error) {
      throw passing(error);
    } finally {
      this.running.delete(id);
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
    // Where no write of it was on its way, and it replaces what there is, it is early enough to look before it embeds.
    if (token !== null || input.onExists !== 'replace') {
      const before = await this.verdict(input, await stored.first(name, documentId));
      if (before !== null) return before;
    }
    try {
      await steps.begin(stop);
      return await this.made(steps, { collection, input }, stop);
    } catch (error) {
      // Whoever goes on with it is another process, or begins much later.
      if (stop.aborted) this.kept.delete(job.record.id);
      else this.keepWithin(job.record.id);
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
    const { id } = steps.job.record;
    const parsed = await this.parsed(id, input, stop);
    steps.report('cutting');
    const isLong = this.kept.get(id)?.isLong === true;
    let cut = await this.cut(collection, parsed, input, { isMeasured: isLong }, stop);
    const pauses = new RetryBackoff(WRITE_PAUSES);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.store(steps, { collection, input, parsed, cut, isFirst: attempt === 1 }, stop);
      } catch (error) {
        if (error instanceof Unmeasured) cut = await this.cut(collection, parsed, input, { isMeasured: true }, stop);
        else if (!isQuiverError(error) || error.kind !== 'conflict' || attempt >= WRITE_ATTEMPTS) throw error;
        else await pauses.pause(stop);
      }
    }
  }

  async ended({ id }: JobRecord): Promise<void> {
    this.kept.delete(id);
    const { files, room } = this.parts;
    // One that fails leaves the other to be done; a sweep does it later.
    const freed = [() => files.delete(id), () => room.release(id)];
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

  /** Its chunks: measured, where that is asked for, or one may well be longer than the model reads. */
  private async cut(
    collection: CollectionRecord,
    parsed: ParsedDocument,
    input: DocumentInput,
    { isMeasured }: { isMeasured: boolean },
    stop: AbortSignal,
  ): Promise<CutChunks> {
    const common = JSON.stringify({ ...(JSON.parse(input.metadata) as JsonObject), source: input.file.name });
    const measure = measuredBeside(collection.embedding, common, async (texts) =>
      this.parts.embedder.measure(collection, texts),
    );
    // Where tokens are counted, cutting itself asks for them.
    if (isMeasured || input.chunking.unit === 'tokens')
      return { isMeasured: true, chunks: await this.cutBy(measure, collection, parsed, input, stop) };
    const read = await measure([]);
    const chunks = await this.cutBy(async () => null, collection, parsed, input, stop);
    if (read === null) return { isMeasured: true, chunks };
    if (chunks.every(({ text }) => Buffer.byteLength(text) <= BYTES_OF_TOKEN * read.most))
      return { isMeasured: false, chunks };
    return { isMeasured: true, chunks: await this.cutBy(measure, collection, parsed, input, stop) };
  }

  private async cutBy(
    measure: MeasureTexts,
    collection: CollectionRecord,
    parsed: ParsedDocument,
    { chunking, metadata, textInMetadata }: DocumentInput,
    stop: AbortSignal,
  ): Promise<DocumentChunk[]> {
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
    of: {
      collection: CollectionRecord;
      input: DocumentInput;
      parsed: ParsedDocument;
      cut: CutChunks;
      isFirst: boolean;
    },
    stop: AbortSignal,
  ): Promise<object> {
    const { stored, clock, metadataBytesMax, metadataFieldsMax } = this.parts;
    const { collection, input, parsed, isFirst } = of;
    const { chunks, isMeasured } = of.cut;
    const { documentId, identity, file, expiresAt } = input;
    const known = await stored.chunks(collection.name, documentId);
    // By what the write goes out from: another upload may have come since this one began.
    const verdict = await this.verdict(input, firstChunkOf(known));
    if (verdict !== null) return verdict;
    // A text that is stored is not embedded again, so the model would not tell that it is too long.
    if (known.length > 0 && !isMeasured) throw new Unmeasured();
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
    // Those that all chunks have are among the fields of each.
    const left = { count: metadataFieldsMax };
    flawOf(metadata, METADATA_DEPTH_MAX, left);
    const rowFields = (row: number): Record<string, unknown> => {
      const { fields } = parsed.rows![row];
      const flaw = flawOf(fields, METADATA_DEPTH_MAX - 1, { ...left });
      if (flaw !== null) throw badRow(row, flaw, metadataFieldsMax);
      return fields;
    };
    const options = { metadata, textInMetadata: input.textInMetadata };
    const wanted = await inSlices(wantedChunks(facts, chunks, options, { rowFields, mustFit }));
    stop.throwIfAborted();
    const passage: PassageOf = (chunk) => passageOf(collection.embedding, chunk);
    const vectors = await inSlices(vectorsByText(known, passage));
    const texts = await inSlices(textsToEmbed(wanted, vectors, passage));
    const embedded = await this.embed(steps, collection, { texts, isMeasured, bytes: fit.bytes }, stop);
    for (const [text, vector] of embedded) vectors.set(text, vector);
    const ids = wanted.map(({ externalId }) => externalId);
    // Where nothing of it is stored, there is hardly ever something at its ids: the write finds that out.
    const isLooked = known.length > 0 || !isFirst;
    const strays = isLooked ? await stored.strays(collection.name, documentId, known, ids) : [];
    if (strays.some(({ metadata: text }) => documentView(text)?.documentId === documentId))
      throw new QuiverError('conflict', 'another upload of the document came between');
    const change = { vectors, passageOf: passage, expiresAt: expiresAt ?? undefined };
    const { puts, gone } = await inSlices(documentChanges(wanted, [...known, ...strays], change));
    const writer = input.writer && (await this.parts.presentWriter(input.writer));
    // From here on nobody can give it up: of what is done, nothing could be taken back.
    const token = await steps.store(stop);
    const { vectorsSince } = collection;
    try {
      await stored.exchange(collection.name, { identity, vectorsSince, puts, gone, token }, writer);
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
    return result(known.length === 0 ? 'inserted' : 'replaced', facts, texts.length);
  }

  /** The vectors of texts, by text. */
  private async embed(
    steps: DocumentSteps,
    collection: CollectionRecord,
    { texts, isMeasured, bytes }: { texts: string[]; isMeasured: boolean; bytes: number },
    stop: AbortSignal,
  ): Promise<Map<string, Float32Array>> {
    const { id } = steps.job.record;
    const { vectorsSince: since } = collection;
    const before = this.kept.get(id);
    const kept =
      before !== undefined && before.since === since
        ? before
        : { vectors: new Map<string, Float32Array>(), since, isLong: false };
    this.kept.set(id, kept);
    const { vectors } = kept;
    const missing = texts.filter((text) => !vectors.has(text));
    const total = texts.length;
    let done = total - missing.length;
    steps.reportWaiting({ done, total });
    // Whoever has memory may wait for company, so nobody waits for memory in company.
    if (bytes > SMALL_WRITE_BYTES) await steps.outside((until) => this.memory.take(bytes, until), stop);
    await this.texts.embed(
      collection,
      missing,
      (some, made) => {
        some.forEach((text, i) => vectors.set(text, made.vectors[i]));
        kept.isLong ||= made.isLong;
        done += some.length;
        steps.reportWaiting({ done, total });
      },
      stop,
    );
    if (kept.isLong && !isMeasured) throw new Unmeasured();
    return vectors;
  }

  /** Of what is kept, the newest stay, and what runs beside the one that failed. */
  private keepWithin(failed: string): void {
    let bytes = 0;
    for (const [count, [id, { vectors }]] of [...this.kept].toReversed().entries()) {
      const [first] = vectors.values();
      bytes += vectors.size * (first?.byteLength ?? 0);
      const isMuch = count >= KEPT_ATTEMPTS || bytes > KEPT_BYTES_MAX;
      if (isMuch && (id === failed || !this.running.has(id))) this.kept.delete(id);
    }
  }
}

function result(outcome: 'inserted' | 'replaced', { documentId, chunks, pages }: DocumentFacts, embedded: number) {
  return { outcome, document_id: documentId, chunks, pages, embedded };
}

export function documentExists(key: string): QuiverError {
  return new QuiverError('already_exists', `a document with the document_key ${JSON.stringify(key)} is there already`);
}

/** Vectors by text, those of texts that a next attempt may cut otherwise among them. */
interface KeptVectors {
  vectors: Map<string, Float32Array>;
  since: string | undefined;
  /** Whether the model had to cut one of the texts. */
  isLong: boolean;
}

interface CutChunks {
  chunks: DocumentChunk[];
  /** Whether none is longer than the model reads, as far as it can be cut. */
  isMeasured: boolean;
}

/** One of the chunks may be longer than the model reads: they are to be cut once more, and measured. */
class Unmeasured extends Error {}

/** Counts the chunks of a document as they are made, so that those of one that is too large are never all there. */
class WriteFit {
  bytes = 0;
  private chunks = 0;
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
