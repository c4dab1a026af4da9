import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { loadRows } from './load-rows.mjs';
import { measureSettling, median } from './measure.mjs';
import { residentMemory } from './process-facts.mjs';
import { openQuiver } from './quiver-target.mjs';

export const CURSORS_USAGE = `npm run bench -- cursors [options]

Lists that are read by cursors, on one connection: pages of 10 up to page 100 beside plain searches, in turns; a list from its
first hit to its last, in pages of 10,000; and the memory that many open cursors take.

  --dataset NAME     clusters-1m-128; as for the benchmark of vectors, with --rows, --dim and --queries (50)
  --pages N          of 10 hits (100)
  --open N           cursors (10000)
  --json FILE        everything measured, as JSON
`;

const K = 10;
const DEEP_K = 9_999;
const MB = 1024 * 1024;

export async function cursorsBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-1m-128' },
      rows: { type: 'string' },
      dim: { type: 'string' },
      queries: { type: 'string', default: '50' },
      pages: { type: 'string', default: '100' },
      open: { type: 'string', default: '10000' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(CURSORS_USAGE);
    return;
  }
  const number = (text) => (text === undefined ? undefined : Number(text));
  const dataset = await loadDataset(values.dataset, {
    rows: number(values.rows),
    queries: number(values.queries),
    dim: number(values.dim),
    threads: availableParallelism(),
  });
  const target = await openQuiver({ environment: { CURSOR_SECONDS: '3600' } });
  try {
    await target.server.start();
    await target.createCollection({ dim: dataset.dim, metric: dataset.metric, language: undefined });
    const startedAt = performance.now();
    await loadRows(target, dataset, () => ({}));
    await measureSettling({ target, dataset, startedAt });
    const connection = await HttpConnection.open(target.address);
    const search = async (query, more, shift = 0) => {
      const values = dataset.queries.slice(query * dataset.dim, (query + 1) * dataset.dim);
      values[0] += shift;
      const vector = Buffer.from(values.buffer).toString('base64');
      const body = JSON.stringify({ vector, ...more });
      const head = requestHead({
        method: 'POST',
        path: target.searchPath,
        headers: target.headers,
        ...target.address,
        bodyBytes: Buffer.byteLength(body),
      });
      const since = performance.now();
      const text = await connection.send(head, body);
      const ms = performance.now() - since;
      const { data, error } = JSON.parse(text);
      if (error !== null) throw new Error(JSON.stringify(error));
      return { ms, data };
    };
    const figures = {
      pages: await pagesOf(search, dataset.queryCount, Number(values.pages)),
      whole: await wholeList(search),
      open: await manyOpen(search, target, dataset.queryCount, Number(values.open)),
    };
    connection.close();
    process.stdout.write(`\n${formatCursorsReport({ dataset, figures })}`);
    if (values.json !== undefined) writeFigures(values.json, { dataset: values.dataset, rows: dataset.count, figures });
  } finally {
    await target.server.destroy();
  }
}

/** Plain searches, first pages and all later pages, in turns by query. */
async function pagesOf(search, queries, pages) {
  const plain = [];
  const byPage = Array.from({ length: pages }, () => []);
  for (let query = 0; query < queries; query++) {
    for (let i = 0; i < 3; i++) plain.push((await search(query, { k: K })).ms);
    let cursor = 'first';
    for (let page = 0; page < pages && cursor !== null; page++) {
      const { ms, data } = await search(query, { k: K, cursor });
      byPage[page].push(ms);
      cursor = data.next_cursor;
    }
  }
  const later = byPage.slice(1).flat();
  const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length;
  return {
    plainMs: median(plain),
    firstMs: median(byPage[0]),
    laterMs: median(later),
    plainMeanMs: mean(plain),
    firstMeanMs: mean(byPage[0]),
    laterMeanMs: mean(later),
    slowestPageMs: Math.max(...byPage.slice(1).map(median)),
  };
}

async function wholeList(search) {
  let [cursor, hits, slowestMs] = ['first', 0, 0];
  const since = performance.now();
  while (cursor !== null) {
    const { ms, data } = await search(0, { k: DEEP_K, cursor, fields: [] });
    hits += data.results.length;
    slowestMs = Math.max(slowestMs, ms);
    cursor = data.next_cursor;
  }
  return { hits, seconds: (performance.now() - since) / 1000, slowestMs };
}

/** Cursors behind the third page, each of another list: the vector differs. */
async function manyOpen(search, target, queries, count) {
  const resident = () => residentMemory(target.server.pid).ownBytes;
  const before = resident();
  for (let i = 0; i < count; i++) {
    let cursor = 'first';
    for (let page = 0; page < 3 && cursor !== null; page++)
      cursor = (await search(i % queries, { k: K, cursor }, i / count)).data.next_cursor;
  }
  return { count, bytes: resident() - before };
}

export function formatCursorsReport({ dataset, figures: { pages, whole, open } }) {
  const ms = (value) => `${value.toFixed(2)} ms`;
  return [
    `${dataset.count} vectors of ${dataset.dim} dimensions, pages of ${K}`,
    `  plain search   p50 ${ms(pages.plainMs)}, mean ${ms(pages.plainMeanMs)}`,
    `  first page     p50 ${ms(pages.firstMs)}, mean ${ms(pages.firstMeanMs)}`,
    `  later pages    p50 ${ms(pages.laterMs)}, mean ${ms(pages.laterMeanMs)}; slowest page, p50 ${ms(pages.slowestPageMs)}`,
    `  whole list     ${whole.hits} hits in ${whole.seconds.toFixed(1)} s, slowest page ${ms(whole.slowestMs)}`,
    `  ${open.count} open cursors: ${(open.bytes / MB).toFixed(0)} MiB`,
    '',
  ].join('\n');
}
