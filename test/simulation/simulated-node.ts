import { strict as assert } from 'node:assert';
import { mustHoldData, type ShardAssignment } from '../../shared/cluster-store/entries/shard-assignment';
import { LANES, ReceivedLanes, SentLanes } from '../../node/replication/core/beats/beat-lanes';
import type { Beat } from '../../node/replication/core/beats/beat';
import type { ReplicaEffect, WriteAnswer } from '../../node/replication/core/effects';
import type { ReplicaEvent } from '../../node/replication/core/events';
import type { AppendMessage, OutgoingAppend } from '../../node/replication/core/messages';
import type { SeldomPace } from '../../node/replication/core/pace';
import { ShardReplica, type ShardReplicaOptions } from '../../node/replication/core/shard-replica';
import { type PermitClocks, PermitWatch, ReadPermit } from '../../node/replication/read-permit';
import type { LogEntry } from '../../node/replication/core/replica-state';
import type { ShardSeed } from '../../shared/contract/shard/shard-backup';
import type { WriteSource } from '../../shared/contract/writes/write-source';
import { type Clock, sleeplessClock } from '../../shared/base/time/clock';
import type { Chance } from './chance';
import type { Mutant } from './mutants';
import type { Network } from './network';
import type { Oracle } from './oracle';
import type { Schedule } from './schedule';
import type { SimulatedEtcd, Versioned } from './simulated-etcd';
import { lastOf, SimulatedStorage, type StateMachine } from './simulated-storage';
import { Violation } from './violation';
import { asUnknown } from './written';

export interface NodeDependencies<Machine extends StateMachine = StateMachine> {
  schedule: Schedule;
  chance: Chance;
  network: Network;
  etcd: SimulatedEtcd;
  oracle: Oracle;
  nodes: Map<string, SimulatedNode<Machine>>;
  /** What a replica's log is applied to. */
  machine: () => Machine;
  counts: Record<string, number>;
  mutant: Mutant | null;
  /** Has fetched what a restored shard begins with. Absent: no shard is restored. */
  fill?: (filling: Filling) => void;
  /** Clients write nothing before. */
  lullUntil?: number;
  /** How wrong wall clocks are, drawn apart from all else; absent: they are right. */
  wallClocks?: Chance;
  /** Reads come to other threads of the nodes. */
  threads?: boolean;
  /**
   * When a shard counts as unread and dormant, and how often replicas are told of reads; absent: after too long to come
   * up.
   */
  unread?: { afterMs: number; dormantAfterMs: number; reportedEveryMs: number } | undefined;
  /**
   * What a primary sends of its log it reads from a disk, in parts, each some time after the other; absent: it has it
   * at hand.
   */
  lateReads?: Chance | undefined;
  /** Absent: the protocol's core as it is. */
  makeReplica?: (options: ShardReplicaOptions) => ShardReplica;
}

/** A replica of a restored shard that counts as complete and has nothing yet. */
export interface Filling {
  node: string;
  seed: ShardSeed;
  /** Whether the process that asked still runs. */
  isWanted: () => boolean;
  /** null: it can't be had at present. */
  done: (payload: Buffer | null) => void;
}

const SHARD = { collectionUid: 'c', shard: 0 };
/** How beats are counted, by their lane. */
const BEATS_OF_LANES = ['beats', 'unreadBeats', 'dormantBeats'];

/** Clocks run up to this much too fast or too slow. */
const CLOCK_ERROR = 0.05;
/** Wall clocks are wrong by up to this much, and by another amount after each start. */
const WALL_ERROR_MS = 3000;
/** Simulated time begins here by a clock that is right. */
const WALL_START_MS = 1_700_000_000_000;
const REMOVAL_GRACE_MS = 1500;
/** Mean time until a part of the log is read, where that is not left out, and how many entries it has. */
const LATE_READ_MS = 20;
const LATE_READ_ENTRIES = 10;
/** How long it takes until a replica is opened, where that is not left out. */
const OPENING_MS = 200;
/** How often a thread of a machine that sleeps is looked at. */
const ASLEEP_CHECK_MS = 10;
/** A follower's read waits this often and long for what the primary committed. */
const LAGGING_LOOKS = 20;
const LAGGING_CHECK_MS = 5;
/** A read that waits for the lease asks for it so often at most. */
const RENEWED_EVERY_MS = 100;

