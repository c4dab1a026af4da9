import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { median } from './measure.mjs';
import { openQuiver as openService } from './quiver-target.mjs';

export const LIBRARY_USAGE = `npm run bench -- library [options]

Searches of one caller, one after the other, in turns over copies of one folder:

  library     openQuiver: the service in the caller's process
  client      the same client over HTTP to a process
  connection  the same requests over one connection that is read by hand: no client is faster over HTTP

  --dataset NAME     as of npm run bench (clusters-50k-128)
  --queries N        that are gone through again and again (1000)
  --seconds N        of each turn (3)       --rounds N    of turns (5)
  --json FILE        everything measured, as JSON
`;

const require = createRequire(import.meta.url);
const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const COLLECTION = 'bench';
const SETTINGS = { EMBEDDING_MODEL: 'builtin' };
const K = 10;

/** @param {string[]} words */
export async function libraryBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-50k-128' },
      queries: { type: 'string', default: '1000' },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(LIBRARY_USAGE);
  const [queryCount, seconds, rounds] = [values.queries, values.seconds, values.rounds].map(Number);
  const dataset = await loadDataset(values.dataset, { queries: queryCount, threads: 2 });
  const { openQuiver, QuiverClient } = require(join(DIST, 'embedded', 'library', 'index.js'));
  const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-library-'));
  const service = await openService();
  try {
    await load(openQuiver, folder, dataset);
    cpSync(folder, service.server.dataFolder, { recursive: true });
    await service.server.start();
    const embedded = await openQuiver(folder, { settings: SETTINGS });
    const { host, port } = service.address;
    const client = new QuiverClient({ url: `http://${host}:${port}`, apiKey: service.headers['x-api-key'] });
    const connection = await HttpConnection.open(service.address);
    const ways = {
      library: searchBy(embedded.collection(COLLECTION)),
      client: searchBy(client.collection(COLLECTION)),
      connection: searchOver(connection, service),
    };
    try {
      const figures = await inTurns(ways, dataset, { seconds, rounds });
      report(figures);
      if (values.json !== undefined) writeFigures(values.json, { dataset: dataset.name, seconds, figures });
    } finally {
      connection.close();
      await embedded.close();
    }
  } finally {
    await service.server.stop();
    for (const each of [folder, service.server.dataFolder]) rmSync(each, { recursive: true, force: true });
  }
}

async function load(openQuiver, folder, { dim, metric, count, rows }) {
  const quiver = await openQuiver(folder, { settings: SETTINGS });
  const collection = await quiver.getOrCreate({ name: COLLECTION, dim, distance_metric: metric });
  await collection.upsertMany(
    (function* () {
      for (let i = 0; i < count; i++)
        yield { external_id: String(i), vector: rows.slice(i * dim, (i + 1) * dim), metadata: { n: i } };
    })(),
  );
  await collection.optimize();
  await quiver.close();
}

const searchBy = (collection) => async (vector) => (await collection.search({ vector, k: K })).results;

const searchOver = (connection, service) => async (vector) => {
  const body = Buffer.from(JSON.stringify({ vector: base64(vector), k: K }));
  const head = requestHead({
    method: 'POST',
    path: service.searchPath,
    headers: service.headers,
    ...service.address,
    bodyBytes: body.length,
  });
  return JSON.parse(await connection.send(head, body)).data.results;
};

const base64 = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString('base64');

/** Searches a second and recall of each way, by rounds. */
async function inTurns(ways, dataset, { seconds, rounds }) {
  const { dim, queryCount, queries, truth } = dataset;
  const at = (i) => queries.slice(i * dim, (i + 1) * dim);
  const figures = Object.fromEntries(Object.keys(ways).map((name) => [name, { rates: [], recall: 0 }]));
  for (const [name, search] of Object.entries(ways)) {
    let found = 0;
    for (let i = 0; i < queryCount; i++) {
      const wanted = new Set(truth.subarray(i * K, (i + 1) * K));
      found += (await search(at(i))).filter(({ external_id: id }) => wanted.has(Number(id))).length;
    }
    figures[name].recall = found / (queryCount * K);
  }
  for (let round = 0; round < rounds; round++) {
    for (const [name, search] of Object.entries(ways)) {
      const begunAt = performance.now();
      let done = 0;
      while (performance.now() - begunAt < seconds * 1000) await search(at(done++ % queryCount));
      figures[name].rates.push((done / (performance.now() - begunAt)) * 1000);
    }
  }
  return figures;
}

function report(figures) {
  const rate = (name) => median(figures[name].rates);
  for (const [name, { rates, recall }] of Object.entries(figures))
    console.log(
      `${name.padEnd(10)}  ${Math.round(rate(name))} searches/s (${rates.map(Math.round).join(', ')}), recall ${recall.toFixed(4)}`,
    );
  for (const name of ['client', 'connection'])
    console.log(`library against ${name}: ${(rate('library') / rate(name)).toFixed(2)} times`);
  console.log(
    `load: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  );
}
