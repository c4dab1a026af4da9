import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StartClusterUnderTest } from '../support/processes/cluster-under-test';
import { startEmbeddedUnderTest } from '../support/processes/embedded-under-test';
import { eventually } from '../support/eventually';
import { startProcessesUnderTest } from '../support/processes/processes-under-test';
import { seededRandom } from '../support/values/random';
import { checkHistory } from './history/check-history';
import { checkAnswered } from './history/check-reads';
import { History } from './history/history';
import type { OutcomeRule } from './history/key-operation';
import { isWrite } from './history/operation';
import { Nemesis } from './nemesis';
import { Resharding, type ReshardingCounts } from './resharding';
import { Workload } from './workload';

/** Less than a client's patience. The shards that a reshard replaced stay ten seconds longer than this. */
const CALL_MS = 8_000;

/** What schedules can run against, and what its answers to writes are worth. */
export const TARGETS: Record<'embedded' | 'cluster', { start: StartClusterUnderTest } & OutcomeRule> = {
  embedded: { start: startEmbeddedUnderTest, outcomes: 'exact' },
  // A coordinator repeats a write that was cut off, which may then meet its own effect.
  cluster: {
    start: () => startProcessesUnderTest({ environment: { REQUEST_TIMEOUT_MS: String(CALL_MS) } }),
    outcomes: 'retried',
  },
};

export type TargetName = keyof typeof TARGETS;

const FIRST_SHARDS = 3;
/** Writes that are acknowledged in peace, before the first fault and after the last. */
const CALM_WRITES = 40;

/** Reads of items that are written all the time, before the first fault: each of them is answered. */
const HOT_READS = 300;

/** What waits while a fault lasts waits for each client: more of them ask more in the same time. */
const MANY_OPERATIONS = 2_000;
const FEW_CLIENTS = 6;
const MANY_CLIENTS = 12;

export interface ScheduleReport {
  seed: number;
  /** How long clients ran, and how long it took to check what they saw. */
  seconds: { run: number; check: number };
  /** Names of the faults that happened, in order. */
  faults: string[];
  operations: number;
  acknowledgedWrites: number;
  unknown: number;
  reshards: ReshardingCounts;
  /** One sentence each; empty when every promise was kept. */
  violations: string[];
  /** What there is to look at after a violation: the history, faults and last words of the processes; else null. */
  evidence: string | null;
}

/** What a schedule goes on for beyond its time: a slow machine has fewer of each in a second. */
export interface LeastSeen {
  faults: number;
  operations: number;
  acknowledgedWrites: number;
  reshards: number;
}

export interface ScheduleOptions {
  target: TargetName;
  seed: number;
  /** For how long faults happen, at least. */
  seconds: number;
  /** They go on until clients have asked so much. */
  operations?: number;
  least?: LeastSeen;
}

/**
 * One schedule: starts a new service, lets seeded clients use it while seeded faults happen to it, heals
 * everything, waits until it is in order, reads all of it and checks the history. What does not heal is a violation
 * too.
 */
export async function runSchedule(options: ScheduleOptions): Promise<ScheduleReport> {
  const { target, seed, seconds, operations: operationsMin = 0, least } = options;
  const { start, outcomes } = TARGETS[target];
  const random = seededRandom(seed);
  const cluster = await start();
  const history = new History();
  const nemesis = new Nemesis({ cluster, random });
  // Drawn from a seed of its own: it goes on beside the faults, in no fixed order.
  const resharding = new Resharding({
    history,
    adminKey: cluster.adminKey,
    coordinators: () => cluster.coordinators(),
    random: seededRandom(seed + 1),
  });
  const violations: string[] = [];
  const startMs = performance.now();
  let endMs = startMs;
  try {
    const workload = new Workload({
      history,
      adminKey: cluster.adminKey,
      coordinators: () => cluster.coordinators(),
      seed: Math.floor(random() * 2 ** 31),
      clients: operationsMin > MANY_OPERATIONS ? MANY_CLIENTS : FEW_CLIENTS,
    });
    await workload.start({ shards: FIRST_SHARDS });
    try {
      await calm(history);
      violations.push(
        ...checkAnswered(await workload.heat(HOT_READS)).map(({ rule, sentence }) => `${rule}: ${sentence}`),
      );
      resharding.start();
      try {
        await nemesis.run(seconds * 1000, {
          faultsMin: least?.faults,
          goesOn: () => history.operations.length < operationsMin,
        });
        if (least !== undefined)
          await eventually('there were enough reshards', () => resharding.counts.ended >= least.reshards);
      } finally {
        await resharding.stop();
      }
      await calm(history);
      if (least !== undefined) {
        const isEnough = () =>
          history.operations.length >= least.operations && acknowledgedWritesOf(history) >= least.acknowledgedWrites;
        await eventually('there were enough operations', isEnough);
      }
    } finally {
      await workload.stop();
      endMs = performance.now();
    }
    violations.push(...nemesis.deserters.map((id) => `process: ${id} ended by itself`));
    await resharding.settle();
    await cluster.settled();
    await workload.settle();
    await eventually('no shards are placed that nobody has', async () => (await cluster.strays()).length === 0);
    violations.push(...(await cluster.differences()).map((sentence) => `replicas: ${sentence}`));
  } catch (error) {
    violations.push(`recovery: ${(error as Error).message}`);
  }
  try {
    const checkMs = performance.now();
    violations.push(
      ...checkHistory(history.operations, { metric: 'cosine', outcomes, shards: FIRST_SHARDS }).map(
        ({ rule, sentence }) => `${rule}: ${sentence}`,
      ),
    );
    return {
      seed,
      seconds: { run: (endMs - startMs) / 1000, check: (performance.now() - checkMs) / 1000 },
      faults: nemesis.faults.map(({ name }) => name),
      operations: history.operations.length,
      acknowledgedWrites: acknowledgedWritesOf(history),
      unknown: history.operations.filter(({ outcome }) => outcome === 'unknown').length,
      reshards: resharding.counts,
      violations,
      evidence:
        violations.length === 0
          ? null
          : keep(seed, { history, nemesis, violations, evidence: await cluster.evidence() }),
    };
  } finally {
    await cluster.destroy();
  }
}

function acknowledgedWritesOf(history: History): number {
  return history.operations.filter(({ kind, outcome }) => isWrite(kind) && outcome === 'ok').length;
}

/** Writes what a failure left to look at; answers the files' common name. */
function keep(
  seed: number,
  found: { history: History; nemesis: Nemesis; violations: string[]; evidence: string },
): string {
  const base = join(tmpdir(), `quiver-fault-${seed}-${process.pid}`);
  found.history.save(`${base}.jsonl`);
  const faults = found.nemesis.faults.map(
    ({ name, fromMs, toMs }) => `${fromMs.toFixed(0)} to ${toMs.toFixed(0)} ms: ${name}`,
  );
  writeFileSync(`${base}.txt`, [...found.violations, '', ...faults, '', found.evidence].join('\n'));
  return base;
}

async function calm(history: History): Promise<void> {
  const enough = acknowledgedWritesOf(history) + CALM_WRITES;
  await eventually(`${CALM_WRITES} more writes are acknowledged`, () => acknowledgedWritesOf(history) >= enough);
}