/**
 * A node's process around the protocol core: carries out its effects on the simulated disk, network and cluster store.
 */
export class SimulatedNode<Machine extends StateMachine = StateMachine> {
  readonly id: string;
  readonly storage: SimulatedStorage<Machine>;
  replica: ShardReplica | null = null;
  up = false;
  paused = false;
  /** Its program is too old for the writes that primaries send to it. It ends at the first. */
  isOutdated = false;
  /** Mean time of a disk's sync. */
  syncMs = 1;
  /** Mean time in which it applies what is committed. */
  applyMs = 0.5;
  private generation = 0;
  private deferred: (() => void)[] = [];
  private wallErrorMs = 0;
  private readonly rate: number;
  private readonly bootedAt: number;
  /** For how long its machine has slept: what a monotonic clock does not count. */
  private sleptMs = 0;
  private asleepSince: number | null = null;
  private readonly timepiece: Clock;
  private readonly permitClocks: PermitClocks;
  /** Of the replica that is open. */
  private permit: { told: ReadPermit; watch: PermitWatch } | null = null;
  private readonly around: NodeDependencies<Machine>;
  /** The shard was removed for good. */
  private isRetired = false;
  private ticksAt = Infinity;
  private diskFreeAt = 0;
  private committed = 0;
  private answers = new Map<number, (answer: WriteAnswer) => void>();
  private writes = 0;
  private latest: Versioned | null = null;
  private goneSince: number | null = null;
  private isFilling = false;
  private isOpening = false;
  /** What says on its disk, apart from the data, that the shard was open here. */
  private isNoted = false;
  /**
   * What it reads after its disk was put back is no older than that, and it registers only when it knows what it has
   * lost.
   */
  private leastRevision = 0;
  private isRegistering = true;
  /** By the node at the other end: of the streams to it, and from it. */
  private readonly beatsTo = new Map<string, SentLanes>();
  private readonly beatsFrom = new Map<string, ReceivedLanes>();
  private streams = 0;
  private readToldAt = -Infinity;
  private renewedAt = -Infinity;
  private isRenewing = false;

  constructor(id: string, around: NodeDependencies<Machine>) {
    this.id = id;
    this.around = around;
    this.rate = 1 + (around.chance.unit() * 2 - 1) * CLOCK_ERROR;
    this.bootedAt = around.chance.unit() * 1e6;
    const monotonicMs = (): number => this.bootTime() - this.sleptMs * this.rate;
    const monotonic: Clock = { wallMs: monotonicMs, monotonicMs };
    this.timepiece = around.mutant?.forgetsSleep ? monotonic : sleeplessClock(monotonic, () => this.bootTime());
    this.permitClocks = { monotonicMs, bootMs: around.mutant?.forgetsSleep ? monotonicMs : () => this.bootTime() };
    this.storage = new SimulatedStorage({ node: id, chance: around.chance, machine: around.machine() });
    around.etcd.watch(id, (current) => {
      if (this.up) this.alive(() => this.learn(current))();
    });
  }

  clock(): number {
    return this.timepiece.monotonicMs();
  }

  private bootTime(): number {
    return this.bootedAt + this.around.schedule.now * this.rate;
  }

  start(): void {
    if (this.isRetired) return;
    this.up = true;
    this.generation++;
    this.paused = false;
    this.wallErrorMs = ((this.around.wallClocks?.unit() ?? 0.5) * 2 - 1) * WALL_ERROR_MS;
    this.wake();
    this.deferred = [];
    this.latest = null;
    this.goneSince = null;
    this.isFilling = false;
    this.isOpening = false;
    this.beatsTo.clear();
    this.beatsFrom.clear();
    this.around.mutant?.restart?.(this.storage);
    if (this.storage.disk.promisedEpoch > 0 || this.storage.disk.entries.length > 0) this.open();
    this.keepRegistered();
    this.keepReading();
  }

  crash(): void {
    this.up = false;
    this.generation++;
    this.close();
    this.storage.crash();
  }

