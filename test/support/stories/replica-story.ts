import { decidePromotion } from '../../../coordinator/cluster/placement/promotion';
import type { ReplicaEffect } from '../../../node/replication/core/effects';
import type { ReplicaEvent } from '../../../node/replication/core/events';
import type { AppendResult, LogPosition, OutgoingAppend } from '../../../node/replication/core/messages';
import type { LogEntry } from '../../../node/replication/core/replica-state';
import { ShardReplica } from '../../../node/replication/core/shard-replica';
import type { ReplicaId, ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';
import type { Chance } from '../../simulation/chance';
import { lastOf, Registers, SimulatedStorage } from '../../simulation/simulated-storage';
import { asUnknown, payloadOf, writtenBy } from '../../simulation/written';
import type { Interpreter, ScriptCommand } from './golden-script';

/** More than any command has effects before all is quiet. */
const STEPS_MAX = 1000;
/** A new shard's followers have heard by then that the barrier is committed. */
const BEGUN_MS = 150;
/**
 * How long the cluster store takes to refuse a change. Its other answers take no time; this one is asked for again at
 * once.
 */
const REFUSAL_MS = 100;
/** A crash loses everything that was not on stable storage. */
const UNLUCKY = { below: () => 0 } as unknown as Chance;

/**
 * A shard's replicas, one on each node, with the cluster store between them, told by commands. Every command goes on
 * until nothing more happens without time passing; `wait` lets it pass. Lines are what replicas want done, in order:
 * `3@2` is entry 3 of epoch 2, `a → b` a message, `✗` one that is lost. What is said to the same node again is left
 * out.
 *
 *   shard a b c [min-in-sync=] [in-sync=a,b] [down=c] [deaf=c] [unused=yes]   a new shard, with a running node for each
 *   replica serving-shard a b c …          the same, and a leads: how it came to that is left out
 *   write a x=1 [as=<number>] [settled-below=<number>]   a client's write of x through a, by a name of its own
 *   load a for=<ms> every=<ms>     such writes one after the other; only changes of the assignment are told
 *   wait <ms>                      clocks go on, ticks are served
 *   count <ms>                     the same; only how many messages each node sends to each other is told
 *   cut a … | heal a …             a node is parted from all others and the cluster store
 *   deafen a | cure a              only from the cluster store: its registration is gone, and it hears of no change
 *   hold-disk a | release-disk a   what a appends gets to the disk late
 *   slow-disk a by=<ms> | release-disk a   each thing that a appends takes so long, one after the other
 *   delay a | deliver a            what a sends arrives late
 *   crash a … | start a … | wipe a …
 *   put-back a [to=3]              the disk of a, which has ended, is as it was before the shard, or with entry 3 as
 *   the last trim a to=3                    a's log begins with entry 3 from now on
 *   outdate a | update a           a's program does not know the writes that it is sent; it restarts with one that does
 *   handover a [to=b] | cancel-handover a
 *   promote                        the controller gives the shard another primary
 *   assign [replicas=a,b] [adding=] [removing=]   the controller changes who is to hold the shard
 *   save-store | put-back-store    the cluster store is put back to what it held when it was saved
 *   repair a                       the controller makes what a knows the assignment, under a new epoch
 *   adopt a                        an operator makes a lead alone, whatever it lacks
 *   read a                         a is told that a client reads
 *   renew a                        a is told that something waits for its lease
 *   may a                          whether a takes writes and serves reads
 *   status                         what each replica knows of itself
 */
export function replicaStory(): Interpreter {
  const story = new ReplicaStory();
  return (command) => story.carryOut(command);
}

interface StoryNode {
  id: string;
  storage: SimulatedStorage<Registers>;
  replica: ShardReplica | null;
  starts: number;
  isCut: boolean;
  isDeaf: boolean;
  /** Its program is too old for the writes of its primary. */
  isOutdated: boolean;
  /** Steps that wait for the disk; null while it is quick. */
  held: (() => void)[] | null;
  /** How long its disk takes for each thing, and until when it has something to do. */
  disk: { tookMs: number; busyUntilMs: number };
  /** Messages of this node that are under way; null while its network is quick. */
  delayed: (() => void)[] | null;
}

class ReplicaStory {
  private readonly nodes = new Map<string, StoryNode>();
  private readonly queue: (() => void)[] = [];
  private readonly said = new Map<string, string>();
  private readonly sent = new Map<string, number>();
  private readonly written = new Map<number, string>();
  private assignment!: ShardAssignment;
  private revision = 0;
  private saved: { assignment: ShardAssignment; revision: number } | null = null;
  /** What happens at a time. */
  private due: { atMs: number; act: () => void }[] = [];
  private nowMs = 0;
  private startMs = 0;
  private writes = 0;
  private lines: string[] = [];

  carryOut(command: ScriptCommand): string[] {
    this.lines = [];
    this.startMs = this.nowMs;
    this.act(command);
    this.drain();
    return this.lines;
  }

  private act({ name, words, options }: ScriptCommand): void {
    const named = words.flatMap((id) => this.nodes.get(id) ?? []);
    const [node] = named;
    switch (name) {
      case 'shard':
        return this.create(words, options);
      case 'serving-shard':
        this.create(words, options);
        this.wait(BEGUN_MS);
        this.startMs = this.nowMs;
        return void (this.lines = []);
      case 'write':
        return this.write(node, options);
      case 'load': {
        const endMs = this.nowMs + Number(options.for);
        for (let value = 1; this.nowMs < endMs; value += 1) {
          this.write(node, { x: String(value) });
          this.wait(Number(options.every));
        }
        return void (this.lines = this.lines.filter((line) => /asks for|store: /.test(line)));
      }
      case 'wait':
        return this.wait(Number(words[0]));
      case 'count':
        this.sent.clear();
        this.wait(Number(words[0]));
        return void (this.lines = [...this.sent].map(([what, count]) => `${what}: ${count}`).sort());
      case 'cut':
        return named.forEach((one) => (one.isCut = true));
      case 'deafen':
        return named.forEach((one) => (one.isDeaf = true));
      case 'cure':
        return named.forEach((one) => {
          one.isDeaf = false;
          this.learn(one);
        });
      case 'heal':
        return named.forEach((one) => this.heal(one));
      case 'hold-disk':
        return void (node.held = []);
      case 'slow-disk':
        return void (node.disk.tookMs = Number(options.by));
      case 'release-disk':
        node.disk.tookMs = 0;
        this.queue.push(...(node.held ?? []));
        return void (node.held = null);
      case 'delay':
        return void (node.delayed = []);
      case 'deliver':
        this.queue.push(...(node.delayed ?? []));
        return void (node.delayed = null);
      case 'crash':
        return named.forEach((one) => this.crash(one));
      case 'start':
        return named.forEach((one) => this.start(one));
      case 'wipe':
        return named.forEach(({ storage }) => storage.wipe());
      case 'put-back': {
        const kept = node.storage.keep();
        node.storage.remove();
        if (options.to === undefined) return;
        const entries = kept.entries.slice(0, Number(options.to));
        return node.storage.putBack({ ...kept, entries, applied: Math.min(kept.applied, entries.length) });
      }
      case 'outdate':
        return void (node.isOutdated = true);
      case 'update':
        node.isOutdated = false;
        this.crash(node);
        return this.start(node);
      case 'trim':
        return this.trim(node, Number(options.to));
      case 'handover':
        return this.step(node, { type: 'handover', to: options.to ?? null });
      case 'cancel-handover':
        return this.step(node, { type: 'cancelHandover' });
      case 'promote':
        return this.promote();
      case 'assign':
        return this.change(
          Object.fromEntries(Object.entries(options).map(([key, list]) => [key, list === '' ? [] : list.split(',')])),
        );
      case 'save-store':
        return void (this.saved = { assignment: this.assignment, revision: this.revision });
      case 'put-back-store':
        Object.assign(this, this.saved);
        this.say(`store: back at ${toldAssignment(this.assignment)}`);
        return this.nodes.forEach((one) => this.learn(one));
      case 'repair': {
        const { assignment } = node.replica!;
        return this.change({ ...assignment, epoch: assignment!.epoch + 1 });
      }
      case 'adopt':
        return this.change({
          epoch: this.assignment.epoch + 1,
          primary: this.idOf(node),
          inSync: [this.idOf(node)],
          eligible: [],
        });
      case 'read':
        return this.step(node, { type: 'read' });
      case 'renew':
        return this.step(node, { type: 'renew' });
      case 'may':
        return this.say(`${node.id} writes: ${node.replica?.mayWrite(this.nowMs)}, reads: ${this.mayRead(node)}`);
      case 'status':
        return this.nodes.forEach((one) => this.tellStatus(one));
      default:
        throw new Error(`no such command: ${name}`);
    }
  }

  private create(ids: string[], options: Record<string, string>): void {
    for (const id of ids) {
      const storage = new SimulatedStorage({ node: id, chance: UNLUCKY, machine: new Registers() });
      const rest = {
        isCut: false,
        isDeaf: options.deaf === id,
        isOutdated: false,
        held: null,
        disk: { tookMs: 0, busyUntilMs: 0 },
        delayed: null,
      };
      this.nodes.set(id, { id, storage, replica: null, starts: 0, ...rest });
    }
    const inSync = (options['in-sync']?.split(',') ?? ids).map((node) => ({ node, store: `${node}.0` }));
    const spec = { collectionUid: 'c', shard: 0, dim: 1, metric: 'cosine' as const };
    const rest = {
      ...(options.unused === 'yes' && { unused: true }),
      eligible: [],
      replicas: ids,
      adding: [],
      removing: [],
      changeId: '',
    };
    this.assignment = {
      spec,
      minInSync: Number(options['min-in-sync'] ?? 2),
      epoch: 1,
      primary: inSync[0],
      inSync,
      ...rest,
    };
    this.revision = 1;
    this.say(`store: ${toldAssignment(this.assignment)}`);
    for (const node of this.nodes.values()) {
      // As a node makes a replica for an assignment: see ShardReplicaOptions.state.
      node.storage.disk.promisedEpoch = 1;
      if (options.down !== node.id) this.start(node, true);
    }
  }

  private start(node: StoryNode, isNew = false): void {
    const state = node.storage.state();
    const unapplied = node.storage.entries
      .slice(state.appliedSequence)
      .map(({ sequence, write }) => ({ sequence, source: write?.source ?? null }));
    node.starts += 1;
    // A store that lost everything is taken for a new replica of the assignment that is in force.
    if (state.promisedEpoch === 0) state.promisedEpoch = node.storage.disk.promisedEpoch = this.assignment.epoch;
    node.replica = new ShardReplica({
      self: this.idOf(node),
      changeIdPrefix: `${node.id}${node.starts}`,
      state,
      unapplied,
      isNew,
      nowMs: this.nowMs,
    });
    this.connect(node);
  }

  private crash(node: StoryNode): void {
    node.replica = null;
    if (node.held !== null) node.held = [];
    node.storage.crash();
  }

  private heal(node: StoryNode): void {
    node.isCut = false;
    this.connect(node);
  }

  /** Its streams are made again, and it reads its assignment. */
  private connect(node: StoryNode): void {
    this.learn(node);
    for (const other of this.nodes.values()) {
      if (other === node) continue;
      for (const [one, peer] of [
        [node, other],
        [other, node],
      ]) {
        for (const key of this.said.keys()) if (key.startsWith(`${one.id} → ${peer.id}`)) this.said.delete(key);
        this.later(one, () => this.step(one, { type: 'streamStarted', node: peer.id }));
      }
    }
  }

  private write(
    node: StoryNode,
    { as, 'settled-below': settledBelow = '1', ...written }: Record<string, string>,
  ): void {
    const requestNumber = Number(as ?? this.writes + 1);
    this.writes = Math.max(this.writes, requestNumber);
    const [[key, value]] = Object.entries(written);
    const writeId = this.written.size + 1;
    this.written.set(writeId, `${key}=${value}`);
    const source = { session: 's', requestNumber, settledBelow: Number(settledBelow) };
    this.step(node, { type: 'write', writeId, source, payload: payloadOf({ key, value: Number(value) }) });
  }

  private wait(milliseconds: number): void {
    this.drain();
    const endMs = this.nowMs + milliseconds;
    for (let next = this.nextTickAt(); next <= endMs; next = this.nextTickAt()) {
      this.nowMs = Math.max(this.nowMs, next);
      const now = this.due.filter(({ atMs }) => atMs <= this.nowMs);
      this.due = this.due.filter((one) => !now.includes(one));
      for (const { act } of now) act();
      for (const node of this.nodes.values())
        if ((node.replica?.nextTickAt() ?? Infinity) <= this.nowMs) this.step(node, { type: 'tick' });
      this.drain();
    }
    this.nowMs = endMs;
  }

  private nextTickAt(): number {
    return Math.min(
      ...[...this.nodes.values()].map(({ replica }) => replica?.nextTickAt() ?? Infinity),
      ...this.due.map(({ atMs }) => atMs),
    );
  }

  private drain(): void {
    for (let steps = 0; this.queue.length > 0; steps += 1) {
      if (steps > STEPS_MAX) throw new Error(`it never gets quiet:\n${this.lines.slice(-20).join('\n')}`);
      this.queue.shift()!();
    }
  }

  private trim(node: StoryNode, to: number): void {
    const firstSequence = node.storage.trim(to);
    this.step(node, { type: 'trimmed', firstSequence, precedingEpoch: node.storage.state().precedingEpoch });
  }

  private promote(): void {
    const living = [...this.nodes.values()]
      .filter(isRegistered)
      .map(({ id, storage }) => [id, { store: storage.store }] as const);
    const promotion = decidePromotion(this.assignment, new Map(living));
    if (promotion === null) return this.say('nobody may lead');
    this.change(promotion.assignment);
  }

  private change(change: Partial<ShardAssignment>): void {
    const before = this.assignment;
    this.assignment = { ...before, ...change };
    this.revision += 1;
    this.say(`store: ${toldAssignment(this.assignment, before)}`);
    for (const node of this.nodes.values()) this.learn(node);
  }

  private learn(node: StoryNode): void {
    const { assignment, revision } = this;
    if (isRegistered(node)) this.later(node, () => this.step(node, { type: 'assignment', assignment, revision }));
  }

  private step(node: StoryNode, event: ReplicaEvent): void {
    const { replica } = node;
    if (replica === null) return;
    for (const effect of replica.step(event, this.nowMs)) this.handle(node, effect);
  }

  /** Does something for the process that runs now, unless it has ended, or its data was replaced, by then. */
  private later(node: StoryNode, act: () => void, queue: { push(act: () => void): unknown } = this.queue): void {
    const { replica } = node;
    const { installed } = node.storage;
    queue.push(() => {
      if (node.replica === replica && node.storage.installed === installed) act();
    });
  }

  private store(node: StoryNode, stored: () => void): void {
    const { disk, held } = node;
    if (disk.tookMs === 0) return this.later(node, stored, held ?? this.queue);
    disk.busyUntilMs = Math.max(this.nowMs, disk.busyUntilMs) + disk.tookMs;
    const atMs = disk.busyUntilMs;
    this.later(node, stored, { push: (act) => this.due.push({ atMs, act }) });
  }

  private handle(node: StoryNode, effect: ReplicaEffect): void {
    const { id, storage } = node;
    switch (effect.type) {
      case 'append':
        this.say(`${id} disk: ${toldChange(effect)}`);
        storage.append(effect);
        return this.store(node, () => this.step(node, { type: 'stored', token: storage.finishAppend().token }));
      case 'apply':
        this.say(`${id} applies up to ${effect.upTo}`);
        return this.later(node, () =>
          this.step(node, { type: 'applied', upTo: effect.upTo, results: storage.apply(effect.upTo) }),
        );
      case 'sendAppend': {
        const { range, ...header } = effect.message;
        const entries = range === null ? [] : storage.entries.slice(range.from - 1, range.to);
        const seen = this.nodes.get(effect.to)!.isOutdated ? entries.map(asUnknown) : entries;
        return this.send(node, effect.to, toldAppend(effect.message, entries), {
          type: 'append',
          message: { ...header, entries: seen },
        });
      }
      case 'sendAck':
        return this.send(node, effect.to, toldResult(effect.ack.result), { type: 'appendAck', ack: effect.ack });
      case 'answer':
        return this.say(
          `${id} answers ${this.written.get(effect.writeId)}: ${effect.answer.ok ? effect.answer.result.outcomes.join() : `${effect.answer.kind}, ${effect.answer.reason}`}`,
        );
      case 'change':
        return this.ask(node, effect);
      case 'snapshot':
        return this.sendSnapshot(node, effect.to, effect.epoch);
      case 'lossy':
        return this.say(`${id} is lossy: it has acknowledged ${effect.recorded} and holds ${effect.last}`);
      case 'diverged':
        return this.say(`${id} can't follow: it committed another entry ${effect.sequence}`);
      case 'unknown':
        this.say(`${id} stops: entry ${effect.sequence} is ${effect.reason}`);
        return this.crash(node);
      case 'role':
        return this.say(`${id} is ${effect.role} of epoch ${effect.epoch}`);
    }
  }

  private send(from: StoryNode, to: string, told: string, event: ReplicaEvent): void {
    const target = this.nodes.get(to)!;
    const isLost = from.isCut || !isThere(target);
    const what = `${from.id} → ${to}`;
    this.sent.set(what, (this.sent.get(what) ?? 0) + 1);
    const line = `${what}: ${told}${isLost ? ' ✗' : ''}`;
    this.sayOnce(`${what} ${event.type}`, line);
    if (!isLost) this.later(target, () => this.step(target, event), from.delayed ?? this.queue);
  }

  /** Asks the cluster store, which compares and swaps; from behind a cut it hears nothing. */
  private ask(
    node: StoryNode,
    { assignment, expectedRevision, requires }: Extract<ReplicaEffect, { type: 'change' }>,
  ): void {
    const isLost = !isRegistered(node);
    const line = `${node.id} asks for: ${toldAssignment(assignment, node.replica?.assignment ?? undefined)}${requires.length === 0 ? '' : `, if ${requires.map(label).join(' ')} is there`}${isLost ? ' ✗' : ''}`;
    // How often it asks counts here.
    if (this.saved !== null) this.said.delete(`${node.id} asks`);
    const isNew = this.sayOnce(`${node.id} asks`, line);
    if (isLost) return;
    this.queue.push(() => {
      const isMet = requires.every((replica) =>
        [...this.nodes.values()].some((one) => isRegistered(one) && label(this.idOf(one)) === label(replica)),
      );
      const applied = expectedRevision === this.revision && isMet;
      if (applied) this.change(assignment);
      else if (isNew) this.say('store: refused');
      const { assignment: current, revision } = this;
      const answer = (): void =>
        this.step(node, { type: 'changeAnswer', changeId: assignment.changeId, applied, current, revision });
      if (applied) this.later(node, answer);
      else this.due.push({ atMs: this.nowMs + REFUSAL_MS, act: () => this.later(node, answer) });
    });
  }

  private sendSnapshot(node: StoryNode, to: string, epoch: number): void {
    const target = this.nodes.get(to)!;
    const entries = node.storage.copyApplied();
    const what = `${node.id} → ${to}: snapshot up to ${entries.length}`;
    if (node.isCut || !isThere(target)) return this.say(`${what} ✗`);
    this.say(what);
    this.later(target, () => {
      if (target.replica?.mayInstall(epoch, lastOf(entries)) === true) {
        this.say(`${to} disk: holds the snapshot and nothing else`);
        target.storage.install(entries);
        this.step(target, { type: 'installed', state: target.storage.state() });
      } else {
        this.say(`${to} does not take the snapshot`);
      }
      this.later(node, () => this.step(node, { type: 'snapshotEnded', node: to }));
    });
  }

  private mayRead({ replica }: StoryNode): string {
    const verdict = replica?.mayServe(this.nowMs);
    if (verdict === 'yes' && replica?.leaseValid(replica.epoch, this.nowMs) !== true)
      return 'yes, and the answer does not count';
    return String(verdict);
  }

  private tellStatus({ id, replica, storage }: StoryNode): void {
    if (replica === null) return this.say(`${id} is down`);
    const { role, epoch, phase, lastSequence, storedSequence, committed, applied, peers } = replica.status(this.nowMs);
    const values = [...storage.machine.values].map(([key, value]) => `${key}=${value}`).join(' ') || 'nothing';
    const rank = phase === null ? role : `${phase} ${role}`;
    this.say(
      `${id}: ${rank} of epoch ${epoch}, log ${lastSequence}, stored ${storedSequence}, committed ${committed}, applied ${applied}: ${values}`,
    );
    for (const peer of peers)
      this.say(`  ${peer.node}: ${peer.inSync ? 'in sync' : 'not in sync'}, ${peer.state}, has ${peer.match}`);
  }

  private idOf({ id, storage }: StoryNode): ReplicaId {
    return { node: id, store: storage.store };
  }

  /** Says it unless it is what was said of this last; whether it was new. */
  private sayOnce(kind: string, line: string): boolean {
    const isNew = this.said.get(kind) !== line;
    if (isNew) this.say(line);
    this.said.set(kind, line);
    return isNew;
  }

  private say(line: string): void {
    const laterMs = Math.ceil(this.nowMs - this.startMs);
    this.lines.push(laterMs > 0 ? `+${laterMs} ${line}` : line);
  }
}

/** Runs and is reached. */
function isThere({ replica, isCut }: StoryNode): boolean {
  return replica !== null && !isCut;
}

/** Runs, and the cluster store knows of it. */
function isRegistered(node: StoryNode): boolean {
  return isThere(node) && !node.isDeaf;
}

/** A replica by its node; with its store where that is not the node's first. */
function label({ node, store }: ReplicaId): string {
  return store === `${node}.0` ? node : `${node}(${store})`;
}

/** An assignment in a line; beside another one only what differs. */
function toldAssignment(assignment: ShardAssignment, before?: ShardAssignment): string {
  const list = (names: string[]): string => names.join(' ') || 'none';
  const parts = (one: ShardAssignment): string[] => [
    `epoch ${one.epoch}`,
    `primary ${one.primary === null ? 'none' : label(one.primary)}`,
    `in sync ${list(one.inSync.map(label))}`,
    `eligible ${list(one.eligible.map(label))}`,
    `replicas ${list(one.replicas)}`,
    `adding ${list(one.adding)}`,
    `removing ${list(one.removing)}`,
    ...(one.unused === undefined ? [] : [one.unused ? 'unused' : 'in use']),
  ];
  const known = before === undefined ? ['eligible none', 'adding none', 'removing none'] : parts(before);
  return (
    parts(assignment)
      .filter((part) => !known.includes(part))
      .join(', ') || 'no change'
  );
}

function toldEntries(entries: readonly LogEntry[]): string {
  return entries
    .map(
      ({ epoch, sequence, write }) =>
        `${at({ epoch, sequence })} ${write === null ? 'barrier' : toldWrite(write.payload)}`,
    )
    .join(', ');
}

function toldWrite(payload: Buffer): string {
  const { key, value } = writtenBy(payload);
  return `${key}=${value}`;
}

function toldChange({
  promisedEpoch,
  lastLedEpoch,
  truncateAfter,
  entries,
}: Extract<ReplicaEffect, { type: 'append' }>): string {
  const parts = [
    lastLedEpoch === undefined
      ? promisedEpoch !== undefined && `promise epoch ${promisedEpoch}`
      : `promise and lead epoch ${lastLedEpoch}`,
    truncateAfter !== undefined && `drop what follows ${truncateAfter}`,
    entries !== undefined && toldEntries(entries),
  ];
  return parts.filter(Boolean).join(', ');
}

function toldAppend(
  { epoch, prev, commit, releasesLease, sharesSince, withdrawsShare, recorded }: OutgoingAppend,
  entries: readonly LogEntry[],
): string {
  const parts = [
    `${entries.length === 0 ? 'heartbeat' : toldEntries(entries)} after ${at(prev)}`,
    `commit ${commit}`,
    recorded.length > 0 && `recorded ${recorded.map(({ replica, match }) => `${label(replica)}:${match}`).join(' ')}`,
    releasesLease && 'the lease is over',
    sharesSince > 0 && 'share the lease',
    withdrawsShare && 'give up your share',
  ];
  return `[epoch ${epoch}] ${parts.filter(Boolean).join(', ')}`;
}

function toldResult(result: AppendResult): string {
  if (result.type === 'fenced') return `fenced, epoch ${result.promisedEpoch} was promised`;
  if (result.type === 'mismatch') return `lacks the entry at ${result.prev}, at most ${at(result.hint)} is common`;
  return result.match === result.agreed ? `has ${result.match}` : `has ${result.match} of ${result.agreed}`;
}

function at({ epoch, sequence }: LogPosition): string {
  return `${sequence}@${epoch}`;
}
