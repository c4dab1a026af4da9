import type { ReplicaId, ShardAssignment } from '../../shared/cluster-store/entries/shard-assignment';
import type { Chance } from './chance';
import type { Network } from './network';
import type { Schedule } from './schedule';

export const ETCD = 'etcd';

export interface Versioned {
  assignment: ShardAssignment;
  revision: number;
}

export interface Change {
  assignment: ShardAssignment;
  expectedRevision: number;
  requires: ReplicaId[];
}

export interface ChangeAnswer extends Versioned {
  applied: boolean;
}

/** Leases last this long, in simulated milliseconds. */
const REGISTRATION_MS = 2000;

/**
 * The cluster store: linearizable changes of one shard's assignment and node entries under leases. Answers get lost,
 * plain reads may be stale (etcd #20418), and leases may end early (etcd #15247).
 */
export class SimulatedEtcd {
  current: Versioned;
  /** Store and time of the last keep-alive, by node. */
  readonly registered = new Map<string, { store: string; at: number }>();
  staleReads = 0;
  /** Probability that a change's answer is lost. */
  lostAnswers = 0;
  /**
   * Probability that a change is refused, as if a node entry that it requires were missing, while a copy of it is under
   * way.
   */
  lateCopies = 0;
  /** Told of the nodes that such a change requires. */
  onLateCopy: (nodes: string[]) => void = () => {};
  /** Told of every change that is made, and by whom. */
  onChanged: (author: string, before: ShardAssignment, after: ShardAssignment) => void = () => {};
  /** Told when the shard gets its first primary. */
  onMade: (made: ShardAssignment) => void = () => {};
  /** Told when it is unused no more. */
  onUsed: () => void = () => {};
  /** Told of every node that a change takes into the in-sync set. */
  onJoined: (node: string) => void = () => {};
  /** By node: how many of its sessions have ended. */
  private readonly ended = new Map<string, number>();
  private readonly history: Versioned[];
  private readonly watchers: { name: string; see: (current: Versioned) => void }[] = [];
  private readonly schedule: Schedule;
  private readonly chance: Chance;
  private readonly network: Network;

  constructor(options: { schedule: Schedule; chance: Chance; network: Network; assignment: ShardAssignment }) {
    this.schedule = options.schedule;
    this.chance = options.chance;
    this.network = options.network;
    this.current = { assignment: options.assignment, revision: 1 };
    this.history = [this.current];
  }

  register(node: string, store: string): void {
    const session = this.ended.get(node);
    this.network.send(node, ETCD, () => {
      if (this.ended.get(node) === session) this.registered.set(node, { store, at: this.schedule.now });
    });
  }

  /** The node's lease is gone, and no delayed message brings it back. */
  endSession(node: string): void {
    this.registered.delete(node);
    this.ended.set(node, (this.ended.get(node) ?? 0) + 1);
  }

  watch(name: string, see: (current: Versioned) => void): void {
    this.watchers.push({ name, see });
  }

  read(from: string, see: (current: Versioned, members: Map<string, string>) => void): void {
    this.network.send(from, ETCD, () => {
      const current = this.chance.happens(this.staleReads) ? this.chance.pick(this.history.slice(-4)) : this.current;
      const members = this.members();
      this.network.send(ETCD, from, () => see(current, members));
    });
  }

  change(from: string, change: Change, see: (answer: ChangeAnswer) => void): void {
    this.network.send(from, ETCD, () => {
      const answer = this.isDelayed(from, change)
        ? { applied: false, ...this.current }
        : this.compareAndSwap(from, change);
      if (this.chance.happens(this.lostAnswers)) return;
      this.network.send(ETCD, from, () => see(answer));
    });
  }

  /** A change at once, by whoever has reached it already. */
  put(from: string, change: Change): ChangeAnswer {
    return this.compareAndSwap(from, change);
  }

  private isDelayed(from: string, change: Change): boolean {
    if (change.requires.length === 0 || !this.chance.happens(this.lateCopies)) return false;
    this.schedule.after(200 + this.chance.unit() * 1500, () => this.compareAndSwap(from, change));
    this.onLateCopy(change.requires.map((replica) => replica.node));
    return true;
  }

  private compareAndSwap(from: string, change: Change): ChangeAnswer {
    const members = this.members();
    const holds =
      change.expectedRevision === this.current.revision &&
      change.requires.every((one) => members.get(one.node) === one.store);
    if (!holds) return { applied: false, ...this.current };
    const before = this.current.assignment;
    this.current = { assignment: change.assignment, revision: this.current.revision + 1 };
    this.history.push(this.current);
    this.onChanged(from, before, change.assignment);
    if (before.epoch === 0 && change.assignment.epoch > 0) this.onMade(change.assignment);
    if (before.unused === true && change.assignment.unused === false) this.onUsed();
    const seen = this.current;
    for (const watcher of this.watchers) this.network.send(ETCD, watcher.name, () => watcher.see(seen));
    if (before.epoch === change.assignment.epoch) {
      for (const { node } of change.assignment.inSync)
        if (!before.inSync.some((member) => member.node === node)) this.onJoined(node);
    }
    return { applied: true, ...this.current };
  }

  private members(): Map<string, string> {
    const members = new Map<string, string>();
    for (const [node, entry] of this.registered)
      if (this.schedule.now - entry.at <= REGISTRATION_MS) members.set(node, entry.store);
    return members;
  }
}
