import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { TextFailure } from './model-failure';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { noteStuckThread } from '../../../shared/base/process/stuck-threads';
import type { EmbeddingReply, EmbeddingRequest, EmbeddingWorkerData } from './embedding-messages';
import type { ModelDescription } from './model-description';
import type { PairRunner } from '../rerank/pair-dispatcher';
import type { PairScorerKind } from '../rerank/pair-scorer';
import { modelFailure } from './model-failure';
import type { Runner } from './runner-seats';

/** Vectors of some texts. */
export interface EncodedTexts {
  /** Texts × dim, row-major. */
  vectors: Float32Array;
  /** The tokens of each that the model did not read; undefined: it read all. */
  left?: readonly number[] | undefined;
}

/** A model that runs in another thread. Requests are answered in order. */
export interface EmbeddingRunner extends Runner {
  readonly dim: number;
  /** Whether several texts may run in one batch without changing each other's vectors. */
  readonly isInvariant: boolean;
  /** Runs the texts in one batch. Errors: embedding_unavailable; unavailable when the runner ends. */
  embed(texts: string[]): Promise<EncodedTexts>;
  /** The tokens of each text, with the special ones. Errors: as `embed`. */
  measure(texts: string[]): Promise<number[]>;
}

/** The compiled worker beside this file. */
export const EMBEDDING_WORKER = join(__dirname, 'embedding-worker.js');

/** What is asked, without its number. */
type Question = EmbeddingRequest extends infer Each ? (Each extends { id: number } ? Omit<Each, 'id'> : never) : never;

interface Waiter {
  resolve: (reply: EmbeddingReply) => void;
  reject: (error: Error) => void;
}

/** A worker thread with a model in it, which either embeds texts or scores pairs. */
export class EmbeddingThread implements EmbeddingRunner, PairRunner {
  readonly textsMax = 1;
  readonly ended: Promise<void>;
  private readonly waiters = new Map<number, Waiter>();
  private nextId = 0;
  private hasEnded = false;
  private isLeft = false;
  private resolveEnded: () => void = () => undefined;

  private constructor(
    private readonly worker: Worker,
    readonly dim: number,
    readonly isInvariant: boolean,
  ) {
    worker.on('message', (reply: EmbeddingReply) => this.take(reply));
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve));
    worker.once('exit', () => this.end());
    // The exit event follows; it fails the waiting requests.
    worker.on('error', () => undefined);
  }

  /**
   * Starts a worker and loads the model in it. `scores`: what it scores pairs by; undefined: it embeds texts. Errors:
   * embedding_unavailable with the reason.
   */
  static start(
    description: ModelDescription,
    workerFile = EMBEDDING_WORKER,
    scores?: PairScorerKind,
  ): Promise<EmbeddingThread> {
    const data: EmbeddingWorkerData = { description, ...(scores !== undefined && { scores }) };
    const name = scores === undefined ? 'embedding' : 'reranking';
    // Libraries in the worker write to the console, but the log must consist of JSON lines only.
    const worker = new Worker(workerFile, { workerData: data, stdout: true, stderr: true, name });
    worker.stdout.resume();
    worker.stderr.resume();
    return new Promise((resolve, reject) => {
      let hasStarted = false;
      worker.once('error', (error) => {
        if (!hasStarted) reject(modelFailure('its worker ended while it loaded', error));
      });
      worker.once('exit', () => {
        if (!hasStarted) reject(modelFailure('its worker ended while it loaded'));
      });
      worker.once('message', (reply: EmbeddingReply) => {
        hasStarted = true;
        if (reply.type === 'ready') return resolve(new EmbeddingThread(worker, reply.dim, reply.isInvariant));
        void worker.terminate();
        reject(
          reply.type === 'failed'
            ? modelFailure(reply.reason, new Error(reply.cause))
            : modelFailure('its worker is out of step'),
        );
      });
    });
  }

  async embed(texts: string[]): Promise<EncodedTexts> {
    const reply = await this.ask({ type: 'embed', texts });
    return reply as EmbeddingReply & { type: 'vectors' };
  }

  async measure(texts: string[]): Promise<number[]> {
    const reply = await this.ask({ type: 'measure', texts });
    return (reply as EmbeddingReply & { type: 'lengths' }).lengths;
  }

  async score(query: string, texts: string[]): Promise<number[]> {
    const reply = await this.ask({ type: 'score', query, texts });
    return (reply as EmbeddingReply & { type: 'scores' }).scores;
  }

  private ask(question: Question): Promise<EmbeddingReply> {
    if (this.hasEnded) return Promise.reject(interrupted());
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiters.set(id, { resolve, reject });
      this.say({ ...question, id });
    });
  }

  /**
   * The worker ends itself between two requests. Terminating it from outside while its graph runs would crash the
   * process, because the native library throws when it returns to a thread that is gone.
   */
  async close(): Promise<void> {
    this.leave();
    await this.ended;
  }

  /**
   * Its thread can't be ended from here ({@link close}): it ends itself when it comes back from what it is at, which
   * may be never. Its memory stays until then.
   */
  giveUp(): void {
    this.leave();
    this.worker.unref();
    this.end();
  }

  /** From now on an exit of the process does not wait for the thread. */
  private leave(): void {
    if (this.hasEnded || this.isLeft) return;
    this.isLeft = true;
    this.worker.once('exit', noteStuckThread());
    this.say({ type: 'end' });
  }

  private end(): void {
    this.hasEnded = true;
    for (const waiter of this.waiters.values()) waiter.reject(interrupted());
    this.waiters.clear();
    this.resolveEnded();
  }

  private say(request: EmbeddingRequest): void {
    this.worker.postMessage(request);
  }

  private take(reply: EmbeddingReply): void {
    if (reply.type === 'ready' || reply.type === 'failed') return;
    const waiter = this.waiters.get(reply.id);
    this.waiters.delete(reply.id);
    if (reply.type !== 'error') waiter?.resolve(reply);
    else waiter?.reject(new TextFailure('The model failed on this text', new Error(reply.cause)));
  }
}

function interrupted(): QuiverError {
  return new QuiverError('unavailable', 'The worker of a model ended before it answered; the call may be retried');
}
