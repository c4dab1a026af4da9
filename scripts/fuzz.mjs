// `npm run fuzz -- --minutes 60`: generated and damaged input against real processes: request bodies, uploads, raw
// HTTP, HTTP/2, RPC frames with and without the cluster's secret, stored files, files that are imported, documents, and
// threads that end. The targets share the minutes. Each finding is written to a file, which
// `npm run fuzz -- --replay FILE` runs again; exit code 1 if there was any.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSanitized, sanitizerEnvironment } from './make/build-sanitized.mjs';
import { ROOT, setUpOrExit } from './setup.mjs';
import { ensureEtcdOrExit } from './make/system-packages.mjs';

const USAGE = `npm run fuzz -- [options]

  --minutes M     how long, all targets together (5)
  --seed N        of the cases (random; printed)
  --only NAMES    bodies, uploads, http, http2, rpc, files, imports, documents, threads; by commas (all)
  --out FOLDER    where findings are written (data/fuzz)
  --sanitize      native addons built with AddressSanitizer and UndefinedBehaviorSanitizer
  --replay FILE   runs a finding again`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    only: { type: 'string', default: '' },
    out: { type: 'string', default: join('data', 'fuzz') },
    sanitize: { type: 'boolean', default: false },
    replay: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const require = createRequire(import.meta.url);
require('../test/support/swc-register.js');
const { TARGET_NAMES } = require('../test/fuzz/fuzz-target.ts');
const { fuzz, replay } = require('../test/fuzz/fuzz-run.ts');
const { openTarget } = require('../test/fuzz/targets.ts');

const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
/** @type {readonly (typeof TARGET_NAMES)[number][]} */
const names = values.only === '' ? TARGET_NAMES : /** @type {any} */ (values.only.split(','));
if (
  values.help ||
  !(minutes > 0) ||
  !Number.isSafeInteger(seed) ||
  !names.every((name) => TARGET_NAMES.includes(name))
) {
  console.error(USAGE);
  process.exit(values.help ? 0 : 2);
}
await setUpOrExit();
const finding = values.replay === undefined ? null : JSON.parse(readFileSync(values.replay, 'utf8'));
if ((finding === null ? names : [finding.target]).includes('rpc')) await ensureEtcdOrExit();
if (values.sanitize) await buildSanitized({ log: (line) => console.log(`setup: ${line}`) });
const environment = values.sanitize ? sanitizerEnvironment() : {};

/** @type {ReturnType<typeof openTarget> | null} */
let target = null;
// The processes of a target end with this one.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    const open = target;
    void (open?.stop() ?? Promise.resolve()).finally(() => process.exit(130));
  });
}

if (finding !== null) {
  const opened = (target = openTarget(finding.target, environment));
  let faults;
  try {
    faults = await replay(opened, finding);
  } finally {
    await opened.stop();
  }
  for (const fault of faults) console.log(fault);
  console.log(faults.length === 0 ? 'nothing is wrong' : `${faults.length} faults`);
  process.exit(faults.length === 0 ? 0 : 1);
}

let findings = 0;
for (const name of names) {
  target = openTarget(name, environment);
  const began = performance.now();
  const report = await fuzz(target, {
    seed,
    untilMs: began + (minutes * 60_000) / names.length,
    folder: join(ROOT, values.out),
    log: (line) => console.log(line),
  });
  findings += report.findings.length;
  console.log(
    `${name}: ${report.cases} cases in ${((performance.now() - began) / 1000).toFixed(0)} s, ${report.findings.length} findings`,
  );
}
console.log(`SEED=${seed}: ${findings} findings${findings === 0 ? '' : `, in ${values.out}`}`);
process.exit(findings === 0 ? 0 : 1);
