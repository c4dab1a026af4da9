import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ProjectedRows, ProjectionPlan } from './projection';

export type ProjectionRequest = { type: 'rows'; rows: Float32Array } | { type: 'end' };
export type ProjectionReply = { type: 'taken' } | { type: 'done'; result: ProjectedRows };

/** The compiled worker beside this file. */
export const PROJECTION_WORKER = join(__dirname, 'projection-worker.js');

/** Projects one sample in a thread of its own, so that it holds none that serves. One call at a time; to be closed. */
export class ProjectionThread {
  private readonly worker: Worker;
  private waiter: { done: (reply: ProjectionReply) => void; fail: (error: Error) => void } | null = null;
  private failure: Error | null = null;

  constructor(plan: ProjectionPlan, workerFile = PROJECTION_WORKER) {
    this.worker = new Worker(workerFile, { workerData: plan, name: 'projection' });
    this.worker.on('message', (reply: ProjectionReply) => {
      const { waiter } = this;
      this.waiter = null;
      waiter?.done(reply);
    });
    this.worker.on('error', (error) => this.end(error));
    this.worker.once('exit', () => this.end(undefined));
  }

  /** Gives the next rows; their memory goes over. Resolves when they are taken, so that never more than these wait. */
  async take(rows: Float32Array): Promise<void> {
    await this.ask({ type: 'rows', rows }, [rows.buffer as ArrayBuffer]);
  }

  async finish(): Promise<ProjectedRows> {
    const reply = await this.ask({ type: 'end' }, []);
    if (reply.type !== 'done') throw new QuiverError('internal', 'the thread that projects a sample is out of step');
    return reply.result;
  }

  /** Ends it, whatever it does. */
  close(): void {
    void this.worker.terminate();
  }

  private ask(request: ProjectionRequest, transfer: ArrayBuffer[]): Promise<ProjectionReply> {
    return new Promise((done, fail) => {
      if (this.failure !== null) return fail(this.failure);
      this.waiter = { done, fail };
      this.worker.postMessage(request, transfer);
    });
  }

  private end(cause: unknown): void {
    this.failure ??= new QuiverError(
      'unavailable',
      'the projection ended before it was done; the call may be retried',
      { cause },
    );
    this.waiter?.fail(this.failure);
    this.waiter = null;
  }
}
