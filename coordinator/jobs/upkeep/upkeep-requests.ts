import type { ReplicaPurge } from '../../../shared/contract/shard/shard-purge';
import type { CollectionRecord } from '../../service/collections/collection-record';
import type { PurgeLook, ShardUpkeep } from '../../service/collections/shard-upkeep';
import { isEnded } from '../../service/jobs-service';
import type { CollectionPurge } from '../../service/service';
import type { JobRecord } from '../record/job-record';
import type { StoredJobs } from '../record/stored-jobs';
import { OPTIMIZE, type OptimizeInput } from './optimize-kind';
import { notesOf, PURGE, type PurgeInput, replicaKey, runningOf } from './purge-kind';

/** Begins purges and optimizations as jobs, and shows how far a purge is. */
export class UpkeepRequests {
  constructor(
    private readonly parts: {
      upkeep: ShardUpkeep;
      jobs: Pick<StoredJobs, 'begin' | 'newId' | 'latest' | 'underWay' | 'askAgain'>;
    },
  ) {}

  /** As CollectionsService says. What a client asks for begins at once, and is then a job's to bring to its end. */
  async purge(name: string, start: boolean): Promise<CollectionPurge> {
    const { upkeep } = this.parts;
    const record = await upkeep.find(name);
    const look = await upkeep.purge(record, () => start);
    if (start) await this.beginPurge(record, look);
    return purgeView(name, look, await this.latestPurge(record));
  }

  /** As CollectionsService says. */
  async optimize(name: string): Promise<void> {
    const { upkeep, jobs } = this.parts;
    const record = await upkeep.find(name);
    await upkeep.optimize(record);
    const present = (await jobs.underWay(OPTIMIZE)).some(({ input }) => isOf(record, input));
    const input: OptimizeInput = { identity: record.identity };
    if (!present) await this.begin(OPTIMIZE, record, input, 'rows');
  }

  /** One that is under way is extended; two that begin together do no harm: shards have one purge after the other. */
  private async beginPurge(record: CollectionRecord, look: PurgeLook): Promise<void> {
    const { jobs } = this.parts;
    const input = { identity: record.identity, uid: look.uid, started: runningOf(look) };
    for (const job of await jobs.underWay(PURGE)) {
      if (!isOf(record, job.input)) continue;
      const asked = (known: unknown): PurgeInput => ({ ...input, asked: (known as PurgeInput).asked + 1 });
      if ((await jobs.askAgain(job.id, asked)) !== null) return;
    }
    await this.begin(PURGE, record, { ...input, asked: 1 }, 'replicas');
  }

  private async begin(
    kind: string,
    { name }: CollectionRecord,
    input: PurgeInput | OptimizeInput,
    unit: string,
  ): Promise<void> {
    const { jobs } = this.parts;
    await jobs.begin({ id: jobs.newId(kind), kind, collection: name, subject: '', input, unit });
  }

  private latestPurge(record: CollectionRecord): Promise<JobRecord | null> {
    return this.parts.jobs.latest(PURGE, ({ input }) => isOf(record, input));
  }
}

function isOf({ identity }: CollectionRecord, input: unknown): boolean {
  return (input as { identity?: unknown } | null)?.identity === identity;
}

/** What replicas say, with what the job knows that they have forgotten. */
export function purgeView(collection: string, { uid, shards }: PurgeLook, job: JobRecord | null): CollectionPurge {
  const notes = job === null ? null : notesOf(job);
  const isUnderWay = job !== null && !isEnded(job);
  const isOfThese = notes?.uid === uid;
  if (job === null || job.state === 'cancelled' || (!isUnderWay && !isOfThese))
    return { collection, state: stateOf(shards.flat()), shards };
  const shown = (shard: number, replica: ReplicaPurge): ReplicaPurge => {
    const done = isOfThese ? notes.done[replicaKey(shard, replica.node)] : undefined;
    const { node, state } = replica;
    if (done !== undefined)
      return { node, state: 'done', step: '', bytesBefore: done[0], bytesAfter: done[1], unshipped: 0, error: '' };
    // It says what became of an earlier purge, or forgot this one: the job begins it again.
    if (isUnderWay && state !== 'running' && state !== 'unknown')
      return { node, state: 'running', step: 'waiting', bytesBefore: 0, bytesAfter: 0, unshipped: 0, error: '' };
    return replica;
  };
  return {
    collection,
    state: isUnderWay ? 'running' : job.state === 'done' ? 'done' : 'failed',
    shards: shards.map((replicas, shard) => replicas.map((replica) => shown(shard, replica))),
  };
}

function stateOf(replicas: readonly ReplicaPurge[]): CollectionPurge['state'] {
  const is = (...states: string[]): boolean => replicas.some(({ state }) => states.includes(state));
  if (is('running')) return 'running';
  if (is('failed', 'unknown')) return 'failed';
  return is('none') ? 'none' : 'done';
}
