import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PATIENCE_MS } from '../eventually';

const QUIVER = resolve(__dirname, '../../../scripts/quiver.cjs');
const DEADLINE_MS = PATIENCE_MS;

export interface CommandOutcome {
  /** Null: a signal ended it. */
  code: number | null;
  output: string;
  messages: string;
}

/** The command line as its users run it: a process in a folder of its own, with a home that holds nothing. */
export class CommandLine {
  readonly folder = mkdtempSync(join(tmpdir(), 'quiver-command-'));

  constructor(private readonly environment: Record<string, string> = {}) {}

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Starts a command; `outcome` resolves when it has ended. */
  start(
    words: string[],
    options: { input?: string | Buffer; environment?: Record<string, string> } = {},
  ): { child: ChildProcess; outcome: Promise<CommandOutcome> } {
    const child = spawn(process.execPath, [QUIVER, ...words], {
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? '', HOME: this.folder, ...this.environment, ...options.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: DEADLINE_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    let messages = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (messages += text));
    // One that ends before it has read all is none of ours.
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    const outcome = new Promise<CommandOutcome>((done, fail) => {
      child.on('error', fail);
      child.on('close', (code) => done({ code, output, messages }));
    });
    return { child, outcome };
  }

  async run(
    words: string[],
    options: { input?: string | Buffer; environment?: Record<string, string> } = {},
  ): Promise<CommandOutcome> {
    return this.start(words, options).outcome;
  }

  /** As `run`; one that fails throws what it said. */
  async succeed(
    words: string[],
    options: { input?: string | Buffer; environment?: Record<string, string> } = {},
  ): Promise<CommandOutcome> {
    const outcome = await this.run(words, options);
    if (outcome.code !== 0)
      throw new Error(`quiver ${words.join(' ')} ended with ${outcome.code}: ${outcome.messages}${outcome.output}`);
    return outcome;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
