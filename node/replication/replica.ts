import type { TimedLogPosition } from '../../shared/backup-store/backup-format';
import type { ShardAssignment } from '../../shared/cluster-store/entries/shard-assignment';
import { LaterFormatError } from '../engine/files/later-format';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { Logger } from '../../shared/base/logs/logger';
import { notInTime } from '../../shared/contract/shard/not-in-time';
import { ANY_REPLICA, type ShardId, type WriteResult } from '../../shared/contract/shard/shard-client';
import { momentOf, stampMoment } from '../../shared/contract/writes/operation-codec';
import type { WriteSource } from '../../shared/contract/writes/write-source';
import { NumberTable } from '../../shared/base/tables/number-table';
import type { Clock } from '../../shared/base/time/clock';
import { deadlineTimer } from '../../shared/base/time/deadline';
import { Waiters } from '../../shared/base/time/waiters';
import type { NodeCall } from './node-shards';
import type { ReplicaEffect, WriteAnswer } from './core/effects';
import type { ReplicaEvent } from './core/events';
import type { AppendAck, AppendMessage, LogPosition, OutgoingAppend } from './core/messages';
import type { LogEntry } from './core/replica-state';
import type { SeldomPace } from './core/pace';
import type { RestTimes } from './core/primary';
import { ShardReplica, type ReplicaStatus } from './core/shard-replica';
import type { UnappliedWrite } from './core/write-ledger';
import { entryBytes, EntryCache } from './log/entry-cache';
import type { ReplicaStorage } from './replica-storage';
import { ReplicaTicks, type Ticking } from './replica-ticks';
import type { ReplicationLinks } from './links/replication-links';
import { epochAt } from './log/log-survey';
import type { ReadPermit } from './read-permit';
import type { KeptLog, LoggedEntry, LogView, ShippableLog } from '../engine/shard/backup/shippable-log';

/** Payload of one append message; a larger entry travels alone. */
const APPEND_BYTES_MAX = 1024 * 1024;
/** How often the log is looked at, and how much more than is to be kept makes a trim worth its write. */
const TRIM_EVERY_MS = 500;
/** How long a purge waits until all replicas have what is in the log, and how often it looks. */
const TRIM_NOW_MS = 60_000;
const TRIM_CHECK_MS = 20;
/** How long it waits for the backup target: logs are shipped every five minutes at least (BACKUP_LOG_SECONDS). */
const SHIPPED_WITHIN_MS = 360_000;
const TRIM = { entries: 1024, bytes: 32 * 1024 * 1024 };
/** What is kept of the log for followers that were away for a moment: cheaper to send than a copy of the shard. */
const KEPT = { entries: 4096, bytes: 64 * 1024 * 1024 };
/** A copy that failed is not begun again before this. */
const COPY_RETRY_MS = 2_000;
/** Beyond it a follower that is still away gets a copy when it is back: the log must not fill the disk. */
const LOG_MAX = { entries: 1_000_000, bytes: 2 * 1024 * 1024 * 1024 };
/**
 * What is kept for one that catches up: a copy that the log is trimmed past is worth nothing, and under the same load
 * the next one would not be either. That is several minutes of the heaviest load on a shard. Beyond it the copy is
 * given up.
 */
const CATCH_UP_LOG_MAX = { entries: 4_000_000, bytes: 8 * 1024 * 1024 * 1024 };

/**
 * How long a follower's read waits for what the primary committed, before the caller is sent there. While writes go on
 * that takes a few milliseconds. It is long enough for a write that waits for a disk, and well below what clients
 * notice.
 */
const FOLLOWER_WAIT_MS = 50;
/** Reads that wait for the same entries ask the primary once in this time: each question is a step of the core. */
const ASKED_AGAIN_MS = 5;

/** So often the core is told that clients read: each time is a full step. Well below TIMINGS.unreadAfterMs. */
const READ_NOTED_EVERY_MS = 1_000;
/** The same of the lease being waited for: as often as the heartbeats that may go out for it. */
const RENEWED_EVERY_MS = 100;

