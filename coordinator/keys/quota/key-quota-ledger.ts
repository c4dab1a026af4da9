import type { ClusterStore, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../../shared/errors/quiver-error';
import { NumberTable } from '../../../shared/tables/number-table';
import type { Clock } from '../../../shared/time/clock';
import { type KeyQuota, type KeyQuotaGate, type KeyQuotaUse, type KeyWriter, keyExcessOf, NOTHING_WRITTEN, periodAt, resetOf, type Written } from './key-quota';
import { grantOf, isLater, KEY_QUOTAS_PREFIX, keyQuotaPath, takenFromEntry, type TakenQuota, takenToValue } from './quota-entry';

/** A key that did not write for so long gives back what was taken for it, for other coordinators. */
const IDLE_MS = 2_000;
/** Every failed attempt means that another coordinator took something. */
const ATTEMPTS_MAX = 32;
/** After so long without an answer from whoever writes, it is gone, and the write counts. */
const LOST_MS = 120_000;

type Writer = Pick<KeyWriter, 'id' | 'quota'>;

interface Charge extends Written {
  account: Account;
  number: number;
  period: string;
  untilMs: number;
}

interface Waiting extends Written {
  resolve: (charge: number) => void;
  reject: (error: unknown) => void;
}

/** What this process holds of one key's quota. */
interface Account {
  id: number;
  quota: KeyQuota;
  /** The period that `free` is of. */
  period: string;
  /** Taken from the store, and not used yet. */
  free: Written;
  /** Whether `free` was taken under another quota, and must go back before anything is decided. */
  isOutdated: boolean;
  waiting: Waiting[];
  /** The exchange with the store that is under way: one at a time. */
  busy: Promise<void> | null;
  open: Set<Charge>;
  usedMs: number;
}

/**
 * Counts what keys with a quota store, for all writes of this process, on its main thread. What is used was taken from an
 * entry in the cluster store before (quota-entry.ts), a little in advance; what is left over goes back once the key is
 * quiet, and at the end. So all coordinators together never let more through than the quota has. A process that dies keeps
 * what it had taken: at most a small share of what was left.
 */
export class KeyQuotaLedger implements KeyQuotaGate {
  private readonly accounts = new Map<number, Account>();
  private readonly charges = new NumberTable<Charge>();
  private timer: NodeJS.Timeout | null = null;
  private refused = 0;

  constructor(private readonly parts: { store: Pick<ClusterStore, 'get' | 'list' | 'transact'>; clock: Clock; idleMs?: number }) {}

  /** Writes that were refused since the start. */
  get refusals(): number {
    return this.refused;
  }

  noteRefusal(): void {
    this.refused += 1;
  }

  async take(writer: Writer, { items, bytes }: Written): Promise<number> {
    const account = this.accountOf(writer);
    if (!account.isOutdated && account.waiting.length === 0 && fits(account, { items, bytes })) return this.spend(account, { items, bytes });
    return new Promise((resolve, reject) => {
      account.waiting.push({ items, bytes, resolve, reject });
      void this.serve(account);
    });
  }

  settle(number: number, written: Written | null): void {
    const charge = this.charges.remove(number);
    if (charge === undefined) return;
    const { account, period, items, bytes } = charge;
    account.open.delete(charge);
    if (written !== null && account.period === period) add(account, { items: items - written.items, bytes: bytes - written.bytes });
  }

  giveBack(writer: Writer, written: Written, sinceMs: number): void {
    const account = this.accountOf(writer);
    if (periodAt(writer.quota.period, sinceMs) === account.period) add(account, written);
  }

  /** What the key has stored in this period, with what other coordinators hold for it. Errors: unavailable. */
  async usedOf(key: Writer): Promise<KeyQuotaUse> {
    return this.useOf(key, await this.parts.store.get(keyQuotaPath(key.id)));
  }

  /** The same of many, in their order. */
  async usedOfAll(keys: readonly Writer[]): Promise<KeyQuotaUse[]> {
    if (keys.length === 0) return [];
    const entries = new Map((await this.parts.store.list(KEY_QUOTAS_PREFIX)).entries.map((entry) => [entry.key, entry]));
    return keys.map((key) => this.useOf(key, entries.get(keyQuotaPath(key.id)) ?? null));
  }

  /** Gives back what is left over. What can't be given back now is lost to the period. */
  async close(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    await Promise.all([...this.accounts.values()].map((account) => this.release(account).catch(() => undefined)));
    this.accounts.clear();
  }

  private useOf({ id, quota }: Writer, entry: StoreEntry | null): KeyQuotaUse {
    const wallMs = this.parts.clock.wallMs();
    const taken = entry === null ? null : takenFromEntry(entry);
    const period = periodAt(quota.period, wallMs);
    const counts = taken !== null && (taken.period === period || isLater(taken.period, period)) ? taken : NOTHING_WRITTEN;
    const account = this.accounts.get(id);
    const held = account !== undefined && taken?.period === account.period ? account.free : NOTHING_WRITTEN;
    return {
      items: quota.items === null ? null : Math.max(0, counts.items - held.items),
      bytes: quota.bytes === null ? null : Math.max(0, counts.bytes - held.bytes),
      period: quota.period,
      resetsAt: resetOf(quota.period, wallMs),
    };
  }

  /** Lets those through that wait, in turn, each with what it needs. */
  private async serve(account: Account): Promise<void> {
    if (account.busy !== null) return;
    while (account.waiting.length > 0) {
      const batch = account.waiting.splice(0);
      const needed = batch.reduce<Written>((sum, { items, bytes }) => ({ items: sum.items + items, bytes: sum.bytes + bytes }), NOTHING_WRITTEN);
      account.busy = this.exchange(account, (taken) => grantOf(account.quota, taken, needed));
      try {
        await account.busy;
      } catch (error) {
        for (const { reject } of batch) reject(error);
        continue;
      } finally {
        account.busy = null;
      }
      for (const { items, bytes, resolve, reject } of batch) {
        const excess = keyExcessOf(account, leftOf(account), { items, bytes }, this.parts.clock.wallMs());
        if (excess === null) resolve(this.spend(account, { items, bytes }));
        else reject(excess);
      }
    }
  }

  /** Gives back all that is not used. */
  private async release(account: Account): Promise<void> {
    while (account.busy !== null) await account.busy.catch(() => undefined);
    if (account.free.items === 0 && account.free.bytes === 0) return;
    account.busy = this.exchange(account, () => NOTHING_WRITTEN);
    try {
      await account.busy;
    } finally {
      account.busy = null;
      void this.serve(account);
    }
  }

  /** Gives back what is held, and takes what `decide` says of what all others have taken. Errors: unavailable; commit_unknown: then it counts as taken. */
  private async exchange(account: Account, decide: (taken: Written) => Written): Promise<void> {
    const { store, clock } = this.parts;
    const key = keyQuotaPath(account.id);
    let held = account.free;
    account.free = { ...NOTHING_WRITTEN };
    account.isOutdated = false;
    try {
      let entry = await store.get(key);
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
        const present: TakenQuota | null = entry === null ? null : takenFromEntry(entry);
        const period = periodAt(account.quota.period, clock.wallMs());
        // Another coordinator's clock may be ahead.
        const next = present !== null && isLater(present.period, period) ? present.period : period;
        if (account.period !== next) held = NOTHING_WRITTEN;
        account.period = next;
        const before = present?.period === next ? present : NOTHING_WRITTEN;
        const others = { items: Math.max(0, before.items - held.items), bytes: Math.max(0, before.bytes - held.bytes) };
        const granted = decide(others);
        const value = takenToValue({ period: next, items: others.items + granted.items, bytes: others.bytes + granted.bytes });
        if (value === entry?.value) {
          add(account, granted);
          return;
        }
        const result = await store.transact([{ key, revision: entry?.revision ?? 0 }], [{ type: 'put', key, value }]);
        if (result.applied) {
          add(account, granted);
          return;
        }
        [entry] = result.current;
      }
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'commit_unknown') add(account, held);
      throw failure(error);
    }
    add(account, held);
    throw new QuiverError('unavailable', 'what the API key has stored could not be counted: the cluster store is too busy; nothing was written, and the call may be retried');
  }

  private spend(account: Account, { items, bytes }: Written): number {
    const { quota, free, period } = account;
    if (quota.items !== null) free.items -= items;
    if (quota.bytes !== null) free.bytes -= bytes;
    const charge: Charge = { account, items, bytes, period, number: 0, untilMs: this.parts.clock.monotonicMs() + LOST_MS };
    account.open.add(charge);
    return (charge.number = this.charges.add(charge));
  }

  private accountOf({ id, quota }: Writer): Account {
    const { clock } = this.parts;
    let account = this.accounts.get(id);
    const period = periodAt(quota.period, clock.wallMs());
    if (account === undefined) {
      account = { id, quota, period, free: { ...NOTHING_WRITTEN }, isOutdated: false, waiting: [], busy: null, open: new Set(), usedMs: 0 };
      this.accounts.set(id, account);
      this.timer ??= setInterval(() => this.tidy(), this.parts.idleMs ?? IDLE_MS).unref();
    }
    if (!isSame(account.quota, quota)) {
      account.quota = quota;
      account.isOutdated = true;
    }
    if (account.period !== period && !isLater(account.period, period)) {
      account.period = period;
      account.free = { ...NOTHING_WRITTEN };
    }
    account.usedMs = clock.monotonicMs();
    return account;
  }

  private tidy(): void {
    const nowMs = this.parts.clock.monotonicMs();
    for (const account of this.accounts.values()) {
      for (const { number, untilMs } of account.open) if (untilMs < nowMs) this.settle(number, null);
      if (account.busy !== null || account.waiting.length > 0 || nowMs - account.usedMs < (this.parts.idleMs ?? IDLE_MS)) continue;
      if (account.free.items > 0 || account.free.bytes > 0) void this.release(account).catch(() => undefined);
      else if (account.open.size === 0) this.accounts.delete(account.id);
    }
    if (this.accounts.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }
}

function leftOf({ quota, free }: Account): Written {
  return { items: quota.items === null ? Infinity : free.items, bytes: quota.bytes === null ? Infinity : free.bytes };
}

function fits(account: Account, { items, bytes }: Written): boolean {
  const left = leftOf(account);
  return items <= left.items && bytes <= left.bytes;
}

/** What is not bounded is not counted. */
function add({ quota, free }: Account, { items, bytes }: Written): void {
  if (quota.items !== null) free.items += items;
  if (quota.bytes !== null) free.bytes += bytes;
}

function isSame(one: KeyQuota, other: KeyQuota): boolean {
  return one === other || (one.items === other.items && one.bytes === other.bytes && one.period === other.period);
}

function failure(error: unknown): unknown {
  if (!isQuiverError(error) || (error.kind !== 'unavailable' && error.kind !== 'commit_unknown')) return error;
  return new QuiverError('unavailable', 'what the API key has stored can not be counted while the cluster store can not be reached; nothing was written, and the call may be retried', {
    cause: error,
  });
}
