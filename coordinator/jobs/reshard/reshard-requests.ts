import { randomBytes } from 'node:crypto';
import type { ClusterStore, Guard, StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { outcomeTransaction, mustBeFirst, type StoreDedup } from '../../service/idempotency/store-dedup';
import { collectionNotFound } from '../../service/routing/collection-not-found';
import type { ReshardView } from '../../service/service';
import { checkQuota, type CollectionQuota, countPresent } from '../../service/collections/collection-quota';
import {
  collectionFromEntry,
  COLLECTIONS_PREFIX,
  CREATIONS_PATH,
  type CollectionRecord,
  collectionToValue,
} from '../../service/collections/collection-record';
import {
  isCancellable,
  isReindex,
  isUnderWay,
  modelOf,
  NOTHING_COPIED,
  ofSet,
  type Reembed,
  type ReshardRecord,
  reshardFromEntry,
  reshardJobId,
  reshardPath,
  RESHARDS_PREFIX,
  reshardToValue,
  type RestoredSet,
  type SetModel,
  type ShardSet,
} from '../../service/collections/reshard-record';
import { mustHoldNothing } from './empty-shards';
import { presentSets } from '../../service/collections/present-sets';
import { reshardView, shownReshards } from '../../service/collections/reshard-view';
import { idsOf, inBatches, ShardTransfers } from './shard-transfers';

const UID_BYTES = 16;
/** Every failed attempt means that another change was made. */
const ATTEMPTS_MAX = 32;
/** The shards are asked for their terms. */
const CHECK_MS = 10_000;

/** One of them, for those who only look. */
const NEW_SHARD_MS = 1_000;

export interface NewShardReading {
  collection: string;
  shard: number;
  vectors: number | null;
}

/** A reshard that may begin, with what has to hold until then and what is stored. */
interface PlannedReshard {
  reshard: ReshardRecord;
  /** The collection as it is. */
  record: CollectionRecord;
  guards: Guard[];
  changes: StoreChange[];
}

/** What a PATCH changes that needs another keyword index. */
export interface NewKeywordFields {
  /** null: all strings. */
  keywordFields: KeywordFields | null;
  /** What it changes of the record besides, in the same step. */
  besides: (current: CollectionRecord) => CollectionRecord;
}

/** Begins reshards, gives them up and shows them. Somebody else drives them (Resharder). */
export class ReshardRequests {
  constructor(
    private readonly options: {
      store: ClusterStore;
      shards: Pick<ShardClient, 'read' | 'write'>;
      clock: Clock;
      quota: CollectionQuota;
    },
  ) {}

  /**
   * Errors: not_found; invalid_parameter for the number that there is, or where it is not possible; already_exists;
   * limit_exceeded; unavailable.
   */
  async begin(name: string, shards: number, dedup?: StoreDedup): Promise<ReshardView> {
    const { store } = this.options;
    const { record: seen } = await this.collection(name);
    if (shards === seen.shards)
      throw new QuiverError('invalid_parameter', `collection "${name}" has ${shards} shards already`);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const { reshard, guards, changes } = await this.planned(seen, {
        uid: randomBytes(UID_BYTES).toString('hex'),
        shards,
      });
      const outcome = outcomeTransaction(dedup, reshardView(reshard));
      const result = await store.transact([...guards, ...outcome.guards], [...changes, ...outcome.changes]);
      mustBeFirst(dedup, result);
      if (result.applied) return reshardView(reshard);
    }
    throw tooBusy(name);
  }

  /**
   * Has the items copied into as many shards, whose keyword index is of other fields; these take over once they are
   * whole. One that is under way to the same fields is the one that was asked for: a repetition answers the same job.
   * Answers what is stored, at which revision, and the job; null where the collection has these fields already: then
   * nothing is done. `outcomeOf`: what is kept for a repetition. Errors: as `begin`.
   */
  async beginReindex(
    name: string,
    { keywordFields, besides }: NewKeywordFields,
    once?: { dedup: StoreDedup; outcomeOf: (record: CollectionRecord, job: string) => Promise<unknown> },
  ): Promise<{ record: CollectionRecord; revision: number; job: string } | null> {
    const { store } = this.options;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const { record: seen, entry } = await this.collection(name);
      const present = await this.presentOf(seen.identity);
      if (isSame(seen.keywordFields ?? null, keywordFields)) {
        if (present !== null && isReindex(present)) mustNotBeUnderWay(present);
        return null;
      }
      const to = { uid: randomBytes(UID_BYTES).toString('hex'), shards: seen.shards, keywordFields };
      // Its switch changes the collection's record, so that entry is guard enough for both.
      const step = leadsTo(present, keywordFields)
        ? { reshard: present, record: seen, guards: [{ key: entry.key, revision: entry.revision }], changes: [] }
        : await this.planned(seen, to).catch(async (error: unknown) => {
            if (leadsTo(await this.presentOf(seen.identity), keywordFields)) return null;
            throw error;
          });
      // A call for the same fields came first.
      if (step === null) continue;
      const job = reshardJobId(step.reshard);
      const record = besides(step.record);
      const outcome = outcomeTransaction(once?.dedup, await once?.outcomeOf(record, job));
      const result = await store.transact(
        [...step.guards, ...outcome.guards],
        [
          ...step.changes,
          { type: 'put', key: COLLECTIONS_PREFIX + name, value: collectionToValue(record) },
          ...outcome.changes,
        ],
      );
      mustBeFirst(once?.dedup, result);
      if (result.applied) return { record, revision: result.revision, job };
    }
    throw tooBusy(name);
  }

  /**
   * What puts a backup in the place of a collection's shards, which are empty now. Whoever restores stores it, and
   * again what is planned then if something else was changed meanwhile. Errors: as `begin`; conflict when there is an
   * item.
   */
  async plannedRestore(seen: CollectionRecord, to: ShardSet, restored: RestoredSet): Promise<PlannedReshard> {
    await this.mustBeEmpty(seen);
    return this.planned(seen, to, restored);
  }

  /** Errors: conflict when one of its shards holds an item; unavailable. */
  async mustBeEmpty({ name, uid, shards }: Pick<CollectionRecord, 'name' | 'uid' | 'shards'>): Promise<void> {
    const transfers = new ShardTransfers({
      shards: this.options.shards,
      clock: this.options.clock,
      collection: name,
      reshard: '',
      term: 0,
      timeoutMs: CHECK_MS,
    });
    mustHoldNothing(name, await transfers.lookAtAll({ uid, shards }));
  }

  /** What embeds the texts of a collection anew: as many shards with vectors of another model. Errors: as `begin`. */
  async plannedReembed(seen: CollectionRecord, model: SetModel, reembed: Reembed): Promise<PlannedReshard> {
    const to = { uid: randomBytes(UID_BYTES).toString('hex'), shards: seen.shards, model };
    return this.planned(seen, to, undefined, reembed);
  }

  /** The reshard of a collection, as it is stored; null: there is none. Errors: unavailable. */
  async storedOf(identity: string): Promise<{ record: ReshardRecord; revision: number } | null> {
    const entry = await this.options.store.get(reshardPath(identity));
    return entry === null ? null : { record: reshardFromEntry(entry), revision: entry.revision };
  }

  private async planned(
    seen: CollectionRecord,
    to: ShardSet,
    restored?: RestoredSet,
    reembed?: Reembed,
  ): Promise<PlannedReshard> {
    const { store, clock, quota } = this.options;
    const { name } = seen;
    // In this order, as for a creation: one that comes in between fails the transaction. So does another reshard, which
    // may have been given up by then and left the shards in a later term than they were found in.
    const creations = await store.get(CREATIONS_PATH);
    // One that is under way now may be given up, too, before it is looked for below.
    mustNotBeUnderWay(await this.presentOf(seen.identity));
    const term = await this.nextTerm(seen);
    const { record, entry } = await this.collection(name);
    if (record.uid !== seen.uid)
      throw new QuiverError('unavailable', `collection "${name}" was changed meanwhile; the call may be retried`);
    const key = reshardPath(record.identity);
    const present = await store.get(key);
    const before = present === null ? null : reshardFromEntry(present);
    mustNotBeUnderWay(before);
    const replicas = restored?.replicas ?? record.replicas;
    checkQuota(
      quota,
      countPresent(quota, await presentSets(store)),
      { ...ofSet(record, to), replicas },
      { isReshard: true },
    );
    // What their index is of is not that of the record any more once this one is over.
    const keptFields = (set: ShardSet): ShardSet => ({
      ...(isReindex({ to }) && { keywordFields: record.keywordFields ?? null }),
      ...(to.model !== undefined && { model: modelOf(record) }),
      ...set,
    });
    const reshard: ReshardRecord = {
      id: to.uid,
      identity: record.identity,
      name,
      from: keptFields({ uid: record.uid, shards: record.shards }),
      to,
      earlier: before?.state === 'retiring' ? [before.from, ...before.earlier].map(keptFields) : [],
      replicas: record.replicas,
      ...(restored !== undefined && { restored }),
      ...(reembed !== undefined && { reembed }),
      state: restored === undefined ? 'filling' : 'seeding',
      term,
      startedAt: new Date(clock.wallMs()).toISOString(),
      error: null,
      sources: Array.from({ length: record.shards }, () => NOTHING_COPIED),
      copied: 0,
      total: 0,
      behind: 0,
    };
    return {
      reshard,
      record,
      guards: [
        { key, revision: present?.revision ?? 0 },
        { key: entry.key, revision: entry.revision },
        { key: CREATIONS_PATH, revision: creations?.revision ?? 0 },
      ],
      changes: [
        { type: 'put', key, value: reshardToValue(reshard) },
        { type: 'put', key: CREATIONS_PATH, value: to.uid },
      ],
    };
  }

  /**
   * `id`: this one alone, while it is under way; default: whichever there is, and one that failed is forgotten. Errors:
   * not_found, also when there is nothing to give up, or it is too late for that.
   */
  async cancel(name: string, dedup?: StoreDedup, id?: string): Promise<ReshardView> {
    const { store } = this.options;
    const { record } = await this.collection(name);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const entry = await store.get(reshardPath(record.identity));
      const reshard = entry === null ? null : reshardFromEntry(entry);
      const isMeant = id === undefined || (reshard?.id === id && reshard.state !== 'failed');
      if (
        entry === null ||
        reshard === null ||
        !isMeant ||
        (!isCancellable(reshard) && reshard.state !== 'cancelling' && reshard.state !== 'failed')
      ) {
        throw new QuiverError('not_found', `collection "${name}" has no reshard that can still be cancelled`);
      }
      if (reshard.restored !== undefined && reshard.state !== 'stuck')
        throw new QuiverError(
          'conflict',
          `collection "${name}" is being restored: give up ${reshard.restored.restore} instead`,
        );
      if (reshard.state === 'cancelling') return reshardView(reshard);
      // One that failed is shown until somebody has seen it.
      const change: ReshardRecord = { ...reshard, state: 'cancelling', error: null };
      const outcome = outcomeTransaction(dedup, reshardView(reshard.state === 'failed' ? reshard : change));
      const guards = [{ key: entry.key, revision: entry.revision }, ...outcome.guards];
      const ended: StoreChange =
        reshard.state === 'failed'
          ? { type: 'delete', key: entry.key }
          : { type: 'put', key: entry.key, value: reshardToValue(change) };
      const result = await store.transact(guards, [ended, ...outcome.changes]);
      mustBeFirst(dedup, result);
      if (result.applied) return reshardView(reshard.state === 'failed' ? reshard : change);
    }
    throw new QuiverError(
      'unavailable',
      `the reshard of collection "${name}" could not be given up: the cluster store is too busy; the call may be retried`,
    );
  }

  async list(): Promise<ReshardView[]> {
    const { entries } = await this.options.store.list(RESHARDS_PREFIX);
    return shownReshards(readableEntries(entries, reshardFromEntry));
  }

  /**
   * The shards that are to take the place of those of a collection, with how many vectors each has; null: it does not
   * say.
   */
  async newShards(): Promise<NewShardReading[]> {
    const { store, shards, clock } = this.options;
    const coming = readableEntries((await store.list(RESHARDS_PREFIX)).entries, reshardFromEntry).filter(
      ({ state }) => state !== 'seeding' && state !== 'failed' && state !== 'retiring',
    );
    const found = coming.map(({ id, name, term, to }) => {
      const transfers = new ShardTransfers({
        shards,
        clock,
        collection: name,
        newUid: to.uid,
        reshard: id,
        term,
        timeoutMs: NEW_SHARD_MS,
      });
      return inBatches(idsOf(to), async (shard) => {
        const vectors = await transfers.look(shard, Number.MAX_SAFE_INTEGER, 1).then(
          ({ vectorCount }) => vectorCount,
          () => null,
        );
        return { collection: name, shard: shard.shard, vectors };
      });
    });
    return (await Promise.all(found)).flat();
  }

  private async presentOf(identity: string): Promise<ReshardRecord | null> {
    const entry = await this.options.store.get(reshardPath(identity));
    return entry === null ? null : reshardFromEntry(entry);
  }

  /**
   * Above every term that its shards have seen. Errors: unavailable, also when a reshard is not over that the store
   * knows nothing of.
   */
  private async nextTerm({ uid, shards, name }: CollectionRecord): Promise<number> {
    const transfers = new ShardTransfers({
      shards: this.options.shards,
      clock: this.options.clock,
      collection: name,
      reshard: '',
      term: 0,
      timeoutMs: CHECK_MS,
    });
    try {
      const found = await transfers.lookAtAll({ uid, shards });
      if (found.some(({ stage }) => stage !== 'open'))
        throw new QuiverError(
          'unavailable',
          `shards of collection "${name}" are part of a reshard that is not over; the call may be retried`,
        );
      return Math.max(...found.map(({ term }) => term)) + 1;
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'not_found') throw collectionNotFound(name);
      throw error;
    }
  }

  private async collection(name: string): Promise<{ record: CollectionRecord; entry: StoreEntry }> {
    const entry = await this.options.store.get(COLLECTIONS_PREFIX + name);
    const record = entry === null ? null : collectionFromEntry(entry);
    if (entry === null || record === null || record.state !== 'ready') throw collectionNotFound(name);
    return { record, entry };
  }
}

