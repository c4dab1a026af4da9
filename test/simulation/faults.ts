import { ETCD } from './simulated-etcd';
import { isComplete } from '../../shared/cluster-store/entries/shard-assignment';
import type { SimulatedController } from './simulated-controller';
import type { NodeDependencies, SimulatedNode } from './simulated-node';

/** Which faults a run has and how strong: each run draws some of them, so that all combinations come up. */
export interface FaultMix {
  loss: number;
  duplicates: number;
  longDelays: number;
  ordered: boolean;
  staleReads: number;
  partitions: boolean;
  oneWay: boolean;
  crashes: boolean;
  wipes: boolean;
  pauses: boolean;
  leases: boolean;
  outages: boolean;
  zombies: boolean;
  moves: boolean;
  handovers: boolean;
  trims: boolean;
  slowDisks: boolean;
  /** Probability that the answer to a change of the assignment is lost. */
  lostAnswers: number;
  /** See SimulatedController.lateDecisions. */
  lateDecisions: number;
  /** See SimulatedEtcd.lateCopies. */
  lateCopies: number;
  /** A replica that has just joined the in-sync set is cut off from its primary, and soon all but it seem dead. */
  unluckyJoins: boolean;
  /** The primary's machine sleeps for so long that it is replaced, and hears of that only a while after it woke up. */
  sleeps: boolean;
  /** A disk does nothing for a while, and no error comes of it. */
  hangs: boolean;
  /** The primary reaches the cluster store and clients, and none of the other replicas. */
  desertions: boolean;
  /** The primary and another replica are cut off from everybody but clients, and soon seem dead. */
  splits: boolean;
  /**
   * The primary hands over, and the controller replaces it by the same successor, without a third replica, before it
   * can.
   */
  lostHandovers: boolean;
  /** Some nodes apply their log slowly. */
  slowApplies: boolean;
  /** Again and again, clients write nothing for a while: shards are quiet. */
  lulls: boolean;
  /** The disk of a replica is put back to before the shard, and its primary ends at the same time. */
  putBacks: boolean;
  /**
   * The disk of a replica that is not complete is put back: to before the shard, or to an earlier moment of its epoch.
   */
  relapses: boolean;
}

export type Strike =
  | 'partitions'
  | 'crashes'
  | 'pauses'
  | 'leases'
  | 'outages'
  | 'zombies'
  | 'moves'
  | 'handovers'
  | 'trims'
  | 'sleeps'
  | 'hangs'
  | 'desertions'
  | 'splits'
  | 'lostHandovers'
  | 'putBacks'
  | 'relapses';

/** Partitions and crashes are the usual faults. */
const STRIKES: readonly Strike[] = [
  'partitions',
  'partitions',
  'crashes',
  'crashes',
  'pauses',
  'leases',
  'outages',
  'zombies',
  'moves',
  'handovers',
  'trims',
  'trims',
];
export const ALL_STRIKES: readonly Strike[] = [...STRIKES, 'sleeps', 'hangs', 'desertions', 'splits', 'lostHandovers'];
/** Those of one shard alone. */
export const STRIKES_OF_ONE: readonly Strike[] = [...ALL_STRIKES, 'relapses', 'relapses'];
/** Those of a shard that is unused at first. */
export const STRIKES_OF_UNUSED: readonly Strike[] = [...STRIKES_OF_ONE, 'putBacks', 'putBacks'];
/** Longer than it takes to be replaced for it, and well within the time in which all heals. */
const HANG_MS = 6000;
/** A disk is not put back within the time of a lease, nor of any that is counted on, whatever the clocks. */
const PUT_BACK_MS = 2000;

export function drawFaults(chance: NodeDependencies['chance']): FaultMix {
  return {
    loss: chance.happens(0.6) ? chance.unit() * 0.25 : 0,
    duplicates: chance.happens(0.5) ? chance.unit() * 0.3 : 0,
    longDelays: chance.happens(0.5) ? chance.unit() * 0.08 : 0,
    ordered: chance.happens(0.4),
    staleReads: chance.happens(0.4) ? chance.unit() * 0.3 : 0,
    partitions: chance.happens(0.8),
    oneWay: chance.happens(0.5),
    crashes: chance.happens(0.8),
    wipes: chance.happens(0.3),
    pauses: chance.happens(0.7),
    leases: chance.happens(0.4),
    outages: chance.happens(0.3),
    zombies: chance.happens(0.6),
    moves: chance.happens(0.3),
    handovers: chance.happens(0.4),
    trims: chance.happens(0.4),
    slowDisks: chance.happens(0.3),
    lostAnswers: chance.happens(0.4) ? chance.unit() * 0.4 : 0,
    lateDecisions: chance.happens(0.4) ? chance.unit() * 0.5 : 0,
    lateCopies: chance.happens(0.2) ? chance.unit() * 0.5 : 0,
    unluckyJoins: chance.happens(0.3),
    sleeps: false,
    hangs: false,
    desertions: false,
    splits: false,
    lostHandovers: false,
    slowApplies: false,
    lulls: false,
    putBacks: false,
    relapses: false,
  };
}

