import type { CallOptions, ShardClient } from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import { NumberTable } from '../../shared/tables/number-table';
import type { ScatterGather } from '../routing/scatter-gather';
import { groupByShard } from '../routing/shard-router';
import { ShardSets } from '../routing/shard-sets';
import type { CollectionCatalog } from './collection-catalog';
import type { CollectionRecord } from './collection-record';
import { excessOf, type StorageUse } from './storage-quota';

/** A write that is about to be made. */
export interface IntendedWrite {
  /** Ids of the items that it may add, each once. */
  ids: string[];
  /** Bytes of all that it stores. */
  bytes: number;
  /** Names it, if it is done once however often it is made: those of one name that are under way together count as one. */
  once?: string | undefined;
  /** Whether the call has written before. */
  isPart?: boolean;
}

/** Lets writes to collections with a quota through. */
export interface QuotaGate {
  /** Answers a number for {@link settle}. Errors: limit_exceeded for a write that is beyond the quota; not_found; unavailable. */
  reserve(collection: Pick<CollectionRecord, 'name'>, write: IntendedWrite): Promise<number>;
  /** Says what a write has added; null when that is not known. */
  settle(reservation: number, items: number | null): void;
  /** A write was refused because of a quota: not one that was begun before, and goes on. */
  noteRefusal(): void;
}

/** For how long a reading counts: in a cluster, others write meanwhile. */
const FRESH_MS = 1_000;
/** Collections that were not written to for this long are forgotten. */
const IDLE_MS = 60_000;

interface Reservation extends StorageUse {
  account: Account;
  number: number;
  once: string | undefined;
  /** Whoever made it is gone by then: a thread may end at any point. */
  untilMs: number;
}

/** What is known of one collection. */
interface Account {
  /** What its shards said, and when they were asked. */
  reading: (StorageUse & { atMs: number }) | null;
  pending: { done: Promise<void>; atMs: number } | null;
  open: Set<Reservation>;
  /** What was settled since the reading began, and since the pending one did. */
  settled: StorageUse;
  settledSincePending: StorageUse;
  usedMs: number;
}

/**
 * Counts what collections with a quota hold, for all writes of this process, on its main thread. What the shards said last,
 * everything that was let through since that began, and what is under way together are never less than what there is: so a
 * process never lets more items through than a quota has. Close to the quota, the shards are asked anew, and which of the
 * items there are already. Other coordinators count for themselves: what they add within a second is not seen here.
 */
export class QuotaLedger implements QuotaGate {
  private readonly accounts = new Map<string, Account>();
  private readonly reservations = new NumberTable<Reservation>();
  private readonly sets: ShardSets<CollectionRecord>;
  private refused = 0;

  constructor(
    private readonly parts: {
      catalog: Pick<CollectionCatalog, 'known' | 'find'>;
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      clock: Clock;
      requestTimeoutMs: number;
    },
  ) {
    this.sets = new ShardSets(parts);
  }

  /** Writes that were refused since the start. */
  get refusals(): number {
    return this.refused;
  }

  noteRefusal(): void {
    this.refused += 1;
  }

  async reserve({ name }: Pick<CollectionRecord, 'name'>, { ids, bytes, once, isPart = false }: IntendedWrite): Promise<number> {
    const { catalog, clock, requestTimeoutMs } = this.parts;
    const call = this.parts.scatter.begin();
    const record = catalog.known(name) ?? (await catalog.find(name));
    const { quota } = record;
    const account = this.accountOf(record);
    let added: StorageUse = { items: ids.length, bytes };
    const isUnderWay = (): boolean => once !== undefined && [...account.open].some((other) => other.once === once);
    if (quota !== undefined && !isUnderWay()) {
      if (account.reading === null || clock.monotonicMs() - account.reading.atMs > FRESH_MS) await this.read(record, account, call, -Infinity);
      if (!isUnderWay() && excessOf(name, quota, this.usedOf(account), added) !== null) {
        const askedMs = clock.monotonicMs();
        await this.read(record, account, call, askedMs);
        // Afterwards: an item that is deleted in between counts twice, and never not at all.
        if (quota.items !== null) added = { items: ids.length - (await this.present(record, ids, call)), bytes };
        const excess = excessOf(name, quota, this.usedOf(account), added, isPart);
        if (excess !== null && !isUnderWay()) throw excess;
      }
    }
    if (isUnderWay()) added = { items: 0, bytes: 0 };
    const reservation: Reservation = { ...added, account, number: 0, once, untilMs: clock.monotonicMs() + 2 * requestTimeoutMs };
    account.open.add(reservation);
    return (reservation.number = this.reservations.add(reservation));
  }

