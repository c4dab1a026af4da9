import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import type { JobView } from '../../service/jobs-service';
import { type ReshardRecord, reshardFromEntry, RESHARDS_PREFIX } from '../../service/collections/reshard-record';
import { shownReshards } from '../../service/collections/reshard-view';
import type { JobSource } from '../record/job-source';
import { reshardJob } from './reshard-job-view';
import type { ReembedChange, ReembedRequests } from './reembed-requests';
import type { ReshardRequests } from './reshard-requests';

const IDS = /^(?:reshard|reindex|reembed)-(.+)$/;

/**
 * Reshards as jobs: what is stored of them decides whether a collection may get other shards, so it stays where it is.
 */
export class ReshardJobs implements JobSource {
  readonly kinds = ['reshard', 'reindex', 'reembed'];

  constructor(
    private readonly parts: {
      store: ClusterStore;
      clock: Clock;
      requests: Pick<ReshardRequests, 'cancel'>;
      reembeds: Pick<ReembedRequests, 'change'>;
    },
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
    if (job.step === 'back')
      throw new QuiverError('conflict', `job ${id} is going back: POST /v1/jobs/${id}/switch keeps the new vectors`);
    if (job.step === 'switched')
      throw new QuiverError(
        'conflict',
        `job ${id} has switched: go back (POST /v1/jobs/${id}/back), ` +
          'or give the way back up (POST …/switch with {"keep_hours": 0})',
      );
    try {
      await this.parts.requests.cancel(job.collection ?? '', undefined, IDS.exec(id)![1]);
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'not_found') throw new QuiverError('conflict', error.message);
      throw error;
    }
    return (await this.get(id)) ?? { ...job, state: 'cancelled' };
  }

  async pause(id: string): Promise<JobView | null> {
    return this.changed(id, { type: 'pause' });
  }

  resume(id: string): Promise<JobView | null> {
    return this.changed(id, { type: 'resume' });
  }

  switch(id: string, keepHours: number | undefined): Promise<JobView | null> {
    return this.changed(id, { type: 'switch', keepHours });
  }

  back(id: string): Promise<JobView | null> {
    return this.changed(id, { type: 'back' });
  }

  private async changed(id: string, change: ReembedChange): Promise<JobView | null> {
    const job = await this.get(id);
    if (job === null) return null;
    if (job.kind === 'reembed') {
      const record = await this.parts.reembeds.change(job.collection!, id, change);
      return record === null ? null : reshardJob(record, this.parts.clock.wallMs());
    }
    if (change.type === 'switch' || change.type === 'back')
      throw new QuiverError(
        'invalid_parameter',
        `job ${id} is of kind ${job.kind}; only reembed jobs switch, and go back`,
      );
    throw new QuiverError(
      'invalid_parameter',
      `job ${id} can’t be paused: while a collection gets other shards, ` +
        'the old ones note all that is written; cancel it',
    );
  }
}
