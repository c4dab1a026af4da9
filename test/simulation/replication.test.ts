import { MUTANTS } from './mutants';
import { HAPPENS, simulate } from './replication-simulation';
import { Violation } from './violation';

/**
 * The replication protocol's core under a simulator: SEED moves the first seed, SIMULATION_SEEDS the number of
 * schedules per minimum of in-sync replicas. `node scripts/simulate.mjs` runs more of them and repeats single ones.
 */
const FROM = Number(process.env.SEED ?? 1);
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 200);
/** Of schedules with programs of two versions. */
const OUTDATED_SEEDS = 60;
/** Of schedules whose reads are other threads'. */
const THREAD_SEEDS = 100;
/** Seeds per test, so that each ends well within its time. */
const BATCH = 200;
/** As many schedules as a broken variant may survive before it counts as not caught. */
const MUTANT_SEEDS = 2000;

describe.each([1, 2])('replication with at least %i in sync', (minInSync) => {
  console.log(`replication with at least ${minInSync} in sync: SEED=${FROM}`);
  const batches = Array.from({ length: Math.ceil(SEEDS / BATCH) }, (_, batch) => FROM + batch * BATCH);

  test.each(batches)('keeps its promises under random faults, seeds from %i', (from) => {
    const totals: Record<string, number> = {};
    for (let seed = from; seed < Math.min(from + BATCH, FROM + SEEDS); seed++) {
      for (const [name, count] of Object.entries(run(seed, minInSync))) totals[name] = (totals[name] ?? 0) + count;
    }
    // Schedules in which nothing happens would prove nothing.
    const idle = SEEDS < BATCH ? [] : HAPPENS.filter((name) => !(totals[name] > 0));
    expect(idle).toEqual([]);
  });

  test.each([
    // A look at who had answered was due at a moment that was over, again and again, while shares were taken back.
    800_046,
    // A node took an earlier assignment for the latest once it had opened its replica, and removed what it had
    // acknowledged.
    14_315,
    // A replica that had answered before its copy ended waited for its next copy for ever.
    14_587,
    // A store that took the place of a lost one took a share that was given to that, when what it names came twice and
    // late.
    2_157,
  ])('keeps its promises in the schedule of seed %i, which once broke one', (seed) => {
    run(seed, 1);
    run(seed, 2);
  });

  test('the same seed gives the same run', () => {
    expect(run(FROM, minInSync)).toEqual(run(FROM, minInSync));
  });
});

test.each([1, 2])(
  'nodes whose program does not know what primaries write cost no promise, with at least %i in sync',
  (minInSync) => {
    let outdated = 0;
    for (let seed = FROM; seed < FROM + OUTDATED_SEEDS; seed++)
      outdated += run(seed, minInSync, { outdates: true }).outdated;
    // Often enough that a mistake would show: 52 and more times in 60 schedules.
    expect(outdated).toBeGreaterThan(OUTDATED_SEEDS / 2);
  },
);

test.each([1, 2])('reads on other threads of the nodes cost no promise, with at least %i in sync', (minInSync) => {
  const totals: Record<string, number> = {};
  for (let seed = FROM; seed < FROM + THREAD_SEEDS; seed++) {
    for (const [name, count] of Object.entries(run(seed, minInSync, { threads: true })))
      totals[name] = (totals[name] ?? 0) + count;
  }
  expect(totals.threadReads).toBeGreaterThan(THREAD_SEEDS * 10);
  expect(totals.threadReadsAtFollowers).toBeGreaterThan(THREAD_SEEDS);
});

describe('broken variants of replication are caught', () => {
  test.each(MUTANTS.map((mutant) => [mutant.name, mutant.title, mutant] as const))(
    '%s: %s',
    (_name, _title, mutant) => {
      let caught: unknown = null;
      for (let seed = mutant.seed; seed < mutant.seed + MUTANT_SEEDS && caught === null; seed++) {
        try {
          simulate({ seed, minInSync: mutant.minInSync, mutant });
        } catch (error) {
          caught = error;
        }
      }
      expect(caught).not.toBeNull();
      // An assertion of the core counts as well; a mistake of the mutant itself doesn't.
      expect(caught instanceof Violation || (caught as { code?: string }).code === 'ERR_ASSERTION').toBe(true);
    },
  );
});

function run(
  seed: number,
  minInSync: number,
  more: { outdates?: boolean; threads?: boolean } = {},
): Record<string, number> {
  try {
    return simulate({ seed, minInSync, ...more });
  } catch (error) {
    throw new Error(
      `node scripts/simulate.mjs --seeds 1 --from ${seed} --min-in-sync ${minInSync}${more.threads ? ' --threads' : ''}`,
      { cause: error },
    );
  }
}
