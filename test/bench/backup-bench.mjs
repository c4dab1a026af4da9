// `npm run bench -- backup`: what a first backup writes and what the next one does after a share of the items changed,
// how long writes wait while a backup is taken under full write load, and how long a restore takes until it answers,
// also beside another checkout, in turns.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { prepareBulkBodies } from './bulk-bodies.mjs';
import { loadDataset } from './datasets.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { measureLoading, measureSettling } from './measure.mjs';
import { processorSeconds } from './process-facts.mjs';
import { openQuiver } from './quiver-target.mjs';
import { WIRE_FORMATS } from './wire-formats.mjs';

const USAGE = `usage: npm run bench -- backup [options]
  --dataset NAME     clusters-1m-128 (the default); --rows N of it
  --changed SHARE    of the items, between the first backup and the next (0.01)
  --seconds N        of writing in each of the stretches with and without a backup (10), of which there are --rounds N (3) each
  --connections N    that write (4)
  --restores N       restores by each checkout (1); --beside FOLDER another checkout that is set up, may be repeated
  --keep FOLDER      where the backups stay; --from FOLDER restores the newest one there and does nothing else
`;
const CHECK_EVERY_MS = 50;
const DEADLINE_MS = 1_800_000;
/** Items of one write under load: small, as a service's own are. */
const WRITE_ITEMS = 10;

/** @param {string[]} words */
export async function backupBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-1m-128' },
      rows: { type: 'string' },
      changed: { type: 'string', default: '0.01' },
      seconds: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '4' },
      restores: { type: 'string', default: '1' },
      beside: { type: 'string', multiple: true, default: [] },
      keep: { type: 'string' },
      from: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const folder = resolve(values.from ?? values.keep ?? mkdtempSync(join(tmpdir(), 'quiver-backup-bench-')));
  mkdirSync(folder, { recursive: true });
  const checkouts = [{ name: 'this checkout' }, ...values.beside.map((path) => ({ name: path, root: resolve(path) }))];
  try {
    if (values.from === undefined) {
      const threads = availableParallelism();
      // Their exact neighbours are of no interest here.
      const dataset = await loadDataset(values.dataset, {
        rows: values.rows && Number(values.rows),
        queries: 1,
        threads,
      });
      await measureBackups({ dataset, folder, threads, ...numbersOf(values) });
    }
    for (let round = 0; round < Number(values.restores); round++) {
      // To and fro, so that none is always the one to come after another.
      for (const checkout of round % 2 === 0 ? checkouts : [...checkouts].reverse())
        await measureRestore({ folder, checkout });
    }
  } finally {
    if (values.keep === undefined && values.from === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function numbersOf({ changed, seconds, rounds, connections }) {
  return {
    changed: Number(changed),
    seconds: Number(seconds),
    rounds: Number(rounds),
    connections: Number(connections),
  };
}

async function onServer({ folder, checkout = {} }, run) {
  const target = await openQuiver({ ...checkout, environment: { BACKUP_TARGET: `file:${folder}` } });
  try {
    await target.server.start();
    return await run(target);
  } finally {
    await target.server.destroy();
  }
}

async function measureBackups({ dataset, folder, threads, changed, seconds, rounds, connections }) {
  await onServer({ folder }, async (target) => {
    await target.createCollection(dataset);
    const { bodies, remove } = await prepareBulkBodies({ format: target.format, dataset, threads });
    try {
      const { startedAt } = await measureLoading({ target, dataset, bodies, connections });
      await measureSettling({ target, dataset, startedAt });
    } finally {
      remove();
    }
    const first = await backup(target);
    const count = Math.ceil(dataset.count * changed);
    for (let from = 0; from < count; from += 1000)
      await write(target, WIRE_FORMATS.quiver.bulk(dataset.rows, dataset.dim, from, Math.min(count, from + 1000)));
    const second = await backup(target);
    console.log(
      `${dataset.count} × ${dataset.dim}: the first backup wrote ${mebibytes(first.copied_bytes)} in ${first.seconds.toFixed(1)} s and ${first.processor.toFixed(1)} s of processors`,
    );
    console.log(
      `after ${count} items changed the next wrote ${mebibytes(second.copied_bytes)} in ${second.seconds.toFixed(1)} s and ${second.processor.toFixed(1)} s of processors: ${((100 * second.copied_bytes) / first.copied_bytes).toFixed(2)} % of the first`,
    );
    await measurePauses({ target, dataset, seconds, rounds, connections });
  });
}

/** Writes of all connections without a pause, in stretches with a backup after one another and without. */
async function measurePauses({ target, dataset, seconds, rounds, connections }) {
  const longest = { without: [], during: [] };
  const writes = { without: 0, during: 0 };
  for (let round = 0; round < rounds; round++) {
    for (const kind of round % 2 === 0 ? ['without', 'during'] : ['during', 'without']) {
      const until = performance.now() + seconds * 1000;
      let backups = 0;
      const writing = writeUntil({
        target,
        dataset,
        connections,
        isOver: () => performance.now() >= until && (kind === 'without' || backups > 0),
        seed: round,
      });
      while (kind === 'during' && performance.now() < until) {
        await backup(target);
        backups += 1;
      }
      const { gapMs, slowestMs, count } = await writing;
      longest[kind].push({ gapMs, slowestMs });
      writes[kind] += count;
      console.log(
        `${kind === 'during' ? `during ${backups} backups` : 'without a backup'}: ${Math.round(count)} writes, none acknowledged for at most ${gapMs.toFixed(0)} ms, the slowest write took ${slowestMs.toFixed(0)} ms`,
      );
    }
  }
  const most = (kind, read) => Math.max(...longest[kind].map(read));
  console.log(
    `longest pause of all writes: ${most('during', ({ gapMs }) => gapMs).toFixed(0)} ms during backups, ${most('without', ({ gapMs }) => gapMs).toFixed(0)} ms without; slowest single write ${most('during', ({ slowestMs }) => slowestMs).toFixed(0)} and ${most('without', ({ slowestMs }) => slowestMs).toFixed(0)} ms`,
  );
}

/** `gapMs`: the longest time in which no write of any connection was acknowledged. */
async function writeUntil({ target, dataset, connections, isOver, seed }) {
  let count = 0;
  let slowestMs = 0;
  let gapMs = 0;
  let lastMs = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async (_, lane) => {
      const connection = await HttpConnection.open(target.address);
      for (let n = 0; !isOver(); n++) {
        const from = ((n * connections + lane) * WRITE_ITEMS + seed * 7919) % Math.max(1, dataset.count - WRITE_ITEMS);
        const body = Buffer.from(WIRE_FORMATS.quiver.bulk(dataset.rows, dataset.dim, from, from + WRITE_ITEMS));
        const sentMs = performance.now();
        const answer = JSON.parse(
          String(
            await connection.send(
              requestHead({
                method: 'POST',
                path: target.bulkPath,
                headers: target.headers,
                ...target.address,
                bodyBytes: body.length,
              }),
              body,
            ),
          ),
        );
        const nowMs = performance.now();
        if (answer.status !== 'success') throw new Error(`bulk_upsert: ${JSON.stringify(answer.error)}`);
        slowestMs = Math.max(slowestMs, nowMs - sentMs);
        gapMs = Math.max(gapMs, nowMs - lastMs);
        lastMs = nowMs;
        count += 1;
      }
      connection.close();
    }),
  );
  return { count, slowestMs, gapMs };
}

