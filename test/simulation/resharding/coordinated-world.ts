import { KeyValueClusterStore } from '../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../support/models/memory-key-value-store';
import { CONTROLLER_PATH } from '../../../shared/cluster-store/entries/members';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { ShardClient, ShardId, ShardSpec } from '../../../shared/contract/shard/shard-client';
import { History } from '../../fault/history/history';
import { Chance } from '../chance';
import { Network } from '../network';
import { Schedule } from '../schedule';
import { Violation } from '../violation';
import { type ShardGround, ShardCell } from './shard-cell';
import type { ShardTamper } from './shard-machine';
import { type CoordinatorParts, SimulatedCoordinator } from './simulated-coordinator';
import { SimulatedProcess } from './simulated-process';
import { type AnswerBackup, SimulatedShardClient, type Shards } from './simulated-shard-client';
import { SimulatedStoreClient } from './simulated-store';
import { VirtualTime } from './virtual-time';

const NODES = ['A', 'B', 'C'];
const COORDINATORS = 2;
const READY_MS = 10_000;
const FAULTS_MS = 20_000;
export const CHECK_MS = 500;
const NANOS_PER_MS = 1e6;
/** What happens to coordinators, and how often. */
const COORDINATOR_FAULT_MS = 2_500;
/** How late a coordinator hears of changes: the last one stands for a watch that lags. */
const WATCH_MS = [5, 10, 50, 500];
const SAID_SHOWN = 60;
/**
 * How many steps of the next driver the last messages of one before may be late by, and how soon they come after that.
 */
const STEPS_MAX = 9;
const STEP_MS = 60;

/**
 * What has to happen in a run of many schedules of such a world: one in which something never does proves nothing of
 * it.
 */
export const COORDINATED_HAPPENS = [
  ...['struckDrivers', 'killedCoordinators', 'pausedCoordinators', 'elections', 'powerCuts', 'lostStoreAnswers'],
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
  ],
  ...['followerReads', 'fromEligible', 'lostHandovers'],
];
/** Counted besides. */
const SELDOM = [
  'uses',
  'earlyDeaths',
  'putBacks',
  'renewals',
  'relapses',
  'relapsesToEarlier',
  'followerReadsLate',
  'unreadBeats',
  'dormantBeats',
  'dormantReads',
  'lossy',
  'outdated',
  'outdated_import',
  'outdated_harmful_import',
  'outdated_stage',
];

/**
 * Collections of some shards in a simulated cluster: coordinators, planner and protocol as they ship, over simulated
 * nodes, network and store, and the faults that happen to all of them. What clients do, and what has to hold, is each
 * world's own.
 */
export abstract class CoordinatedWorld implements Shards {
  protected readonly schedule = new Schedule();
  protected readonly chance: Chance;
  protected readonly network: Network;
  protected readonly time: VirtualTime;
  protected readonly history: History;
  protected readonly cells = new Map<string, ShardCell>();
  protected readonly ground: ShardGround;
  /** How often what happened. */
  protected readonly counts: Record<string, number>;
  protected store!: KeyValueClusterStore;
  /** How shards answer orders of backups. */
  protected backups: AnswerBackup | undefined;
  private readonly coordinators: SimulatedCoordinator[] = [];
  private readonly said: string[] = [];
  private lostAnswers = 0;
  private started = 0;
  /** What dead drivers have sent that comes after so many steps of those that go on. */
  private awaiting: { steps: number; send: () => void }[] = [];

