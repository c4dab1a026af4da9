import { randomInt } from 'node:crypto';
import type { TimedLogPosition } from '../../../../shared/backup-store/backup-format';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { ShardId, WriteOperation } from '../../../../shared/contract/shard/shard-client';
import {
  operationsToBytes,
  operationsToBytesInSteps,
  stampMoment,
} from '../../../../shared/contract/writes/operation-codec';
import { inSlices } from '../../../../shared/base/time/work-slices';
import type { KeyValueChange } from '../../kv/key-value-store';
import { LOGGED_KEY, sequenceOfWriteKey, writeKey } from '../../records/record-keys';
import type { RecordStore } from '../../records/record-store';
import type { KeptLog, LoggedEntry, LogView, ShippableLog } from './shippable-log';

/**
 * Beyond it the oldest writes are given up: each takes some memory. What they take on the disk is bounded for all logs
 * (KeptLogs).
 */
const KEPT_MAX = { entries: 1_000_000, bytes: Infinity };
/** Given up in one go: each takes a millisecond among a million, and a removal from the store. */
const GIVEN_UP_SHARE = 1 / 64;
/** That of writes of before there were others. */
const FIRST_EPOCH = 1;
/**
 * Starts with writes that are not shipped yet, at most: each takes 16 bytes of each write. Beyond it the writes are
 * given up.
 */
const EPOCHS_MAX = 256;
const EPOCH_STEP_MAX = 2 ** 20;
const TERM = 1;
const TIME_BYTES = 8;
const LOGGED_BYTES = 16;
/** How long a purge waits for the target, and how often it looks: writes are shipped every five minutes at least. */
const SHIPPED_WITHIN_MS = 360_000;
const CHECK_EVERY_MS = 20;
/** This process reads what it keeps. */
/** Operations that are encoded in one go. */
const AT_ONCE_MAX = 64;
/** Bytes of a page of writes that is read, about, and how many it has at most. */
const PAGE = { bytes: 1024 * 1024, most: 1024 };

/** The epoch of the writes from a number on. */
interface EpochStart {
  from: number;
  epoch: number;
}

/** Where a log stood when its shard was looked at. */
interface Logged {
  sequence: number;
  /** The number of the shard's batch that had the write. */
  operation: number;
  /** Of the writes that are kept, and the one before; rising. */
  epochs: EpochStart[];
}

/**
 * The writes of a shard without replicas, kept beside its records until they are shipped: they are stored in the batch
 * that changes the records, so a crash leaves both or none. A write that came while nothing was kept leaves a gap in
 * the numbers.
 *
 * The writes of each start have an epoch of their own, which is about its time. So where the folder is put back to an
 * earlier state, what is written then is not taken for what had the same numbers before.
 *
 * A write is stored as f64 time, and the operations (operation-codec.ts). Where the log stands is stored as f64
 * sequence, f64 operation, and for each epoch f64 from, f64 epoch.
 */
export class OwnLog implements ShippableLog, KeptLog {
  /** Bytes of the writes that are kept, from `first` on. */
  private readonly sizes: number[];
  private bytes: number;
  private committed: number;
  /**
   * The latest time that a write has, or that was told: none that comes has an earlier one, whatever the clock says.
   */
  private latest: number;
  private forgetting: Promise<void> = Promise.resolve();
  private closed = false;
  /** Behind what the numbers go on once the batch is stored that is under way; null: they go on where they are. */
  private leap: { behind: number; leapt: Promise<number>; done: (first: number) => void } | null = null;
  /**
   * Told when the numbers have gone on elsewhere: writes something, be it nothing, so that it is stored where they are.
   */
  onLeapt: () => void = () => undefined;
  /** What is stored of where it stands is of this start. Until then it may be that of another history, too. */
  private begun: boolean;

  private constructor(
    readonly id: ShardId,
    private readonly records: RecordStore,
    private readonly wallMs: () => number,
    private first: number,
    private last: number,
    kept: { sizes: number[]; latestMs: number },
    private readonly keptMax: typeof KEPT_MAX,
    private readonly epochs: EpochStart[],
    /** That of what this start writes. */
    private readonly epoch: number,
  ) {
    this.begun = epochs.at(-1)?.epoch === epoch;
    this.committed = last;
    this.sizes = kept.sizes;
    this.bytes = kept.sizes.reduce((sum, size) => sum + size, 0);
    this.latest = kept.latestMs;
  }

