import type { ClusterStore, StoreChange } from '../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../../shared/base/time/clock';
import { TOKENS_USAGE_ID } from '../caller';
import type { KeyUsage, UsageSummary, UsageView } from '../keys-service';
import { UsageCounter, dayOfMs } from './usage-counter';
import {
  CHANGES_PER_TRANSACTION,
  coordinatorOf,
  dayOf,
  hoursFromValue,
  hoursPath,
  hoursPrefix,
  totalsFromValue,
  totalsPath,
  totalsPrefix,
  type UsageSubject,
} from './usage-entries';

/** A crash may lose the counts of this time. */
const FLUSH_MS = 5000;
/**
 * Subjects written per flush, so that any number of busy keys writes at most 200 small entries a second to the store.
 */
const SUBJECTS_PER_FLUSH = 500;
/** Subjects read and written together: with two changes each, they fill most of one transaction. */
const SUBJECTS_PER_GROUP = 40;
/** Keys whose counts are read at once for the summary. */
const SUMS_AT_ONCE = 16;
/** A counter without a request for this long is dropped from memory. It is read again when needed. */
const IDLE_MS = 3_600_000;

/** What has to be known of the keys that are counted. */
export interface CountedKeys {
  exists(id: number): boolean;
  /** Of every key, by id. */
  names(): { id: number; name: string }[];
}

/** The counts that this coordinator has made for one subject. */
interface Tally {
  counter: UsageCounter;
  /**
   * Whether the counter holds everything that this coordinator ever counted, or only what it counted since the tally
   * was made.
   */
  complete: boolean;
  /** Days with counts that are not in the store yet. */
  dirtyDays: Set<number>;
}

/**
 * Usage in the cluster store. It is counted in memory, written every few seconds as absolute numbers under this
 * coordinator's own id (so a repeated write changes nothing), and summed over all coordinators when read. An answer
 * includes everything that this coordinator has counted and what the others have written.
 */
export class StoreKeyUsage implements KeyUsage {
  private readonly store: ClusterStore;
  private readonly clock: Clock;
  private readonly coordinatorId: string;
  private readonly keys: CountedKeys;
  private readonly onFlushError: (error: unknown, isLast: boolean) => void;
  private readonly tallies = new Map<UsageSubject, Tally>();
  /** Subjects to write, the longest waiting first. */
  private readonly dirty = new Set<UsageSubject>();
  private readonly timer: NodeJS.Timeout;
  private flushing: Promise<void> = Promise.resolve();

  /**
   * `coordinatorId` is unique among the coordinators that run at the same time, and should stay the same over restarts.
   * `onFlushError` gets errors of failed writes; a later flush writes their counts, unless that was the last one
   * (`isLast`).
   */
  constructor(options: {
    store: ClusterStore;
    clock: Clock;
    coordinatorId: string;
    keys: CountedKeys;
    onFlushError: (error: unknown, isLast: boolean) => void;
    flushMs?: number;
  }) {
    this.store = options.store;
    this.clock = options.clock;
    this.coordinatorId = options.coordinatorId;
    this.keys = options.keys;
    this.onFlushError = options.onFlushError;
    this.timer = setInterval(() => {
      this.flush(SUBJECTS_PER_FLUSH).catch((error: unknown) => this.onFlushError(error, false));
    }, options.flushMs ?? FLUSH_MS);
    this.timer.unref();
  }

  record(keyId: number, endpoint: string, wallMs: number = this.clock.wallMs()): void {
    this.count(keyId, endpoint, wallMs);
    this.count('all', endpoint, wallMs);
  }

  async ofKey(id: number): Promise<UsageView> {
    if (!this.keys.exists(id)) throw new QuiverError('not_found', `API key ${id} does not exist`);
    return this.sum(id);
  }

  async summary(): Promise<UsageSummary> {
    const overall = await this.sum('all');
    const byKey: UsageSummary['byKey'] = [];
    const names = this.keys.names();
    for (let first = 0; first < names.length; first += SUMS_AT_ONCE) {
      const group = names.slice(first, first + SUMS_AT_ONCE);
      byKey.push(
        ...(await Promise.all(
          group.map(async ({ id, name }) => ({ keyId: id, keyName: name, usage: await this.sum(id) })),
        )),
      );
    }
    const tokens = await this.sum(TOKENS_USAGE_ID);
    if (tokens.totalRequests > 0) byKey.push({ keyId: TOKENS_USAGE_ID, keyName: 'bearer tokens', usage: tokens });
    return { overall, byKey };
  }

  /** Writes new counts of at most `subjectsMax` subjects. Flushes run one after another. */
  flush(subjectsMax = Infinity): Promise<void> {
    this.flushing = this.flushing.catch(() => undefined).then(() => this.writeDirty(subjectsMax));
    return this.flushing;
  }

