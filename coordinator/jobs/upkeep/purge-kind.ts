import { setTimeout as sleep } from 'node:timers/promises';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { ReplicaPurge } from '../../../shared/contract/shard/shard-purge';
import {
  isUnderWay,
  reshardFromEntry,
  reshardJobId,
  reshardPath,
  type ReshardRecord,
} from '../../service/collections/reshard-record';
import type { PurgeLook, ShardUpkeep } from '../../service/collections/shard-upkeep';
import type { JobRights } from '../../service/jobs-service';
import type { JobKind, RunningJob } from '../record/job-kind';
import type { JobRecord } from '../record/job-record';

export const PURGE = 'purge';
/** Between two looks at the replicas. */
const CHECK_MS = 1_000;
/** A replica that fails so many looks in a row failed for good: one that is closed meanwhile says so only once. */
const FAILED_LOOKS = 3;

export interface PurgeInput {
  /** Of the collection. */
  identity: string;
  /** How often it was asked for: what was deleted before the last time is to be purged. */
  asked: number;
  /** The replicas that began when it was asked for the last time, and of which set of shards. */
  uid: string;
  started: string[];
}

/** What one run leaves to the next. Replicas are named by `replicaKey`. */
export interface PurgeNotes {
  asked: number;
  uid: string;
  /** Those that began since it was asked for. */
  started: string[];
  /** Those that are done, with their bytes before and after. */
  done: Record<string, [before: number, after: number]>;
}

/**
 * Has every replica of a collection purged. A replica that loses its purge, because its node stops, begins again. While
 * another set of shards takes over, which may have copied what was deleted since, it is not done: once that is over,
 * the shards that stay are purged, if they are others.
 */
export class PurgeKind implements JobKind {
  readonly kind = PURGE;
  readonly rights: JobRights = { see: 'admin', change: 'admin' };
  /** One that waits for a node must not hold up the others. */
  readonly atOnce = 16;
  readonly unpausable = 'nodes go on with what they have begun; cancel it, and no more of them begin';

  constructor(private readonly parts: { upkeep: ShardUpkeep; store: Pick<ClusterStore, 'get'>; lookMs?: number }) {}

  async run(job: RunningJob, stop: AbortSignal): Promise<object> {
    const { upkeep, lookMs = CHECK_MS } = this.parts;
    const input = job.record.input as PurgeInput;
    const name = job.record.collection!;
    let known = notesOf(job.record);
    for (let failedLooks = 0; ;) {
      const collection = await upkeep.find(name, input.identity);
      // Before the look: one that begins later copies nothing that was deleted before this purge was asked for.
      const reshard = await this.reshardOf(input.identity);
      let look = await upkeep.purge(collection, () => false);
      known = judged(known, look);
      const toBegin = shardsToBegin(known, look);
      if (toBegin.size > 0) {
        const { uid } = look;
        look = await upkeep.purge(collection, (current, shard) => current === uid && toBegin.has(shard));
        known = begun(judged(known, look), look, toBegin);
        // Whoever drives next asks no replica twice.
        await job.note(progressOf(known, look, reshard));
      } else job.report(progressOf(known, look, reshard));
      const left = replicasOf(look).filter(({ key }) => known.done[key] === undefined);
      if (left.length === 0 && reshard === null) return resultOf(known, look);
      const isOver = left.every(({ state }) => state === 'failed' || state === 'unknown');
      failedLooks = isOver && left.some(({ state }) => state === 'failed') ? failedLooks + 1 : 0;
      if (failedLooks === FAILED_LOOKS)
        throw new QuiverError(
          'conflict',
          `not all of it is purged; purge it again (${left.map(troubleOf).join('; ')})`,
        );
      await sleep(lookMs, undefined, { signal: stop });
    }
  }

  /** That of the collection, where it is under way. */
  private async reshardOf(identity: string): Promise<ReshardRecord | null> {
    const entry = await this.parts.store.get(reshardPath(identity));
    const reshard = entry === null ? null : reshardFromEntry(entry);
    return reshard !== null && isUnderWay(reshard) ? reshard : null;
  }
}

