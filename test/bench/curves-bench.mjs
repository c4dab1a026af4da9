// `npm run bench -- curves`: recall against throughput of Quiver's engine and of libraries, in one process, on one
// thread, as a picture; and what a search costs at several sizes.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { curvePicture } from './curve-picture.mjs';
import { loadDataset, NEIGHBOURS } from './datasets.mjs';
import { buildInProcess, CONNECTIVITY, CONSTRUCTION_EFFORT, IN_PROCESS } from './in-process.mjs';

const USAGE = `npm run bench -- curves [options]

  --dataset NAME     as of the bench of vectors (clusters-100k-128)
  --peer NAME        hnswlib, usearch, usearch-bf16, faiss (Debian's libfaiss, compiled here), may be repeated
  --sizes LIST       instead: what a calibrated search costs at each size, as 10k,100k,1m, of --dim dimensions (128)
  --rounds N         in which the libraries take turns; a point is the quickest of them (3)
  --picture FILE     an SVG file
  --queries N, --rows N, --dim N, --metric NAME, --text FOLDER, --model NAME as of the bench of vectors
`;
const SOURCE = fileURLToPath(new URL('./faiss-curve.cc', import.meta.url));
const EFFORTS = [12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];
const LEAST_RECALL = 0.9;
/** Where the picture ends: a recall of .9995. */
const MISSING_LEAST = 0.0005;
const CALIBRATED = 'calibrated';
/** Passes over the queries in a round. */
const PASSES = 2;

/** @param {string[]} words */
export async function curvesBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-100k-128' },
      peer: { type: 'string', multiple: true, default: [] },
      sizes: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      picture: { type: 'string' },
      queries: { type: 'string', default: '1000' },
      rows: { type: 'string' },
      dim: { type: 'string' },
      metric: { type: 'string' },
      text: { type: 'string', multiple: true },
      model: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = values.peer.filter((name) => name !== 'faiss' && (name === 'engine' || !(name in IN_PROCESS)));
  if (values.help || unknown.length > 0)
    return console.log(unknown.length > 0 ? `no library ${unknown.join(', ')}\n\n${USAGE}` : USAGE);
  const number = (text) => (text === undefined ? undefined : Number(text));
  const options = {
    queries: Number(values.queries),
    rows: number(values.rows),
    dim: number(values.dim),
    metric: values.metric,
    textFolders: values.text,
    model: values.model,
    threads: availableParallelism(),
  };
  const rounds = Number(values.rounds);
  const picture =
    values.sizes === undefined
      ? await compare(values.dataset, values.peer, rounds, options)
      : await grow(values.sizes.split(','), options.dim ?? 128, rounds, options);
  if (values.picture !== undefined) writeFileSync(values.picture, curvePicture(picture));
}

async function compare(name, peers, rounds, options) {
  const dataset = await loadDataset(name, options);
  const libraries = [];
  for (const peer of ['engine', ...peers])
    libraries.push({
      name: peer === 'engine' ? 'Quiver' : peer,
      ...(peer === 'faiss' ? buildFaiss(dataset) : await curveOf(peer, dataset)),
      points: new Map(),
    });
  for (let round = 0; round < rounds; round++) {
    for (const { measure, points } of libraries) {
      for (const point of await measure())
        points.set(
          point.shown,
          round === 0 || point.micros < points.get(point.shown).micros ? point : points.get(point.shown),
        );
    }
  }
  for (const { close } of libraries) await close();
  console.log(
    `\n${dataset.name}: ${dataset.count} × ${dataset.dim}, ${dataset.metric}, ${dataset.queryCount} queries, k ${NEIGHBOURS}, one thread, quickest of ${rounds} rounds\n`,
  );
  console.log('| | effort (ef) | recall | µs a search |\n|---|---|---|---|');
  const curves = libraries.flatMap(({ name: library, points }) => {
    const all = [...points.values()];
    const fixed = { name: library, points: all.filter(({ shown }) => shown !== CALIBRATED) };
    return fixed.points.length === all.length
      ? [fixed]
      : [fixed, { name: `${library}, calibrated`, points: all.filter(({ shown }) => shown === CALIBRATED) }];
  });
  for (const { name: library, points } of curves)
    for (const { shown, recall, micros } of points)
      console.log(`| ${library} | ${shown} | ${recall.toFixed(4)} | ${micros.toFixed(0)} |`);
  return {
    title: `Searches on one thread: ${dataset.count.toLocaleString('en')} × ${dataset.dim}, ${dataset.name.replace(/.*\//, '')}`,
    // The distance from 1 in a logarithmic scale: from .99 to .999 is as far as from .9 to .99.
    x: {
      label: 'recall@10',
      from: 1 - LEAST_RECALL,
      to: MISSING_LEAST,
      log: true,
      ticks: [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001],
      show: (missing) => String(Number((1 - missing).toFixed(4))).replace(/^0/, ''),
    },
    y: {
      label: 'searches/s',
      ...decades(
        curves.flatMap(({ points }) =>
          upToWhole(points)
            .filter(({ recall }) => recall >= LEAST_RECALL)
            .map(({ micros }) => 1e6 / micros),
        ),
      ),
    },
    curves: curves.map(({ name: library, points }) => ({
      name: library,
      points: upToWhole(points).map(({ recall, micros, shown }) => ({
        x: Math.max(1 - recall, MISSING_LEAST),
        y: 1e6 / micros,
        ...(shown === CALIBRATED && { mark: '' }),
      })),
    })),
  };
}

/** Points by rising effort, up to the first that finds all but nothing: what costs more is of no use. */
function upToWhole(points) {
  const whole = points.findIndex(({ recall }) => 1 - recall <= MISSING_LEAST);
  return whole < 0 ? points : points.slice(0, whole + 1);
}

