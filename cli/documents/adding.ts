import { createHash, randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BadRequestError,
  ConflictError,
  NotFoundError,
  RateLimitError,
  ValidationError,
} from '../../clients/typescript/src/errors';
import type { Document, Job } from '../../clients/typescript/src/generated/api-types';
import type { DocumentOptions, QuiverClient } from '../../clients/typescript/src/index';
import { CommandError } from '../command-error';
import { commandErrorFrom, NoAnswerError, ServiceError } from '../connection/service-error';
import { Backoff } from '../writing/backoff';
import type { AddFailure, FoundDocument } from './folder-documents';
import { readSteady } from './steady-file';

/** Documents of one command that wait in the service, or are stored, at once; more are sent when half of them are. */
const AT_ONCE = 64;
/** Jobs that a look sees, the newest; where that does not do, the longest page. */
const PAGES = [200, 1_000];
/** Of jobs that a look does not see, so many are asked for by themselves. */
const ASKED_ALONE = 8;
/** Between two looks, longer the less becomes of the documents: each one counts for the rate of the key. */
const LOOK_MS = { first: 250, longest: 5_000 };
/** Of documents and jobs. */
const PAGE = 1_000;
/** A file of which nobody can say what became of it is looked at so often. */
const ROUNDS = 4;
/** How the service begins what it says of options, which are those of every file. */
const ABOUT_OPTIONS = /^(?:chunking|collection_name|metadata)\b/;
/** States of jobs that may store a document yet. */
const UNDER_WAY = ['queued', 'running', 'paused'] as const;

/** What became of files. */
export interface AddReport {
  added: number;
  unchanged: number;
  failed: AddFailure[];
  /** Documents that the service has, and stores whether somebody waits or not. */
  under_way: number;
  /** Files that were not sent. */
  left: number;
  /** Keys of documents of other folders that were replaced. */
  replaced: string[];
}

export interface AddOptions {
  collection: string;
  document: DocumentOptions;
  /** Whether files are added that are there, unchanged. */
  again: boolean;
  /** How long one call is tried, while the service is away or busy. */
  patienceMs: number;
  signal: AbortSignal;
  /** Told of each file that is over; null: it has not failed. */
  onOver: (failure: AddFailure | null) => void;
  onWait: (reason: string, waitMs: number | null) => void;
}

/** A document that the service is to store. */
interface Sent {
  file: FoundDocument;
  /** false: a command before, or somebody else, has sent it; what it has is not known. */
  isOwn: boolean;
}

/** A document that is stored. */
type Known = Pick<Document, 'fingerprint' | 'updated_at'>;

/** What a round finds in the service when it begins. */
interface Found {
  known: ReadonlyMap<string, Known>;
  /** Keys of documents whose job is paused: what is stored may be replaced when it goes on. */
  paused: ReadonlySet<string>;
  /** Of the round: what it sends is not what was sent before. Empty: it may be. */
  salt: string;
}

/**
 * Adds files to a collection. Whatever became of a command before, killed or not: what is stored is passed over, what
 * the service has is waited for, and what is sent again by mistake is one job, by its Idempotency-Key.
 */
export class DocumentAdding {
  private readonly counts = { added: 0, unchanged: 0, failed: [] as AddFailure[], replaced: [] as string[] };
  private files = 0;
  /** By job. */
  private readonly waiting = new Map<string, Sent>();
  /** Files of which it is not known what became of them, by key: looked at again when all others are over. */
  private unsure = new Map<string, FoundDocument>();
  private lookMs = LOOK_MS.first;
  /** What documents were said to wait for. */
  private obstacle: string | null = null;
  /** Its own name, and when it was made: it may have been given by an alias. */
  private collection = { name: '', created: '' };

  constructor(
    private readonly client: QuiverClient,
    private readonly options: AddOptions,
  ) {}

  /** At any time. */
  get report(): AddReport {
    const { added, unchanged, failed } = this.counts;
    const over = added + unchanged + failed.length;
    // Of one document, several jobs may be under way.
    const underWay = new Set([...this.waiting.values()].map(({ file }) => file.key)).size;
    return { ...this.counts, under_way: underWay, left: this.files - over - underWay };
  }

  /**
   * A file that can't be read, or is refused, fails alone. Throws what makes no sense to go on after, and the reason of
   * the signal.
   */
  async run(files: readonly FoundDocument[]): Promise<void> {
    this.files = files.length;
    const { name, created_at: created } = await this.patiently((options) =>
      this.client.collection(this.options.collection).info(options),
    );
    this.collection = { name, created };
    let left = files;
    for (let round = 1; left.length > 0; round += 1) {
      if (round > ROUNDS) {
        for (const { path } of left)
          this.fail(path, 'others change the document all the time, or its jobs are forgotten: add it again later');
        return;
      }
      this.unsure = new Map();
      await this.round(left, round);
      left = [...this.unsure.values()];
    }
  }

