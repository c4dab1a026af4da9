import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BULK_ITEMS, prepareBulkBodies } from './bulk-bodies.mjs';
import { allowedCores, canPin, pinThisProcess, pinned } from './cores.mjs';
import { loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { idealQueue } from './ideal-queue.mjs';
import { measureLoading, measureSettling, median } from './measure.mjs';
import { NativeLoad } from './native-load.mjs';
import { processorSeconds, residentMemory } from './process-facts.mjs';
import { ProgressBar } from './progress-bar.mjs';
import { openQuiver } from './quiver-target.mjs';
import { ServerProcess, freePort } from './server-process.mjs';
import { WIRE_FORMATS } from './wire-formats.mjs';

export const SERVING_USAGE = `npm run bench -- serving [options]

How requests are served, beside how many (Linux only): latency at half of the saturated load, sent at random moments and
in equal steps by a program that pauses for nothing, beside that of an empty node:http server under the same load and of
ideal queues; searches in one bulk_search beside calls of their own; and a thousand small collections beside one that is
as large.

  --dataset NAME     clusters-100k-128; as for the benchmark of vectors, with --rows, --queries (1000) and --dim
  --connections N    8
  --threads N        HTTP_THREADS; by default the service's own
  --apart            one HTTP thread with a core of its own, and the load on the others: neither waits for the other's
                     core
  --seconds N        of each kind of load (15), in --rounds N (5), in which kinds take turns
  --collections N    1000, of the data set's first rows in equal parts; 0 leaves them out
  --rows-each N      1000
  --json FILE        everything measured, as JSON
`;

const K = 10;
const BULK_QUERIES = 20;
const LOAD_CONNECTIONS = 4;
/** Enough that a request hardly ever waits for a free connection. */
const OPEN_CONNECTIONS = 32;
/** So that its code is compiled before the first window. */
const WARM_UP_SECONDS = 3;
/** A queue that is busier has no percentiles to speak of. */
const MOST_UTILISATION = 0.95;
/** HTTP_THREADS is the number of cores by default, and at most this. */
const THREADS_DEFAULT_MAX = 16;

export async function servingBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-100k-128' },
      rows: { type: 'string' },
      queries: { type: 'string', default: '1000' },
      dim: { type: 'string' },
      connections: { type: 'string', default: '8' },
      threads: { type: 'string' },
      apart: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '15' },
      rounds: { type: 'string', default: '5' },
      collections: { type: 'string', default: '1000' },
      'rows-each': { type: 'string', default: '1000' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(SERVING_USAGE);
    return;
  }
  const number = (text) => (text === undefined ? undefined : Number(text));
  const threads = availableParallelism();
  const dataset = await loadDataset(values.dataset, {
    rows: number(values.rows),
    queries: number(values.queries),
    dim: number(values.dim),
    threads,
  });
  const cores = allowedCores();
  if (values.apart && (cores.length < 2 || !canPin())) throw new Error('--apart takes two cores, and taskset');
  const apart = values.apart ? { server: cores.slice(0, 1), load: cores.slice(1), all: cores } : null;
  const load = new NativeLoad();
  const plan = {
    load,
    dataset,
    threads,
    apart,
    httpThreads: values.apart ? 1 : number(values.threads),
    connections: number(values.connections),
    seconds: number(values.seconds),
    rounds: number(values.rounds),
  };
  try {
    const one = await measureOne(plan);
    const many =
      number(values.collections) === 0
        ? null
        : await measureMany({
            ...plan,
            collections: number(values.collections),
            rowsEach: number(values['rows-each']),
          });
    process.stdout.write(`\n${formatServingReport({ ...plan, one, many })}`);
    if (values.json !== undefined) writeFigures(values.json, { one, many });
  } finally {
    load.close();
  }
}