  /**
   * Its process ends, and its disk is put back to before the shard: the node's own store, and nothing that says what
   * was in it.
   */
  putBack(): void {
    this.crash();
    this.storage.remove();
    this.isNoted = false;
    this.leastRevision = this.around.etcd.current.revision;
    this.isRegistering = false;
  }

  /** The shard is dropped: nothing of it comes back. */
  retire(): void {
    this.isRetired = true;
    this.crash();
  }

  /** Its program is replaced by one that knows everything. */
  update(): void {
    this.isOutdated = false;
    if (!this.up) this.start();
  }

  pause(): void {
    this.paused = true;
  }

  /** Like a pause, but of the whole machine: its monotonic clock stands still, too. */
  sleep(): void {
    this.pause();
    this.asleepSince ??= this.around.schedule.now;
    this.around.counts.sleeps++;
  }

  resume(): void {
    this.paused = false;
    this.wake();
    const deferred = this.deferred;
    this.deferred = [];
    for (const act of deferred) this.around.schedule.after(this.around.chance.unit() * 5, this.alive(act));
  }

  /** Nothing gets to the disk for so long. */
  hangDisk(durationMs: number): void {
    this.diskFreeAt = Math.max(this.diskFreeAt, this.around.schedule.now + durationMs);
  }

  private wake(): void {
    if (this.asleepSince !== null) this.sleptMs += this.around.schedule.now - this.asleepSince;
    this.asleepSince = null;
  }

  /** What a message for this node does when it arrives: nothing if the process is gone, later if it is stopped. */
  receive(act: () => void): void {
    if (this.up) this.alive(act)();
  }

  /** The same for what another thread takes. */
  receiveOnThread(act: () => void): void {
    if (this.up) this.onThread(0, act);
  }

  step(event: ReplicaEvent): void {
    const { replica } = this;
    if (replica === null) return;
    const effects = replica.step(event, this.clock());
    const isLate = this.around.mutant?.publishesPermitLate === true;
    if (!isLate) this.publishPermit(replica);
    for (const effect of effects) this.carryOut(effect, replica);
    this.flushBeats();
    if (isLate) this.after(this.stall(), () => this.replica === replica && this.publishPermit(replica));
    if (this.replica !== replica) return;
    this.observe(replica);
    this.scheduleTick(replica);
  }

  write(write: { source: WriteSource; payload: Buffer }, answer: (answer: WriteAnswer) => void): void {
    if (this.replica === null) return answer({ ok: false, kind: 'misrouted', reason: '' });
    const writeId = ++this.writes;
    this.answers.set(writeId, answer);
    this.step({ type: 'write', writeId, ...write, at: this.wallMs() });
  }

  private wallMs(): number {
    return Math.floor(WALL_START_MS + this.around.schedule.now + this.wallErrorMs);
  }

  /**
   * A linearizable read as the shell does it, at whatever replica this is: what `see` sees, or undefined when it may
   * not.
   */
  read<Seen>(see: (machine: Machine) => Seen, answer: (seen: Seen | undefined) => void, patience = 20): void {
    const { replica } = this;
    this.tellRead();
    const verdict = replica?.mayServe(this.clock()) ?? 'misrouted';
    if (replica === null || verdict === 'misrouted' || verdict === 'unavailable' || patience === 0)
      return answer(undefined);
    if (verdict === 'wait') {
      this.renewLease();
      return this.after(20, () => this.read(see, answer, patience - 1));
    }
    const { epoch, role, readPosition } = replica;
    assert(
      replica.leaseValid(epoch, this.clock()),
      'a read is let in although its answer does not count: the shell would ask again without end',
    );
    const finish = (value: Seen): void => {
      const counts = this.replica === replica && replica.leaseValid(epoch, this.clock());
      if (role === 'follower') this.around.counts[counts ? 'followerReads' : 'followerReadsLate']++;
      answer(counts ? value : undefined);
    };
    this.whenApplied(readPosition, replica, (isThere) => {
      if (!isThere) return answer(undefined);
      this.after(this.stall(), () => {
        const value = see(this.storage.machine);
        this.after(this.stall(), () => finish(value));
      });
    });
  }

