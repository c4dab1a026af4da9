import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { isEnded, type JobsPage, type JobsService, type JobView, mayTouch } from '../../service/jobs-service';
import { cursorOf, elementsOf } from '../../service/opaque-cursor';
import type { Scoped } from '../../service/keys/collection-scope';
import type { AskedJobs, JobSource } from './job-source';

/** Shows the jobs of all sources as one list, and sees to it that each is touched only by who may. */
export class JobRequests implements JobsService {
  private readonly sources: JobSource[];

  /** Where two sources know a job, the earlier one counts. */
  constructor(sources: readonly JobSource[]) {
    this.sources = [...sources];
  }

  /** Jobs that only another part of the process knows. */
  add(source: JobSource): void {
    this.sources.push(source);
  }

  async list(page: JobsPage, caller?: Scoped): Promise<{ jobs: JobView[]; nextCursor: string | null }> {
    const { kind, limit } = page;
    const is = wantedBy(page, caller);
    const asked = this.sources.filter(({ kinds }) => kind === undefined || kinds === undefined || kinds.includes(kind));
    for (let most = limit + 1; ; most *= 2) {
      const lists = await Promise.all(asked.map((source) => source.list({ is, most })));
      const known = new Map<string, JobView>();
      for (const jobs of lists) for (const job of jobs) if (!known.has(job.id)) known.set(job.id, job);
      const isWanted = (job: JobView): boolean => is(job, job.rights);
      const chosen = [...known.values()].filter(isWanted);
      // What two sources know is one job, so that a source may have more that belong here.
      if (chosen.length <= limit && lists.some((jobs) => jobs.filter(isWanted).length >= most)) continue;
      chosen.sort((a, b) => (isAfter(b, a) ? -1 : 1));
      const jobs = chosen.slice(0, limit);
      return { jobs, nextCursor: chosen.length > limit ? cursorAfter(jobs[limit - 1]) : null };
    }
  }

  async get(id: string, caller?: Scoped): Promise<JobView> {
    return (await this.found(id, caller)).job;
  }

  cancel(id: string, caller?: Scoped): Promise<JobView> {
    return this.change(id, caller, async ({ job, source }) => {
      if (job.state === 'cancelled') return job;
      mustNotBeOver(job);
      return source.cancel(id);
    });
  }

  pause(id: string, caller?: Scoped): Promise<JobView> {
    return this.change(id, caller, async ({ job, source }) => {
      mustNotBeOver(job);
      return source.pause(id);
    });
  }

  resume(id: string, caller?: Scoped): Promise<JobView> {
    return this.change(id, caller, async ({ job, source }) => {
      mustNotBeOver(job);
      return source.resume(id);
    });
  }

  switch(id: string, keepHours: number | undefined, caller?: Scoped): Promise<JobView> {
    return this.change(id, caller, async ({ job, source }) => {
      mustSwitch(job);
      mustNotBeOver(job);
      return source.switch!(id, keepHours);
    });
  }

  back(id: string, caller?: Scoped): Promise<JobView> {
    return this.change(id, caller, async ({ job, source }) => {
      mustSwitch(job);
      mustNotBeOver(job);
      return source.back!(id);
    });
  }

  private async change(
    id: string,
    caller: Scoped | undefined,
    make: (found: { job: JobView; source: JobSource }) => Promise<JobView | null>,
  ): Promise<JobView> {
    const found = await this.found(id, caller);
    const { change } = found.job.rights;
    if (!mayTouch(caller, found.job, change)) {
      const of =
        found.job.collection === null ? 'the service' : `the collection ${JSON.stringify(found.job.collection)}`;
      throw new QuiverError('forbidden', `job ${id} is changed with the role ${change} for ${of}`);
    }
    const changed = await make(found);
    if (changed !== null) return changed;
    // It ended on the way.
    const { job } = await this.found(id, caller);
    mustNotBeOver(job);
    throw new QuiverError('unavailable', `job ${id} was changed meanwhile; the call may be retried`);
  }

  private async found(id: string, caller: Scoped | undefined): Promise<{ job: JobView; source: JobSource }> {
    for (const source of this.sources) {
      const job = await source.get(id);
      if (job !== null && mayTouch(caller, job, job.rights.see)) return { job, source };
      if (job !== null) break;
    }
    throw new QuiverError('not_found', `job "${id}" does not exist`);
  }
}

/** Errors: invalid_parameter for a job of a kind that does not switch. */
function mustSwitch({ id, kind }: JobView): void {
  if (kind === 'reembed') return;
  throw new QuiverError('invalid_parameter', `job ${id} is of kind ${kind}; only reembed jobs switch, and go back`);
}

/** Which jobs are of a page, or of one behind it. */
function wantedBy({ kind, state, collection, cursor }: JobsPage, caller: Scoped | undefined): AskedJobs['is'] {
  const after = cursor === undefined ? null : positionOf(cursor);
  return (job, rights) =>
    (kind === undefined || job.kind === kind) &&
    (state === undefined || job.state === state) &&
    (collection === undefined || job.collection === collection) &&
    (after === null || isAfter(job, after)) &&
    mayTouch(caller, job, rights.see);
}

function mustNotBeOver(job: JobView): void {
  if (isEnded(job)) throw new QuiverError('conflict', `job ${job.id} is over: it is ${job.state}`);
}

type Position = Pick<JobView, 'createdAt' | 'id'>;

/** Whether a job comes later in the list, in which the newest are first. */
function isAfter(job: Position, position: Position): boolean {
  if (job.createdAt !== position.createdAt) return job.createdAt < position.createdAt;
  return job.id < position.id;
}

function cursorAfter({ createdAt, id }: Position): string {
  return cursorOf([createdAt, id]);
}

function positionOf(cursor: string): Position {
  const [createdAt, id, ...rest] = elementsOf(cursor);
  if (typeof createdAt !== 'string' || typeof id !== 'string' || rest.length > 0)
    throw new QuiverError('invalid_parameter', 'cursor is none that GET /v1/jobs has answered');
  return { createdAt, id };
}