/** One collection with the whole data set: half load, and bulk_search. */
async function measureOne({ load, dataset, threads, apart, httpThreads, connections, seconds, rounds }) {
  const target = await openQuiver({ environment: threadsEnvironment(httpThreads) });
  const stub = await openStub();
  const { bodies, remove } = await prepareBulkBodies({ format: target.format, dataset, threads });
  try {
    await target.server.start();
    await target.createCollection({ dim: dataset.dim, metric: dataset.metric, language: undefined });
    const loading = await measureLoading({ target, dataset, bodies, connections: LOAD_CONNECTIONS });
    await measureSettling({ target, dataset, startedAt: loading.startedAt });
    const single = singleSearches(target, dataset, target.searchPath);
    const bulk = bulkSearches(target, dataset);
    if (apart !== null) {
      // Loaded and settled by all cores; measured on one.
      await target.server.stop('SIGTERM');
      for (const { server } of [target, stub])
        Object.assign(server, pinned(server.program, server.words, apart.server));
      const restartedAt = performance.now();
      await target.server.start();
      // What an index still measures behind a restart would take the core that searches are to have.
      await measureSettling({ target, dataset, startedAt: restartedAt });
    }
    await stub.server.start();
    if (apart !== null) pinThisProcess(apart.load);
    const during = (window, at = /** @type {any} */ (target)) => measured({ load, target: at, window });
    await during({ requests: single, connections, seconds: Math.min(WARM_UP_SECONDS, seconds) });
    const taken = { saturated: [], half: [], even: [], stub: [], single: [], bulk: [] };
    const each = seconds / rounds;
    for (let round = 0; round < rounds; round++) {
      const saturated = await during({ requests: single, connections, seconds: each });
      taken.saturated.push(saturated);
      const half = {
        requests: single,
        connections: OPEN_CONNECTIONS,
        seconds: each,
        perSecond: saturated.queriesPerSecond / 2,
        seed: round + 1,
      };
      taken.half.push(await during(half));
      taken.even.push(await during({ ...half, isEven: true }));
      taken.stub.push(await during(half, stub));
      taken.single.push(await during({ requests: single, connections: 1, seconds: each }));
      taken.bulk.push(await during({ requests: bulk, connections: 1, seconds: each }));
    }
    return Object.fromEntries(Object.entries(taken).map(([kind, windows]) => [kind, medians(windows)]));
  } finally {
    if (apart !== null) pinThisProcess(apart.all);
    remove();
    await stub.server.destroy();
    await target.server.destroy();
  }
}

/** The environment that gives a server so many threads; undefined: as many as it takes by itself. */
function threadsEnvironment(httpThreads) {
  return httpThreads === undefined ? {} : { HTTP_THREADS: String(httpThreads) };
}

/** A server that does nothing. */
async function openStub() {
  const address = { host: '127.0.0.1', port: await freePort() };
  const server = new ServerProcess({
    name: 'an empty server',
    script: fileURLToPath(new URL('./stub-server.mjs', import.meta.url)),
    words: [String(address.port)],
    environment: {},
    dataFolder: mkdtempSync(join(tmpdir(), 'quiver-bench-stub-')),
    isReady: async () => (await fetch(`http://${address.host}:${address.port}/`)).ok,
  });
  return { address, server };
}

