// `npm run test:release -- ARTEFACTS [--root FOLDER]`: installs what `npm run release:artefacts` made, each in an empty
// folder, and takes a tour: the service started, vectors stored by the command line, a search answered, and the library
// in a program. With --root, npm's part runs in that root file system by chroot, which has Node and npm and nothing
// else; that needs root. Prints times and sizes.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { freePorts } from './make/free-ports.mjs';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { root: { type: 'string' } } });
if (positionals.length !== 1) {
  console.error('usage: npm run test:release -- ARTEFACTS [--root FOLDER]');
  process.exit(2);
}
const artefacts = resolve(positionals[0]);
const READY_WITHIN_MS = 300_000;

const LIBRARY_TOUR = `
const { openQuiver } = require('quiver');
(async () => {
  const quiver = await openQuiver('./library-data');
  await quiver.createCollection({ name: 'rows', dim: 2 });
  const rows = quiver.collection('rows');
  await rows.upsert({ external_id: 'b', vector: [0, 1] });
  console.log(JSON.stringify(await rows.search({ vector: [0.1, 0.9], k: 1 })));
  await quiver.close();
})();
`;

await tourOfPackages();
await tourOfWheel();

async function tourOfPackages() {
  const base = values.root === undefined ? tmpdir() : join(resolve(values.root), 'tmp');
  const folder = mkdtempSync(join(base, 'quiver-tour-'));
  const at = values.root === undefined ? folder : `/${relative(resolve(values.root), folder)}`;
  const inRoot = (/** @type {string} */ line) => ({
    command: values.root === undefined ? 'sh' : 'chroot',
    words: [...(values.root === undefined ? [] : [resolve(values.root), 'sh']), '-c', `cd ${at} && ${line}`],
  });
  try {
    const tarballs = readdirSync(artefacts).filter((name) => /^quiver-(linux-.*|\d.*)\.tgz$/.test(name));
    for (const name of tarballs) cpSync(join(artefacts, name), join(folder, name));
    writeFileSync(join(folder, 'package.json'), '{"name": "empty", "private": true}');
    const started = performance.now();
    await tour('npm packages', folder, {
      install: inRoot(`npm install --no-audit --no-fund ${tarballs.map((name) => `./${name}`).join(' ')}`),
      measured: 'node_modules',
      command: (line) => inRoot(`exec node_modules/.bin/quiver ${line}`),
      started,
    });
    writeFileSync(join(folder, 'tour.cjs'), LIBRARY_TOUR);
    const answer = runLine(inRoot('node tour.cjs'), {});
    if (!answer.includes('"external_id":"b"')) throw new Error(`the library answers ${answer}`);
    console.log('npm packages: the library answers');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tourOfWheel() {
  const wheel = readdirSync(artefacts).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error(`no wheel is in ${artefacts}`);
  const folder = mkdtempSync(join(tmpdir(), 'quiver-tour-'));
  try {
    const started = performance.now();
    const pip = `venv/bin/pip install --quiet --disable-pip-version-check ${join(artefacts, wheel)}`;
    await tour('wheel', folder, {
      install: { command: 'sh', words: ['-c', `cd ${folder} && python3 -m venv venv && ${pip}`] },
      measured: 'venv/lib',
      command: (line) => ({ command: 'sh', words: ['-c', `cd ${folder} && exec venv/bin/quiver ${line}`] }),
      started,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @typedef {{ command: string, words: string[] }} Line */

/**
 * @param {string} what
 * @param {string} folder
 * @param {{ install: Line, measured: string, command: (line: string) => Line, started: number }} parts
 */
async function tour(what, folder, { install, measured, command, started }) {
  runLine(install, {});
  const megabytes = Number(execFileSync('du', ['-sm', join(folder, measured)], { encoding: 'utf8' }).split('\t')[0]);
  const installed = performance.now();
  const [port, opsPort] = await freePorts(2);
  const settings = {
    PORT: String(port),
    OPS_PORT: String(opsPort),
    API_KEY: 'tour-key',
    QUIVER_URL: `http://127.0.0.1:${port}`,
    QUIVER_API_KEY: 'tour-key',
    DATA_DIR: 'data',
  };
  const { command: name, words } = command('embedded');
  const server = spawn(name, words, { env: environment(settings), stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((done) => server.once('exit', done));
  let said = '';
  server.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
    process.stderr.write(text);
  });
  try {
    await untilReady(opsPort, server);
    if (said.includes('setup:')) throw new Error('it was built here: the native parts of the release were not taken');
    writeFileSync(join(folder, 'rows.csv'), 'id,vector,colour\na,"[1,0]",red\nb,"[0,1]",blue\n');
    runLine(command('import rows.csv --into rows --create'), settings);
    const answer = runLine(command("search rows --vector '[0.1,0.9]' -k 1"), settings);
    if (!/1\s+0\.9939\s+b\s/.test(answer)) throw new Error(`the search answers ${answer}`);
    const seconds = (/** @type {number} */ from) => ((performance.now() - from) / 1000).toFixed(1);
    console.log(
      `${what}: installed in ${((installed - started) / 1000).toFixed(1)} s, ${megabytes} MB; a search answered after ${seconds(started)} s`,
    );
  } finally {
    server.kill();
    await ended;
  }
}

/**
 * @param {Line} line
 * @param {Record<string, string>} settings
 */
function runLine({ command, words }, settings) {
  return execFileSync(command, words, {
    encoding: 'utf8',
    env: environment(settings),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/**
 * Nothing of the caller's but what reaches the registries.
 * @param {Record<string, string>} settings
 */
function environment(settings) {
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(PATH|HOME|LANG|(https?|no)_proxy|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|PIP_.*)$/i.test(name),
  );
  const path =
    values.root === undefined
      ? {}
      : { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' };
  return { ...Object.fromEntries(kept), ...path, ...settings };
}

/**
 * @param {number} opsPort
 * @param {import('node:child_process').ChildProcess} server
 */
async function untilReady(opsPort, server) {
  const end = performance.now() + READY_WITHIN_MS;
  while (performance.now() < end) {
    if (server.exitCode !== null) throw new Error(`the service ended with ${server.exitCode}`);
    const status = await fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error('the service is not ready');
}
