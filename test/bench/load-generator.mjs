import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { HttpConnection, requestHead } from './http-connection.mjs';

/** Long enough for code to be compiled and caches to fill, not measured; no longer than what is measured. */
export const WARM_UP_MAX_MS = 1000;

/**
 * Closed-loop load on a thread of its own: each of `connections` sends the next request when it has its answer, over
 * and over the list of prepared requests, for `seconds`. Answers requests per second and the latencies' percentiles in
 * milliseconds, and how many requests were answered in all, the warm-up's too. `address` is {host, port}; a request is
 * {method, path, headers, body}.
 * @param {{ address: { host: string, port: number }, requests: any[], connections: number, seconds: number }} options
 */
export function generateLoad({ address, requests, connections, seconds }) {
  return new Promise((done, fail) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { address, requests, connections, seconds } });
    worker.once('message', done);
    worker.once('error', fail);
  });
}

async function run({ address, requests, connections, seconds }) {
  const prepared = requests.map(({ method, path, headers, body }) =>
    Buffer.concat([
      requestHead({ method, path, headers, ...address, bodyBytes: Buffer.byteLength(body) }),
      Buffer.from(body),
    ]),
  );
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(address)));
  const start = performance.now() + Math.min(WARM_UP_MAX_MS, seconds * 1000);
  const end = start + seconds * 1000;
  const latencies = [];
  let requestsAnswered = 0;
  const note = (body, since, now) => {
    requestsAnswered += 1;
    if (body.length === 0) throw new Error('an empty answer');
    // On a machine that is busy with something else, the first one may come late.
    if (since >= start && (now <= end || latencies.length === 0)) latencies.push(now - since);
  };
  let next = 0;
  await Promise.all(
    open.map(async (connection) => {
      for (let now = performance.now(); now < end || latencies.length === 0;) {
        const since = now;
        const body = await connection.send(prepared[next++ % prepared.length]);
        now = performance.now();
        note(body, since, now);
      }
    }),
  );
  for (const connection of open) connection.close();
  return loadFigures({ connections, requests: requestsAnswered, latencies, seconds });
}

/** What a window of load answers: `requests` in all, the warm-up's too, and the measured latencies in milliseconds. */
export function loadFigures({ connections, requests, latencies, seconds }) {
  return {
    connections,
    requests,
    queriesPerSecond: latencies.length / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
}

/** Of values that are sorted by it, numerically; null where there are none. @param {number[] | Float32Array} values */
export function percentile(values, share) {
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? null;
}

// Others import this file on threads of their own.
if (!isMainThread && workerData?.address !== undefined) parentPort.postMessage(await run(workerData));
