import { RESHARD_MUTANTS } from './resharding/reshard-mutants';
import { REQUIRED, simulateResharding } from './resharding/reshard-simulation';
import { Violation } from './violation';

/** SEED moves the first seed, RESHARD_SEEDS the number of schedules; `node scripts/simulate.mjs` runs more of them. */
const FROM = Number(process.env.SEED ?? 9);
const SEEDS = Number(process.env.RESHARD_SEEDS ?? 8);
/** As many schedules as a broken variant may survive here, from a seed that is known to catch it. */
const MUTANT_SEEDS = 20;

async function run(seed: number): Promise<Record<string, number>> {
  return simulateResharding({ seed }).catch((error: unknown) => {
    throw new Error(`node scripts/simulate.mjs --world resharding --seeds 1 --from ${seed}`, { cause: error });
  });
}

test('a collection keeps its promises in a simulated cluster while its number of shards changes under faults', async () => {
  console.log(`resharding: SEED=${FROM}`);
  const totals: Record<string, number> = {};
  for (let seed = FROM; seed < FROM + SEEDS; seed += 1)
    for (const [name, count] of Object.entries(await run(seed))) totals[name] = (totals[name] ?? 0) + count;
  // A name that is counted, and not listed, is no number.
  expect(Object.entries(totals).filter(([, count]) => !Number.isInteger(count))).toEqual([]);
  // Some faults are too rare for so few schedules; the command looks for all of them.
  expect(
    [
      'takenOver',
      'givenUp',
      'killedCoordinators',
      'crashes',
      'promotions',
      'beatAcks',
      'upsert_if',
      'export',
      'search',
    ].filter((name) => !(totals[name] > 0)),
  ).toEqual([]);
  expect(REQUIRED.length).toBeGreaterThan(20);
});

test('the same seed gives the same run', async () => {
  expect(await run(FROM)).toEqual(await run(FROM));
});

describe('broken variants of a reshard are caught', () => {
  test.each(RESHARD_MUTANTS.map((mutant) => [mutant.name, mutant.title, mutant] as const))(
    '%s: %s',
    async (_name, _title, mutant) => {
      let caught: unknown = null;
      for (let seed = mutant.seed; seed < mutant.seed + MUTANT_SEEDS && caught === null; seed += 1) {
        await simulateResharding({ seed, mutant }).catch((error: unknown) => (caught = error));
      }
      expect(caught).toBeInstanceOf(Violation);
    },
  );
});
