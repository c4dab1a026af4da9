import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../../shared/base/config/config';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionCatalog } from '../../service/collections/collection-catalog';
import type { CollectionObstacle } from '../../service/collections/collection-obstacle';
import { documentView } from '../../service/documents/document-facts';
import { documentTypeOf } from '../../service/documents/formats/document-type';
import type { Chunking } from '../../service/documents/formats/parsed-document';
import { isJobs, type StoredDocuments } from '../../service/documents/stored-documents';
import { storedFileName } from '../../service/documents/text-file';
import type { StoreDedup } from '../../service/idempotency/store-dedup';
import { isEnded, type JobView } from '../../service/jobs-service';
import type { KeyWriter } from '../../service/keys/quota/key-quota';
import type {
  AddedDocument,
  ArrivingFile,
  BegunDocument,
  DocumentsService,
  NewDocument,
  ReceivedFile,
} from '../../service/service';
import type { JobRecord, NewJob } from '../record/job-record';
import type { StoredJobs } from '../record/stored-jobs';
import { DOCUMENT, documentExists, type DocumentInput } from './document-kind';
import type { DocumentRoom } from './document-room';
import type { DocumentPlace, DocumentTurns } from './document-turns';
import { diskFull } from './folder-files';
import type { WaitingFiles } from './waiting-files';

/** Bytes of a file by which its type is told. */
const HEAD_BYTES = 4096;
/** A file of so many bytes is read before it takes room; of one that does not say how long it is, room for so many. */
const SMALL_BYTES = 64 * 1024;
const UNANNOUNCED_BYTES = 8 * 1024 * 1024;
/** Files that wait. */
export const WAITING_MAX = 20_000;
/** A file without a job is removed after this: its request may be under way before. */
const ORPHANED_MS = 3_600_000;
/** One that no longer comes, after this; while it comes, that is noted so often. */
const BROKEN_OFF_MS = 600_000;
const TOUCH_EVERY_MS = 60_000;
const SWEEP_EVERY_MS = 600_000;
/** How often a job is looked at that somebody waits for. */
const LOOK_MS = { first: 20, longest: 500 };
/** How long a deletion waits for a job that is storing the document. */
const STORING_MS = 20_000;

/** Documents as a whole, and the jobs that store them. */
export class DocumentRequests implements DocumentsService {
  private sweeping: NodeJS.Timeout | null = null;
  /** Bytes that are still to come of files that come through this process, at most, by their ids. */
  private readonly arriving = new Map<string, number>();

  constructor(
    private readonly parts: {
      uploads: Pick<DocumentsService, 'upload'>;
      stored: StoredDocuments;
      files: WaitingFiles;
      room: DocumentRoom;
      jobs: Pick<StoredJobs, 'newId' | 'get' | 'cancel' | 'underWayKnown'>;
      turns: Pick<DocumentTurns, 'begin' | 'jobsOf' | 'sweep'>;
      catalog: Pick<CollectionCatalog, 'known' | 'find'>;
      obstacle: CollectionObstacle;
      config: Pick<Config, 'chunkSize' | 'chunkOverlap' | 'uploadBytesMax'>;
      clock: Clock;
      log: Pick<Logger, 'warn'>;
    },
  ) {}

  upload: DocumentsService['upload'] = (...args) => this.parts.uploads.upload(...args);
  list: DocumentsService['list'] = (collection, page) => this.parts.stored.list(collection, page);
  get: DocumentsService['get'] = (collection, id) => this.parts.stored.get(collection, id);

  async receive(collection: string, { name: given, content, bytesMax, holder }: ArrivingFile): Promise<ReceivedFile> {
    const { files, jobs, room, config, catalog, obstacle } = this.parts;
    // An earlier controller runs no such jobs, and an earlier node shows their writes in part.
    const reason = obstacle('documents', 'documents can be added');
    if (reason !== null) throw new QuiverError('unavailable', reason);
    const { identity } = catalog.known(collection) ?? (await catalog.find(collection));
    const id = jobs.newId(DOCUMENT);
    const seen = new SeenFile(content, config.uploadBytesMax);
    const name = storedFileName(given);
    const holders = [`collection:${identity}`, ...(holder === undefined ? [] : [`key:${holder}`])];
    // Most files are small: of one that is all there, no room is taken that it does not need.
    const begun = await begunFile(seen.content());
    const isWhole = begun.rest === null;
    if (seen.bytes === 0) throw new QuiverError('invalid_parameter', 'The file is empty');
    const type = documentTypeOf(name, seen.head);
    const most = isWhole ? seen.bytes : Math.min(bytesMax ?? UNANNOUNCED_BYTES, config.uploadBytesMax);
    // Before the first byte is stored: what is refused costs the store nothing.
    await this.reserve(id, most, holders, isWhole);
    try {
      const stored = await files.put(id, this.noted(id, most, seen, begun));
      if (!isWhole) await room.fill(id, seen.bytes, stored);
    } catch (error) {
      await this.discard({ id }, seen.bytes);
      throw error;
    } finally {
      this.arriving.delete(id);
    }
    return { id, name, type, bytes: seen.bytes, sha256: seen.sha256 };
  }