  /**
   * A read as another thread of the process does it: it goes on while the main thread stands still, as in a pause, and
   * is stopped with the machine. What it may not answer is the main thread's.
   */
  threadRead<Seen>(see: (machine: Machine) => Seen, answer: (seen: Seen | undefined) => void): void {
    const { replica, permit } = this;
    const { installed } = this.storage;
    const grant = permit?.watch.begin() ?? -1;
    const passOn = (): void => {
      this.around.counts.threadReadsPassedOn++;
      this.alive(() => this.read(see, answer))();
    };
    if (permit === null || grant < 0) return passOn();
    this.onThread(this.stall(), () => {
      // The memory of one that is closed or replaced says so by itself.
      if (this.replica !== replica || this.storage.installed !== installed) return passOn();
      const seen = see(this.storage.machine);
      this.onThread(this.stall(), () => {
        if (!permit.watch.holds(grant)) return passOn();
        this.around.counts[permit.watch.isPrimary ? 'threadReads' : 'threadReadsAtFollowers']++;
        answer(seen);
      });
    });
  }

  private onThread(delay: number, act: () => void): void {
    const { generation } = this;
    this.around.schedule.after(delay, () => {
      if (generation !== this.generation || !this.up) return;
      if (this.asleepSince !== null) this.onThread(ASLEEP_CHECK_MS, act);
      else act();
    });
  }

  private publishPermit(replica: ShardReplica): void {
    this.permit?.told.set(replica.role, replica.epoch, replica.readableUntil);
  }

  private tellRead(): void {
    const { unread } = this.around;
    if (
      unread === undefined ||
      this.replica?.role !== 'primary' ||
      this.clock() - this.readToldAt < unread.reportedEveryMs
    )
      return;
    this.readToldAt = this.clock();
    this.step({ type: 'read' });
  }

  private renewLease(): void {
    if (this.clock() - this.renewedAt < RENEWED_EVERY_MS) return;
    this.renewedAt = this.clock();
    this.isRenewing = true;
    this.step({ type: 'renew' });
    this.isRenewing = false;
  }

  private whenApplied(
    position: number,
    replica: ShardReplica,
    then: (isThere: boolean) => void,
    patience = LAGGING_LOOKS,
  ): void {
    if (this.replica === replica && replica.applied >= position) return then(true);
    if (this.replica !== replica || patience === 0) return then(false);
    if (patience === LAGGING_LOOKS) this.step({ type: 'readWaits' });
    this.after(LAGGING_CHECK_MS, () => this.whenApplied(position, replica, then, patience - 1));
  }

  /** A stall of the event loop, a garbage collection or a stopped process between two steps. */
  private stall(): number {
    const { chance } = this.around;
    return chance.happens(0.05) ? chance.unit() * 1300 : chance.unit() * 3;
  }

  private alive(act: () => void): () => void {
    const { generation } = this;
    return () => {
      if (generation !== this.generation || !this.up) return;
      if (this.paused) this.deferred.push(act);
      else act();
    };
  }

  private after(delay: number, act: () => void): void {
    this.around.schedule.after(delay, this.alive(act));
  }

  private keepRegistered(): void {
    if (this.isRegistering) this.around.etcd.register(this.id, this.storage.store);
    this.after(400, () => this.keepRegistered());
  }

  private keepReading(): void {
    this.around.etcd.read(this.id, (current) => this.receive(() => this.learn(current)));
    this.after(300 + this.around.chance.unit() * 200, () => this.keepReading());
  }

  private learn(current: Versioned): void {
    if (current.revision < Math.max(this.latest?.revision ?? 0, this.leastRevision)) return;
    this.latest = current;
    const holds = current.assignment.replicas.includes(this.id);
    if (holds) this.goneSince = null;
    if (this.replica === null && holds) this.begin(current.assignment);
    if (!holds) this.isRegistering = true;
    this.step({ type: 'assignment', ...current });
    if (!holds && this.replica !== null) this.noteGone();
  }

  /** A replica that was taken away goes after a while. */
  private noteGone(): void {
    this.goneSince ??= this.around.schedule.now;
    if (this.around.schedule.now - this.goneSince < REMOVAL_GRACE_MS) return;
    this.goneSince = null;
    this.close();
    this.storage.remove();
    this.isNoted = false;
    this.around.counts.removals++;
  }