function isSame(fields: KeywordFields | null | undefined, others: KeywordFields | null): boolean {
  return JSON.stringify(fields) === JSON.stringify(others);
}

/** Whether it gives the collection a keyword index of these fields, unless it is given up. */
function leadsTo(present: ReshardRecord | null, fields: KeywordFields | null): present is ReshardRecord {
  if (present === null || present.state === 'failed' || present.state === 'cancelling') return false;
  return present.state !== 'retiring' && isReindex(present) && isSame(present.to.keywordFields, fields);
}

/** Errors: conflict when the collection gets other shards already. */
export function mustNotBeUnderWay(present: ReshardRecord | null): void {
  if (present === null || present.state === 'retiring') return;
  const { name, restored } = present;
  // One that failed, too: it is the restore's to take back.
  if (restored !== undefined)
    throw new QuiverError('already_exists', `collection "${name}" is being restored already, by ${restored.restore}`);
  if (isReindex(present) && isUnderWay(present))
    throw new QuiverError(
      'already_exists',
      `collection "${name}" gets another keyword index already: wait for job ${reshardJobId(present)}, or cancel it`,
    );
  if (present.state === 'kept' && present.reembed!.wanted === 'back')
    throw new QuiverError(
      'already_exists',
      `collection "${name}" goes back to the vectors of before: wait for job ${reshardJobId(present)}, ` +
        `or keep the new ones (POST /v1/jobs/${reshardJobId(present)}/switch)`,
    );
  if (present.state === 'kept' && present.reembed!.isEnding === true)
    throw new QuiverError(
      'already_exists',
      `collection "${name}" is giving its vectors of before up: wait for job ${reshardJobId(present)}`,
    );
  if (present.state === 'kept')
    throw new QuiverError(
      'already_exists',
      `collection "${name}" can go back to the vectors of before until ${new Date(present.reembed!.keptUntil!).toISOString()}: ` +
        `go back (POST /v1/jobs/${reshardJobId(present)}/back), ` +
        'or give that up (POST …/switch with {"keep_hours": 0})',
    );
  if (present.reembed !== undefined && isUnderWay(present))
    throw new QuiverError(
      'already_exists',
      `the texts of collection "${name}" are being embedded anew already: ` +
        `wait for job ${reshardJobId(present)}, or cancel it`,
    );
  if (isUnderWay(present))
    throw new QuiverError('already_exists', `collection "${name}" is changing its number of shards already`);
}

export function tooBusy(name: string): QuiverError {
  return new QuiverError(
    'unavailable',
    `collection "${name}" could not be changed: the cluster store is too busy; the call may be retried`,
  );
}
