import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { MemoryGroup } from './memory-group.mjs';
import { NearestStream } from './nearest-stream.mjs';
import { openQuiver } from './quiver-target.mjs';
import { clusterVectors, loadClusters, settled } from './sizing-bench.mjs';

export const SMALL_NODE_USAGE = `npm run bench -- small-node [options]

One collection in one process that may have little memory: what it takes while it is loaded and built, and behind a restart, its
recall, and how long searches take one after the other. Bound the process, not the benchmark:

  --under WORDS   what runs it, such as "systemd-run --scope -q -p MemoryMax=2G -p MemorySwapMax=0",
                  which counts mapped files (cgroup v2), or "prlimit --data=1700000000", which does not
  --memory BYTES  runs it in a memory cgroup (version 1 or 2) of so many bytes, which counts mapped files, too
  --rows N        100000
  --dim N         128
  --quantization  int8; or int4, binary
  --metadata      memory; or disk
  --vectors       memory; or disk
  --clusters N    200
  --metadata-bytes N  of each item beside its value (0)
  --queries N     500
  --exact N       queries whose exact neighbours are found while rows are made, for the recall (100)
  --set NAME=VALUE  a setting of the process; may be repeated
  --hours N       how long loading and building may take (1)
  --json FILE     everything measured, as JSON
`;

const K = 10;

/** The mean share of the exact neighbours that searches find. */
async function recallOf(target, nearest) {
  let found = 0;
  for (const [q, query] of nearest.queries.entries()) {
    const answer = await target.call('POST', target.searchPath, {
      vector: Buffer.from(query.buffer).toString('base64'),
      k: K,
    });
    found += nearest.found(
      q,
      answer.data.results.map((hit) => Number(hit.external_id.slice('item-'.length))),
    );
  }
  return found / (K * nearest.queries.length);
}

const MIB = 1024 * 1024;