const TICK: ReplicaEvent = { type: 'tick' };
const READ: ReplicaEvent = { type: 'read' };
const RENEW: ReplicaEvent = { type: 'renew' };
const NO_ENTRIES: LogEntry[] = [];

/**
 * How much of the log is kept: for followers that were away for a moment, for those that are away, for those that catch
 * up.
 */
export interface LogLimits {
  kept: { entries: number; bytes: number };
  away: { entries: number; bytes: number };
  catchUp: { entries: number; bytes: number };
}

const LOG_LIMITS: LogLimits = { kept: KEPT, away: LOG_MAX, catchUp: CATCH_UP_LOG_MAX };

/** What became of a change of the assignment; `current` null: the shard is gone. */
export interface ChangeResult {
  applied: boolean;
  current: ShardAssignment | null;
  revision: number;
}

/**
 * `refused`: it held no share in the primary's lease, or not until the end. `lagging`: it did not hear of a commit in
 * time.
 */
export const FOLLOWER_READS = ['answered', 'refused', 'lagging'] as const;
export type FollowerRead = (typeof FOLLOWER_READS)[number];

export interface ReplicaDependencies {
  links: ReplicationLinks;
  /** Compare-and-swap of the assignment. Rejects when the outcome is unknown: it is asked for again. */
  changeAssignment(change: Extract<ReplicaEffect, { type: 'change' }>): Promise<ChangeResult>;
  /** Copies the shard to the node; resolves when it is there. */
  sendSnapshot(to: string): Promise<void>;
  /** What became of a read that came to this replica while it followed. */
  onFollowerRead?(outcome: FollowerRead): void;
  /**
   * The storage has failed (storage_failed), or holds less than it once acknowledged or other things than were written
   * (storage_damaged): the replica must not go on as it is.
   */
  onFailed(error: Error): void;
}

/**
 * One replica of one shard at work: carries out what the protocol (ShardReplica) decides, on the storage, the links and
 * the cluster store, and lets clients' calls through as far as the protocol allows.
 */
export class Replica implements ShippableLog, KeptLog {
  readonly id: ShardId;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly dependencies: ReplicaDependencies;
  private readonly permit: ReadPermit | null;
  private readonly core: ShardReplica;
  private readonly limits: LogLimits;
  private storage: ReplicaStorage;
  private readonly cache = new EntryCache();
  private readonly writes = new NumberTable<(answer: WriteAnswer) => void>();
  /** Appends to one node go out in order, whether their entries come from memory or from the disk. */
  private readonly outgoing = new Map<string, Promise<void>>();
  /** Calls that wait for the next step. */
  private readonly waiters: Waiters;
  /** Reads at this follower that wait until more is applied: there may be many, and most steps apply nothing. */
  private readonly applications: Waiters;
  /** The last question to the primary for a commit. */
  private asked = { position: 0, atMs: -Infinity };
  private readonly ticks: ReplicaTicks;
  private readonly ticking: Ticking = { act: (nowMs) => this.tick(nowMs), moment: null };
  /** When the core was told of a read last. */
  private readNotedMs = -Infinity;
  /** When it was told last that the lease is waited for. */
  private renewedMs = -Infinity;
  /** Nodes that a copy is on its way to. */
  private readonly copying = new Set<string>();
  private trimming = false;
  private trimLookedMs = -Infinity;
  private installing = false;
  /** The newest assignment heard of while a copy is being installed. */
  private postponed: ReplicaEvent | null = null;
  private closed = false;
  /** The first entry that is not known to be in the backup target; Infinity: the log is not shipped. */
  private unshippedFrom: number;
  /** Entries below are not kept for the backup target any more, be they there or not. */
  private givenUpBelow = 0;
  /** Somebody waits for what the next trim gives back. */
  private makesRoom = false;
  /** Up to when the backup target was told what is in the log. */
  private toldMs = 0;

