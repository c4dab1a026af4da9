import { KeyValueClusterStore } from '../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../node/kv/memory-key-value-store';
import { CONTROLLER_PATH } from '../../../shared/cluster/members';
import type { ShardId } from '../../../shared/shard/shard-client';
import { checkHistory } from '../../fault/history/check-history';
import { History } from '../../fault/history/history';
import { Chance } from '../chance';
import { Network } from '../network';
import { Schedule } from '../schedule';
import { Violation } from '../violation';
import type { ReshardMutant } from './reshard-mutants';
import { ReshardingClient } from './resharding-client';
import { type ShardGround, ShardCell } from './shard-cell';
import { SimulatedCoordinator } from './simulated-coordinator';
import { SimulatedProcess } from './simulated-process';
import { SimulatedShardClient, type Shards } from './simulated-shard-client';
import { SimulatedStoreClient } from './simulated-store';
import { VirtualTime } from './virtual-time';

const NODES = ['A', 'B', 'C'];
const COORDINATORS = 2;
const CLIENTS = 3;
const FIRST_SHARDS = 2;
const SHARDS_MAX = 3;
const READY_MS = 10_000;
const FAULTS_MS = 20_000;
/** Attempts of a driver may be half a minute apart, and there may be several after another in vain. */
const HEALED_MS = 120_000;
const LOOK_MS = 500;
const FINAL_MS = 30_000;
const MADE_MS = 30_000;
const NANOS_PER_MS = 1e6;
/** What happens to coordinators, and how often. */
const COORDINATOR_FAULT_MS = 2_500;
/** How late a coordinator hears of changes: the last one stands for a watch that lags. */
const WATCH_MS = [5, 10, 50, 500];
/** Of changes of a reshard's entry: those soon after which its driver ends. */
const STRUCK_SHARE = 0.2;
const SAID_SHOWN = 60;

/** What has to happen in a run of many schedules: one in which something never does proves nothing of it. */
export const REQUIRED = [
  ...['takenOver', 'givenUp', 'unsealed', 'goneOnWhile_sealing', 'goneOnWhile_opening', 'goneOnWhile_cancelling'],
  ...['struckDrivers', 'killedCoordinators', 'pausedCoordinators', 'elections', 'powerCuts', 'lostStoreAnswers', 'outdated_import', 'outdated_stage'],
  ...[
    'crashes',
    'wipes',
    'promotions',
    'handovers',
    'sleeps',
    'hangs',
    'desertions',
    'splits',
    'lulls',
    'beats',
    'beatAcks',
    'drains',
    'removals',
    'snapshots',
    'changes',
    'followerReads',
    'fromEligible',
    'lostHandovers',
  ],
  ...['upsert', 'bulk_upsert', 'upsert_if', 'delete', 'delete_batch', 'get', 'fetch', 'search', 'count', 'export', 'scroll', 'reshard', 'cancel_reshard'],
];
/** Counted besides. */
const SELDOM = ['followerReadsLate', 'lossy', 'outdated'];

/**
 * A collection of some shards whose number changes again and again, in a simulated cluster: the coordinators' services, the
 * driver, the replication protocol and the planner as they ship, over simulated nodes, network and store. Throws a
 * Violation when anything promised is broken. The same options give the same run. Answers how often what happened.
 */
export async function simulateResharding(options: { seed: number; mutant?: ReshardMutant }): Promise<Record<string, number>> {
  const world = new ReshardWorld(options.seed, options.mutant);
  try {
    return await world.run();
  } finally {
    world.end();
  }
}

class ReshardWorld implements Shards {
  private readonly schedule = new Schedule();
  private readonly chance: Chance;
  private readonly network: Network;
  private readonly time: VirtualTime;
  private readonly history: History;
  private readonly cells = new Map<string, ShardCell>();
  private readonly counts: Record<string, number> = Object.fromEntries([...REQUIRED, ...SELDOM].map((name) => [name, 0]));
  private readonly coordinators: SimulatedCoordinator[] = [];
  private readonly said: string[] = [];
  private readonly ground: ShardGround;
  private lostAnswers = 0;
  private store!: KeyValueClusterStore;
  private started = 0;
  private values = 0;

