import { spawn } from 'node:child_process';

/** Below what a test may take, so that a story that does not end is what fails. */
const DEADLINE_MS = 600_000;

/**
 * Runs `story`, an expression that is a promise, in a process of its own to its end: it has to exit with 0 by itself.
 * FOLDER in its environment is `folder`; `flags` are Node's, `before` is shell in front of it (`ulimit -v …;`).
 */
export async function tellStory(
  story: string,
  { folder, flags = [], before = '' }: { folder: string; flags?: string[]; before?: string },
): Promise<void> {
  const code = `${story}.catch((error) => { console.error(error); process.exit(3); });`;
  const child = spawn('sh', ['-c', `${before}exec "$0" "$@"`, process.execPath, ...flags, '-e', code], {
    env: { ...process.env, FOLDER: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  const end = await new Promise<string>((resolve) => {
    child.on('close', (exit, signal) => resolve(`exit ${exit ?? ''}${signal ?? ''}`));
  });
  clearTimeout(timer);
  if (end !== 'exit 0') throw new Error(`${end}: ${output}`);
}
