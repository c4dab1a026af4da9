import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../../shared/base/logs/logger';
import { documentTypeOf, TYPE_HEAD_BYTES } from './document-type';
import type { DocumentSource, ParsedDocument } from './parsed-document';
import type { ParserLimits } from './parser-limits';
import { PARSER_PROGRAM, ParserProcess } from './parser-process';

export interface DocumentParserOptions {
  limits: ParserLimits;
  log: Pick<Logger, 'info' | 'warn'>;
  /** The compiled program, if it is not the one beside this file. */
  program?: string | undefined;
  /** How long the process waits for a next document before it ends. */
  idleMs?: number;
}

const IDLE_MS = 30_000;
/** Of a file that is sent, in one message. */
const PART_BYTES = 1 << 18;
/** A file during which the process ended for no reason that is known is read once more, in a new one. */
const ATTEMPTS = 2;

interface Waiting {
  source: DocumentSource;
  signal: AbortSignal | undefined;
  done: (document: ParsedDocument) => void;
  fail: (error: unknown) => void;
}

/**
 * Reads documents in a process of their own, one after another. It starts with the first document and ends when there
 * was none for a while; one that dies fails its document alone, and the next one gets a new process.
 */
export class DocumentParser {
  private readonly waiting: Waiting[] = [];
  private process: ParserProcess | null = null;
  private running: Promise<void> | null = null;
  private idle: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(private readonly options: DocumentParserOptions) {}

  /** Of the process; null: there is none. */
  get pid(): number | null {
    return this.process?.pid ?? null;
  }

  /**
   * The text of a document and its parts. Errors: invalid_parameter where it is no document that is supported, or is
   * broken, encrypted, empty or without text; limit_exceeded where it takes more than its limits; unavailable where
   * this was given up by `signal` or the end of the service.
   */
  parse(source: DocumentSource, { signal }: { signal?: AbortSignal } = {}): Promise<ParsedDocument> {
    return new Promise((done, fail) => {
      if (this.isClosed || signal?.aborted === true) return fail(givenUp());
      const job: Waiting = { source, signal, done, fail };
      this.waiting.push(job);
      signal?.addEventListener('abort', () => this.leave(job), { once: true });
      this.running ??= this.run();
    });
  }

  /** Fails what waits and ends the process. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const { fail } of this.waiting.splice(0)) fail(givenUp());
    clearTimeout(this.idle);
    await this.process?.end(givenUp());
    await this.running;
  }

  private leave(job: Waiting): void {
    const at = this.waiting.indexOf(job);
    if (at < 0) return;
    this.waiting.splice(at, 1);
    job.fail(givenUp());
  }

  private async run(): Promise<void> {
    clearTimeout(this.idle);
    for (let job = this.waiting.shift(); job !== undefined; job = this.waiting.shift()) {
      try {
        job.done(await this.read(job));
      } catch (error) {
        job.fail(error);
      }
    }
    this.running = null;
    if (this.isClosed) return;
    this.idle = setTimeout(() => void this.process?.end(givenUp()), this.options.idleMs ?? IDLE_MS);
    this.idle.unref();
  }

  private async read({ source, signal }: Waiting): Promise<ParsedDocument> {
    const type = source.type ?? documentTypeOf(source.name, await headOf(source));
    for (let attempt = 1; ; attempt++) {
      if (this.isClosed || signal?.aborted === true) throw givenUp();
      const process = this.opened();
      const giveUp = (): void => void process.end(givenUp());
      signal?.addEventListener('abort', giveUp, { once: true });
      try {
        return await process.parse(type, contentOf(source));
      } catch (error) {
        if (process.crash === null) throw error;
        this.options.log.warn({ type, crash: process.crash, attempt }, 'the process of parsers ended');
        if (attempt === ATTEMPTS)
          throw new QuiverError('invalid_parameter', `The file can't be read: its parser ended ${ATTEMPTS} times`, {
            cause: error,
          });
      } finally {
        signal?.removeEventListener('abort', giveUp);
      }
    }
  }

  private opened(): ParserProcess {
    if (this.process?.isOpen !== true) {
      const { limits, program = PARSER_PROGRAM } = this.options;
      const opened = new ParserProcess(program, limits);
      this.process = opened;
      void opened.ended.then(() => {
        if (this.process === opened) this.process = null;
      });
    }
    return this.process!;
  }
}

function givenUp(): QuiverError {
  return new QuiverError('unavailable', 'the document was given up before it was read; the call may be retried');
}

async function headOf({ content }: DocumentSource): Promise<Uint8Array> {
  if ('bytes' in content) return content.bytes.subarray(0, TYPE_HEAD_BYTES);
  const file = await open(content.path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TYPE_HEAD_BYTES), 0, TYPE_HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function* contentOf({ content }: DocumentSource): AsyncGenerator<Uint8Array> {
  if ('path' in content) yield* createReadStream(content.path, { highWaterMark: PART_BYTES });
  else for (let at = 0; at < content.bytes.length; at += PART_BYTES) yield content.bytes.subarray(at, at + PART_BYTES);
}
