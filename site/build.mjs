// `npm run docs`: the documentation as a site of static pages, in site/dist/<version>/, with a list of the versions
// that lie there. Installs what it needs in this folder, so that nobody else has to.
//
//   npm run docs -- --out FOLDER --base /quiver/    elsewhere, and for another address; what lies there stays
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ROOT, runNpm, setUpOrExit } from '../scripts/setup.mjs';
import { checkLinks } from './check-links.cjs';
import { stage } from './stage.cjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const STAGED = join(HERE, 'staged');
const READY_WITHIN_MS = 120_000;

const { values } = parseArgs({
  options: { out: { type: 'string', default: join(HERE, 'dist') }, base: { type: 'string', default: '/' } },
});
const version = `v${JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version}`;
const out = resolve(values.out);
const base = `/${values.base.split('/').filter(Boolean).concat(version).join('/')}/`;

await setUpOrExit();
install();
rmSync(STAGED, { recursive: true, force: true });
const { pages, sidebar } = stage({ root: ROOT, folder: STAGED, document: await openApiDocument() });
cpSync(join(HERE, 'vitepress'), join(STAGED, '.vitepress'), { recursive: true });
cpSync(join(ROOT, 'dashboard/favicon.svg'), join(STAGED, 'public/favicon.svg'));
writeFileSync(join(STAGED, '.vitepress/site.json'), JSON.stringify({ version, base, sidebar }));

const target = join(out, version);
rmSync(target, { recursive: true, force: true });
const { status } = spawnSync(
  process.execPath,
  [join(HERE, 'node_modules/vitepress/bin/vitepress.js'), 'build', STAGED, '--outDir', target],
  { stdio: 'inherit', cwd: HERE },
);
if (status !== 0) process.exit(status ?? 1);

const { count, broken } = checkLinks(target, base);
if (broken.length > 0) {
  console.error(`${broken.length} links lead nowhere:\n${broken.join('\n')}`);
  process.exit(1);
}
const versions = readdirSync(out)
  .filter((name) => /^v\d/.test(name) && statSync(join(out, name)).isDirectory())
  .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
writeFileSync(join(out, 'versions.json'), JSON.stringify(versions));
writeFileSync(
  join(out, 'index.html'),
  `<!DOCTYPE html><meta charset="utf-8"><title>Quiver</title><meta http-equiv="refresh" content="0; url=${versions[0]}/"><a href="${versions[0]}/">Quiver ${versions[0]}</a>\n`,
);
console.log(`${pages.length} pages of ${version} in ${target}; ${count} links lead somewhere`);

/** From the lock file beside this one, when that has changed. */
function install() {
  const [lock, stamp] = [join(HERE, 'package-lock.json'), join(HERE, 'node_modules/.stamp')];
  const wanted = readFileSync(lock, 'utf8');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  console.log('installing what makes the site');
  runNpm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], HERE);
  writeFileSync(stamp, wanted);
}

/** As a service has it that was started for this. @returns {Promise<Record<string, any>>} */
async function openApiDocument() {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-docs-'));
  const port = await freePort();
  const service = spawn(process.execPath, [join(ROOT, 'scripts/try-service.cjs')], {
    env: {
      ...process.env,
      DATA_DIR: folder,
      EMBEDDING_MODEL: 'builtin',
      HOST: '127.0.0.1',
      HTTP_THREADS: '1',
      LOG_LEVEL: 'error',
      OPS_PORT: '0',
      PORT: String(port),
    },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = new Promise((done) => service.once('close', done));
  try {
    const until = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/openapi.json`).catch(() => null);
      if (answer?.ok) return /** @type {Record<string, any>} */ (await answer.json());
      if (service.exitCode !== null || performance.now() > until)
        throw new Error('the service whose endpoints are documented does not start');
      await new Promise((wake) => setTimeout(wake, 50));
    }
  } finally {
    service.kill();
    await ended;
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => done(port));
    });
  });
}