export function notesOf({ input, notes }: Pick<JobRecord, 'input' | 'notes'>): PurgeNotes {
  const { asked, uid, started } = input as PurgeInput;
  const known = notes as PurgeNotes | null;
  return known?.asked === asked ? known : { asked, uid, started, done: {} };
}

export function replicaKey(shard: number, node: string): string {
  return `${shard}/${node}`;
}

/** Those whose purge is under way, and so holds nothing that was deleted before the look. */
export function runningOf(look: PurgeLook): string[] {
  return replicasOf(look).flatMap(({ key, state }) => (state === 'running' ? [key] : []));
}

type Replica = ReplicaPurge & { key: string; shard: number };

function replicasOf({ shards }: PurgeLook): Replica[] {
  return shards.flatMap((replicas, shard) =>
    replicas.map((replica) => ({ ...replica, shard, key: replicaKey(shard, replica.node) })),
  );
}

/** With those that are done. Other shards, after a reshard, begin again. */
function judged(notes: PurgeNotes, look: PurgeLook): PurgeNotes {
  const known = notes.uid === look.uid ? notes : { ...notes, uid: look.uid, started: [], done: {} };
  const done = replicasOf(look).flatMap(({ key, state, bytesBefore, bytesAfter }) =>
    state === 'done' && known.done[key] === undefined && known.started.includes(key)
      ? [[key, [bytesBefore, bytesAfter]]]
      : [],
  );
  return { ...known, done: { ...known.done, ...(Object.fromEntries(done) as PurgeNotes['done']) } };
}

/** Shards with a replica that has not begun since it was asked for, or has lost what it began. */
function shardsToBegin({ started, done }: PurgeNotes, look: PurgeLook): Set<number> {
  const begins = ({ key, state }: Replica): boolean =>
    done[key] === undefined && state !== 'unknown' && (state === 'none' || !started.includes(key));
  return new Set(replicasOf(look).flatMap((replica) => (begins(replica) ? [replica.shard] : [])));
}

function begun(notes: PurgeNotes, look: PurgeLook, shards: ReadonlySet<number>): PurgeNotes {
  const running = replicasOf(look).filter(({ shard, state }) => shards.has(shard) && state === 'running');
  return { ...notes, started: [...new Set([...notes.started, ...running.map(({ key }) => key)])] };
}

function progressOf(notes: PurgeNotes, look: PurgeLook, reshard: ReshardRecord | null) {
  const replicas = replicasOf(look);
  const left = replicas.filter(({ key }) => notes.done[key] === undefined);
  const away = left.filter(({ state }) => state === 'unknown').map(({ node }) => node);
  return {
    done: replicas.length - left.length,
    total: replicas.length,
    step: left.find(({ state }) => state === 'running')?.step ?? null,
    waitsFor:
      away.length > 0
        ? `nodes that do not answer: ${[...new Set(away)].sort().join(', ')}`
        : left.length === 0 && reshard !== null
          ? shardsText(reshard)
          : null,
    notes,
  };
}

/** What is to be over first. */
function shardsText(reshard: ReshardRecord): string {
  const job = reshardJobId(reshard);
  if (reshard.state !== 'kept') return `job ${job}, which gives the collection other shards`;
  return (
    `job ${job}, which keeps the vectors of before for a way back: ` +
    `POST /v1/jobs/${job}/switch with {"keep_hours": 0} gives them up`
  );
}

function resultOf({ done }: PurgeNotes, look: PurgeLook): object {
  const replicas = replicasOf(look);
  return {
    replicas: replicas.length,
    bytes_reclaimed: replicas.reduce((sum, { key }) => sum + Math.max(0, done[key][0] - done[key][1]), 0),
  };
}

function troubleOf({ shard, node, state, error }: Replica): string {
  const what = state === 'unknown' ? 'it does not answer' : error;
  return `shard ${shard}${node === '' ? '' : ` on ${node}`}: ${what}`;
}
