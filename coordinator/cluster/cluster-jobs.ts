import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { Clock } from '../../shared/base/time/clock';
import type { JobSource } from '../jobs/record/job-source';
import type { JobView } from '../service/jobs-service';
import { CLUSTER_RIGHTS, drainJob, type Drains } from './drains';
import type { ClusterView, OperationsService, ShardView } from './operations/operations-service';

/**
 * What the controller does by the shard map, as jobs: nodes that are drained, and shards that move. A drain that is
 * over is kept with the other jobs; of a move, the map is all that is stored.
 */
export class ClusterJobs implements JobSource {
  readonly kinds = ['drain', 'move'];

  constructor(
    private readonly parts: {
      drains: Pick<Drains, 'underWay' | 'heldBy' | 'giveUp'>;
      clock: Clock;
      operations: Pick<OperationsService, 'cluster'>;
    },
  ) {}

  async list(): Promise<JobView[]> {
    const { drains, clock, operations } = this.parts;
    const view = await operations.cluster();
    const wallMs = clock.wallMs();
    return [
      ...drains
        .underWay()
        .map(({ node, intent }) =>
          drainJob(node, intent, { left: drains.heldBy(node), waitsFor: drainWaitsFor(node, view) }, wallMs),
        ),
      ...view.moves.map((move) => moveJob(move, view)),
    ];
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
    if (!(await this.parts.drains.giveUp(job.subject, id))) return null;
    const endedAt = new Date(this.parts.clock.wallMs()).toISOString();
    return { ...job, state: 'cancelled', endedAt, waitsFor: null, perSecond: null, secondsLeft: null };
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
}

type Move = ClusterView['moves'][number];

/** It is of no collection: who may use that may not learn of nodes. */
function moveJob(move: Move, view: ClusterView): JobView {
  const { collection, shard, from, to, phase, progress } = move;
  return {
    // No name of a collection has a dot.
    id: `move-${collection}.${shard}.${to === '' ? from : to}`,
    kind: 'move',
    state: 'running',
    step: phase,
    collection: null,
    subject: `shard ${shard} of ${collection}${from === '' ? '' : ` from ${from}`}${to === '' ? '' : ` to ${to}`}`,
    progress,
    done: progress,
    total: 1,
    unit: 'shards',
    perSecond: null,
    secondsLeft: null,
    createdAt: '',
    startedAt: null,
    endedAt: null,
    error: null,
    waitsFor: moveWaitsFor(move, view),
    result: null,
    rights: CLUSTER_RIGHTS,
  };
}

/** null: it gets on, as far as is known here. */
function moveWaitsFor({ collection, shard, to }: Move, { nodes, shards }: ClusterView): string | null {
  if (nodes.some(({ id, state }) => id === to && state === 'down')) return `node ${to}, which is down`;
  const moved = shards.find((one) => one.collection === collection && one.shard === shard);
  return moved?.state === 'unavailable' ? unserved(moved) : null;
}

/** As `moveWaitsFor`: of the shards that do not move yet, the first that can't. */
function drainWaitsFor(node: string, { nodes, shards, moves }: ClusterView): string | null {
  const isMoving = ({ collection, shard }: ShardView): boolean =>
    moves.some((move) => move.collection === collection && move.shard === shard);
  for (const shard of shards) {
    const holders = [...shard.inSync, ...shard.learners.map((learner) => learner.node)];
    if (!holders.includes(node) || isMoving(shard)) continue;
    const isDown = nodes.some(({ id, state }) => id === node && state === 'down');
    if (shard.state === 'unavailable') return isDown ? `node ${node}, which is down` : unserved(shard);
    if (!nodes.some(({ id, state }) => state === 'up' && !holders.includes(id)))
      return `a node for shard ${shard.shard} of ${shard.collection}: each other one has a replica of it, drains or is down`;
  }
  return null;
}

function unserved({ collection, shard }: ShardView): string {
  return `shard ${shard} of ${collection}, which no node serves`;
}
