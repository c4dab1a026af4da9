import {
  assignmentFromEntry,
  assignmentPath,
  isComplete,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { KnownAssignments } from './known-assignments';

/** How long the data of a replica that was moved away are kept: time for an operator to see that a move went wrong. */
const KEEP_MOVED_MS = 600_000;

export interface ReplicaRemovalsOptions {
  nodeId: string;
  store: Pick<ClusterStore, 'get'>;
  /** Removes what a replica has on the disk. */
  removeReplica: (id: ShardId) => Promise<void>;
  known: KnownAssignments;
  /** See NodeAgentOptions. */
  promisedEpoch: (id: ShardId) => Promise<number | null>;
  /** Whether the shard (by its path) is to be here. */
  isHere: (key: string) => boolean;
  /** By default KEEP_MOVED_MS. */
  keepMovedMs?: number;
  log: Logger;
}

/**
 * What happens to the data of shards that are not, or no longer, to be on this node: they are closed, kept for a while,
 * and removed. One thing at a time happens to a shard's data, and whoever opens them waits for it.
 */
export class ReplicaRemovals {
  /** By path, replicas that have moved away and whose data are still there. */
  private readonly moved = new Map<string, { id: ShardId; timer: NodeJS.Timeout }>();
  /** By path, the end of what is under way. */
  private readonly underWay = new Map<string, Promise<void>>();
  private closed = false;

  constructor(private readonly options: ReplicaRemovalsOptions) {}

  close(): void {
    this.closed = true;
    for (const { timer } of this.moved.values()) clearTimeout(timer);
  }

  /** Replicas whose data are kept for a while. */
  kept(): ShardId[] {
    return [...this.moved.values()].map(({ id }) => id);
  }

  /** Resolves when nothing is under way that was begun before. */
  async settled(key: string): Promise<void> {
    await this.underWay.get(key);
  }

  /** Does something to the data of a shard, after what is under way there. `act` never rejects. */
  next(key: string, act: () => Promise<void>): Promise<void> {
    const acted = this.settled(key)
      .then(act)
      .finally(() => {
        if (this.underWay.get(key) === acted) this.underWay.delete(key);
      });
    this.underWay.set(key, acted);
    return acted;
  }

  /** Removes the data after a while, unless the shard is to be here again by then, or may be needed. */
  later(id: ShardId): void {
    const key = assignmentPath(id);
    this.cancel(key);
    if (this.closed || this.options.isHere(key)) return;
    const timer = setTimeout(() => {
      this.moved.delete(key);
      this.removeIfUnwanted(id).catch((error: unknown) => {
        this.options.log.warn(
          { error, ...id },
          'whether a replica is still wanted could not be found out; it stays for now',
        );
        this.later(id);
      });
    }, this.options.keepMovedMs ?? KEEP_MOVED_MS);
    timer.unref();
    this.moved.set(key, { id, timer });
  }

  cancel(key: string): void {
    clearTimeout(this.moved.get(key)?.timer);
    this.moved.delete(key);
  }

  /** Removes the data, unless the shard is to be here when their turn comes. Never rejects. */
  now(id: ShardId): Promise<void> {
    const { log, removeReplica, isHere } = this.options;
    const key = assignmentPath(id);
    this.cancel(key);
    return this.next(key, async () => {
      if (isHere(key)) return;
      await removeReplica(id)
        .then(() =>
          log.info({ collectionUid: id.collectionUid, shard: id.shard }, 'the data of a replica were removed'),
        )
        .catch((error: unknown) => log.error({ error, ...id }, 'the data of a replica could not be removed'));
    });
  }

  /**
   * Asks the cluster store itself, not the map: a wrong answer here would cost data. Errors: unavailable,
   * storage_failed.
   */
  private async removeIfUnwanted(id: ShardId): Promise<void> {
    const { nodeId, store, known, isHere, log } = this.options;
    const key = assignmentPath(id);
    const promisedEpoch = await this.promisedEpoch(id);
    const entry = await store.get(key);
    if (isHere(key)) return;
    if (entry === null) return this.later(id);
    const found = { assignment: assignmentFromEntry(entry), revision: entry.revision };
    const { assignment } = found;
    // An eligible replica may be outside the shard in a map that an earlier version made. And a map that was put back
    // may have a replica that this node knows to have moved away; it goes once the map was put right.
    if (assignment.replicas.includes(nodeId) || isComplete(assignment, nodeId)) return this.later(id);
    const isEarlier = promisedEpoch === null ? known.of(id) === null : promisedEpoch > assignment.epoch;
    if (known.judge(found) !== found || isEarlier) {
      log.error(
        { ...id, epoch: assignment.epoch, promisedEpoch },
        'the shard map does not give a shard to this node, but may be earlier than the data of it here; they stay',
      );
      this.later(id);
      return;
    }
    // So that an earlier map can't make this node begin the shard again, once the data are gone.
    known.learn(found);
    await known.settled();
    await this.now(id);
  }

  /** What the data have promised, read while nothing else happens to them. */
  private async promisedEpoch(id: ShardId): Promise<number | null> {
    let answer: Promise<number | null> = Promise.resolve(null);
    await this.next(assignmentPath(id), () => (answer = this.options.promisedEpoch(id)).then(nothing, nothing));
    return answer;
  }
}

function nothing(): void {}
