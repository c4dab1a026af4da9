import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { exactNeighbours } from './exact-neighbours.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { generateLoad } from './load-generator.mjs';
import { diskBytes, processorSeconds, residentMemory } from './process-facts.mjs';
import { ProgressBar } from './progress-bar.mjs';
import { FILTER_MODULI, WIRE_FORMATS } from './wire-formats.mjs';

/**
 * A server counts as settled when it has used less than this share of one core for this long. A test, to which figures
 * say nothing, has less patience (BENCH_IDLE_MS).
 */
const IDLE_SHARE = 0.1;
const IDLE_MS = Number(process.env.BENCH_IDLE_MS ?? 2000);
const SETTLE_DEADLINE_MS = 3_600_000;
const K = 10;

/** Sends all bulk writes over some connections; answers rows per second until the last one was acknowledged. */
export async function measureLoading({ target, dataset, bodies, connections }) {
  const bar = new ProgressBar({ label: `loading ${target.name}`, total: dataset.count });
  const files = new Map();
  // What was written before, the bodies among it, is not to wait for the disk beside this.
  spawnSync('sync');
  const startedAt = performance.now();
  let next = 0;
  let rows = 0;
  const latencies = [];
  try {
    await Promise.all(
      Array.from({ length: connections }, async () => {
        const connection = await HttpConnection.open(target.address);
        while (next < bodies.length) {
          const { file, start, length, items } = bodies[next++];
          if (!files.has(file)) files.set(file, openSync(file, 'r'));
          const body = Buffer.allocUnsafe(length);
          readSync(files.get(file), body, 0, length, start);
          const sentAt = performance.now();
          const head = requestHead({
            method: target.bulkMethod ?? 'POST',
            path: target.bulkPath,
            headers: target.headers,
            ...target.address,
            bodyBytes: length,
          });
          target.checkBulkAnswer(JSON.parse(await connection.send(head, body)), items);
          latencies.push(performance.now() - sentAt);
          rows += items;
          bar.report(rows);
        }
        connection.close();
      }),
    );
  } finally {
    for (const file of files.values()) closeSync(file);
    bar.finish();
  }
  latencies.sort((a, b) => a - b);
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    startedAt,
    connections,
    seconds,
    rowsPerSecond: rows / seconds,
    p50Ms: latencies[Math.floor(latencies.length / 2)],
    slowestMs: latencies.at(-1),
  };
}

/** Fewer rows outside the graph than this share of all are not worth a step, and are scanned. */
const OUTSIDE_SHARE = 1 / 2000;
const OUTSIDE_MAX = 64;

/**
 * Waits until background work is over; answers rows per second from `startedAt` until all rows were indexed, and until
 * the last work was done (`settledRowsPerSecond`), which refines what was indexed. A server that does not tell how many
 * rows it has indexed counts as done when it rests.
 */
export async function measureSettling({ target, dataset, startedAt }) {
  const deadline = performance.now() + SETTLE_DEADLINE_MS;
  let busyAt = performance.now();
  let indexedAt = null;
  const outsideMax = Math.max(OUTSIDE_MAX, dataset.count * OUTSIDE_SHARE);
  let seen = { at: busyAt, processor: processorTime(target), growing: (await target.indexState()).growingRows };
  const isDone = async () => {
    if (performance.now() - busyAt < IDLE_MS) return false;
    // One that others keep from its processor looks idle, too.
    const isAtWork = (await target.isAtWork?.()) ?? false;
    if (isAtWork) busyAt = performance.now();
    return !isAtWork;
  };
  while (!(await isDone())) {
    if (performance.now() > deadline) throw new Error(`${target.name} did not settle`);
    await new Promise((wake) => setTimeout(wake, 250));
    // Scraping costs the server something too, so once all is indexed a local one is judged by what it uses.
    const growing = seen.processor === null || indexedAt === null ? (await target.indexState()).growingRows : undefined;
    if (indexedAt === null && growing <= outsideMax) indexedAt = performance.now();
    const now = { at: performance.now(), processor: processorTime(target), growing };
    const isBusy =
      now.processor === null
        ? now.growing !== seen.growing
        : now.processor - seen.processor > (IDLE_SHARE * (now.at - seen.at)) / 1000;
    if (isBusy) busyAt = now.at;
    seen = now;
  }
  const settledSeconds = (busyAt - startedAt) / 1000;
  const seconds = indexedAt === null ? settledSeconds : (indexedAt - startedAt) / 1000;
  return {
    seconds,
    rowsPerSecond: dataset.count / seconds,
    settledSeconds,
    settledRowsPerSecond: dataset.count / settledSeconds,
    ...(await target.indexState()),
  };
}

/** @param {{ target: any, dataset: any, filter?: object, count?: number }} options */
function searchRequests({ target, dataset, filter, count = dataset.queryCount }) {
  const format = WIRE_FORMATS[target.format];
  return Array.from({ length: count }, (_, query) => ({
    method: 'POST',
    path: target.searchPath,
    headers: target.headers,
    body: format.search(dataset.queries, dataset.dim, query, K, filter, target.effort),
  }));
}

/**
 * The share of the exact nearest ten that the server finds, and how many answers were shorter than they could be.
 * @param {{ target: any, dataset: any, truth: any, filter?: object, count?: number }} options
 */
