// `npm run simulate -- --seeds N --from S --min-in-sync 1|2 --mutant Mx`: runs the core of the replication protocol
// through N random schedules of faults, for each minimum of replicas in sync. Then a tenth as many of a collection that
// changes its number of shards, with coordinators, driver and several shards; `--world replication|resharding` runs one of
// the two only. Prints a line for each schedule that breaks a promise, with the command that repeats it, and at the end how
// often what happened; of many schedules, it fails if something never did.
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const require = createRequire(import.meta.url);
require('../test/support/swc-register.js');
const { simulate } = require('../test/simulation/replication-simulation.ts');
const { RESHARD_MUTANTS } = require('../test/simulation/resharding/reshard-mutants.ts');
const { REQUIRED, simulateResharding } = require('../test/simulation/resharding/reshard-simulation.ts');
const { HAPPENS, MUTANTS } = require('../test/simulation/mutants.ts');

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    'min-in-sync': { type: 'string' },
    mutant: { type: 'string' },
    world: { type: 'string' },
  },
});
const seeds = Number(values.seeds);
const from = Number(values.from);
const mutant = MUTANTS.find((one) => one.name === values.mutant);
const reshardMutant = RESHARD_MUTANTS.find((one) => one.name === values.mutant);
const isKnown = values.mutant === undefined || mutant !== undefined || reshardMutant !== undefined;
if (!Number.isSafeInteger(seeds) || !Number.isSafeInteger(from) || !isKnown || !['replication', 'resharding', undefined].includes(values.world)) {
  const names = [...MUTANTS, ...RESHARD_MUTANTS].map((one) => one.name).join('|');
  console.error(`usage: simulate --seeds N --from S --min-in-sync 1|2 --world replication|resharding --mutant ${names}`);
  process.exit(2);
}
/** With so many schedules, what never happens can't. */
const MANY = 1000;
/** A schedule of several shards takes as long as some twenty of one. */
const RESHARDING_SHARE = 0.1;
const minimums = values['min-in-sync'] === undefined ? (mutant === undefined ? [1, 2] : [mutant.minInSync]) : [Number(values['min-in-sync'])];

let broken = 0;
let isIdle = false;
let schedules = 0;
if (reshardMutant === undefined && values.world !== 'resharding') {
  for (const minInSync of minimums) {
    const options = mutant === undefined ? '' : ` --mutant ${mutant.name}`;
    await run(`with at least ${minInSync} in sync`, seeds, `--world replication --min-in-sync ${minInSync}${options}`, (seed) => simulate({ seed, minInSync, mutant }), HAPPENS);
  }
}
if (mutant === undefined && values.world !== 'replication') {
  const count = values.world === 'resharding' || reshardMutant !== undefined ? seeds : Math.ceil(seeds * RESHARDING_SHARE);
  const options = reshardMutant === undefined ? '' : ` --mutant ${reshardMutant.name}`;
  await run('of a collection that changes its number of shards', count, `--world resharding${options}`, (seed) => simulateResharding({ seed, mutant: reshardMutant }), REQUIRED);
}
const broke = mutant ?? reshardMutant;
if (broke !== undefined) console.log(`${broke.name} (${broke.title}): caught in ${broken} of ${schedules} schedules`);
process.exitCode = (broken > 0 || isIdle) && broke === undefined ? 1 : 0;

/**
 * @param {string} what
 * @param {number} count
 * @param {string} options of the command that repeats one
 * @param {(seed: number) => Record<string, number> | Promise<Record<string, number>>} simulateOne
 * @param {string[]} required
 */
async function run(what, count, options, simulateOne, required) {
  /** @type {Record<string, number>} */
  const totals = {};
  const began = Date.now();
  for (let seed = from; seed < from + count; seed++) {
    schedules++;
    try {
      for (const [name, times] of Object.entries(await simulateOne(seed))) totals[name] = (totals[name] ?? 0) + times;
    } catch (error) {
      broken++;
      console.log(`node scripts/simulate.mjs --seeds 1 --from ${seed} ${options}   # ${error.message.split('\n')[0]}`);
      if (count === 1) console.log(error.stack);
    }
  }
  const seconds = (Date.now() - began) / 1000;
  const sums = Object.entries(totals).map(([name, times]) => `${times} ${name}`);
  console.log(`${count} schedules from ${from} ${what} in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(1)} a second): ${sums.join(', ')}`);
  const never = required.filter((name) => !(totals[name] > 0));
  if (values.mutant !== undefined || count < MANY * (what.includes('shards') ? RESHARDING_SHARE : 1) || never.length === 0) return;
  isIdle = true;
  console.log(`never happened: ${never.join(', ')}`);
}