  /**
   * `happens`: what is counted of this world alone; `isUnused`: shards are made as the planner makes them, and not at
   * peace.
   */
  constructor(
    seed: number,
    {
      happens,
      tamper = {},
      isUnused = false,
    }: { happens: readonly string[]; tamper?: ShardTamper | undefined; isUnused?: boolean },
  ) {
    const { schedule } = this;
    this.counts = Object.fromEntries([...COORDINATED_HAPPENS, ...SELDOM, ...happens].map((name) => [name, 0]));
    this.chance = new Chance(seed);
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
      tamper,
      peaceUntil: READY_MS,
      faultsUntil: READY_MS + FAULTS_MS,
      isUnused,
    };
  }

  /** Ends what goes on, whatever came of it. */
  end(): void {
    for (const coordinator of this.coordinators) coordinator.kill();
    this.time.finish();
  }

  find({ collectionUid, shard }: ShardId): ShardCell | 'dropped' | null {
    const cell = this.cells.get(`${collectionUid}/${shard}`);
    return cell === undefined ? null : cell.isDropped ? 'dropped' : cell;
  }

  make(id: ShardId | ShardSpec): void {
    const key = `${id.collectionUid}/${id.shard}`;
    if (!this.cells.has(key)) this.cells.set(key, new ShardCell(this.ground, id));
  }

  drop(id: ShardId): void {
    this.make(id);
    this.cells.get(`${id.collectionUid}/${id.shard}`)!.drop();
  }

  /** The coordinators are up, and one of them is the controller. */
  protected async begin(): Promise<void> {
    const { time } = this;
    time.begin();
    this.store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    this.watchStore();
    for (let i = 0; i < COORDINATORS; i += 1) this.startCoordinator();
    await time.runUntil(200);
    await this.elect();
  }

  /** Runs until all that was made in peace is there. */
  protected async settle(): Promise<void> {
    await this.time.runUntil(Math.max(this.schedule.now, READY_MS));
  }

  /** Lets faults happen, and heals them. */
  protected async runFaults(): Promise<void> {
    const { network, chance, schedule, time } = this;
    this.lostAnswers = chance.happens(0.5) ? chance.unit() * 0.1 : 0;
    network.loss = chance.happens(0.5) ? chance.unit() * 0.1 : 0;
    network.duplicates = chance.happens(0.4) ? chance.unit() * 0.2 : 0;
    network.longDelays = chance.happens(0.4) ? chance.unit() * 0.04 : 0;
    schedule.after(chance.around(COORDINATOR_FAULT_MS), () => this.troubleCoordinators());
    await time.runUntil(Math.max(schedule.now, this.ground.faultsUntil));
    this.heal();
  }

  /** Follows the cluster store from before the first coordinator. */
  protected abstract watchStore(): void;

  /** What a coordinator is made of, by what it is given. */
  protected abstract partsOf(given: CoordinatorParts): CoordinatorParts;

  /** What coordinators see of the store. */
  protected storeSeen(): ClusterStore {
    return this.store;
  }

  /** What a coordinator sends to shards with. */
  private shardClient(process: SimulatedProcess, session: string): ShardClient {
    const { schedule, network, chance } = this;
    return new SimulatedShardClient({
      shards: this,
      process,
      schedule,
      network,
      chance,
      nodes: NODES,
      session,
      backups: this.backups,
    });
  }

  protected get living(): SimulatedCoordinator[] {
    return this.coordinators.filter(({ process }) => process.isAlive);
  }

  /** One that serves; null while none does. */
  protected serving(): SimulatedCoordinator | null {
    const able = this.living.filter(({ service }) => service !== null);
    return able.length === 0 ? null : this.chance.pick(able);
  }

  private startCoordinator(): void {
    const { schedule, chance, network, time, counts } = this;
    const touch = (): void => time.touch();
    const process = new SimulatedProcess(`k${(this.started += 1) % 20}`, network, touch);
    const shards = this.shardClient(process, `k${this.started}`);
    const store = new SimulatedStoreClient({
      store: this.storeSeen(),
      process,
      schedule,
      network,
      chance,
      touch,
      counts,
      lostAnswers: () => this.lostAnswers,
      watchMs: chance.pick(WATCH_MS),
    });
    const say = (message: string): void => void this.said.push(`${schedule.now.toFixed(0)} ${message}`);
    touch();
    this.coordinators.push(new SimulatedCoordinator(this.partsOf({ process, store, shards, clock: time.clock, say })));
  }

  /** One that lives becomes the controller; who was it hears of that later, or of nothing any more. */
  private async elect(): Promise<void> {
    const { chance, schedule, counts } = this;
    const next = chance.pick(this.living);
    counts.elections += 1;
    this.time.touch();
    const result = await this.store.transact([], [{ type: 'put', key: CONTROLLER_PATH, value: next.process.name }]);
    const revision = result.applied ? result.revision : 0;
    for (const other of this.living)
      if (other !== next)
        schedule.after(chance.unit() * 3_000, () => other.process.receive(() => other.lose(revision)));
    next.process.receive(() => next.hold(revision));
  }

  /** Whoever drives the reshards ends, and what it sent last comes late, when another one has long gone on. */
  protected strikeDriver(process?: SimulatedProcess): void {
    const { chance, schedule, counts } = this;
    const driver = this.living.find((one) =>
      process === undefined ? one.leadership.guard !== null : one.process === process,
    );
    if (driver === undefined || schedule.now > this.ground.faultsUntil) return;
    counts.struckDrivers += 1;
    driver.process.late = this.drawLateness();
    schedule.after(chance.unit() * 150, () => {
      if (!driver.process.isAlive) return;
      driver.kill();
      this.startCoordinator();
      schedule.after(chance.around(200), () => void this.elect());
    });
  }

  /** What is driven got on: late messages may come now. */
  protected recordStep(): void {
    const due = this.awaiting.filter((one) => (one.steps -= 1) === 0);
    this.awaiting = this.awaiting.filter(({ steps }) => steps > 0);
    for (const { send } of due) this.schedule.after(this.chance.unit() * STEP_MS, send);
  }

  /** Some time, or until whoever goes on has taken some steps: what comes late does most harm between two of them. */
  private drawLateness(): (send: () => void) => void {
    const { chance, schedule } = this;
    if (chance.happens(0.3)) {
      const delayMs = 300 + chance.unit() * 2_500;
      return (send) => schedule.after(delayMs, send);
    }
    const steps = 1 + chance.below(STEPS_MAX);
    return (send) => void this.awaiting.push({ steps, send });
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

  /** Ends all faults. */
  protected heal(): void {
    this.network.heal();
    this.lostAnswers = 0;
    for (const cell of this.cells.values()) if (!cell.isDropped) cell.heal();
    for (const { process } of this.living) process.resume();
    void this.elect();
  }

  /** Runs until it is done. */
  protected async within(what: string, ms: number, done: Promise<unknown>): Promise<void> {
    if (!(await this.isDoneBy(this.schedule.now + ms, done))) throw this.violation(`liveness: not in time: ${what}`);
  }

  /** Runs until it is done, or for so long. */
  protected async isDoneBy(until: number, done: Promise<unknown>): Promise<boolean> {
    const { schedule, time } = this;
    let isDone = false;
    void done.then(() => (isDone = true));
    do await time.runUntil(schedule.now + CHECK_MS);
    while (!isDone && schedule.now < until);
    return isDone;
  }

  protected violation(sentence: string): Violation {
    return new Violation([sentence, ...this.said.slice(-SAID_SHOWN)].join('\n'));
  }
}
