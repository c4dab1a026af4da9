import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../../shared/base/config/config';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionCatalog } from '../../service/collections/collection-catalog';
import { documentTypeOf } from '../../service/documents/formats/document-type';
import type { Chunking } from '../../service/documents/formats/parsed-document';
import type { StoredDocuments } from '../../service/documents/stored-documents';
import { storedFileName } from '../../service/documents/text-file';
import { isEnded, type JobView } from '../../service/jobs-service';
import type { KeyWriter } from '../../service/keys/quota/key-quota';
import type { StampClock } from '../../service/routing/stamp-clock';
import type { AddedDocument, DocumentsService, NewDocument, ReceivedFile } from '../../service/service';
import type { NewJob } from '../record/job-record';
import type { StoredJobs } from '../record/stored-jobs';
import { DOCUMENT, documentExists, type DocumentInput } from './document-kind';
import type { WaitingFiles } from './waiting-files';

/** Bytes of a file by which its type is told. */
const HEAD_BYTES = 4096;
/** Jobs that are not over. */
const WAITING_MAX = 20_000;
/** A file without a job is removed after this: its request may be under way before. */
const ORPHANED_MS = 3_600_000;
const SWEEP_EVERY_MS = 600_000;
/** How often a job is looked at that somebody waits for. */
const LOOK_MS = { first: 20, longest: 500 };

/** Documents as a whole, and the jobs that store them. */
export class DocumentRequests implements DocumentsService {
  private sweeping: NodeJS.Timeout | null = null;
  /** Room for files of which there is no job yet, by their ids; `atMs`: when it was received, null before that. */
  private readonly reserved = new Map<string, { bytes: number; atMs: number | null }>();

  constructor(
    private readonly parts: {
      uploads: Pick<DocumentsService, 'upload'>;
      stored: StoredDocuments;
      files: WaitingFiles;
      jobs: Pick<StoredJobs, 'begin' | 'newId' | 'get' | 'underWayKnown'>;
      catalog: Pick<CollectionCatalog, 'known' | 'find'>;
      stamps: Pick<StampClock, 'reserve'>;
      config: Pick<Config, 'chunkSize' | 'chunkOverlap' | 'uploadBytesMax'>;
      clock: Clock;
      log: Pick<Logger, 'warn'>;
    },
  ) {}

  upload: DocumentsService['upload'] = (...args) => this.parts.uploads.upload(...args);
  list: DocumentsService['list'] = (collection, page) => this.parts.stored.list(collection, page);
  get: DocumentsService['get'] = (collection, id) => this.parts.stored.get(collection, id);
  delete: DocumentsService['delete'] = (collection, id) => this.parts.stored.delete(collection, id);

  async receive({ name: given, content, bytesMax }: Parameters<DocumentsService['receive']>[0]): Promise<ReceivedFile> {
    const { files, jobs, config, clock } = this.parts;
    const id = jobs.newId(DOCUMENT);
    const seen = new SeenFile(content, config.uploadBytesMax);
    const name = storedFileName(given);
    // Before the first byte is stored: what is refused costs the store nothing.
    await this.reserve(id, Math.min(bytesMax ?? Infinity, config.uploadBytesMax));
    try {
      await files.put(id, seen.content());
    } catch (error) {
      this.reserved.delete(id);
      throw error;
    }
    this.reserved.set(id, { bytes: seen.bytes, atMs: clock.monotonicMs() });
    const received = { id, name, bytes: seen.bytes, sha256: seen.sha256 };
    try {
      if (seen.bytes === 0) throw new QuiverError('invalid_parameter', 'The file is empty');
      return { ...received, type: documentTypeOf(name, seen.head) };
    } catch (error) {
      await this.discard(received);
      throw error;
    }
  }

  async add(collection: string, document: NewDocument, waitMs: number, writer?: KeyWriter): Promise<AddedDocument> {
    const { documentId, job } = await this.begun(collection, document, writer);
    return { documentId, job: waitMs > 0 ? await this.ended(job, waitMs) : job };
  }

