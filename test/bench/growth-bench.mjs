import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { curvePicture } from './curve-picture.mjs';
import { writeFigures } from './figures-file.mjs';
import { NearestStream } from './nearest-stream.mjs';
import { threadMicros } from './process-facts.mjs';
import { ProgressBar } from './progress-bar.mjs';
import { normalFrom, seededRandom } from './seeded-random.mjs';

export const GROWTH_USAGE = `npm run bench -- growth [options]

What searches, rows in memory and building cost at growing sizes, in one process without HTTP, and a picture of it. Vectors are
generated in clusters of 100 as they are put in, so no size needs them in memory. Searches come one after the other, with the
calibrated effort.

  --sizes N,N,…    10k,30k,100k,300k,1m
  --dim N          128
  --vectors        memory; or disk
  --cluster-rows N of each cluster (100); or --clusters N of all sizes, which then grow denser
  --queries N      500
  --exact N        queries whose exact neighbours are found while rows are made, for the recall (200)
  --passes N       over the queries, of which the quickest counts (5)
  --real-time      searches with real-time priority (chrt), for a machine with other work; needs the right to
  --with FILE      figures of an earlier run (--json), whose sizes come first; may be repeated
  --picture FILE   an SVG file
  --json FILE      everything measured, as JSON
`;

const require = createRequire(import.meta.url);
const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const K = 10;
const PUT_ROWS = 1000;
const SPREAD = 0.7;
const CALIBRATED = { type: 'calibrated' };

export async function growthBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      sizes: { type: 'string', default: '10k,30k,100k,300k,1m' },
      dim: { type: 'string', default: '128' },
      vectors: { type: 'string', default: 'memory' },
      'cluster-rows': { type: 'string', default: '100' },
      clusters: { type: 'string' },
      queries: { type: 'string', default: '500' },
      exact: { type: 'string', default: '200' },
      passes: { type: 'string', default: '5' },
      'real-time': { type: 'boolean', default: false },
      with: { type: 'string', multiple: true, default: [] },
      picture: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(GROWTH_USAGE);
    return;
  }
  const options = {
    dim: Number(values.dim),
    place: values.vectors,
    clusterRows: Number(values['cluster-rows']),
    clusters: values.clusters === undefined ? null : Number(values.clusters),
    queries: Number(values.queries),
    exact: Number(values.exact),
    passes: Number(values.passes),
    realTime: values['real-time'],
  };
  const sizes = values.sizes.split(',').filter((size) => size !== '');
  const figures = values.with.flatMap((file) => JSON.parse(readFileSync(file, 'utf8')).figures);
  process.stdout.write(`${HEAD}\n${figures.map((one) => `${lineOf(one)}\n`).join('')}`);
  for (const size of sizes) {
    figures.push(await measure({ rows: rowsOf(size), ...options }));
    process.stdout.write(`${lineOf(figures.at(-1))}\n`);
    // So that a size that does not end costs only itself.
    if (values.json !== undefined) writeFigures(values.json, { figures });
  }
  figures.sort((a, b) => a.rows - b.rows);
  if (values.picture !== undefined) writeFileSync(values.picture, curvePicture(pictureOf(figures)));
}

function rowsOf(size) {
  const [, number, unit] = /^(\d+)(k|m)?$/.exec(size) ?? [];
  if (number === undefined) throw new Error(`no size ${size}: as 5000, 50k or 1m`);
  return Number(number) * (unit === 'm' ? 1_000_000 : unit === 'k' ? 1000 : 1);
}

