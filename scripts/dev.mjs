// `npm run dev`: the service in one process for who changes it. Each change of a source compiles what it needs and
// starts the service again; types are checked after that. It has the key `dev-only`, the model `builtin`, no rate limit
// and the demo, and stores in .setup/dev; other settings, and others of these, come from the environment.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { DevLoop } from './dev-loop.cjs';
import { ROOT, SOURCE_FOLDERS, setUp } from './setup.mjs';

const SETTINGS = {
  // A secret has eight characters or more.
  API_KEY: 'dev-only',
  DATA_DIR: join(ROOT, '.setup', 'dev'),
  EMBEDDING_MODEL: 'builtin',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_PER_MINUTE: '0',
};
const environment = { ...SETTINGS, ...process.env };
/** @type {import('node:child_process').ChildProcess | null} */
let check = null;

async function build() {
  endCheck();
  await setUp({ isUnchecked: true });
}

function endCheck() {
  const { pid, exitCode, signalCode } = check ?? {};
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid);
}

/** Resolves when it has the demo, whose first load takes a moment. Rejects when the service ends before it serves. */
async function start() {
  const child = spawn(process.execPath, [join(ROOT, 'scripts', 'quiver.cjs'), 'embedded'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let isServing = false;
  /** @type {Promise<string>} */
  const ended = new Promise((done) => child.once('exit', (code, signal) => done(signal ?? `code ${code}`)));
  const origin = await new Promise((done, fail) => {
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      process.stdout.write(text);
      const [, found] = /^Quiver serves on (\S+) /m.exec((said = (said + text).slice(-10_000))) ?? [];
      if (found !== undefined) done(found);
    });
    void ended.then((how) => {
      fail(new Error(`the service ended with ${how}`));
      if (isServing) say(`the service ended with ${how}; it starts again after the next change`);
    });
  });
  isServing = true;
  await loadDemo(origin).catch((error) => say(`the demo was not loaded: ${error.message}`));
  const words = [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '--noEmit', '-p', 'tsconfig.build.json'];
  // A group of its own, with what it starts.
  check = spawn(process.execPath, words, { cwd: ROOT, stdio: 'inherit', detached: true });
  return {
    stop: async () => {
      isServing = false;
      child.kill();
      await ended;
    },
  };
}

/** @param {string} origin */
async function loadDemo(origin) {
  const { ok, status } = await fetch(`${origin}/v1/demo`, {
    method: 'POST',
    headers: { 'x-api-key': environment.API_KEY },
  });
  if (!ok) throw new Error(`the answer was ${status}`);
}

/** @param {string} line */
function say(line) {
  console.log(`dev: ${line}`);
}

const loop = new DevLoop({
  folders: [...SOURCE_FOLDERS, 'dashboard', 'proto'].map((folder) => join(ROOT, folder)),
  build,
  start,
  say,
});
let isStopping = false;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => {
    // npm forwards a Ctrl-C that the terminal has sent already.
    if (isStopping) return;
    isStopping = true;
    endCheck();
    void loop.close().then(() => process.exit(0));
  });
await loop.begin();
