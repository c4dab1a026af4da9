import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openChroma } from './chroma-target.mjs';
import { NEIGHBOURS, loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { measureSettling } from './measure.mjs';
import { API_KEY, openQuiver } from './quiver-target.mjs';

export const MIGRATE_USAGE = `npm run bench -- migrate [options]

Fills a real Chroma server, moves its collection to Quiver by "quiver migrate", which is killed with SIGKILL on the way and
run again, and compares the neighbours that the two answer to the same queries.

  --rows N           items in Chroma (100000)
  --dim N            dimensions (128)
  --queries N        (500)
  --chroma-ef N      Chroma's ef_search and ef_construction (100): how good its own answers are
  --kills N          times that the migration is killed (1)
  --json FILE        everything measured, as JSON
`;

const QUIVER = fileURLToPath(new URL('../../scripts/quiver.cjs', import.meta.url));
const COLLECTION = 'bench';
const FILL_BATCH = 1000;
/** How often it is looked how far the migration is that is to be killed. */
const WATCH_MS = 50;

export async function migrateBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      rows: { type: 'string', default: '100000' },
      dim: { type: 'string', default: '128' },
      queries: { type: 'string', default: '500' },
      'chroma-ef': { type: 'string', default: '100' },
      kills: { type: 'string', default: '1' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(MIGRATE_USAGE);
    return;
  }
  const [rows, dim, queries, effort, kills] = ['rows', 'dim', 'queries', 'chroma-ef', 'kills'].map((name) =>
    Number(values[name]),
  );
  const dataset = await loadDataset(`clusters-1k-${dim}`, { rows, queries, threads: 2 });
  const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-migrate-'));
  const chroma = await openChroma({ effort });
  const quiver = await openQuiver();
  try {
    await chroma.server.start();
    await quiver.server.start();
    await chroma.createCollection({ metric: dataset.metric });
    process.stdout.write(`filling Chroma with ${rows} items of ${dim} dimensions\n`);
    await fill(chroma, dataset);
    const startedAt = performance.now();
    const seconds = await migrateKilled({ chroma, quiver, folder, rows, kills });
    await measureSettling({ target: quiver, dataset, startedAt });
    const { data } = await quiver.call('GET', `/v1/collections/${COLLECTION}`);
    const figures = {
      rows,
      dim,
      queries: dataset.queryCount,
      kills,
      seconds,
      itemsPerSecond: rows / seconds,
      itemsHere: data.vector_count,
      ...(await compared({ chroma, quiver, dataset })),
    };
    process.stdout.write(
      `\n| items | killed | seconds in all | items here | recall@10 of Chroma | of Quiver | against each other | texts and metadata equal |\n|---|---|---|---|---|---|---|---|\n` +
        `| ${rows} × ${dim} | ${kills} | ${seconds.toFixed(1)} | ${figures.itemsHere} | ${figures.chromaRecall.toFixed(4)} | ${figures.quiverRecall.toFixed(4)} | ${figures.agreement.toFixed(4)} | ${figures.sampleEqual} of ${figures.sampled} |\n`,
    );
    if (values.json !== undefined) writeFigures(values.json, figures);
    if (figures.itemsHere !== rows || figures.sampleEqual !== figures.sampled || figures.agreement < 0.98)
      throw new Error('not the same items, or not the same neighbours');
  } finally {
    await chroma.server.destroy();
    await quiver.server.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
}

const idOf = (row) => `item-${row}`;
const metadataOf = (row) => ({ row, group: `g${row % 97}`, even: row % 2 === 0 });
const textOf = (row) => `text of item ${row}`;
const rowOf = (dataset, row) => Array.from(dataset.rows.subarray(row * dataset.dim, (row + 1) * dataset.dim));

async function fill(chroma, dataset) {
  for (let from = 0; from < dataset.count; from += FILL_BATCH) {
    const batch = Array.from({ length: Math.min(FILL_BATCH, dataset.count - from) }, (_, i) => from + i);
    const body = {
      ids: batch.map(idOf),
      embeddings: batch.map((row) => rowOf(dataset, row)),
      metadatas: batch.map(metadataOf),
      documents: batch.map(textOf),
    };
    chroma.checkBulkAnswer(await post(chroma, chroma.bulkPath, body));
  }
}

/** Runs the command, kills it, runs it again until it ends; answers the seconds that the runs took. */
async function migrateKilled({ chroma, quiver, folder, rows, kills }) {
  let seconds = 0;
  for (let run = 0; run <= kills; run++) {
    const startedAt = performance.now();
    const child = spawn(
      process.execPath,
      [QUIVER, 'migrate', '--from', 'chroma', `http://${chroma.address.host}:${chroma.address.port}`],
      {
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          QUIVER_URL: `http://${quiver.address.host}:${quiver.address.port}`,
          QUIVER_API_KEY: API_KEY,
          XDG_STATE_HOME: folder,
        },
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    const ended = new Promise((done) => child.once('exit', (code, signal) => done(signal ?? code)));
    if (run < kills) {
      const enough = (rows * (run + 1)) / (kills + 1);
      for (;;) {
        const { data } = await quiver.call('GET', `/v1/collections/${COLLECTION}`);
        if ((data?.vector_count ?? 0) >= enough) break;
        await new Promise((wake) => setTimeout(wake, WATCH_MS));
      }
      child.kill('SIGKILL');
    }
    const end = await ended;
    seconds += (performance.now() - startedAt) / 1000;
    if (run < kills) process.stdout.write(`killed (${end})\n`);
    else if (end !== 0) throw new Error(`quiver migrate ended with ${end}`);
  }
  return seconds;
}

/**
 * Recall of both against the exact neighbours and against each other; and items picked evenly, compared field by field
 * with what Chroma answers (it does not keep every bit of a vector).
 */
async function compared({ chroma, quiver, dataset }) {
  const sums = { chroma: 0, quiver: 0, both: 0 };
  for (let query = 0; query < dataset.queryCount; query++) {
    const vector = Array.from(dataset.queries.subarray(query * dataset.dim, (query + 1) * dataset.dim));
    const there = await post(chroma, chroma.searchPath, {
      query_embeddings: [vector],
      n_results: NEIGHBOURS,
      include: [],
    });
    const here = await quiver.call('POST', quiver.searchPath, { vector, k: NEIGHBOURS });
    const [a, b] = [there.ids[0], here.data.results.map((hit) => hit.external_id)];
    const exact = Array.from(dataset.truth.subarray(query * NEIGHBOURS, (query + 1) * NEIGHBOURS), idOf);
    sums.chroma += shared(a, exact);
    sums.quiver += shared(b, exact);
    sums.both += shared(a, b);
  }
  const picked = Array.from({ length: 100 }, (_, i) => Math.floor((i * dataset.count) / 100));
  const { data } = await quiver.call('POST', `${quiver.collectionPath}/vectors/fetch`, { ids: picked.map(idOf) });
  const there = await post(chroma, chroma.bulkPath.replace(/upsert$/, 'get'), {
    ids: picked.map(idOf),
    include: ['embeddings', 'documents', 'metadatas'],
  });
  const sampleEqual = picked.filter((row, i) => {
    const { external_id, vector, metadata, text } = data.vectors[i] ?? {};
    const own = there.ids.indexOf(idOf(row));
    const isSame = (x, y) => JSON.stringify(x) === JSON.stringify(y);
    const sorted = (object) => Object.entries(object ?? {}).sort(([x], [y]) => (x < y ? -1 : 1));
    return (
      external_id === idOf(row) &&
      isSame(vector?.map(Math.fround), there.embeddings[own].map(Math.fround)) &&
      isSame(sorted(metadata), sorted(metadataOf(row))) &&
      text === textOf(row) &&
      text === there.documents[own]
    );
  }).length;
  const of = (sum) => sum / (dataset.queryCount * NEIGHBOURS);
  return {
    chromaRecall: of(sums.chroma),
    quiverRecall: of(sums.quiver),
    agreement: of(sums.both),
    sampled: picked.length,
    sampleEqual,
  };
}

const shared = (a, b) => a.filter((id) => b.includes(id)).length;

async function post(chroma, path, body) {
  const answer = await fetch(`http://${chroma.address.host}:${chroma.address.port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return /** @type {Promise<any>} */ (answer.json());
}