/** Faults that the broken variants do without, unless they name them: so their seeds stay what they were. */
export function drawMoreFaults(chance: NodeDependencies['chance']): Partial<FaultMix> {
  return {
    sleeps: chance.happens(0.5),
    hangs: chance.happens(0.3),
    desertions: chance.happens(0.3),
    splits: chance.happens(0.3),
    lostHandovers: chance.happens(0.3),
    slowApplies: chance.happens(0.3),
    lulls: chance.happens(0.4),
  };
}

/** Long enough to be quiet, and ends at another moment of the other faults each time. */
const LULL_MS = 1700;
const LULL_EVERY_MS = 2900;
/** So much longer where shards become dormant: for most of the pause between two heartbeats of such a shard. */
const DORMANT_LULL_MS = 4500;

/**
 * The first primary of a shard ends this soon at most, when it does: most of the others have not opened the shard by
 * then.
 */
const EARLY_DEATH_MS = 300;

/**
 * What happens to a shard that is unused at first, while it is made: most often its first primary ends, before or after
 * the others have opened it. Not one that is made before `peaceUntil`.
 */
export function troubleBeginning({ etcd, chance, schedule, nodes, counts }: NodeDependencies, peaceUntil = 0): void {
  etcd.onUsed = () => counts.uses++;
  etcd.onMade = ({ primary }) => {
    const node = nodes.get(primary!.node)!;
    if (schedule.now < peaceUntil || !chance.happens(0.6)) return;
    schedule.after(chance.unit() * EARLY_DEATH_MS, () => {
      if (!node.up) return;
      counts.earlyDeaths++;
      node.crash();
      etcd.endSession(node.id);
      schedule.after(500 + chance.around(2000), () => {
        if (!node.up) node.start();
      });
    });
  };
}

/** At most one store is lost within this time: more at once is beyond what the protocol promises. */
const WIPE_INTERVAL_MS = 9000;

/** Brings faults upon a run until its end. */
export class Faults {
  private wipedAt = -Infinity;
  private readonly mix: FaultMix;
  private readonly around: NodeDependencies;
  private readonly controllers: SimulatedController[];
  private readonly bystanders: string[];
  private readonly strikes: readonly Strike[];
  private readonly everyMs: number;
  private until: number;

  constructor(options: {
    mix: FaultMix;
    around: NodeDependencies;
    controllers: SimulatedController[];
    bystanders: string[];
    strikes?: readonly Strike[];
    everyMs?: number;
    until: number;
  }) {
    this.mix = options.mix;
    this.around = options.around;
    this.controllers = options.controllers;
    this.bystanders = options.bystanders;
    this.strikes = options.strikes ?? STRIKES;
    this.everyMs = options.everyMs ?? 450;
    this.until = options.until;
  }

  begin(): void {
    const { network, etcd, chance, nodes } = this.around;
    const { mix } = this;
    network.loss = mix.loss;
    network.duplicates = mix.duplicates;
    network.longDelays = mix.longDelays;
    etcd.staleReads = mix.staleReads;
    etcd.lostAnswers = mix.lostAnswers;
    etcd.lateCopies = mix.lateCopies;
    for (const controller of this.controllers) controller.lateDecisions = mix.lateDecisions;
    etcd.onLateCopy = (nodes) => this.cutFromPrimary(nodes);
    etcd.onJoined = (node) => this.joined(node);
    if (mix.slowApplies) for (const node of nodes.values()) node.applyMs = chance.pick([0.5, 5, 30]);
    if (mix.slowDisks) for (const node of nodes.values()) node.syncMs = chance.pick([1, 5, 30]);
    if (mix.lulls) this.lull();
    this.strike();
  }

