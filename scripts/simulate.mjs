// `npm run simulate -- --seeds N --from S --min-in-sync 1|2 --mutant Mx`: runs the core of the replication protocol
// through N random schedules of faults, for each minimum of replicas in sync. Then a tenth as many of a collection that
// changes its number of shards, with coordinators, driver and several shards, and as many of backups and restores;
// `--world replication|resharding|restoring` runs one of them only. With `--threads`, reads of one shard come to other
// threads of the nodes, which answer them by permits. Prints a line for each schedule that breaks a promise, with the
// command that repeats it, and at the end how often what happened; of many schedules, it fails if something never did.
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const require = createRequire(import.meta.url);
require('../test/support/swc-register.js');
const { HAPPENS, simulate } = require('../test/simulation/replication-simulation.ts');
const { RESHARD_MUTANTS } = require('../test/simulation/resharding/reshard-mutants.ts');
const { REQUIRED, simulateResharding } = require('../test/simulation/resharding/reshard-simulation.ts');
const { RESTORE_MUTANTS } = require('../test/simulation/restoring/restore-mutants.ts');
const { REQUIRED: RESTORE_REQUIRED, simulateRestoring } = require('../test/simulation/restoring/restore-simulation.ts');
const { MUTANTS } = require('../test/simulation/mutants.ts');

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    'min-in-sync': { type: 'string' },
    mutant: { type: 'string' },
    world: { type: 'string' },
    threads: { type: 'boolean' },
  },
});
const seeds = Number(values.seeds);
const from = Number(values.from);
/** What has to happen where threads read. */
const THREADED = [
  ...HAPPENS.filter((name) => !name.startsWith('followerReads')),
  'threadReads',
  'threadReadsAtFollowers',
];
/**
 * Each with its broken variants. A schedule of several shards takes as long as some twenty of one.
 * @type {{ name: string, what: string, mutants: any[], share: number, simulateOne?: (options: any) =>
 * Promise<Record<string, number>>, required: string[] }[]}
 */
const WORLDS = [
  {
    name: 'replication',
    what: 'of one shard',
    mutants: MUTANTS,
    share: 1,
    required: values.threads ? THREADED : HAPPENS,
  },
  {
    name: 'resharding',
    what: 'of a collection that changes its number of shards',
    mutants: RESHARD_MUTANTS,
    share: 0.1,
    simulateOne: simulateResharding,
    required: REQUIRED,
  },
  {
    name: 'restoring',
    what: 'of backups and restores',
    mutants: RESTORE_MUTANTS,
    share: 0.1,
    simulateOne: simulateRestoring,
    required: RESTORE_REQUIRED,
  },
];
const broke = WORLDS.flatMap(({ mutants }) => mutants).find((one) => one.name === values.mutant);
const chosen = WORLDS.filter(({ name, mutants }) =>
  broke === undefined ? (values.world ?? name) === name : mutants.includes(broke),
);
if (
  !Number.isSafeInteger(seeds) ||
  !Number.isSafeInteger(from) ||
  (values.mutant !== undefined && broke === undefined) ||
  chosen.length === 0
) {
  const names = WORLDS.flatMap(({ mutants }) => mutants.map(({ name }) => name));
  console.error(
    `usage: simulate --seeds N --from S --min-in-sync 1|2 --world ${WORLDS.map(({ name }) => name).join('|')} --threads --mutant ${names.join('|')}`,
  );
  process.exit(2);
}
/** With so many schedules of one shard, what never happens can't. */
const MANY = 1000;

let broken = 0;
let isIdle = false;
let schedules = 0;
for (const { name, what, share, simulateOne, required } of chosen) {
  const options = `--world ${name}${broke === undefined ? '' : ` --mutant ${broke.name}`}`;
  const isAlone = chosen.length === 1;
  if (simulateOne !== undefined) {
    const one = (/** @type {number} */ seed) => simulateOne({ seed, mutant: broke });
    await run(what, {
      count: isAlone ? seeds : Math.ceil(seeds * share),
      many: MANY * share,
      options,
      simulateOne: one,
      required,
    });
    continue;
  }
  for (const minInSync of values['min-in-sync'] !== undefined
    ? [Number(values['min-in-sync'])]
    : broke === undefined
      ? [1, 2]
      : [broke.minInSync]) {
    const one = (/** @type {number} */ seed) => simulate({ seed, minInSync, mutant: broke, threads: values.threads });
    await run(`with at least ${minInSync} in sync`, {
      count: seeds,
      many: MANY,
      options: `${options} --min-in-sync ${minInSync}${values.threads ? ' --threads' : ''}`,
      simulateOne: one,
      required,
    });
  }
}
if (broke !== undefined) console.log(`${broke.name} (${broke.title}): caught in ${broken} of ${schedules} schedules`);
process.exitCode = (broken > 0 || isIdle) && broke === undefined ? 1 : 0;

/**
 * @param {string} what
 * @param {{ count: number, many: number, options: string, simulateOne: (seed: number) => Record<string, number> |
 * Promise<Record<string, number>>, required: string[] }} how
 *   `options`: of the command that repeats one; `many`: with so many schedules, what never happens can't
 */
async function run(what, { count, many, options, simulateOne, required }) {
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
  console.log(
    `${count} schedules from ${from} ${what} in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(1)} a second): ${sums.join(', ')}`,
  );
  const never = required.filter((name) => !(totals[name] > 0));
  if (values.mutant !== undefined || count < many || never.length === 0) return;
  isIdle = true;
  console.log(`never happened: ${never.join(', ')}`);
}