  /** `operation`: the number of the shard's last batch; `isNew`: it never held anything. Errors: those of the store. */
  static async open(parts: {
    id: ShardId;
    records: RecordStore;
    operation: number;
    isNew: boolean;
    wallMs: () => number;
    keptMax?: typeof KEPT_MAX;
  }): Promise<OwnLog> {
    const { id, records, operation, isNew, wallMs, keptMax = KEPT_MAX } = parts;
    const stored = await records.logged();
    const known = stored === null ? null : loggedFromBytes(stored);
    // What came before, or meanwhile, counts as one write that nobody has.
    const last = known === null ? (isNew ? 0 : 1) : known.operation === operation ? known.sequence : known.sequence + 1;
    const epochs = known?.epochs ?? [];
    const before = epochs.at(-1)?.epoch ?? 0;
    // A clock that was ahead once says nothing until it is there again.
    const epoch = wallMs() > before ? wallMs() : before + 1 + randomInt(EPOCH_STEP_MAX);
    if (known === null || known.sequence !== last) {
      if (last > 0) epochs.push({ from: last, epoch });
      await records.putLogged(loggedToBytes({ sequence: last, operation, epochs }));
    }
    // A crash may have brought back what was forgotten: what is before a hole does not count, nor of an epoch that is
    // forgotten.
    const least = known?.sequence === last && epochs.length < EPOCHS_MAX ? (epochs[0]?.from ?? 1) : last + 1;
    const kept = { sizes: [] as number[], latestMs: await records.latestForgottenMs() };
    let first = last + 1;
    let next = first;
    let lowest = Infinity;
    // All that is there counts, so that a bound does not begin again with each start. And so do the times of what is
    // given up.
    for await (const page of records.writes(0, { values: true, pageSize: PAGE.most })) {
      for (const { key, value } of page) {
        const sequence = sequenceOfWriteKey(key);
        lowest = Math.min(lowest, sequence);
        kept.latestMs = Math.max(kept.latestMs, value.readDoubleLE(0));
        if (sequence < least) continue;
        if (sequence !== next) {
          kept.sizes.length = 0;
          first = sequence;
        }
        kept.sizes.push(value.length);
        next = sequence + 1;
      }
    }
    if (next !== last + 1) {
      kept.sizes.length = 0;
      first = last + 1;
    }
    if (lowest < first) await records.forgetWrites(first - 1, kept.latestMs);
    return new OwnLog(
      { collectionUid: id.collectionUid, shard: id.shard },
      records,
      wallMs,
      first,
      last,
      kept,
      keptMax,
      epochs,
      epoch,
    );
  }

  /** The latest time that a write has, or that was told. */
  get latestMs(): number {
    return this.latest;
  }

  /** The time by which the log is: that of the wall clock, but never one that is before any of its writes. */
  timeMs(): number {
    return Math.max(this.latest, this.wallMs());
  }

  /** The operations of requests as they are kept, as of a moment. */
  async encoded(requests: readonly (readonly WriteOperation[])[], moment: number): Promise<Buffer[]> {
    const count = requests.reduce((sum, operations) => sum + operations.length, 0);
    // A slice waits for its turn: what is over at once need not.
    const payloads =
      count <= AT_ONCE_MAX
        ? requests.map((operations) => operationsToBytes(operations, true))
        : await inSlices(encodedInSteps(requests));
    for (const payload of payloads) stampMoment(payload, moment);
    return payloads;
  }

  /**
   * What is stored with the batch `operation`, which has these requests, as of a moment. One batch at a time; `stored`
   * says that it is there.
   */
  changes(payloads: readonly Buffer[], operation: number, moment: number): KeyValueChange[] {
    const at = Math.max(this.timeMs(), moment);
    this.latest = at;
    if (this.epochs.at(-1)?.epoch !== this.epoch) this.epochs.push({ from: this.last + 1, epoch: this.epoch });
    const changes = payloads.map((payload): KeyValueChange => {
      const value = Buffer.allocUnsafe(TIME_BYTES + payload.length);
      value.writeDoubleLE(at, 0);
      payload.copy(value, TIME_BYTES);
      this.last += 1;
      this.sizes.push(value.length);
      this.bytes += value.length;
      return { type: 'put', key: writeKey(this.last), value };
    });
    while (this.epochs.length > 1 && this.epochs[1].from < this.first) this.epochs.shift();
    changes.push({
      type: 'put',
      key: LOGGED_KEY,
      value: loggedToBytes({ sequence: this.last, operation, epochs: this.epochs }),
    });
    return changes;
  }

