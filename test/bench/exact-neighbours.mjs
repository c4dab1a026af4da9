import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ProgressBar } from './progress-bar.mjs';

/** Queries scored against one row while it is in the processor's cache. */
const QUERY_BLOCK = 8;

/**
 * The exact `count` nearest rows of each query, best first, by a scan in double precision on worker threads: Int32Array
 * of queries × count row numbers, −1 where there are fewer rows. `rows` and `queries` are row-major float32 matrices in
 * shared memory; `metric` is ip (of unit vectors also cosine) or l2; `accepts` is a Uint8Array of one flag per row.
 * Rows of equal score are ordered by row number.
 * @param {{ rows: Float32Array, queries: Float32Array, dim: number, metric: string, count: number, threads?: number,
 * accepts?: Uint8Array, label?: string }} options
 */
export async function exactNeighbours({
  rows,
  queries,
  dim,
  metric,
  count,
  threads = 2,
  accepts,
  label = 'exact neighbours',
}) {
  const queryCount = queries.length / dim;
  const result = new Int32Array(new SharedArrayBuffer(queryCount * count * 4));
  const progress = new Int32Array(new SharedArrayBuffer(threads * 4));
  const perThread = Math.ceil(queryCount / threads);
  const bar = new ProgressBar({ label, total: queryCount, unit: 'queries' });
  const timer = setInterval(() => bar.report(progress.reduce((sum, done) => sum + done, 0)), 250);
  try {
    await Promise.all(
      Array.from(
        { length: threads },
        (_, thread) =>
          new Promise((done, fail) => {
            const from = Math.min(queryCount, thread * perThread);
            const to = Math.min(queryCount, from + perThread);
            const worker = new Worker(new URL(import.meta.url), {
              workerData: {
                rows: shared(rows),
                queries: shared(queries),
                dim,
                metric,
                count,
                accepts,
                from,
                to,
                result,
                progress,
                thread,
              },
            });
            worker.once('error', fail);
            worker.once('exit', done);
          }),
      ),
    );
    bar.report(queryCount);
  } finally {
    clearInterval(timer);
    bar.finish();
  }
  return result;
}

function shared(values) {
  if (values.buffer instanceof SharedArrayBuffer) return values;
  const copy = new Float32Array(new SharedArrayBuffer(values.byteLength));
  copy.set(values);
  return copy;
}

function scan({ rows, queries, dim, metric, count, accepts, from, to, result, progress, thread }) {
  const rowCount = Math.floor(rows.length / dim);
  for (let block = from; block < to; block += QUERY_BLOCK) {
    const size = Math.min(QUERY_BLOCK, to - block);
    const ids = Array.from({ length: size }, () => new Int32Array(count).fill(-1));
    const scores = Array.from({ length: size }, () => new Float64Array(count).fill(-Infinity));
    for (let row = 0; row < rowCount; row++) {
      if (accepts !== undefined && accepts[row] === 0) continue;
      for (let q = 0; q < size; q++) {
        const score =
          metric === 'l2'
            ? -squaredDistance(rows, row * dim, queries, (block + q) * dim, dim)
            : dot(rows, row * dim, queries, (block + q) * dim, dim);
        if (score > scores[q][count - 1]) insert(ids[q], scores[q], row, score);
      }
    }
    for (let q = 0; q < size; q++) result.set(ids[q], (block + q) * count);
    progress[thread] += size;
  }
}

function insert(ids, scores, row, score) {
  let at = ids.length - 1;
  for (; at > 0 && scores[at - 1] < score; at--) {
    scores[at] = scores[at - 1];
    ids[at] = ids[at - 1];
  }
  scores[at] = score;
  ids[at] = row;
}

/** Four sums at once keep the processor's pipelines full where one would wait for the other. */
export function dot(a, aStart, b, bStart, dim) {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (; i + 3 < dim; i += 4) {
    s0 += a[aStart + i] * b[bStart + i];
    s1 += a[aStart + i + 1] * b[bStart + i + 1];
    s2 += a[aStart + i + 2] * b[bStart + i + 2];
    s3 += a[aStart + i + 3] * b[bStart + i + 3];
  }
  for (; i < dim; i++) s0 += a[aStart + i] * b[bStart + i];
  return s0 + s1 + s2 + s3;
}

export function squaredDistance(a, aStart, b, bStart, dim) {
  let sum = 0;
  for (let i = 0; i < dim; i++) {
    const difference = a[aStart + i] - b[bStart + i];
    sum += difference * difference;
  }
  return sum;
}

// Others import this file on threads of their own.
if (!isMainThread && parentPort !== null && workerData?.progress !== undefined) scan(workerData);