async function measure({ rows, dim, place, clusterRows, clusters, queries, exact, passes, realTime }) {
  const generator = new ClusterStream(dim, clusters ?? Math.max(1, Math.round(rows / clusterRows)));
  const asked = generator.some(queries, 2);
  const nearest = new NearestStream(generator.some(exact, 3), K);
  const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-growth-'));
  const fail = (error) => {
    throw error;
  };
  const opener =
    place === 'disk'
      ? require(join(DIST, 'node', 'engine', 'vector', 'disk-vector-index.js')).DiskVectorIndex
      : require(join(DIST, 'node', 'engine', 'vector', 'native-vector-index.js')).NativeVectorIndex;
  const index = await opener.open(
    {
      folder,
      dim,
      metric: 'cosine',
      recallTarget: 0.99,
      buildThreads: availableParallelism(),
      onBackgroundError: fail,
      onDamaged: fail,
    },
    null,
  );
  try {
    const build = await fill(index, rows, generator, nearest);
    if (realTime) prioritise(['-r', '-p', '5']);
    const search = await searched(index, asked, passes);
    const counted = await costs(index, asked);
    const recall = await recallOf(index, nearest);
    if (realTime) prioritise(['-o', '-p', '0']);
    const { memoryBytes, segments } = index.status();
    return {
      rows,
      dim,
      place,
      clusters: generator.clusters,
      ...search,
      ...counted,
      recall,
      memoryBytes,
      segments: segments.length,
      ...build,
    };
  } finally {
    await index.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Puts all rows, and waits until the index is ready. Processor time without that of making rows and their neighbours.
 */
async function fill(index, rows, generator, nearest) {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  const bar = new ProgressBar({ label: `${rows} × ${generator.dim}`, total: rows });
  let ownMicros = 0;
  for (let from = 0; from < rows; from += PUT_ROWS) {
    const began = mainMicros();
    const slots = Uint32Array.from({ length: Math.min(PUT_ROWS, rows - from) }, (_, i) => from + i);
    const vectors = new Float32Array(slots.length * generator.dim);
    for (const [i, row] of slots.entries()) {
      const vector = vectors.subarray(i * generator.dim, (i + 1) * generator.dim);
      generator.next(vector);
      nearest.look(row, vector);
    }
    ownMicros += mainMicros() - began;
    index.put(slots, vectors);
    bar.report(from + slots.length);
    await new Promise((next) => setImmediate(next));
  }
  bar.finish();
  await index.settled();
  const { user, system } = process.cpuUsage(before);
  return { buildMicros: user + system - ownMicros, buildSeconds: (performance.now() - startedAt) / 1000 };
}

/** Processor time of a search, of all threads, and how long searches took: of the quickest pass. */
async function searched(index, asked, passes) {
  const search = inlineOr(index);
  for (const query of asked) await search(query);
  let best = null;
  for (let pass = 0; pass < passes; pass++) {
    const times = [];
    const before = process.cpuUsage();
    for (const query of asked) {
      const startedAt = performance.now();
      const answer = search(query);
      if (answer instanceof Promise) await answer;
      times.push((performance.now() - startedAt) * 1000);
    }
    const { user, system } = process.cpuUsage(before);
    const micros = (user + system) / asked.length;
    times.sort((a, b) => a - b);
    if (best === null || micros < best.searchMicros)
      best = {
        searchMicros: micros,
        p50Micros: times[times.length >> 1],
        p99Micros: times[Math.floor(times.length * 0.99)],
      };
  }
  return best;
}

/** As an HTTP thread searches: at once, unless that is expected to take long. */
function inlineOr(index) {
  const options = { k: K, effort: CALIBRATED, allowed: null };
  const shared = index.share();
  if (shared === null) return (query) => index.search(query, options);
  const { searchSharedVectors } = require(join(DIST, 'node', 'engine', 'vector', 'shared-vectors.js'));
  return (query) =>
    searchSharedVectors(shared, query, { k: K, effort: CALIBRATED, filter: null }) ?? index.search(query, options);
}

async function costs(index, asked) {
  let [scored, rescored] = [0, 0];
  for (const query of asked) {
    const answer = await index.search(query, { k: K, effort: CALIBRATED, allowed: null, counted: true });
    scored += answer.scored;
    rescored += answer.rescored;
  }
  return { scored: scored / asked.length, rescored: rescored / asked.length };
}

async function recallOf(index, nearest) {
  let found = 0;
  for (const [i, query] of nearest.queries.entries())
    found += nearest.found(
      i,
      (await index.search(query, { k: K, effort: CALIBRATED, allowed: null })).slots.subarray(0, K),
    );
  return found / (K * nearest.queries.length);
}

/** Vectors around random centres, one after the other, from a seed. */
class ClusterStream {
  constructor(dim, clusters) {
    this.dim = dim;
    this.clusters = clusters;
    const random = seededRandom(1);
    const normal = normalFrom(random);
    this.centres = Float32Array.from({ length: clusters * dim }, normal);
    this.source = { random, normal };
  }

  next(vector, { random, normal } = this.source) {
    const centre = Math.floor(random() * this.clusters) * this.dim;
    for (let i = 0; i < this.dim; i++) vector[i] = this.centres[centre + i] + SPREAD * normal();
  }

  /** Others like them. */
  some(count, seed) {
    const random = seededRandom(1_000_003 * seed);
    const source = { random, normal: normalFrom(random) };
    return Array.from({ length: count }, () => {
      const vector = new Float32Array(this.dim);
      this.next(vector, source);
      return vector;
    });
  }
}

/** Processor time of this thread. */
function mainMicros() {
  return process.platform === 'linux' ? (threadMicros(process.pid).get(process.pid) ?? 0) : performance.now() * 1000;
}

/** Sets the priority of all threads of this process. Errors: that of a user who may not. */
function prioritise(words) {
  const { status, stderr, error } = spawnSync('chrt', ['-a', ...words, String(process.pid)], { encoding: 'utf8' });
  if (error !== undefined || status !== 0) throw new Error(`chrt: ${error?.message ?? stderr}`);
}

const HEAD =
  '| vectors | rows | processor time of a search, µs | p50, µs | p99, µs | rows scored | with originals | recall | memory of a row, bytes | building a row, µs | segments |\n|---|---|---|---|---|---|---|---|---|---|---|';

function lineOf({
  place,
  rows,
  searchMicros,
  p50Micros,
  p99Micros,
  scored,
  rescored,
  recall,
  memoryBytes,
  buildMicros,
  segments,
}) {
  const whole = (value) => Math.round(value).toLocaleString('en');
  const cells = [
    place,
    whole(rows),
    whole(searchMicros),
    whole(p50Micros),
    whole(p99Micros),
    whole(scored),
    rescored.toFixed(1),
    recall.toFixed(4),
    whole(memoryBytes / rows),
    whole(buildMicros / rows),
    segments,
  ];
  return `| ${cells.join(' | ')} |`;
}

/**
 * How many times as much as at the smallest size: what grows with the rows goes up as steeply as the line of rows does.
 */
function pictureOf(figures) {
  const [from, to] = [figures[0].rows, Math.max(figures.at(-1).rows, figures[0].rows * 10)];
  const most = to / from;
  const sizes = [...new Set(figures.map(({ rows }) => rows))];
  const places = [...new Set(figures.map(({ place }) => place))];
  const curvesOf = (place) => {
    const own = figures.filter((one) => one.place === place);
    const curve = (name, of) => ({
      name: places.length > 1 ? `${name}, ${place}` : name,
      points: own.map((one) => ({ x: one.rows, y: of(one) / of(own[0]) })),
    });
    return [curve('processor time', ({ searchMicros }) => searchMicros), curve('rows scored', ({ scored }) => scored)];
  };
  const powers = (start, end) =>
    Array.from({ length: Math.round(Math.log10(end / start)) + 1 }, (_, i) => start * 10 ** i);
  return {
    title: `What a search costs as a collection grows: × ${figures[0].dim}, calibrated to a recall of .99`,
    x: { label: 'rows', from, to, log: true, ticks: powers(from, to) },
    y: {
      label: `times as much as with ${from.toLocaleString('en')} rows`,
      from: 0.8,
      to: most,
      log: true,
      ticks: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter((tick) => tick <= most),
    },
    curves: [
      ...places.flatMap(curvesOf),
      { name: 'log of the rows', points: sizes.map((rows) => ({ x: rows, y: Math.log(rows) / Math.log(from) })) },
      { name: 'the rows', points: sizes.map((rows) => ({ x: rows, y: rows / from })) },
    ],
  };
}
