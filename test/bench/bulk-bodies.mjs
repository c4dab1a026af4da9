import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ProgressBar } from './progress-bar.mjs';
import { WIRE_FORMATS } from './wire-formats.mjs';

/** Items of one bulk write: the most that Quiver takes by default. */
export const BULK_ITEMS = 1000;

/**
 * Writes the bodies of all bulk writes of a data set to temporary files before the clock runs: turning numbers into
 * text would otherwise take more of the machine than the server. Answers the bodies' places and a `remove` for the
 * files.
 */
export async function prepareBulkBodies({ format, dataset, threads }) {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-'));
  const batches = Math.ceil(dataset.count / BULK_ITEMS);
  const bodies = new Array(batches);
  const bar = new ProgressBar({ label: `preparing for ${format}`, total: batches, unit: 'requests' });
  let done = 0;
  await Promise.all(
    Array.from(
      { length: threads },
      (_, thread) =>
        new Promise((finished, fail) => {
          const file = join(folder, `${thread}`);
          const worker = new Worker(new URL(import.meta.url), {
            workerData: {
              format,
              file,
              rows: dataset.rows,
              dim: dataset.dim,
              count: dataset.count,
              batches,
              thread,
              threads,
            },
          });
          worker.on('message', ({ batch, start, length }) => {
            bodies[batch] = { file, start, length, items: Math.min(BULK_ITEMS, dataset.count - batch * BULK_ITEMS) };
            bar.report(++done);
          });
          worker.once('error', fail);
          worker.once('exit', finished);
        }),
    ),
  );
  bar.finish();
  return { bodies, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function write({ format, file, rows, dim, count, batches, thread, threads }) {
  const output = openSync(file, 'w');
  let start = 0;
  for (let batch = thread; batch < batches; batch += threads) {
    const bytes = Buffer.from(
      WIRE_FORMATS[format].bulk(rows, dim, batch * BULK_ITEMS, Math.min(count, (batch + 1) * BULK_ITEMS)),
    );
    for (let at = 0; at < bytes.length;) at += writeSync(output, bytes, at);
    parentPort.postMessage({ batch, start, length: bytes.length });
    start += bytes.length;
  }
  closeSync(output);
}

if (!isMainThread) write(workerData);
