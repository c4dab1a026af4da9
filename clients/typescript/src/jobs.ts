import type { JobsPage, JobsQuery } from './api';
import { pause } from './deadline';
import type { Job } from './generated/api-types';
import type { ApiRequest, CallOptions } from './request';
import type { Transport } from './transport';

/** Between two looks of {@link JobsApi.wait}: short at first. */
const LOOK_FIRST_MS = 200;
const LOOK_LONGEST_MS = 2_000;

/** Long work, which goes on by itself: backups, restores, reshards and others, of what the key may use. */
export class JobsApi {
  constructor(private readonly transport: Transport) {}

  /** A page of them, the newest first; `cursor` of the next is `next_cursor`. */
  async page(query: JobsQuery = {}, options?: CallOptions): Promise<JobsPage> {
    return this.transport.data({ method: 'GET', path: '/v1/jobs', query: { ...query } }, options);
  }

  /** All of them, the newest first, a page at a time. */
  async *list(query: Omit<JobsQuery, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<Job> {
    for (let cursor: string | undefined; ;) {
      const page: JobsPage = await this.page({ ...query, cursor }, options);
      yield* page.jobs;
      if (page.next_cursor === null) return;
      cursor = page.next_cursor;
    }
  }

  async get(id: string, options?: CallOptions): Promise<Job> {
    return this.send('GET', id, '', options);
  }

  /**
   * Waits until a job is done, failed or cancelled, and answers it as it is then: `state` says which. `onProgress`
   * hears of each look. A signal ends the wait, and not the job.
   */
  async wait(id: string, options: CallOptions & { onProgress?: (job: Job) => void } = {}): Promise<Job> {
    for (let everyMs = LOOK_FIRST_MS; ; everyMs = Math.min(LOOK_LONGEST_MS, everyMs * 1.5)) {
      const job = await this.get(id, options);
      options.onProgress?.(job);
      if (job.state === 'done' || job.state === 'failed' || job.state === 'cancelled') return job;
      await pause(everyMs, options.signal);
    }
  }

  /** Gives a job up, and takes back what it made; 409 when it is over, or that is not possible. */
  async cancel(id: string, options?: CallOptions): Promise<Job> {
    return this.send('DELETE', id, '', options);
  }

  /** Lets a job rest until it is resumed; 400 for kinds that can't. */
  async pause(id: string, options?: CallOptions): Promise<Job> {
    return this.send('POST', id, '/pause', options);
  }

  async resume(id: string, options?: CallOptions): Promise<Job> {
    return this.send('POST', id, '/resume', options);
  }

  /**
   * Lets the new vectors of a reembed that is ready take over. `keep_hours`: how long there is a way back, also of one
   * that has switched. 409 when it is not ready.
   */
  async switch(id: string, { keep_hours }: { keep_hours?: number } = {}, options?: CallOptions): Promise<Job> {
    return this.send('POST', id, '/switch', options, keep_hours === undefined ? undefined : { keep_hours });
  }

  /** Goes back to the vectors of before the switch; 409 when there is no way back. */
  async back(id: string, options?: CallOptions): Promise<Job> {
    return this.send('POST', id, '/back', options);
  }

  private async send(
    method: ApiRequest['method'],
    id: string,
    path: string,
    options?: CallOptions,
    json?: object,
  ): Promise<Job> {
    return this.transport.data(
      {
        method,
        path: `/v1/jobs/${encodeURIComponent(id)}${path}`,
        isRepeatable: true,
        ...(json !== undefined && { json }),
      },
      options,
    );
  }
}
