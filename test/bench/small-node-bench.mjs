import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { openQuiver } from './quiver-target.mjs';
import { clusterVectors, loadClusters, settled } from './sizing-bench.mjs';

export const SMALL_NODE_USAGE = `npm run bench -- small-node [options]

One collection in one process that may have little memory: what it takes while it is loaded and built, and behind a restart, its
recall, and how long searches take one after the other. Bound the process, not the benchmark:

  --under WORDS   what runs it, such as "systemd-run --scope -q -p MemoryMax=2G -p MemorySwapMax=0",
                  which counts mapped files (cgroup v2), or "prlimit --data=1700000000", which does not
  --rows N        100000
  --dim N         128
  --quantization  int8; or int4, binary
  --metadata      memory; or disk
  --metadata-bytes N  of each item beside its value (0)
  --queries N     500
  --hours N       how long loading and building may take (1)
  --json FILE     everything measured, as JSON
`;

const K = 10;
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
  const { quantization, metadata } = values;
  const target = await openQuiver();
  const prefix = values.under.split(' ').filter((word) => word !== '');
  if (prefix.length > 0) {
    const { program, words: own } = target.server;
    target.server.program = prefix[0];
    target.server.words = [...prefix.slice(1), program, ...own];
  }
  try {
    await target.server.start();
    const made = await target.call('POST', '/v1/collections', { name: 'bench', dim, distance_metric: 'cosine', quantization, metadata });
    if (made.status !== 'success') throw new Error(JSON.stringify(made.error));
    const deadlineMs = Number(values.hours) * 3_600_000;
    const startedAt = performance.now();
    await loadClusters(target, { dim, rows, metadataBytes: Number(values['metadata-bytes']) });
    const loadSeconds = (performance.now() - startedAt) / 1000;
    await settled(target, rows, deadlineMs);
    const settledSeconds = (performance.now() - startedAt) / 1000;
    const peak = memoryOf(target.server.pid);
    say('loaded and built', peak);
    await target.server.stop('SIGTERM');
    await target.server.start();
    const stats = await settled(target, rows, deadlineMs);
    const first = await measureSearches(target, dim, queries, 1);
    const again = await measureSearches(target, dim, queries, 2);
    const recall = await target.call('POST', `${target.collectionPath}/recall_check`, { k: K, queries: clusterVectors(dim, 50, 3).map((vector) => [...vector]) });
    const after = memoryOf(target.server.pid);
    say('behind a restart', after);
    const figures = {
      rows,
      dim,
      quantization,
      metadata,
      under: values.under,
      loadSeconds,
      settledSeconds,
      peak,
      after,
      statsBytes: stats.memory_bytes,
      diskBytes: stats.disk_bytes,
      first,
      again,
      recall: recall.data,
    };
    process.stdout.write(
      `recall at ${K}: ${JSON.stringify(recall.data?.recall)}; p50 ${again.p50Ms.toFixed(2)} ms, p99 ${again.p99Ms.toFixed(2)} ms; at first p50 ${first.p50Ms.toFixed(2)}, p99 ${first.p99Ms.toFixed(2)}\n`,
    );
    process.stdout.write(`loaded in ${loadSeconds.toFixed(0)} s, ready after ${settledSeconds.toFixed(0)}; memory of the collection ${(stats.memory_bytes / rows).toFixed(0)} bytes a vector\n`);
    if (values.json !== undefined) writeFigures(values.json, figures);
  } finally {
    await target.server.destroy();
  }
}

/** Bytes of a process: its own, of mapped files, and the most that it ever had of both. Null off Linux. */
function memoryOf(pid) {
  try {
    const field = (text, name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const anonymous = field(rollup, 'Anonymous');
    return { anonymous, files: field(rollup, 'Rss') - anonymous, highest: field(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmHWM') };
  } catch {
    return null;
  }
}

function say(when, memory) {
  const mebibytes = (bytes) => Math.round(bytes / MIB).toLocaleString('en');
  if (memory !== null) process.stdout.write(`${when}: ${mebibytes(memory.anonymous)} MiB of its own, ${mebibytes(memory.files)} of files; at most ${mebibytes(memory.highest)} so far\n`);
}

/** One search after the other. */
async function measureSearches(target, dim, queries, seed) {
  const connection = await HttpConnection.open(target.address);
  const times = [];
  for (const vector of clusterVectors(dim, queries, seed)) {
    const body = JSON.stringify({ vector: Buffer.from(vector.buffer).toString('base64'), k: K });
    const head = requestHead({ method: 'POST', path: target.searchPath, headers: target.headers, ...target.address, bodyBytes: Buffer.byteLength(body) });
    const sentAt = performance.now();
    const answer = JSON.parse(await connection.send(head, body));
    times.push(performance.now() - sentAt);
    if (answer.status !== 'success' || answer.data.results.length !== K) throw new Error(JSON.stringify(answer.error ?? answer.data));
  }
  connection.close();
  times.sort((a, b) => a - b);
  return { p50Ms: times[Math.floor(times.length * 0.5)], p99Ms: times[Math.floor(times.length * 0.99)] };
}
