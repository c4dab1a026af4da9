import { NODE_INTENTS_PREFIX } from '../../shared/cluster-store/entries/members';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { JobRights, JobView } from '../service/jobs-service';
import { paceOf, shareOf } from '../jobs/record/job-record';
import type { JobSource } from '../jobs/record/job-source';
import type { Clock } from '../../shared/base/time/clock';
import type { ClusterMap } from './cluster-map';
import type { ClusterView, NodeView, OperationsService } from './operations/operations-service';

/** They tell of nodes. */
const RIGHTS: JobRights = { see: 'admin', change: 'admin' };

/**
 * What the controller does by the shard map, as jobs: nodes that are drained, and shards that move. The map is all that
 * is stored.
 */
export class ClusterJobs implements JobSource {
  readonly kinds = ['drain', 'move'];

  constructor(
    private readonly parts: {
      map: Pick<ClusterMap, 'intents'>;
      clock: Clock;
      operations: Pick<OperationsService, 'cluster' | 'undrain'>;
    },
  ) {}

  async list(): Promise<JobView[]> {
    const { nodes, moves } = await this.parts.operations.cluster();
    return [...nodes.flatMap((node) => this.drainOf(node)), ...moves.map(moveJob)];
  }

  async get(id: string): Promise<JobView | null> {
    if (!/^(?:drain|move)-/.test(id)) return null;
    return (await this.list()).find((job) => job.id === id) ?? null;
  }

  async cancel(id: string): Promise<JobView | null> {
    const job = await this.get(id);
    if (job === null) return null;
    if (job.kind === 'move')
      throw new QuiverError(
        'conflict',
        `job ${id} can’t be cancelled: the controller moves shards to where they belong; it follows from the nodes and their drains`,
      );
    await this.parts.operations.undrain(job.subject);
    return { ...job, state: 'cancelled', endedAt: new Date(this.parts.clock.wallMs()).toISOString() };
  }

  async pause(id: string): Promise<JobView | null> {
    const job = await this.get(id);
    if (job === null) return null;
    throw new QuiverError(
      'invalid_parameter',
      `job ${id} can’t be paused: a ${job.kind} goes on as the shard map says`,
    );
  }

  resume(id: string): Promise<JobView | null> {
    return this.pause(id);
  }

  private drainOf({ id, state, primaries, replicas }: NodeView): JobView[] {
    const intent = this.parts.map.intents.get(NODE_INTENTS_PREFIX + id)?.value;
    if (intent?.draining !== true) return [];
    const left = primaries + replicas;
    const { since = '', held = left } = intent;
    const total = Math.max(held, left);
    const done = total - left;
    const isDone = left === 0;
    return [
      {
        ...NOTHING_SAID,
        id: `drain-${id}`,
        kind: 'drain',
        state: isDone ? 'done' : 'running',
        subject: id,
        progress: isDone ? 1 : shareOf(done, total),
        done,
        total,
        unit: 'replicas',
        ...paceOf(
          { done, total },
          isDone || since === '' ? null : { ms: Date.parse(since), done: 0 },
          this.parts.clock.wallMs(),
        ),
        createdAt: since,
        startedAt: since === '' ? null : since,
        waitsFor: state === 'down' && !isDone ? `node ${id}, which is down` : null,
      },
    ];
  }
}

const NOTHING_SAID = {
  step: null,
  collection: null,
  endedAt: null,
  error: null,
  waitsFor: null,
  result: null,
  perSecond: null,
  secondsLeft: null,
  rights: RIGHTS,
};

/** It is of no collection: who may use that may not learn of nodes. */
function moveJob({ collection, shard, from, to, phase, progress }: ClusterView['moves'][number]): JobView {
  return {
    ...NOTHING_SAID,
    id: `move-${collection}-${shard}-${to === '' ? from : to}`,
    kind: 'move',
    state: 'running',
    step: phase,
    subject: `shard ${shard} of ${collection}${from === '' ? '' : ` from ${from}`}${to === '' ? '' : ` to ${to}`}`,
    progress,
    done: progress,
    total: 1,
    unit: 'shards',
    createdAt: '',
    startedAt: null,
  };
}
