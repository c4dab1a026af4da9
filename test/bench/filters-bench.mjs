import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { loadDataset } from './datasets.mjs';
import { dot, squaredDistance } from './exact-neighbours.mjs';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { generateLoad } from './load-generator.mjs';
import { loadRows } from './load-rows.mjs';
import { measureSettling } from './measure.mjs';
import { ProgressBar } from './progress-bar.mjs';
import { openQuiver } from './quiver-target.mjs';
import { normalFrom, seededRandom } from './seeded-random.mjs';

export const FILTERS_USAGE = `npm run bench -- filters [options]

Recall and latency through HTTP of searches whose filters have nothing to do with the query, agree with it, or go against
it, and of conjunctions. Every item has a number at random ("lot", 0 to 1) and its place along a random direction ("place",
0 to 1): where a filter keeps a share p,

  random       keeps lots below p
  agree        the p whose places are next to the query's
  against      the p whose places are farthest from the query's
  conjunction  the root of p by place, as agree, and of that the root of p by lot, as random

  --dataset NAME     clusters-100k-128; as for the benchmark of vectors, with --rows, --dim and --queries (100)
  --shares LIST      0.5,0.1,0.01,0.001,0.0001
  --seconds N        of searches for each filter, one connection (2)
  --json FILE        everything measured, as JSON
`;

const K = 10;
const SEED = 11;
export const FILTER_KINDS = ['random', 'agree', 'against', 'conjunction'];

export async function filtersBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-100k-128' },
      rows: { type: 'string' },
      dim: { type: 'string' },
      queries: { type: 'string', default: '100' },
      shares: { type: 'string', default: '0.5,0.1,0.01,0.001,0.0001' },
      seconds: { type: 'string', default: '2' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(FILTERS_USAGE);
    return;
  }
  const number = (text) => (text === undefined ? undefined : Number(text));
  const dataset = await loadDataset(values.dataset, {
    rows: number(values.rows),
    queries: number(values.queries),
    dim: number(values.dim),
    threads: availableParallelism(),
  });
  const fields = madeFields(dataset);
  const cases = values.shares
    .split(',')
    .flatMap((share) => FILTER_KINDS.map((kind) => ({ kind, share: Number(share) })));
  const truths = exactAnswers(dataset, fields, cases);
  const target = await openQuiver();
  try {
    await target.server.start();
    await target.createCollection({ dim: dataset.dim, metric: dataset.metric, language: undefined });
    const startedAt = performance.now();
    await loadRows(target, dataset, (row) => ({ lot: fields.lots[row], place: fields.places[row] }));
    await measureSettling({ target, dataset, startedAt });
    const searches = (ranges) =>
      Array.from({ length: dataset.queryCount }, (_, query) => {
        const vector = Buffer.from(
          dataset.queries.slice(query * dataset.dim, (query + 1) * dataset.dim).buffer,
        ).toString('base64');
        return {
          method: 'POST',
          path: target.searchPath,
          headers: target.headers,
          body: JSON.stringify({ vector, k: K, filters: ranges?.(query) }),
        };
      });
    const measured = async (requests, truth) => {
      const found = await recallOf(target, requests, truth);
      const { p50Ms, p99Ms } = await generateLoad({
        address: target.address,
        requests,
        connections: 1,
        seconds: number(values.seconds),
      });
      return { ...found, p50Ms, p99Ms };
    };
    const plain = await measured(searches(null), (query) => [...dataset.truth.subarray(query * K, (query + 1) * K)]);
    const filtered = [];
    for (const [i, one] of cases.entries()) {
      const requests = searches((query) => conditions(rangesOf(one, fields.queryPlaces[query])));
      filtered.push({ ...one, ...(await measured(requests, (query) => truths[i][query])) });
    }
    process.stdout.write(`\n${formatFiltersReport({ dataset, plain, filtered })}`);
    if (values.json !== undefined)
      writeFigures(values.json, { dataset: values.dataset, rows: dataset.count, plain, filtered });
  } finally {
    await target.server.destroy();
  }
}

/** The lot and the place of each row, and the place where each query would be among them. */
function madeFields({ rows, queries, dim, count, queryCount }) {
  const random = seededRandom(SEED);
  const normal = normalFrom(random);
  const direction = Float64Array.from({ length: dim }, normal);
  const along = (matrix, row) => {
    let sum = 0;
    for (let i = 0; i < dim; i++) sum += matrix[row * dim + i] * direction[i];
    return sum;
  };
  const heights = Float64Array.from({ length: count }, (_, row) => along(rows, row));
  const sorted = Float64Array.from(heights).sort();
  /** The share of the rows that lie below. */
  const placeOf = (height) => {
    let [from, to] = [0, count];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (sorted[middle] < height) from = middle + 1;
      else to = middle;
    }
    return from / count;
  };
  return {
    lots: Float64Array.from({ length: count }, random),
    places: Float64Array.from(heights, placeOf),
    queryPlaces: Float64Array.from({ length: queryCount }, (_, query) => placeOf(along(queries, query))),
  };
}