  constructor(
    seed: number,
    private readonly mutant?: ReshardMutant,
  ) {
    const { schedule } = this;
    this.chance = new Chance(seed + 77_000_000);
    const { chance } = this;
    this.network = new Network({ schedule, chance });
    this.network.ordered = chance.happens(0.4);
    this.time = new VirtualTime(schedule, () => chance.unit());
    this.history = new History({ nowNanos: () => Math.round(schedule.now * NANOS_PER_MS) });
    const bystanders = Array.from({ length: 20 }, (_, i) => `k${i}`);
    const replicas = chance.pick([1, 2, 2, 3]);
    this.ground = {
      schedule,
      chance,
      network: this.network,
      counts: this.counts,
      nodes: NODES,
      controllers: ['p1', 'p2'],
      bystanders,
      replicas,
      minInSync: replicas === 3 ? 2 : 1,
      tamper: mutant?.shard ?? {},
      faultsUntil: READY_MS + FAULTS_MS,
    };
  }

  async run(): Promise<Record<string, number>> {
    const { schedule, chance, network, time, history } = this;
    time.begin();
    this.store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    this.countTakeovers();
    for (let i = 0; i < COORDINATORS; i += 1) this.startCoordinator();
    await time.runUntil(200);
    await this.elect();
    const clients = Array.from({ length: CLIENTS }, (_, i) => this.client(`c${i}`));
    await this.within('the collection is made', MADE_MS, clients[0].make(FIRST_SHARDS));
    await time.runUntil(Math.max(schedule.now, READY_MS));
    let isStopped = false;
    const stop = (): boolean => isStopped;
    const running = [...clients.map((client) => client.run(stop)), this.client('resharder').reshards(SHARDS_MAX, stop)];
    this.lostAnswers = chance.happens(0.5) ? chance.unit() * 0.1 : 0;
    network.loss = chance.happens(0.5) ? chance.unit() * 0.1 : 0;
    network.duplicates = chance.happens(0.4) ? chance.unit() * 0.2 : 0;
    network.longDelays = chance.happens(0.4) ? chance.unit() * 0.04 : 0;
    schedule.after(chance.around(COORDINATOR_FAULT_MS), () => this.troubleCoordinators());
    await time.runUntil(READY_MS + FAULTS_MS);
    this.heal();
    await time.runUntil(schedule.now + 4_000);
    isStopped = true;
    await this.within('clients have their last answers', FINAL_MS, Promise.all(running));
    await this.untilHealed();
    await this.readAll();
    for (const { rule, sentence } of checkHistory(history.operations, { metric: 'cosine', outcomes: 'retried', shards: FIRST_SHARDS })) throw this.violation(`${rule}: ${sentence}`);
    for (const { kind, outcome, args } of history.operations) {
      const name = args.expects === undefined ? kind : `${kind}_if`;
      this.counts[outcome === 'ok' ? name : `${name}_${outcome}`] = (this.counts[outcome === 'ok' ? name : `${name}_${outcome}`] ?? 0) + 1;
    }
    return this.counts;
  }

  end(): void {
    for (const coordinator of this.coordinators) coordinator.kill();
    this.time.finish();
  }

  find({ collectionUid, shard }: ShardId): ShardCell | 'dropped' | null {
    const cell = this.cells.get(`${collectionUid}/${shard}`);
    return cell === undefined ? null : cell.isDropped ? 'dropped' : cell;
  }

  make(id: ShardId): void {
    const key = `${id.collectionUid}/${id.shard}`;
    if (!this.cells.has(key)) this.cells.set(key, new ShardCell(this.ground, id));
  }