  /** What restored shards begin with is fetched first. Their entry comes with an epoch: nobody opens them before. */
  private begin(assignment: ShardAssignment): void {
    const { around, storage, id: node } = this;
    const { seed } = assignment.spec;
    if (assignment.unused !== undefined) return this.beginUnused(assignment);
    if (seed === undefined || around.fill === undefined) return this.create(assignment);
    if (assignment.epoch === 0 || this.isFilling) return;
    if (![...assignment.inSync, ...assignment.eligible].some((one) => one.node === node && one.store === storage.store))
      return this.create(assignment);
    this.isFilling = true;
    const { generation } = this;
    const done = (payload: Buffer | null): void =>
      this.alive(() => {
        if (generation !== this.generation) return;
        this.isFilling = false;
        const isMine = this.latest?.assignment.replicas.includes(node) ?? false;
        if (payload === null || !isMine || this.replica !== null) return;
        storage.seed(payload);
        around.oracle.commit(node, storage.entries, 0, storage.applied);
        around.counts.filled++;
        this.create(assignment);
      })();
    around.fill({ node, seed, isWanted: () => this.up && generation === this.generation, done });
  }

  /**
   * As node/hosting/replicas/replica-opening.ts decides and does it, after a while in which its process or another one
   * may end.
   */
  private beginUnused(first: ShardAssignment): void {
    const { around, storage, id: node } = this;
    if (first.epoch === 0 || this.isOpening) return;
    this.isOpening = true;
    this.after(around.chance.around(OPENING_MS), () => {
      this.isOpening = false;
      const { assignment } = this.latest!;
      if (this.replica !== null || !assignment.replicas.includes(node)) return;
      const mustHold = around.mutant?.mustHoldData ?? mustHoldData;
      if (!this.isNoted && mustHold(assignment, { node, store: storage.store })) {
        storage.wipe();
        around.counts.renewals++;
      }
      this.isNoted = true;
      this.create(assignment, true);
    });
  }

  private create(assignment: ShardAssignment, isNew = false): void {
    this.isRegistering = true;
    this.storage.disk.promisedEpoch = assignment.epoch;
    this.open(isNew);
  }

  private open(isNew = false): void {
    const state = this.storage.state();
    const unapplied = this.storage.entries
      .slice(state.appliedSequence)
      .map((entry) => ({ sequence: entry.sequence, source: entry.write?.source ?? null }));
    const { unread } = this.around;
    const changeIdPrefix = `${this.id}-${this.generation}-${this.around.chance.below(1e9)}`;
    const options = {
      self: { node: this.id, store: this.storage.store },
      changeIdPrefix,
      state,
      unapplied,
      isNew,
      restsAfter: unread && { unreadAfterMs: unread.afterMs, dormantAfterMs: unread.dormantAfterMs },
      nowMs: this.clock(),
    };
    this.readToldAt = -Infinity;
    this.replica = this.around.makeReplica?.(options) ?? new ShardReplica(options);
    this.committed = this.storage.applied;
    this.ticksAt = Infinity;
    this.around.mutant?.core?.(this.replica, () => this.clock());
    if (this.around.threads !== true) return;
    const told = new ReadPermit({ monotonicMs: () => this.clock() }, this.permitClocks);
    this.permit = { told, watch: new PermitWatch(told.memory, this.permitClocks) };
    this.around.mutant?.permit?.(this.permit);
  }

  private close(): void {
    this.replica = null;
    this.permit?.told.withdraw();
    this.permit = null;
    this.answers.clear();
  }

  /** A stream's end forgets what both ends knew of it. */
  private endStream(to: string): void {
    this.beatsTo.delete(to);
  }

  private beatsOf(to: string): SentLanes {
    let beats = this.beatsTo.get(to);
    if (beats === undefined) {
      beats = new SentLanes({ to, sessionPrefix: `${this.id}.${this.generation}.${++this.streams}`, count: LANES });
      for (const lane of beats.lanes) this.around.mutant?.beatSender?.(lane);
      this.beatsTo.set(to, beats);
    }
    return beats;
  }

  private receiverOf(from: string): ReceivedLanes {
    let beats = this.beatsFrom.get(from);
    if (beats === undefined) {
      beats = new ReceivedLanes({ self: this.id, from });
      for (const lane of beats.lanes) this.around.mutant?.beatReceiver?.(lane);
      this.beatsFrom.set(from, beats);
    }
    return beats;
  }