  stored(): void {
    this.committed = this.last;
    this.begun = true;
    this.leapIfIdle();
    const { sizes, keptMax } = this;
    if (sizes.length <= keptMax.entries && this.bytes <= keptMax.bytes) return;
    const entries = keptMax.entries - Math.floor(keptMax.entries * GIVEN_UP_SHARE);
    const bytes = keptMax.bytes * (1 - GIVEN_UP_SHARE);
    let gone = 0;
    while (sizes.length - gone > entries || this.bytes > bytes) this.bytes -= sizes[gone++];
    sizes.splice(0, gone);
    this.forget(this.first + gone - 1);
  }

  get keptBytes(): number {
    return this.bytes;
  }

  giveUp(bytes: number): number {
    const stored = this.committed + 1 - this.first;
    let gone = 0;
    let freed = 0;
    while (gone < stored && freed < bytes) freed += this.sizes[gone++];
    if (gone === 0) return 0;
    this.sizes.splice(0, gone);
    this.bytes -= freed;
    const upTo = this.first + gone - 1;
    this.forget(upTo);
    // Somebody waits for the room; one that fails, or that the shard's end breaks off, is made up for by the store in
    // its time.
    this.forgetting = this.forgetting
      .then(() => (this.closed ? undefined : this.records.reclaimWrites(upTo)))
      .catch(() => undefined);
    return freed;
  }

  /** The batch failed, and another one may follow only if nothing of it was stored. */
  lost(): void {
    for (; this.last > this.committed; this.last -= 1) this.bytes -= this.sizes.pop()!;
    if (this.epochs.length > 0 && this.epochs.at(-1)!.from > this.last) this.epochs.pop();
    this.leapIfIdle();
  }

  /**
   * What is stored of where it stands can't be that of another history, in which this folder was before it was put
   * back: a backup may be told by it. False until something is written in this start, be it nothing.
   */
  get hasBegun(): boolean {
    return this.begun;
  }

  /**
   * The target has writes up to this one of another history, in which this folder was before it was put back. The
   * numbers go on behind them, so that none is given twice; what is kept with lower ones is given up. Answers the first
   * number that counts, as soon as no batch is being stored.
   */
  goOnBehind(sequence: number): Promise<number> {
    if (this.leap === null) {
      let done = (_first: number): void => undefined;
      const leapt = new Promise<number>((resolve) => (done = resolve));
      this.leap = { behind: sequence, leapt, done };
    }
    this.leap.behind = Math.max(sequence, this.leap.behind);
    const { leapt } = this.leap;
    this.leapIfIdle();
    return leapt;
  }

  view(): LogView | null {
    return this.closed ? null : { term: TERM, first: this.first, committed: this.committed, last: this.last };
  }

  epochOf(sequence: number): number | null {
    return sequence < 0 || sequence > this.last ? null : epochOf(sequence, this.epochs);
  }

  async entries(from: number, maxBytes: number): Promise<LoggedEntry[]> {
    const found: LoggedEntry[] = [];
    // Some may be given up, and forgotten, meanwhile.
    const epochs = [...this.epochs];
    let bytes = 0;
    const pageSize = Math.max(
      1,
      Math.min(PAGE.most, Math.floor((PAGE.bytes * this.sizes.length) / Math.max(1, this.bytes))),
    );
    for await (const page of this.records.writes(from, { values: true, pageSize })) {
      for (const { key, value } of page) {
        const sequence = sequenceOfWriteKey(key);
        bytes += value.length;
        const epoch = epochOf(sequence, epochs);
        if (
          sequence > this.committed ||
          epoch === null ||
          (found.length > 0 && (bytes > maxBytes || sequence !== found.at(-1)!.sequence + 1))
        )
          return found;
        found.push({
          sequence,
          epoch,
          at: value.readDoubleLE(0),
          write: { source: null, payload: value.subarray(TIME_BYTES) },
        });
      }
    }
    return found;
  }

  shipped({ sequence, at }: TimedLogPosition): void {
    this.latest = Math.max(this.latest, at);
    const gone = Math.min(sequence, this.committed) - this.first + 1;
    if (gone <= 0) return;
    for (const size of this.sizes.splice(0, gone)) this.bytes -= size;
    this.forget(this.first + gone - 1);
  }