  drop(id: ShardId): void {
    this.make(id);
    this.cells.get(`${id.collectionUid}/${id.shard}`)!.drop();
  }

  private get living(): SimulatedCoordinator[] {
    return this.coordinators.filter(({ process }) => process.isAlive);
  }

  private client(name: string): ReshardingClient {
    const { schedule, chance, history } = this;
    const serving = (): SimulatedCoordinator | null => {
      const able = this.living.filter(({ service }) => service !== null);
      return able.length === 0 ? null : chance.pick(able);
    };
    return new ReshardingClient(name, { schedule, chance, history, serving, nextValue: () => `v${(this.values += 1)}`, touch: () => this.time.touch() });
  }

  private startCoordinator(): void {
    const { schedule, chance, network, time, store, counts, mutant } = this;
    const touch = (): void => time.touch();
    const process = new SimulatedProcess(`k${(this.started += 1) % 20}`, network, schedule, touch);
    const client = new SimulatedShardClient({ shards: this, process, schedule, network, chance, nodes: NODES, session: `k${this.started}` });
    const view = new SimulatedStoreClient({ store, process, schedule, network, chance, touch, counts, lostAnswers: () => this.lostAnswers, watchMs: chance.pick(WATCH_MS) });
    const say = (message: string): void => void this.said.push(`${schedule.now.toFixed(0)} ${message}`);
    touch();
    this.coordinators.push(new SimulatedCoordinator({ process, store: view, shards: mutant?.client?.(client) ?? client, clock: time.clock, say }));
  }

  /** Also by what they were in when their driver was replaced. */
  private countTakeovers(): void {
    const { counts, store, schedule, chance } = this;
    const states = new Map<string, string>();
    store.watch('/q/reshards/', 0, (events) => {
      for (const event of events) {
        if (event.type === 'delete') {
          if (states.get(event.key) === 'cancelling') counts.givenUp += 1;
          states.delete(event.key);
          continue;
        }
        const { state, unseals } = JSON.parse(event.value) as { state: string; unseals?: boolean };
        const before = states.get(event.key);
        states.set(event.key, state);
        if (state === before && (state === 'sealing' || state === 'opening' || state === 'cancelling') && unseals !== true) counts[`goneOnWhile_${state}`] += 1;
        if (schedule.now < this.ground.faultsUntil && chance.happens(STRUCK_SHARE)) schedule.after(chance.unit() * 150, () => this.strikeDriver());
        if (before === 'sealing' && state === 'filling') counts.unsealed += 1;
        if (state === 'retiring' && before !== 'retiring') counts.takenOver += 1;
      }
    });
  }

  /** One that lives becomes the controller; who was it hears of that later, or of nothing any more. */
  private async elect(): Promise<void> {
    const { chance, schedule, counts } = this;
    const next = chance.pick(this.living);
    counts.elections += 1;
    this.time.touch();
    const result = await this.store.transact([], [{ type: 'put', key: CONTROLLER_PATH, value: next.process.name }]);
    const revision = result.applied ? result.revision : 0;
    for (const other of this.living) if (other !== next) schedule.after(chance.unit() * 3_000, () => other.process.receive(() => other.lose(revision)));
    next.process.receive(() => next.hold(revision));
  }

  /** Whoever drives the reshards ends, and what it sent last comes late, when another one has long gone on. */
  private strikeDriver(): void {
    const { chance, schedule, counts } = this;
    const driver = this.living.find(({ office }) => office.guard !== null);
    if (driver === undefined || schedule.now > this.ground.faultsUntil) return;
    counts.struckDrivers += 1;
    driver.process.delayMs = 300 + chance.unit() * 2_500;
    schedule.after(chance.unit() * 150, () => {
      if (!driver.process.isAlive) return;
      driver.kill();
      this.startCoordinator();
      schedule.after(chance.around(200), () => void this.elect());
    });
  }