  constructor(options: {
    id: ShardId;
    self: { node: string; store: string };
    storage: ReplicaStorage;
    unapplied: UnappliedWrite[];
    isNew?: boolean;
    changeIdPrefix: string;
    clock: Clock;
    /** That of all replicas of the process; it has the same clock. */
    ticks?: ReplicaTicks;
    log: Logger;
    dependencies: ReplicaDependencies;
    logLimits?: LogLimits;
    /** Whether the log is shipped to a backup target: entries get their time, and are kept for it. */
    isShipped?: boolean | undefined;
    /** Told to other threads, which answer reads by it. */
    permit?: ReadPermit | null | undefined;
    /** See ShardReplicaOptions. */
    restsAfter?: Partial<RestTimes>;
  }) {
    this.unshippedFrom = options.isShipped === true ? 0 : Infinity;
    this.id = options.id;
    this.limits = options.logLimits ?? LOG_LIMITS;
    this.clock = options.clock;
    this.ticks = options.ticks ?? new ReplicaTicks(options.clock);
    this.waiters = new Waiters(options.clock);
    this.applications = new Waiters(options.clock);
    this.log = options.log;
    this.storage = options.storage;
    this.dependencies = options.dependencies;
    this.permit = options.permit ?? null;
    this.core = new ShardReplica({
      self: options.self,
      changeIdPrefix: options.changeIdPrefix,
      state: options.storage.state,
      unapplied: options.unapplied,
      isNew: options.isNew,
      // A log is shipped only while the lease says that nobody else leads.
      restsAfter: this.isShipped ? { ...options.restsAfter, dormantAfterMs: Infinity } : options.restsAfter,
      nowMs: this.clock.monotonicMs(),
    });
    this.handle({ type: 'tick' });
  }

  status(): ReplicaStatus {
    return this.core.status(this.clock.monotonicMs());
  }

  /** Writes whose callers wait for an answer. */
  get pendingWrites(): number {
    return this.writes.size;
  }

  get assignment(): ShardAssignment | null {
    return this.core.assignment;
  }

  assigned(assignment: ShardAssignment, revision: number): void {
    this.handle({ type: 'assignment', assignment, revision });
  }

  /** `nowMs`: as ReplicationReceiver says. No step of another moment comes in between. */
  received(message: AppendMessage, nowMs?: number): void {
    if (message.unshippedFrom !== undefined && this.isShipped) this.unshippedFrom = message.unshippedFrom;
    this.handle({ type: 'append', message }, nowMs);
  }

  acknowledged(ack: AppendAck, nowMs?: number): void {
    this.handle({ type: 'appendAck', ack }, nowMs);
  }

  streamStarted(node: string): void {
    this.handle({ type: 'streamStarted', node });
  }

  /** Gives the lead to another replica (`to`, or the one that is furthest) as soon as that has everything. */
  handOver(to: string | null): void {
    this.handle({ type: 'handover', to });
  }

  /** Goes on as primary if nobody has taken the lead. Without it, writes wait for a successor that never comes. */
  cancelHandover(): void {
    this.handle({ type: 'cancelHandover' });
  }

