import type { ClusterStore, StoreEntry } from '../../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../readable-entries';
import { isQuiverError, QuiverError } from '../../../../shared/base/errors/quiver-error';
import { NumberTable } from '../../../../shared/base/tables/number-table';
import type { Clock } from '../../../../shared/base/time/clock';
import {
  type Charge,
  countedOf,
  fitsIn,
  isSameQuota,
  KeyAccount,
  needOf,
  sumOf,
  type WaitingWrite,
  without,
} from './key-account';
import {
  type ChargeTimes,
  type KeyQuotaAdmission,
  type KeyQuotaUse,
  type KeyWriter,
  keyExcessOf,
  NOTHING_WRITTEN,
  periodAt,
  resetOf,
  writerName,
  type Written,
} from './key-quota';
import {
  grantOf,
  isLater,
  isOver,
  KEY_QUOTAS_PREFIX,
  quotaPath,
  roomBeside,
  takenFromEntry,
  type TakenQuota,
  takenToValue,
  TOKEN_QUOTAS_PREFIX,
} from './quota-entry';

/**
 * A key that did not write for so long gives back what was taken for it, for other coordinators. What came back goes at
 * once.
 */
const IDLE_MS = 2_000;
/** Every failed attempt means that another coordinator took something. */
const ATTEMPTS_MAX = 32;
/** A writer that gives no answer for so long is gone, and its write counts. */
const LOST_MS = 120_000;
/** How often the entries of subjects are looked through for those of periods that are over. */
const SWEEP_MS = 86_400_000;
/** Changes of one transaction; etcd allows 128. */
const CHANGES_MAX = 100;
/** A write waits so long for others that are under way: nearly all have ended by then. */
const WAIT_MS = 10_000;

type Writer = Pick<KeyWriter, 'identity' | 'quota'>;

/**
 * Counts what keys with a quota store, for all writes of this process, on its main thread. What is used was taken from
 * an entry in the cluster store before (quota-entry.ts), a little in advance; what is left over goes back once the key
 * is quiet, and at the end. So all coordinators together never let more through than the quota has. A process that dies
 * keeps what it had taken: at most a small share of what was left. A write that would have room if others of this
 * process store less than they may waits for these to end, before it is refused.
 */
export class KeyQuotaLedger implements KeyQuotaAdmission {
  private readonly accounts = new Map<string, KeyAccount>();
  private readonly charges = new NumberTable<Charge>();
  private timer: NodeJS.Timeout | null = null;
  private refused = 0;
  private sweptMs = -Infinity;
  private exchangeCount = 0;

  constructor(
    private readonly parts: {
      store: Pick<ClusterStore, 'get' | 'list' | 'transact'>;
      clock: Clock;
      idleMs?: number;
      waitMs?: number;
    },
  ) {}

  /** Writes that were refused since the start. */
  get refusals(): number {
    return this.refused;
  }

  noteRefusal(): void {
    this.refused += 1;
  }

  async take(writer: Writer, written: Written, times: ChargeTimes = {}): Promise<number> {
    const { clock } = this.parts;
    const { waitMs = this.parts.waitMs ?? WAIT_MS } = times;
    const { quota } = writer;
    const account = this.accountOf(writer);
    const needed = countedOf(quota, written);
    if (account.waiting.length === 0 && account.hasRoomFor(needed, quota, clock.wallMs()))
      return this.spend(account, needed, times);
    return new Promise((resolve, reject) => {
      account.waiting.push({ ...needed, quota, untilMs: clock.monotonicMs() + waitMs, times, resolve, reject });
      account.noteChange();
      void this.serve(account);
    });
  }

  settle(number: number, written: Written | null): void {
    const charge = this.charges.remove(number);
    if (charge === undefined) return;
    const { account, period } = charge;
    account.open.delete(charge);
    if (written !== null && account.period === period) this.refund(account, without(charge, written));
    account.noteChange();
  }

  giveBack(writer: Writer, written: Written, sinceMs: number): void {
    const account = this.accountOf(writer);
    if (periodAt(writer.quota.period, sinceMs) !== account.period) return;
    this.refund(account, countedOf(writer.quota, written));
    account.noteChange();
  }

  /** What the key has stored in this period, with what other coordinators hold for it. Errors: unavailable. */
  async usedOf(key: Writer): Promise<KeyQuotaUse> {
    const account = this.accounts.get(quotaPath(key));
    // Of the first exchange nothing is known yet.
    if (account !== undefined && account.busy !== null && account.known === null)
      await account.busy.catch(() => undefined);
    const before = this.exchangeOf(key);
    const entry = before === null ? null : await this.parts.store.get(quotaPath(key));
    return this.useSince(key, before, entry);
  }

  /** The same of many keys, in their order. */
  async usedOfAll(keys: readonly Writer[]): Promise<KeyQuotaUse[]> {
    if (keys.length === 0) return [];
    const before = keys.map((key) => this.exchangeOf(key));
    const entries = new Map(
      (await this.parts.store.list(KEY_QUOTAS_PREFIX)).entries.map((entry) => [entry.key, entry]),
    );
    return keys.map((key, i) => this.useSince(key, before[i], entries.get(quotaPath(key)) ?? null));
  }

