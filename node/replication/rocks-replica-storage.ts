import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { ReplicaDigest } from '../../shared/cluster-store/entries/node-report';
import { momentOf } from '../../shared/contract/writes/operation-codec';
import type { WriteResult } from '../../shared/contract/shard/shard-client';
import type { KeyValueChange, KeyValueStore } from '../engine/kv/key-value-store';
import type { AppliedEntry, LogChange, LogEntry, ReplicaState } from './core/replica-state';
import { logEntryFromBytes } from './log/log-entry-codec';
import { APPLIED_KEY, BASE_KEY, LOG_RANGE, logKeyFrom, pairToBytes, positionOfLogKey, TIMES_KEY } from './log/log-keys';
import { AppliedStops } from './applied-stops';
import { LogWatermark } from './log/log-watermark';
import { LogSizes } from './log/log-sizes';
import { dropTrimmedEpochs, epochAt, surveyLog } from './log/log-survey';
import type { Pace } from '../../shared/base/time/pace';
import { digestOf } from './replica-digest';
import { LogWriter } from './log/log-writer';
import type { ReplicaStorage } from './replica-storage';
import type { SettledWrites } from './settled-writes';

/** Payload bytes applied to the records in one batch: larger batches gain nothing and delay readers of the log. */
const APPLY_BYTES_MAX = 8 * 1024 * 1024;
/** How often whoever waits for an entry looks whether it came. */
const CHECK_EVERY_MS = 50;
/** Entries per page when the log is read; each may be megabytes long. */
const READ_PAGE = 16;
/**
 * Entries are kept in memory until they are applied, up to this size. A replica that applies more slowly than it
 * appends reads the others back.
 */
const UNAPPLIED_BYTES_MAX = 64 * 1024 * 1024;

/** A hold on the log for a copy of the records. */
export interface LogPin {
  /** Whether the copy is of no use any more: the log may have been trimmed past it, or the replica closes. */
  isOutrun: () => boolean;
  release: () => void;
}

/** The shard to whose records the log is applied. */
export interface LoggedShard {
  /** `payloads`: encoded writes (operation-codec.ts). */
  applyLogged(payloads: Buffer[], alongside: (results: WriteResult[]) => KeyValueChange[]): Promise<WriteResult[]>;
  /** The latest moment of a write that was in the log before. */
  noteMoment(moment: number): void;
}

/**
 * The log of a replica, in the store that also holds its shard's records. An append is synced, and appends that wait
 * share a sync. The batches of the records are not synced, because the log repeats them after a crash. The caller owns
 * store and shard. A high-water mark in a separate file shows at the next start whether the store has lost the end of
 * the log.
 */
export class RocksReplicaStorage implements ReplicaStorage {
  readonly state: ReplicaState;
  private readonly store: KeyValueStore;
  private readonly shard: LoggedShard;
  private readonly settled: SettledWrites;
  private readonly watermark: LogWatermark;
  private readonly writer: LogWriter;
  /** Entries that are not applied yet, so that applying does not read what was just written. */
  private readonly unapplied = new Map<number, LogEntry>();
  private unappliedBytes = 0;
  /** Bytes of the log's entries, also of those from before the start: a bound must not begin again with it. */
  private readonly sizes = new LogSizes();
  private applying: Promise<unknown> = Promise.resolve();
  private readonly pins = new Set<{ sequence: number }>();
  private readonly stops = new AppliedStops();
  private failure: unknown = null;
  private closing: Promise<void> | null = null;
  /** Aborted first of all when it closes: a digest may have hours to go, and its store can't be closed before. */
  private readonly ending = new AbortController();

  private constructor(parts: {
    store: KeyValueStore;
    shard: LoggedShard;
    state: ReplicaState;
    settled: SettledWrites;
    sizes: number[];
    watermark: LogWatermark;
  }) {
    this.store = parts.store;
    this.shard = parts.shard;
    this.state = parts.state;
    this.settled = parts.settled;
    this.watermark = parts.watermark;
    this.writer = new LogWriter({
      store: parts.store,
      watermark: parts.watermark,
      state: parts.state,
      onEntry: (sequence, bytes) => this.sizes.add(sequence, bytes),
      onCut: ({ sequence, epoch }) => {
        if (this.unapplied.get(sequence)?.epoch === epoch) this.forget(sequence);
      },
    });
    parts.sizes.forEach((bytes, i) => this.sizes.add(parts.state.firstSequence + i, bytes));
    const { lossy } = parts.state;
    if (lossy !== undefined)
      this.failure = new QuiverError('storage_failed', `the store has lost what it held: ${lossy}`);
  }

