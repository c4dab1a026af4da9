// `npm run fault -- --schedules N --seed S --seconds T --operations O --target cluster|embedded`: N random schedules of
// faults, each of T seconds at least, and for as long as it takes clients to ask O times, against a new service of real
// processes with recorded clients. Prints a line for each schedule; for one that breaks a
// promise it prints the violation and the command that repeats it. The seed determines the faults and the clients'
// requests, but not the timing.
// `npm run fault -- --backups N --target cluster|embedded`: backups under writes while processes die, each restored
// into another shape and compared with what clients saw.
// `npm run fault -- --matrix --only PATTERN --seed S`: each kind of file that is damaged, at each moment, beside what
// is right (test/fault/matrix/expectations.ts): a line for each cell; exit code 1 if one is not as it should be.
// `npm run fault -- --failovers N --failure kill|pause|hang-disk`: how long a shard takes no write after its primary
// failed.
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { setUpOrExit } from './setup.mjs';
import { ensureEtcdOrExit } from './make/system-packages.mjs';

const require = createRequire(import.meta.url);
const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    seconds: { type: 'string', default: '20' },
    operations: { type: 'string', default: '0' },
    target: { type: 'string', default: 'cluster' },
    failovers: { type: 'string' },
    backups: { type: 'string' },
    matrix: { type: 'boolean' },
    only: { type: 'string', default: '' },
    failure: { type: 'string', default: 'kill' },
  },
});
const [schedules, from, seconds, least] = [values.schedules, values.seed, values.seconds, values.operations].map(
  Number,
);
if (
  ![schedules, from, least].every(Number.isSafeInteger) ||
  !(seconds > 0) ||
  !['cluster', 'embedded'].includes(values.target)
) {
  exitWithUsage();
}
await setUpOrExit();
if (values.matrix || values.target === 'cluster' || values.failovers !== undefined) await ensureEtcdOrExit();
// The processes of a schedule end with this one.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
require('../test/support/swc-register.js');
const { runSchedule } = require('../test/fault/fault-schedule.ts');
const { backupRounds } = require('../test/fault/backup-rounds.ts');
const { FAILURES, failoverTimes } = require('../test/fault/failovers.ts');

if (values.matrix) {
  const { NOT_TRIED } = require('../test/fault/matrix/expectations.ts');
  const { lineOf } = require('../test/fault/matrix/cell.ts');
  const { runMatrix } = require('../test/fault/matrix/fault-matrix.ts');
  // Of many processes at once.
  process.setMaxListeners(0);
  const pattern = new RegExp(values.only);
  const startedMs = Date.now();
  console.log('place | kind | fault | form | moment | expected | seen | ok');
  /** @param {string} kind @param {string} place */
  const only = (kind, place) => pattern.test(`${place}: ${kind}`);
  /** @param {any} cell */
  const onCell = (cell) => console.log(lineOf(cell));
  const { cells, mismatches, known } = await runMatrix({ seed: from, only, onCell });
  for (const { place, kind, fault, why } of NOT_TRIED) console.log(`no cell: ${place} | ${kind} | ${fault} | ${why}`);
  for (const { cell, why } of known) console.log(`known not to hold: ${lineOf(cell)}: ${why}`);
  for (const cell of mismatches) console.log(`not as it should be: ${lineOf(cell)}`);
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(0);
  console.log(
    `seed ${from}: ${cells} cells in ${seconds} s, ${mismatches.length} not as they should be, ${known.length} known not to hold`,
  );
  process.exit(mismatches.length > 0 ? 1 : 0);
}

if (values.failovers !== undefined) {
  const rounds = Number(values.failovers);
  if (!Number.isSafeInteger(rounds) || rounds < 1 || !Object.hasOwn(FAILURES, values.failure)) exitWithUsage();
  /** @type {number[]} */
  const times = await failoverTimes({ failure: values.failure, rounds });
  times.sort((a, b) => a - b);
  /** @param {number} share */
  const quantile = (share) => `${(times[Math.ceil(times.length * share) - 1] / 1000).toFixed(1)} s`;
  console.log(
    `${values.failure}: ${rounds} times without a write for ${quantile(0.5)} (median), ${quantile(0.99)} (99 of 100), ${quantile(1)} (longest)`,
  );
  process.exit(0);
}

if (values.backups !== undefined) {
  const rounds = Number(values.backups);
  if (!Number.isSafeInteger(rounds) || rounds < 1) exitWithUsage();
  /** @param {string} line */
  const onRound = (line) => console.log(line);
  const report = await backupRounds({
    target: values.target === 'embedded' ? 'embedded' : 'cluster',
    rounds,
    seed: from,
    onRound,
  });
  for (const violation of report.violations) console.log(`  ${violation}`);
  console.log(
    `seed ${from}: ${report.backups} backups (${report.failed} failed when a process died, ${report.kills} kills), ${report.acknowledged} acknowledged writes, ${report.violations.length} violations`,
  );
  process.exit(report.violations.length > 0 ? 1 : 0);
}

const target = values.target === 'embedded' ? 'embedded' : 'cluster';

/** Violations printed per schedule; the evidence contains all of them. */
const SHOWN_MAX = 10;
let broken = 0;
let operations = 0;
let reshards = 0;
const began = Date.now();
for (let seed = from; seed < from + schedules; seed += 1) {
  const report = await runSchedule({ target, seed, seconds, operations: least });
  operations += report.operations;
  reshards += report.reshards.begun;
  const sums = [
    `${report.faults.length} faults`,
    `${report.operations} operations`,
    `${report.acknowledgedWrites} acknowledged writes`,
    `${report.unknown} unknown`,
    `${report.reshards.begun} reshards begun`,
    `${report.reshards.ended} ended`,
    `${report.reshards.givenUp} given up`,
    `${report.seconds.run.toFixed(0)} s, checked in ${report.seconds.check.toFixed(1)} s`,
    `${report.violations.length} violations`,
  ];
  console.log(`seed ${seed}: ${sums.join(', ')} (${report.faults.join('; ')})`);
  if (report.violations.length === 0) continue;
  broken += 1;
  for (const violation of report.violations.slice(0, SHOWN_MAX)) console.log(`  ${violation}`);
  console.log(`  evidence: ${report.evidence}.{txt,jsonl}`);
  console.log(
    `  node scripts/fault.mjs --schedules 1 --seed ${seed} --seconds ${seconds}${least > 0 ? ` --operations ${least}` : ''} --target ${target}`,
  );
}
console.log(
  `${schedules} schedules from ${from} in ${((Date.now() - began) / 1000).toFixed(0)} s: ${operations} operations, ${reshards} reshards, ${broken} schedules broke a promise`,
);
process.exitCode = broken > 0 ? 1 : 0;

function exitWithUsage() {
  console.error(
    'usage: fault --schedules N --seed S --seconds T --operations O --target cluster|embedded\n       fault --backups N --seed S --target cluster|embedded\n       fault --failovers N --failure kill|pause|hang-disk\n       fault --matrix --only PATTERN --seed S',
  );
  process.exit(2);
}
