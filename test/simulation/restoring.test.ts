import { RESTORE_MUTANTS } from './restoring/restore-mutants';
import { REQUIRED, simulateRestoring } from './restoring/restore-simulation';
import { Violation } from './violation';

/** SEED moves the first seed, RESTORE_SEEDS the number of schedules; `node scripts/simulate.mjs` runs more of them. */
const FROM = Number(process.env.SEED ?? 1);
const SEEDS = Number(process.env.RESTORE_SEEDS ?? 8);
/** As many schedules as a broken variant may survive here, from a seed that is known to catch it. */
const MUTANT_SEEDS = 20;

async function run(seed: number): Promise<Record<string, number>> {
  return simulateRestoring({ seed }).catch((error: unknown) => {
    throw new Error(`node scripts/simulate.mjs --world restoring --seeds 1 --from ${seed}`, { cause: error });
  });
}

test('what is restored in a simulated cluster is what the backup has, or not there, and others are left alone, under faults', async () => {
  console.log(`restoring: SEED=${FROM}`);
  const totals: Record<string, number> = {};
  for (let seed = FROM; seed < FROM + SEEDS; seed += 1)
    for (const [name, count] of Object.entries(await run(seed))) totals[name] = (totals[name] ?? 0) + count;
  // A name that is counted, and not listed, is no number.
  expect(Object.entries(totals).filter(([, count]) => !Number.isInteger(count))).toEqual([]);
  // Some faults are too rare for so few schedules; the command looks for all of them.
  expect(
    [
      'restoresDone',
      'restoresGivenUp',
      'restoredIntoOtherShards',
      'filled',
      'killedCoordinators',
      'failedTargetCalls',
      'sweptObjects',
      'promotions',
    ].filter((name) => !(totals[name] > 0)),
  ).toEqual([]);
  expect(REQUIRED.length).toBeGreaterThan(20);
});

test('a restore whose target refuses that it is held may fail when the backup is deleted, as in the schedule of seed 765', async () => {
  await run(765);
});

test.each([1251, 1403, 3194])(
  'a backup whose driver was replaced stays the one that was published first, as in the schedule of seed %i',
  async (seed) => {
    await run(seed);
  },
);

test('what is stored before the faults begin may have to wait until they are healed, as in the schedule of seed 2877', async () => {
  await run(2877);
});

test('a restore whose claim came too late fails, whoever goes on with it, as in the schedules of seeds 164 and 351', async () => {
  for (const seed of [164, 351]) await run(seed);
});

test('the same seed gives the same run', async () => {
  expect(await run(FROM)).toEqual(await run(FROM));
});

describe('broken variants of a restore are caught', () => {
  test.each(RESTORE_MUTANTS.map((mutant) => [mutant.name, mutant.title, mutant] as const))(
    '%s: %s',
    async (_name, _title, mutant) => {
      let caught: unknown = null;
      for (let seed = mutant.seed; seed < mutant.seed + MUTANT_SEEDS && caught === null; seed += 1) {
        await simulateRestoring({ seed, mutant }).catch((error: unknown) => (caught = error));
      }
      expect(caught).toBeInstanceOf(Violation);
    },
  );
});
