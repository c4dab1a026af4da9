import { spawn, type ChildProcess, spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../../../../support/eventually';

/** `runUntilSignal` in real processes: only there do signals, exit codes and crashes mean anything. */

const root = resolve(__dirname, '../../../../..');
const PRELUDE = `
  const { runUntilSignal } = require(${JSON.stringify(resolve(root, 'shared/base/process/life-cycle.ts'))});
  const { QuiverError } = require(${JSON.stringify(resolve(root, 'shared/base/errors/quiver-error.ts'))});
  const { createLogger } = require(${JSON.stringify(resolve(root, 'shared/base/logs/pino-logger.ts'))});
  const { StandardOutput } = require(${JSON.stringify(resolve(root, 'shared/base/process/standard-output.ts'))});
  const logger = createLogger({ level: 'info', secrets: [], output: new StandardOutput(process.env) });
  const busy = () => setInterval(() => {}, 1000);
  const never = new Promise(() => {});
`;

class Script {
  output = '';
  errors = '';
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  private readonly child: ChildProcess;

  /**
   * `file`: where standard output and standard error go; default: here. `from`: what is started, with Node and its
   * words behind.
   */
  constructor(body: string, { file, from = [] }: { file?: number; from?: string[] } = {}) {
    const [command, ...words] = [
      ...from,
      process.execPath,
      '-r',
      resolve(root, 'test/support/swc-register.js'),
      '-e',
      PRELUDE + body,
    ];
    this.child = spawn(command, words, { cwd: root, ...(file !== undefined && { stdio: ['ignore', file, file] }) });
    this.child.stdout?.on('data', (chunk) => (this.output += chunk));
    this.child.stderr?.on('data', (chunk) => (this.errors += chunk));
    this.ended = new Promise((done) => this.child.once('close', (code, signal) => done(code ?? signal)));
  }

  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGHUP'): void {
    this.child.kill(name);
  }

  async says(text: string): Promise<void> {
    await eventually(`"${text}" is said`, () => this.output.includes(text)).catch((error: Error) => {
      throw new Error(`${error.message}: ${this.output}${this.errors}`, { cause: error });
    });
  }

  messages(): string[] {
    return this.output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line).msg as string);
  }
}

const SERVICE = `
  runUntilSignal({
    start: async () => {
      const timer = busy();
      logger.info({}, 'running');
      return { stop: async () => { clearInterval(timer); logger.info({}, 'drained'); } };
    },
    hardStopMs: 10000,
    logger,
  });
`;

test.each(['SIGTERM', 'SIGINT'] as const)('%s stops the service in order and exits 0', async (signal) => {
  const script = new Script(SERVICE);
  await script.says('running');
  script.signal(signal);
  expect(await script.ended).toBe(0);
  expect(script.messages()).toEqual(['running', 'stopping', 'drained', 'stopped']);
});

test('a stop that takes too long ends hard and non-zero', async () => {
  const script = new Script(`
    runUntilSignal({ start: async () => { busy(); logger.info({}, 'running'); return { stop: () => never }; }, hardStopMs: 50, logger });
  `);
  await script.says('running');
  script.signal('SIGTERM');
  expect(await script.ended).toBe(1);
  expect(script.messages()).toContain('the stop took too long');
});

test('a thread that is stuck does not hold the end', async () => {
  const script = new Script(`
    const { noteStuckThread } = require(${JSON.stringify(resolve(root, 'shared/base/process/stuck-threads.ts'))});
    const { Worker } = require('node:worker_threads');
    // Native code that no thread can be taken out of.
    const worker = new Worker("require('node:crypto').pbkdf2Sync('a', 'b', 60_000_000, 64, 'sha512')", { eval: true });
    worker.once('online', () => {
      noteStuckThread();
      runUntilSignal({ start: async () => { busy(); logger.info({}, 'running'); return { stop: async () => {} }; }, hardStopMs: 60000, logger });
    });
  `);
  await script.says('running');
  script.signal('SIGTERM');
  expect(await script.ended).toBe('SIGKILL');
  expect(script.messages()).toEqual([
    'running',
    'stopping',
    'stopped',
    'a thread is stuck: the process ends by SIGKILL',
  ]);
});

test('a second signal ends hard and non-zero', async () => {
  const script = new Script(`
    runUntilSignal({ start: async () => { busy(); logger.info({}, 'running'); return { stop: () => never }; }, hardStopMs: 60000, logger });
  `);
  await script.says('running');
  script.signal('SIGTERM');
  await script.says('stopping');
  // Again and again, as an impatient person does: the first ones may still count as echoes.
  const again = setInterval(() => script.signal('SIGINT'), 100);
  expect(await script.ended).toBe(130);
  clearInterval(again);
});