  /**
   * Appends the write and answers when it is applied here and stored by every in-sync replica. Errors: misrouted,
   * unavailable, overloaded (all three: it will not appear), commit_unknown.
   */
  async write(request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteResult> {
    await this.until(call, () => this.core.mayWrite(this.clock.monotonicMs()));
    return new Promise<WriteResult>((done, fail) => {
      const timer = deadlineTimer(call.deadlineMs - this.clock.monotonicMs(), () => {
        this.writes.remove(writeId);
        fail(
          new QuiverError(
            'commit_unknown',
            `shard ${this.id.shard} did not confirm the write in time: it is stored once or not at all; it is safe to try again`,
          ),
        );
      });
      const writeId = this.writes.add((answer) => {
        clearTimeout(timer);
        if (answer.ok) done(answer.result);
        else fail(new QuiverError(answer.kind, `shard ${this.id.shard}: ${answer.reason}`));
      });
      this.raiseMoment(request.payload);
      this.handle({ type: 'write', writeId, ...request, ...(this.isShipped && { at: this.wallMs() }) });
    });
  }

  /**
   * Reads what this replica holds, if it leads the shard, or, for a call to any replica, has a share in the lease of
   * the one that does: everything acknowledged before the call began is seen. Errors: misrouted, unavailable.
   */
  async read<Result>(call: NodeCall, look: () => Promise<Result>): Promise<Result> {
    // A replica may have nothing to do for weeks, and by numbers that wrap, the end of a permit would come again.
    if (!this.closed && !this.installing && this.permit?.isOutdated() === true) this.publishPermit();
    if (this.core.role === 'follower' && call.epoch === ANY_REPLICA) return this.readAsFollower(look);
    for (;;) {
      this.renewLease();
      await this.until(call, () => this.core.mayServe(this.clock.monotonicMs()));
      // A follower that got a share meanwhile: it has not noted up to where it must have applied.
      if (this.core.role === 'follower') throw this.elsewhere();
      const { epoch } = this.core;
      const result = await this.looked(look);
      // The lease is compared with the clock after reading: a pause before it must not make an old answer look new.
      if (this.core.leaseValid(epoch, this.clock.monotonicMs())) return result;
    }
  }

  /**
   * A client reads the shard, here or on another thread: its followers may soon be asked, too. The primary alone has to
   * know.
   */
  noteRead(nowMs = this.clock.monotonicMs()): void {
    if (this.core.role !== 'primary' || nowMs - this.readNotedMs < READ_NOTED_EVERY_MS) return;
    this.readNotedMs = nowMs;
    this.handle(READ, nowMs);
  }

  /** A dormant shard has none until somebody needs it, and then after a round trip. */
  private renewLease(): void {
    const nowMs = this.clock.monotonicMs();
    if (
      this.core.role !== 'primary' ||
      nowMs - this.renewedMs < RENEWED_EVERY_MS ||
      this.core.mayServe(nowMs) !== 'wait'
    )
      return;
    this.renewedMs = nowMs;
    this.handle(RENEW, nowMs);
  }

  /** Errors: misrouted, when the caller should ask the primary. */
  private async readAsFollower<Result>(look: () => Promise<Result>): Promise<Result> {
    const { epoch, readPosition } = this.core;
    const ready = this.mayAnswer() ? await this.appliedUpTo(readPosition) : 'refused';
    if (ready !== 'answered') return this.declined(ready);
    const result = await this.looked(look);
    if (!this.mayAnswer() || !this.core.leaseValid(epoch, this.clock.monotonicMs())) return this.declined('refused');
    this.dependencies.onFollowerRead?.('answered');
    return result;
  }

  private declined(why: FollowerRead): never {
    this.dependencies.onFollowerRead?.(why);
    throw this.elsewhere();
  }

  /** Whether this follower may begin a read now. */
  private mayAnswer(): boolean {
    return !this.closed && !this.installing && this.core.mayServe(this.clock.monotonicMs()) === 'yes';
  }

  private async appliedUpTo(position: number): Promise<'answered' | 'lagging'> {
    if (this.core.applied >= position) return 'answered';
    const nowMs = this.clock.monotonicMs();
    const deadlineMs = nowMs + FOLLOWER_WAIT_MS;
    if (position > this.asked.position || nowMs - this.asked.atMs >= ASKED_AGAIN_MS) {
      this.asked = { position, atMs: nowMs };
      this.handle({ type: 'readWaits' });
    }
    while (this.core.applied < position) {
      if (this.clock.monotonicMs() >= deadlineMs || !(await this.applications.next(deadlineMs))) return 'lagging';
    }
    return 'answered';
  }

  private looked<Result>(look: () => Promise<Result>): Promise<Result> {
    return look().catch((error: unknown) => {
      // Another replica answers what this one can't any more because it closes.
      throw this.closed || this.installing ? this.elsewhere() : error;
    });
  }

  view(): LogView | null {
    const nowMs = this.clock.monotonicMs();
    if (this.closed || this.installing || this.core.role !== 'primary' || this.core.mayServe(nowMs) !== 'yes')
      return null;
    const { epoch, committed, lastSequence } = this.core.status(nowMs);
    return { term: epoch, first: this.storage.state.firstSequence, committed, last: lastSequence };
  }

  epochOf(sequence: number): number | null {
    const { state } = this.storage;
    return sequence >= state.firstSequence - 1 && sequence <= state.lastSequence ? epochAt(state, sequence) : null;
  }

  async entries(from: number, maxBytes: number): Promise<LoggedEntry[]> {
    const { committed } = this.core;
    const found = this.cache.read(from, committed, maxBytes) ?? (await this.storage.read(from, maxBytes));
    return found
      .filter(({ sequence }) => sequence <= committed)
      .map(({ sequence, epoch, write }) => ({ sequence, epoch, at: write?.at ?? null, write }));
  }

  shipped({ sequence, at }: TimedLogPosition): void {
    this.unshippedFrom = sequence + 1;
    this.toldMs = Math.max(this.toldMs, at);
  }

  get keptBytes(): number {
    const [from, below] = this.keptForTarget();
    return this.storage.bytesBetween(from, below);
  }

  giveUp(bytes: number): number {
    const [from, below] = this.keptForTarget();
    if (below <= from) return 0;
    this.givenUpBelow = Math.min(below, this.storage.firstBeyond(from, bytes));
    const freed = this.storage.bytesBetween(from, this.givenUpBelow);
    this.makesRoom = true;
    this.trimLookedMs = -Infinity;
    this.trim();
    return freed;
  }

  /** The time by which the log is: that of the wall clock, but never one that is before any of its entries. */
  logTimeMs(): number {
    return Math.max(this.wallMs(), this.core.latestTimeMs);
  }

  /** Whether a copy up to the entry `last`, of `epoch`, may take the place of what is here. */
  mayInstall(epoch: number, last: LogPosition): boolean {
    return !this.closed && this.core.mayInstall(epoch, last);
  }

  /**
   * Goes on with the storage that `install` answers, in the place of the one it had, which nothing is asked of
   * meanwhile: messages are lost, as on a broken stream. When it fails the replica is closed.
   */
  async replaceStorage(install: () => Promise<ReplicaStorage>): Promise<void> {
    this.installing = true;
    this.permit?.withdraw();
    try {
      this.storage = await install();
    } catch (error) {
      this.fail(error as Error);
      throw error;
    }
    this.installing = false;
    this.cache.clear();
    const { postponed } = this;
    this.postponed = null;
    this.handle({ type: 'installed', state: this.storage.state });
    if (postponed !== null) this.handle(postponed);
  }

  /**
   * Drops from the log all that is in it at the call, as soon as it is applied here and no replica needs it any more,
   * also what is usually kept for one that is away. What is not shipped yet stays until it is. Errors: unavailable when
   * a replica, or the backup target, does not get there in time. `waits`: told of how many entries wait for the target.
   */
  async trimNow(waits: (unshipped: number) => void = () => undefined): Promise<void> {
    const { lastSequence } = this.storage.state;
    const begunMs = this.clock.monotonicMs();
    while (this.storage.state.firstSequence <= lastSequence) {
      if (this.closed) throw this.elsewhere();
      const unshipped = Math.max(0, lastSequence + 1 - Math.max(this.unshippedFrom, this.storage.state.firstSequence));
      const isUnshipped = unshipped > 0;
      waits(unshipped);
      if (this.clock.monotonicMs() - begunMs > (isUnshipped ? SHIPPED_WITHIN_MS : TRIM_NOW_MS)) {
        const why = isUnshipped
          ? 'the log is not in the backup target yet, and is kept for it: purge again when the target takes it'
          : 'a replica of the shard is behind or away, and needs the log: purge again when it is in sync';
        throw new QuiverError('unavailable', why);
      }
      const below = Math.min(this.core.trimmableBelow(), this.unshippedFrom);
      if (!this.trimming && !this.installing && below > this.storage.state.firstSequence)
        await this.trimBelow(below, 0);
      if (this.storage.state.firstSequence <= lastSequence)
        await this.waiters.next(this.clock.monotonicMs() + TRIM_CHECK_MS);
    }
  }

  /** Stops taking part; calls that wait fail. The storage stays open: it is the caller's. */
  close(): void {
    this.closed = true;
    this.permit?.withdraw();
    this.ticks.set(this.ticking, Infinity);
    for (const answer of this.writes.removeAll())
      answer({
        ok: false,
        kind: 'commit_unknown',
        reason: 'the node stops; the write is stored once or not at all, and it is safe to try again',
      });
    this.waiters.wake();
    this.applications.wake();
  }

  /** What was told of the log so far is true of entries to come only if they are later. */
  private wallMs(): number {
    return Math.max(this.clock.wallMs(), this.toldMs);
  }

  /**
   * A write was given its moment before it was known whether this replica leads. By then others may be in the log, of a
   * primary whose clock is ahead, and not be applied yet: moments never go back along a log.
   */
  private raiseMoment(payload: Buffer): void {
    const latest = this.storage.state.latestMoment ?? 0;
    const moment = momentOf(payload);
    if (moment > 0 && moment < latest) stampMoment(payload, latest);
  }

  /** The entries from the first one on, and below the second, that are kept for the backup target alone. */
  private keptForTarget(): [number, number] {
    const { storage } = this;
    if (!this.isShipped || this.closed || this.installing) return [0, 0];
    return [
      Math.max(storage.state.firstSequence, this.heldFrom),
      Math.min(this.core.trimmableBelow(), storage.newestWithin(this.limits.kept)),
    ];
  }

  /** The first entry that is kept for the backup target. */
  private get heldFrom(): number {
    return Math.max(this.unshippedFrom, this.givenUpBelow);
  }

  private get isShipped(): boolean {
    return this.unshippedFrom !== Infinity;
  }

  private tick(nowMs: number): void {
    // Before the step, whose heartbeats may say so.
    if (this.permit?.takeRead() === true) this.noteRead(nowMs);
    this.handle(TICK, nowMs);
  }

  private handle(event: ReplicaEvent, nowMs = this.clock.monotonicMs()): void {
    if (this.closed) return;
    if (this.installing) {
      if (event.type === 'assignment') this.postponed = event;
      return;
    }
    const { applied } = this.core;
    const effects = this.core.step(event, nowMs);
    // Before its effects: an acknowledgement, or a handover, ends what other threads may answer.
    this.publishPermit(nowMs);
    for (const effect of effects) this.carryOut(effect);
    if (!this.closed) this.ticks.set(this.ticking, this.core.nextTickAt());
    this.waiters.wake();
    if (this.core.applied !== applied) this.applications.wake();
  }

  private publishPermit(momentMs: number | null = null): void {
    this.permit?.set(this.core.role, this.core.epoch, this.core.readableUntil, momentMs);
  }

  private carryOut(effect: ReplicaEffect): void {
    switch (effect.type) {
      case 'append': {
        const { type: _type, token, ...change } = effect;
        this.cache.append(change);
        const { storage } = this;
        storage.append(change).then(
          () => storage === this.storage && this.handle({ type: 'stored', token }),
          (error: Error) => this.fail(error),
        );
        return;
      }
      case 'apply': {
        const { storage } = this;
        storage.apply(effect.upTo).then(
          (results) => {
            if (storage !== this.storage) return;
            this.handle({ type: 'applied', upTo: effect.upTo, results });
            this.trim();
          },
          (error: Error) => this.fail(error),
        );
        return;
      }
      case 'sendAppend':
        return this.sendAppend(effect.to, effect.message, effect.pace);
      case 'sendAck':
        return this.dependencies.links.sendAck(effect.to, this.id, effect.ack);
      case 'answer': {
        this.writes.remove(effect.writeId)?.(effect.answer);
        return;
      }
      case 'change':
        this.dependencies.changeAssignment(effect).then(
          (result) => this.handle({ type: 'changeAnswer', changeId: effect.assignment.changeId, ...result }),
          (error: unknown) =>
            this.log.debug(
              { error, ...this.id },
              'a change of the assignment was not confirmed; it is asked for again',
            ),
        );
        return;
      case 'snapshot':
        // One that was begun in an earlier epoch serves this one, too; its end is told when it comes.
        if (this.copying.has(effect.to)) return;
        this.copying.add(effect.to);
        this.dependencies
          .sendSnapshot(effect.to)
          .catch((error: unknown) => {
            this.log.warn({ error, ...this.id, to: effect.to }, 'copying a shard failed; it is tried again');
            return new Promise((wake) => setTimeout(wake, COPY_RETRY_MS));
          })
          .finally(() => {
            this.copying.delete(effect.to);
            this.handle({ type: 'snapshotEnded', node: effect.to });
          });
        return;
      case 'lossy':
        this.dependencies.onFailed(
          new QuiverError(
            'storage_damaged',
            `the store ends at ${effect.last} and once acknowledged ${effect.recorded}`,
          ),
        );
        return;
      case 'diverged':
        this.dependencies.onFailed(
          new QuiverError(
            'storage_damaged',
            `entry ${effect.sequence} is applied here and is another one at the primary`,
          ),
        );
        return;
      case 'unknown':
        return this.fail(new LaterFormatError(`entry ${effect.sequence} of the primary's log`, effect.reason));
      case 'role':
        this.log.info({ ...this.id, role: effect.role, epoch: effect.epoch }, 'replica changed its role');
    }
  }

  private sendAppend(to: string, message: OutgoingAppend, pace?: SeldomPace): void {
    const before = this.outgoing.get(to);
    if (message.range === null && before === undefined)
      return this.dependencies.links.sendAppend(to, this.id, this.heartbeatOf(message), pace);
    const { range, ...rest } = message;
    const header = this.isShipped ? { ...rest, unshippedFrom: Math.max(1, this.unshippedFrom) } : rest;
    if (before === undefined && range !== null) {
      const entries = this.cache.read(range.from, range.to, Infinity);
      if (entries !== null && entries[entries.length - 1].sequence === range.to) {
        for (const part of parts(header, entries)) this.dependencies.links.sendAppend(to, this.id, part);
        return;
      }
    }
    const { storage } = this;
    const sending = (before ?? Promise.resolve())
      .then(() => this.sendFromStorage(to, header, range))
      .catch((error: unknown) => {
        // Trying again does not help: a replica whose program can read its log has to lead.
        if (error instanceof LaterFormatError && storage === this.storage) return this.fail(error);
        this.log.debug({ error, ...this.id, to }, 'entries for a follower could not be read');
      })
      .finally(() => {
        if (this.outgoing.get(to) === sending) this.outgoing.delete(to);
      });
    this.outgoing.set(to, sending);
  }

  /** Written out, because it is most of what a quiet node makes. */
  private heartbeatOf(message: OutgoingAppend): AppendMessage {
    const { epoch, from, prev, commit, sentAt, releasesLease, sharesSince, withdrawsShare, recorded } = message;
    const heartbeat: AppendMessage = {
      epoch,
      from,
      prev,
      commit,
      sentAt,
      releasesLease,
      sharesSince,
      withdrawsShare,
      recorded,
      entries: NO_ENTRIES,
    };
    if (this.isShipped) heartbeat.unshippedFrom = Math.max(1, this.unshippedFrom);
    return heartbeat;
  }

  private async sendFromStorage(
    to: string,
    header: Omit<AppendMessage, 'entries'>,
    range: OutgoingAppend['range'],
  ): Promise<void> {
    if (range === null) return this.dependencies.links.sendAppend(to, this.id, { ...header, entries: [] });
    let prev = header.prev;
    for (let from = range.from; from <= range.to && this.stillLeads(header.epoch);) {
      const read =
        this.cache.read(from, range.to, APPEND_BYTES_MAX) ?? (await this.storage.read(from, APPEND_BYTES_MAX));
      if (!this.stillLeads(header.epoch)) return;
      const entries = read.filter(({ sequence }) => sequence <= range.to);
      if (entries.length === 0) return;
      this.dependencies.links.sendAppend(to, this.id, { ...header, prev, entries });
      const last = entries[entries.length - 1];
      prev = { epoch: last.epoch, sequence: last.sequence };
      from = last.sequence + 1;
    }
  }

  /**
   * Whether the log is still the one that this replica leads in that epoch. Once another one leads, its entries may be
   * here in the place of those that were to be sent, and would go out as if they were of the earlier epoch.
   */
  private stillLeads(epoch: number): boolean {
    return !this.closed && this.core.role === 'primary' && this.core.epoch === epoch;
  }

  private trim(): void {
    const nowMs = this.clock.monotonicMs();
    if (this.trimming || nowMs - this.trimLookedMs < TRIM_EVERY_MS) return;
    this.trimLookedMs = nowMs;
    const { storage } = this;
    const { appliedSequence } = storage.state;
    const { kept, away, catchUp } = this.limits;
    const wanted = Math.min(this.core.trimmableBelow(), storage.newestWithin(kept), this.heldFrom);
    const pinnedFrom = Math.min(storage.newestWithin(catchUp), appliedSequence + 1);
    const most = this.core.hasLearner(nowMs) ? pinnedFrom : Math.min(storage.newestWithin(away), appliedSequence + 1);
    const below = Math.max(wanted, most);
    const { firstSequence } = storage.state;
    const isLong =
      below - firstSequence >= TRIM.entries ||
      storage.newestWithin({ entries: Infinity, bytes: kept.bytes + TRIM.bytes }) > firstSequence;
    if (below <= firstSequence || !(isLong || this.makesRoom)) return;
    void this.trimBelow(below, pinnedFrom);
  }

  private trimBelow(below: number, pinnedFrom: number): Promise<void> {
    const { storage } = this;
    this.trimming = true;
    return storage
      .trim(below, pinnedFrom)
      .then(
        () => {
          if (storage !== this.storage) return;
          const { firstSequence, precedingEpoch } = storage.state;
          this.handle({ type: 'trimmed', firstSequence, precedingEpoch });
          if (this.makesRoom) this.reclaim(storage);
        },
        (error: Error) => this.fail(error),
      )
      .finally(() => {
        this.trimming = false;
      });
  }

  /** One that fails, or that the end of the store breaks off, is made up for by the store in its time. */
  private reclaim(storage: ReplicaStorage): void {
    this.makesRoom = false;
    storage
      .reclaim()
      .catch((error: unknown) =>
        this.log.debug({ error, ...this.id }, 'what the log took on the disk was not given back yet'),
      );
  }

  private fail(error: Error): void {
    if (this.closed) return;
    this.close();
    this.dependencies.onFailed(error);
  }

  /** Waits until the protocol says yes. Errors: misrouted, unavailable. */
  private async until(call: NodeCall, ask: () => 'yes' | 'wait' | 'misrouted' | 'unavailable'): Promise<void> {
    for (;;) {
      if (this.closed) throw this.elsewhere();
      const verdict = ask();
      if (verdict === 'yes') return;
      // The caller may know of this replica's lead before this node has heard of it.
      const isAhead = verdict === 'misrouted' && call.epoch > (this.core.assignment?.epoch ?? 0);
      if (verdict === 'misrouted' && !isAhead) throw this.elsewhere();
      if (verdict === 'unavailable')
        throw new QuiverError(
          'unavailable',
          `shard ${this.id.shard} has too few replicas in sync; the call may be retried`,
        );
      if (!(await this.waiters.next(call.deadlineMs))) throw notInTime(this.id);
    }
  }

  private elsewhere(): QuiverError {
    return new QuiverError('misrouted', `shard ${this.id.shard} is not led by this node`);
  }
}

/** One append in messages of bounded size, each with the entry before it. */
function* parts(header: Omit<AppendMessage, 'entries'>, entries: LogEntry[]): Generator<AppendMessage> {
  let prev = header.prev;
  for (let start = 0; start < entries.length;) {
    let end = start + 1;
    for (
      let bytes = entryBytes(entries[start]);
      end < entries.length && bytes + entryBytes(entries[end]) <= APPEND_BYTES_MAX;
      end += 1
    )
      bytes += entryBytes(entries[end]);
    const part = entries.slice(start, end);
    yield { ...header, prev, entries: part };
    const last = part[part.length - 1];
    prev = { epoch: last.epoch, sequence: last.sequence };
    start = end;
  }
}
