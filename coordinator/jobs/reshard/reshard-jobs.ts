import { shownFields } from '../../../shared/contract/shard/keyword-fields';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import type { JobRights, JobState, JobView } from '../../service/jobs-service';
import {
  isReindex,
  reshardJobId,
  type ReshardRecord,
  type ReshardState,
  reshardFromEntry,
  RESHARDS_PREFIX,
} from '../../service/collections/reshard-record';
import { reshardView, shownReshards } from '../../service/collections/reshard-view';
import { paceOf } from '../record/job-record';
import type { JobSource } from '../record/job-source';
import type { ReshardRequests } from './reshard-requests';

export const RESHARD_RIGHTS: JobRights = { see: 'admin', change: 'admin' };
/** Of one that a PATCH of the collection began. */
export const REINDEX_RIGHTS: JobRights = { see: 'readonly', change: 'readwrite' };
const IDS = /^(?:reshard|reindex)-(.+)$/;

const STATES: Record<ReshardState, JobState> = {
  seeding: 'running',
  filling: 'running',
  sealing: 'running',
  opening: 'running',
  retiring: 'done',
  cancelling: 'running',
  failed: 'failed',
  stuck: 'running',
};

/**
 * Reshards as jobs: what is stored of them decides whether a collection may get other shards, so it stays where it is.
 */
export class ReshardJobs implements JobSource {
  readonly kinds = ['reshard', 'reindex'];

  constructor(
    private readonly parts: { store: ClusterStore; clock: Clock; requests: Pick<ReshardRequests, 'cancel'> },
  ) {}

  async list(): Promise<JobView[]> {
    const { entries } = await this.parts.store.list(RESHARDS_PREFIX);
    const records: ReshardRecord[] = [];
    const wallMs = this.parts.clock.wallMs();
    const jobs = readableEntries(entries, (entry) => {
      const record = reshardFromEntry(entry);
      records.push(record);
      // One whose new shards have taken over is kept as what is over.
      return record.state === 'retiring' ? null : reshardJob(record, wallMs);
    });
    const shown = new Map(shownReshards(records).map((view) => [view.collection, view.waitsFor]));
    return jobs.flatMap((job) =>
      shown.has(job.collection!) ? [{ ...job, waitsFor: shown.get(job.collection!) ?? null }] : [],
    );
  }

  async get(id: string): Promise<JobView | null> {
    return IDS.test(id) ? ((await this.list()).find((job) => job.id === id) ?? null) : null;
  }

  async cancel(id: string): Promise<JobView | null> {
    const job = await this.get(id);
    if (job === null) return null;
    try {
      await this.parts.requests.cancel(job.collection ?? '', undefined, IDS.exec(id)![1]);
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'not_found') throw new QuiverError('conflict', error.message);
      throw error;
    }
    return (await this.get(id)) ?? { ...job, state: 'cancelled' };
  }

  async pause(id: string): Promise<JobView | null> {
    if ((await this.get(id)) === null) return null;
    throw new QuiverError(
      'invalid_parameter',
      `job ${id} can’t be paused: while a collection gets other shards, the old ones note all that is written; cancel it`,
    );
  }

  resume(id: string): Promise<JobView | null> {
    return this.pause(id);
  }
}

/** A reshard as a job. */
export function reshardJob(record: ReshardRecord, wallMs: number): JobView {
  const { fraction, waitsFor } = reshardView(record);
  const { name, from, to, state, copied, total, startedAt, error } = record;
  const isFilling = state === 'filling' && copied > 0;
  return {
    id: reshardJobId(record),
    kind: isReindex(record) ? 'reindex' : 'reshard',
    state: STATES[state],
    step: state === 'failed' ? null : state,
    collection: name,
    subject: isReindex(record) ? fieldsOf(to) : `${from.shards} to ${to.shards} shards`,
    progress: fraction,
    done: copied,
    total,
    unit: 'items',
    ...paceOf({ done: copied, total }, isFilling ? { ms: Date.parse(startedAt), done: 0 } : null, wallMs),
    createdAt: startedAt,
    startedAt,
    endedAt: null,
    error,
    waitsFor,
    result: null,
    rights: isReindex(record) ? REINDEX_RIGHTS : RESHARD_RIGHTS,
  };
}

function fieldsOf({ keywordFields }: ReshardRecord['to']): string {
  return `keyword_fields ${keywordFields ? shownFields(keywordFields, ', ') : 'all'}`;
}
