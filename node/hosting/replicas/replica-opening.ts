import { join } from 'node:path';
import { shardKey } from '../../../shared/cluster-store/entries/members';
import {
  isSameReplica,
  mustHoldData,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import { isDamage, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ShardId, ShardSpec } from '../../../shared/contract/shard/shard-client';
import { shardNoteName, type StoreNotes } from '../../engine/kv/store-notes';
import type { ClosedShard } from '../../engine/shard/opening/noted-opening';
import type { ReplicatedShard } from './replicated-shard';
import type { ShardStores } from './shard-stores';

export interface ReplicaOpeningOptions {
  nodeId: string;
  stores: ShardStores;
  /** How far the data of each replica were; default: nothing is noted. */
  notes?: StoreNotes;
  /** `store`: the id of the store that the data are. `mayBeNew`: whether it is in order that there are none. */
  open: (
    spec: ShardSpec,
    assignment: ShardAssignment | null,
    store: string,
    mayBeNew: boolean,
    ended: AbortSignal,
  ) => Promise<ReplicatedShard>;
  /** A shard's store has another id than before: others have to be told. */
  onRenewed: () => void;
  log: Logger;
}

/**
 * Opens replicas, and begins one again, empty and as another store, when its data are gone or can't be believed: the
 * shard's primary then takes it for a new replica and sends a copy. That is done only while another replica is in sync;
 * the last one stays as it is and closed, for an operator to look at.
 */
export class ReplicaOpening {
  /** By shardKey, shards whose data turned out to be damaged while they were open; see `condemn`. */
  private readonly condemned = new Map<string, { epoch: number | null }>();

  constructor(private readonly options: ReplicaOpeningOptions) {}

  /** `assignment`: as last known, null when it is not. Errors: storage_failed, storage_damaged. */
  async open(
    spec: ShardSpec,
    assignment: ShardAssignment | null,
    ended = new AbortController().signal,
  ): Promise<ReplicatedShard> {
    const { stores } = this.options;
    const store = stores.idOf(spec);
    const key = shardKey(spec);
    const condemnation = this.condemned.get(key);
    const isCondemned =
      condemnation !== undefined && (condemnation.epoch === null || condemnation.epoch === assignment?.epoch);
    // A shard that is restored holds something from its first opening on.
    const wasHeld =
      spec.seed === undefined && assignment !== null && mustHoldData(assignment, { node: this.options.nodeId, store });
    if (await stores.isLost(spec, wasHeld)) {
      // Put back later, they would be those of a store that does not count any more.
      if (spec.seed === undefined && this.isLast(assignment, store))
        throw this.damaged(spec, 'the data of a replica are gone, and no other replica holds them');
      await this.renew(spec, assignment, 'the data of a replica are gone');
    } else if (isCondemned && this.isHeldElsewhere(assignment))
      await this.renew(spec, assignment, 'the data of a replica are damaged');
    try {
      // `attempt` notes the shard once it is open, so what is noted here and was not renewed just now has held
      // something.
      const opened = await this.attempt(spec, assignment, !stores.isKnown(spec) || stores.idOf(spec) !== store, ended);
      // What was not carried out must not hit what these data become, unless damage was found again just now.
      if (this.condemned.get(key) === condemnation) this.condemned.delete(key);
      return opened;
    } catch (error) {
      if (!isDamage(error) || !this.isHeldElsewhere(assignment)) throw error;
      this.options.log.error({ error, ...spec }, 'the data of a replica are damaged');
      await this.renew(spec, assignment, 'the data of a replica are damaged');
      return this.attempt(spec, assignment, true, ended);
    }
  }

  /**
   * The data of a shard, open until now, can't be believed any more: its next opening begins again. `epoch`: only if
   * that is still the shard's, because the primary that said so counts in no other; null: in any.
   */
  condemn(id: ShardId, epoch: number | null): void {
    this.condemned.set(shardKey(id), { epoch });
  }

  /** Notes how far replicas were when they were closed. What was noted before is enough to tell most. */
  async noteClosed(shards: readonly ClosedShard[]): Promise<void> {
    const { notes, stores } = this.options;
    for (const { spec, lastOperation, isSaved } of shards)
      if (isSaved) await notes?.closed(shardNoteName(spec), join(stores.pathOf(spec), 'records'), lastOperation);
  }

  /** Whether another replica has every acknowledged write. */
  isHeldElsewhere(assignment: ShardAssignment | null): boolean {
    return assignment?.inSync.some(({ node }) => node !== this.options.nodeId) ?? false;
  }

  private async attempt(
    spec: ShardSpec,
    assignment: ShardAssignment | null,
    mayBeNew: boolean,
    ended: AbortSignal,
  ): Promise<ReplicatedShard> {
    const { open, stores, notes } = this.options;
    const records = join(stores.pathOf(spec), 'records');
    await notes?.mustNotBeEarlier(shardNoteName(spec), records);
    const opened = await open(spec, assignment, stores.idOf(spec), mayBeNew, ended);
    try {
      await stores.opened(spec);
      if (notes !== undefined) {
        await notes.opened(shardNoteName(spec), records, opened.shard.lastOperation);
        opened.shard.beforeNextChange(() => notes.written(shardNoteName(spec), records));
      }
    } catch (error) {
      // Left open beside its place it would lock its data against every later attempt.
      await opened.close('closed');
      throw error;
    }
    return opened;
  }

  /** Whether this replica is the only one that counts: what it lacks is lost. */
  private isLast(assignment: ShardAssignment | null, store: string): boolean {
    if (assignment === null) return false;
    const counted = [...assignment.inSync, ...assignment.eligible];
    return counted.length > 0 && counted.every((one) => isSameReplica(one, { node: this.options.nodeId, store }));
  }

  private damaged(spec: ShardSpec, what: string): QuiverError {
    return new QuiverError('storage_damaged', what, { details: { folder: this.options.stores.pathOf(spec) } });
  }

  private async renew(spec: ShardSpec, assignment: ShardAssignment | null, why: string): Promise<void> {
    const { stores, onRenewed, log } = this.options;
    await stores.renew(spec);
    await this.options.notes?.forget(shardNoteName(spec));
    this.condemned.delete(shardKey(spec));
    onRenewed();
    const then = this.isHeldElsewhere(assignment) ? 'a copy is fetched' : 'no other replica holds them';
    log.error({ ...spec, store: stores.idOf(spec) }, `${why}; it begins anew as another store, and ${then}`);
  }
}