  /** Jobs that were begun before would store it again, so they end first. */
  async delete(collection: string, documentId: string): Promise<{ deletedChunks: number }> {
    const { stored, catalog, turns } = this.parts;
    const { identity } = catalog.known(collection) ?? (await catalog.find(collection));
    const jobs = isJobs(documentId) ? await turns.jobsOf({ identity, documentId }) : [];
    let cancelled = 0;
    for (const id of jobs) if (await this.cancel(id)) cancelled += 1;
    try {
      return await stored.delete(collection, documentId);
    } catch (error) {
      // All that there was of it was what jobs were to store.
      if (cancelled > 0 && isQuiverError(error) && error.kind === 'not_found') return { deletedChunks: 0 };
      throw error;
    }
  }

  /** Answers whether a job was under way; it no longer is. Errors: conflict while it stores its document. */
  private async cancel(id: string): Promise<boolean> {
    const { jobs, clock } = this.parts;
    const untilMs = clock.monotonicMs() + STORING_MS;
    for (let pauseMs = LOOK_MS.first; ; pauseMs = Math.min(2 * pauseMs, LOOK_MS.longest)) {
      try {
        return (await jobs.cancel(id)) !== null;
      } catch (error) {
        if (!isQuiverError(error) || error.kind !== 'conflict') throw error;
        if (clock.monotonicMs() >= untilMs)
          throw new QuiverError('conflict', `job ${id} is storing the document: delete it when that is done`);
      }
      await sleep(pauseMs);
    }
  }

  async add(
    collection: string,
    document: NewDocument,
    waitMs: number,
    writer?: KeyWriter,
    dedup?: StoreDedup,
  ): Promise<AddedDocument> {
    const { documentId, job } = await this.begun(collection, document, writer, dedup);
    return { documentId, job: waitMs > 0 ? await this.ended(job, waitMs) : job };
  }

  async added(collection: string, { documentId, jobId }: BegunDocument, waitMs: number): Promise<AddedDocument> {
    const { jobs, stored } = this.parts;
    const job = await jobs.get(jobId);
    if (job !== null) return { documentId, job: waitMs > 0 ? await this.ended(job, waitMs) : job };
    // It is over, and so many were since that it is forgotten.
    const first = await stored.first(collection, documentId);
    if (first === null)
      throw new QuiverError(
        'conflict',
        `job ${jobId} of an earlier request with this Idempotency-Key is over, and nothing of its document is stored`,
      );
    const { chunks } = documentView(first.metadata)!;
    const result = { outcome: 'stored', document_id: documentId, chunks };
    return { documentId, job: { id: jobId, state: 'done', error: null, result } };
  }

  drop(id: string): Promise<void> {
    return this.discard({ id });
  }

