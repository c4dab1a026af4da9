import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ADDON = join(__dirname, '../../node/native/build/vectors.node');
const DEADLINE_MS = 40_000;

/** What every story starts with: the addon, a folder, and an index of `rows` random vectors. */
export const NATIVE_PROLOGUE = `
  const { VectorIndex, kernelNames } = require(${JSON.stringify(ADDON)});
  const { join } = require('node:path');
  const assert = require('node:assert');
  const folder = process.env.FOLDER;
  const D = 32;
  let files = 0;
  const vectorsOf = (rows) => Float32Array.from({ length: rows * D }, () => Math.random() - 0.5);
  const slotsOf = (rows) => Uint32Array.from({ length: rows }, (_, i) => i);
  const make = (rows, metric = 'cosine') => {
    const index = new VectorIndex({ metric, dim: D, originals: join(folder, 'o' + process.pid + '-' + Math.random() + '-' + files++) });
    if (rows > 0) index.put(slotsOf(rows), vectorsOf(rows));
    return index;
  };
  const search = (index, k = 10, effort = 0) => index.search(vectorsOf(1), k, effort, 0, 0, null, 0);
  const codeOf = (promise) => promise.then(() => 'fine', (error) => error.code);
`;

/** Runs a story in a process of its own to its end; it has to exit with 0 by itself. `before`: shell words before its command. */
export async function tellNativeStory(story: string, { folder, flags = [], before = '', deadlineMs = DEADLINE_MS }: { folder: string; flags?: string[]; before?: string; deadlineMs?: number }): Promise<void> {
  const code = `${NATIVE_PROLOGUE}\n(async () => {${story}})().catch((error) => { console.error(error); process.exit(3); });`;
  const child = spawn('sh', ['-c', `${before}exec "$0" "$@"`, process.execPath, ...flags, '-e', code], {
    env: { ...process.env, FOLDER: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  const end = await new Promise<string>((resolve) => {
    child.on('close', (code, signal) => resolve(`exit ${code ?? ''}${signal ?? ''}`));
  });
  clearTimeout(timer);
  if (end !== 'exit 0') throw new Error(`${end}: ${output}`);
}
