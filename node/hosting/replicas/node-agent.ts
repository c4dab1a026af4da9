import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LATER_ASSIGNMENTS_MAX, LATER_ASSIGNMENTS_PREFIX } from '../../../shared/cluster-store/entries/members';
import type { NodeReport } from '../../../shared/cluster-store/entries/node-report';
import {
  assignmentFromEntry,
  assignmentPath,
  ASSIGNMENTS_PREFIX,
  type KnownAssignment,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import { TOMBSTONES_PREFIX } from '../../../shared/cluster-store/entries/tombstones';
import { WatchedEntries } from '../../../shared/cluster-store/entries/watched-entries';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { LaterFormatError } from '../../engine/files/later-format';
import { type ErrorKind, isDamage, isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { beingFilled } from '../../../shared/contract/shard/shard-backup';
import type { ShardId, ShardSpec } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { unlessStopped } from '../../../shared/base/time/deadline';
import { Waiters } from '../../../shared/base/time/waiters';
import type { AppendAck, AppendMessage } from '../../replication/core/messages';
import type { ReplicationReceiver } from '../../replication/links/replication-links';
import { shardOfFolder } from '../../replication/shard-copy';
import type { NodeCall } from '../../replication/node-shards';
import type { ReplicaObservation } from '../../engine/shard/shard-observation';
import { allEnded, lookAt, openAt, ShardLifecycle } from '../../engine/shard/opening/shard-lifecycle';
import { type HostedReplica, observationOf, reportOf } from './hosted-replica';
import type { KnownAssignments } from './known-assignments';
import { ReplicaRemovals } from './replica-removals';

/** How long a stop waits for others to take over the shards that this node leads. */
const HANDOVER_MS = 5_000;
/**
 * A replica that met an entry of a later version is tried again after this. It helps once the primary's log no longer
 * has the entry, and each attempt loads a shard; most often this process is replaced before.
 */
const LATER_FORMAT_RETRY_MS = 300_000;
/** What a restored shard fails with that no other attempt will fill, either. */
const UNUSABLE: ReadonlySet<ErrorKind> = new Set(['invalid_parameter', 'storage_damaged', 'internal']);

/** What an operator can do about a shard of which this node has the only replica that counts. */
const WAYS_OUT =
  'stop the node and put them back from a copy, or delete the collection and restore it from a backup ' +
  '(docs/operations.md)';

export interface NodeAgentOptions {
  nodeId: string;
  store: ClusterStore;
  /** Where the shards are: `shards/<collection uid>/<shard>` under it. */
  folder: string;
  /** `assignment`: that by which it is opened. `ended`: aborted when it is not to be open any more. */
  openReplica: (spec: ShardSpec, assignment: ShardAssignment | null, ended: AbortSignal) => Promise<HostedReplica>;
  /** Most replicas open at once; what the map gives beyond is not opened before there is room. */
  openReplicasMax: number;
  /** Removes what a replica has on the disk. */
  removeReplica: (id: ShardId) => Promise<void>;
  /** How long the data of a replica that was moved away are kept; as in ReplicaRemovals by default. */
  keepMovedMs?: number;
  /** Tells the cluster which shards (by path) are given to this node and can't be served by it. */
  publishFailures: (paths: string[]) => void;
  known: KnownAssignments;
  /**
   * The highest epoch that a replica's data on the disk have promised to follow; 0 without data, null when that can't
   * be told.
   */
  promisedEpoch: (id: ShardId) => Promise<number | null>;
  /** Tells the cluster the assignments that this node knows, where the shard map holds earlier ones. */
  publishLater: (later: KnownAssignment[]) => void;
  clock: Clock;
  log: Logger;
}

/**
 * Holds the replicas that the shard map gives to this node: tells them of changes, hands over what it leads when it is
 * to stop, and removes data, but only what a tombstone or a later assignment says is not wanted any more.
 *
 * A cluster store that was restored from a backup may hold an earlier assignment than this node knows. Then the known
 * one stays in force here until the map has a later one, and the node tells the cluster of it.
 *
 * A place is there because the map says so: its shard is tried again also when it never was open, and calls wait for it
 * until their deadline, because the next map may send them elsewhere.
 */
export class NodeAgent implements ReplicationReceiver {
  private readonly options: NodeAgentOptions;
  private readonly assignments: WatchedEntries<ShardAssignment>;
  private readonly tombstones: WatchedEntries<string>;
  /** What other members know, where the map holds something earlier. */
  private readonly later: WatchedEntries<KnownAssignment[]>;
  private readonly lifecycles = new Map<string, ShardLifecycle<HostedReplica>>();
  /** Of the ids in beats, so that no text is made for each member of each beat. */
  private readonly paths = new WeakMap<ShardId, string>();
  private readonly waiters: Waiters;
  private readonly removals: ReplicaRemovals;
  private closed = false;

  constructor(options: NodeAgentOptions) {
    this.options = options;
    this.waiters = new Waiters(options.clock);
    this.removals = new ReplicaRemovals({ ...options, isHere: (key) => this.lifecycles.has(key) });
    const { store, log } = options;
    const onUnreadable = (error: unknown): void =>
      log.error({ error }, 'an entry of the cluster store is unreadable and left out');
    this.assignments = new WatchedEntries({
      store,
      prefix: ASSIGNMENTS_PREFIX,
      decode: assignmentFromEntry,
      onUnreadable,
    });
    this.tombstones = new WatchedEntries({
      store,
      prefix: TOMBSTONES_PREFIX,
      decode: (entry) => entry.value,
      onUnreadable,
    });
    this.later = new WatchedEntries({
      store,
      prefix: LATER_ASSIGNMENTS_PREFIX,
      decode: (entry) => JSON.parse(entry.value) as KnownAssignment[],
      onUnreadable,
    });
  }

  /**
   * Opens what the map gives to this node and follows it. Resolves when all of it was tried once, but for what is
   * filled from a backup: that serves nobody, and may take hours, in which the other replicas would count as away.
   * Errors: unavailable, also when `ending` is aborted meanwhile.
   */
  async start(ending: AbortSignal): Promise<void> {
    const watched = [this.assignments, this.tombstones, this.later];
    await Promise.all(watched.map((entries) => entries.follow()));
    for (const entries of watched) entries.onChange(() => this.apply());
    this.apply();
    await this.removeLeftovers();
    const tried = [...this.lifecycles.values()]
      .filter(({ spec }) => spec.seed === undefined)
      .map(({ ready }) => ready.catch(() => undefined));
    await unlessStopped(
      Promise.all(tried),
      ending,
      () => new QuiverError('unavailable', 'the process was asked to end'),
    );
  }

  /**
   * Gives the lead of every shard to another replica where there is one in sync; resolves when that is done or takes
   * too long.
   */
  async handOver(): Promise<void> {
    const leads = ({ replica }: HostedReplica): boolean => replica.status().role === 'primary';
    const able = openAt(this.lifecycles.values()).filter(
      (hosted) => leads(hosted) && (hosted.replica.assignment?.inSync.length ?? 0) > 1,
    );
    for (const { replica } of able) replica.handOver(null);
    const deadlineMs = this.options.clock.monotonicMs() + HANDOVER_MS;
    while (able.some(leads) && this.options.clock.monotonicMs() < deadlineMs)
      await new Promise((wake) => setTimeout(wake, 20));
  }

  async close(): Promise<void> {
    this.closed = true;
    this.removals.close();
    this.assignments.close();
    this.tombstones.close();
    this.later.close();
    this.waiters.wake();
    // One that fails keeps none of the others from being closed whole.
    try {
      await allEnded([...this.lifecycles.values()].map((lifecycle) => lifecycle.end('closed')));
    } finally {
      await this.options.known.settled();
    }
  }

  /**
   * The replica for a call, waiting for it within the deadline when the map gives it to this node. Errors: misrouted,
   * unavailable.
   */
  async find(id: ShardId, call: NodeCall): Promise<HostedReplica> {
    for (;;) {
      if (this.closed) throw new QuiverError('misrouted', 'the node is shutting down');
      const hosted = this.hosted(id);
      if (hosted !== null) return hosted;
      const { spec, failure, state } = this.lifecycles.get(assignmentPath(id)) ?? {};
      // A backup that can't be used: whoever restores the shard has to hear of it.
      if (spec?.seed !== undefined && isQuiverError(failure) && UNUSABLE.has(failure.kind)) throw failure;
      const known = this.inForce(assignmentPath(id))?.assignment;
      // No other replica can take its place: whoever waits, waits in vain.
      if (isDamage(failure) && known !== undefined && isAlone(known, this.options.nodeId))
        throw new QuiverError('storage_damaged', `${failure.message}; ${WAYS_OUT}`, {
          cause: failure,
          details: failure.details,
        });
      const isMine = known?.replicas.includes(this.options.nodeId) ?? false;
      // The caller may know more than this node: it waits for the map to catch up.
      if (!isMine && known !== undefined && call.epoch <= known.epoch)
        throw new QuiverError('misrouted', `shard ${id.shard} is not on this node`);
      if (this.isDropped(id.collectionUid))
        throw new QuiverError('not_found', `shard ${id.shard} of collection ${id.collectionUid} does not exist`);
      if (await this.waiters.next(call.deadlineMs)) continue;
      if (spec?.seed !== undefined && state === 'opening') throw beingFilled(id.shard);
      const why =
        spec?.seed !== undefined && isQuiverError(failure) ? `: ${failure.message}` : '; the call may be retried';
      throw new QuiverError('unavailable', `shard ${id.shard} is not open on this node${why}`);
    }
  }

  onAppend(shard: ShardId, message: AppendMessage, nowMs?: number): void {
    (nowMs === undefined ? this.hosted(shard) : this.hostedOfBeat(shard))?.replica.received(message, nowMs);
  }

  onAck(shard: ShardId, ack: AppendAck, nowMs?: number): void {
    (nowMs === undefined ? this.hosted(shard) : this.hostedOfBeat(shard))?.replica.acknowledged(ack, nowMs);
  }

  onStreamStarted(node: string): void {
    for (const { open } of this.lifecycles.values()) open?.replica.streamStarted(node);
  }

  /** The open replica of a shard, null when there is none at the moment. */
  hosted(id: ShardId): HostedReplica | null {
    return this.lifecycles.get(assignmentPath(id))?.open ?? null;
  }

  /** As `hosted`, for an id that comes again with every beat. */
  private hostedOfBeat(id: ShardId): HostedReplica | null {
    let path = this.paths.get(id);
    if (path === undefined) this.paths.set(id, (path = assignmentPath(id)));
    return this.lifecycles.get(path)?.open ?? null;
  }

  openReplicas(): HostedReplica[] {
    return openAt(this.lifecycles.values());
  }

  async report(): Promise<NodeReport> {
    return { shards: await lookAt(this.lifecycles.values(), reportOf) };
  }

  /** The open replicas, for the metrics. */
  observe(): Promise<ReplicaObservation[]> {
    return lookAt(this.lifecycles.values(), observationOf);
  }

  /** The assignments in force of the replicas that the map gives to this node. */
  assigned(): ShardAssignment[] {
    return [...this.lifecycles.keys()].flatMap((path) => this.inForce(path)?.assignment ?? []);
  }

  /** Replicas that the map gives to this node. */
  get replicaCount(): number {
    return this.lifecycles.size;
  }

  /** Replicas that the map gives to this node and that are not open, most likely because their disk fails. */
  get closedReplicas(): number {
    return this.lifecycles.size - openAt(this.lifecycles.values()).length;
  }

  /** A replica that failed: closed, and opened again after a while. */
  failed(id: ShardId, error: Error): void {
    this.lifecycles.get(assignmentPath(id))?.reopen(error instanceof LaterFormatError ? LATER_FORMAT_RETRY_MS : 0);
  }

  /** Brings the places to what the map says. */
  private apply(): void {
    if (this.closed) return;
    const { known } = this.options;
    this.forgetDropped();
    this.learnFromOthers();
    for (const { key, value, revision } of this.assignments.all()) {
      const found = known.judge({ assignment: value, revision });
      const { assignment } = found;
      const isMine = assignment.replicas.includes(this.options.nodeId);
      let lifecycle = this.lifecycles.get(key);
      if (isMine || lifecycle !== undefined) known.learn(found);
      if (isMine && lifecycle === undefined && !this.isDropped(assignment.spec.collectionUid)) {
        this.removals.cancel(key);
        lifecycle = this.placeFor(key, assignment.spec);
        this.lifecycles.set(key, lifecycle);
      }
      if (isMine) lifecycle?.open?.replica.assigned(assignment, found.revision);
      else if (lifecycle !== undefined) {
        const { spec } = lifecycle;
        this.options.log.info({ ...spec }, 'a replica has moved away');
        void this.end(key, lifecycle, 'closed').then(() => this.removals.later(spec));
      }
    }
    this.options.publishLater(known.later().slice(0, LATER_ASSIGNMENTS_MAX));
    for (const [key, lifecycle] of this.lifecycles) {
      if (this.isDropped(lifecycle.spec.collectionUid))
        void this.end(key, lifecycle, 'dropped').then(() => this.removals.now(lifecycle.spec));
    }
    for (const id of this.removals.kept()) if (this.isDropped(id.collectionUid)) void this.removals.now(id);
    this.waiters.wake();
  }

  /** That by which this node acts; null if the map has nothing of the shard. */
  private inForce(key: string): KnownAssignment | null {
    const found = this.assignments.get(key);
    return found === null ? null : this.options.known.judge({ assignment: found.value, revision: found.revision });
  }

  /** What this node was not there to see: what others know of shards that it holds, or is given. */
  private learnFromOthers(): void {
    const { known, nodeId } = this.options;
    for (const found of this.later.all().flatMap(({ value }) => value)) {
      const { spec } = found.assignment;
      if (this.isDropped(spec.collectionUid)) continue;
      const path = assignmentPath(spec);
      const isHere =
        this.lifecycles.has(path) ||
        [found.assignment, this.assignments.get(path)?.value].some((assignment) =>
          assignment?.replicas.includes(nodeId),
        );
      if (isHere) known.learn(found);
    }
  }

  private forgetDropped(): void {
    const { known, log } = this.options;
    for (const id of known.shards()) {
      if (!this.isDropped(id.collectionUid)) continue;
      known
        .forget(id)
        .catch((error: unknown) =>
          log.warn({ error, ...id }, 'what this node knew of a dropped shard could not be removed'),
        );
    }
  }

  private placeFor(key: string, spec: ShardSpec): ShardLifecycle<HostedReplica> {
    const { log, openReplica, openReplicasMax } = this.options;
    return new ShardLifecycle<HostedReplica>(spec, {
      pausesFirst: true,
      open: async (ended) => {
        await this.removals.settled(key);
        // The files that one more would open are those by which the node is reached.
        const busy = [...this.lifecycles].filter(([other, { state }]) => other !== key && state !== 'failed').length;
        if (busy >= openReplicasMax)
          throw new QuiverError(
            'storage_failed',
            `this node holds ${openReplicasMax} replicas, as many as its limit of open files (ulimit -n) allows`,
          );
        const assignment = this.inForce(key)?.assignment ?? null;
        // What it began with may be less than it holds by now.
        return openReplica(assignment?.spec ?? spec, assignment, ended);
      },
      onOpened: ({ replica }) => {
        this.publishFailures();
        const known = this.inForce(key);
        if (known !== null) replica.assigned(known.assignment, known.revision);
        this.waiters.wake();
      },
      onFailed: (error, retryMs) => {
        log.error({ error, ...spec, retryMs }, 'a replica cannot be opened; it is tried again');
        this.publishFailures();
      },
      closeFailed: (hosted) => {
        this.publishFailures();
        return hosted
          .close('closed')
          .catch((error: unknown) => log.error({ error, ...spec }, 'a failed replica did not close'));
      },
    });
  }

  /** Others may lead meanwhile. */
  private publishFailures(): void {
    this.options.publishFailures([...this.lifecycles].filter(([, { isFailing }]) => isFailing).map(([path]) => path));
  }

  private end(key: string, lifecycle: ShardLifecycle<HostedReplica>, reason: 'closed' | 'dropped'): Promise<void> {
    this.lifecycles.delete(key);
    this.publishFailures();
    const ended = lifecycle
      .end(reason)
      .catch((error: unknown) => this.options.log.error({ error, ...lifecycle.spec }, 'a replica did not close'));
    return this.removals.next(key, () => ended);
  }

  /** What lies on the disk without a place: moved away or dropped while this node was down. */
  private async removeLeftovers(): Promise<void> {
    const shards = join(this.options.folder, 'shards');
    for (const collectionUid of await readdir(shards).catch(() => [])) {
      const found = new Set((await readdir(join(shards, collectionUid)).catch(() => [])).map(shardOfFolder));
      for (const shard of found) {
        if (shard === null) continue;
        const id = { collectionUid, shard };
        if (this.lifecycles.has(assignmentPath(id))) continue;
        if (this.isDropped(collectionUid)) await this.removals.now(id);
        else if (this.assignments.get(assignmentPath(id)) !== null) this.removals.later(id);
        else this.options.log.warn({ ...id }, 'a shard on the disk is unknown to the cluster; it is left alone');
      }
    }
  }

  private isDropped(collectionUid: string): boolean {
    return this.tombstones.get(TOMBSTONES_PREFIX + collectionUid) !== null;
  }
}

/** Whether nobody but this node has all that was acknowledged. */
function isAlone({ inSync, eligible }: ShardAssignment, nodeId: string): boolean {
  return [...inSync, ...eligible].every(({ node }) => node === nodeId);
}
