import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ProgressBar } from './progress-bar.mjs';

const require = createRequire(import.meta.url);
const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const K = 10;
/** The peers' recommended graph for this kind of data; ours is the service's own. */
export const CONNECTIVITY = 16;
export const CONSTRUCTION_EFFORT = 200;
const EFFORTS = [16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024];
const ADD_ROWS = 1000;
/** Passes over the queries that are timed, after one that is not. */
const TIMED_PASSES = 2;

/**
 * Libraries measured without HTTP, one search at a time: each is built over the data set, then searched with rising
 * effort until it reaches the recall asked for. Quiver's own engine takes part with its calibrated effort.
 */
export const IN_PROCESS = {
  async engine(dataset, report) {
    const { NativeVectorIndex } = require(join(DIST, 'node', 'engine', 'vector', 'native-vector-index.js'));
    const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-engine-'));
    const onBackgroundError = (error) => {
      throw error;
    };
    const options = {
      folder,
      dim: dataset.dim,
      metric: dataset.metric,
      recallTarget: 0.99,
      buildThreads: availableParallelism(),
      onBackgroundError,
    };
    const index = await NativeVectorIndex.open(options, null);
    for (let row = 0; row < dataset.count; row += ADD_ROWS) {
      const slots = Uint32Array.from({ length: Math.min(ADD_ROWS, dataset.count - row) }, (_, i) => row + i);
      index.put(slots, dataset.rows.slice(row * dataset.dim, (row + slots.length) * dataset.dim));
      report(row + slots.length);
    }
    await index.settled();
    const { searchSharedVectors } = require(join(DIST, 'node', 'engine', 'vector', 'shared-vectors.js'));
    const calibrated = { type: 'calibrated' };
    let effort = calibrated;
    // What the next search overwrites.
    const here = (found) => (found === null ? null : found.slots.slice(0, found.count));
    return {
      efforts: [calibrated],
      effortOf: (ef) => ({ type: 'ef', ef }),
      setEffort: (wanted) => (effort = wanted),
      shown: () => Math.max(0, ...index.status().segments.map((segment) => segment.ef)),
      search: async (query) =>
        Array.from((await index.search(query, { k: K, effort, allowed: null })).slots.subarray(0, K)),
      // As an HTTP thread does; what it expects to take long goes to another thread.
      searchHere: (query) =>
        here(searchSharedVectors(index.share(), query, { k: K, effort, filter: null })) ??
        index.search(query, { k: K, effort, allowed: null }).then(({ slots }) => slots),
      close: async () => {
        await index.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },

  async hnswlib(dataset, report) {
    const { HierarchicalNSW } = require('hnswlib-node');
    const index = new HierarchicalNSW(dataset.metric, dataset.dim);
    index.initIndex(dataset.count, CONNECTIVITY, CONSTRUCTION_EFFORT);
    for (let row = 0; row < dataset.count; row++) {
      index.addPoint(Array.from(dataset.rows.subarray(row * dataset.dim, (row + 1) * dataset.dim)), row);
      if (row % ADD_ROWS === 0) report(row);
    }
    return {
      efforts: EFFORTS,
      prepareQuery: (query) => Array.from(query),
      setEffort: (effort) => index.setEf(effort),
      search: (query) => index.searchKnn(query, K).neighbors,
      close: () => {},
    };
  },

  usearch: (dataset, report) => buildUsearch(dataset, report, 'f32'),
  'usearch-bf16': (dataset, report) => buildUsearch(dataset, report, 'bf16'),
};

async function buildUsearch(dataset, report, quantization) {
  const { Index } = require('usearch');
  const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-usearch-'));
  const metric = { cosine: 'cos', ip: 'ip', l2: 'l2sq' }[dataset.metric];
  const make = (effort) =>
    new Index({
      dimensions: dataset.dim,
      metric,
      quantization,
      connectivity: CONNECTIVITY,
      expansion_add: CONSTRUCTION_EFFORT,
      expansion_search: effort,
      multi: false,
    });
  let index = make(EFFORTS[0]);
  for (let row = 0; row < dataset.count; row += ADD_ROWS) {
    const keys = BigUint64Array.from({ length: Math.min(ADD_ROWS, dataset.count - row) }, (_, i) => BigInt(row + i));
    index.add(keys, dataset.rows.slice(row * dataset.dim, (row + keys.length) * dataset.dim), availableParallelism());
    report(row + keys.length);
  }
  // The effort is fixed when an index is made, so each other one is the same graph loaded again.
  const file = join(folder, 'index');
  index.save(file);
  return {
    efforts: EFFORTS,
    setEffort: (effort) => {
      index = make(effort);
      index.load(file);
    },
    search: (query) => Array.from(index.search(query, K, 1).keys, Number),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Builds one of IN_PROCESS. Answers it, the queries as it takes them, and the build rate. */
export async function buildInProcess({ name, dataset }) {
  const bar = new ProgressBar({ label: `building ${name}`, total: dataset.count });
  const startedAt = performance.now();
  const library = await IN_PROCESS[name](dataset, (rows) => bar.report(rows));
  const rowsPerSecond = dataset.count / ((performance.now() - startedAt) / 1000);
  bar.report(dataset.count);
  bar.finish();
  const prepare = library.prepareQuery ?? ((query) => query);
  const queries = Array.from({ length: dataset.queryCount }, (_, query) =>
    prepare(dataset.queries.slice(query * dataset.dim, (query + 1) * dataset.dim)),
  );
  return { library, queries, rowsPerSecond };
}

/**
 * Builds and searches one of IN_PROCESS; answers the build rate and the first effort that reaches `recallWanted` (or
 * the last).
 */
export async function measureInProcess({ name, dataset, recallWanted }) {
  const { library, queries, rowsPerSecond } = await buildInProcess({ name, dataset });
  let result;
  for (const effort of library.efforts) {
    library.setEffort?.(effort);
    let hits = 0;
    for (const [query, vector] of queries.entries()) {
      const found = await library.search(vector);
      hits += dataset.truth.subarray(query * K, (query + 1) * K).filter((row) => found.includes(row)).length;
    }
    const searchedAt = performance.now();
    for (let pass = 0; pass < TIMED_PASSES; pass++) for (const vector of queries) await library.search(vector);
    const microseconds = ((performance.now() - searchedAt) * 1000) / (TIMED_PASSES * queries.length);
    result = {
      name,
      rowsPerSecond,
      recall: hits / (queries.length * K),
      effort: library.shown?.() ?? effort,
      microsecondsPerSearch: microseconds,
    };
    if (result.recall >= recallWanted) break;
  }
  await library.close();
  return result;
}