  private async round(files: readonly FoundDocument[], round: number): Promise<void> {
    const isAgain = this.options.again && round === 1;
    const keys = new Map(files.map((file) => [file.key, file]));
    const paused = new Set<string>();
    const held = isAgain ? new Set<string>() : await this.held(keys, paused);
    const known = isAgain ? new Map<string, Known>() : await this.known(keys);
    const salt = isAgain || round > 1 ? randomUUID() : '';
    for (const file of files)
      if (!held.has(file.key)) await this.take(file, { known, paused, salt }, round === 1 ? 'unchanged' : 'added');
    await this.untilAtMost(0);
  }

  /** `how`: what is said of one that is there. */
  private async take(file: FoundDocument, found: Found, how: 'added' | 'unchanged'): Promise<void> {
    this.options.signal.throwIfAborted();
    let bytes: Buffer;
    try {
      bytes = await readSteady(file.path);
    } catch (error) {
      return this.fail(file.path, (error as Error).message);
    }
    if (bytes.length === 0) return this.fail(file.path, 'it is empty');
    const mark = markOf(bytes, this.options.document);
    const known = found.known.get(file.key);
    const [knownMark, knownOrigin] = known?.fingerprint?.split('.') ?? [];
    if (knownMark === mark && !found.paused.has(file.key)) return this.pass(how);
    if (this.waiting.size >= AT_ONCE) await this.untilAtMost(AT_ONCE / 2);
    if (!(await this.add(file, bytes, `${mark}.${file.origin}`, found))) return;
    const isOfOthers = knownOrigin !== undefined && knownOrigin !== file.origin;
    if (isOfOthers && knownMark !== mark) this.counts.replaced.push(file.key);
  }

  /** Keys of documents that the service was given before and has not stored yet; their jobs are waited for. */
  private async held(keys: ReadonlyMap<string, FoundDocument>, paused: Set<string>): Promise<Set<string>> {
    const held = new Set<string>();
    for (const state of UNDER_WAY)
      await this.pages(async (cursor, options) => {
        const asked = { kind: 'document', collection: this.collection.name, state, limit: PAGE, cursor };
        const { jobs, next_cursor: next } = await this.client.jobs.page(asked, options);
        for (const { id, subject } of jobs) {
          const file = keys.get(subject);
          if (file === undefined) continue;
          // Nobody knows when that goes on: what is sent now is later, and stays.
          if (state === 'paused') paused.add(subject);
          else {
            held.add(subject);
            this.waiting.set(id, { file, isOwn: false });
          }
        }
        return next;
      });
    return held;
  }

  /** Which of these documents are there. */
  private async known(keys: ReadonlyMap<string, FoundDocument>): Promise<Map<string, Known>> {
    const known = new Map<string, Known>();
    await this.pages(async (cursor, options) => {
      const page = await this.client.documents.page(this.options.collection, { limit: PAGE, cursor }, options);
      for (const { document_key: key, fingerprint, updated_at } of page.documents)
        if (key !== null && keys.has(key)) known.set(key, { fingerprint, updated_at });
      return known.size === keys.size ? null : page.next_cursor;
    });
    return known;
  }

  /** `read` answers the cursor of the next page; null: there is none. */
  private async pages(
    read: (cursor: string | undefined, options: CallOptions) => Promise<string | null>,
  ): Promise<void> {
    for (let cursor: string | undefined; ;) {
      const next = await this.patiently((options) => read(cursor, options));
      if (next === null) return;
      cursor = next;
    }
  }

  /** Whether it was sent. */
  private async add(file: FoundDocument, bytes: Buffer, fingerprint: string, { known, salt }: Found): Promise<boolean> {
    const { collection } = this;
    const before = known.get(file.key)?.updated_at ?? '';
    // What was there before counts: a file that comes back to an earlier content is another addition.
    const asked = ['documents add 1', collection.name, collection.created, file.key, fingerprint, before, salt];
    const headers = { 'idempotency-key': createHash('sha256').update(JSON.stringify(asked)).digest('hex') };
    const document = {
      ...this.options.document,
      file: bytes,
      name: basename(file.path),
      document_key: file.key,
      fingerprint,
    };
    try {
      const { job_id: id, state } = await this.patiently(
        (options) => this.client.documents.add(this.options.collection, document, { ...options, headers }),
        // Its own documents that wait make room when they are stored.
        async (error) => error instanceof RateLimitError && this.waiting.size > 0 && (await this.look()) > 0,
      );
      // Of a job that is over, this is the answer of a request before: what is stored may be another document by now.
      if (state === 'done' || state === 'failed' || state === 'cancelled') this.unsure.set(file.key, file);
      else this.waiting.set(id, { file, isOwn: true });
      return true;
    } catch (error) {
      const isRefused = error instanceof BadRequestError || error instanceof ValidationError;
      if (error instanceof ConflictError) this.unsure.set(file.key, file);
      else if (isRefused && !ABOUT_OPTIONS.test(error.message)) this.fail(file.path, error.message);
      else throw error;
      return false;
    }
  }

