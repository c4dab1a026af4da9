// `npm run bench -- threads`: throughput with one HTTP thread, two and more, and what the threads of the process do
// for it.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { prepareBulkBodies } from './bulk-bodies.mjs';
import { allowedCores, canPin, pinThisProcess, pinned } from './cores.mjs';
import { curvePicture } from './curve-picture.mjs';
import { loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { generateLoad } from './load-generator.mjs';
import { measureLoading, measureSettling, median } from './measure.mjs';
import { processorSeconds, threadMicros } from './process-facts.mjs';
import { openQuiver } from './quiver-target.mjs';
import { WIRE_FORMATS } from './wire-formats.mjs';

const USAGE = `npm run bench -- threads [options]

Searches a second, and the processor time of a search on each thread, with each number of HTTP threads (HTTP_THREADS). What
follows from these times for more cores is printed, too. Linux only.

  --dataset NAME     clusters-100k-128; as for the benchmark of vectors, with --rows, --queries (1000) and --dim
  --threads LIST     1,2,4
  --connections N    for each HTTP thread (8)
  --seconds N        for each number of threads (20), in --rounds N (5), in which they take turns
  --no-pin           lets the system choose the cores
  --picture FILE     searches/s as an SVG file, and the processor times as another, whose name ends in -time
  --json FILE        everything measured, as JSON
`;

const K = 10;
const LOAD_CONNECTIONS = 4;
/** Before each window: programs have to be compiled in a process that has just started. */
const WARM_UP_SECONDS = 3;
/** One thread that generates load keeps up with so many HTTP threads. */
const THREADS_A_GENERATOR = 2;
/** Shown in the pictures, measured or not. */
const CORES = [1, 2, 4, 8, 16];

/** @param {string[]} words */
export async function threadsBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-100k-128' },
      rows: { type: 'string' },
      queries: { type: 'string', default: '1000' },
      dim: { type: 'string' },
      threads: { type: 'string', default: '1,2,4' },
      connections: { type: 'string', default: '8' },
      seconds: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '5' },
      'no-pin': { type: 'boolean', default: false },
      picture: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  const number = (text) => (text === undefined ? undefined : Number(text));
  const cores = allowedCores();
  const dataset = await loadDataset(values.dataset, {
    rows: number(values.rows),
    queries: number(values.queries),
    dim: number(values.dim),
    threads: cores.length,
  });
  const counts = values.threads.split(',').map(Number);
  const isPinned = !values['no-pin'] && canPin();
  const settings = counts.map((threads) => ({
    threads,
    connections: threads * number(values.connections),
    ...coresFor(threads, cores, isPinned),
  }));
  const measured = await measureAll({
    dataset,
    cores,
    settings,
    isPinned,
    seconds: number(values.seconds),
    rounds: number(values.rounds),
  });
  const following = followingFrom(measured);
  process.stdout.write(formatThreadsReport({ dataset, cores, measured, following }));
  if (values.picture !== undefined) {
    const name = values.picture.replace(/\.svg$/, '');
    writeFileSync(`${name}.svg`, throughputPicture({ dataset, cores, measured, following }));
    writeFileSync(`${name}-time.svg`, timePicture({ dataset, cores, measured }));
  }
  if (values.json !== undefined) writeFigures(values.json, { measured, following });
}

/**
 * A core for each HTTP thread, and the rest for the load, if that has as many generators as it needs; else both share
 * all cores.
 */
export function coresFor(threads, cores, isPinned) {
  const generators = Math.ceil(threads / THREADS_A_GENERATOR);
  if (!isPinned) return { generators, serverCores: cores, loadCores: cores, isShared: true };
  const isShared = threads + generators > cores.length;
  return {
    generators,
    serverCores: isShared ? cores : cores.slice(0, threads),
    loadCores: isShared ? cores : cores.slice(threads),
    isShared,
  };
}

async function measureAll({ dataset, cores, settings, isPinned, seconds, rounds }) {
  const target = await openQuiver();
  const { server } = target;
  const [program, words] = [server.program, server.words];
  const { bodies, remove } = await prepareBulkBodies({ format: target.format, dataset, threads: cores.length });
  const taken = settings.map(() => []);
  try {
    await server.start();
    await target.createCollection({ dim: dataset.dim, metric: dataset.metric, language: undefined });
    const loading = await measureLoading({ target, dataset, bodies, connections: LOAD_CONNECTIONS });
    await measureSettling({ target, dataset, startedAt: loading.startedAt });
    await server.stop('SIGTERM');
    const requests = Array.from({ length: dataset.queryCount }, (_, query) => ({
      method: 'POST',
      path: target.searchPath,
      headers: target.headers,
      body: WIRE_FORMATS[target.format].search(dataset.queries, dataset.dim, query, K),
    }));
    for (let round = 0; round < rounds; round++) {
      // To and fro, so that none is always the one to come after another.
      const order = [...settings.keys()];
      for (const i of round % 2 === 0 ? order : order.reverse()) {
        const { threads, connections, generators, serverCores, loadCores } = settings[i];
        Object.assign(server.environment, { HTTP_THREADS: String(threads) });
        if (isPinned) Object.assign(server, pinned(program, words, serverCores));
        await server.start();
        if (isPinned) pinThisProcess(loadCores);
        const load = (/** @type {number} */ time) =>
          Promise.all(
            Array.from({ length: generators }, () =>
              generateLoad({
                address: target.address,
                requests,
                connections: Math.ceil(connections / generators),
                seconds: time,
              }),
            ),
          );
        await load(Math.min(WARM_UP_SECONDS, seconds));
        taken[i].push(await measuredWindow(server.pid, () => load(seconds / rounds)));
        if (isPinned) pinThisProcess(cores);
        await server.stop('SIGTERM');
      }
    }
  } finally {
    remove();
    await server.destroy();
  }
  const names = ['queriesPerSecond', 'p50Ms', 'p99Ms', 'processMicros', 'busiestMicros', 'mainMicros'];
  return settings.map((setting, i) => ({
    ...setting,
    ...Object.fromEntries(names.map((name) => [name, median(taken[i].map((window) => window[name]))])),
  }));
}

