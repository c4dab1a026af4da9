import { NODE_INTENTS_PREFIX, type NodeIntent } from '../../shared/cluster-store/entries/members';
import type { ClusterStore, StoreChange } from '../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { Clock } from '../../shared/base/time/clock';
import { endedJob, newJobId, paceOf, shareOf } from '../jobs/record/job-record';
import type { JobRights, JobView } from '../service/jobs-service';
import type { ClusterMap } from './cluster-map';
import type { DriverLeadership } from '../jobs/driving/owned-entry';

/** They tell of nodes. */
export const CLUSTER_RIGHTS: JobRights = { see: 'admin', change: 'admin' };
/** Every failed attempt means that another change was made. */
const ATTEMPTS_MAX = 16;

/** How far a drain is. */
interface DrainProgress {
  /** Replicas that the node holds yet. */
  left: number;
  waitsFor: string | null;
}

/** What operators want of nodes. Each drain is a job from when it is asked for until the node holds nothing. */
export class Drains {
  constructor(
    private readonly parts: {
      store: ClusterStore;
      map: Pick<ClusterMap, 'intents' | 'assignments' | 'behind'>;
      clock: Clock;
    },
  ) {}

  /** One that is under way, or over, stays the same. Errors: unavailable. */
  async begin(node: string): Promise<void> {
    await this.change(node, (present) => {
      if (present?.draining === true) return null;
      const wallMs = this.parts.clock.wallMs();
      const since = new Date(wallMs).toISOString();
      return { intent: { draining: true, since, held: this.heldBy(node), job: newJobId('drain', wallMs) } };
    });
  }

  /**
   * Takes back that the node is to hold nothing, whether it has come to that or not. `job`: only this drain, and only
   * while it is under way. Answers whether anything changed. Errors: unavailable.
   */
  giveUp(node: string, job?: string): Promise<boolean> {
    return this.change(node, (present) => {
      if (present?.draining !== true) return null;
      const isOver = present.endedAt !== undefined;
      if (job !== undefined && (isOver || job !== jobIdOf(node, present))) return null;
      return { intent: { draining: false }, changes: isOver ? [] : [this.ended(node, present, 'cancelled')] };
    });
  }

  /** Those that are under way, by node. */
  underWay(): { node: string; intent: NodeIntent }[] {
    return this.parts.map.intents
      .all()
      .filter(({ value }) => value.draining && value.endedAt === undefined)
      .map(({ key, value }) => ({ node: key.slice(NODE_INTENTS_PREFIX.length), intent: value }));
  }

  /** Ends those whose nodes hold nothing any more, as the controller. Errors: unavailable. */
  async noteDone(leadership: DriverLeadership): Promise<void> {
    const { map, store, clock } = this.parts;
    for (const { node, intent } of this.underWay()) {
      const { guard } = leadership;
      // An earlier map does not say what nodes hold.
      if (guard === null || map.behind().size > 0) return;
      const found = map.intents.get(NODE_INTENTS_PREFIX + node);
      if (found?.value !== intent || this.heldBy(node) > 0) continue;
      const value = JSON.stringify({ ...intent, endedAt: new Date(clock.wallMs()).toISOString() } satisfies NodeIntent);
      const { key, revision } = found;
      const result = await store.transact(
        [{ key, revision }, guard],
        [{ type: 'put', key, value }, this.ended(node, intent, 'done')],
      );
      if (result.applied) map.intents.put({ key, value, revision: result.revision });
    }
  }

  /** How many replicas the map gives it. */
  heldBy(node: string): number {
    return this.parts.map.assignments.all().filter(({ value }) => value.replicas.includes(node)).length;
  }

  private ended(node: string, intent: NodeIntent, state: 'done' | 'cancelled'): StoreChange {
    const wallMs = this.parts.clock.wallMs();
    const left = state === 'done' ? 0 : this.heldBy(node);
    return endedJob(drainJob(node, intent, { left, waitsFor: null }, wallMs), { state }, wallMs);
  }

  /** `make` answers null where nothing is to change. Answers whether anything did. */
  private async change(
    node: string,
    make: (present: NodeIntent | null) => { intent: NodeIntent; changes?: StoreChange[] } | null,
  ): Promise<boolean> {
    const { store, map } = this.parts;
    const key = NODE_INTENTS_PREFIX + node;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const entry = await store.get(key);
      const wanted = make(entry === null ? null : readable(entry.value));
      if (wanted === null) return false;
      const value = JSON.stringify(wanted.intent);
      const result = await store.transact(
        [{ key, revision: entry?.revision ?? 0 }],
        [{ type: 'put', key, value }, ...(wanted.changes ?? [])],
      );
      if (!result.applied) continue;
      map.intents.put({ key, value, revision: result.revision });
      return true;
    }
    throw new QuiverError('unavailable', 'the cluster store is too busy; the call may be retried');
  }
}

/** A drain that is under way, as a job. */
export function drainJob(node: string, intent: NodeIntent, { left, waitsFor }: DrainProgress, wallMs: number): JobView {
  const { since = '', held = left } = intent;
  const total = Math.max(held, left);
  const done = total - left;
  return {
    id: jobIdOf(node, intent),
    kind: 'drain',
    state: 'running',
    step: null,
    collection: null,
    subject: node,
    progress: left === 0 ? 1 : shareOf(done, total),
    done,
    total,
    unit: 'replicas',
    ...paceOf({ done, total }, since === '' ? null : { ms: Date.parse(since), done: 0 }, wallMs),
    createdAt: since,
    startedAt: since === '' ? null : since,
    endedAt: null,
    error: null,
    waitsFor,
    result: null,
    rights: CLUSTER_RIGHTS,
  };
}

/** An earlier version gave it none. */
function jobIdOf(node: string, { job }: NodeIntent): string {
  return job ?? `drain-${node}`;
}

/** null: it can't be read, so it says nothing. */
function readable(value: string): NodeIntent | null {
  try {
    return JSON.parse(value) as NodeIntent | null;
  } catch {
    return null;
  }
}
