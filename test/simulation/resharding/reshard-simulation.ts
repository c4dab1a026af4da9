import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import { checkHistory } from '../../fault/history/check-history';
import { Chance } from '../chance';
import { COORDINATED_HAPPENS, CoordinatedWorld, CHECK_MS } from './coordinated-world';
import type { ReshardMutant } from './reshard-mutants';
import { ReshardingClient } from './resharding-client';
import { callsOf } from '../../support/stories/shard-calls';
import type { CoordinatorParts } from './simulated-coordinator';
import type { SimulatedProcess } from './simulated-process';

const CLIENTS = 3;
const FIRST_SHARDS = 2;
const SHARDS_MAX = 3;
/** Attempts of a driver may be half a minute apart, and there may be several after another in vain. */
const HEALED_MS = 120_000;
const FINAL_MS = 30_000;
const MADE_MS = 30_000;
/** Of changes of a reshard's entry: those soon after which its driver ends. */
const STRUCK_SHARE = 0.15;
/**
 * Of what a driver writes to shards: that soon after which it ends. There are several stages for each import that
 * changes anything.
 */
const STRUCK_SHARES = { import: 0.25, stage: 0.03 };

/** Apart from every seed of a run. */
const BEGINNINGS = 3e9;
/**
 * Of the schedules: those whose shards are made as the planner makes them. Broken variants do without, so their seeds
 * stay what they were.
 */
const UNUSED_SHARE = 0.7;

/** What has to happen in a run of many schedules: one in which something never does proves nothing of it. */
export const REQUIRED = [
  ...COORDINATED_HAPPENS,
  ...[
    'takenOver',
    'givenUp',
    'unsealed',
    'goneOnWhile_sealing',
    'goneOnWhile_opening',
    'goneOnWhile_cancelling',
    'outdated_import',
    'outdated_stage',
  ],
  ...['uses', 'earlyDeaths', 'putBacks', 'renewals', 'relapses', 'relapsesToEarlier'],
  ...[
    'upsert',
    'bulk_upsert',
    'upsert_if',
    'delete',
    'delete_batch',
    'get',
    'fetch',
    'search',
    'count',
    'export',
    'scroll',
    'reshard',
    'cancel_reshard',
  ],
];

/**
 * A collection of some shards whose number changes again and again, in a simulated cluster: the coordinators' services,
 * the driver, the replication protocol and the planner as they ship, over simulated nodes, network and store. Throws a
 * Violation when anything promised is broken. The same options give the same run. Answers how often what happened.
 */
export async function simulateResharding(options: {
  seed: number;
  mutant?: ReshardMutant;
}): Promise<Record<string, number>> {
  const world = new ReshardWorld(options.seed, options.mutant);
  try {
    return await world.run();
  } finally {
    world.end();
  }
}

class ReshardWorld extends CoordinatedWorld {
  private values = 0;

  constructor(
    seed: number,
    private readonly mutant?: ReshardMutant,
  ) {
    super(seed + 77_000_000, {
      happens: REQUIRED,
      tamper: mutant?.shard,
      isUnused: mutant === undefined && new Chance(seed + BEGINNINGS).happens(UNUSED_SHARE),
    });
  }

  async run(): Promise<Record<string, number>> {
    const { schedule, time, history } = this;
    await this.begin();
    const clients = Array.from({ length: CLIENTS }, (_, i) => this.client(`c${i}`));
    await this.within('the collection is made', MADE_MS, clients[0].make(FIRST_SHARDS));
    await this.settle();
    let isStopped = false;
    const stop = (): boolean => isStopped;
    const running = [...clients.map((client) => client.run(stop)), this.client('resharder').reshards(SHARDS_MAX, stop)];
    await this.runFaults();
    await time.runUntil(schedule.now + 4_000);
    isStopped = true;
    await this.within('clients have their last answers', FINAL_MS, Promise.all(running));
    await this.untilHealed();
    await this.readAll();
    for (const { rule, sentence } of checkHistory(history.operations, {
      metric: 'cosine',
      outcomes: 'retried',
      shards: FIRST_SHARDS,
    }))
      throw this.violation(`${rule}: ${sentence}`);
    for (const { kind, outcome, args } of history.operations) {
      const name = args.expects === undefined ? kind : `${kind}_if`;
      this.counts[outcome === 'ok' ? name : `${name}_${outcome}`] =
        (this.counts[outcome === 'ok' ? name : `${name}_${outcome}`] ?? 0) + 1;
    }
    return this.counts;
  }