  private troubleCoordinators(): void {
    const { chance, schedule, counts, cells } = this;
    if (schedule.now > this.ground.faultsUntil) return;
    const draw = chance.unit();
    const victim = chance.pick(this.living);
    if (draw < 0.3) {
      counts.killedCoordinators += 1;
      victim.kill();
      this.startCoordinator();
      schedule.after(500 + chance.around(1_500), () => void this.elect());
    } else if (draw < 0.5) {
      counts.pausedCoordinators += 1;
      victim.process.pause();
      schedule.after(chance.around(2_000), () => victim.process.resume());
      if (chance.happens(0.7)) schedule.after(chance.around(1_000), () => void this.elect());
    } else if (draw < 0.7) void this.elect();
    else {
      // A whole node ends: all that it has.
      counts.powerCuts += 1;
      const node = chance.pick(NODES);
      for (const cell of cells.values()) if (!cell.isDropped) cell.crash(node);
      schedule.after(200 + chance.around(1_500), () => {
        for (const cell of cells.values()) if (!cell.isDropped) cell.start(node);
      });
    }
    schedule.after(chance.around(COORDINATOR_FAULT_MS), () => this.troubleCoordinators());
  }

  private heal(): void {
    this.network.heal();
    this.lostAnswers = 0;
    for (const cell of this.cells.values()) if (!cell.isDropped) cell.heal();
    for (const { process } of this.living) process.resume();
    void this.elect();
  }

  /** Resolves when no reshard is under way, and what was replaced or given up is gone. */
  private async untilHealed(): Promise<void> {
    const { schedule, time } = this;
    const until = schedule.now + HEALED_MS;
    let state = '';
    while (schedule.now < until) {
      await time.runUntil(schedule.now + LOOK_MS);
      const { entries } = await this.store.list('/q/reshards/');
      state = entries.map(({ value }) => value).join('\n');
      const states = entries.map(({ value }) => (JSON.parse(value) as { state: string; error: string | null }).state);
      if (states.some((one) => one === 'failed' || one === 'stuck')) throw this.violation(`liveness: a reshard is ${state}`);
      if (states.length > 0) continue;
      for (const coordinator of this.living) void coordinator.recover().catch(() => undefined);
      await time.runUntil(schedule.now + LOOK_MS * 4);
      const { entries: drops } = await this.store.list('/q/collection-drops/');
      if (drops.length > 0) continue;
      const [collection] = (await this.store.list('/q/collections/')).entries.map(({ value }) => JSON.parse(value) as { uid: string; shards: number });
      const left = [...this.cells].filter(([, { isDropped }]) => !isDropped).map(([key]) => key.split('/')[0]);
      if (left.length !== collection.shards || left.some((uid) => uid !== collection.uid)) throw this.violation(`shards that nobody has are left: ${left.join(', ')}`);
      return;
    }
    throw this.violation(`liveness: not healed: ${state}`);
  }

  private async readAll(): Promise<void> {
    const { schedule, time, history } = this;
    for (const coordinator of this.living) {
      const client = new ReshardingClient(`last-${coordinator.process.name}`, { schedule, chance: this.chance, history, serving: () => coordinator, nextValue: () => '', touch: () => time.touch() });
      await this.within('a last read is answered', FINAL_MS, client.readAll());
    }
  }

  /** Runs until it is done. */
  private async within(what: string, ms: number, done: Promise<unknown>): Promise<void> {
    const { schedule, time } = this;
    const until = schedule.now + ms;
    let isDone = false;
    void done.then(() => (isDone = true));
    do await time.runUntil(schedule.now + LOOK_MS);
    while (!isDone && schedule.now < until);
    if (!isDone) throw this.violation(`liveness: not in time: ${what}`);
  }

  private violation(sentence: string): Violation {
    return new Violation([sentence, ...this.said.slice(-SAID_SHOWN)].join('\n'));
  }
}
