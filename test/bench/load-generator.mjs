import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { seededRandom } from './seeded-random.mjs';

/** Long enough for code to be compiled and caches to fill, not measured; no longer than what is measured. */
const WARM_UP_MAX_MS = 1000;

/**
 * Closed-loop load on a thread of its own: each of `connections` sends the next request when it has its answer, over and
 * over the list of prepared requests, for `seconds`. Answers requests per second and the latencies' percentiles in
 * milliseconds, and how many requests were answered in all, the warm-up's too. `address` is {host, port}; a request is
 * {method, path, headers, body}.
 *
 * With `perSecond` the load is open: so many requests become due each second, at random, whatever is answered meanwhile. One
 * that is due when no connection is free waits for one, and its latency counts from when it was due.
 * @param {{ address: { host: string, port: number }, requests: any[], connections: number, seconds: number, perSecond?: number }} options
 */
export function generateLoad({ address, requests, connections, seconds, perSecond }) {
  return new Promise((done, fail) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { address, requests, connections, seconds, perSecond } });
    worker.once('message', done);
    worker.once('error', fail);
  });
}

async function run({ address, requests, connections, seconds, perSecond }) {
  const prepared = requests.map(({ method, path, headers, body }) => Buffer.concat([requestHead({ method, path, headers, ...address, bodyBytes: Buffer.byteLength(body) }), Buffer.from(body)]));
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(address)));
  const start = performance.now() + Math.min(WARM_UP_MAX_MS, seconds * 1000);
  const end = start + seconds * 1000;
  const latencies = [];
  let next = 0;
  let requestsAnswered = 0;
  const ask = async (connection, since) => {
    const body = await connection.send(prepared[next++ % prepared.length]);
    const now = performance.now();
    requestsAnswered += 1;
    if (body.length === 0) throw new Error('an empty answer');
    // On a machine that is busy with something else, the first one may come late.
    if (since >= start && (now <= end || latencies.length === 0)) latencies.push(now - since);
    return now;
  };
  if (perSecond === undefined) {
    await Promise.all(
      open.map(async (connection) => {
        for (let now = performance.now(); now < end || latencies.length === 0;) now = await ask(connection, now);
      }),
    );
  } else {
    await askBySchedule({ open, ask, isOver: (now) => now >= end && latencies.length > 0, perSecond });
  }
  for (const connection of open) connection.close();
  latencies.sort((a, b) => a - b);
  const percentile = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
  return { connections, requests: requestsAnswered, queriesPerSecond: latencies.length / seconds, p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}

/**
 * Looks once a millisecond at what is due (a closer clock would take a processor from the server). So a request that finds
 * a free connection counts from that look.
 */
async function askBySchedule({ open, ask, isOver, perSecond }) {
  const random = seededRandom(1);
  const idle = [...open];
  const due = [];
  /** @type {Set<Promise<void>>} */
  const underWay = new Set();
  let failure = null;
  let nextDue = performance.now();
  const begin = () => {
    while (idle.length > 0 && due.length > 0) {
      const connection = idle.pop();
      const asked = ask(connection, due.shift()).then(
        () => {
          underWay.delete(asked);
          idle.push(connection);
          begin();
        },
        (error) => (failure ??= error),
      );
      underWay.add(asked);
    }
  };
  for (let now = performance.now(); !isOver(now); now = performance.now()) {
    while (nextDue <= now) {
      due.push(now);
      nextDue += (-Math.log(1 - random()) * 1000) / perSecond;
    }
    begin();
    await new Promise((wake) => setTimeout(wake, 1));
    if (failure !== null) throw failure;
  }
  due.length = 0;
  await Promise.all(underWay);
  if (failure !== null) throw failure;
}

if (!isMainThread) parentPort.postMessage(await run(workerData));