  private flushBeats(): void {
    for (const [to, sent] of this.beatsTo) {
      const { beats, alone } = sent.flush();
      for (const { message } of alone) this.transmit(to, message);
      const target = this.around.nodes.get(to)!;
      for (const beat of beats) {
        this.around.counts[BEATS_OF_LANES[beat.lane]]++;
        this.stream(to, () => target.receive(() => target.hear(this.id, beat)));
      }
    }
  }

  private hear(from: string, beat: Beat): void {
    const answer = this.receiverOf(from).receive(beat, (_shard, message) => {
      this.around.oracle.takes(from, this.id, message);
      this.step({ type: 'append', message });
    });
    const sender = this.around.nodes.get(from)!;
    if (answer === null) return;
    this.around.network.stream(
      this.id,
      from,
      () =>
        sender.receive(() => {
          for (const { ack } of sender.beatsOf(this.id).answered(answer)) {
            this.around.counts.beatAcks++;
            this.around.oracle.takes(this.id, from, ack);
            sender.step({ type: 'appendAck', ack });
          }
        }),
      () => {},
    );
  }

  private scheduleTick(replica: ShardReplica): void {
    const at = replica.nextTickAt();
    if (at >= this.ticksAt || at === Infinity) return;
    this.ticksAt = at;
    this.after((at - this.clock()) / this.rate + 0.01, () => {
      if (this.ticksAt !== at || this.replica !== replica) return;
      this.ticksAt = Infinity;
      if (this.permit?.told.takeRead() === true) this.tellRead();
      this.step({ type: 'tick' });
    });
  }

  private observe(replica: ShardReplica): void {
    const { committed } = replica;
    if (committed <= this.committed) return;
    this.around.oracle.commit(this.id, this.storage.entries, this.committed, committed);
    this.committed = committed;
  }

  private carryOut(effect: ReplicaEffect, replica: ShardReplica): void {
    const { around } = this;
    switch (effect.type) {
      case 'append':
        this.storage.append(effect);
        return this.onDisk(this.syncMs, replica, () =>
          this.step({ type: 'stored', token: this.storage.finishAppend().token }),
        );
      case 'apply':
        return this.later(around.chance.around(this.applyMs), replica, () => {
          this.step({ type: 'applied', upTo: effect.upTo, results: this.storage.apply(effect.upTo) });
        });
      case 'sendAppend':
        return this.sendAppend(effect.to, effect.message, effect.pace);
      case 'sendAck': {
        around.oracle.says(this.id, effect.to, effect.ack);
        if (this.beatsFrom.get(effect.to)?.covers(SHARD, effect.ack) === true) return undefined;
        const target = around.nodes.get(effect.to)!;
        return around.network.stream(
          this.id,
          effect.to,
          () => target.receive(() => target.step({ type: 'appendAck', ack: effect.ack })),
          () => {},
        );
      }
      case 'answer':
        this.answers.get(effect.writeId)?.(effect.answer);
        return void this.answers.delete(effect.writeId);
      case 'change':
        around.counts.changes++;
        return (around.mutant?.change ?? askEtcd)(this, around, effect);
      case 'snapshot':
        return this.sendSnapshot(effect.to, effect.epoch, replica);
      case 'lossy':
        around.counts.lossy++;
        this.crash();
        this.storage.wipe();
        return this.start();
      case 'diverged':
        throw new Violation(`${this.id} committed another entry ${effect.sequence} than its primary`);
      case 'unknown':
        around.counts.outdated++;
        return this.crash();
      case 'role':
        if (effect.role === 'primary') this.leads(effect.epoch);
    }
  }

  private leads(epoch: number): void {
    const { around } = this;
    around.counts.promotions++;
    if (this.wallMs() < (this.replica?.latestTimeMs ?? 0))
      around.counts.slowClocks = (around.counts.slowClocks ?? 0) + 1;
    // A primary of a past epoch may lack what was committed since; it can neither commit nor read.
    if (around.etcd.current.assignment.epoch === epoch) around.oracle.leads(this.id, epoch, this.storage.entries);
  }

