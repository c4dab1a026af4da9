import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { DocumentRow, DocumentType, ParsedDocument } from './parsed-document';
import type { ParserLimits } from './parser-limits';
import { MEMORY_WORD, type ParserProcessSettings, type ParserReply, type ParserRequest } from './parser-messages';

/** The compiled program beside this file. */
export const PARSER_PROGRAM = join(__dirname, 'parser-program.js');

/** What the heap of JavaScript may have of the process's memory; buffers and the program itself have the rest. */
const HEAP_SHARE = 0.7;
/** What V8 writes before it gives up. */
const HEAP_FULL = /heap out of memory|heap limit|Out of memory|allocation failed/i;
/** Below the service's own threads, above what is only to be done some time. */
const NICENESS = 5;
/** Of the standard error, for the log. */
const ERROR_OUTPUT_LENGTH = 2_000;

/**
 * A process that reads documents, with no right to write files, to start processes, or to reach the network, and with
 * little of the processor where others want it. One document at a time.
 */
export class ParserProcess {
  readonly ended: Promise<void>;
  /** Why it ended, where nobody asked for it and no limit tells it. */
  crash: string | null = null;
  isOpen = true;
  private readonly child: ChildProcess;
  private errorOutput = '';
  /** What it was ended for. */
  private reason: QuiverError | null = null;
  private document: {
    texts: string[];
    rows: DocumentRow[];
    done: (document: ParsedDocument) => void;
    fail: (error: QuiverError) => void;
  } | null = null;

  constructor(
    program: string,
    private readonly limits: ParserLimits,
  ) {
    const settings: ParserProcessSettings = { memoryMiB: limits.memoryMiB };
    this.child = spawn(process.execPath, [...flagsFor(limits.memoryMiB), program, JSON.stringify(settings)], {
      // None of the service's secrets.
      env: {},
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    const { child } = this;
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.errorOutput = (this.errorOutput + text).slice(-ERROR_OUTPUT_LENGTH);
    });
    child.on('message', (reply: ParserReply) => this.take(reply));
    this.ended = new Promise((resolve) => {
      // Behind all that it said.
      child.once('close', (code, signal) => {
        this.settle(code === null ? String(signal) : `exit code ${code}`);
        resolve();
      });
      child.once('error', (error) => {
        if (child.pid !== undefined) return;
        this.settle(error.message);
        resolve();
      });
    });
    if (child.pid !== undefined) yieldTo(child.pid);
    this.hold(false);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Errors: as those of DocumentParser; of unknown kind where `crash` is set. */
  async parse(type: DocumentType, content: AsyncIterable<Uint8Array>): Promise<ParsedDocument> {
    const { timeMs, bytesMax, charactersMax } = this.limits;
    const answered = new Promise<ParsedDocument>((done, fail) => {
      if (!this.isOpen) return fail(this.reason ?? new QuiverError('unavailable', 'the process of parsers ended'));
      this.document = { texts: [], rows: [], done, fail };
    });
    this.hold(true);
    const timer = setTimeout(() => {
      void this.end(
        new QuiverError('limit_exceeded', `The file can't be read within ${timeMs} ms (PARSER_TIMEOUT_MS); divide it`),
      );
    }, timeMs);
    // What is not sent any more has failed there.
    answered.catch(() => undefined);
    try {
      await this.send({ say: 'begin', type, bytesMax, charactersMax });
      for await (const bytes of content) {
        if (this.document === null) break;
        await this.send({ say: 'part', bytes });
      }
      await this.send({ say: 'end' });
      return await answered;
    } finally {
      clearTimeout(timer);
      this.document = null;
      this.hold(false);
    }
  }

  /** Ends it at once, whatever it does; what it reads fails by `reason`. */
  async end(reason: QuiverError): Promise<void> {
    if (this.isOpen) {
      this.reason ??= reason;
      this.hold(true);
      this.child.kill('SIGKILL');
    }
    await this.ended;
  }

  private take(reply: ParserReply): void {
    const { document } = this;
    if (document === null) return;
    if (reply.say === 'text') document.texts.push(reply.text);
    else if (reply.say === 'rows') document.rows.push(...reply.rows);
    else if (reply.say === 'failed') document.fail(new QuiverError(reply.kind, reply.message));
    else {
      const { texts, rows } = document;
      document.done({ ...reply.document, text: texts.join(''), ...(rows.length > 0 && { rows }) });
    }
  }

  private settle(how: string): void {
    this.isOpen = false;
    if (this.reason === null && (this.errorOutput.includes(MEMORY_WORD) || HEAP_FULL.test(this.errorOutput)))
      this.reason = new QuiverError(
        'limit_exceeded',
        `The file takes more than ${this.limits.memoryMiB} MiB to read (PARSER_MEMORY_MB); divide it`,
      );
    if (this.reason === null) this.crash = `${how}: ${this.errorOutput}`;
    this.document?.fail(this.reason ?? new QuiverError('unavailable', 'the process of parsers ended'));
    this.document = null;
  }

  /** Resolves when it is written, so that no more than a part of a file waits; also when the process is gone. */
  private send(request: ParserRequest): Promise<void> {
    return new Promise((resolve) => {
      if (!this.child.connected) return resolve();
      this.child.send(request, () => resolve());
    });
  }

  /** Whether the service stays for it: one that waits for nothing does not keep a program from its end. */
  private hold(isHeld: boolean): void {
    const change = isHeld ? 'ref' : 'unref';
    this.child[change]();
    this.child.channel?.[change]();
    (this.child.stderr as unknown as { ref(): void; unref(): void })[change]();
  }
}

function flagsFor(memoryMiB: number): string[] {
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission';
  return [
    `--max-old-space-size=${Math.floor(memoryMiB * HEAP_SHARE)}`,
    permission,
    '--allow-fs-read=*',
    '--allow-worker',
    '--no-warnings',
  ];
}

/** Its work is never urgent, and where memory runs out it is the first that goes. */
function yieldTo(pid: number): void {
  try {
    setPriority(pid, NICENESS);
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux, or gone already.
  }
}