  /** No new ones happen. */
  end(): void {
    this.until = -1;
  }

  /** Ends all faults. */
  heal(): void {
    this.around.network.heal();
    this.around.etcd.staleReads = 0;
    this.around.etcd.lostAnswers = 0;
    this.around.etcd.lateCopies = 0;
    for (const controller of this.controllers) {
      controller.lateDecisions = 0;
      controller.draining.clear();
    }
    for (const node of this.around.nodes.values()) {
      node.syncMs = 1;
      node.applyMs = 0.5;
      if (node.paused) node.resume();
      if (!node.up) node.start();
    }
  }

  private lull(): void {
    const { schedule, counts } = this.around;
    if (schedule.now > this.until) return;
    const longerMs = (this.around.unread?.dormantAfterMs ?? Infinity) < Infinity ? DORMANT_LULL_MS : 0;
    this.around.lullUntil = schedule.now + LULL_MS + longerMs;
    counts.lulls++;
    schedule.after(LULL_EVERY_MS + longerMs, () => this.lull());
  }

  private strike(): void {
    const { schedule, chance } = this.around;
    if (schedule.now > this.until) return;
    const strike = chance.pick(this.strikes);
    if (this.mix[strike]) this[strike](this.pickNode(), 200 + chance.around(2000));
    schedule.after(chance.around(this.everyMs) + 30, () => this.strike());
  }

  /** Mostly one that holds the shard. */
  private pickNode(): SimulatedNode {
    const { nodes, etcd, chance } = this.around;
    const { replicas } = etcd.current.assignment;
    return nodes.get(chance.pick([...replicas, ...replicas, ...nodes.keys()]))!;
  }

  private everyone(): string[] {
    return [...this.around.nodes.keys(), ...this.bystanders];
  }

  private partitions(node: SimulatedNode, duration: number): void {
    const { chance } = this.around;
    const all = [...this.everyone(), ETCD];
    const side = new Set([chance.happens(0.6) ? node.id : chance.pick(all)]);
    if (chance.happens(0.3)) side.add(chance.pick(all));
    const oneWay = this.mix.oneWay && chance.happens(0.5);
    const links: string[] = [];
    for (const one of side) {
      for (const other of all) {
        if (side.has(other) || chance.happens(0.15)) continue;
        if (!oneWay || chance.happens(0.5)) links.push(`${one}>${other}`);
        if (!oneWay || chance.happens(0.5)) links.push(`${other}>${one}`);
      }
    }
    this.block(links, duration);
  }

  private block(links: string[], duration: number): void {
    const { blocked } = this.around.network;
    for (const link of links) blocked.add(link);
    this.around.schedule.after(duration, () => {
      for (const link of links) blocked.delete(link);
    });
  }

  private crashes(node: SimulatedNode, duration: number): void {
    const { schedule, chance, counts, etcd } = this.around;
    if (!node.up) return;
    const wipes = this.mix.wipes && chance.happens(0.4) && this.mayLose(node);
    node.crash();
    counts.crashes++;
    if (wipes) {
      this.wipedAt = schedule.now;
      node.storage.wipe();
      // A disk is not replaced within the time of a lease.
      etcd.endSession(node.id);
      counts.wipes++;
    }
    schedule.after(chance.happens(0.4) ? 50 + chance.unit() * 300 : duration, () => {
      if (!node.up) node.start();
    });
  }

  /**
   * The process of the primary ends, and the folder of the shard is gone when it is back: then it is another store,
   * unless the shard may have begun with something (node/hosting/replicas/replica-opening.ts). False: another replica
   * would not have all of it.
   */
  loseFolder(): boolean {
    const { schedule, etcd, counts } = this.around;
    const node = this.primary();
    if (node === null || !this.mayLose(node)) return false;
    node.crash();
    counts.crashes++;
    this.wipedAt = schedule.now;
    if (etcd.current.assignment.spec.seed === undefined) {
      node.storage.wipe();
      etcd.endSession(node.id);
    } else node.storage.remove();
    schedule.after(50, () => {
      if (!node.up) node.start();
    });
    return true;
  }

