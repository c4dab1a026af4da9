// `npm run hostile`: hostile clients and strangers against a real process (or a cluster), one attack after the other
// and then all at once, while one normal client searches and another asks /livez. Prints for each attack how long these
// two waited. Exit code 1 if a wait exceeds the limit, or if anything else happened that no client may cause.
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setUpOrExit } from './setup.mjs';
import { ensureEtcdOrExit } from './make/system-packages.mjs';

const USAGE = `npm run hostile -- [options]

  --only NAMES     attacks whose names begin with one of these, by commas; "all": all at once (every attack, then all)
  --together       the attacks named by --only all at once, in one round
  --mixes N        N rounds in which each of the clients attacks in another way (0)
  --seconds S      how long each attack lasts (5)
  --limit-ms M     longest that a search or /livez may wait (250)
  --patience S     how long an answer that is due is waited for at most (30)
  --nice N         priority of the hostile clients; a busy machine may have no turn for them at 19 (19)
  --seed N         of what the clients send (1)
  --member-tls     with --cluster: members speak TLS with each other
  --cluster        against 1 coordinator, 2 storage nodes and etcd instead of one process
  --profile        shows for each attack the longest stretch of work on the main thread (of one process)
  --list           names the attacks`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    together: { type: 'boolean', default: false },
    mixes: { type: 'string', default: '0' },
    seconds: { type: 'string', default: '5' },
    'limit-ms': { type: 'string', default: '250' },
    patience: { type: 'string', default: '30' },
    nice: { type: 'string', default: '19' },
    seed: { type: 'string', default: '1' },
    cluster: { type: 'boolean', default: false },
    'member-tls': { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [seconds, limitMs, patience, seed, nice] = [
  values.seconds,
  values['limit-ms'],
  values.patience,
  values.seed,
  values.nice,
].map(Number);
if (
  values.help ||
  ![seconds, limitMs, patience].every((value) => value > 0) ||
  !Number.isSafeInteger(seed) ||
  !Number.isInteger(nice)
) {
  console.error(USAGE);
  process.exit(values.help ? 0 : 2);
}

const require = createRequire(import.meta.url);
const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
require('../test/support/swc-register.js');
const { ATTACKS } = require('../test/hostile/attacks/catalogue.ts');
const { roundsOf, runRound } = require('../test/hostile/hostile-run.ts');
const { excesses, tableHead, tableRow } = require('../test/hostile/hostile-report.ts');
const { ClusterStages, EmbeddedStages } = require('../test/hostile/stage.ts');
const { longestStretch } = require('../test/hostile/profile.ts');

if (values.list) {
  for (const { name, role } of ATTACKS) console.log(`${name} (${role})`);
  process.exit(0);
}
const rounds = roundsOf(values.only.split(',').filter(Boolean), {
  together: values.together,
  mixes: Number(values.mixes),
  seed,
  isCluster: values.cluster,
});
if (rounds.length < 2) {
  console.error(`there is no attack named ${values.only}; --list names them`);
  process.exit(2);
}
await setUpOrExit();
if (values.cluster) await ensureEtcdOrExit();

const profile = values.profile && !values.cluster ? join(tmpdir(), `quiver-hostile-${process.pid}.cpuprofile`) : null;
/** @type {Record<string, string>} */
const environment =
  profile === null
    ? {}
    : { options: `--require ${here('../test/hostile/profile-at-exit.cjs')}`, QUIVER_PROFILE: profile };
const stages = values.cluster ? new ClusterStages({ byTls: values['member-tls'] }) : new EmbeddedStages(environment);
/** @type {Awaited<ReturnType<typeof stages.open>> | null} */
let stage = null;
let isSecured = false;
const end = async () => {
  const open = stage;
  stage = null;
  await open?.close();
};
// Started processes end with this one, and leave no folders.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    void end().finally(() => {
      stages.close();
      process.exit(130);
    });
  });
}

const over = [];
console.log(tableHead());
try {
  for (const round of rounds) {
    // A new process for each attack, so that it does not suffer from the attack before; a cluster is reused while it is
    // healthy.
    if (stage !== null && round.isSecured !== isSecured) await end();
    isSecured = round.isSecured;
    stage ??= await stages.open(isSecured);
    const report = await runRound(stage, { ...round, seconds, seed, patienceMs: patience * 1000, nice });
    console.log(tableRow(report, limitMs));
    const found = excesses(report, limitMs);
    if (found.length > 0) over.push({ name: round.name, found });
    if (!values.cluster || found.length > 0) await end();
    if (profile !== null && found.length > 0) {
      const { milliseconds, functions } = longestStretch(profile);
      console.log(`\n  ${milliseconds} ms without a rest:\n${functions.map((line) => `    ${line}`).join('\n')}\n`);
    }
  }
} finally {
  await end();
  stages.close();
}
for (const { name, found } of over) console.log(`\n${name}\n${found.map((line) => `  ${line}`).join('\n')}`);
console.log(
  `\n${rounds.length} rounds, ${over.length} over the limit of ${limitMs} ms or otherwise wrong; again: npm run hostile -- --seed ${seed} --only <names>`,
);
process.exitCode = over.length > 0 ? 1 : 0;
