import type {
  ClusterStore,
  Guard,
  StoreChange,
  StoreEntry,
  StoreEvent,
  TransactionResult,
} from '../../../shared/cluster-store/cluster-store';
import {
  assignmentFromEntry,
  ASSIGNMENTS_PREFIX,
  assignmentToValue,
  isAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { ShardCell } from '../resharding/shard-cell';
import type { Shards } from '../resharding/simulated-shard-client';

/** The cluster store with the shard map in it, which in the simulation each shard has for itself. */
export class MapStore implements ClusterStore {
  constructor(
    private readonly store: ClusterStore,
    private readonly shards: Shards,
  ) {}

  async get(key: string): Promise<StoreEntry | null> {
    if (!isAssignment(key)) return this.store.get(key);
    const cell = this.cellOf(key);
    if (cell === null) return null;
    const { assignment, revision } = cell.around.etcd.current;
    // Nobody has placed it yet.
    return assignment.epoch === 0 ? null : { key, value: assignmentToValue(assignment), revision };
  }

  list(prefix: string): ReturnType<ClusterStore['list']> {
    return this.store.list(prefix);
  }

  async transact(guards: Guard[], changes: StoreChange[]): Promise<TransactionResult> {
    const [change] = changes;
    if (change === undefined || !isAssignment(change.key)) return this.store.transact(guards, changes);
    const cell = this.cellOf(change.key);
    const [guard] = guards;
    if (cell === null || change.type !== 'put' || guard.key !== change.key || guards.length + changes.length !== 2)
      throw new Error(`the simulation knows no such change of ${change.key}`);
    const result = cell.around.etcd.put('restore', {
      assignment: assignmentFromEntry(change),
      expectedRevision: guard.revision,
      requires: [],
    });
    return result.applied
      ? { applied: true, revision: result.revision }
      : { applied: false, current: [await this.get(change.key)] };
  }

  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void {
    return this.store.watch(prefix, afterRevision, listener);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private cellOf(key: string): ShardCell | null {
    const [collectionUid, shard] = key.slice(ASSIGNMENTS_PREFIX.length).split('/');
    const cell = this.shards.find({ collectionUid, shard: Number(shard) });
    return cell === 'dropped' ? null : cell;
  }
}