  private async begun(
    collection: string,
    document: NewDocument,
    writer: KeyWriter | undefined,
    dedup: StoreDedup | undefined,
  ): Promise<AddedDocument> {
    const { file } = document;
    try {
      const { subject, input } = await this.wanted(collection, document, writer);
      await this.parts.room.record(file.id, Buffer.byteLength(JSON.stringify(input)));
      const jobOf = (generation: number): NewJob => ({
        id: file.id,
        kind: DOCUMENT,
        collection,
        subject,
        input: { ...input, generation } satisfies DocumentInput,
        unit: 'chunks',
      });
      const begun = this.parts.turns.begin(input, jobOf, dedup);
      const job = await begun.catch((error: unknown) => this.begunThough(error, file));
      return { documentId: input.documentId, job };
    } catch (error) {
      // Whether the store will hold the job is not known: a sweep removes the file, if it does not.
      if (!isQuiverError(error) || error.kind !== 'commit_unknown') await this.discard(file);
      throw error;
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
  ): Promise<{ subject: string; input: Omit<DocumentInput, 'generation'> }> {
    const { catalog, config, stored } = this.parts;
    const {
      file,
      key = null,
      metadata = '{}',
      chunking,
      onExists,
      expiresAt = null,
      textInMetadata,
      fingerprint,
      holder,
    } = document;
    const { identity } = catalog.known(collection) ?? (await catalog.find(collection));
    const documentId = key === null ? randomUUID() : documentIdOf(key);
    if (key !== null && onExists === 'error') {
      const isAwaited = await this.isAwaited({ identity, documentId });
      if (isAwaited || (await stored.first(collection, documentId)) !== null) throw documentExists(key);
    }
    const input = {
      identity,
      documentId,
      key,
      file,
      metadata,
      chunking: completed(chunking, config),
      onExists,
      expiresAt,
      textInMetadata,
      ...(fingerprint !== undefined && { fingerprint }),
      ...(holder !== undefined && { holder }),
      ...(writer !== undefined && { writer: { identity: writer.identity, quota: writer.quota } }),
    };
    const subject = key ?? (file.name === '' ? documentId : file.name);
    return { subject, input };
  }

  /** Whether a job is under way that stores it. */
  private async isAwaited(place: DocumentPlace): Promise<boolean> {
    const { turns, jobs } = this.parts;
    for (const id of await turns.jobsOf(place)) {
      const job = await jobs.get(id);
      if (job !== null && !isEnded(job)) return true;
    }
    return false;
  }

  /** `came`: bytes of it, where it did not come as a whole. */
  private async discard({ id }: Pick<ReceivedFile, 'id'>, came?: number): Promise<void> {
    const { jobs, log } = this.parts;
    try {
      // The job may have begun, and only the answer of the store was lost. Where that is not known, a sweep sees to it.
      if ((await jobs.get(id)) === null) await this.remove(id, came);
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
    const { files, jobs, room, turns, clock } = this.parts;
    const underWay = await jobs.underWayKnown(DOCUMENT);
    for (const job of underWay) if (await this.isPointless(job)) await jobs.cancel(job.id).catch(ifConflict);
    const needed = new Set(underWay.map(({ id }) => id));
    // null: it has none, or has none yet.
    const isEndedOf = async (id: string): Promise<boolean | null> => {
      const job = await jobs.get(id);
      return job && isEnded(job);
    };
    const isOver = async (id: string): Promise<boolean> => (await isEndedOf(id)) ?? true;
    await turns.sweep(async (id) => !needed.has(id) && (await isOver(id)));
    const rooms = await room.list();
    const nowMs = clock.wallMs();
    for (const id of new Set([...(await files.list()), ...rooms.keys()])) {
      if (needed.has(id)) continue;
      const { isWhole, atMs } = rooms.get(id) ?? { isWhole: true, atMs: msOf(id) };
      // A clock was ahead: from now on it ages.
      if (atMs > nowMs && rooms.has(id)) await room.touch(id);
      const isOld = nowMs - atMs > (isWhole ? ORPHANED_MS : BROKEN_OFF_MS);
      // It may have begun just now. One that is over needs nothing more.
      if ((await isEndedOf(id)) ?? isOld) await this.remove(id);
    }
    await room.sweep();
  }

  /** Whether the collection of a job is gone: one that rests would do so for ever. */
  private async isPointless({ collection, input }: JobRecord): Promise<boolean> {
    try {
      const { identity } = await this.parts.catalog.find(collection!);
      return identity !== (input as DocumentInput).identity;
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'not_found') return true;
      throw error;
    }
  }

  private async remove(id: string, came?: number): Promise<void> {
    const { files, room } = this.parts;
    await files.delete(id);
    await room.release(id, came);
  }

  /** Room for a file. Errors: overloaded; unavailable; storage_failed. */
  private async reserve(id: string, bytes: number, holders: string[], isWhole: boolean): Promise<void> {
    await this.arrive(id, bytes);
    try {
      await this.parts.room.reserve(id, bytes, holders, isWhole);
    } catch (error) {
      this.arriving.delete(id);
      throw error;
    }
  }

  /** The disk has to take so many bytes of a file, besides what others are still to bring. */
  private async arrive(id: string, bytes: number): Promise<void> {
    let arriving = bytes;
    for (const [other, more] of this.arriving) if (other !== id) arriving += more;
    this.arriving.set(id, bytes);
    try {
      if (arriving > (await this.parts.files.left())) throw diskFull();
    } catch (error) {
      this.arriving.delete(id);
      throw error;
    }
  }

  /**
   * Notes now and then that a file still comes, and what of it is still to come; takes more room for one that did not
   * say how long it is.
   */
  private async *noted(id: string, most: number, seen: SeenFile, { pieces, rest }: BegunFile): AsyncGenerator<Buffer> {
    const { clock, room, config } = this.parts;
    let taken = most;
    let touchedMs = clock.monotonicMs();
    yield* pieces;
    if (rest === null) return;
    // It is written, and off what the disk has left.
    this.arriving.set(id, Math.max(0, taken - seen.bytes));
    for await (const piece of rest) {
      if (seen.bytes > taken) {
        taken = Math.min(Math.max(2 * taken, seen.bytes), config.uploadBytesMax);
        await this.arrive(id, taken - seen.bytes);
        await room.grow(id, taken);
        touchedMs = clock.monotonicMs();
      } else if (clock.monotonicMs() - touchedMs > TOUCH_EVERY_MS) {
        touchedMs = clock.monotonicMs();
        await room.touch(id);
      }
      yield piece;
      this.arriving.set(id, taken - seen.bytes);
    }
  }

  private async ended(begun: AddedDocument['job'], waitMs: number): Promise<AddedDocument['job']> {
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

/** The beginning of a file; `rest`: what follows, null where that is all. */
interface BegunFile {
  pieces: Buffer[];
  rest: AsyncIterable<Buffer> | null;
}

async function begunFile(content: AsyncGenerator<Buffer>): Promise<BegunFile> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const next = await content.next();
    if (next.done === true) return { pieces, rest: null };
    pieces.push(next.value);
    bytes += next.value.length;
    if (bytes > SMALL_BYTES) return { pieces, rest: content };
  }
}

/** A job that is storing its document ends by itself. */
function ifConflict(error: unknown): null {
  if (isQuiverError(error) && error.kind === 'conflict') return null;
  throw error;
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