  /**
   * Nothing is kept any more of what is kept at the call. Errors: unavailable when the target does not take it in time.
   * `waits`: told of how many writes wait for it.
   */
  async forgotten(waits: (unshipped: number) => void = () => undefined, withinMs = SHIPPED_WITHIN_MS): Promise<void> {
    const { last } = this;
    const untilMs = performance.now() + withinMs;
    while (this.first <= last) {
      if (this.closed) throw new QuiverError('unavailable', 'the shard is closed');
      waits(last + 1 - this.first);
      if (performance.now() > untilMs)
        throw new QuiverError(
          'unavailable',
          'writes are not in the backup target yet, and are kept for it: purge again when the target takes them',
        );
      await new Promise((wake) => setTimeout(wake, CHECK_EVERY_MS));
    }
    await this.forgetting;
    // One that failed before is left to the next one.
    if (!this.closed && last > 0) await this.records.forgetWrites(last, this.latest);
  }

  /** Nothing is asked of the store any more when it resolves. */
  async close(): Promise<void> {
    this.closed = true;
    this.leapIfIdle();
    await this.forgetting;
  }

  private leapIfIdle(): void {
    if (this.leap === null || (this.last > this.committed && !this.closed)) return;
    const { behind, done } = this.leap;
    this.leap = null;
    if (this.closed) return done(this.first);
    // One that nobody has stands for those that are given up.
    this.last = Math.max(behind, this.last) + 1;
    this.committed = this.last;
    this.begun = false;
    if (this.epochs.at(-1)?.epoch !== this.epoch) this.epochs.push({ from: this.last, epoch: this.epoch });
    this.sizes.length = 0;
    this.bytes = 0;
    this.forget(this.last);
    done(this.first);
    this.onLeapt();
  }

  private forget(upTo: number): void {
    this.first = upTo + 1;
    if (this.closed) return;
    // What is left of it is removed with the next ones.
    this.forgetting = this.forgetting.then(() => this.records.forgetWrites(upTo, this.latest)).catch(() => undefined);
  }
}

function* encodedInSteps(requests: readonly (readonly WriteOperation[])[]): Generator<undefined, Buffer[]> {
  const payloads: Buffer[] = [];
  for (const operations of requests) payloads.push(yield* operationsToBytesInSteps(operations, true));
  return payloads;
}

/** The epoch of a write, or of the place before the first one. */
function epochOf(sequence: number, epochs: readonly EpochStart[]): number | null {
  return sequence === 0 ? 0 : (epochs.findLast(({ from }) => from <= sequence)?.epoch ?? null);
}

/** Errors: storage_damaged. */
function loggedFromBytes(bytes: Buffer): Logged {
  if (bytes.length < LOGGED_BYTES || bytes.length % LOGGED_BYTES > 0)
    throw new QuiverError('storage_damaged', 'what is stored of kept writes is damaged');
  const epochs: EpochStart[] = [];
  for (let at = LOGGED_BYTES; at < bytes.length; at += LOGGED_BYTES)
    epochs.push({ from: bytes.readDoubleLE(at), epoch: bytes.readDoubleLE(at + 8) });
  const sequence = bytes.readDoubleLE(0);
  // Before there were epochs, all writes had the same.
  if (epochs.length === 0 && sequence > 0) epochs.push({ from: 1, epoch: FIRST_EPOCH });
  return { sequence, operation: bytes.readDoubleLE(8), epochs };
}

/** Where a log stood when its shard was looked at. Errors: storage_damaged. */
export function positionOfLogged(bytes: Buffer): { sequence: number; epoch: number } {
  const { sequence, epochs } = loggedFromBytes(bytes);
  return { sequence, epoch: epochOf(sequence, epochs) ?? FIRST_EPOCH };
}

function loggedToBytes({ sequence, operation, epochs }: Logged): Buffer {
  const bytes = Buffer.allocUnsafe(LOGGED_BYTES * (1 + epochs.length));
  bytes.writeDoubleLE(sequence, 0);
  bytes.writeDoubleLE(operation, 8);
  for (const [i, { from, epoch }] of epochs.entries()) {
    bytes.writeDoubleLE(from, LOGGED_BYTES * (i + 1));
    bytes.writeDoubleLE(epoch, LOGGED_BYTES * (i + 1) + 8);
  }
  return bytes;
}