/**
 * One window of load, with the processor time of a search: of the process, of its main thread, and of the thread that
 * took most of it.
 */
async function measuredWindow(pid, load) {
  const before = { process: processorSeconds(pid), threads: threadMicros(pid) };
  const parts = await load();
  const threads = threadMicros(pid);
  const requests = parts.reduce((sum, part) => sum + part.requests, 0);
  const ofThread = (id) => ((threads.get(id) ?? 0) - (before.threads.get(id) ?? 0)) / requests;
  return {
    queriesPerSecond: parts.reduce((sum, part) => sum + part.queriesPerSecond, 0),
    p50Ms: median(parts.map((part) => part.p50Ms)),
    p99Ms: Math.max(...parts.map((part) => part.p99Ms)),
    processMicros: ((processorSeconds(pid) - before.process) * 1e6) / requests,
    busiestMicros: Math.max(...[...threads.keys()].map(ofThread)),
    mainMicros: ofThread(pid),
  };
}

/**
 * What the processor times allow on so many cores: all cores busy with searches, and the main thread, which there is
 * once, not busier than one core. What cores share (memory, caches) may allow less. The times are those with the number
 * of HTTP threads that took least of all: more threads than cores only get in each other's way. One thread is the main
 * thread itself.
 */
export function followingFrom(measured) {
  const several = measured.filter(({ threads }) => threads > 1);
  if (several.length === 0) return null;
  const from = several.reduce((least, one) => (one.processMicros < least.processMicros ? one : least));
  const serialPerSecond = 1e6 / from.mainMicros;
  return {
    from: from.threads,
    serialPerSecond,
    cores: CORES.map((cores) => ({
      cores,
      queriesPerSecond: Math.min((cores * 1e6) / from.processMicros, serialPerSecond),
    })),
  };
}

export function formatThreadsReport({ dataset, cores, measured, following }) {
  const count = (value) => Math.round(value).toLocaleString('en');
  const lines = [
    `${dataset.name}: ${dataset.count} × ${dataset.dim}, ${dataset.metric}, k = ${K}; ${cores.length} cores`,
    '',
    '| HTTP threads | on cores | the load on | searches/s | p50; p99 | processor time a search | of the busiest thread | of the main thread |',
    '|---|---|---|---|---|---|---|---|',
    ...measured.map(
      (one) =>
        `| ${one.threads} | ${one.serverCores.join(', ')} | ${one.isShared ? 'the same' : one.loadCores.join(', ')} | ${count(one.queriesPerSecond)} | ${one.p50Ms.toFixed(2)}; ${one.p99Ms.toFixed(2)} ms | ${one.processMicros.toFixed(0)} µs | ${one.busiestMicros.toFixed(1)} µs | ${one.mainMicros.toFixed(1)} µs |`,
    ),
  ];
  if (following !== null) {
    lines.push(
      '',
      `From the processor times with ${following.from} threads follow at most, with so many cores for the service: ${following.cores.map(({ cores: n, queriesPerSecond }) => `${n}: ${count(queriesPerSecond)}`).join('; ')} searches/s.`,
      `The main thread alone would allow ${count(following.serialPerSecond)} a second.`,
    );
  }
  return `${lines.join('\n')}\n`;
}

const X_AXIS = { log: true, from: 0.9, to: 18, ticks: CORES, show: (value) => String(value) };

function throughputPicture({ dataset, cores, measured, following }) {
  const curves = [
    {
      name: 'measured',
      points: measured.map(({ threads, queriesPerSecond, isShared }) => ({
        x: threads,
        y: queriesPerSecond,
        ...(isShared ? { mark: 'shared with the load' } : {}),
      })),
    },
    ...(following === null
      ? []
      : [
          {
            name: 'follows at most',
            points: following.cores.map(({ cores: n, queriesPerSecond }) => ({ x: n, y: queriesPerSecond })),
          },
        ]),
  ];
  return curvePicture({
    title: `Searches a second, ${dataset.count.toLocaleString('en')} × ${dataset.dim}, on ${cores.length} cores`,
    x: { ...X_AXIS, label: 'HTTP threads; cores, for what follows from the processor times' },
    y: upTo(Math.max(...curves.flatMap(({ points }) => points.map(({ y }) => y))), 'searches a second'),
    curves,
  });
}

function timePicture({ dataset, cores, measured }) {
  const curve = (name, read) => ({ name, points: measured.map((one) => ({ x: one.threads, y: read(one) })) });
  const curves = [
    curve('process', ({ processMicros }) => processMicros),
    curve('busiest thread', ({ busiestMicros }) => busiestMicros),
    curve('main thread', ({ mainMicros }) => mainMicros),
  ];
  return curvePicture({
    title: `Processor time of a search, ${dataset.count.toLocaleString('en')} × ${dataset.dim}, on ${cores.length} cores`,
    x: { ...X_AXIS, label: 'HTTP threads' },
    y: upTo(Math.max(...curves.flatMap(({ points }) => points.map(({ y }) => y))), 'µs of a search'),
    curves,
  });
}

/** An axis from nought to some round number that is no less. */
function upTo(most, label) {
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [0.2, 0.5, 1, 2].map((part) => part * power).find((size) => most / size <= 6);
  const steps = Math.ceil(most / step);
  return { label, from: 0, to: steps * step, ticks: Array.from({ length: steps + 1 }, (_, i) => i * step) };
}