export async function smallNodeBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      under: { type: 'string', default: '' },
      rows: { type: 'string', default: '100000' },
      dim: { type: 'string', default: '128' },
      quantization: { type: 'string', default: 'int8' },
      metadata: { type: 'string', default: 'memory' },
      vectors: { type: 'string', default: 'memory' },
      clusters: { type: 'string', default: '200' },
      memory: { type: 'string' },
      exact: { type: 'string', default: '100' },
      set: { type: 'string', multiple: true, default: [] },
      'metadata-bytes': { type: 'string', default: '0' },
      queries: { type: 'string', default: '500' },
      hours: { type: 'string', default: '1' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(SMALL_NODE_USAGE);
    return;
  }
  const [rows, dim, queries] = [Number(values.rows), Number(values.dim), Number(values.queries)];
  const { quantization, metadata, vectors } = values;
  const clusters = Number(values.clusters);
  const target = await openQuiver({
    environment: Object.fromEntries(
      values.set.map((setting) => [setting.slice(0, setting.indexOf('=')), setting.slice(setting.indexOf('=') + 1)]),
    ),
  });
  const group = values.memory === undefined ? null : MemoryGroup.make(Number(values.memory));
  const prefix = [...values.under.split(' ').filter((word) => word !== ''), ...(group?.prefix ?? [])];
  if (prefix.length > 0) {
    const { program, words: own } = target.server;
    target.server.program = prefix[0];
    target.server.words = [...prefix.slice(1), program, ...own];
  }
  try {
    await target.server.start();
    say('empty', memoryOf(target.server.pid));
    const made = await target.call('POST', '/v1/collections', {
      name: 'bench',
      dim,
      distance_metric: 'cosine',
      quantization,
      metadata,
      vectors,
    });
    if (made.status !== 'success') throw new Error(JSON.stringify(made.error));
    const deadlineMs = Number(values.hours) * 3_600_000;
    const startedAt = performance.now();
    const nearest = new NearestStream(clusterVectors(dim, Number(values.exact), 3, clusters), K);
    await loadClusters(target, {
      dim,
      rows,
      clusters,
      metadataBytes: Number(values['metadata-bytes']),
      look: (row, vector) => nearest.look(row, vector),
    });
    const loadSeconds = (performance.now() - startedAt) / 1000;
    await settled(target, rows, deadlineMs);
    const settledSeconds = (performance.now() - startedAt) / 1000;
    process.stdout.write(`loaded in ${loadSeconds.toFixed(0)} s, ready after ${settledSeconds.toFixed(0)}\n`);
    const peak = memoryOf(target.server.pid);
    say('loaded and built', peak);
    await target.server.stop('SIGTERM');
    target.server.readyMs = deadlineMs;
    const restartedAt = performance.now();
    await target.server.start();
    const restartSeconds = (performance.now() - restartedAt) / 1000;
    const stats = await settled(target, rows, deadlineMs);
    const first = await measureSearches(target, clusterVectors(dim, queries, 1, clusters));
    const again = await measureSearches(target, clusterVectors(dim, queries, 2, clusters));
    const recall = await recallOf(target, nearest);
    const after = memoryOf(target.server.pid);
    say('behind a restart', after);
    const figures = {
      rows,
      dim,
      quantization,
      metadata,
      vectors,
      clusters,
      group: group?.facts ?? null,
      restartSeconds,
      under: values.under,
      loadSeconds,
      settledSeconds,
      peak,
      after,
      statsBytes: stats.memory_bytes,
      diskBytes: stats.disk_bytes,
      first,
      again,
      recall,
    };
    process.stdout.write(
      `recall at ${K}: ${recall.toFixed(4)}; p50 ${again.p50Ms.toFixed(2)} ms, p99 ${again.p99Ms.toFixed(2)} ms; at first p50 ${first.p50Ms.toFixed(2)}, p99 ${first.p99Ms.toFixed(2)}\n`,
    );
    process.stdout.write(
      `started again in ${restartSeconds.toFixed(0)} s; memory of the collection ${(stats.memory_bytes / rows).toFixed(0)} bytes a vector\n`,
    );
    if (group !== null)
      process.stdout.write(
        `of the group at most ${Math.round(group.facts.highest / MIB).toLocaleString('en')} MiB with the page cache; killed ${group.facts.kills} times\n`,
      );
    if (values.json !== undefined) writeFigures(values.json, figures);
  } finally {
    await target.server.destroy();
    group?.remove();
  }
}

/** Bytes of a process: its own, of mapped files, and the most that it ever had of both. Null off Linux. */
function memoryOf(pid) {
  try {
    const field = (text, name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const anonymous = field(rollup, 'Anonymous');
    return {
      anonymous,
      files: field(rollup, 'Rss') - anonymous,
      highest: field(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmHWM'),
    };
  } catch {
    return null;
  }
}

function say(when, memory) {
  const mebibytes = (bytes) => Math.round(bytes / MIB).toLocaleString('en');
  if (memory !== null)
    process.stdout.write(
      `${when}: ${mebibytes(memory.anonymous)} MiB of its own, ${mebibytes(memory.files)} of files; at most ${mebibytes(memory.highest)} so far\n`,
    );
}

/** One search after the other. */
async function measureSearches(target, queries) {
  const connection = await HttpConnection.open(target.address);
  const times = [];
  for (const vector of queries) {
    const body = JSON.stringify({ vector: Buffer.from(vector.buffer).toString('base64'), k: K });
    const head = requestHead({
      method: 'POST',
      path: target.searchPath,
      headers: target.headers,
      ...target.address,
      bodyBytes: Buffer.byteLength(body),
    });
    const sentAt = performance.now();
    const answer = JSON.parse(await connection.send(head, body));
    times.push(performance.now() - sentAt);
    if (answer.status !== 'success' || answer.data.results.length !== K)
      throw new Error(JSON.stringify(answer.error ?? answer.data));
  }
  connection.close();
  times.sort((a, b) => a - b);
  return { p50Ms: times[Math.floor(times.length * 0.5)], p99Ms: times[Math.floor(times.length * 0.99)] };
}