/** From where (with it) to where (without it) lots and places are kept. */
function rangesOf({ kind, share }, queryPlace) {
  const around = (width) => {
    const from = Math.min(Math.max(0, queryPlace - width / 2), 1 - width);
    return [from, from + width];
  };
  if (kind === 'random') return { lot: [0, share] };
  if (kind === 'agree') return { place: around(share) };
  if (kind === 'conjunction') return { lot: [0, Math.sqrt(share)], place: around(Math.sqrt(share)) };
  return { place: queryPlace < 0.5 ? [1 - share, 1] : [0, share] };
}

function conditions(ranges) {
  return Object.fromEntries(Object.entries(ranges).map(([field, [from, to]]) => [field, { $gte: from, $lt: to }]));
}

/** For each case and query the rows that belong in the answer, from one scan of all rows for each query. */
function exactAnswers({ rows, queries, dim, count, queryCount, metric }, { lots, places, queryPlaces }, cases) {
  const answers = cases.map(() => []);
  const scores = new Float64Array(count);
  const bar = new ProgressBar({ label: 'exact neighbours', total: queryCount, unit: 'queries' });
  for (let query = 0; query < queryCount; query++) {
    for (let row = 0; row < count; row++) {
      const [a, b] = [row * dim, query * dim];
      scores[row] = metric === 'l2' ? -squaredDistance(rows, a, queries, b, dim) : dot(rows, a, queries, b, dim);
    }
    for (const [i, one] of cases.entries()) {
      const { lot: [lotFrom, lotTo] = [0, 1], place: [placeFrom, placeTo] = [0, 1] } = rangesOf(
        one,
        queryPlaces[query],
      );
      const best = [];
      for (let row = 0; row < count; row++) {
        if (best.length === K && scores[row] <= scores[best[K - 1]]) continue;
        if (lots[row] < lotFrom || lots[row] >= lotTo || places[row] < placeFrom || places[row] >= placeTo) continue;
        best.push(row);
        best.sort((a, b) => scores[b] - scores[a]);
        best.length = Math.min(K, best.length);
      }
      answers[i].push(best);
    }
    bar.report(query + 1);
  }
  bar.finish();
  return answers;
}

/** The share of the rows that belong in the answers which is there; of answers that have any. */
async function recallOf(target, requests, truth) {
  const connection = await HttpConnection.open(target.address);
  let [hits, possible, short] = [0, 0, 0];
  for (const [query, { method, path, headers, body }] of requests.entries()) {
    const head = requestHead({ method, path, headers, ...target.address, bodyBytes: Buffer.byteLength(body) });
    const answer = JSON.parse(await connection.send(head, body));
    if (answer.status !== 'success') throw new Error(JSON.stringify(answer.error));
    const found = new Set(answer.data.results.map((hit) => Number(hit.external_id)));
    const exact = truth(query);
    hits += exact.filter((row) => found.has(row)).length;
    possible += exact.length;
    if (found.size < exact.length) short += 1;
  }
  connection.close();
  return { recall: possible === 0 ? null : hits / possible, shortAnswers: short };
}

export function formatFiltersReport({ dataset, plain, filtered }) {
  const cell = ({ recall, p50Ms, p99Ms }) =>
    `${recall === null ? 'no rows' : recall.toFixed(4)}, ${p50Ms.toFixed(2)}; ${p99Ms.toFixed(2)} ms`;
  const shares = [...new Set(filtered.map(({ share }) => share))];
  const lines = [
    `${dataset.name}: ${dataset.count.toLocaleString('en')} × ${dataset.dim}, ${dataset.metric}, ${dataset.queryCount} queries, k = ${K}; recall, p50; p99 of one connection`,
    `without a filter: ${cell(plain)}`,
    '',
    `| kept | ${FILTER_KINDS.join(' | ')} |`,
    `|---${'|---'.repeat(FILTER_KINDS.length)}|`,
    ...shares.map(
      (share) =>
        `| ${+(share * 100).toPrecision(12)} % | ${filtered
          .filter((one) => one.share === share)
          .map(cell)
          .join(' | ')} |`,
    ),
  ];
  const short = filtered.reduce((sum, { shortAnswers }) => sum + shortAnswers, plain.shortAnswers);
  if (short > 0) lines.push('', `${short} answers were shorter than they could be`);
  return `${lines.join('\n')}\n`;
}
