import { Chance } from './chance';
import {
  drawFaults,
  drawMoreFaults,
  Faults,
  type FaultMix,
  STRIKES_OF_ONE,
  STRIKES_OF_UNUSED,
  troubleBeginning,
} from './faults';
import type { Mutant } from './mutants';
import { Network } from './network';
import { Oracle } from './oracle';
import { Schedule } from './schedule';
import { SimulatedClient } from './simulated-client';
import { SimulatedController } from './simulated-controller';
import { SimulatedEtcd } from './simulated-etcd';
import { SimulatedNode, type NodeDependencies } from './simulated-node';
import { Registers } from './simulated-storage';
import { Violation } from './violation';

export interface SimulationOptions {
  seed: number;
  minInSync: number;
  mutant?: Mutant;
  /** Nodes run, one after the other, a program that does not know what primaries write. Draws nothing from chance. */
  outdates?: boolean;
  /** Reads come to other threads of the nodes, which answer them by permits. */
  threads?: boolean;
  /** See NodeDependencies. */
  makeReplica?: NodeDependencies['makeReplica'];
}

const NODES = ['A', 'B', 'C', 'D'];
const CLIENTS = ['c1', 'c2', 'c3', 'c4'];
const CONTROLLERS = ['k1', 'k2'];
/** How often what happened: in a run of many schedules, each has to, or the run proves nothing of it. */
export const HAPPENS = [
  ...[
    'writes',
    'reads',
    'commits',
    'followerReads',
    'followerReadsLate',
    'changes',
    'beats',
    'unreadBeats',
    'dormantBeats',
    'dormantReads',
    'beatAcks',
    'snapshots',
    'lateReads',
    'lateReadsGivenUp',
  ],
  ...[
    'crashes',
    'wipes',
    'sleeps',
    'slowClocks',
    'hangs',
    'desertions',
    'splits',
    'lulls',
    'promotions',
    'handovers',
    'lostHandovers',
  ],
  ...[
    'drains',
    'removals',
    'move',
    'finish-move',
    'abort-move',
    'uses',
    'earlyDeaths',
    'putBacks',
    'renewals',
    'relapses',
    'relapsesToEarlier',
  ],
];
/** Counted besides: they need a minimum of two in sync, programs of two versions, or threads that read. */
const SELDOM = ['fromEligible', 'lossy', 'outdated', 'threadReads', 'threadReadsAtFollowers', 'threadReadsPassedOn'];
/** Long enough after the faults for every time-out, lease and grace time to run out, and a move to end. */
const HEALING_MS = 12_000;
/** Longer than a primary waits for a follower that stores nothing. */
const OUTDATED_MS = 1700;
/** Apart from every seed of a run. */
const MORE_FAULTS = 1e9;
const WALL_CLOCKS = 2e9;
const BEGINNINGS = 3e9;
const RELAPSES = 4e9;
const UNREAD = 5e9;
const LATE_READS = 6e9;
/** Of the schedules. */
const RELAPSES_SHARE = 0.6;
/** Of the schedules: those in which a shard is soon unread. */
const UNREAD_SHARE = 0.6;
/** Of the schedules: those in which primaries read their log from a disk that is slow. */
const LATE_READS_SHARE = 0.3;
/** Of the schedules: those whose shard is made as the planner makes it, and not at peace. */
const UNUSED_SHARE = 0.5;

/**
 * One shard of one to three replicas on four nodes through one random schedule of faults, then healed. Throws a
 * Violation when anything promised is broken. The same options give the same run. Answers how often what happened.
 */
