import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';

const READY_DEADLINE_MS = 300_000;
/** Small against the restart times that are measured by it. */
const POLL_MS = 5;
/** Of a server's output, what is kept to explain why it failed. */
const OUTPUT_CHARACTERS = 10_000;

/**
 * A server under measurement: a Node script, or another program, with its environment, started and ended any number of
 * times on one data folder.
 */
export class ServerProcess {
  /**
   * `isReady` is asked until it resolves to true.
   * @param {{ name: string, program?: string, script?: string, words?: string[], workFolder?: string, environment: any,
   * dataFolder: string, isReady: () => Promise<boolean> }} options
   */
  constructor({ name, program = process.execPath, script, words = [], workFolder, environment, dataFolder, isReady }) {
    this.name = name;
    this.program = program;
    this.words = [...(script === undefined ? [] : [script]), ...words];
    this.workFolder = workFolder;
    this.environment = environment;
    this.dataFolder = dataFolder;
    this.isReady = isReady;
    /** How long a start may take. */
    this.readyMs = READY_DEADLINE_MS;
    this.child = null;
  }

  get pid() {
    return this.child?.pid;
  }

  /** All of the server's processes. */
  get pids() {
    return this.child === null ? [] : [this.child.pid];
  }

  async start() {
    let output = '';
    const child = spawn(this.program, this.words, {
      cwd: this.workFolder,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => (output = (output + text).slice(-OUTPUT_CHARACTERS)));
    this.child = child;
    const deadline = performance.now() + this.readyMs;
    while (!(await this.isReady().catch(() => false))) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${this.name} ended at its start:\n${output}`);
      if (performance.now() > deadline) throw new Error(`${this.name} was not ready in time:\n${output}`);
      await new Promise((wake) => setTimeout(wake, POLL_MS));
    }
  }

  /** Ends the process politely (SIGTERM) or not (SIGKILL). Answers how long that took, in milliseconds. */
  async stop(signal) {
    const child = this.child;
    this.child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return 0;
    const startedAt = performance.now();
    const gone = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await gone;
    return performance.now() - startedAt;
  }

  async destroy() {
    await this.stop('SIGKILL');
    rmSync(this.dataFolder, { recursive: true, force: true });
  }
}

/** A port that was free a moment ago. */
export async function freePort() {
  const server = createServer();
  await new Promise((done, fail) => server.once('error', fail).listen(0, '127.0.0.1', () => done(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((done) => server.close(done));
  return port;
}
