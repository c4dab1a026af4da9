import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ApiClient } from '../targets/api-client';
import { eventually } from '../eventually';
import { freePorts } from '../servers/free-ports';
import { DATA_PARENT } from '../memory-folder';

const root = resolve(__dirname, '../../..');

export interface Envelope<Data = any> {
  status: 'success' | 'error';
  data: Data;
  error: { code: number; message: string } | null;
}

/**
 * A real Quiver process in its embedded form, from the compiled sources, on free ports and a data folder of its own.
 * `stop` is the polite way (SIGTERM), `kill` the rude one (SIGKILL); both resolve when the process is gone, and `start`
 * may follow on the same data. `destroy` also removes the data.
 */
export class EmbeddedProcess {
  readonly dataDir: string;
  readonly apiKey = 'test-admin-key';
  port = 0;
  opsPort = 0;
  output = '';
  private child: ChildProcess | null = null;
  private readonly environment: Record<string, string>;
  /** What `ulimit -n` says to the next start; null: what it says here. */
  openFilesMax: number | null = null;
  /** An open file to which the next start's standard output and standard error go; null: to `output`. */
  outputFile: number | null = null;
  private readonly isOnOneProcessor: boolean;

  /** `isOnOneProcessor`: on Linux, it has the first of the processors that this process may run on. */
  constructor(options: { environment?: Record<string, string>; dataDir?: string; isOnOneProcessor?: boolean } = {}) {
    this.isOnOneProcessor = (options.isOnOneProcessor ?? false) && process.platform === 'linux';
    this.dataDir = options.dataDir ?? mkdtempSync(join(DATA_PARENT, 'quiver-embedded-'));
    this.environment = options.environment ?? {};
  }

  /** The signal that ended the process of the last start; null while it runs and when it ended by itself. */
  get endedBy(): string | null {
    return this.child?.signalCode ?? null;
  }

  /** Whether the process of the last start has ended, by itself or by a signal of somebody. */
  get hasEnded(): boolean {
    return this.child !== null && (this.child.exitCode !== null || this.child.signalCode !== null);
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    if (this.child?.pid === undefined) throw new Error('the process is not running');
    return this.child.pid;
  }

  async start(): Promise<void> {
    if (this.port === 0) [this.port, this.opsPort] = await freePorts(2);
    this.output = '';
    const limit = this.openFilesMax === null ? '' : `ulimit -n ${this.openFilesMax} && `;
    const place = this.isOnOneProcessor ? `taskset -c ${firstProcessor()} ` : '';
    const child = spawn(
      '/bin/sh',
      ['-c', `${limit}exec ${place}"$0" "$@"`, process.execPath, join(root, 'scripts/quiver.cjs'), 'embedded'],
      {
        env: {
          PATH: process.env.PATH ?? '',
          PORT: String(this.port),
          HOST: '127.0.0.1',
          OPS_PORT: String(this.opsPort),
          DATA_DIR: this.dataDir,
          API_KEY: this.apiKey,
          EMBEDDING_MODEL: 'builtin',
          RATE_LIMIT_PER_MINUTE: '0',
          BAD_KEY_LIMIT_PER_MINUTE: '0',
          LOG_LEVEL: 'warn',
          // The main thread serves: each further one has a program to load at every start. What is about threads, or
          // promises something whatever they do, asks for them.
          HTTP_THREADS: process.env.HTTP_THREADS ?? '1',
          ...this.environment,
        },
        stdio: this.outputFile === null ? ['ignore', 'pipe', 'pipe'] : ['ignore', this.outputFile, this.outputFile],
      },
    );
    this.child = child;
    const killWithUs = (): void => void child.kill('SIGKILL');
    process.once('exit', killWithUs);
    child.once('exit', () => process.removeListener('exit', killWithUs));
    child.stdout?.on('data', (chunk) => (this.output += chunk));
    child.stderr?.on('data', (chunk) => (this.output += chunk));
    // When it has ended and all that it said was read.
    let isOver = false;
    child.once('close', () => (isOver = true));
    const isReady = async (): Promise<boolean> => {
      if (isOver) throw new Error(`the process ended at start: ${this.output}`);
      return fetch(`http://127.0.0.1:${this.opsPort}/readyz`, { signal: AbortSignal.timeout(1000) }).then(
        (answer) => answer.status === 200,
        () => false,
      );
    };
    await eventually('the process is ready', isReady).catch((error: Error) => {
      throw isOver ? error : new Error(`${error.message}: ${this.output}`);
    });
  }

  /** Ends the process with `signal`; resolves with its exit code, null when the signal ended it. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const child = this.child;
    if (child === null) return null;
    if (child.exitCode === null && child.signalCode === null) {
      const gone = new Promise<void>((done) => child.once('exit', () => done()));
      child.kill(signal);
      await gone;
    }
    this.child = null;
    return child.exitCode;
  }

  stop(): Promise<number | null> {
    return this.end('SIGTERM');
  }

  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  async destroy(): Promise<void> {
    await this.kill();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** One call with the admin key; answers the envelope, throws when the connection breaks. */
  async call<Data = any>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Envelope<Data>> {
    const { text } = await new ApiClient({ baseUrl: this.baseUrl, adminKey: this.apiKey }).call({
      method,
      path,
      body,
      headers,
    });
    return JSON.parse(text) as Envelope<Data>;
  }

  /** As `call`, but an error envelope throws. */
  async data<Data = any>(method: string, path: string, body?: unknown): Promise<Data> {
    const envelope = await this.call<Data>(method, path, body);
    if (envelope.status !== 'success') throw new Error(`${method} ${path}: ${JSON.stringify(envelope.error)}`);
    return envelope.data;
  }
}

function firstProcessor(): string {
  const [, first] = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
  if (first === undefined) throw new Error('the system does not say on which processors this process may run');
  return first;
}
