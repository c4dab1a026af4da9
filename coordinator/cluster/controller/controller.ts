import { randomUUID } from 'node:crypto';
import type { ClusterStore, Guard } from '../../../shared/cluster-store/cluster-store';
import { NODES_PREFIX, storeOf } from '../../../shared/cluster-store/entries/members';
import { assignmentToValue } from '../../../shared/cluster-store/entries/shard-assignment';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { ClusterMap } from '../cluster-map';
import { planChanges } from '../placement/plan';
import type { Drains } from '../drains';
import type { ChangeReason, ClusterPicture, PlannedChange } from '../placement/planned-change';

/**
 * How often to look when no event arrives: often enough for changes that only need time to pass (a node that is away
 * for long).
 */
const CHECK_EVERY_MS = 500;
/**
 * If more than this share of the nodes vanish at once, the cluster store is suspected: it has lost sessions of living
 * members before. The nodes get a little longer to register again. A wrong promotion costs availability, never data.
 */
const SUSPICIOUS_SHARE = 1 / 3;
const SUSPICIOUS_GRACE_MS = 1_500;
/**
 * How old a plan may get while it is carried out. What is left of it is then decided again: of hundreds of changes in a
 * row, the last would rest on nodes as they were long ago.
 */
const PLAN_AGE_MAX_MS = 500;

/** Whether this coordinator is the controller, with the guard that makes the changes of a deposed controller fail. */
export interface ControllerLeadership {
  readonly guard: Guard | null;
}

/**
 * Carries out the plan for the cluster while this coordinator is the elected controller. Each change is one
 * transaction, guarded by the entry on which it was decided, by those of the nodes that it requires, and by the
 * leadership. Every coordinator runs one; only the elected one acts.
 */
export class Controller {
  private readonly store: ClusterStore;
  private readonly map: ClusterMap;
  private readonly leadership: ControllerLeadership;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly onChanged: (reason: ChangeReason) => void;
  private readonly drains: Pick<Drains, 'noteDone'> | null;
  private readonly stopListening: () => void;
  private readonly timer: NodeJS.Timeout;
  private readonly awaySinceMs = new Map<string, number>();
  private running: Promise<void> | null = null;
  private again = false;
  private closed = false;

  /** `onChanged` is called after every change that was made. `drains`: whose ends are noted; default: none are. */
  constructor(options: {
    store: ClusterStore;
    map: ClusterMap;
    leadership: ControllerLeadership;
    clock: Clock;
    log: Logger;
    onChanged?: (reason: ChangeReason) => void;
    drains?: Pick<Drains, 'noteDone'>;
  }) {
    this.store = options.store;
    this.map = options.map;
    this.leadership = options.leadership;
    this.clock = options.clock;
    this.log = options.log;
    this.onChanged = options.onChanged ?? (() => undefined);
    this.drains = options.drains ?? null;
    this.stopListening = this.map.onChange(() => this.look());
    this.timer = setInterval(() => this.look(), CHECK_EVERY_MS);
  }

  /** Looks at the cluster soon: at once, or after the look under way. */
  look(): void {
    if (this.closed) return;
    if (this.running !== null) {
      this.again = true;
      return;
    }
    this.running = this.carryOut()
      .catch((error: unknown) => this.log.warn({ error }, 'the controller could not finish its round; it is repeated'))
      .finally(() => {
        this.running = null;
        if (!this.again) return;
        this.again = false;
        // What was asked for meanwhile, such as the loss of leadership, comes first.
        setImmediate(() => this.look());
      });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.stopListening();
    clearInterval(this.timer);
    await this.running;
  }

  private async carryOut(): Promise<void> {
    this.noteAway();
    if (this.leadership.guard === null) return;
    const changes = planChanges(this.picture());
    const plannedMs = this.clock.monotonicMs();
    for (const change of changes) {
      const { guard } = this.leadership;
      if (guard === null || this.closed) return;
      if (this.clock.monotonicMs() - plannedMs > PLAN_AGE_MAX_MS) {
        this.again = true;
        return;
      }
      await this.make(change, guard);
    }
    await this.drains?.noteDone(this.leadership);
  }

