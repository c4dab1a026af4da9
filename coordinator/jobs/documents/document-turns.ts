import type { ClusterStore, StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { JobView } from '../../service/jobs-service';
import type { StampClock } from '../../service/routing/stamp-clock';
import { mustBeFirst, outcomeTransaction, type StoreDedup } from '../../service/idempotency/store-dedup';
import type { BegunDocument } from '../../service/service';
import type { NewJob } from '../record/job-record';
import type { StoredJobs } from '../record/stored-jobs';

/** `/q/document-turns/<identity of the collection>/<document id>/<job id>`: while the job is under way. */
const TURNS_PREFIX = '/q/document-turns/';
/** `/q/document-generation`: that of the upload which was asked for last. */
const GENERATION_PATH = '/q/document-generation';
/** Every failed attempt means that another upload was asked for elsewhere. */
const ATTEMPTS_MAX = 64;
const DELETED_AT_ONCE = 100;

/** A document in a collection. */
export interface DocumentPlace {
  /** Of the collection. */
  identity: string;
  documentId: string;
}

/**
 * The order of uploads, and which jobs store a document. The order is that of the cluster store, whatever the clocks of
 * coordinators say; generations follow them only so that they rise when the store is put back.
 */
export class DocumentTurns {
  private last = { generation: 0, revision: 0 };
  private begun: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parts: {
      store: ClusterStore;
      jobs: Pick<StoredJobs, 'begun' | 'noteBegun'>;
      stamps: Pick<StampClock, 'reserve'>;
    },
  ) {}

  /**
   * Begins the job that stores a document, with the generation of its upload; with a mark, once. Errors: unavailable,
   * also where that was done meanwhile; commit_unknown.
   */
  begin(place: DocumentPlace, jobOf: (generation: number) => NewJob, dedup?: StoreDedup): Promise<JobView> {
    // Those of this process do not take turns from one another.
    const begun = this.begun.then(() => this.beginNext(place, jobOf, dedup));
    this.begun = begun.catch(() => undefined);
    return begun;
  }

  /** Ids of the jobs that store it: one that has just ended may be among them. Errors: unavailable. */
  async jobsOf(place: DocumentPlace): Promise<string[]> {
    const { entries } = await this.parts.store.list(prefixOf(place));
    return entries.map(({ key }) => jobIn(key));
  }

  /**
   * What is higher is of no upload here. The store may have been put back, and know less than was stored: generations
   * follow clocks, so one that is not of the future is of an upload. Errors: unavailable.
   */
  async lastGeneration(): Promise<number> {
    return Math.max(generationIn(await this.parts.store.get(GENERATION_PATH)), this.parts.stamps.reserve(1));
  }

  /** Removes those of jobs that are over by now: `isOver` tells of some. Errors: unavailable; those of `isOver`. */
  async sweep(isOver: (job: string) => Promise<boolean>): Promise<void> {
    const { store } = this.parts;
    const { entries } = await store.list(TURNS_PREFIX);
    const over: string[] = [];
    for (const { key } of entries) if (await isOver(jobIn(key))) over.push(key);
    for (let at = 0; at < over.length; at += DELETED_AT_ONCE)
      await store.transact(
        [],
        over.slice(at, at + DELETED_AT_ONCE).map((key) => ({ type: 'delete', key })),
      );
  }

  private async beginNext(
    place: DocumentPlace,
    jobOf: (generation: number) => NewJob,
    dedup: StoreDedup | undefined,
  ): Promise<JobView> {
    const { store, jobs, stamps } = this.parts;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const generation = Math.max(this.last.generation + 1, stamps.reserve(1));
      const job = jobOf(generation);
      const { record, guards, changes } = jobs.begun(job);
      const before = this.last.revision;
      const once = outcomeTransaction(dedup, { documentId: place.documentId, jobId: job.id } satisfies BegunDocument);
      const result = await store.transact(
        [{ key: GENERATION_PATH, revision: before }, ...guards, ...once.guards],
        [
          ...changes,
          ...once.changes,
          { type: 'put', key: GENERATION_PATH, value: JSON.stringify({ generation }) },
          { type: 'put', key: prefixOf(place) + job.id, value: '{}' },
        ],
      );
      if (result.applied) {
        this.last = { generation, revision: result.revision };
        return jobs.noteBegun(record, result.revision);
      }
      mustBeFirst(dedup, result);
      const [found] = result.current;
      this.last = { generation: generationIn(found), revision: found?.revision ?? 0 };
      // The job is there already.
      if (this.last.revision === before) break;
    }
    throw new QuiverError('unavailable', 'the cluster store is too busy; the call may be retried');
  }
}

/** Of a job that is over. */
export function endOfTurn(place: DocumentPlace, job: string): StoreChange {
  return { type: 'delete', key: prefixOf(place) + job };
}

function prefixOf({ identity, documentId }: DocumentPlace): string {
  return `${TURNS_PREFIX}${identity}/${documentId}/`;
}

function jobIn(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

function generationIn(entry: StoreEntry | null): number {
  if (entry === null) return 0;
  const { generation } = JSON.parse(entry.value) as { generation?: unknown };
  return Number.isSafeInteger(generation) ? (generation as number) : 0;
}