  private async begun(collection: string, document: NewDocument, writer?: KeyWriter): Promise<AddedDocument> {
    const { jobs } = this.parts;
    const { file } = document;
    try {
      const { documentId, subject, input } = await this.wanted(collection, document, writer);
      const job: NewJob = { id: file.id, kind: DOCUMENT, collection, subject, input, unit: 'chunks' };
      return { documentId, job: await jobs.begin(job).catch((error: unknown) => this.begunThough(error, file)) };
    } catch (error) {
      // Whether the store will hold the job is not known: a sweep removes the file, if it does not.
      if (!isQuiverError(error) || error.kind !== 'commit_unknown') await this.discard(file);
      throw error;
    } finally {
      this.reserved.delete(file.id);
    }
  }

  /** The job of which the store's answer was lost; if it can't be seen, the error. */
  private async begunThough(error: unknown, { id }: ReceivedFile): Promise<JobView> {
    const job =
      isQuiverError(error) && error.kind === 'commit_unknown' ? await this.parts.jobs.get(id).catch(() => null) : null;
    if (job === null) throw error;
    return job;
  }

  private async wanted(
    collection: string,
    document: NewDocument,
    writer?: KeyWriter,
  ): Promise<{ documentId: string; subject: string; input: DocumentInput }> {
    const { catalog, jobs, stamps, config, stored } = this.parts;
    const { file, key = null, metadata = '{}', chunking, onExists, expiresAt = null, textInMetadata } = document;
    const { identity } = catalog.known(collection) ?? (await catalog.find(collection));
    const documentId = key === null ? randomUUID() : documentIdOf(key);
    if (key !== null && onExists === 'error') {
      const isAwaited = (await jobs.underWayKnown(DOCUMENT)).some(({ input }) =>
        isOf(input as DocumentInput, { identity, documentId }),
      );
      if (isAwaited || (await stored.first(collection, documentId)) !== null) throw documentExists(key);
    }
    const input: DocumentInput = {
      identity,
      documentId,
      key,
      file,
      metadata,
      chunking: completed(chunking, config),
      onExists,
      expiresAt,
      textInMetadata,
      generation: stamps.reserve(1),
      ...(writer !== undefined && { writer: { identity: writer.identity, quota: writer.quota } }),
    };
    const subject = key ?? (file.name === '' ? documentId : file.name);
    return { documentId, subject, input };
  }

  private async discard({ id }: Pick<ReceivedFile, 'id'>): Promise<void> {
    const { files, jobs, log } = this.parts;
    this.reserved.delete(id);
    try {
      // The job may have begun, and only the answer of the store was lost. Where that is not known, a sweep sees to it.
      if ((await jobs.get(id)) === null) await files.delete(id);
    } catch (error) {
      log.warn({ error, id }, 'a file that no job needs could not be removed yet');
    }
  }

  /** Removes files that no job needs, now and then, while this process is to do it. */
  sweepWhile(isToSweep: () => boolean): void {
    const sweep = (): void => {
      if (!isToSweep()) return;
      this.sweep().catch((error: unknown) =>
        this.parts.log.warn({ error }, 'files that no job needs could not be removed yet'),
      );
    };
    this.sweeping ??= setInterval(sweep, SWEEP_EVERY_MS).unref();
    sweep();
  }

  close(): void {
    if (this.sweeping !== null) clearInterval(this.sweeping);
  }

  private async sweep(): Promise<void> {
    const { files, jobs, clock } = this.parts;
    const found = await files.list();
    if (found.length === 0) return;
    const needed = new Set((await jobs.underWayKnown(DOCUMENT)).map(({ id }) => id));
    for (const id of found) if (!needed.has(id) && clock.wallMs() - msOf(id) > ORPHANED_MS) await files.delete(id);
  }