  /**
   * Only once something was written: before, what a disk that is put back lacks is worth nothing, but the oracle knows
   * of barriers. The primary ends, too, because what it knows of a store holds for its epoch.
   */
  private putBacks(_node: SimulatedNode, duration: number): void {
    const { chance, counts, etcd, nodes, oracle, schedule } = this.around;
    const primary = this.primary();
    const followers = etcd.current.assignment.inSync.filter(
      ({ node, store }) => node !== primary?.id && nodes.get(node)!.up && nodes.get(node)!.storage.store === store,
    );
    if (primary === null || followers.length === 0 || !oracle.committed.some(({ write }) => write !== null)) return;
    const node = nodes.get(chance.pick(followers).node)!;
    if (!this.mayLose(node)) return;
    this.wipedAt = schedule.now;
    counts.putBacks++;
    counts.crashes += 2;
    node.putBack();
    primary.crash();
    for (const one of [node, primary]) {
      // A disk is not put back within the time of a lease.
      etcd.endSession(one.id);
      schedule.after(one === node ? 50 + chance.unit() * 300 : 1500 + duration, () => {
        if (!one.up) one.start();
      });
    }
  }

  /**
   * A replica ends, and is out of sync by the time its disk has been put back. What it says then is less than what its
   * primary knows of it, whose epoch goes on.
   */
  private relapses(node: SimulatedNode, duration: number): void {
    const { chance, counts, etcd, schedule } = this.around;
    if (!node.up || node.paused || node.replica === null || node === this.primary()) return;
    const before = node.storage.keep();
    schedule.after(chance.unit() * 1500, () => {
      if (!node.up || schedule.now > this.until) return;
      node.crash();
      counts.crashes++;
      schedule.after(PUT_BACK_MS + duration, () => {
        if (node.up) return;
        const { assignment } = etcd.current;
        const { storage } = node;
        if (
          assignment.replicas.includes(node.id) &&
          !isComplete(assignment, node.id) &&
          storage.disk.entries.length > 0
        ) {
          const isSameEpoch =
            before.store === storage.store && before.promisedEpoch === assignment.epoch && before.entries.length > 0;
          if (isSameEpoch && chance.happens(0.6)) {
            counts.relapsesToEarlier++;
            storage.putBack(before);
          } else {
            counts.relapses++;
            node.putBack();
          }
        }
        node.start();
      });
    });
  }

  /** Whether another complete replica is left when this node's store is lost. */
  private mayLose(node: SimulatedNode): boolean {
    const { etcd, nodes, schedule } = this.around;
    const { inSync, eligible, minInSync } = etcd.current.assignment;
    const complete = [...inSync, ...eligible].filter(
      (member) => member.node !== node.id && nodes.get(member.node)!.storage.store === member.store,
    );
    return complete.length >= 1 && inSync.length >= minInSync && schedule.now - this.wipedAt > WIPE_INTERVAL_MS;
  }

  private pauses(node: SimulatedNode, duration: number): void {
    if (!node.up || node.paused) return;
    node.pause();
    this.around.schedule.after(duration, () => node.resume());
  }

  private leases(node: SimulatedNode): void {
    if (this.around.chance.happens(0.5)) this.around.etcd.registered.delete(node.id);
    else this.around.etcd.registered.clear();
  }

  private outages(_node: SimulatedNode, duration: number): void {
    this.block(
      this.everyone().flatMap((name) => [`${name}>${ETCD}`, `${ETCD}>${name}`]),
      duration * 2,
    );
  }

  private moves(node: SimulatedNode, duration: number): void {
    this.around.counts.drains++;
    for (const { draining } of this.controllers) draining.add(node.id);
    this.around.schedule.after(duration + 1000, () => {
      for (const { draining } of this.controllers) draining.delete(node.id);
    });
  }

  /** The primary is taken for dead while it stands still or is cut off from all but clients. */
  private zombies(): void {
    const { chance, etcd } = this.around;
    const primary = this.primary();
    if (primary === null) return;
    etcd.registered.delete(primary.id);
    const duration = 500 + chance.around(2000);
    if (chance.happens(0.35)) return this.pauses(primary, duration);
    const others = [...this.around.nodes.keys(), ETCD].filter((name) => name !== primary.id);
    this.block(
      others.flatMap((name) => [`${primary.id}>${name}`, `${name}>${primary.id}`]),
      duration,
    );
  }

  /** The primary by etcd's word, if its process runs. */
  private primary(): SimulatedNode | null {
    const { primary } = this.around.etcd.current.assignment;
    const node = primary === null ? undefined : this.around.nodes.get(primary.node);
    return node !== undefined && node.up && !node.paused ? node : null;
  }