  /**
   * `watermarkPath` is the file of the log's high-water mark. A log that has lost something is opened, and its state
   * says so. Errors: storage_failed.
   */
  static async open(parts: {
    store: KeyValueStore;
    shard: LoggedShard;
    watermarkPath: string;
  }): Promise<RocksReplicaStorage> {
    const { store, shard, watermarkPath } = parts;
    const watermark = await LogWatermark.open(watermarkPath);
    try {
      const { state, settled, sizes } = await surveyLog(store, watermark.state);
      // Finish a trim that a crash interrupted.
      if (state.lossy === undefined) await store.clear({ from: LOG_RANGE.from, to: logKeyFrom(state.firstSequence) });
      // Its clock may be behind that of the primary, by which items had expired.
      shard.noteMoment(state.latestMoment ?? 0);
      return new RocksReplicaStorage({ store, shard, state, settled, sizes, watermark });
    } catch (error) {
      await watermark.close();
      throw error;
    }
  }

  async append(change: LogChange): Promise<void> {
    if (this.failure !== null) throw this.failure;
    for (const entry of change.entries ?? []) {
      this.keep(entry);
      this.noteTimes(entry);
    }
    await this.writer.append(change);
  }

  async read(fromSequence: number, maxBytes: number): Promise<LogEntry[]> {
    if (fromSequence < this.state.firstSequence)
      throw new QuiverError('internal', `entry ${fromSequence} of the log is trimmed away`);
    const entries: LogEntry[] = [];
    let bytes = 0;
    for await (const page of this.store.scan({
      from: logKeyFrom(fromSequence),
      to: LOG_RANGE.to,
      pageSize: READ_PAGE,
    })) {
      for (const { key, value } of page) {
        bytes += value.length;
        if (entries.length > 0 && bytes > maxBytes) return entries;
        entries.push(logEntryFromBytes(value, positionOfLogKey(key)));
      }
    }
    // Entries that are still being written to the disk are sent to followers already.
    for (let at = fromSequence + entries.length; ; at += 1) {
      const entry = this.unapplied.get(at);
      if (entry === undefined) return entries;
      bytes += entry.write?.payload.length ?? 0;
      if (entries.length > 0 && bytes > maxBytes) return entries;
      entries.push(entry);
    }
  }

  apply(sequence: number): Promise<AppliedEntry[]> {
    const result = this.applying.then(() => {
      if (this.failure !== null) throw this.failure;
      if (this.closing !== null) throw new QuiverError('unavailable', 'the replica is closed');
      return this.applyUpTo(sequence);
    });
    this.applying = result.catch((error: unknown) => {
      this.failure ??= error;
    });
    return result;
  }

  newestWithin(limits: { entries: number; bytes: number }): number {
    const { firstSequence, lastSequence } = this.state;
    return Math.max(
      firstSequence,
      lastSequence + 1 - limits.entries,
      this.sizes.firstWithin(limits.bytes, lastSequence),
    );
  }

  bytesBetween(from: number, below: number): number {
    return this.sizes.between(from, below);
  }

  firstBeyond(from: number, bytes: number): number {
    return this.sizes.firstBeyond(from, bytes);
  }

  async trim(sequence: number, pinnedFrom = 0): Promise<void> {
    for (const pin of this.pins) if (pin.sequence < pinnedFrom) this.pins.delete(pin);
    const pinned = Math.min(...[...this.pins].map((pin) => pin.sequence));
    const first = Math.min(sequence, pinned, this.state.appliedSequence + 1);
    const { state } = this;
    if (first <= state.firstSequence) return;
    const from = state.firstSequence;
    const epoch = epochAt(state, first - 1);
    await this.store.write([{ type: 'put', key: BASE_KEY, value: pairToBytes(first - 1, epoch) }, ...this.times()], {
      sync: false,
    });
    state.firstSequence = first;
    state.precedingEpoch = epoch;
    this.sizes.trim(first);
    dropTrimmedEpochs(state);
    await this.store.clear({ from: logKeyFrom(from), to: logKeyFrom(first) });
  }

  reclaim(): Promise<void> {
    return this.store.reclaim({ from: LOG_RANGE.from, to: logKeyFrom(this.state.firstSequence) });
  }

  /**
   * What a store has to know of the times of entries that it has not got in its log: at least those of all that is
   * applied. Nothing where no entry ever had any.
   */
  times(): { type: 'put'; key: Buffer; value: Buffer }[] {
    const { latestTimeMs = 0, latestMoment = 0 } = this.state;
    return latestTimeMs === 0 && latestMoment === 0
      ? []
      : [{ type: 'put', key: TIMES_KEY, value: pairToBytes(latestTimeMs, latestMoment) }];
  }

  /**
   * Keeps every entry after the applied ones until it is released, or outrun because the log grew too long (see
   * `trim`).
   */
  pin(): LogPin {
    const pin = { sequence: this.state.appliedSequence + 1 };
    if (this.closing === null) this.pins.add(pin);
    return { isOutrun: () => !this.pins.has(pin), release: () => void this.pins.delete(pin) };
  }