  /** Room for a file, beside what waits and what others of this process are about to store. Errors: overloaded. */
  private async reserve(id: string, bytes: number): Promise<void> {
    const { jobs, files, clock } = this.parts;
    const waiting = await jobs.underWayKnown(DOCUMENT);
    let taken = waiting.reduce((sum, { input }) => sum + (input as DocumentInput).file.bytes, 0);
    for (const [other, { bytes: reserved, atMs }] of this.reserved)
      // Nobody came back to begin its job.
      if (atMs !== null && clock.monotonicMs() - atMs > ORPHANED_MS) this.reserved.delete(other);
      else taken += reserved;
    if (waiting.length + this.reserved.size < WAITING_MAX && (taken === 0 || taken + bytes <= files.bytesMax)) {
      this.reserved.set(id, { bytes, atMs: null });
      return;
    }
    throw new QuiverError(
      'overloaded',
      `server busy: ${waiting.length + this.reserved.size} documents of ${taken} bytes wait to be stored; ` +
        'add more when some are',
    );
  }

  private async ended(begun: JobView, waitMs: number): Promise<JobView> {
    const { clock, jobs } = this.parts;
    const untilMs = clock.monotonicMs() + waitMs;
    let job = begun;
    for (let pauseMs = LOOK_MS.first; !isEnded(job); pauseMs = Math.min(2 * pauseMs, LOOK_MS.longest)) {
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs <= 0) break;
      await sleep(Math.min(pauseMs, leftMs));
      // It has begun, whether that can be asked now or not.
      job = (await jobs.get(begun.id).catch(() => null)) ?? job;
    }
    return job;
  }
}

function isOf(input: DocumentInput, { identity, documentId }: Pick<DocumentInput, 'identity' | 'documentId'>): boolean {
  return input.identity === identity && input.documentId === documentId;
}

/** A file on its way: how it begins, how long it is, and its checksum. */
class SeenFile {
  bytes = 0;
  private readonly hash = createHash('sha256');
  private begin: Buffer[] = [];

  constructor(
    private readonly given: AsyncIterable<Buffer>,
    private readonly bytesMax: number,
  ) {}

  get head(): Buffer {
    return Buffer.concat(this.begin).subarray(0, HEAD_BYTES);
  }

  get sha256(): string {
    return this.hash.copy().digest('hex');
  }

  async *content(): AsyncGenerator<Buffer> {
    for await (const piece of this.given) {
      if (this.bytes < HEAD_BYTES) this.begin.push(Buffer.from(piece.subarray(0, HEAD_BYTES)));
      this.bytes += piece.length;
      if (this.bytes > this.bytesMax)
        throw new QuiverError(
          'limit_exceeded',
          `file exceeds the maximum of ${this.bytesMax} bytes (MAX_UPLOAD_BYTES)`,
        );
      this.hash.update(piece);
      yield piece;
    }
  }
}

/** The same key has the same id, in a collection that was restored, too: two uploads of it are one document. */
export function documentIdOf(key: string): string {
  const hash = createHash('sha256').update(`document ${key}`).digest();
  // An UUID of version 8: made by a way of one's own (RFC 9562).
  hash[6] = (hash[6] & 0x0f) | 0x80;
  hash[8] = (hash[8] & 0x3f) | 0x80;
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function completed(given: Partial<Chunking>, config: Pick<Config, 'chunkSize' | 'chunkOverlap'>): Chunking {
  const { strategy = 'sentences', unit = 'characters' } = given;
  const size = given.size ?? config.chunkSize;
  // What is not given goes with what is.
  const overlap = given.overlap ?? Math.floor((size * config.chunkOverlap) / config.chunkSize);
  return { strategy, size, overlap, unit };
}

/** When a file came, by the id of its job. */
function msOf(id: string): number {
  const at = /^[a-z]+-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(id);
  if (at === null) return 0;
  const [year, month, day, hour, minute, second] = at.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