  /**
   * Stops the periodic flush and writes everything. A cluster store that is away takes the last counts with it, and not
   * the stop.
   */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.flush().catch((error: unknown) => this.onFlushError(error, true));
  }

  private count(subject: UsageSubject, endpoint: string, nowMs: number): void {
    let tally = this.tallies.get(subject);
    if (tally === undefined) {
      tally = { counter: new UsageCounter(), complete: false, dirtyDays: new Set() };
      this.tallies.set(subject, tally);
    }
    tally.counter.add(endpoint, nowMs);
    tally.dirtyDays.add(dayOfMs(nowMs));
    this.dirty.add(subject);
  }

  private async sum(subject: UsageSubject): Promise<UsageView> {
    const [totals, hours] = await Promise.all([
      this.store.list(totalsPrefix(subject)),
      this.store.list(hoursPrefix(subject)),
    ]);
    // Synchronous from here on: `complete` must not change between choosing the entries and adding them up.
    const tally = this.tallies.get(subject);
    const counts = (path: string): boolean => tally?.complete !== true || coordinatorOf(path) !== this.coordinatorId;
    const sum = new UsageCounter();
    for (const entry of totals.entries) if (counts(entry.key)) sum.addTotals(totalsFromValue(entry.value));
    for (const entry of hours.entries)
      if (counts(entry.key)) sum.addHours(dayOf(entry.key), hoursFromValue(entry.value));
    if (tally !== undefined) sum.addCounter(tally.counter);
    return sum.view(this.clock.wallMs());
  }

  private async writeDirty(subjectsMax: number): Promise<void> {
    const subjects = [...this.dirty].slice(0, subjectsMax);
    for (let first = 0; first < subjects.length; first += SUBJECTS_PER_GROUP) {
      await this.writeGroup(subjects.slice(first, first + SUBJECTS_PER_GROUP));
    }
    this.dropIdle();
  }

  private async writeGroup(subjects: UsageSubject[]): Promise<void> {
    const group: { subject: UsageSubject; tally: Tally }[] = [];
    for (const subject of subjects) {
      const tally = this.tallies.get(subject);
      if (tally === undefined || (subject !== 'all' && subject !== TOKENS_USAGE_ID && !this.keys.exists(subject))) {
        this.dirty.delete(subject);
        this.tallies.delete(subject);
      } else {
        if (!tally.complete) await this.complete(subject, tally);
        group.push({ subject, tally });
      }
    }
    // From here on counted as written: a request during the write marks its subject as dirty again.
    const taken = group.map(({ subject, tally }) => {
      const changes = this.changesOf(subject, tally);
      const days = [...tally.dirtyDays];
      tally.dirtyDays.clear();
      this.dirty.delete(subject);
      return { subject, tally, changes, days };
    });
    const changes = taken.flatMap((one) => one.changes);
    try {
      for (let first = 0; first < changes.length; first += CHANGES_PER_TRANSACTION) {
        await this.store.transact([], changes.slice(first, first + CHANGES_PER_TRANSACTION));
      }
    } catch (error) {
      for (const { subject, tally, days } of taken) {
        this.dirty.add(subject);
        for (const day of days) tally.dirtyDays.add(day);
      }
      throw error;
    }
  }

  /** Adds to the tally what this coordinator wrote about the subject before its last restart. */
  private async complete(subject: UsageSubject, tally: Tally): Promise<void> {
    const [totals, hours] = await Promise.all([
      this.store.get(totalsPath(subject, this.coordinatorId)),
      this.store.list(hoursPrefix(subject)),
    ]);
    if (totals !== null) tally.counter.addTotals(totalsFromValue(totals.value));
    for (const entry of hours.entries) {
      if (coordinatorOf(entry.key) === this.coordinatorId)
        tally.counter.addHours(dayOf(entry.key), hoursFromValue(entry.value));
    }
    tally.complete = true;
  }

  private changesOf(subject: UsageSubject, tally: Tally): StoreChange[] {
    const path = (day: number): string => hoursPath(subject, this.coordinatorId, day);
    const forgotten = tally.counter.forgetOldDays(this.clock.wallMs());
    const days = [...tally.dirtyDays].filter((day) => !forgotten.includes(day));
    return [
      { type: 'put', key: totalsPath(subject, this.coordinatorId), value: JSON.stringify(tally.counter.totals()) },
      ...days.map((day): StoreChange => ({
        type: 'put',
        key: path(day),
        value: JSON.stringify(tally.counter.hours(day)),
      })),
      ...forgotten.map((day): StoreChange => ({ type: 'delete', key: path(day) })),
    ];
  }

  private dropIdle(): void {
    const idleSince = this.clock.wallMs() - IDLE_MS;
    for (const [subject, tally] of this.tallies) {
      if (tally.complete && !this.dirty.has(subject) && tally.counter.lastMs < idleSince) this.tallies.delete(subject);
    }
  }
}