  /** A replica joined the in-sync set a moment ago. */
  private joined(replica: string): void {
    const { chance, schedule, nodes, etcd } = this.around;
    const primary = this.primary();
    if (!this.mix.unluckyJoins || schedule.now > this.until || primary === null || chance.happens(0.5)) return;
    this.block([`${primary.id}>${replica}`, `${ETCD}>${primary.id}`], 1500);
    schedule.after(100 + chance.unit() * 400, () => {
      if (schedule.now > this.until) return;
      for (const node of nodes.keys()) if (node !== replica) etcd.registered.delete(node);
      if (chance.happens(0.5)) this.pauses(primary, 1000 + chance.around(1500));
      else
        this.block(
          [...nodes.keys(), ETCD].flatMap((name) =>
            name === primary.id ? [] : [`${primary.id}>${name}`, `${name}>${primary.id}`],
          ),
          2000,
        );
    });
  }

  private sleeps(): void {
    const { chance, etcd, schedule } = this.around;
    const primary = this.primary();
    if (primary === null) return;
    etcd.registered.delete(primary.id);
    const duration = 1500 + chance.around(1000);
    primary.sleep();
    schedule.after(duration, () => primary.resume());
    this.block(this.linksOf(primary.id, [...this.around.nodes.keys(), ETCD]), duration + 1000);
  }

  private hangs(node: SimulatedNode): void {
    const { chance, counts } = this.around;
    counts.hangs++;
    (chance.happens(0.5) ? (this.primary() ?? node) : node).hangDisk(chance.unit() * HANG_MS);
  }

  private desertions(): void {
    const primary = this.primary();
    if (primary === null) return;
    this.around.counts.desertions++;
    this.block(this.linksOf(primary.id, [...this.around.nodes.keys()]), this.around.chance.unit() * 2 * HANG_MS);
  }

  private splits(node: SimulatedNode, duration: number): void {
    const primary = this.primary();
    if (primary === null || node === primary) return;
    const { counts, etcd, nodes } = this.around;
    counts.splits++;
    const side = [primary.id, node.id];
    const others = [...nodes.keys(), ETCD].filter((name) => !side.includes(name));
    for (const id of side) etcd.registered.delete(id);
    const links = side.flatMap((id) => this.linksOf(id, others));
    this.block(links, duration + 1000);
  }

  private lostHandovers(node: SimulatedNode, duration: number): void {
    const { chance, counts, etcd, nodes } = this.around;
    const primary = this.primary();
    const successors = etcd.current.assignment.inSync.filter(
      (member) => member.node !== node.id && member.node !== primary?.id,
    );
    if (primary === null || node === primary || successors.length === 0) return;
    counts.lostHandovers++;
    const others = [...nodes.keys()].filter((id) => id !== primary.id);
    for (const id of [primary.id, node.id]) etcd.registered.delete(id);
    this.block([...this.linksOf(primary.id, [ETCD]), ...this.linksOf(node.id, [...others, ETCD])], duration + 1000);
    primary.step({ type: 'handover', to: chance.pick(successors).node });
  }

  /** Both ways between one and all others of these. */
  private linksOf(name: string, all: string[]): string[] {
    return all.flatMap((other) => (other === name ? [] : [`${name}>${other}`, `${other}>${name}`]));
  }

  private cutFromPrimary(nodes: string[]): void {
    const primary = this.primary();
    if (primary !== null)
      this.block(
        nodes.flatMap((node) => [`${primary.id}>${node}`, `${node}>${primary.id}`]),
        2000,
      );
  }

  private handovers(): void {
    const { etcd, chance, schedule, counts } = this.around;
    const { replicas } = etcd.current.assignment;
    const node = this.primary();
    if (node === null) return;
    counts.handovers++;
    node.step({ type: 'handover', to: chance.happens(0.5) ? null : chance.pick(replicas) });
    schedule.after(1000 + chance.unit() * 1000, () => node.receive(() => node.step({ type: 'cancelHandover' })));
  }

  private trims(node: SimulatedNode): void {
    if (!node.up || node.paused || node.replica === null) return;
    const { chance } = this.around;
    const below = chance.happens(0.5) ? node.replica.trimmableBelow() : node.replica.applied + 1;
    const firstSequence = node.storage.trim(below);
    node.step({ type: 'trimmed', firstSequence, precedingEpoch: node.storage.entries[firstSequence - 2]?.epoch ?? 0 });
  }
}