async function grow(sizes, dim, rounds, options) {
  const points = [];
  console.log('| rows | built rows/s | recall | µs a search |\n|---|---|---|---|');
  for (const size of sizes) {
    const dataset = await loadDataset(`clusters-${size}-${dim}`, options);
    const { measure, close, rowsPerSecond } = await curveOf('engine', dataset, true);
    let best = null;
    for (let round = 0; round < rounds; round++) {
      const [point] = await measure();
      best = best === null || point.micros < best.micros ? point : best;
    }
    await close();
    console.log(
      `| ${dataset.count.toLocaleString('en')} | ${rowsPerSecond.toFixed(0)} | ${best.recall.toFixed(4)} | ${best.micros.toFixed(0)} |`,
    );
    points.push({
      x: dataset.count,
      y: best.micros,
      mark: `${best.micros.toFixed(0)} µs, ${best.recall.toFixed(4).replace(/^0/, '')}`,
    });
  }
  return {
    title: `What a calibrated search costs on one thread: clusters × ${dim}`,
    x: { label: 'rows', ...decades(points.map(({ x }) => x)) },
    y: { label: 'µs a search', ...decades(points.map(({ y }) => y)) },
    curves: [{ name: 'Quiver', points }],
  };
}

/** A logarithmic axis for these values. */
function decades(values) {
  const from = 10 ** Math.floor(Math.log10(Math.min(...values)) - 1e-9);
  const to = 10 ** Math.ceil(Math.log10(Math.max(...values)) + 1e-9);
  const ticks = [];
  for (let tick = from; tick <= to * 1.001; tick *= 10)
    for (const step of [1, 2, 5]) if (tick * step <= to * 1.001) ticks.push(Number((tick * step).toPrecision(3)));
  return { from, to, log: true, ticks };
}

/** Builds a library. Its `measure` searches all queries with each effort. */
async function curveOf(name, dataset, isCalibratedOnly = false) {
  const { library, queries, rowsPerSecond } = await buildInProcess({ name, dataset });
  const search = library.searchHere ?? library.search;
  // What has a calibrated effort takes part with that, too.
  const efforts =
    library.effortOf === undefined
      ? EFFORTS
      : [...library.efforts, ...(isCalibratedOnly ? [] : EFFORTS.map(library.effortOf))];
  const measure = async () => {
    const points = [];
    for (const effort of efforts) {
      library.setEffort?.(effort);
      const found = [];
      // The first pass warms up, and says what is found.
      for (const query of queries) found.push(Array.from((await search(query)).slice(0, NEIGHBOURS)));
      const startedAt = performance.now();
      for (let pass = 0; pass < PASSES; pass++) {
        for (const query of queries) {
          const answer = search(query);
          if (answer instanceof Promise) await answer;
        }
      }
      points.push({
        shown: shownOf(effort),
        micros: ((performance.now() - startedAt) * 1000) / (PASSES * queries.length),
        recall: recallOf(found, dataset),
      });
    }
    return points;
  };
  return { measure, rowsPerSecond, close: async () => library.close() };
}

function shownOf(effort) {
  return typeof effort === 'number' ? effort : (effort.ef ?? effort.type);
}

function recallOf(found, { truth }) {
  const hits = found.reduce(
    (sum, rows, query) =>
      sum + truth.subarray(query * NEIGHBOURS, (query + 1) * NEIGHBOURS).filter((row) => rows.includes(row)).length,
    0,
  );
  return hits / (found.length * NEIGHBOURS);
}

/** FAISS's own graph, in a process of its own. */
function buildFaiss(dataset) {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-faiss-'));
  const program = join(folder, 'faiss-curve');
  const rows = join(folder, 'rows');
  const queries = join(folder, 'queries');
  const index = join(folder, 'index');
  run('g++', [
    '-std=c++17',
    '-O3',
    '-march=native',
    SOURCE,
    '-o',
    program,
    '-lfaiss',
    '-llapack',
    '-lopenblas',
    '-fopenmp',
  ]);
  writeFileSync(rows, comparable(dataset.rows, dataset));
  writeFileSync(queries, comparable(dataset.queries, dataset));
  run(program, ['build', dataset.metric, dataset.dim, CONNECTIVITY, CONSTRUCTION_EFFORT, rows, index]);
  const measure = async () =>
    run(program, ['search', dataset.dim, queries, NEIGHBOURS, index, ...EFFORTS])
      .trim()
      .split('\n')
      .map((line) => {
        const [effort, micros, ...ids] = line.split(' ').map(Number);
        const found = Array.from({ length: dataset.queryCount }, (_, query) =>
          ids.slice(query * NEIGHBOURS, (query + 1) * NEIGHBOURS),
        );
        return { shown: effort, micros, recall: recallOf(found, dataset) };
      });
  return { measure, close: async () => rmSync(folder, { recursive: true, force: true }) };
}

/** The bytes of a matrix; for cosine of its rows with length 1, whose inner product it is. */
function comparable(values, { dim, metric }) {
  if (metric !== 'cosine') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const unit = new Float32Array(values.length);
  for (let start = 0; start < values.length; start += dim) {
    const row = values.subarray(start, start + dim);
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) || 1;
    for (let i = 0; i < dim; i++) unit[start + i] = row[i] / length;
  }
  return new Uint8Array(unit.buffer);
}

/** What a program writes. Errors: what it says when it fails. */
function run(program, words) {
  const { status, stdout, stderr, error } = spawnSync(program, words.map(String), {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  if (error !== undefined || status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`);
  return stdout;
}
