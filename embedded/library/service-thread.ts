import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { BODY_IN_PIECES, type FromService, type ToService } from '../../coordinator/api/direct/direct-messages';
import { packageRoot } from '../../shared/base/process/package-root';
import { apiError } from '../../clients/typescript/src/errors';
import type { LibraryThreadData } from '../library-thread-data';
import { ClosedError } from './closed-error';
import { DirectAnswer } from './direct-answer';

/** What the bindings of the native parts say of a package that npm has installed and nobody has used. */
const MISSING_ADDON = /^the native addon is missing/;

/** A call that is not answered. */
interface Pending {
  resolve: (answer: Response) => void;
  reject: (error: unknown) => void;
  /** From the head of an answer in pieces on. */
  answer: DirectAnswer | null;
  /** The pieces of its body, if it has those. */
  pieces: AsyncIterator<Uint8Array> | null;
  /** Ends the listening for the caller's signal. */
  forget: () => void;
}

/** The service of a folder, in a thread of this process, and the calls that it gets from here. */
export class ServiceThread {
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  /** Why no call is taken; null: they are. */
  private ended: string | null = null;
  private closing: Promise<void> | null = null;
  private failure: unknown = null;
  private allAnswered: (() => void) | null = null;
  private readonly exited: Promise<number>;

  private constructor(
    private readonly worker: Worker,
    private readonly folder: string,
    private readonly onLog: ((line: string) => void) | null,
  ) {
    this.exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.on('error', (error) => (this.failure = error));
    worker.on('exit', () => this.died());
  }

  /** Resolves when the service answers. Rejects with an ApiError of the service's code. */
  static async open(data: LibraryThreadData, onLog: ((line: string) => void) | null): Promise<ServiceThread> {
    try {
      return await ServiceThread.start(data, onLog);
    } catch (error) {
      if (!MISSING_ADDON.test((error as Error).message)) throw error;
      await buildAddons();
      return ServiceThread.start(data, onLog);
    }
  }

