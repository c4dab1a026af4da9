import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { candidatesFrom } from './candidates.mjs';
import { withStoreProcess } from './store-process.mjs';

/** 19,000 records of 2,650 bytes on average: a log of 50 MB. */
const LOG_ROWS = 19_000;
/** 9,500 records: a log of 25 MB, short of the memtable that would become a table. */
const OWN_LOG_ROWS = 9_500;
const DAMAGED_ROWS = 1000;
const CHECKPOINT_ROWS = 20_000;
const LOG_FILE = /\.log$/;
const TABLE_FILE = /\.(?:sst|ldb)$|^data\.mdb$/;

/**
 * What is asked once, or a few times in turns, of processes that are started for it. Answers one object a candidate;
 * what can't be had says why instead.
 */
export async function tryStates({ candidates, folder, databases, rounds, log }) {
  const results = candidates.map(({ name }) => ({ name, opened: [], openedOwn: [], many: [] }));
  const each = async (title, work) => {
    for (const [i, candidate] of candidates.entries()) {
      const own = join(folder, `${candidate.name}-${title}`);
      mkdirSync(own, { recursive: true });
      try {
        await work(candidate, own, results[i]);
      } catch (error) {
        // The first failure stands, also when the rounds after it have nothing to add their figures to.
        if (results[i][title]?.failed === undefined) results[i][title] = { failed: error.message };
        log(`${candidate.name}, ${title}: ${error.message}`);
      }
      rmSync(own, { recursive: true, force: true });
    }
    log(`${title}: done`);
  };
  const logs = new Map();
  for (let round = 0; round < rounds; round++) {
    await each('many', async (candidate, own, result) => {
      result.many.push(
        await withStoreProcess(candidate, (store) => store.ask('manyDatabases', { folder: own, count: databases })),
      );
    });
    await each('opened', async (candidate, own, result) => {
      if (candidate.replays === null) return;
      if (!logs.has(candidate.replays)) logs.set(candidate.replays, await filledLog(candidate.replays, folder));
      const copy = join(own, 'copy');
      cpSync(logs.get(candidate.replays), copy, { recursive: true });
      result.opened.push((await withStoreProcess(candidate, (store) => store.ask('replay', { folder: copy }))).ms);
      if (round > 0) return;
      const { open, iterated } = await withStoreProcess(candidate, (store) =>
        store.ask('inspect', { folder: copy, rows: LOG_ROWS }),
      );
      if (open !== null || iterated.right !== LOG_ROWS)
        throw new Error(open ?? `${iterated.right} of ${LOG_ROWS} records after the log was replayed`);
    });
    await each('openedOwn', async (candidate, own, result) => {
      if (candidate.replays === null) return;
      await withStoreProcess(candidate, (store) => store.ask('fillLog', { folder: own, rows: OWN_LOG_ROWS }));
      result.openedOwn.push((await withStoreProcess(candidate, (store) => store.ask('replay', { folder: own }))).ms);
    });
  }
  await each('logBit', async (candidate, own, result) => {
    result.logBit = await afterDamage(candidate, own, { fill: 'fillLog', file: LOG_FILE, harm: flipBit });
  });
  await each('logTail', async (candidate, own, result) => {
    result.logTail = await afterDamage(candidate, own, {
      fill: 'fillLog',
      file: LOG_FILE,
      harm: (bytes) => bytes.subarray(0, bytes.length - 1000),
    });
  });
  await each('tableBit', async (candidate, own, result) => {
    result.tableBit = await afterDamage(candidate, own, { fill: 'fillTable', file: TABLE_FILE, harm: flipBit });
  });
  await each('threads', async (candidate, own, result) => {
    result.threads = await withStoreProcess(candidate, (store) => store.ask('threads', { folder: join(own, 'open') }));
  });
  await each('checkpoint', async (candidate, own, result) => {
    result.checkpoint = await withStoreProcess(candidate, (store) =>
      store.ask('checkpoint', { folder: own, rows: CHECKPOINT_ROWS }),
    );
  });
  return results;
}

/** Whether each candidate opens, writes, reads and closes under each of the Node binaries. */
export async function tryNodes({ candidates, folder, nodes, log }) {
  const results = [];
  for (const candidate of candidates) {
    const outcomes = {};
    for (const [i, node] of nodes.entries()) {
      const own = join(folder, `${candidate.name}-node-${i}`);
      mkdirSync(own, { recursive: true });
      outcomes[node] = await withStoreProcess(candidate, (store) => store.ask('works', { folder: join(own, 'open') }), {
        node,
      }).then(
        () => 'works',
        (error) => error.message,
      );
      log(`${candidate.name} on ${node}: ${outcomes[node]}`);
    }
    results.push({ name: candidate.name, outcomes });
  }
  return results;
}

/** A folder whose records are all in the log of a process that was killed. */
async function filledLog(name, folder) {
  const [candidate] = candidatesFrom([name]);
  const own = join(folder, `log-of-${name}`);
  await withStoreProcess(candidate, (store) => store.ask('fillLog', { folder: own, rows: LOG_ROWS }));
  return own;
}

async function afterDamage(candidate, own, { fill, file, harm }) {
  const folder = join(own, 'open');
  await withStoreProcess(candidate, (store) => store.ask(fill, { folder, rows: DAMAGED_ROWS }));
  const files = readdirSync(folder)
    .filter((name) => file.test(name))
    .map((name) => join(folder, name));
  const largest = files.sort((a, b) => statSync(b).size - statSync(a).size)[0];
  if (largest === undefined || statSync(largest).size === 0) return null;
  writeFileSync(largest, harm(readFileSync(largest)));
  return withStoreProcess(candidate, (store) => store.ask('inspect', { folder, rows: DAMAGED_ROWS }));
}

/** Turns one bit over, in the middle of what was written (a file may end in room that was kept free). */
function flipBit(bytes) {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  bytes[end >> 1] ^= 0x10;
  return bytes;
}
