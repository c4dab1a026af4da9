import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { HttpConnection, requestHead } from './http-connection.mjs';

/** Long enough for code to be compiled and caches to fill, not measured. */
const WARM_UP_MS = 1000;

/**
 * Closed-loop load on a thread of its own: each of `connections` sends the next request when it has its answer, over and
 * over the list of prepared requests, for `seconds`. Answers requests per second and the latencies' percentiles in
 * milliseconds, and how many requests were answered in all, the warm-up's too. `address` is {host, port}; a request is {method, path, headers, body}.
 */
export function generateLoad({ address, requests, connections, seconds }) {
  return new Promise((done, fail) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { address, requests, connections, seconds } });
    worker.once('message', done);
    worker.once('error', fail);
  });
}

async function run({ address, requests, connections, seconds }) {
  const prepared = requests.map(({ method, path, headers, body }) => Buffer.concat([requestHead({ method, path, headers, ...address, bodyBytes: Buffer.byteLength(body) }), Buffer.from(body)]));
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(address)));
  const start = performance.now() + WARM_UP_MS;
  const end = start + seconds * 1000;
  const latencies = [];
  let next = 0;
  let requestsAnswered = 0;
  await Promise.all(
    open.map(async (connection) => {
      for (let now = performance.now(); now < end;) {
        const sentAt = now;
        const body = await connection.send(prepared[next++ % prepared.length]);
        now = performance.now();
        requestsAnswered += 1;
        if (body.length === 0) throw new Error('an empty answer');
        if (sentAt >= start && now <= end) latencies.push(now - sentAt);
      }
      connection.close();
    }),
  );
  latencies.sort((a, b) => a - b);
  const percentile = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
  return { connections, requests: requestsAnswered, queriesPerSecond: latencies.length / seconds, p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}

if (!isMainThread) parentPort.postMessage(await run(workerData));