test('the echo of a signal, as npm passes on what the terminal sent too, does not cut the stop short', async () => {
  const script = new Script(`
    runUntilSignal({
      start: async () => {
        const timer = busy();
        logger.info({}, 'running');
        return { stop: async () => { await new Promise((done) => process.once('SIGINT', done)); clearInterval(timer); logger.info({}, 'drained'); } };
      },
      hardStopMs: 10000,
      logger,
    });
  `);
  await script.says('running');
  script.signal('SIGINT');
  await script.says('stopping');
  script.signal('SIGINT');
  expect(await script.ended).toBe(0);
  expect(script.messages()).toEqual(['running', 'stopping', 'drained', 'stopped']);
});

test('a signal during the start gives it up and exits 0', async () => {
  const script = new Script(`
    runUntilSignal({
      start: (ending) => new Promise((resolve, reject) => {
        busy();
        ending.addEventListener('abort', () => reject(new Error('given up')));
        logger.info({}, 'recovering');
      }),
      hardStopMs: 10000,
      logger,
    });
  `);
  await script.says('recovering');
  script.signal('SIGTERM');
  expect(await script.ended).toBe(0);
});

test('what a start resolved to after the signal is stopped', async () => {
  const script = new Script(`
    runUntilSignal({
      start: (ending) => new Promise((resolve) => {
        busy();
        ending.addEventListener('abort', () => resolve({ stop: async () => logger.info({}, 'drained') }));
        logger.info({}, 'recovering');
      }),
      hardStopMs: 10000,
      logger,
    });
  `);
  await script.says('recovering');
  script.signal('SIGTERM');
  expect(await script.ended).toBe(0);
  expect(script.messages()).toContain('drained');
});

test('an operating error at the start is one line on standard error and exit 1', async () => {
  const script = new Script(`
    runUntilSignal({ start: async () => { throw new QuiverError('invalid_parameter', 'PORT=7 is taken'); }, hardStopMs: 1000, logger });
  `);
  expect(await script.ended).toBe(1);
  expect(script.errors).toBe('PORT=7 is taken\n');
});

test.each([
  ['an uncaught exception', `setTimeout(() => { throw new Error('bang'); }, 1);`, 'uncaught exception'],
  ['an unhandled rejection', `Promise.reject(new Error('bang'));`, 'unhandled rejection'],
])('%s is a crash: logged with its stack, exit 1, no stop', async (_title, fault, message) => {
  const script = new Script(`
    runUntilSignal({
      start: async () => { busy(); ${fault} return { stop: async () => logger.info({}, 'drained') }; },
      hardStopMs: 1000,
      logger,
    });
  `);
  expect(await script.ended).toBe(1);
  expect(script.messages()).toEqual([message]);
  const line = JSON.parse(script.output) as { level: number; error: { message: string; stack: string } };
  expect(line).toMatchObject({ level: 60, error: { message: 'bang' } });
  expect(line.error.stack).toContain('Error: bang');
});

test('a stop that fails is a crash', async () => {
  const script = new Script(`
    runUntilSignal({ start: async () => { busy(); logger.info({}, 'running'); return { stop: async () => { throw new Error('disk'); } }; }, hardStopMs: 9000, logger });
  `);
  await script.says('running');
  script.signal('SIGTERM');
  expect(await script.ended).toBe(1);
  expect(script.messages()).toContain('the stop failed');
});

test('an error of storage at the start says where, on standard error and in the log', async () => {
  const script = new Script(`
    runUntilSignal({ start: async () => { throw new QuiverError('storage_damaged', 'stored data are damaged', { details: { folder: '/data/cluster', place: '000004.log' } }); }, hardStopMs: 1000, logger });
  `);
  expect(await script.ended).toBe(1);
  expect(script.errors).toBe('stored data are damaged (/data/cluster: 000004.log)\n');
  expect(JSON.parse(script.output)).toMatchObject({
    level: 60,
    msg: 'the start failed',
    error: { details: { folder: '/data/cluster', place: '000004.log' } },
  });
});

