import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadDataset, NEIGHBOURS } from './datasets.mjs';

const require = createRequire(import.meta.url);
const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const ADD_ROWS = 1000;
/** A query's time is its quickest of so many turns: what else the machine does meanwhile is not what is measured. */
const TURNS = 5;

/**
 * `npm run bench -- quantization`: the same rows in an index of each quantization, each in processes of its own, so
 * that what it holds is seen from outside: memory per vector, recall of queries that were never stored, rows scored by
 * codes and by originals, and the time of a search, in turns.
 */
export async function quantizationBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-50k-384' },
      queries: { type: 'string', default: '1000' },
      metric: { type: 'string' },
      dim: { type: 'string' },
      quantizations: { type: 'string', default: 'int8,int4,binary' },
    },
  });
  const options = {
    queries: Number(values.queries),
    metric: values.metric,
    dim: values.dim === undefined ? undefined : Number(values.dim),
    threads: availableParallelism(),
  };
  const dataset = await loadDataset(values.dataset, options);
  const names = values.quantizations.split(',');
  const indexes = [];
  for (const quantization of names) {
    const request = { ...values, ...options, quantization };
    const builder = new IndexProcess();
    const built = await builder.ask(request);
    builder.end();
    const index = new IndexProcess();
    indexes.push(index);
    index.facts = { ...built, ...(await index.ask({ ...request, folder: built.folder, save: built.save })) };
  }
  const best = names.map(() => new Float64Array(dataset.queryCount).fill(Infinity));
  const counts = [];
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [i, index] of indexes.entries()) {
      const answer = await index.ask('search');
      counts[i] = answer;
      answer.micros.forEach((value, query) => (best[i][query] = Math.min(best[i][query], value)));
    }
  }
  console.log(
    `${dataset.name}, ${dataset.count} rows of ${dataset.dim} dimensions, ${dataset.metric}, k ${NEIGHBOURS}, ${dataset.queryCount} queries`,
  );
  console.log(
    'quantization | bytes/vector in the index | of int8 | anonymous memory/vector | of int8 | built in (processor s) | peak while building | recall | scored | rescored | deviations | µs p50 | p99 | p50 of int8',
  );
  names.forEach((name, i) => {
    const { facts } = indexes[i];
    const sorted = best[i].toSorted();
    const p50 = sorted[Math.floor(sorted.length / 2)];
    const firstP50 = best[0].toSorted()[Math.floor(sorted.length / 2)];
    const { recall, scored, rescored } = counts[i];
    const of = (key) => (facts[key] / indexes[0].facts[key]).toFixed(3);
    console.log(
      [
        name,
        facts.indexBytes.toFixed(1),
        of('indexBytes'),
        facts.anonymousBytes.toFixed(1),
        of('anonymousBytes'),
        facts.buildSeconds.toFixed(1),
        facts.peakBytes.toFixed(0),
        recall.toFixed(4),
        scored.toFixed(0),
        rescored.toFixed(0),
        facts.deviations.toFixed(2),
        p50.toFixed(0),
        sorted[Math.floor(sorted.length * 0.99)].toFixed(0),
        (p50 / firstP50).toFixed(2),
      ].join(' | '),
    );
  });
  for (const index of indexes) index.end();
}

/** A process that holds one index. */
class IndexProcess {
  /** @type {any} */
  facts;
  constructor() {
    this.child = fork(fileURLToPath(import.meta.url), [], { serialization: 'advanced', execArgv: ['--expose-gc'] });
  }
  ask(message) {
    return new Promise((done, fail) => {
      this.child.once('message', done);
      this.child.once('exit', (code) => fail(new Error(`the process of an index ended with ${code}`)));
      this.child.send(message);
    });
  }
  end() {
    this.child.removeAllListeners('exit');
    this.child.disconnect();
  }
}

/** Bytes of this process in memory that no file backs. */
function anonymousBytes() {
  return Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
}

/** Builds an index, and saves it. */
async function buildIndex({ dataset: name, quantization, ...options }) {
  const dataset = await loadDataset(name, options);
  const { NativeVectorIndex } = require(join(DIST, 'node', 'engine', 'vector', 'native-vector-index.js'));
  const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-quantization-'));
  const onBackgroundError = (error) => {
    throw error;
  };
  const indexOptions = {
    folder,
    dim: dataset.dim,
    metric: dataset.metric,
    quantization,
    recallTarget: 0.99,
    buildThreads: availableParallelism(),
    onBackgroundError,
  };
  const index = await NativeVectorIndex.open(indexOptions, null);
  const cpu = process.cpuUsage();
  const before = anonymousBytes();
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, anonymousBytes() - before)), 100);
  for (let row = 0; row < dataset.count; row += ADD_ROWS) {
    const slots = Uint32Array.from({ length: Math.min(ADD_ROWS, dataset.count - row) }, (_, i) => row + i);
    index.put(slots, dataset.rows.slice(row * dataset.dim, (row + slots.length) * dataset.dim));
  }
  await index.settled();
  clearInterval(watch);
  const buildSeconds = process.cpuUsage(cpu).user / 1e6;
  const { deviations } = index.addon.status();
  const save = await index.save();
  await index.close();
  process.send({ folder, save, deviations, buildSeconds, peakBytes: peak / dataset.count });
}

/** Opens a saved index, as a service does that is started again, and searches it whenever it is asked to. */
async function serveIndex({ dataset: name, quantization, folder, save, ...options }) {
  const { NativeVectorIndex } = require(join(DIST, 'node', 'engine', 'vector', 'native-vector-index.js'));
  const dataset = await loadDataset(name, options);
  process.once('disconnect', () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit();
  });
  const indexOptions = {
    folder,
    dim: dataset.dim,
    metric: dataset.metric,
    quantization,
    recallTarget: 0.99,
    buildThreads: availableParallelism(),
    onBackgroundError: console.error,
  };
  const queries = Array.from({ length: dataset.queryCount }, (_, query) =>
    dataset.queries.slice(query * dataset.dim, (query + 1) * dataset.dim),
  );
  globalThis.gc();
  const empty = anonymousBytes();
  const index = await NativeVectorIndex.open(indexOptions, save);
  const search = (query) =>
    index.search(query, { k: NEIGHBOURS, effort: { type: 'calibrated' }, allowed: null, counted: true });
  for (const query of queries.slice(0, 100)) await search(query);
  const facts = {
    indexBytes: index.status().memoryBytes / dataset.count,
    anonymousBytes: (anonymousBytes() - empty) / dataset.count,
  };
  process.on('message', () => void searchAll());
  const searchAll = async () => {
    let hits = 0;
    let scored = 0;
    let rescored = 0;
    const micros = [];
    for (const [i, query] of queries.entries()) {
      const startedAt = performance.now();
      const found = await search(query);
      micros.push((performance.now() - startedAt) * 1000);
      const slots = new Set(found.slots.subarray(0, NEIGHBOURS));
      hits += dataset.truth.subarray(i * NEIGHBOURS, (i + 1) * NEIGHBOURS).filter((row) => slots.has(row)).length;
      scored += found.scored;
      rescored += found.rescored;
    }
    const count = queries.length;
    process.send({ recall: hits / count / NEIGHBOURS, scored: scored / count, rescored: rescored / count, micros });
  };
  process.send(facts);
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.send !== undefined) {
  process.once(
    'message',
    (/** @type {any} */ request) => void (request.save === undefined ? buildIndex(request) : serveIndex(request)),
  );
}
