import type { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardId, ShardSpec } from '../../../shared/contract/shard/shard-client';
import type { Chance } from '../chance';
import {
  ALL_STRIKES,
  drawFaults,
  drawMoreFaults,
  Faults,
  type FaultMix,
  STRIKES_OF_UNUSED,
  troubleBeginning,
} from '../faults';
import type { Network } from '../network';
import { Oracle } from '../oracle';
import type { Schedule } from '../schedule';
import { SimulatedController } from '../simulated-controller';
import { SimulatedEtcd } from '../simulated-etcd';
import { type Filling, type NodeDependencies, SimulatedNode } from '../simulated-node';
import { ShardMachine, type ShardTamper } from './shard-machine';

/** Between two faults of one shard: a run has several shards. */
const STRIKE_EVERY_MS = 1_500;
/** It is opened in peace, mostly. */
const FIRST_STRIKE_MS = 2_500;

/**
 * A new shard is indexed by then, at so many rows a millisecond: more than a reshard leaves to searches, all the while.
 */
const INDEX_MS = 5_000;
const ROWS_A_MS = 100;

/** Where shards are. */
export interface ShardGround {
  schedule: Schedule;
  chance: Chance;
  network: Network;
  counts: Record<string, number>;
  /** Names of the nodes, and of the coordinators whose controllers place shards. */
  nodes: readonly string[];
  controllers: readonly string[];
  /** Names of everybody else. */
  bystanders: readonly string[];
  replicas: number;
  minInSync: number;
  tamper: ShardTamper;
  /** Has fetched what a restored shard begins with. */
  fill?: (cell: ShardCell, id: ShardId, filling: Filling) => void;
  /** Faults happen between these times. */
  peaceUntil: number;
  faultsUntil: number;
  /** Shards are unused at first, and what happens to them begins while they are made. */
  isUnused: boolean;
}

/**
 * One shard of a collection: its replicas on the nodes, its entry in the shard map, who plans it, and the faults that
 * happen to it.
 */
export class ShardCell {
  readonly around: NodeDependencies<ShardMachine>;
  isDropped = false;
  /** Why it can't be filled; null: it can, or need not. */
  failure: QuiverError | null = null;
  private readonly controllers: SimulatedController[];
  private readonly faults: Faults;

  constructor(
    ground: ShardGround,
    readonly id: ShardId & Pick<ShardSpec, 'seed'>,
  ) {
    const { schedule, chance, network, counts, nodes, replicas, minInSync, tamper, faultsUntil, fill } = ground;
    const isUnused = ground.isUnused && id.seed === undefined;
    // A collection of its own, as far as who plans it can see.
    const spec = {
      collectionUid: `${id.collectionUid}/${id.shard}`,
      shard: 0,
      dim: 1,
      metric: 'cosine' as const,
      ...(id.seed && { seed: id.seed }),
    };
    const first = chance.below(nodes.length);
    const placed = Array.from({ length: replicas }, (_, i) => nodes[(first + i) % nodes.length]);
    const assignment = {
      spec,
      ...(isUnused && { unused: true }),
      minInSync,
      epoch: 0,
      primary: null,
      inSync: [],
      eligible: [],
      replicas: placed,
      adding: [],
      removing: [],
      changeId: '',
    };
    const etcd = new SimulatedEtcd({ schedule, chance, network, assignment });
    const indexedAt = schedule.now + (chance.happens(0.6) ? chance.unit() * INDEX_MS : 0);
    const replicaNodes = new Map<string, SimulatedNode<ShardMachine>>();
    this.around = {
      schedule,
      chance,
      network,
      etcd,
      oracle: new Oracle(),
      nodes: replicaNodes,
      counts,
      mutant: null,
      fill: fill && ((filling) => fill(this, id, filling)),
      machine: () =>
        new ShardMachine(
          spec,
          tamper,
          (type) => (counts[`outdated_${type}`] += 1),
          () => Math.max(0, indexedAt - schedule.now) * ROWS_A_MS,
        ),
    };
    if (isUnused) troubleBeginning(this.around, ground.peaceUntil);
    for (const node of nodes) replicaNodes.set(node, new SimulatedNode(node, this.around));
    for (const node of replicaNodes.values()) node.start();
    this.controllers = ground.controllers.map((name) => new SimulatedController(name, replicas, this.around));
    const mix: FaultMix = { ...drawFaults(chance), ...drawMoreFaults(chance) };
    // These are of the network, which shards share.
    for (const share of ['loss', 'duplicates', 'longDelays'] as const) mix[share] = network[share];
    mix.putBacks = isUnused;
    mix.relapses = isUnused;
    const strikes = isUnused ? STRIKES_OF_UNUSED : ALL_STRIKES;
    this.faults = new Faults({
      mix,
      around: this.around,
      controllers: this.controllers,
      bystanders: [...ground.bystanders],
      strikes,
      everyMs: STRIKE_EVERY_MS,
      until: faultsUntil,
    });
    schedule.after(FIRST_STRIKE_MS, () => {
      if (!this.isDropped && schedule.now < faultsUntil) this.faults.begin();
    });
  }

  /** Where the primary is, by the map. */
  get primary(): string | null {
    return this.around.etcd.current.assignment.primary?.node ?? null;
  }

  /** The whole process of a node ends, or comes back. */
  crash(node: string): void {
    const found = this.around.nodes.get(node)!;
    if (found.up) found.crash();
  }

  start(node: string): void {
    const found = this.around.nodes.get(node)!;
    if (!found.up) found.start();
  }

  /** The folder of a replica is gone, as long as that is one of several that are complete; says whether. */
  loseFolder(): boolean {
    return this.faults.loseFolder();
  }

  heal(): void {
    this.faults.heal();
  }

  /** Nothing of it is left, and nothing of it comes back. */
  drop(): void {
    this.isDropped = true;
    this.faults.end();
    for (const controller of this.controllers) controller.stop();
    for (const node of this.around.nodes.values()) node.retire();
  }
}
