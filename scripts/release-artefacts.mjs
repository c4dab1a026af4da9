// `npm run release:artefacts -- --out FOLDER`: makes every file of a release that this machine can make: npm's packages
// (the service, the built addons of this platform, the client), the wheels, the chart and the notes of this version
// (docs/release.md). Publishes nothing.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makePlatformPackage } from './make/platform-package.mjs';
import { makeReleasePackage } from './make/release-package.mjs';
import { makeWheel } from './make/release-wheel.mjs';
import { ROOT, runNpm, setUp } from './setup.mjs';

const { values } = parseArgs({ options: { out: { type: 'string' } } });
if (values.out === undefined) {
  console.error('usage: npm run release:artefacts -- --out FOLDER');
  process.exit(2);
}
const out = resolve(values.out);
if (existsSync(out) && readdirSync(out).length > 0) {
  console.error(`${out} is not empty`);
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const log = (/** @type {string} */ line) => console.log(`release: ${line}`);
const work = mkdtempSync(join(tmpdir(), 'quiver-release-'));
try {
  await setUp();
  log('the package of this platform');
  const platformFolder = join(work, 'platform');
  const { name, glibc } = await makePlatformPackage(platformFolder);
  log(`${name} needs glibc ${glibc}`);
  const packageFolder = join(work, 'package');
  await makeReleasePackage(packageFolder);
  for (const folder of [packageFolder, platformFolder, join(ROOT, 'clients', 'typescript')]) {
    const file = join(folder, 'package.json');
    const before = readFileSync(file);
    try {
      tellOrigin(file);
      runNpm(['pack', '--pack-destination', out, folder], work);
    } finally {
      writeFileSync(file, before);
    }
  }
  log('the wheels');
  makeWheel({ out, work: join(work, 'wheel'), packageFolder, platformFolder });
  makeChart();
  writeFileSync(join(out, 'NOTES.md'), notes());
  const sums = readdirSync(out).map((file) => `${sha256Of(join(out, file))}  ${file}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
  for (const file of readdirSync(out)) log(join(out, file));
} finally {
  rmSync(work, { recursive: true, force: true });
}

/**
 * Where it was built, which npm wants to know of what is published with provenance; a build elsewhere says nothing.
 * @param {string} file
 */
function tellOrigin(file) {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
  if (!server || !name) return;
  const repository = { type: 'git', url: `git+${server}/${name}.git` };
  writeFileSync(file, `${JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), repository }, null, 2)}\n`);
}

/** As `helm package` does: the chart's folder in an archive. */
function makeChart() {
  const { version } = manifest();
  const file = join(out, `quiver-chart-${version}.tgz`);
  execFileSync('tar', ['-czf', file, '--transform=s,^helm,quiver,', 'helm'], { cwd: ROOT });
}

/** What CHANGELOG.md says of this version, or of the next one while that is not cut. */
function notes() {
  const { version } = manifest();
  const sections = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').split(/^(?=## )/m);
  const own = sections.find((section) => section.startsWith(`## ${version}`));
  const next = sections.find((section) => section.startsWith('## Unreleased'));
  return own ?? next ?? `## ${version}\n`;
}

function manifest() {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
}

/** @param {string} file */
function sha256Of(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