async function measureRecall({ target, dataset, truth, filter, count = dataset.queryCount }) {
  const connection = await HttpConnection.open(target.address);
  let hits = 0;
  let possible = 0;
  let short = 0;
  for (const [query, { method, path, headers, body }] of searchRequests({ target, dataset, filter, count }).entries()) {
    const head = requestHead({ method, path, headers, ...target.address, bodyBytes: Buffer.byteLength(body) });
    const found = WIRE_FORMATS[target.format].rowsFound(JSON.parse(await connection.send(head, body)));
    const exact = truth.subarray(query * K, (query + 1) * K).filter((row) => row >= 0);
    hits += exact.filter((row) => found.includes(row)).length;
    possible += exact.length;
    if (found.length < exact.length) short += 1;
  }
  connection.close();
  return { recall: hits / possible, shortAnswers: short };
}

/**
 * Gives a target whose effort is tuned by hand the least one that finds `recall` of the exact nearest ten.
 * @param {{ target: any, dataset: any, recall: number }} options
 */
export async function tuneEffort({ target, dataset, recall }) {
  for (const effort of target.efforts ?? []) {
    target.effort = effort;
    if ((await measureRecall({ target, dataset, truth: dataset.truth })).recall >= recall) return;
  }
}

/** Processor seconds that a server's processes have used so far; null when they are not known. */
function processorTime(target) {
  if (target.server === null) return null;
  return target.server.pids.reduce((sum, pid) => sum + (processorSeconds(pid) ?? 0), 0);
}

/**
 * Recall of each target, and its speed with each number of connections. Speeds are taken in turns, in `rounds` of
 * seconds / rounds each, so that whatever else the machine does meets all targets alike; medians are answered, and as
 * `share` what each target did of the first one's queries a second in the same round: its median, least and most.
 */
export async function measureSearches({ targets, dataset, connectionCounts, seconds, rounds }) {
  const searches = [];
  for (const target of targets)
    searches.push({ recall: (await measureRecall({ target, dataset, truth: dataset.truth })).recall, speeds: [] });
  for (const connections of connectionCounts) {
    const taken = targets.map(() => []);
    for (let round = 0; round < rounds; round++) {
      // To and fro, so that none is always the one to come after another.
      const order = [...targets.keys()];
      for (const i of round % 2 === 0 ? order : order.reverse())
        taken[i].push(await measureSpeed({ target: targets[i], dataset, connections, seconds: seconds / rounds }));
    }
    for (const [i, windows] of taken.entries()) {
      const over = (read) => median(windows.map(read));
      const shares = windows.map(({ queriesPerSecond }, round) => queriesPerSecond / taken[0][round].queriesPerSecond);
      searches[i].speeds.push({
        connections,
        rounds,
        queriesPerSecond: over((window) => window.queriesPerSecond),
        p50Ms: over((window) => window.p50Ms),
        p99Ms: over((window) => window.p99Ms),
        processorMicros: windows[0].processorMicros === null ? null : over((window) => window.processorMicros),
        share: { median: median(shares), least: Math.min(...shares), most: Math.max(...shares) },
      });
    }
  }
  return searches;
}

async function measureSpeed({ target, dataset, connections, seconds }) {
  const before = processorTime(target);
  const speed = await generateLoad({
    address: target.address,
    requests: searchRequests({ target, dataset }),
    connections,
    seconds,
  });
  const used = before === null ? null : processorTime(target) - before;
  return { ...speed, processorMicros: used === null ? null : (used * 1e6) / speed.requests };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Exact answers of filtered searches, one per modulus of the made fields, for the first `count` queries. */
export async function filteredTruths({ dataset, count, threads }) {
  const truths = [];
  for (const modulus of FILTER_MODULI) {
    const accepts = new Uint8Array(new SharedArrayBuffer(dataset.count));
    for (let row = 0; row < dataset.count; row += modulus) accepts[row] = 1;
    const truth = await exactNeighbours({
      rows: dataset.rows,
      queries: dataset.queries.subarray(0, count * dataset.dim),
      dim: dataset.dim,
      metric: dataset.metric === 'l2' ? 'l2' : 'ip',
      count: K,
      accepts,
      threads,
      label: `exact, 1 in ${modulus}`,
    });
    truths.push({ modulus, truth });
  }
  return truths;
}

export async function measureFiltered({ target, dataset, truths, count, seconds }) {
  const results = [];
  for (const { modulus, truth } of truths) {
    const filter = { [`mod${modulus}`]: 0 };
    const quality = await measureRecall({ target, dataset, truth, filter, count });
    const speed = await generateLoad({
      address: target.address,
      requests: searchRequests({ target, dataset, filter, count }),
      connections: 1,
      seconds,
    });
    results.push({
      keptShare: 1 / modulus,
      ...quality,
      p50Ms: speed.p50Ms,
      p99Ms: speed.p99Ms,
      queriesPerSecond: speed.queriesPerSecond,
    });
  }
  return results;
}

/** What the server's process and data folder take. The raw vectors are the measure to hold it against. */
export function measureSpace({ target, dataset }) {
  if (target.server?.pid === undefined) return null;
  return {
    memory: residentMemory(target.server.pid),
    diskBytes: diskBytes(target.server.dataFolder),
    rawBytes: dataset.count * dataset.dim * 4,
  };
}

/** From the start of the process to the first right search answer, after a polite stop and after SIGKILL. */
export async function measureRestarts({ target, dataset }) {
  const results = {};
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    const stopMs = await target.server.stop(signal);
    const startedAt = performance.now();
    await target.server.start();
    const readyMs = performance.now() - startedAt;
    const { recall } = await measureRecall({ target, dataset, truth: dataset.truth, count: 1 });
    results[signal] = { stopMs, readyMs, firstAnswerMs: performance.now() - startedAt, firstAnswerRecall: recall };
  }
  return results;
}