/** Many small collections, with the first rows of the data set; searches go to any of them. */
async function measureMany({ load, dataset, collections, rowsEach, httpThreads, connections, seconds }) {
  const target = await openQuiver({
    environment: { MAX_COLLECTIONS: String(collections), ...threadsEnvironment(httpThreads) },
  });
  try {
    await target.server.start();
    const before = residentMemory(target.server.pid);
    const startedAt = performance.now();
    const paths = Array.from({ length: collections }, (_, i) => `/v1/collections/c${i}`);
    await overConnections(target, { count: collections, label: 'creating' }, (connection, i) =>
      succeed(
        target,
        connection,
        'POST',
        '/v1/collections',
        JSON.stringify({ name: `c${i}`, dim: dataset.dim, distance_metric: dataset.metric }),
      ),
    );
    const createdMs = performance.now() - startedAt;
    const empty = residentMemory(target.server.pid);
    const format = WIRE_FORMATS[target.format];
    const parts = Math.floor(dataset.count / rowsEach);
    const loadedFrom = performance.now();
    await overConnections(target, { count: collections, label: 'loading' }, async (connection, i) => {
      const from = (i % parts) * rowsEach;
      for (let at = from; at < from + rowsEach; at += BULK_ITEMS) {
        await succeed(
          target,
          connection,
          'POST',
          `${paths[i]}/bulk_upsert`,
          format.bulk(dataset.rows, dataset.dim, at, Math.min(from + rowsEach, at + BULK_ITEMS)),
        );
      }
    });
    const loadedMs = performance.now() - loadedFrom;
    const requests = Array.from({ length: Math.max(dataset.queryCount, collections) }, (_, i) =>
      singleSearches(target, dataset, `${paths[(i * 7919) % collections]}/search`, i % dataset.queryCount),
    ).flat();
    const searches = await measured({ load, target, window: { requests, connections, seconds } });
    const memory = residentMemory(target.server.pid);
    const restartMs = {};
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      await target.server.stop(signal);
      const from = performance.now();
      await target.server.start();
      const connection = await HttpConnection.open(target.address);
      for (const { method, path, body } of requests.slice(0, collections))
        await succeed(target, connection, method, path, body);
      connection.close();
      restartMs[signal] = performance.now() - from;
    }
    return {
      collections,
      rowsEach,
      createdMs,
      loadedMs,
      rowsPerSecond: (collections * rowsEach * 1000) / loadedMs,
      searches,
      memory,
      empty,
      before,
      restartMs,
    };
  } finally {
    await target.server.destroy();
  }
}

function singleSearches(target, dataset, path, only) {
  const queries = only === undefined ? Array.from({ length: dataset.queryCount }, (_, query) => query) : [only];
  return queries.map((query) => ({
    method: 'POST',
    path,
    headers: target.headers,
    body: WIRE_FORMATS[target.format].search(dataset.queries, dataset.dim, query, K),
  }));
}

function bulkSearches(target, dataset) {
  const bodies = singleSearches(target, dataset, '').map(({ body }) => body);
  return Array.from({ length: Math.floor(bodies.length / BULK_QUERIES) }, (_, i) => ({
    method: 'POST',
    path: `${target.collectionPath}/bulk_search`,
    headers: target.headers,
    body: `{"queries":[${bodies.slice(i * BULK_QUERIES, (i + 1) * BULK_QUERIES).join(',')}]}`,
  }));
}

/**
 * One window of load, with the processor time that the server took for each request.
 * @param {{ load: NativeLoad, target: any, window: any }} options
 */
async function measured({ load, target, window }) {
  const before = processorSeconds(target.server.pid);
  const result = await load.generate({ address: target.address, ...window });
  return { ...result, processorMicros: ((processorSeconds(target.server.pid) - before) * 1e6) / result.requests };
}

function medians(windows) {
  const names = ['queriesPerSecond', 'p50Ms', 'p99Ms', 'processorMicros', 'lateP99Ms'].filter(
    (name) => windows[0][name] !== null,
  );
  return Object.fromEntries(names.map((name) => [name, median(windows.map((window) => window[name]))]));
}

async function succeed(target, connection, method, path, body) {
  const head = requestHead({
    method,
    path,
    headers: target.headers,
    ...target.address,
    bodyBytes: Buffer.byteLength(body),
  });
  const answer = JSON.parse(await connection.send(head, body));
  if (answer.status !== 'success') throw new Error(`${path}: ${JSON.stringify(answer.error)}`);
}

