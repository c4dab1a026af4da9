// `npm run bench -- import`: how fast `quiver import` stores a Parquet file beside a plain loader that sends prepared
// bodies, in turns; with kills on the way, and a check that every row is there to the bit.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { processorSeconds, residentMemory } from './process-facts.mjs';
import { API_KEY, openQuiver } from './quiver-target.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const QUIVER = join(ROOT, 'scripts/quiver.cjs');
const { madeVector } = createRequire(import.meta.url)('../support/values/made-vectors.cjs');

const USAGE =
  'usage: npm run bench -- import [--rows 50000] [--dim 384] [--rounds 2] [--kills 3] [--lanes 4] [--no-raw] [--no-check] [--round-trip parquet,jsonl,npy]';
const BULK_ITEMS = 1000;
const CHECK_EVERY_MS = 50;

/** @param {string[]} words */
export async function importBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      rows: { type: 'string', default: '50000' },
      dim: { type: 'string', default: '384' },
      rounds: { type: 'string', default: '2' },
      kills: { type: 'string', default: '3' },
      lanes: { type: 'string', default: '4' },
      'no-raw': { type: 'boolean', default: false },
      'no-check': { type: 'boolean', default: false },
      'round-trip': { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  const size = { rows: Number(values.rows), dim: Number(values.dim) };
  const lanes = Number(values.lanes);
  const folder = mkdtempSync(join(tmpdir(), 'quiver-import-bench-'));
  try {
    console.log(`writing ${size.rows} × ${size.dim} as Parquet and as prepared requests`);
    const file = join(folder, 'rows.parquet');
    const making = spawn(
      process.execPath,
      [
        join(ROOT, 'test/support/values/made-tables.mjs'),
        'parquet',
        file,
        String(size.rows),
        String(size.dim),
        '{"rowGroupSize":10000,"codec":"UNCOMPRESSED"}',
      ],
      {
        stdio: 'inherit',
      },
    );
    await ended(making);
    const bodies = values['no-raw'] ? [] : writeBodies(join(folder, 'bodies'), size);
    const rates = { raw: [], import: [] };
    for (let round = 0; round < Number(values.rounds); round++) {
      if (!values['no-raw'])
        rates.raw.push(
          await onFreshServer(size, async (target) => rawLoad(target, join(folder, 'bodies'), bodies, size, lanes)),
        );
      rates.import.push(
        await onFreshServer(size, async (target) => wholeImport(target, file, folder, { size, lanes, kills: 0 })),
      );
    }
    if (!values['no-raw'])
      console.log(
        `import at ${((100 * best(rates.import)) / best(rates.raw)).toFixed(0)} % of the plain loader's rate (best of ${values.rounds} each)`,
      );
    await onFreshServer(size, async (target) => {
      await wholeImport(target, file, folder, { size, lanes, kills: Number(values.kills) });
      if (!values['no-check']) await check(target, 'bench', size);
      for (const format of values['round-trip'].split(',').filter((name) => name !== ''))
        await roundTrip(target, folder, format, { size, lanes });
      return 0;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const best = (rates) => Math.max(...rates);

async function onFreshServer({ dim }, measure) {
  const target = await openQuiver();
  try {
    await target.server.start();
    await target.createCollection({ dim, metric: 'cosine', language: undefined });
    return await measure(target);
  } finally {
    await target.server.destroy();
  }
}

/** The requests, as the import sends them: vectors as base64, a text, metadata. */
function writeBodies(file, { rows, dim }) {
  const output = openSync(file, 'w');
  const places = [];
  let start = 0;
  for (let from = 0; from < rows; from += BULK_ITEMS) {
    const items = [];
    for (let i = from; i < Math.min(rows, from + BULK_ITEMS); i++)
      items.push(
        JSON.stringify({
          external_id: `r${i}`,
          vector: Buffer.from(madeVector(i, dim).buffer).toString('base64'),
          ...itemOf(i),
        }),
      );
    const bytes = Buffer.from(`{"items":[${items.join(',')}]}`);
    for (let at = 0; at < bytes.length;) at += writeSync(output, bytes, at);
    places.push({ start, length: bytes.length });
    start += bytes.length;
  }
  closeSync(output);
  return places;
}

/** As test/support/values/made-tables.mjs makes row i. */
function itemOf(i) {
  const metadata = {
    ...(i % 10 === 3 ? {} : { year: 1900 + (i % 120) }),
    tags: Array.from({ length: i % 4 }, (_, n) => `t${(i + n) % 7}`),
  };
  return { ...(i % 5 === 4 ? {} : { text: `text number ${i}` }), metadata };
}

async function rawLoad(target, file, places, { rows }, lanes) {
  const input = openSync(file, 'r');
  const connections = await Promise.all(Array.from({ length: lanes }, () => HttpConnection.open(target.address)));
  const path = target.bulkPath;
  const before = processorSeconds(target.server.pid);
  const startedAt = performance.now();
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      for (let place = places[next++]; place !== undefined; place = places[next++]) {
        const body = Buffer.allocUnsafe(place.length);
        readSync(input, body, 0, place.length, place.start);
        const head = requestHead({
          method: 'POST',
          path,
          headers: target.headers,
          ...target.address,
          bodyBytes: place.length,
        });
        const answer = JSON.parse(String(await connection.send(head, body)));
        if (answer.status !== 'success') throw new Error(JSON.stringify(answer.error));
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  for (const connection of connections) connection.close();
  closeSync(input);
  console.log(
    `plain loader: ${Math.round(rows / seconds)} rows/s; the service took ${(processorSeconds(target.server.pid) - before).toFixed(1)} s of processors`,
  );
  return rows / seconds;
}

async function wholeImport(target, file, folder, { size, lanes, kills }) {
  const checkpoint = join(folder, 'checkpoint.json');
  rmSync(checkpoint, { force: true });
  const words = [QUIVER, 'import', file, '--into', 'bench', '--lanes', String(lanes), '--checkpoint', checkpoint];
  const environment = environmentOf(target, folder);
  const startedAt = performance.now();
  const serverBefore = processorSeconds(target.server.pid);
  let used = 0;
  let memory = 0;
  for (let run = 0; run <= kills; run++) {
    const child = spawn(process.execPath, words, { env: environment, stdio: ['ignore', 'inherit', 'inherit'] });
    const killAt = run === kills ? Infinity : ((run + 1) * size.rows) / (kills + 1);
    let lastSeen = 0;
    const watch = setInterval(() => {
      lastSeen = processorSeconds(child.pid) ?? lastSeen;
      memory = Math.max(memory, residentMemory(child.pid)?.totalBytes ?? 0);
      if (rowsSettled(checkpoint) >= killAt) child.kill('SIGKILL');
    }, CHECK_EVERY_MS);
    const code = await ended(child, killAt !== Infinity);
    clearInterval(watch);
    used += lastSeen;
    if (killAt !== Infinity)
      console.log(
        code === null ? `killed after ${rowsSettled(checkpoint)} rows` : 'it was done before it could be killed',
      );
    if (code === 0) break;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `import${kills > 0 ? `, killed ${kills} times` : ''}: ${Math.round(size.rows / seconds)} rows/s in ${seconds.toFixed(1)} s; it took ${used.toFixed(1)} s of processors and ${Math.round(memory / 2 ** 20)} MiB at most, the service ${(processorSeconds(target.server.pid) - serverBefore).toFixed(1)} s`,
  );
  return size.rows / seconds;
}

/** Exports the collection to a file and imports that into another one, which must be the same. */
async function roundTrip(target, folder, format, { size, lanes }) {
  const path = join(folder, `export.${format}`);
  const name = `again-${format}`;
  const run = async (...words) => {
    const startedAt = performance.now();
    await ended(
      spawn(process.execPath, [QUIVER, ...words, '--quiet'], {
        env: environmentOf(target, folder),
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
    );
    return (performance.now() - startedAt) / 1000;
  };
  const written = await run('export', 'bench', '--to', path);
  const read = await run('import', path, '--into', name, '--create', '--lanes', String(lanes));
  console.log(`${format}: exported in ${written.toFixed(1)} s, imported in ${read.toFixed(1)} s`);
  await check(target, name, size);
  const { error } = await target.call('DELETE', `/v1/collections/${name}`);
  if (error) throw new Error(JSON.stringify(error));
  rmSync(path);
}

function environmentOf({ address: { host, port } }, folder) {
  return { PATH: process.env.PATH, HOME: folder, QUIVER_URL: `http://${host}:${port}`, QUIVER_API_KEY: API_KEY };
}

function rowsSettled(checkpoint) {
  try {
    return existsSync(checkpoint) ? JSON.parse(readFileSync(checkpoint, 'utf8')).state.rows : 0;
  } catch {
    return 0;
  }
}

function ended(child, mayBeKilled = false) {
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('exit', (code) =>
      code === 0 || (code === null && mayBeKilled) ? done(code) : fail(new Error(`a process ended with ${code}`)),
    );
  });
}

/** Every row once, with its vector to the bit, its text and its metadata. */
async function check(target, collection, { rows, dim }) {
  const seen = new Uint8Array(rows);
  let count = 0;
  let cursor;
  do {
    const { data, error } = await target.call('POST', `/v1/collections/${collection}/scroll`, {
      cursor,
      limit: 1000,
      vector_format: 'base64',
    });
    if (error) throw new Error(JSON.stringify(error));
    for (const { external_id, vector, text, metadata } of data.vectors) {
      const i = Number(external_id.slice(1));
      const expected = itemOf(i);
      const isSame =
        Buffer.from(madeVector(i, dim).buffer).equals(Buffer.from(vector, 'base64')) &&
        (text ?? undefined) === expected.text &&
        JSON.stringify(sorted(metadata)) === JSON.stringify(sorted(expected.metadata));
      if (!isSame || external_id !== `r${i}` || seen[i] !== 0)
        throw new Error(`row ${external_id} is not as it must be`);
      seen[i] = 1;
      count += 1;
    }
    cursor = data.next_cursor ?? undefined;
  } while (cursor !== undefined);
  if (count !== rows) throw new Error(`there are ${count} rows, not ${rows}`);
  console.log(
    `${collection} is exact: ${count} rows, each once, with its vector to the bit, its text and its metadata`,
  );
}

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