  private onDisk(meanMs: number, replica: ShardReplica, act: () => void): void {
    const { chance, schedule } = this.around;
    const latency = chance.happens(0.002) ? chance.unit() * 800 : 0.1 + chance.around(meanMs);
    this.diskFreeAt = Math.max(this.diskFreeAt, schedule.now + latency);
    this.later(this.diskFreeAt - schedule.now, replica, act);
  }

  /** Like `after`, for as long as the replica is this one and its data was not replaced. */
  private later(delay: number, replica: ShardReplica, act: () => void): void {
    const data = this.storage.installed;
    this.after(delay, () => {
      if (this.replica === replica && this.storage.installed === data) act();
    });
  }

  private sendAppend(to: string, outgoing: OutgoingAppend, pace?: SeldomPace): void {
    const { nodes, lateReads } = this.around;
    const { range, ...header } = outgoing;
    if (this.isRenewing && pace === 'dormant') this.around.counts.dormantReads++;
    if (range !== null && lateReads !== undefined && !nodes.get(to)!.isOutdated)
      return this.sendLate(to, header, range, lateReads);
    const entries: LogEntry[] = range === null ? [] : this.storage.entries.slice(range.from - 1, range.to);
    const target = nodes.get(to)!;
    const message = { ...header, entries: target.isOutdated ? entries.map(asUnknown) : entries };
    if (range === null) this.around.oracle.says(this.id, to, message);
    // An outdated program knows no beats either.
    if (target.isOutdated || !this.beatsOf(to).take(SHARD, message, pace)) this.transmit(to, message);
  }

  /** As the shell does it: what is there once it is read, if this replica still leads then. */
  private sendLate(
    to: string,
    header: Omit<AppendMessage, 'entries'>,
    { from, to: until }: { from: number; to: number },
    lateReads: Chance,
  ): void {
    const { counts } = this.around;
    const { replica } = this;
    this.after(lateReads.around(LATE_READ_MS), () => {
      if (this.replica !== replica || replica === null) return;
      if (replica.role !== 'primary' || replica.epoch !== header.epoch) return void counts.lateReadsGivenUp++;
      const entries = this.storage.entries.slice(from - 1, Math.min(until, from - 1 + LATE_READ_ENTRIES));
      if (entries.length === 0) return;
      counts.lateReads++;
      this.transmit(to, { ...header, entries });
      const { epoch, sequence } = entries[entries.length - 1];
      if (sequence < until)
        this.sendLate(to, { ...header, prev: { epoch, sequence } }, { from: sequence + 1, to: until }, lateReads);
    });
  }

  private transmit(to: string, message: AppendMessage): void {
    const target = this.around.nodes.get(to)!;
    this.stream(to, () => target.receive(() => target.step({ type: 'append', message })));
  }

  private stream(to: string, deliver: () => void): void {
    this.around.network.stream(this.id, to, deliver, () =>
      this.receive(() => {
        this.endStream(to);
        this.step({ type: 'streamStarted', node: to });
      }),
    );
  }

  private sendSnapshot(to: string, epoch: number, replica: ShardReplica): void {
    const { network, nodes, chance, counts } = this.around;
    const entries = this.storage.copyApplied();
    const target = nodes.get(to)!;
    let ended = false;
    const end = (): void => {
      if (ended || this.replica !== replica) return;
      ended = true;
      this.step({ type: 'snapshotEnded', node: to });
    };
    this.after(1500, end);
    this.after(50 + chance.around(200), () =>
      network.send(this.id, to, () =>
        target.receive(() => {
          if (target.replica?.mayInstall(epoch, lastOf(entries)) !== true) return;
          counts.snapshots++;
          target.permit?.told.withdraw();
          target.storage.install(entries);
          target.step({ type: 'installed', state: target.storage.state() });
          network.send(to, this.id, () => this.receive(end));
        }),
      ),
    );
  }
}

function askEtcd(
  node: SimulatedNode,
  around: NodeDependencies,
  effect: Extract<ReplicaEffect, { type: 'change' }>,
): void {
  around.etcd.change(node.id, effect, (answer) =>
    node.receive(() =>
      node.step({
        type: 'changeAnswer',
        changeId: effect.assignment.changeId,
        applied: answer.applied,
        current: answer.assignment,
        revision: answer.revision,
      }),
    ),
  );
}
