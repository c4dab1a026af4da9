// `npm run leaks`: opens a folder in this process, writes to it, searches it and closes it, 1,000 times. Fails where
// something stays behind: threads, descriptors, files of the folder, memory.
//
//   npm run leaks -- --times N [--built: nothing is set up before]
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ROOT, setUpOrExit } from './setup.mjs';

/** What the first ones make once for the process: pools of threads, code, what is kept to be used again. */
const WARM_UP = 5;
const REPORTS = 10;
/** What the allocators keep of what was used, in less than a tenth of the times. */
const MEMORY_MIB_MAX = 64;
/** How often it is looked again for what stays behind. */
const LOOKS = 100;
const LOOK_MS = 100;
const MIB = 1024 * 1024;

const { values } = parseArgs({
  options: { times: { type: 'string', default: '1000' }, built: { type: 'boolean' } },
});
const times = Number(values.times);
if (!values.built) await setUpOrExit({ log: () => undefined });
const { openQuiver } = createRequire(import.meta.url)(join(ROOT, 'dist', 'embedded', 'library', 'index.js'));
const folder = mkdtempSync(join(tmpdir(), 'quiver-leaks-'));
try {
  for (let i = 0; i < WARM_UP; i++) await use(i);
  const before = facts();
  let settled = before;
  for (let i = 1; i <= times; i++) {
    await use(i);
    if (i === Math.ceil(times / REPORTS)) settled = facts();
    if (i % Math.ceil(times / REPORTS) === 0) console.log(`${i}: ${JSON.stringify(facts())}`);
  }
  let after = facts();
  const leftBehind = () =>
    Object.entries(after).filter(([name, value]) => name !== 'memoryMiB' && value > before[name]);
  // A thread may end a moment after it is told to.
  for (let look = 0; look < LOOKS && leftBehind().length > 0; look++) {
    await setTimeout(LOOK_MS);
    after = facts();
  }
  const left = leftBehind();
  for (const [name, value] of left) console.error(`${name}: ${before[name]} before, ${value} after`);
  const grown = after.memoryMiB - settled.memoryMiB;
  if (grown > MEMORY_MIB_MAX) console.error(`memory: ${grown} MiB more than after a tenth of the times`);
  if (left.length > 0 || grown > MEMORY_MIB_MAX) process.exitCode = 1;
  else console.log(`opened and closed ${times} times: nothing is left behind`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param {number} i */
async function use(i) {
  const quiver = await openQuiver(folder, { settings: { EMBEDDING_MODEL: 'builtin' } });
  const rows = await quiver.getOrCreate({ name: 'rows', dim: 8 });
  const vector = Float32Array.from({ length: 8 }, (_, n) => n + 1);
  await rows.upsert({ external_id: String(i % 10), vector, metadata: { i } });
  const { results } = await rows.search({ vector, k: 1 });
  if (results.length !== 1) throw new Error('nothing was found');
  await quiver.close();
}

/**
 * Of Linux; elsewhere, of memory alone.
 * @returns {Record<string, number>}
 */
function facts() {
  /** @type {{ gc?: () => void }} */ (globalThis).gc?.();
  const memoryMiB = Math.round(process.memoryUsage.rss() / MIB);
  if (process.platform !== 'linux') return { memoryMiB };
  const files = readdirSync('/proc/self/fd').length;
  const threads = readdirSync('/proc/self/task').length;
  return { memoryMiB, descriptors: files, threads, ownerFiles: Number(readdirSync(folder).includes('owner.json')) };
}
