import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { prepareBulkBodies } from './bulk-bodies.mjs';
import { loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { measureLoading, median } from './measure.mjs';
import { processorSeconds } from './process-facts.mjs';
import { openQuiver } from './quiver-target.mjs';
import { WIRE_FORMATS } from './wire-formats.mjs';

export const LOADING_USAGE = `npm run bench -- loading [options]

How long searches take while a collection is loaded, built and refined: one connection asks one search after the other, from the
first row on, while others load as fast as the service takes it.

  --dataset NAME          clusters-1m-128; as for the benchmark of vectors, with --rows, --queries (1000) and --dim
  --load-connections N    4
  --beside FOLDER         instead: rows a second until acknowledged, of fresh services of this checkout and of the one that is
                          set up in FOLDER, in turns, without searches
  --rounds N              5, of these
  --json FILE             everything measured, as JSON
`;

const K = 10;
/** How long searches go on when all work is done. */
const AFTER_MS = 5_000;
/** A state that stands so long stays: there are moments between one piece of work and the next. */
const STAYS_MS = 2_000;
const CHECK_MS = 200;
/** Fewer rows outside the graph than this share of all are scanned; they wait for more. */
const OUTSIDE_SHARE = 1 / 2000;

export async function loadingBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-1m-128' },
      rows: { type: 'string' },
      queries: { type: 'string', default: '1000' },
      dim: { type: 'string' },
      'load-connections': { type: 'string', default: '4' },
      beside: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(LOADING_USAGE);
    return;
  }
  const number = (text) => (text === undefined ? undefined : Number(text));
  const threads = availableParallelism();
  const dataset = await loadDataset(values.dataset, {
    rows: number(values.rows),
    queries: number(values.queries),
    dim: number(values.dim),
    threads,
  });
  const target = await openQuiver();
  const { bodies, remove } = await prepareBulkBodies({ format: target.format, dataset, threads });
  const connections = Number(values['load-connections']);
  try {
    if (values.beside !== undefined) {
      const rounds = await inTurns({
        roots: [undefined, resolve(values.beside)],
        rounds: Number(values.rounds),
        dataset,
        bodies,
        connections,
      });
      process.stdout.write(
        `\n${formatTurnsReport({ dataset: values.dataset, rows: dataset.count, dim: dataset.dim, beside: values.beside, rounds })}`,
      );
      if (values.json !== undefined)
        writeFigures(values.json, {
          dataset: values.dataset,
          rows: dataset.count,
          dim: dataset.dim,
          beside: values.beside,
          rounds,
        });
      return;
    }
    await target.server.start();
    await target.createCollection({ dim: dataset.dim, metric: dataset.metric, language: undefined });
    const searches = new Searches(target, dataset);
    const done = searches.run();
    // Said where it is awaited.
    done.catch(() => undefined);
    const loading = await measureLoading({ target, dataset, bodies, connections });
    const loadedAt = performance.now();
    const { indexedAt, readyAt } = await watched(target, dataset.count);
    await new Promise((wake) => setTimeout(wake, AFTER_MS));
    searches.isOver = true;
    await done;
    const phases = {
      loading: searches.between(loading.startedAt, loadedAt),
      building: searches.between(loadedAt, indexedAt),
      refining: searches.between(indexedAt, readyAt),
      ready: searches.between(readyAt, Infinity),
    };
    const seconds = (at) => (at - loading.startedAt) / 1000;
    const figures = {
      dataset: values.dataset,
      rows: dataset.count,
      dim: dataset.dim,
      rowsPerSecond: loading.rowsPerSecond,
      loadSeconds: loading.seconds,
      indexedSeconds: seconds(indexedAt),
      readySeconds: seconds(readyAt),
      phases,
    };
    process.stdout.write(`\n${formatLoadingReport(figures)}`);
    if (values.json !== undefined) writeFigures(values.json, figures);
  } finally {
    remove();
    await target.server.destroy();
  }
}

/**
 * Rows a second, and processor time of a row in microseconds, of a fresh service of each checkout, in turns and to and
 * fro: for each round in the order of `roots`.
 */
async function inTurns({ roots, rounds, dataset, bodies, connections }) {
  const measured = [];
  for (let round = 0; round < rounds; round++) {
    const order = [...roots.keys()];
    const taken = roots.map(() => null);
    for (const i of round % 2 === 0 ? order : order.reverse()) {
      const target = await openQuiver({ name: roots[i] ?? 'quiver', root: roots[i] });
      try {
        await target.server.start();
        await target.createCollection({ dim: dataset.dim, metric: dataset.metric, language: undefined });
        const before = processorSeconds(target.server.pid);
        const { rowsPerSecond } = await measureLoading({ target, dataset, bodies, connections });
        taken[i] = {
          rowsPerSecond,
          processorMicros: ((processorSeconds(target.server.pid) - before) * 1e6) / dataset.count,
        };
      } finally {
        await target.server.destroy();
      }
    }
    measured.push(taken);
  }
  return measured;
}