  protected partsOf(given: CoordinatorParts): CoordinatorParts {
    const shards = this.mutant?.client?.(given.shards) ?? given.shards;
    return {
      ...given,
      shards: {
        ...callsOf(shards),
        write: (id, operations, call) => this.write(given.process, shards, id, operations, call),
      },
    };
  }

  private write(
    process: SimulatedProcess,
    shards: ShardClient,
    ...[id, operations, call]: Parameters<ShardClient['write']>
  ): ReturnType<ShardClient['write']> {
    const share = operations.some(({ type }) => type === 'import')
      ? STRUCK_SHARES.import
      : operations.some(({ type }) => type === 'stage')
        ? STRUCK_SHARES.stage
        : 0;
    if (this.chance.happens(share)) this.strikeDriver(process);
    return shards.write(id, operations, call);
  }

  private client(name: string): ReshardingClient {
    const { schedule, chance, history } = this;
    return new ReshardingClient(name, {
      schedule,
      chance,
      history,
      serving: () => this.serving(),
      nextValue: () => `v${(this.values += 1)}`,
      touch: () => this.time.touch(),
    });
  }

  /** Also by what they were in when their driver was replaced. */
  protected watchStore(): void {
    const { counts, store, schedule, chance } = this;
    const states = new Map<string, string>();
    store.watch('/q/reshards/', 0, (events) => {
      this.recordStep();
      for (const event of events) {
        if (event.type === 'delete') {
          if (states.get(event.key) === 'cancelling') counts.givenUp += 1;
          states.delete(event.key);
          continue;
        }
        const { state, unseals } = JSON.parse(event.value) as { state: string; unseals?: boolean };
        const before = states.get(event.key);
        states.set(event.key, state);
        if (
          state === before &&
          (state === 'sealing' || state === 'opening' || state === 'cancelling') &&
          unseals !== true
        )
          counts[`goneOnWhile_${state}`] += 1;
        if (schedule.now < this.ground.faultsUntil && chance.happens(STRUCK_SHARE))
          schedule.after(chance.unit() * 150, () => this.strikeDriver());
        if (before === 'sealing' && state === 'filling') counts.unsealed += 1;
        if (state === 'retiring' && before !== 'retiring') counts.takenOver += 1;
      }
    });
  }

  /** Resolves when no reshard is under way, and what was replaced or given up is gone. */
  private async untilHealed(): Promise<void> {
    const { schedule, time } = this;
    const until = schedule.now + HEALED_MS;
    let state = '';
    while (schedule.now < until) {
      await time.runUntil(schedule.now + CHECK_MS);
      const { entries } = await this.store.list('/q/reshards/');
      state = entries.map(({ value }) => value).join('\n');
      const states = entries.map(({ value }) => (JSON.parse(value) as { state: string; error: string | null }).state);
      if (states.some((one) => one === 'failed' || one === 'stuck'))
        throw this.violation(`liveness: a reshard is ${state}`);
      if (states.length > 0) continue;
      for (const coordinator of this.living) void coordinator.recover().catch(() => undefined);
      await time.runUntil(schedule.now + CHECK_MS * 4);
      const { entries: drops } = await this.store.list('/q/collection-drops/');
      if (drops.length > 0) continue;
      const [collection] = (await this.store.list('/q/collections/')).entries.map(
        ({ value }) => JSON.parse(value) as { uid: string; shards: number },
      );
      const left = [...this.cells].filter(([, { isDropped }]) => !isDropped).map(([key]) => key.split('/')[0]);
      if (left.length !== collection.shards || left.some((uid) => uid !== collection.uid))
        throw this.violation(`shards that nobody has are left: ${left.join(', ')}`);
      return;
    }
    throw this.violation(`liveness: not healed: ${state}`);
  }

  private async readAll(): Promise<void> {
    const { schedule, time, history } = this;
    for (const coordinator of this.living) {
      const client = new ReshardingClient(`last-${coordinator.process.name}`, {
        schedule,
        chance: this.chance,
        history,
        serving: () => coordinator,
        nextValue: () => '',
        touch: () => time.touch(),
      });
      await this.within('a last read is answered', FINAL_MS, client.readAll());
    }
  }
}