  private static async start(data: LibraryThreadData, onLog: ((line: string) => void) | null): Promise<ServiceThread> {
    const file = join(packageRoot(__dirname), 'dist', 'programs', 'library-thread.js');
    const worker = new Worker(file, { workerData: data, name: 'quiver' });
    const thread = new ServiceThread(worker, data.folder, onLog);
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (message: FromService) => {
        if (message[0] === 'ready') resolve();
        else if (message[0] === 'failed') {
          const [, code, text] = message;
          const facts = { code, requestId: null, retryAfterMs: null, method: 'OPEN', path: data.folder, attempts: 1 };
          reject(apiError(text, facts));
        } else thread.take(message);
      });
      void thread.exited.then(() => reject(thread.failure ?? thread.closedError(false)));
    });
    // Open and idle, it keeps no program from its end.
    worker.unref();
    return thread;
  }

  /** `fetch`, as far as the client needs it. */
  readonly fetch = async (input: string, init: RequestInit = {}): Promise<Response> => {
    if (this.ended !== null) throw this.closedError(false);
    const { signal } = init;
    signal?.throwIfAborted();
    const id = ++this.lastId;
    const body = init.body ?? null;
    const isWhole = body === null || typeof body === 'string' || ArrayBuffer.isView(body);
    return new Promise<Response>((resolve, reject) => {
      const gone = (): void => {
        this.over(id)?.reject(signal?.reason);
        this.send(['gone', id]);
      };
      signal?.addEventListener('abort', gone, { once: true });
      this.pending.set(id, {
        resolve,
        reject,
        answer: null,
        pieces: isWhole ? null : (body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator](),
        forget: () => signal?.removeEventListener('abort', gone),
      });
      if (this.pending.size === 1) this.worker.ref();
      // As HTTP has them there.
      const named = Object.entries((init.headers ?? {}) as Record<string, string>);
      const headers = Object.fromEntries(named.map(([name, value]) => [name.toLowerCase(), value]));
      this.send([
        'call',
        id,
        init.method ?? 'GET',
        targetOf(input),
        headers,
        isWhole ? (body as string | Uint8Array | null) : BODY_IN_PIECES,
      ]);
    });
  };

  /** Takes no more calls, waits for those under way, and ends the thread. The same promise each time. */
  close(): Promise<void> {
    return (this.closing ??= this.closeOnce());
  }

  private async closeOnce(): Promise<void> {
    if (this.ended !== null) return;
    this.ended = 'is closed';
    this.worker.ref();
    // Whoever reads an answer in pieces may stop at any of them.
    for (const [id, { answer }] of this.pending) {
      if (answer === null) continue;
      answer.break(this.closedError(false));
      this.over(id);
      this.send(['gone', id]);
    }
    if (this.pending.size > 0) await new Promise<void>((resolve) => (this.allAnswered = resolve));
    this.worker.ref();
    this.send(['close']);
    await this.exited;
    if (this.failure !== null) throw this.failure;
  }

  private take(message: FromService): void {
    const [kind, id] = message;
    if (kind === 'log') return this.onLog?.(message[1]);
    const call = this.pending.get(id as number);
    // It was given up.
    if (call === undefined) return;
    switch (kind) {
      case 'answer': {
        this.over(message[1]);
        const answer = new DirectAnswer(message[2], message[3]);
        answer.add(message[4]);
        answer.end();
        return call.resolve(answer as unknown as Response);
      }
      case 'head':
        call.answer = new DirectAnswer(message[2], message[3], {
          taken: (characters) => this.send(['taken', message[1], characters]),
          // Also of one that has come whole and was not read: it is kept there until then.
          gone: () => {
            this.over(message[1]);
            this.send(['gone', message[1]]);
          },
        });
        return call.resolve(call.answer as unknown as Response);
      case 'data':
        return call.answer?.add(message[2]);
      case 'over':
        this.over(message[1]);
        return call.answer?.end();
      case 'broken': {
        this.over(message[1]);
        const error = new ClosedError(`the service of ${this.folder} broke the answer off`, { mayHaveArrived: true });
        call.answer?.break(error);
        return call.reject(error);
      }
      case 'wanted':
        return void this.sendPiece(message[1], call);
      case 'ready':
      case 'failed':
        return;
    }
  }

  private async sendPiece(id: number, call: Pending): Promise<void> {
    try {
      const step = await call.pieces?.next();
      // A part of a buffer would be sent with all of that.
      this.send(['piece', id, step === undefined || step.done === true ? null : new Uint8Array(step.value)]);
    } catch (error) {
      this.over(id)?.reject(error);
      this.send(['gone', id]);
    }
  }

  /** Ends a call; undefined: it has ended. */
  private over(id: number): Pending | undefined {
    const call = this.pending.get(id);
    if (call === undefined) return undefined;
    this.pending.delete(id);
    call.forget();
    void call.pieces?.return?.();
    if (this.pending.size === 0) {
      this.worker.unref();
      this.allAnswered?.();
    }
    return call;
  }

  private died(): void {
    this.ended ??= 'has ended';
    for (const [id, { answer, reject }] of this.pending) {
      const error = this.closedError(true);
      this.over(id);
      answer?.break(error);
      reject(error);
    }
  }

  private closedError(mayHaveArrived: boolean): ClosedError {
    const why = this.failure === null ? '' : `: ${(this.failure as Error).message}`;
    const what =
      this.ended === 'is closed' ? `the folder ${this.folder} is closed` : `the service of ${this.folder} has ended`;
    return new ClosedError(what + why, { cause: this.failure ?? undefined, mayHaveArrived });
  }

  private send(message: ToService): void {
    this.worker.postMessage(message);
  }
}

/** As the first start of a service does. It says what it does on standard error. */
async function buildAddons(): Promise<void> {
  const script = join(packageRoot(__dirname), 'scripts', 'setup.mjs');
  const child = spawn(process.execPath, [script, 'native'], { stdio: ['ignore', 'inherit', 'inherit'] });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error('the native parts could not be built; standard error says why');
}

/** The path and the query of an address. */
function targetOf(address: string): string {
  return address.slice(address.indexOf('/', address.indexOf('//') + 2));
}
