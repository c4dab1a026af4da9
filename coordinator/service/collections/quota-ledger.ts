import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { Waiters } from '../../../shared/base/time/waiters';
import { NumberTable } from '../../../shared/base/tables/number-table';
import type { ScatterGather } from '../routing/scatter-gather';
import { groupByShard } from '../routing/shard-router';
import { ShardSets } from '../routing/shard-sets';
import type { CollectionCatalog } from './collection-catalog';
import type { CollectionRecord } from './collection-record';
import type { StorageQuota } from '../service';
import { excessOf, type StorageUse } from './storage-quota';

/** A write that is about to be made. */
export interface IntendedWrite {
  /** Ids of the items that it may add, each once. */
  ids: string[];
  /** Bytes of all that it stores. */
  bytes: number;
  /**
   * Names it, if it is done once however often it is made: those of one name that are under way together count as one.
   */
  once?: string | undefined;
  /** Whether the call has written before. */
  isPart?: boolean;
}

/** Lets writes to collections with a quota through. */
export interface QuotaAdmission {
  /**
   * Answers a number for {@link settle}. Errors: limit_exceeded for a write that is beyond the quota; not_found;
   * unavailable, also when that could not be decided in time.
   */
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
const NOTHING: Readonly<StorageUse> = { items: 0, bytes: 0 };

interface Reservation extends StorageUse {
  account: Account;
  number: number;
  once: string | undefined;
  /** Whoever made it is gone by then: a thread may end at any point. */
  untilMs: number;
}

/** What the shards of a collection said. */
interface Reading extends StorageUse {
  /** When they were asked. */
  atMs: number;
  /** What was settled until then, since the account was opened. */
  settled: StorageUse;
}

/** What is known of one collection. */
interface Account {
  reading: Reading | null;
  pending: { done: Promise<void>; atMs: number; deadlineMs: number } | null;
  open: Set<Reservation>;
  /** All that was settled since the account was opened, and how many writes that was. */
  settled: StorageUse;
  endings: number;
  /** Writes that wait for others to end. The first of them is told of each end, and is the next that is let through. */
  line: Set<Waiters>;
  usedMs: number;
}

/**
 * Counts what collections with a quota hold, for all writes of this process, on its main thread. What the shards said
 * last, everything that was let through since that began, and what is under way together are never less than what there
 * is: so a process never lets more items through than a quota has. Close to the quota, the shards are asked again, and
 * which of the items there are already. A write is refused if it is beyond the quota beside what the shards hold, and
 * not because of others that are under way: these may store less than they may, or be in what the shards said already.
 * It waits until they have ended. Other coordinators count for themselves: what they add within a second is not seen
 * here.
 */
export class QuotaLedger implements QuotaAdmission {
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

  async reserve({ name }: Pick<CollectionRecord, 'name'>, write: IntendedWrite): Promise<number> {
    const { catalog, clock, scatter } = this.parts;
    const call = scatter.begin();
    const record = catalog.known(name) ?? (await catalog.find(name));
    const { quota } = record;
    const account = this.accountOf(record);
    const added = { items: write.ids.length, bytes: write.bytes };
    if (quota === undefined) return this.hold(account, added, write);
    if (
      !isUnderWay(account, write) &&
      (account.reading === null || clock.monotonicMs() - account.reading.atMs > FRESH_MS)
    )
      await this.read(record, account, call, -Infinity);
    if (isUnderWay(account, write)) return this.hold(account, NOTHING, write);
    if (
      account.line.size === 0 &&
      account.reading !== null &&
      excessOf(name, quota, usedOf(account, account.reading), added) === null
    )
      return this.hold(account, added, write);
    return this.decide({ ...record, quota }, account, write, call);
  }

  settle(number: number, items: number | null): void {
    const reservation = this.reservations.remove(number);
    if (reservation === undefined) return;
    const { account, bytes, once } = reservation;
    account.open.delete(reservation);
    account.settled.items += items ?? reservation.items;
    account.settled.bytes += bytes;
    if (items === null && once !== undefined) inherit(account, reservation);
    account.endings += 1;
    first(account.line)?.wake();
  }

  /**
   * Close to the quota: by what the shards hold now, once nobody is under way whose end may change that. Errors: as
   * `reserve`.
   */
  private async decide(
    record: CollectionRecord & { quota: StorageQuota },
    account: Account,
    write: IntendedWrite,
    call: CallOptions,
  ): Promise<number> {
    const { name, quota } = record;
    const { line } = account;
    const place = new Waiters(this.parts.clock);
    try {
      for (;;) {
        const { endings } = account;
        const reading = await this.read(record, account, call, this.parts.clock.monotonicMs());
        // Afterwards: an item that is deleted in between counts twice, and never not at all.
        const items =
          quota.items === null ? write.ids.length : write.ids.length - (await this.present(record, write.ids, call));
        const added = { items, bytes: write.bytes };
        if (isUnderWay(account, write)) return this.hold(account, NOTHING, write);
        const excess = excessOf(name, quota, reading, added, write.isPart);
        if (excess !== null) throw excess;
        const isNext = line.size === 0 || first(line) === place || takesNothing(quota, added);
        if (isNext && excessOf(name, quota, usedOf(account, reading), added) === null)
          return this.hold(account, added, write);
        line.add(place);
        let isInTime = this.parts.clock.monotonicMs() < call.deadlineMs;
        // Whoever ended since `endings` may be in the reading, and counts twice: that is worth another one.
        while (isInTime && (first(line) !== place || (isNext && account.endings === endings)))
          isInTime = await place.next(call.deadlineMs);
        if (!isInTime) throw undecided(name);
      }
    } finally {
      if (line.delete(place)) first(line)?.wake();
    }
  }

