// `npm run simulate -- --seeds N --from S --min-in-sync 1|2 --mutant Mx`: runs the core of the replication protocol
// through N random schedules of faults. Prints a line for each schedule that breaks a promise, with the command that
// repeats it, and the totals at the end.
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const require = createRequire(import.meta.url);
require('../test/support/swc-register.js');
const { simulate } = require('../test/simulation/replication-simulation.ts');
const { MUTANTS } = require('../test/simulation/mutants.ts');

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    'min-in-sync': { type: 'string' },
    mutant: { type: 'string' },
  },
});
const seeds = Number(values.seeds);
const from = Number(values.from);
const mutant = MUTANTS.find((one) => one.name === values.mutant);
if (!Number.isSafeInteger(seeds) || !Number.isSafeInteger(from) || (values.mutant !== undefined && mutant === undefined)) {
  console.error(`usage: simulate --seeds N --from S --min-in-sync 1|2 --mutant ${MUTANTS.map((one) => one.name).join('|')}`);
  process.exit(2);
}
const minimums = values['min-in-sync'] === undefined ? (mutant === undefined ? [1, 2] : [mutant.minInSync]) : [Number(values['min-in-sync'])];

let broken = 0;
for (const minInSync of minimums) {
  /** @type {Record<string, number>} */
  const totals = {};
  const began = Date.now();
  for (let seed = from; seed < from + seeds; seed++) {
    try {
      for (const [name, count] of Object.entries(simulate({ seed, minInSync, mutant }))) totals[name] = (totals[name] ?? 0) + count;
    } catch (error) {
      broken++;
      const words = ['node scripts/simulate.mjs --seeds 1', `--from ${seed}`, `--min-in-sync ${minInSync}`, mutant === undefined ? '' : `--mutant ${mutant.name}`];
      console.log(`${words.filter(Boolean).join(' ')}   # ${error.message}`);
      if (seeds === 1) console.log(error.stack);
    }
  }
  const sums = Object.entries(totals).map(([name, count]) => `${count} ${name}`);
  console.log(`${seeds} schedules from ${from} with at least ${minInSync} in sync in ${((Date.now() - began) / 1000).toFixed(1)} s: ${sums.join(', ')}`);
}
if (mutant !== undefined) console.log(`${mutant.name} (${mutant.title}): caught in ${broken} of ${seeds * minimums.length} schedules`);
process.exitCode = broken > 0 && mutant === undefined ? 1 : 0;