/** Calls `work` with a connection and each of so many numbers. */
async function overConnections(target, { count, label }, work) {
  const bar = new ProgressBar({ label, total: count, unit: 'collections' });
  let next = 0;
  let done = 0;
  await Promise.all(
    Array.from({ length: LOAD_CONNECTIONS }, async () => {
      const connection = await HttpConnection.open(target.address);
      while (next < count) {
        await work(connection, next++);
        bar.report(++done);
      }
      connection.close();
    }),
  );
  bar.finish();
}

export function formatServingReport({
  dataset,
  threads,
  httpThreads = Math.min(threads, THREADS_DEFAULT_MAX),
  connections,
  one,
  many,
}) {
  const times = ({ p50Ms, p99Ms }) => (p99Ms / p50Ms).toFixed(2);
  const idealTimes = ({ p50, p99 }) => (p99 / p50).toFixed(2);
  const utilisation = Math.min(
    MOST_UTILISATION,
    (one.half.queriesPerSecond * one.half.processorMicros) / 1e6 / httpThreads,
  );
  const ideal = idealQueue({ servers: httpThreads, utilisation });
  const line = (label, { queriesPerSecond, p50Ms, p99Ms, processorMicros }, searches = 1) =>
    `${label.padEnd(44)} ${Math.round(queriesPerSecond * searches)
      .toLocaleString('en')
      .padStart(
        8,
      )} searches/s   p50 ${p50Ms.toFixed(2)} ms   p99 ${p99Ms.toFixed(2)} ms   processor time a search ${Math.round(processorMicros / searches)} µs`;
  const lines = [
    `${dataset.name}: ${dataset.count} × ${dataset.dim}, ${dataset.metric}, k = ${K}`,
    '',
    line(`saturated, ${connections} connections`, one.saturated),
    line('half of that, at random moments', one.half),
    `p99 at half load is ${times(one.half)} × its p50`,
    line('half of that, in equal steps', one.even),
    `p99 in equal steps is ${times(one.even)} × its p50`,
    line('an empty node:http server at that load', one.stub),
    `99 of 100 requests were sent at most ${one.half.lateP99Ms.toFixed(2)} ms late to the service (${one.even.lateP99Ms.toFixed(2)} ms in equal steps), ${one.stub.lateP99Ms.toFixed(2)} ms to the empty server`,
    `${httpThreads} threads with a queue each, busy for ${utilisation.toFixed(2)} of the time, every request as long as any other: p99 ${idealTimes(ideal.own)} × p50; with one queue for all ${idealTimes(ideal.shared)} ×`,
    '',
    line('1 connection, a call for each search', one.single),
    line(`1 connection, ${BULK_QUERIES} searches in a bulk_search`, one.bulk, BULK_QUERIES),
    `${((one.bulk.queriesPerSecond * BULK_QUERIES) / one.single.queriesPerSecond).toFixed(2)} × the searches, for ${(one.bulk.processorMicros / BULK_QUERIES / one.single.processorMicros).toFixed(2)} of the processor time each`,
  ];
  if (many !== null) {
    const mebibytes = (bytes) => `${Math.round(bytes / 1024 / 1024)} MiB`;
    lines.push(
      '',
      `${many.collections.toLocaleString('en')} collections of ${many.rowsEach.toLocaleString('en')}: created in ${(many.createdMs / 1000).toFixed(1)} s, ${Math.round(many.rowsPerSecond).toLocaleString('en')} rows/s acknowledged`,
      line(`${connections} connections, any collection`, many.searches),
      `memory ${mebibytes(many.before.totalBytes)} before, ${mebibytes(many.empty.totalBytes)} with empty ones, ${mebibytes(many.memory.totalBytes)} at last (${mebibytes(many.memory.ownBytes)} without mapped files)`,
      `every collection has answered a search ${(many.restartMs.SIGTERM / 1000).toFixed(1)} s after a start behind SIGTERM, ${(many.restartMs.SIGKILL / 1000).toFixed(1)} s behind SIGKILL`,
    );
  }
  return `${lines.join('\n')}\n`;
}
