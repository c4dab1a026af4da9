import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TEXT_DIM, TEXT_MODEL, embedText } from './embed-text.mjs';
import { exactNeighbours } from './exact-neighbours.mjs';
import { ProgressBar } from './progress-bar.mjs';
import { normalFrom, seededRandom } from './seeded-random.mjs';
import { readFloat32, readInt32, readVecs, writeInt32 } from './vector-files.mjs';
import { roundComponent } from './wire-formats.mjs';

export const DATASET_FOLDER = fileURLToPath(new URL('./datasets', import.meta.url));
export const NEIGHBOURS = 10;
/** Rows of one cluster and the spread inside it: the shape of the generated sets of docs/performance.md. */
const CLUSTER_ROWS = 100;
const CLUSTER_SPREAD = 0.7;
const SEED = 1;

/**
 * A data set by name: `clusters-<n>-<dim>` with n as in 50k or 1m (generated), `text` (embeddings of real text, made on
 * the spot), or a path: `PREFIX` or `PREFIX.f32` of raw float32 files as embed-text.mjs writes them, or an `.fvecs` or
 * `.bvecs` file. Queries are rows of their own, never stored. Answers {name, dim, metric, rows, count, queries,
 * queryCount, truth}: row-major float32 matrices in shared memory, and the exact nearest ten rows of each query.
 */
export async function loadDataset(name, options) {
  mkdirSync(DATASET_FOLDER, { recursive: true });
  const raw = await readRaw(name, options);
  const queryCount = Math.min(options.queries, raw.queries.length / raw.dim);
  const count = Math.min(options.rows ?? Infinity, raw.rows.length / raw.dim);
  const dataset = {
    name,
    dim: raw.dim,
    metric: options.metric ?? raw.metric,
    count,
    queryCount,
    rows: raw.rows.subarray(0, count * raw.dim),
    queries: raw.queries.subarray(0, queryCount * raw.dim),
  };
  for (const values of [dataset.rows, dataset.queries])
    for (let i = 0; i < values.length; i++) values[i] = roundComponent(values[i]);
  dataset.truth = await readTruth(dataset, options.threads);
  return dataset;
}

async function readRaw(name, options) {
  const clusters = /^clusters-(\d+)(k|m)-(\d+)$/.exec(name);
  if (clusters !== null) {
    const count = options.rows ?? Number(clusters[1]) * (clusters[2] === 'k' ? 1000 : 1_000_000);
    return {
      dim: Number(clusters[3]),
      metric: 'cosine',
      ...generateClusters(count, Number(clusters[3]), options.queries),
    };
  }
  if (name === 'text') return readText(options);
  if (/\.[fb]vecs$/.test(name)) {
    // The last vectors are held out as queries: such files are in no particular order.
    const { values, dim } = readVecs(name, options.rows === undefined ? Infinity : options.rows + options.queries);
    const stored = values.length - options.queries * dim;
    return { dim, metric: 'l2', rows: values.subarray(0, stored), queries: values.subarray(stored) };
  }
  const prefix = name.replace(/\.f32$/, '');
  if (!existsSync(`${prefix}.f32`))
    throw new Error(`no data set ${name}: neither clusters-<n>-<dim>, nor text, nor a file`);
  if (options.dim === undefined) throw new Error('raw float32 files have no header: give their --dim');
  return {
    dim: options.dim,
    metric: 'cosine',
    rows: readFloat32(`${prefix}.f32`),
    queries: readFloat32(`${prefix}.q.f32`),
  };
}

async function readText(options) {
  const rows = options.rows ?? 100_000;
  const prefix = join(DATASET_FOLDER, `text-${rows}`);
  const isComplete = existsSync(`${prefix}.gt.i32`);
  if (!isComplete)
    await embedText({
      folders: options.textFolders,
      model: options.model ?? TEXT_MODEL,
      rows,
      queries: options.queries,
      prefix,
      threads: options.threads,
    });
  return {
    dim: TEXT_DIM,
    metric: 'cosine',
    rows: readFloat32(`${prefix}.f32`),
    queries: readFloat32(`${prefix}.q.f32`),
  };
}

/** Unit vectors around random centres. */
function generateClusters(count, dim, queryCount) {
  const random = seededRandom(SEED);
  const normal = normalFrom(random);
  const clusters = Math.max(1, Math.floor(count / CLUSTER_ROWS));
  const centres = Float32Array.from({ length: clusters * dim }, normal);
  const bar = new ProgressBar({ label: 'generating', total: count });
  const make = (length, onRow) => {
    const values = new Float32Array(new SharedArrayBuffer(length * dim * 4));
    for (let row = 0; row < length; row++) {
      const centre = Math.floor(random() * clusters) * dim;
      let squares = 0;
      for (let i = 0; i < dim; i++) {
        const value = centres[centre + i] + CLUSTER_SPREAD * normal();
        values[row * dim + i] = value;
        squares += value * value;
      }
      const scale = 1 / Math.sqrt(squares);
      for (let i = 0; i < dim; i++) values[row * dim + i] *= scale;
      if (row % 1000 === 0) onRow(row);
    }
    return values;
  };
  const rows = make(count, (row) => bar.report(row));
  bar.report(count);
  bar.finish();
  return { rows, queries: make(queryCount, () => {}) };
}

/** The exact neighbours are kept beside the data sets: they take longer to find than everything else takes to run. */
async function readTruth(dataset, threads) {
  const file = join(
    DATASET_FOLDER,
    `${basename(dataset.name)}-${dataset.count}-${dataset.queryCount}-${dataset.metric}-${fingerprint(dataset)}.gt.i32`,
  );
  if (existsSync(file) && statSync(file).size === dataset.queryCount * NEIGHBOURS * 4) return readInt32(file);
  const truth = await exactNeighbours({
    ...dataset,
    metric: dataset.metric === 'l2' ? 'l2' : 'ip',
    count: NEIGHBOURS,
    threads,
  });
  writeInt32(`${file}.part`, truth);
  renameSync(`${file}.part`, file);
  return truth;
}

/** Tells data sets of one name and size apart: a hash of a sample of both matrices (FNV-1a over their bits). */
function fingerprint({ rows, queries }) {
  let hash = 0x811c9dc5;
  for (const values of [rows, queries]) {
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
    const step = Math.max(1, Math.floor(bits.length / 10_007));
    for (let i = 0; i < bits.length; i += step) hash = Math.imul(hash ^ bits[i], 0x01000193) >>> 0;
  }
  return hash.toString(16);
}
