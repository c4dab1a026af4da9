import { spawn, type ChildProcess } from 'node:child_process';
import { resolve } from 'node:path';
import { eventually } from '../../../support/eventually';

/** `runUntilSignal` in real processes: only there do signals, exit codes and crashes mean anything. */

const root = resolve(__dirname, '../../../..');
const PRELUDE = `
  const { runUntilSignal } = require(${JSON.stringify(resolve(root, 'shared/process/life-cycle.ts'))});
  const { QuiverError } = require(${JSON.stringify(resolve(root, 'shared/errors/quiver-error.ts'))});
  const { createLogger, standardOutput } = require(${JSON.stringify(resolve(root, 'shared/logs/pino-logger.ts'))});
  const logger = createLogger({ level: 'info', secrets: [], output: standardOutput(process.env) });
  const busy = () => setInterval(() => {}, 1000);
  const never = new Promise(() => {});
`;

class Script {
  output = '';
  errors = '';
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  private readonly child: ChildProcess;

  constructor(body: string) {
    this.child = spawn(process.execPath, ['-r', resolve(root, 'test/support/swc-register.js'), '-e', PRELUDE + body], { cwd: root });
    this.child.stdout?.on('data', (chunk) => (this.output += chunk));
    this.child.stderr?.on('data', (chunk) => (this.errors += chunk));
    this.ended = new Promise((done) => this.child.once('close', (code, signal) => done(code ?? signal)));
  }

  signal(name: 'SIGTERM' | 'SIGINT'): void {
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
    const { noteStuckThread } = require(${JSON.stringify(resolve(root, 'shared/process/stuck-threads.ts'))});
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
  expect(script.messages()).toEqual(['running', 'stopping', 'stopped', 'a thread is stuck: the process ends by SIGKILL']);
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