  private async make(change: PlannedChange, leadership: Guard): Promise<void> {
    const assignment = { ...change.assignment, changeId: randomUUID() };
    const value = assignmentToValue(assignment);
    const guards = [{ key: change.path, revision: change.expectedRevision }, leadership];
    const { collectionUid, shard } = assignment.spec;
    for (const { node, store } of change.requires) {
      const member = this.map.nodes.get(NODES_PREFIX + node);
      if (member === null || storeOf(member.value, assignment.spec) !== store) return;
      guards.push({ key: member.key, revision: member.revision });
    }
    // Assign a shard only while its collection exists, and wants it: a collection that was deleted meanwhile must not
    // come back.
    if (change.expectedRevision === 0) {
      const set = this.map.shardSets().find(({ record }) => record.uid === collectionUid);
      // Somebody may be writing to its shards since the plan was made.
      if (set === undefined || (assignment.unused === true && !set.isNew)) return;
      guards.push({ key: set.key, revision: set.revision });
    }
    try {
      const result = await this.store.transact(guards, [{ type: 'put', key: change.path, value }]);
      if (!result.applied) return;
      this.map.assignments.put({ key: change.path, value, revision: result.revision });
    } catch (error) {
      // Whatever its outcome, the next round decides by the state that it finds then.
      if (!isQuiverError(error)) throw error;
      this.log.debug({ error, shard: change.path }, 'a change of the shard map was not confirmed');
      return;
    }
    this.onChanged(change.reason);
    const { epoch, primary, replicas, adding, removing } = assignment;
    this.log.info(
      {
        collectionUid,
        shard,
        reason: change.reason,
        epoch,
        primary: primary?.node ?? null,
        replicas,
        adding,
        removing,
      },
      'shard map changed',
    );
  }

  private picture(): ClusterPicture {
    const nowMs = this.clock.monotonicMs();
    const awayMs = new Map([...this.awaySinceMs].map(([id, sinceMs]) => [id, nowMs - sinceMs]));
    const members = this.map.nodes.all().map(({ value }) => value);
    const reprieved = this.reprieved(members.length, awayMs);
    return {
      collections: this.map.shardSets(),
      assignments: this.map.assignments.all().map(({ value, revision }) => ({ assignment: value, revision })),
      members: [...members, ...reprieved],
      reprieved: new Set(reprieved.map(({ id }) => id)),
      behind: new Set(this.map.behind().keys()),
      unreachable: this.map.unreachable(),
      failing: this.map.failing(),
      draining: this.map.draining(),
      awayMs,
    };
  }

  /** Nodes that count as present for a little longer, because too many vanished at the same time. */
  private reprieved(presentCount: number, awayMs: ReadonlyMap<string, number>): ClusterPicture['members'] {
    const justGone = [...awayMs].filter(([, ms]) => ms < SUSPICIOUS_GRACE_MS).map(([id]) => id);
    if (justGone.length < 2 || justGone.length <= (presentCount + justGone.length) * SUSPICIOUS_SHARE) return [];
    return justGone.flatMap((id) => this.map.ownSightOf(id) ?? []);
  }

  /** Records since when nodes that hold shards are away, by this process's clock. */
  private noteAway(): void {
    const nowMs = this.clock.monotonicMs();
    const present = new Set(this.map.nodes.all().map(({ value }) => value.id));
    const holders = this.map.holders();
    for (const id of holders) if (!present.has(id) && !this.awaySinceMs.has(id)) this.awaySinceMs.set(id, nowMs);
    for (const id of [...this.awaySinceMs.keys()]) if (present.has(id) || !holders.has(id)) this.awaySinceMs.delete(id);
  }
}
