// The commands of a candidate's process that time its calls.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { seededRandom } from '../seeded-random.mjs';
import { differenceOf, keyOf, recordsFrom, rowOf } from './records.mjs';

const LOAD_BATCH = 1000;
/** Written rows come round again after so many, so that a long run keeps the size of its database. */
const WRITTEN_ROWS = 20_000;

let reading = null;
let writing = null;
let rowCount = 0;
let nextRow = 0;
let seed = 0;

/** Loads `rows` records to read, and opens an empty database to write to. */
export async function prepare({ open, folder, rows }) {
  rowCount = rows;
  reading = await open(join(folder, 'read'));
  const startedAt = performance.now();
  for (let row = 0; row < rows; row += LOAD_BATCH) {
    const records = recordsFrom(row, Math.min(LOAD_BATCH, rows - row));
    // What can't sync its log would write a table for each of these batches, and be read in a state that nobody has.
    await (reading.writeUnsynced ?? reading.write)(records);
  }
  const loadMs = performance.now() - startedAt;
  writing = await open(join(folder, 'write'));
  await reading.getMany([keyOf(0)]);
  return { loadMs };
}

/**
 * What `work`, which answers how many operations it did, came to: operations a second, the share of the time that
 * JavaScript's thread was held, and the processor time of one operation over all threads of the process, which other
 * load on the machine changes little.
 */
async function timed(work) {
  const loop = performance.eventLoopUtilization();
  const processor = process.cpuUsage();
  const startedAt = performance.now();
  const count = await work(startedAt);
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(processor);
  return {
    perSecond: count / seconds,
    loopBusy: performance.eventLoopUtilization(loop).utilization,
    processorUs: (user + system) / count,
  };
}

/** Synced batches: each of `writers` writes its next one when its last is durable. */
export function writes({ writers, batch, bytes, ms }) {
  return timed(async (startedAt) => {
    let batches = 0;
    const writer = async () => {
      while (performance.now() - startedAt < ms) {
        const first = nextRow;
        nextRow = (nextRow + batch) % WRITTEN_ROWS;
        await writing.write(recordsFrom(first, batch, bytes));
        batches += 1;
      }
    };
    await Promise.all(Array.from({ length: writers }, writer));
    return batches;
  });
}

/**
 * Calls of `keys` random keys each, by `callers` at once. The first call's values are compared with what was written.
 */
export async function reads({ keys, callers, ms }) {
  const random = seededRandom(++seed);
  const pick = () => Array.from({ length: keys }, () => Math.floor(random() * rowCount));
  const checked = pick();
  const found = await reading.getMany(checked.map(keyOf));
  const wrong = checked.map((row, i) => differenceOf(row, found[i])).find((difference) => difference !== null);
  if (wrong !== undefined) throw new Error(wrong);
  return timed(async (startedAt) => {
    let calls = 0;
    const caller = async () => {
      while (performance.now() - startedAt < ms) {
        await reading.getMany(pick().map(keyOf));
        calls += 1;
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return calls;
  });
}

/** Everything, with its values, in order. */
export async function iterate() {
  return timed(async () => {
    let count = 0;
    for await (const page of reading.scan()) {
      if (rowOf(page[0].key) !== count) throw new Error(`record ${rowOf(page[0].key)} where ${count} was due`);
      count += page.length;
    }
    if (count !== rowCount) throw new Error(`${count} of ${rowCount} records`);
    return count;
  });
}