/** Where a log can go that can't be written; each tells the process by the file that it makes when it runs. */
describe.each<[string, () => { file: number; end: () => void }]>([
  ['a full disk', () => ({ file: openSync('/dev/full', 'a'), end: () => undefined })],
  ['a pipe that nobody reads', () => pipe('stalled')],
  ['a pipe whose reader has gone', () => pipe('gone')],
])('with standard output and standard error on %s', (title, open) => {
  const canOpen = title !== 'a full disk' || existsSync('/dev/full');
  const folder = mkdtempSync(join(tmpdir(), 'quiver-life-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  let runs = 0;

  /** More lines than a pipe holds and than may wait, then `then`. The script says by a file that it runs. */
  async function run(body: string, whenRunning: (script: Script) => void): Promise<number | NodeJS.Signals | null> {
    const { file, end } = open();
    const runs_ = join(folder, `runs-${(runs += 1)}`);
    const script = new Script(
      `for (let i = 0; i < 50_000; i += 1) logger.info({ i, pad: 'x'.repeat(100) }, 'line');\nconst runs = () => require('node:fs').writeFileSync(${JSON.stringify(runs_)}, '');\n${body}`,
      { file },
    );
    closeSync(file);
    let isOver = false;
    void script.ended.then(() => (isOver = true));
    try {
      await eventually('it runs or has ended', () => isOver || existsSync(runs_));
      whenRunning(script);
      return await script.ended;
    } finally {
      end();
    }
  }

  const only = canOpen ? test : test.skip;

  only('a stop is in order', async () => {
    const stop = `async () => { process.stderr.write('a word of a library'); console.log('another'); process.emitWarning('one'); }`;
    expect(
      await run(
        `runUntilSignal({ start: async () => { busy(); runs(); return { stop: ${stop} }; }, hardStopMs: 20000, logger });`,
        (script) => script.signal('SIGTERM'),
      ),
    ).toBe(0);
  });

  only('a stop that takes too long ends hard', async () => {
    expect(
      await run(
        `runUntilSignal({ start: async () => { busy(); runs(); return { stop: () => never }; }, hardStopMs: 50, logger });`,
        (script) => script.signal('SIGTERM'),
      ),
    ).toBe(1);
  });

  only('a crash ends it', async () => {
    expect(
      await run(
        `runUntilSignal({ start: async () => { setTimeout(() => { throw new Error('bang'); }, 1); return { stop: () => never }; }, hardStopMs: 50, logger });`,
        () => undefined,
      ),
    ).toBe(1);
  });

  only('a start that is refused ends it', async () => {
    expect(
      await run(
        `runUntilSignal({ start: async () => { throw new QuiverError('invalid_parameter', 'PORT=7 is taken'); }, hardStopMs: 50, logger });`,
        () => undefined,
      ),
    ).toBe(1);
  });
});

/** A pipe with a name, as `mkfifo` makes them. */
function pipe(reader: 'stalled' | 'gone'): { file: number; end: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-pipe-'));
  const path = join(folder, 'pipe');
  if (spawnSync('mkfifo', [path]).status !== 0) throw new Error('mkfifo failed');
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const file = openSync(path, 'w');
  rmSync(folder, { recursive: true });
  if (reader === 'gone') closeSync(read);
  return { file, end: () => reader === 'stalled' && closeSync(read) };
}

describe('a terminal', () => {
  /** util-linux's, which gives a program a terminal of its own. */
  const script = spawnSync('script', ['--version'], { encoding: 'utf8' });
  const only = script.status === 0 && script.stdout.includes('util-linux') ? test : test.skip;

  only('that goes away ends the process in order', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-terminal-'));
    const said = join(folder, 'said');
    try {
      const body = `
        const say = (word) => require('node:fs').appendFileSync(${JSON.stringify(said)}, word + ' ');
        // As one that has files opened anew.
        process.on('SIGHUP', () => say('looked'));
        runUntilSignal({ start: async () => { busy(); say('pid ' + process.pid); return { stop: async () => say('drained') }; }, hardStopMs: 20000, logger });
        process.on('exit', (code) => say('ended ' + code));
      `;
      const words = ['-r', resolve(root, 'test/support/swc-register.js'), '-e', PRELUDE + body]
        .map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
        .join(' ');
      const terminal = spawn('script', ['-q', '-c', `exec '${process.execPath}' ${words}`, '/dev/null'], {
        cwd: root,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      const read = (): string => (existsSync(said) ? readFileSync(said, 'utf8') : '');
      await eventually('it runs', () => read().includes('pid '));
      const pid = Number(/pid (\d+)/.exec(read())?.[1]);
      // While the terminal is there, the signal is that of who has changed files.
      process.kill(pid, 'SIGHUP');
      await eventually('it looked', () => read().includes('looked'));
      terminal.kill('SIGKILL');
      await eventually('it has ended', () => read().includes('ended'));
      expect(read()).toMatch(/^pid \d+ looked (looked )?drained ended 0 $/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