  private hold(account: Account, added: StorageUse, { once }: Pick<IntendedWrite, 'once'>): number {
    const untilMs = this.parts.clock.monotonicMs() + 2 * this.parts.requestTimeoutMs;
    const reservation: Reservation = { ...added, account, number: 0, once, untilMs };
    account.open.add(reservation);
    return (reservation.number = this.reservations.add(reservation));
  }

  /** What the shards say, or said since `sinceMs`. One question at a time: the next answers all that came meanwhile. */
  private async read(record: CollectionRecord, account: Account, call: CallOptions, sinceMs: number): Promise<Reading> {
    for (;;) {
      const { pending } = account;
      if (pending === null) break;
      try {
        await pending.done;
      } catch (error) {
        // Whoever asked may have had less time than this call.
        if (!isOutOfReach(error) || call.deadlineMs <= pending.deadlineMs) throw error;
        continue;
      }
      if (pending.atMs >= sinceMs) return account.reading!;
    }
    const atMs = this.parts.clock.monotonicMs();
    const settled = { ...account.settled };
    const done = this.useOf(record, call)
      .then((use) => {
        account.reading = { ...use, atMs, settled };
        this.dropLost(account, atMs);
      })
      .finally(() => (account.pending = null));
    account.pending = { done, atMs, deadlineMs: call.deadlineMs };
    await done;
    return account.reading!;
  }

  private async useOf(record: CollectionRecord, call: CallOptions): Promise<StorageUse> {
    const { scatter, shards } = this.parts;
    const statuses = await this.sets.inOne(record, call, (current) =>
      scatter.readAll(current, call, (id) => shards.read(id, 'status', null, call)),
    );
    return {
      items: statuses.reduce((sum, { vectorCount }) => sum + vectorCount, 0),
      bytes: statuses.reduce((sum, { diskBytes }) => sum + diskBytes, 0),
    };
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
        (id, i) =>
          shards.read(
            id,
            'fetch',
            { externalIds: groups[i].items, vectors: false, texts: false, versions: true },
            call,
          ),
      );
    });
    return found.flat().filter((item) => item !== null).length;
  }

  private accountOf({ identity }: CollectionRecord): Account {
    const nowMs = this.parts.clock.monotonicMs();
    let account = this.accounts.get(identity);
    if (account === undefined) {
      for (const [other, { usedMs, open, pending }] of this.accounts)
        if (nowMs - usedMs > IDLE_MS && open.size === 0 && pending === null) this.accounts.delete(other);
      account = {
        reading: null,
        pending: null,
        open: new Set(),
        settled: { ...NOTHING },
        endings: 0,
        line: new Set(),
        usedMs: nowMs,
      };
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

/** What there is at most: what the shards said, all that was settled since they were asked, and what is under way. */
function usedOf({ open, settled }: Account, reading: Reading): StorageUse {
  const used = {
    items: reading.items + settled.items - reading.settled.items,
    bytes: reading.bytes + settled.bytes - reading.settled.bytes,
  };
  for (const { items, bytes } of open) {
    used.items += items;
    used.bytes += bytes;
  }
  return used;
}

/** Whether another call of the same write is, which is done once. */
function isUnderWay({ open }: Account, { once }: IntendedWrite): boolean {
  return once !== undefined && [...open].some((other) => other.once === once);
}

/** Of two calls of one write, the other may still write what this one did not. */
function inherit({ open }: Account, { once, items, bytes }: Reservation): void {
  const [other] = [...open].filter((one) => one.once === once);
  if (other === undefined) return;
  other.items += items;
  other.bytes += bytes;
}

function takesNothing(quota: StorageQuota, { items, bytes }: StorageUse): boolean {
  return (quota.items === null || items === 0) && (quota.bytes === null || bytes === 0);
}

function isOutOfReach(error: unknown): boolean {
  return isQuiverError(error) && error.kind === 'unavailable';
}

function first<Item>(line: ReadonlySet<Item>): Item | undefined {
  return line.values().next().value;
}

function undecided(name: string): QuiverError {
  const message = `whether the write is within the quota of collection "${name}" depends on others that are under way, and these did not end in time; nothing was written, and the call may be retried`;
  return new QuiverError('unavailable', message);
}