  /**
   * The digest of what the replica holds after exactly the entry `sequence`. It waits for that entry for up to
   * `withinMs`. null: more is applied already, or the entry did not come. Errors: those of digestOf; unavailable also
   * when the replica closes.
   */
  async digestAt(
    sequence: number,
    how: { withinMs: number; pace: Pace; stop: AbortSignal },
  ): Promise<ReplicaDigest | null> {
    let digest: Promise<ReplicaDigest> | null = null;
    const stop = AbortSignal.any([how.stop, this.ending.signal]);
    const look = (): Promise<void> =>
      new Promise((seen) => {
        digest = digestOf(this.store, { pace: how.pace, stop, onView: seen });
        digest.catch(() => seen());
      });
    const giveUp = this.stops.add(sequence, look);
    // In the order of what is applied: it may be there already, and nothing may be applied while the view is taken.
    this.applying = this.applying.then(() => this.stops.reached(this.state.appliedSequence));
    const untilMs = performance.now() + how.withinMs;
    while (digest === null && this.state.appliedSequence <= sequence && performance.now() < untilMs && !stop.aborted) {
      await new Promise((wake) => setTimeout(wake, CHECK_EVERY_MS));
    }
    giveUp();
    return digest;
  }

  close(): Promise<void> {
    this.ending.abort();
    // A copy may have hours to go, too, and its scan keeps the store open.
    this.pins.clear();
    this.closing ??= this.finish();
    return this.closing;
  }

  private async finish(): Promise<void> {
    await this.writer.close();
    await this.applying;
    await this.watermark.close();
  }

  private async applyUpTo(sequence: number): Promise<AppliedEntry[]> {
    const results: AppliedEntry[] = [];
    while (this.state.appliedSequence < sequence) {
      const upTo = Math.min(sequence, this.stops.nextAfter(this.state.appliedSequence));
      results.push(...(await this.applyBatch(await this.toApply(upTo))));
      await this.stops.reached(this.state.appliedSequence);
    }
    return results;
  }

  /** The next entries to apply: at least one, and a bounded number of bytes. */
  private async toApply(sequence: number): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    let bytes = 0;
    for (let at = this.state.appliedSequence + 1; at <= sequence && bytes < APPLY_BYTES_MAX; at += 1) {
      const entry = this.unapplied.get(at);
      if (entry === undefined) {
        if (entries.length > 0) return entries;
        return (await this.read(at, APPLY_BYTES_MAX)).filter((read) => read.sequence <= sequence);
      }
      entries.push(entry);
      bytes += entry.write?.payload.length ?? 0;
    }
    return entries;
  }

  private async applyBatch(entries: LogEntry[]): Promise<AppliedEntry[]> {
    if (entries.length === 0)
      throw new QuiverError('storage_failed', `the log ends before ${this.state.appliedSequence + 1}`);
    const last = entries[entries.length - 1];
    const payloads: Buffer[] = [];
    const results: AppliedEntry[] = entries.map(({ sequence }) => ({ sequence, result: null }));
    const fresh: number[] = [];
    for (const [i, entry] of entries.entries()) {
      if (entry.write === null) continue;
      const verdict = this.settled.begin(entry.write.source, entry.sequence);
      if (verdict.type === 'repeats') results[i].duplicateOf = verdict.sequence;
      if (verdict.type !== 'new') continue;
      fresh.push(i);
      payloads.push(entry.write.payload);
    }
    await this.shard.applyLogged(payloads, (applied) => {
      fresh.forEach((i, place) => {
        results[i].result = applied[place];
        const { write } = entries[i];
        if (write !== null) this.settled.finish(write.source, applied[place]);
      });
      return [
        ...this.settled.changes(),
        { type: 'put', key: APPLIED_KEY, value: pairToBytes(last.sequence, last.epoch) },
      ];
    });
    for (const { sequence } of entries) this.forget(sequence);
    this.state.appliedSequence = last.sequence;
    return results;
  }

  private keep(entry: LogEntry): void {
    this.forget(entry.sequence);
    const bytes = entry.write?.payload.length ?? 0;
    if (this.unappliedBytes + bytes > UNAPPLIED_BYTES_MAX) return;
    this.unapplied.set(entry.sequence, entry);
    this.unappliedBytes += bytes;
  }

  private noteTimes({ write }: LogEntry): void {
    if (write === null) return;
    const { state } = this;
    const moment = momentOf(write.payload);
    if (moment > (state.latestMoment ?? 0)) state.latestMoment = moment;
    if (write.at !== undefined && write.at > (state.latestTimeMs ?? 0)) state.latestTimeMs = write.at;
  }

  private forget(sequence: number): void {
    const entry = this.unapplied.get(sequence);
    if (entry === undefined) return;
    this.unapplied.delete(sequence);
    this.unappliedBytes -= entry.write?.payload.length ?? 0;
  }
}
