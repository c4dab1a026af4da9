import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { residentMemory, threadMicros } from './process-facts.mjs';

export const QUIET_USAGE = `npm run bench -- quiet [options]

What storage nodes pay for shards in which nothing happens: real nodes, a coordinator and an etcd, empty collections.

  --nodes N          storage nodes (2)
  --collections N    (20)
  --shards N         of each collection (16)
  --replicas N       of each shard (2)
  --settle N         seconds before the first measurement (240): shards become unread after 30, and V8 compiles what runs again
                     and again in other threads for some minutes more, which took a third of what a node took after 45
  --seconds N        of measuring (20), in each of --rounds
  --rounds N         with the sides in turns (1)
  --port P           of the coordinator (27400); the others follow, as with npm run cluster
  --beside FOLDER    another checkout that has been set up, run at the same time and measured in turns with this one
  --json FILE        everything measured, as JSON
`;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The clusters of two sides need ports of their own. */
const PORTS_APART = 1_000;
const KEY = 'quiet-bench-key';

export async function quietBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      nodes: { type: 'string', default: '2' },
      collections: { type: 'string', default: '20' },
      shards: { type: 'string', default: '16' },
      replicas: { type: 'string', default: '2' },
      settle: { type: 'string', default: '240' },
      seconds: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '1' },
      port: { type: 'string', default: '27400' },
      beside: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(QUIET_USAGE);
    return;
  }
  const [nodes, collections, shards, replicas, settle, seconds, rounds, port] = [
    'nodes',
    'collections',
    'shards',
    'replicas',
    'settle',
    'seconds',
    'rounds',
    'port',
  ].map((name) => Number(values[name]));
  Object.assign(process.env, { API_KEY: KEY, RATE_LIMIT_PER_MINUTE: '0', API_UI: 'false' });
  const folders = [
    ...(values.beside === undefined ? [] : [{ name: 'beside', folder: resolve(values.beside) }]),
    { name: 'this', folder: ROOT },
  ];
  const sides = [];
  try {
    for (const [i, side] of folders.entries())
      sides.push(await begin({ ...side, nodes, collections, shards, replicas, port: port + i * PORTS_APART }));
    await sleep(settle * 1_000);
    for (let round = 0; round < rounds; round++) {
      for (const side of sides) await measure(side, seconds);
    }
  } finally {
    for (const side of sides) await end(side);
  }
  const perNode = (collections * shards * replicas) / nodes;
  process.stdout.write(
    `\n${nodes} nodes, ${perNode} quiet replicas on each, ${rounds} × ${seconds} s\n\n| | processor time of a node | of its main thread | memory of a node, MB |\n|---|---|---|---|\n`,
  );
  for (const { name, shares, mainShares, bytes } of sides) {
    process.stdout.write(
      `| ${name} | ${(mean(shares) * 100).toFixed(2)} % of a core | ${(mean(mainShares) * 100).toFixed(2)} % | ${(bytes / 1e6).toFixed(0)} |\n`,
    );
  }
  if (values.json !== undefined)
    writeFigures(values.json, {
      nodes,
      collections,
      shards,
      replicas,
      settle,
      seconds,
      sides: sides.map(({ name, shares, mainShares, bytes }) => ({ name, shares, mainShares, bytes })),
    });
}

async function begin({ name, folder, nodes, collections, shards, replicas, port }) {
  const scratch = mkdtempSync(join(tmpdir(), 'quiver-bench-quiet-'));
  const { LocalCluster } = await import(join(folder, 'scripts/local-cluster.mjs'));
  const log = (line) => process.stderr.write(`${name}: ${line}\n`);
  const cluster = new LocalCluster({
    nodes,
    coordinators: 1,
    replicas,
    shards,
    port,
    folder: scratch,
    restarts: false,
    log,
  });
  const side = { name, scratch, cluster, shares: [], mainShares: [], bytes: 0, pids: [] };
  try {
    await cluster.start();
    for (let i = 0; i < collections; i++) {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/collections`, {
        method: 'POST',
        headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `quiet-${i}`, dim: 4, shards, replicas }),
      });
      const { status, error } = /** @type {{ status: string, error?: unknown }} */ (await answer.json());
      if (status !== 'success') throw new Error(`${name}: a collection could not be made: ${JSON.stringify(error)}`);
    }
    const { processes } = JSON.parse(readFileSync(join(scratch, 'cluster.json'), 'utf8'));
    side.pids = processes.filter(({ role }) => role === 'node').map(({ pid }) => pid);
    return side;
  } catch (error) {
    await end(side);
    throw error;
  }
}

/** Processor time of each node and of its main thread, as shares of the time that passed. */
async function measure(side, seconds) {
  const before = side.pids.map(threadMicros);
  const beganMs = performance.now();
  await sleep(seconds * 1_000);
  const passedMicros = (performance.now() - beganMs) * 1_000;
  side.bytes = mean(side.pids.map((pid) => residentMemory(pid).ownBytes));
  side.pids.forEach((pid, i) => {
    const micros = threadMicros(pid);
    const used = (thread) => micros.get(thread) - (before[i].get(thread) ?? 0);
    side.shares.push([...micros.keys()].reduce((sum, thread) => sum + used(thread), 0) / passedMicros);
    side.mainShares.push(used(pid) / passedMicros);
  });
}

async function end({ cluster, scratch }) {
  await cluster.stop();
  rmSync(scratch, { recursive: true, force: true });
}

function mean(values) {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}
