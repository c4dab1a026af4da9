import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Envelope } from '../processes/embedded-process';
import { eventually } from '../eventually';
import { PYTHON_SOURCES, pythonProgram } from '../machines/python-packages';

const root = resolve(__dirname, '../../..');

/** A block of a page: what is in a fence, with the word after it. */
export interface PageBlock {
  /** Empty: shown, and not run. */
  language: string;
  text: string;
}

export function blocksOf(page: string): PageBlock[] {
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({ language, text }));
}

/** Each answer of the API in what a block printed. */
export function envelopesOf(printed: string): Envelope[] {
  const trimmed = printed.trim();
  return trimmed === '' ? [] : trimmed.split(/(?<=\})\s*(?=\{"status")/).map((text) => JSON.parse(text) as Envelope);
}

/**
 * A shell in which the blocks of one page run in their order, so that variables and functions of earlier ones are
 * there, and `quiver` is a command.
 */
export class PageShell {
  private readonly shell;
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-page-'));
  private output = '';
  private count = 0;

  constructor(environment: Record<string, string>) {
    const commands = join(this.folder, '.bin');
    mkdirSync(commands);
    const program = [process.execPath, join(root, 'scripts/quiver.cjs')].map((part) => JSON.stringify(part)).join(' ');
    writeFileSync(join(commands, 'quiver'), `#!/bin/sh\nexec ${program} "$@"\n`);
    chmodSync(join(commands, 'quiver'), 0o755);
    this.shell = spawn('bash', {
      cwd: this.folder,
      env: { PATH: `${commands}:${process.env.PATH ?? ''}`, HOME: this.folder, ...environment },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.shell.stdout.setEncoding('utf8').on('data', (text: string) => (this.output += text));
  }

  /** What a block printed: one of `sh`, or a program in `js` or `python`, which sees what the shell has exported. */
  async run({ language, text }: PageBlock): Promise<string> {
    const end = `\n--- block ${++this.count} ---\n`;
    this.output = '';
    let command = text;
    if (language === 'python') {
      writeFileSync(join(this.folder, 'program.py'), text);
      command = `PYTHONPATH=${PYTHON_SOURCES} ${JSON.stringify(pythonProgram())} -B program.py`;
    }
    if (language === 'js') {
      if (text.includes("from 'quiver-client'")) this.installClient();
      writeFileSync(join(this.folder, 'program.mjs'), text);
      command = `${JSON.stringify(process.execPath)} program.mjs`;
    }
    this.shell.stdin.write(`${command}\nprintf '${end.replaceAll('\n', '\\n')}'\n`);
    await eventually(`the block ends: ${text}`, () => this.output.endsWith(end));
    return this.output.slice(0, -end.length);
  }

  /** The client's package, where programs of the page find it. */
  private installClient(): void {
    const installed = join(this.folder, 'node_modules/quiver-client');
    if (existsSync(installed)) return;
    mkdirSync(installed, { recursive: true });
    copyFileSync(join(root, 'clients/typescript/package.json'), join(installed, 'package.json'));
    execFileSync(process.execPath, [join(root, 'scripts/make/build-client.mjs'), join(installed, 'dist')]);
  }

  close(): void {
    this.shell.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