async function write(target, body) {
  const answer = await fetch(`http://${target.address.host}:${target.address.port}${target.bulkPath}`, {
    method: 'POST',
    headers: { ...target.headers, 'content-type': 'application/json' },
    body,
  });
  const { status, error } = /** @type {any} */ (await answer.json());
  if (status !== 'success') throw new Error(`bulk_upsert: ${JSON.stringify(error)}`);
}

async function backup(target) {
  const before = processorSeconds(target.server.pid);
  const startedAt = performance.now();
  const { id } = await data(target, 'POST', '/v1/admin/backups', {});
  const done = await over(() => data(target, 'GET', `/v1/admin/backups/${id}`));
  if (done.state !== 'done') throw new Error(`the backup ${done.state}: ${done.error}`);
  return {
    ...done,
    seconds: (performance.now() - startedAt) / 1000,
    processor: processorSeconds(target.server.pid) - before,
  };
}

/** From the request until a search is answered, by a server that holds nothing. */
async function measureRestore({ folder, checkout }) {
  await onServer({ folder, checkout }, async (target) => {
    const { backups } = await data(target, 'GET', '/v1/admin/backups');
    const { id, items } = backups.find(({ state }) => state === 'done');
    const before = processorSeconds(target.server.pid);
    const startedAt = performance.now();
    const begun = await data(target, 'POST', '/v1/admin/restore', { backup: id });
    const done = await over(() => data(target, 'GET', `/v1/admin/restores/${begun.id}`));
    if (done.state !== 'done') throw new Error(`the restore ${done.state}: ${done.error}`);
    const { dim, vector_count } = await data(target, 'GET', target.collectionPath);
    const { results } = await data(target, 'POST', target.searchPath, {
      vector: Array.from({ length: dim }, (_, i) => Math.sin(i)),
      k: 10,
    });
    const seconds = (performance.now() - startedAt) / 1000;
    if (vector_count !== items || results.length !== Math.min(10, items))
      throw new Error(`${vector_count} of ${items} items are there`);
    const { growingRows } = await target.indexState();
    console.log(
      `restored by ${checkout.name}: ${items} × ${dim} answering after ${seconds.toFixed(1)} s, with ${(processorSeconds(target.server.pid) - before).toFixed(1)} s of processors; ${growingRows} rows outside the graph`,
    );
  });
}

async function over(look) {
  for (const deadline = performance.now() + DEADLINE_MS; performance.now() < deadline;) {
    const found = await look();
    if (found.state !== 'running' && found.state !== 'cancelling') return found;
    await new Promise((wake) => setTimeout(wake, CHECK_EVERY_MS));
  }
  throw new Error('it took too long');
}

async function data(target, method, path, body) {
  const answer = await target.call(method, path, body);
  if (answer.status !== 'success') throw new Error(`${method} ${path}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

function mebibytes(bytes) {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