  /** Gives back what is left over. What can't be given back now is lost to the period. */
  async close(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    for (const account of this.accounts.values()) {
      for (const { reject, quota } of account.waiting.splice(0))
        reject(undecided({ identity: account.identity, quota }));
      account.noteChange();
    }
    await Promise.all([...this.accounts.values()].map((account) => this.release(account).catch(() => undefined)));
    this.accounts.clear();
  }

  /**
   * Deletes what is kept of subjects of tokens for periods that are over. Harmless at any time. Errors: unavailable.
   */
  async sweep(): Promise<void> {
    const { store, clock } = this.parts;
    const { entries } = await store.list(TOKEN_QUOTAS_PREFIX);
    const over = readableEntries(entries, (entry) => (isOver(takenFromEntry(entry), clock.wallMs()) ? entry : null));
    for (let at = 0; at < over.length; at += CHANGES_MAX) {
      const some = over.slice(at, at + CHANGES_MAX);
      await store.transact(
        some.map(({ key, revision }) => ({ key, revision })),
        some.map(({ key }) => ({ type: 'delete', key })),
      );
    }
  }

  /** The exchange of a key's account that was last; null: one is under way. */
  private exchangeOf(key: Writer): number | null {
    const account = this.accounts.get(quotaPath(key));
    if (account === undefined) return 0;
    return account.busy === null ? account.lastExchange : null;
  }

  /**
   * By an entry that was read since the exchange `before`. If there was another one meanwhile, the entry and what is
   * held here do not belong together: then by what the last exchange left.
   */
  private useSince(key: Writer, before: number | null, entry: StoreEntry | null): KeyQuotaUse {
    const known = this.accounts.get(quotaPath(key))?.known ?? null;
    const isRead = before !== null && before === this.exchangeOf(key);
    return this.useOf(key, isRead || known === null ? entry && takenFromEntry(entry) : known);
  }

  private useOf(writer: Writer, taken: TakenQuota | null): KeyQuotaUse {
    const { quota } = writer;
    const wallMs = this.parts.clock.wallMs();
    const period = periodAt(quota.period, wallMs);
    const counts =
      taken !== null && (taken.period === period || isLater(taken.period, period)) ? taken : NOTHING_WRITTEN;
    const account = this.accounts.get(quotaPath(writer));
    const unused =
      account !== undefined && taken?.period === account.period ? sumOf(account.free, account.held) : NOTHING_WRITTEN;
    const used = without(counts, unused);
    return {
      items: quota.items === null ? null : used.items,
      bytes: quota.bytes === null ? null : used.bytes,
      period: quota.period,
      resetsAt: resetOf(quota.period, wallMs),
    };
  }

  /** Lets those through that wait, in turn, each with what it needs. */
  private async serve(account: KeyAccount): Promise<void> {
    if (account.isServed) return;
    account.isServed = true;
    try {
      while (account.waiting.length > 0) {
        const { changes } = account;
        const open = await this.serveSome(account);
        account.waiting.unshift(...open);
        if (open.length > 0 && account.changes === changes)
          await account.changed.next(Math.min(...open.map(({ untilMs }) => untilMs)));
      }
    } finally {
      account.isServed = false;
    }
  }

  /** Decides those who wait under one quota, and answers those of them that depend on others that are under way. */
  private async serveSome(account: KeyAccount): Promise<WaitingWrite[]> {
    while (account.busy !== null) await account.busy.catch(() => undefined);
    // All of them were refused meanwhile, at the end of the process.
    if (account.waiting.length === 0) return [];
    // Two tokens of a subject, or a key that was just changed, may come with different ones.
    const [{ quota }] = account.waiting;
    const batch = account.waiting.filter((one) => isSameQuota(one.quota, quota));
    account.waiting = account.waiting.filter((one) => !batch.includes(one));
    account.quota = quota;
    let untaken: Written = NOTHING_WRITTEN;
    account.busy = this.exchange(account, (taken) => {
      const room = roomBeside(quota, taken);
      const grant = grantOf(quota, taken, needOf(batch, room));
      untaken = without(room, grant);
      return grant;
    });
    try {
      await account.busy;
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return [];
    } finally {
      account.busy = null;
    }
    const stay: WaitingWrite[] = [];
    for (const one of batch) {
      const left = sumOf(untaken, account.free);
      if (fitsIn(account.free, one)) one.resolve(this.spend(account, one, one.times));
      else if (!fitsIn(sumOf(left, account.mayReturn), one))
        one.reject(keyExcessOf({ identity: account.identity, quota }, left, one, this.parts.clock.wallMs()));
      else if (this.parts.clock.monotonicMs() < one.untilMs) stay.push(one);
      else one.reject(one.times.waitMs === 0 ? held() : undecided({ identity: account.identity, quota }));
    }
    return stay;
  }