  settle(number: number, items: number | null): void {
    const reservation = this.reservations.remove(number);
    if (reservation === undefined) return;
    const { account, bytes } = reservation;
    account.open.delete(reservation);
    const added = items ?? reservation.items;
    for (const sum of [account.settled, account.settledSincePending]) {
      sum.items += added;
      sum.bytes += bytes;
    }
  }

  private usedOf({ reading, open, settled }: Account): StorageUse {
    const used = { items: (reading?.items ?? 0) + settled.items, bytes: (reading?.bytes ?? 0) + settled.bytes };
    for (const { items, bytes } of open) {
      used.items += items;
      used.bytes += bytes;
    }
    return used;
  }

  /** Asks the shards, unless they were since `sinceMs`. One question at a time: the next answers all that came meanwhile. */
  private async read(record: CollectionRecord, account: Account, call: CallOptions, sinceMs: number): Promise<void> {
    for (;;) {
      const { pending } = account;
      if (pending === null) break;
      await pending.done;
      if (pending.atMs >= sinceMs) return;
    }
    const atMs = this.parts.clock.monotonicMs();
    account.settledSincePending = { items: 0, bytes: 0 };
    const done = this.useOf(record, call)
      .then((use) => {
        account.reading = { ...use, atMs };
        account.settled = account.settledSincePending;
        this.dropLost(account, atMs);
      })
      .finally(() => (account.pending = null));
    account.pending = { done, atMs };
    await done;
  }

  private async useOf(record: CollectionRecord, call: CallOptions): Promise<StorageUse> {
    const { scatter, shards } = this.parts;
    const statuses = await this.sets.inOne(record, call, (current) => scatter.readAll(current, call, (id) => shards.read(id, 'status', null, call)));
    return { items: statuses.reduce((sum, { vectorCount }) => sum + vectorCount, 0), bytes: statuses.reduce((sum, { diskBytes }) => sum + diskBytes, 0) };
  }

  /** How many of the ids there are. */
  private async present(record: CollectionRecord, ids: string[], call: CallOptions): Promise<number> {
    if (ids.length === 0) return 0;
    const { scatter, shards } = this.parts;
    const found = await this.sets.inOne(record, call, async (current) => {
      const groups = groupByShard(ids, current.shards, (id) => id);
      return scatter.read(
        current,
        groups.map(({ shard }) => shard),
        call,
        (id, i) => shards.read(id, 'fetch', { externalIds: groups[i].items, vectors: false, texts: false, versions: true }, call),
      );
    });
    return found.flat().filter((item) => item !== null).length;
  }

  private accountOf({ identity }: CollectionRecord): Account {
    const nowMs = this.parts.clock.monotonicMs();
    let account = this.accounts.get(identity);
    if (account === undefined) {
      for (const [other, { usedMs, open, pending }] of this.accounts) if (nowMs - usedMs > IDLE_MS && open.size === 0 && pending === null) this.accounts.delete(other);
      account = { reading: null, pending: null, open: new Set(), settled: { items: 0, bytes: 0 }, settledSincePending: { items: 0, bytes: 0 }, usedMs: nowMs };
      this.accounts.set(identity, account);
    }
    account.usedMs = nowMs;
    return account;
  }

  /** Their writes are over, and in the reading if they were made. */
  private dropLost(account: Account, nowMs: number): void {
    for (const reservation of account.open) if (reservation.untilMs < nowMs) this.settle(reservation.number, 0);
  }
}