export function formatTurnsReport({ dataset, rows, dim, beside, rounds }) {
  const line = (label, read, unit) =>
    `${label}: ${rounds.map((round) => Math.round(read(round)).toLocaleString('en')).join(', ')} ${unit}`;
  const shares = rounds.map(([own, other]) => own.rowsPerSecond / other.rowsPerSecond);
  return [
    `${dataset}: ${rows.toLocaleString('en')} × ${dim}, in ${rounds.length} turns`,
    line('quiver', ([own]) => own.rowsPerSecond, 'rows/s acknowledged'),
    line(beside, ([, other]) => other.rowsPerSecond, 'rows/s acknowledged'),
    `in the same round ${median(shares).toFixed(2)} × (${Math.min(...shares).toFixed(2)} to ${Math.max(...shares).toFixed(2)})`,
    `processor time a row ${median(rounds.map(([own]) => own.processorMicros)).toFixed(1)} µs, ${median(rounds.map(([, other]) => other.processorMicros)).toFixed(1)} of the other`,
    '',
  ].join('\n');
}

/** When all rows were in the graph, and when all work on it was done, by the collection's own word. */
async function watched(target, rows) {
  let indexedAt = null;
  for (let readyAt = null; ; await new Promise((wake) => setTimeout(wake, CHECK_MS))) {
    const { data } = await target.call('GET', `${target.collectionPath}/stats`);
    const now = performance.now();
    if (data.index.rows_indexed >= rows * (1 - OUTSIDE_SHARE)) indexedAt ??= now;
    readyAt = data.index.state === 'ready' && data.vector_count === rows ? (readyAt ?? now) : null;
    if (readyAt !== null && now - readyAt >= STAYS_MS) return { indexedAt: indexedAt ?? readyAt, readyAt };
  }
}

/** One search after the other, and when each began and ended. */
class Searches {
  isOver = false;
  begun = [];
  took = [];

  constructor(target, dataset) {
    this.target = target;
    const format = WIRE_FORMATS[target.format];
    this.requests = Array.from({ length: dataset.queryCount }, (_, query) => {
      const body = format.search(dataset.queries, dataset.dim, query, K);
      return {
        head: requestHead({
          method: 'POST',
          path: target.searchPath,
          headers: target.headers,
          ...target.address,
          bodyBytes: Buffer.byteLength(body),
        }),
        body,
      };
    });
  }

  async run() {
    const connection = await HttpConnection.open(this.target.address);
    for (let i = 0; !this.isOver; i = (i + 1) % this.requests.length) {
      const { head, body } = this.requests[i];
      const begunAt = performance.now();
      const answer = JSON.parse(await connection.send(head, body));
      if (answer.status !== 'success') throw new Error(JSON.stringify(answer.error));
      this.begun.push(begunAt);
      this.took.push(performance.now() - begunAt);
    }
    connection.close();
  }

  /** Percentiles of the searches that began then; null: there were none. */
  between(from, to) {
    const times = this.took.filter((_, i) => this.begun[i] >= from && this.begun[i] < to).sort((a, b) => a - b);
    if (times.length === 0) return null;
    return {
      searches: times.length,
      seconds: (Math.min(to, this.begun.at(-1)) - from) / 1000,
      p50Ms: times[times.length >> 1],
      p99Ms: times[Math.floor(times.length * 0.99)],
      mostMs: times.at(-1),
    };
  }
}

export function formatLoadingReport({
  dataset,
  rows,
  dim,
  rowsPerSecond,
  loadSeconds,
  indexedSeconds,
  readySeconds,
  phases,
}) {
  const lines = [
    `${dataset}: ${rows.toLocaleString('en')} × ${dim}; ${Math.round(rowsPerSecond).toLocaleString('en')} rows/s acknowledged, loaded after ${loadSeconds.toFixed(1)} s, indexed after ${indexedSeconds.toFixed(1)}, ready after ${readySeconds.toFixed(1)}`,
    '',
    '| while | seconds | searches | p50 | p99 | longest |',
    '|---|---|---|---|---|---|',
  ];
  for (const [name, phase] of Object.entries(phases)) {
    if (phase === null) continue;
    const { seconds, searches, p50Ms, p99Ms, mostMs } = phase;
    lines.push(
      `| ${name} | ${seconds.toFixed(1)} | ${searches.toLocaleString('en')} | ${p50Ms.toFixed(2)} ms | ${p99Ms.toFixed(2)} ms | ${mostMs.toFixed(1)} ms |`,
    );
  }
  return `${lines.join('\n')}\n`;
}
