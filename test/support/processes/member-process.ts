import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { eventually } from '../eventually';
import { stopProcess } from './stop-process';

const root = resolve(__dirname, '../../..');
/** A folder in which the release before this one is set up. */
export const EARLIER_PROGRAM = process.env.QUIVER_EARLIER_PROGRAM;
/** Of the output of each process in the story of a failure. */
const OUTPUT_SHOWN = 3_000;

/**
 * Of which release a process is: the one in EARLIER_PROGRAM, this one, or this one that says to be another
 * (test/support/versions).
 */
export type Release = 'earlier' | 'own' | 'next' | 'distant' | 'before';

/** One storage node or coordinator as a real process, from the compiled sources, with a data folder of its own. */
export class MemberProcess {
  /** What this life of it said. */
  output = '';
  /** Of its next life. */
  release: Release = 'own';
  /** An open file to which standard output and standard error of its next life go; null: to `output`. */
  outputFile: number | null = null;
  /** What its earlier lives said. */
  private past = '';
  private child: ChildProcess | null = null;
  /** Resolves when its last life is over and all that it said was read. */
  private over: Promise<number | null> = Promise.resolve(null);

  constructor(
    readonly role: 'node' | 'coordinator',
    readonly id: string,
    /** The API's port of a coordinator, the RPC port of a node. */
    readonly port: number,
    readonly opsPort: number,
    readonly dataDir: string,
    private readonly environment: Record<string, string>,
  ) {}

  get pid(): number {
    if (this.child?.pid === undefined) throw new Error(`${this.id} is not running`);
    return this.child.pid;
  }

  /** The port for other members, which a coordinator has beside that of its API. */
  get rpcPort(): number {
    return Number(this.environment.RPC_PORT);
  }

  get isRunning(): boolean {
    return this.child !== null;
  }

  /** What it said of late, in all its lives. */
  get lastWords(): string {
    return (this.past + this.output).slice(-OUTPUT_SHOWN);
  }

  /** Another process of the same name and role elsewhere, not yet started. */
  double({
    port,
    rpcPort,
    opsPort,
    dataDir,
  }: {
    port: number;
    rpcPort: number;
    opsPort: number;
    dataDir: string;
  }): MemberProcess {
    const places = {
      PORT: String(port),
      RPC_PORT: String(rpcPort),
      OPS_PORT: String(opsPort),
      ADVERTISE_ADDRESS: `127.0.0.1:${rpcPort}`,
    };
    return new MemberProcess(this.role, this.id, port, opsPort, dataDir, { ...this.environment, ...places });
  }

  /** Starts it without waiting until it is ready; `environment` is for this life of it only. */
  spawn(environment: Record<string, string> = {}): void {
    if (this.child !== null) throw new Error(`${this.id} is running`);
    const { release } = this;
    const program = release === 'earlier' ? EARLIER_PROGRAM! : root;
    const claims =
      release === 'earlier' || release === 'own'
        ? {}
        : { NODE_OPTIONS: `--require ${join(__dirname, '../versions', `${release}.cjs`)}` };
    const child = spawn(process.execPath, [join(program, 'scripts/quiver.cjs'), this.role], {
      env: { PATH: process.env.PATH ?? '', DATA_DIR: this.dataDir, ...this.environment, ...claims, ...environment },
      stdio: this.outputFile === null ? ['ignore', 'pipe', 'pipe'] : ['ignore', this.outputFile, this.outputFile],
    });
    this.child = child;
    this.past += this.output;
    this.output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.output += chunk));
    this.over = new Promise((done) => child.once('close', done));
    const killWithUs = (): void => void child.kill('SIGKILL');
    process.once('exit', killWithUs);
    child.once('exit', () => {
      process.removeListener('exit', killWithUs);
      if (this.child === child) this.child = null;
    });
  }

  /** Resolves when the process serves: it is ready, but that replicas of it may be out of sync. */
  serves(): Promise<void> {
    return eventually(`${this.id} serves`, async () => {
      if (this.child === null) throw new Error(`${this.id} ended: ${this.output}`);
      return this.readiness().then(
        ({ status, text }) => status === 200 || text.includes('catching up'),
        () => false,
      );
    });
  }

  /** What a platform's probe is told. */
  async readiness(): Promise<{ status: number; text: string }> {
    const answer = await fetch(`http://127.0.0.1:${this.opsPort}/readyz`, { signal: AbortSignal.timeout(1000) });
    return { status: answer.status, text: await answer.text() };
  }

  async start(environment: Record<string, string> = {}): Promise<void> {
    this.spawn(environment);
    await this.serves();
  }

  /** Resolves when it has ended, by itself or not, with the exit code; null when a signal ended it. */
  ended(): Promise<number | null> {
    return this.over;
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const { child } = this;
    if (child === null) return null;
    if (signal === 'SIGKILL') child.kill('SIGCONT');
    child.kill(signal);
    return this.over;
  }

  stop(): Promise<number | null> {
    return this.end('SIGTERM');
  }

  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  pause(): void {
    stopProcess(this.pid);
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Throws its data away, as a disk that is replaced; only while it does not run. */
  wipe(): void {
    if (this.child !== null) throw new Error(`${this.id} is running`);
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