  /** Gives back all that is not used. */
  private async release(account: KeyAccount): Promise<void> {
    while (account.busy !== null) await account.busy.catch(() => undefined);
    if (account.isEmpty) return;
    account.busy = this.exchange(account, () => NOTHING_WRITTEN);
    try {
      await account.busy;
    } finally {
      account.busy = null;
      void this.serve(account);
    }
  }

  /**
   * Gives back what is held, and takes what `decide` says of what all others have taken. Errors: unavailable;
   * commit_unknown: then it counts as taken.
   */
  private async exchange(account: KeyAccount, decide: (taken: Written) => Written): Promise<void> {
    const { store, clock } = this.parts;
    const key = account.path;
    account.lastExchange = this.exchangeCount += 1;
    account.held = account.empty();
    account.hasRefund = false;
    try {
      let entry = await store.get(key);
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
        const present: TakenQuota | null = entry === null ? null : takenFromEntry(entry);
        const period = periodAt(account.quota.period, clock.wallMs());
        // Another coordinator's clock may be ahead.
        const next = present !== null && isLater(present.period, period) ? present.period : period;
        if (account.period !== next) {
          account.held = NOTHING_WRITTEN;
          // What came back meanwhile is of the period before, too.
          account.empty();
        }
        account.period = next;
        const others = without(present?.period === next ? present : NOTHING_WRITTEN, account.held);
        const granted = decide(others);
        const left = { period: next, ...sumOf(others, granted) };
        const value = takenToValue(left);
        // Of a key that was deleted, nothing is left behind.
        const isNothing = entry === null && granted.items === 0 && granted.bytes === 0;
        if (isNothing || value === entry?.value) return account.end(granted, left);
        const result = await store.transact([{ key, revision: entry?.revision ?? 0 }], [{ type: 'put', key, value }]);
        if (result.applied) return account.end(granted, left);
        [entry] = result.current;
      }
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'commit_unknown') account.end(NOTHING_WRITTEN, null);
      else account.end(account.held, account.known);
      throw failure(error);
    }
    account.end(account.held, account.known);
    throw new QuiverError(
      'unavailable',
      "the key's quota cannot be checked: the cluster store is too busy; nothing was written, and the call may be retried",
    );
  }

  private refund(account: KeyAccount, given: Written): void {
    account.add(given);
    if (given.items > 0 || given.bytes > 0) account.hasRefund = true;
  }

  private spend(account: KeyAccount, { items, bytes }: Written, { lostMs = LOST_MS }: ChargeTimes): number {
    account.free = without(account.free, { items, bytes });
    const charge: Charge = {
      account,
      items,
      bytes,
      period: account.period,
      number: 0,
      untilMs: this.parts.clock.monotonicMs() + lostMs,
    };
    account.open.add(charge);
    return (charge.number = this.charges.add(charge));
  }

  private accountOf(writer: Writer): KeyAccount {
    const path = quotaPath(writer);
    let account = this.accounts.get(path);
    if (account === undefined) {
      account = new KeyAccount(writer.identity, path, writer.quota, this.parts.clock);
      this.accounts.set(path, account);
      this.timer ??= setInterval(() => this.tidy(), this.parts.idleMs ?? IDLE_MS).unref();
    }
    account.usedMs = this.parts.clock.monotonicMs();
    return account;
  }

  private tidy(): void {
    const nowMs = this.parts.clock.monotonicMs();
    for (const account of this.accounts.values()) {
      for (const { number, untilMs } of account.open) if (untilMs < nowMs) this.settle(number, null);
      if (account.busy !== null || account.waiting.length > 0 || account.isServed) continue;
      const isQuiet = nowMs - account.usedMs >= (this.parts.idleMs ?? IDLE_MS);
      if (!account.isEmpty && (isQuiet || account.hasRefund)) void this.release(account).catch(() => undefined);
      else if (account.isEmpty && isQuiet && account.open.size === 0) this.accounts.delete(account.path);
    }
    const hasSubjects = [...this.accounts.keys()].some((path) => path.startsWith(TOKEN_QUOTAS_PREFIX));
    if (hasSubjects && nowMs - this.sweptMs >= SWEEP_MS) {
      this.sweptMs = nowMs;
      this.sweep().catch(() => undefined);
    }
    if (this.accounts.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }
}

function held(): QuiverError {
  return new QuiverError('overloaded', 'what is left of the quota is held by others that are under way');
}

function undecided(writer: Writer): QuiverError {
  const message = `whether the write is within the quota of ${writerName(writer)} depends on others that are under way, and these did not end in time; nothing was written, and the call may be retried`;
  return new QuiverError('unavailable', message);
}

function failure(error: unknown): unknown {
  if (!isQuiverError(error) || (error.kind !== 'unavailable' && error.kind !== 'commit_unknown')) return error;
  const message =
    "the key's quota cannot be checked: the cluster store is unreachable; nothing was written, and the call may be retried";
  return new QuiverError('unavailable', message, { cause: error });
}
