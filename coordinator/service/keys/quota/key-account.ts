import type { Clock } from '../../../../shared/base/time/clock';
import { Waiters } from '../../../../shared/base/time/waiters';
import { type ChargeTimes, type KeyQuota, NOTHING_WRITTEN, periodAt, type Written } from './key-quota';
import { isLater, type TakenQuota } from './quota-entry';

/** What was taken of a quota for one write; of what is not bounded, nothing. */
export interface Charge extends Written {
  account: KeyAccount;
  number: number;
  period: string;
  untilMs: number;
}

/** A write that is to be decided. */
export interface WaitingWrite extends Written {
  quota: KeyQuota;
  /** Monotonic. Until then it waits for others that are under way, if their end may make room for it. */
  untilMs: number;
  times: ChargeTimes;
  resolve: (charge: number) => void;
  reject: (error: unknown) => void;
}

/** What a process holds of one key's quota, and who wants some of it. */
export class KeyAccount {
  /** Taken from the store, in `period` and under `quota`, and not used yet. */
  free: Written = { ...NOTHING_WRITTEN };
  period: string;
  waiting: WaitingWrite[] = [];
  /** Whether somebody serves those who wait. */
  isServed = false;
  /** The exchange with the store that is under way: one at a time. */
  busy: Promise<void> | null = null;
  /** The number of the exchange that was begun last. */
  lastExchange = 0;
  /** What of `free` the exchange took that is under way. */
  held: Written = NOTHING_WRITTEN;
  /** The entry in the store as the last exchange left it; null: nothing is known of it. */
  known: TakenQuota | null = null;
  readonly open = new Set<Charge>();
  /** Whether `free` may be more than the share that is taken in advance, because some of it came back. */
  hasRefund = false;
  usedMs: number;
  /** Counts what may let a waiting write through, or decide that it does not. */
  changes = 0;
  readonly changed: Waiters;

  constructor(
    readonly identity: string,
    /** Of its entry in the store. */
    readonly path: string,
    public quota: KeyQuota,
    clock: Clock,
  ) {
    this.period = periodAt(quota.period, clock.wallMs());
    this.usedMs = clock.monotonicMs();
    this.changed = new Waiters(clock);
  }

  /** Whether `free` has room, and is of this quota and period. */
  hasRoomFor(needed: Written, quota: KeyQuota, wallMs: number): boolean {
    const period = periodAt(quota.period, wallMs);
    return (
      isSameQuota(this.quota, quota) &&
      (this.period === period || isLater(this.period, period)) &&
      fitsIn(this.free, needed)
    );
  }

  add({ items, bytes }: Written): void {
    this.free.items += items;
    this.free.bytes += bytes;
  }

  /** At the end of an exchange, which got `granted` and left `known` in the store. */
  end(granted: Written, known: TakenQuota | null): void {
    this.add(granted);
    this.held = NOTHING_WRITTEN;
    this.known = known;
  }

  /** Takes what is held. */
  empty(): Written {
    const held = this.free;
    this.free = { ...NOTHING_WRITTEN };
    return held;
  }

  get isEmpty(): boolean {
    return this.free.items === 0 && this.free.bytes === 0;
  }

  noteChange(): void {
    this.changes += 1;
    this.changed.wake();
  }

  /** What those that are under way give back if they store nothing. */
  get mayReturn(): Written {
    let sum = NOTHING_WRITTEN;
    for (const charge of this.open) if (charge.period === this.period) sum = sumOf(sum, charge);
    return sum;
  }
}

/** What of a write counts in a quota: nothing of what is not bounded. */
export function countedOf(quota: KeyQuota, { items, bytes }: Written): Written {
  return { items: quota.items === null ? 0 : items, bytes: quota.bytes === null ? 0 : bytes };
}

export function fitsIn(room: Written, { items, bytes }: Written): boolean {
  return items <= room.items && bytes <= room.bytes;
}

export function sumOf(one: Written, other: Written): Written {
  return { items: one.items + other.items, bytes: one.bytes + other.bytes };
}

/** `one` without `other`, and never less than nothing. */
export function without(one: Written, other: Written): Written {
  return { items: Math.max(0, one.items - other.items), bytes: Math.max(0, one.bytes - other.bytes) };
}

/** What the writes need that fit in the room one after the other. */
export function needOf(writes: readonly Written[], room: Written): Written {
  let need = NOTHING_WRITTEN;
  for (const write of writes) {
    const sum = sumOf(need, write);
    if (fitsIn(room, sum)) need = sum;
  }
  return need;
}

export function isSameQuota(one: KeyQuota, other: KeyQuota): boolean {
  return one === other || (one.items === other.items && one.bytes === other.bytes && one.period === other.period);
}