export function simulate(options: SimulationOptions): Record<string, number> {
  const chance = new Chance(options.seed);
  const mix: FaultMix = {
    ...drawFaults(chance),
    ...(options.mutant === undefined ? drawMoreFaults(new Chance(options.seed + MORE_FAULTS)) : options.mutant.faults),
  };
  const isUnused =
    options.mutant?.isUnused ??
    (options.mutant === undefined &&
      options.outdates !== true &&
      new Chance(options.seed + BEGINNINGS).happens(UNUSED_SHARE));
  if (isUnused) mix.putBacks = true;
  if (options.mutant === undefined) mix.relapses = new Chance(options.seed + RELAPSES).happens(RELAPSES_SHARE);
  const schedule = new Schedule();
  const network = new Network({ schedule, chance });
  network.ordered = mix.ordered;
  const replicas = NODES.slice(
    0,
    options.mutant === undefined ? drawReplicas(chance, options.minInSync) : Math.max(options.minInSync, 3),
  );
  const etcd = new SimulatedEtcd({
    schedule,
    chance,
    network,
    assignment: { ...firstAssignment(replicas, options.minInSync), ...(isUnused && { unused: true }) },
  });
  const lateReads = new Chance(options.seed + LATE_READS);
  const isLate = options.mutant === undefined && lateReads.happens(LATE_READS_SHARE);
  const counts = Object.fromEntries([...HAPPENS, ...SELDOM].map((name) => [name, 0]));
  const nodes = new Map<string, SimulatedNode<Registers>>();
  const around: NodeDependencies<Registers> = {
    machine: () => new Registers(),
    schedule,
    chance,
    network,
    etcd,
    oracle: new Oracle(),
    nodes,
    counts,
    mutant: options.mutant ?? null,
    wallClocks: new Chance(options.seed + WALL_CLOCKS),
    threads: options.threads ?? options.mutant?.threads,
    unread: options.mutant === undefined ? drawUnread(new Chance(options.seed + UNREAD)) : options.mutant.unread,
    lateReads: isLate ? lateReads : undefined,
    makeReplica: options.makeReplica,
  };
  // Nobody writes for long enough, or it never came to that.
  if (around.unread !== undefined && around.unread.dormantAfterMs < Infinity) mix.lulls = true;
  etcd.onChanged = (author, before, after) => {
    if (CONTROLLERS.includes(author) && before.epoch > 0) around.oracle.planned(before, after);
  };
  if (isUnused) troubleBeginning(around);
  for (const id of NODES) nodes.set(id, new SimulatedNode(id, around));
  for (const node of nodes.values()) node.start();
  const controllers = CONTROLLERS.map((name) => new SimulatedController(name, replicas.length, around));
  const end = 10_000 + chance.below(10_000);
  const faults = new Faults({
    mix,
    around,
    controllers,
    bystanders: [...CLIENTS, ...CONTROLLERS],
    strikes: options.mutant === undefined ? (isUnused ? STRIKES_OF_UNUSED : STRIKES_OF_ONE) : options.mutant.strikes,
    everyMs: options.mutant?.strikeEveryMs,
    until: end,
  });
  let values = 0;
  const clientOptions = { around, nextValue: () => ++values };
  for (const name of CLIENTS) {
    const client = new SimulatedClient({ name, until: end, ...clientOptions });
    schedule.after(800 + chance.unit() * 200, () => client.run());
  }
  schedule.after(2500, () => faults.begin());
  if (options.outdates === true || options.mutant?.outdates === true) outdateInTurn(around, end);
  schedule.runUntil(end);

  faults.heal();
  schedule.runUntil(end + HEALING_MS);
  const late = new SimulatedClient({ name: CLIENTS[0] + "'", until: schedule.now + 2000, ...clientOptions });
  late.run();
  // Longer than a read that stalls twice.
  schedule.runUntil(schedule.now + 5000);
  if (late.acknowledged === 0)
    throw new Violation(`liveness: nothing is served after healing; ${JSON.stringify(etcd.current.assignment)}`);
  checkHealed(around);
  around.oracle.checkHistory();
  counts.commits = around.oracle.committed.length;
  return counts;
}

/** Every node is outdated for a while, and up to date again when the next one's turn comes. */
function outdateInTurn({ schedule, nodes }: NodeDependencies, until: number): void {
  const inTurn = [...nodes.values()];
  let turn = 0;
  const next = (): void => {
    inTurn[turn++ % inTurn.length].update();
    if (schedule.now > until) return;
    inTurn[turn % inTurn.length].isOutdated = true;
    schedule.after(OUTDATED_MS, next);
  };
  schedule.after(3000, next);
}

function drawReplicas(chance: Chance, minInSync: number): number {
  return minInSync >= 2 ? chance.pick([3, 3, 3, 2]) : chance.pick([2, 2, 3, 1]);
}

/**
 * From shards that are unread, or dormant, whenever they are quiet to those that come and go. Reads are told as seldom
 * as nodes tell of them, or not.
 */
function drawUnread(chance: Chance): NodeDependencies['unread'] {
  if (!chance.happens(UNREAD_SHARE)) return undefined;
  const [afterMs, reportedEveryMs] = [chance.pick([0, 300, 1200, 2500]), chance.pick([0, 200, 1000, Infinity])];
  return { afterMs, reportedEveryMs, dormantAfterMs: chance.pick([0, 0, 1500, Infinity]) };
}

function firstAssignment(replicas: string[], minInSync: number): SimulatedEtcd['current']['assignment'] {
  return {
    spec: { collectionUid: 'c', shard: 0, dim: 1, metric: 'cosine' },
    minInSync,
    epoch: 0,
    primary: null,
    inSync: [],
    eligible: [],
    replicas,
    adding: [],
    removing: [],
    changeId: '',
  };
}

/**
 * Once healed, a primary serves, everyone is in sync, moves have ended, and all have the same log and know it
 * committed.
 */
function checkHealed({ etcd, nodes, oracle }: NodeDependencies): void {
  const { assignment } = etcd.current;
  const primary = assignment.primary === null ? undefined : nodes.get(assignment.primary.node);
  const status = primary?.replica?.status(primary.clock());
  if (
    status?.phase !== 'serving' ||
    assignment.inSync.length < assignment.replicas.length ||
    assignment.adding.length + assignment.removing.length > 0
  ) {
    throw new Violation(`liveness: not healed; ${JSON.stringify(assignment)} ${JSON.stringify(status)}`);
  }
  for (const member of assignment.inSync) {
    const { storage } = nodes.get(member.node)!;
    for (let at = 0; at < oracle.committed.length; at++) {
      if (storage.entries[at]?.write?.payload !== oracle.committed[at].write?.payload)
        throw new Violation(`log mismatch: ${member.node} at ${at + 1}`);
    }
    if (storage.applied < oracle.committed.length)
      throw new Violation(`${member.node} has applied ${storage.applied} of ${oracle.committed.length}`);
  }
}