  /**
   * Calls until there is an answer, with pauses as long as the service asks for, or ever longer. `isMoving` is asked
   * after every second one, so that it takes no turn away from the call itself; true: there is patience for more.
   * Throws what can't pass, and what does not pass in time as a CommandError.
   */
  private async patiently<Answer>(
    call: (options: CallOptions) => Promise<Answer>,
    isMoving: (error: unknown) => Promise<boolean> = async () => false,
  ): Promise<Answer> {
    const { signal, patienceMs, onWait } = this.options;
    let backoff = new Backoff(patienceMs);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call({ signal, retries: 0 });
      } catch (error) {
        signal.throwIfAborted();
        const failure = commandErrorFrom(error as Error);
        const isPassing = failure instanceof ServiceError ? failure.isPassing : failure instanceof NoAnswerError;
        if (!isPassing) throw error;
        const waitMs = backoff.next(failure instanceof ServiceError ? failure.retryAfterMs : null);
        if (waitMs === null) {
          const tried = `tried for ${Math.round(patienceMs / 1000)} s (--retry-for)`;
          throw new CommandError(`${failure.message}; ${tried}`, (failure as CommandError).exitCode, { cause: error });
        }
        onWait(failure.message, waitMs);
        await sleep(waitMs, undefined, { signal });
        if (attempt % 2 === 0 && (await isMoving(error))) backoff = new Backoff(patienceMs);
      }
    }
  }

  private async untilAtMost(most: number): Promise<void> {
    while (this.waiting.size > most) {
      const before = this.waiting.size;
      const over = await this.look();
      if (this.waiting.size <= most) return;
      const factor = over > before / 4 ? 0.5 : over < before / 8 ? 1.5 : 1;
      this.lookMs = Math.min(LOOK_MS.longest, Math.max(LOOK_MS.first, this.lookMs * factor));
      await sleep(this.lookMs, undefined, { signal: this.options.signal });
    }
  }

  /** Answers how many are over. */
  private async look(): Promise<number> {
    const before = this.waiting.size;
    const { name: collection } = this.collection;
    let isAll = false;
    for (const limit of PAGES) {
      if (isAll) break;
      const { jobs, next_cursor: next } = await this.patiently((options) =>
        this.client.jobs.page({ kind: 'document', collection, limit }, options),
      );
      const seen = new Set(jobs.map(({ id }) => id));
      isAll = next === null || [...this.waiting.keys()].every((id) => seen.has(id));
      for (const job of jobs) this.note(job);
      if (!isAll && limit !== PAGES.at(-1)) continue;
      const hidden = [...this.waiting.keys()].filter((id) => !seen.has(id));
      for (const id of hidden.slice(0, ASKED_ALONE)) await this.ask(id);
    }
    return before - this.waiting.size;
  }

  private async ask(id: string): Promise<void> {
    try {
      this.note(await this.patiently((options) => this.client.jobs.get(id, options)));
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // Forgotten, as of those that are over only the last ones are kept: what is stored tells.
      const { file } = this.waiting.get(id)!;
      this.unsure.set(file.key, file);
      this.waiting.delete(id);
    }
  }

  private note({ id, state, error, waits_for: obstacle }: Job): void {
    const sent = this.waiting.get(id);
    if (sent === undefined) return;
    if (state === 'queued' || state === 'running') {
      if (obstacle !== null && obstacle !== this.obstacle) this.options.onWait(obstacle, null);
      this.obstacle = obstacle ?? this.obstacle;
      return;
    }
    this.waiting.delete(id);
    if (!sent.isOwn) this.unsure.set(sent.file.key, sent.file);
    else if (state === 'done') this.pass('added');
    else if (state === 'failed') this.fail(sent.file.path, error ?? 'its job failed');
    else if (state === 'cancelled') this.fail(sent.file.path, 'its job was cancelled');
    else this.fail(sent.file.path, `its job is paused: "quiver jobs resume ${id}" goes on with it`);
  }

  private pass(how: 'added' | 'unchanged'): void {
    this.counts[how] += 1;
    this.options.onOver(null);
  }

  private fail(file: string, error: string): void {
    const failure = { file, error };
    this.counts.failed.push(failure);
    this.options.onOver(failure);
  }
}

type CallOptions = { signal: AbortSignal; retries: number; headers?: Record<string, string> };

/** Of all that decides what is stored of a file, as it was asked for: a checksum in hexadecimal. */
function markOf(bytes: Uint8Array, { metadata, chunking }: DocumentOptions): string {
  const asked = JSON.stringify([metadata ?? {}, chunking ?? {}]);
  return createHash('sha256').update(asked).update('\0').update(bytes).digest('hex');
}
