// The commands of a candidate's process about what it holds, survives and allows.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { residentMemory } from '../process-facts.mjs';
import { differenceOf, keyOf, recordsFrom, rowOf } from './records.mjs';

const FEW = 10;
const LOG_BATCH = 100;
/** Larger than any log that is filled here, so that nothing of it becomes a table. */
const WHOLE_LOG_BYTES = 256 * 1024 * 1024;

const openFiles = () => readdirSync('/proc/self/fd').length;

/** Opens `count` databases with a few records each, and reads one of each. Linux only. */
export async function manyDatabases({ open, folder, count }) {
  const warm = await open(join(folder, 'warm'));
  await warm.write(recordsFrom(0, FEW));
  global.gc?.();
  const before = { rss: residentMemory(process.pid).totalBytes, files: openFiles() };
  const startedAt = performance.now();
  const stores = [];
  for (let i = 0; i < count; i++) {
    const store = await open(join(folder, String(i)));
    await store.write(recordsFrom(0, FEW));
    await store.getMany([keyOf(0)]);
    stores.push(store);
  }
  const ms = performance.now() - startedAt;
  const bytes = residentMemory(process.pid).totalBytes - before.rss;
  const files = openFiles() - before.files;
  for (const store of stores) await store.close();
  return { bytes, files, ms };
}

/** Writes `rows` records and keeps the database open, to be killed with all of them in its log alone. */
export async function fillLog({ open, folder, rows }) {
  const store = await open(folder, { writeBufferBytes: WHOLE_LOG_BYTES });
  const write = store.writeUnsynced ?? store.write;
  for (let row = 0; row < rows; row += LOG_BATCH) await write(recordsFrom(row, Math.min(LOG_BATCH, rows - row)));
}

/** Writes `rows` records and has them written out as a table, by the start that replays the log. */
export async function fillTable({ open, folder, rows }) {
  for (const first of [true, false]) {
    const store = await open(folder);
    if (first) await store.write(recordsFrom(0, rows));
    await store.close();
  }
}

/** Opens what is there. */
export async function replay({ open, folder }) {
  const startedAt = performance.now();
  const store = await open(folder);
  const ms = performance.now() - startedAt;
  await store.close();
  return { ms };
}

/**
 * What is left of `rows` records, by iterating and by gets: how many are right or wrong, and what was said, if anything
 * was.
 */
export async function inspect({ open, folder, rows }) {
  let store;
  try {
    store = await open(folder);
  } catch (error) {
    return { open: error.cause?.message ?? error.message };
  }
  const iterated = await looked(rows, async (look) => {
    for await (const page of store.scan()) for (const { key, value } of page) look(rowOf(key), value);
  });
  const got = await looked(rows, async (look) => {
    for (let row = 0; row < rows; row++) {
      const [value] = await store.getMany([keyOf(row)]);
      if (value) look(row, value);
    }
  });
  await store.close();
  return { open: null, iterated, got };
}

async function looked(rows, read) {
  const seen = { told: null, right: 0, wrong: 0, rows };
  try {
    await read((row, value) => (differenceOf(row, value) === null ? (seen.right += 1) : (seen.wrong += 1)));
  } catch (error) {
    seen.told = error.cause?.message ?? error.message;
  }
  return seen;
}

/**
 * A second thread of the same process reaches for the open database: by the folder, or by a handle where there is one.
 */
export async function threads({ open, adapter, folder }) {
  const store = await open(folder);
  await store.write(recordsFrom(0, FEW));
  const attempt = (location) =>
    new Promise((done) => {
      const worker = new Worker(new URL('store-thread.mjs', import.meta.url), {
        workerData: { adapter, options: process.argv[3], location },
      });
      worker.once('message', done);
      worker.once('error', (error) => done({ error: error.message }));
    });
  const result = {
    folder: await attempt(folder),
    handle: store.handle === undefined ? null : await attempt(store.handle()),
  };
  await store.close();
  return result;
}

/** A copy by the store itself; null where it has none. */
export async function checkpoint({ open, folder, rows }) {
  const store = await open(join(folder, 'open'));
  if (store.checkpoint === undefined) {
    await store.close();
    return null;
  }
  for (let row = 0; row < rows; row += LOG_BATCH) await store.write(recordsFrom(row, Math.min(LOG_BATCH, rows - row)));
  const startedAt = performance.now();
  await store.checkpoint(join(folder, 'copy'));
  const ms = performance.now() - startedAt;
  await store.close();
  const copy = await open(join(folder, 'copy'));
  let found = 0;
  for await (const page of copy.scan()) found += page.length;
  await copy.close();
  if (found !== rows) throw new Error(`the copy has ${found} of ${rows} records`);
  return { ms };
}

/** The least that must work: open, write, get, iterate, close. */
export async function works({ open, folder }) {
  const store = await open(folder);
  await store.write(recordsFrom(0, FEW));
  const [value] = await store.getMany([keyOf(3)]);
  const wrong = differenceOf(3, value);
  if (wrong !== null) throw new Error(wrong);
  let count = 0;
  for await (const page of store.scan()) count += page.length;
  if (count !== FEW) throw new Error(`${count} of ${FEW} records`);
  await store.close();
}
