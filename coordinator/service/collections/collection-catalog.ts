import type { ClusterStore, Guard, StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../readable-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { mustWrite } from '../keys/alias-rights';
import { outcomeTransaction, mustBeFirst, type StoreDedup } from '../idempotency/store-dedup';
import type { Scoped } from '../keys/collection-scope';
import { collectionNotFound } from '../routing/collection-not-found';
import {
  ALIASES_PATH,
  aliasesFromEntry,
  aliasesOf,
  aliasesToValue,
  mustBeNoAlias,
  withoutAliasesOf,
} from './alias-record';
import { CollectionDirectory } from './collection-directory';
import { checkQuota, type CollectionQuota, countPresent, type PresentCount } from './collection-quota';
import {
  collectionFromEntry,
  collectionPath,
  COLLECTIONS_PREFIX,
  collectionToValue,
  CREATIONS_PATH,
  dropFromEntry,
  dropPath,
  DROPS_PREFIX,
  dropToValue,
  type CollectionRecord,
  type DropIntent,
} from './collection-record';
import { LostAnswers } from './lost-answers';
import { presentSets } from './present-sets';

/** Every failed attempt means that another change was made. So many in a row mean that the store is out of order. */
const ATTEMPTS_MAX = 32;
/**
 * Creations that may wait for one another: some seconds' worth. A caller beyond that gets "busy" instead of waiting.
 */
const CREATIONS_WAITING_MAX = 64;
/** Aliases that a message names. */
const ALIASES_NAMED_MAX = 5;

/** A part of a transaction. */
interface StoreStep {
  guards: Guard[];
  changes: StoreChange[];
}

/**
 * The collections in the cluster store. Every change is one transaction, guarded by the entries on which it was
 * decided. Look-ups for searches and writes are answered from memory, which follows the store. If memory does not know
 * a name, the store is asked, so a collection that was made through another coordinator is found at once. The catalog
 * does not open or drop shards itself. It keeps the intents with which others can finish that after a crash.
 */
export class CollectionCatalog {
  private readonly store: ClusterStore;
  private readonly directory = new CollectionDirectory();
  private stopWatching: (() => void) | null = null;
  /**
   * The last creation of this process. Creations run one after the other, so that only those of other processes can
   * conflict.
   */
  private reserving: Promise<unknown> = Promise.resolve();
  /** Of entries that a store in memory lists again and again. */
  private readonly records = new WeakMap<StoreEntry, CollectionRecord>();
  /**
   * What there was at most when this process last made a collection, whose entry of creations it names: to count all
   * takes as long as there are many.
   */
  private counted: (PresentCount & { quota: CollectionQuota; revision: number; uid: string }) | null = null;
  private reservingCount = 0;

  constructor(options: { store: ClusterStore }) {
    this.store = options.store;
  }

  /** Starts to follow the store; does nothing if it does already. Errors: unavailable. */
  async follow(): Promise<void> {
    if (this.stopWatching !== null) return;
    const { entries, revision } = await this.store.list(COLLECTIONS_PREFIX);
    this.directory.load(entries, revision);
    this.stopWatching = this.store.watch(COLLECTIONS_PREFIX, revision, (events) => this.directory.apply(events));
  }

  close(): void {
    this.stopWatching?.();
    this.stopWatching = null;
  }

  /**
   * Calls `listener` with the name of each collection whose record in memory changes, until the function returned is
   * called.
   */
  onChange(listener: (name: string) => void): () => void {
    return this.directory.onChange(listener);
  }

  /** The collection as far as memory knows, or null: the look-up that costs nothing. */
  known(name: string): CollectionRecord | null {
    return this.directory.get(name);
  }

  /** The collection, read from the store if memory does not know it. Errors: not_found. */
  async find(name: string): Promise<CollectionRecord> {
    return this.directory.get(name) ?? this.read(name);
  }

  /** The collection as it is in the store now. Errors: not_found. */
  async read(name: string): Promise<CollectionRecord> {
    return (await this.readEntry(name)).record;
  }

  /** The same, with its entry: what is only right beside this collection is stored by its revision. */
  async readEntry(name: string): Promise<{ entry: StoreEntry; record: CollectionRecord }> {
    const entry = await this.store.get(collectionPath(name));
    if (entry === null) throw collectionNotFound(name);
    const record = collectionFromEntry(entry);
    if (record.state !== 'ready') throw collectionNotFound(name);
    this.directory.put(record, entry.revision);
    return { entry, record };
  }

  /** The uid that the shards of this collection have now, by the store; null when it is gone. */
  async uidOf(collection: { name: string; uid: string; identity?: string | undefined }): Promise<string | null> {
    const entry = await this.store.get(collectionPath(collection.name));
    if (entry === null) return null;
    const record = collectionFromEntry(entry);
    this.directory.put(record, entry.revision);
    return record.identity === (collection.identity ?? collection.uid) && record.state === 'ready' ? record.uid : null;
  }

  /**
   * The collection as it is in the store now, or as memory knows it while the store is away. Errors: not_found;
   * unavailable where memory does not know it.
   */
  async shown(name: string): Promise<CollectionRecord> {
    try {
      return await this.read(name);
    } catch (error) {
      const known = this.directory.get(name);
      if (known === null || !isAway(error)) throw error;
      return known;
    }
  }

  /** The same of all collections, by name. */
  async allShown(): Promise<CollectionRecord[]> {
    try {
      return await this.list();
    } catch (error) {
      if (!isAway(error) || this.stopWatching === null) throw error;
      return this.directory
        .names()
        .sort()
        .flatMap((name) => this.directory.get(name) ?? []);
    }
  }

  /** Names of the collections in memory. */
  names(): string[] {
    return this.directory.names();
  }

  /** Names of the collections whose record can't be read, as far as memory knows. */
  unreadable(): string[] {
    return this.directory.unreadable();
  }

  /** All collections as they are in the store now, by name, without those whose record can't be read. */
  async list(): Promise<CollectionRecord[]> {
    return (await this.listAll()).map(({ record }) => record).filter((record) => record.state === 'ready');
  }

  /**
   * Reserves the name for a collection whose shards are still to be opened, if the quota has room. Exact among all
   * coordinators: it knows how many collections there are, and the transaction fails if another one was created since.
   * Errors: already_exists, limit_exceeded, overloaded. Answers what is reserved: of an earlier request that was the
   * same, if it is not done. `besides`: what must be true besides when it is reserved; asked at each attempt.
   */
  async reserve(
    record: CollectionRecord,
    quota: CollectionQuota,
    outcomeTransaction: () => Guard[] = () => [],
  ): Promise<CollectionRecord> {
    if (this.reservingCount >= CREATIONS_WAITING_MAX)
      throw new QuiverError('overloaded', 'server busy: many collections are being created; try again in a moment');
    this.reservingCount += 1;
    const reserved = this.reserving
      .then(() => this.reserveNext(record, quota, outcomeTransaction))
      .finally(() => (this.reservingCount -= 1));
    this.reserving = reserved.catch(() => undefined);
    return reserved;
  }

  private async reserveNext(
    record: CollectionRecord,
    quota: CollectionQuota,
    outcomeTransaction: () => Guard[],
  ): Promise<CollectionRecord> {
    const key = collectionPath(record.name);
    const lost = new LostAnswers();
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      // The order matters: a collection created after the first read fails the transaction, and one that is deleted
      // meanwhile is counted at least once.
      const creations = await this.store.get(CREATIONS_PATH);
      const found = await this.store.get(key);
      const present = found === null ? null : this.recordOf(found);
      // Reserved by an attempt before, whose answer was lost.
      if (present?.uid === record.uid) return record;
      if (present?.state === 'creating' && present.once !== undefined && present.once === record.once) return present;
      if (present !== null) throw alreadyExists(record.name);
      const aliases = await this.store.get(ALIASES_PATH);
      mustBeNoAlias(aliasesFromEntry(aliases), record.name);
      const count = await this.countFor(record, quota, creations);
      const guards = [
        { key, revision: 0 },
        { key: CREATIONS_PATH, revision: creations?.revision ?? 0 },
        { key: ALIASES_PATH, revision: aliases?.revision ?? 0 },
        ...outcomeTransaction(),
      ];
      const changes: StoreChange[] = [
        { type: 'put', key, value: collectionToValue(record) },
        { type: 'put', key: CREATIONS_PATH, value: record.uid },
      ];
      const result = await lost.unlessLost(this.store.transact(guards, changes));
      if (result?.applied !== true) continue;
      this.counted = {
        quota,
        revision: result.revision,
        uid: record.uid,
        collections: count.collections + 1,
        taken: count.taken + quota.shardsOf(record),
      };
      return record;
    }
    throw tooBusy(record.name);
  }

  /** Whether a creation has the name, and is not done. */
  async isReserved(name: string): Promise<boolean> {
    const entry = await this.store.get(collectionPath(name));
    return entry !== null && this.recordOf(entry).state === 'creating';
  }

  /**
   * Makes a reserved collection visible to clients. Errors: unavailable when the reservation was taken away meanwhile;
   * commit_unknown when an answer of the store was lost and it can't be asked any more.
   */
  async publish(
    reserved: CollectionRecord,
    once?: { dedup: StoreDedup; resultOf: (record: CollectionRecord) => unknown },
  ): Promise<CollectionRecord> {
    const record: CollectionRecord = { ...reserved, state: 'ready' };
    delete record.once;
    const { guards, changes } = outcomeTransaction(once?.dedup, once?.resultOf(record));
    const key = collectionPath(record.name);
    const lost = new LostAnswers();
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const entry = await lost.orLost(this.store.get(key));
      const current = entry === null ? null : collectionFromEntry(entry);
      if (entry === null || current?.uid !== record.uid) break;
      if (current.state === 'ready') {
        this.directory.put(current, entry.revision);
        return current;
      }
      const result = await lost.unlessLost(
        this.store.transact(
          [{ key, revision: entry.revision }, ...guards],
          [{ type: 'put', key, value: collectionToValue(record) }, ...changes],
        ),
      );
      if (result !== null) mustBeFirst(once?.dedup, result);
      if (result?.applied === true) {
        this.directory.put(record, result.revision);
        return record;
      }
    }
    throw new QuiverError(
      'unavailable',
      `the creation of collection "${record.name}" was interrupted; the call may be retried`,
    );
  }

  /** Changes a collection, found by its name. Errors: not_found. */
  async update(
    name: string,
    decide: (current: CollectionRecord) => CollectionRecord,
    once?: { dedup: StoreDedup; resultOf: (record: CollectionRecord) => Promise<unknown> },
  ): Promise<CollectionRecord> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const { entry, record: current } = await this.readEntry(name);
      const record = decide(current);
      if (record === current) return current;
      const { guards, changes } = outcomeTransaction(once?.dedup, await once?.resultOf(record));
      const result = await this.store.transact(
        [{ key: entry.key, revision: entry.revision }, ...guards],
        [{ type: 'put', key: entry.key, value: collectionToValue(record) }, ...changes],
      );
      mustBeFirst(once?.dedup, result);
      if (result.applied) {
        this.directory.put(record, result.revision);
        return record;
      }
    }
    throw tooBusy(name);
  }

  /** What another part of this process has stored, so that it holds here at once. */
  noteStored(record: CollectionRecord, revision: number): void {
    this.directory.put(record, revision);
  }

  /**
   * Removes a visible collection, so that its name is free at once, and leaves the intent to drop its shards. Answers
   * the aliases that went along, too. Errors: not_found; conflict for one that has aliases, which go with it only where
   * `withAliases` says so; forbidden where `caller` may not change each of them.
   */
  async remove(
    name: string,
    dedup?: StoreDedup,
    withAliases = false,
    caller?: Scoped,
  ): Promise<{ intent: DropIntent; aliases: string[] }> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const found = await this.readEntry(name);
      const { aliases, ...step } = await this.aliasesGoing(name, withAliases, caller);
      const intent = await this.turnIntoDrop(found, dedup && { dedup, result: aliases }, step);
      if (intent !== null) return { intent, aliases };
    }
    throw tooBusy(name);
  }

  /** What has to be in the transaction that deletes a collection, for its aliases. Errors: conflict; forbidden. */
  private async aliasesGoing(
    name: string,
    withAliases: boolean,
    caller: Scoped | undefined,
  ): Promise<StoreStep & { aliases: string[] }> {
    const entry = await this.store.get(ALIASES_PATH);
    const table = aliasesFromEntry(entry);
    const guards = [{ key: ALIASES_PATH, revision: entry?.revision ?? 0 }];
    const aliases = aliasesOf(table, name);
    if (aliases.length === 0) return { aliases, guards, changes: [] };
    if (!withAliases) throw hasAliases(name, aliases);
    for (const alias of aliases) mustWrite(caller, alias, `${JSON.stringify(alias)}, an alias that would go with it`);
    const value = aliasesToValue(withoutAliasesOf(table, name));
    return { aliases, guards, changes: [{ type: 'put', key: ALIASES_PATH, value }] };
  }

  /**
   * Gives up a reservation, if it still exists, and leaves the intent to drop the shards opened for it. null when the
   * collection is visible, because a request to publish it was carried out although its answer was lost. Then it stays:
   * others may have written to it.
   */
  async abandon(reserved: CollectionRecord): Promise<DropIntent | null> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const entry = await this.store.get(collectionPath(reserved.name));
      const record = entry === null ? null : collectionFromEntry(entry);
      if (entry === null || record?.uid !== reserved.uid)
        return { uid: reserved.uid, name: reserved.name, shards: reserved.shards, replicas: reserved.replicas };
      if (record.state === 'ready') return null;
      const intent = await this.turnIntoDrop({ entry, record });
      if (intent !== null) return intent;
    }
    throw tooBusy(reserved.name);
  }

  /** Turns abandoned reservations into drops. A process that is still creating one of them then fails to publish it. */
  async abandonReservations(isAbandoned: (record: CollectionRecord) => boolean): Promise<void> {
    for (const found of await this.listAll()) {
      if (found.record.state === 'creating' && isAbandoned(found.record)) await this.turnIntoDrop(found);
    }
  }

  /** Collections whose shards are still to be dropped. */
  async pendingDrops(): Promise<DropIntent[]> {
    return readableEntries((await this.store.list(DROPS_PREFIX)).entries, dropFromEntry);
  }

  /** Deletes the intent of a drop whose shards are gone. */
  async dropped(intent: DropIntent): Promise<void> {
    await this.store.transact([], [{ type: 'delete', key: dropPath(intent.uid) }]);
  }

  /**
   * How much there is, at most. Errors: limit_exceeded when the collection does not fit beside it; those of the store.
   */
  private async countFor(
    record: CollectionRecord,
    quota: CollectionQuota,
    creations: StoreEntry | null,
  ): Promise<PresentCount> {
    const { counted } = this;
    // Nothing was made since by anybody, so there is no more than there was: only where that is too much all are
    // counted.
    const isSame =
      counted !== null &&
      counted.quota === quota &&
      counted.revision === creations?.revision &&
      counted.uid === creations.value;
    if (isSame && fits(quota, counted, record)) return counted;
    const present = countPresent(quota, await presentSets(this.store, (entry) => this.recordOf(entry)));
    checkQuota(quota, present, record);
    return present;
  }

  private async turnIntoDrop(
    found: { entry: StoreEntry; record: CollectionRecord },
    once?: { dedup: StoreDedup; result: unknown },
    besides: StoreStep = { guards: [], changes: [] },
  ): Promise<DropIntent | null> {
    const { uid, identity, name, shards, replicas } = found.record;
    const intent = { uid, identity, name, shards, replicas };
    const { guards, changes } = outcomeTransaction(once?.dedup, once?.result);
    const result = await this.store.transact(
      [{ key: found.entry.key, revision: found.entry.revision }, ...besides.guards, ...guards],
      [
        { type: 'delete', key: found.entry.key },
        { type: 'put', key: dropPath(uid), value: dropToValue(intent) },
        ...besides.changes,
        ...changes,
      ],
    );
    mustBeFirst(once?.dedup, result);
    if (!result.applied) return null;
    this.directory.remove(name, result.revision);
    return intent;
  }

  private async listAll(): Promise<{ entry: StoreEntry; record: CollectionRecord }[]> {
    return readableEntries((await this.store.list(COLLECTIONS_PREFIX)).entries, (entry) => ({
      entry,
      record: this.recordOf(entry),
    }));
  }

  /** Nobody changes it. */
  private recordOf(entry: StoreEntry): CollectionRecord {
    let record = this.records.get(entry);
    if (record === undefined) {
      record = collectionFromEntry(entry);
      this.records.set(entry, record);
    }
    return record;
  }
}

/** Nothing changes while the store is away, so what was known last holds. */
function isAway(error: unknown): boolean {
  return isQuiverError(error) && error.kind === 'unavailable';
}

function hasAliases(name: string, aliases: string[]): QuiverError {
  const shown = aliases.slice(0, ALIASES_NAMED_MAX).map((alias) => `"${alias}"`);
  const more = aliases.length > shown.length ? ` and ${aliases.length - shown.length} more` : '';
  const [what, them] = aliases.length === 1 ? ['alias', 'it'] : ['aliases', 'them'];
  return new QuiverError(
    'conflict',
    `collection "${name}" has the ${what} ${shown.join(', ')}${more}: ` +
      `switch or delete ${them} first, or delete all of it with force=true`,
  );
}

function alreadyExists(name: string): QuiverError {
  return new QuiverError('already_exists', `collection "${name}" already exists`);
}

function fits(quota: CollectionQuota, present: PresentCount, record: CollectionRecord): boolean {
  try {
    checkQuota(quota, present, record);
    return true;
  } catch {
    return false;
  }
}

function tooBusy(name: string): QuiverError {
  return new QuiverError(
    'unavailable',
    `collection "${name}" could not be changed: the cluster store is too busy; the call may be retried`,
  );
}
