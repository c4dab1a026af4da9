import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { prepareBulkBodies } from './bulk-bodies.mjs';
import { openChroma } from './chroma-target.mjs';
import { openCluster } from './cluster-target.mjs';
import { loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { IN_PROCESS, measureInProcess } from './in-process.mjs';
import {
  filteredTruths,
  measureFiltered,
  measureLoading,
  measureRestarts,
  measureSearches,
  measureSettling,
  measureSpace,
  tuneEffort,
} from './measure.mjs';
import { openQuiver } from './quiver-target.mjs';
import { openQdrant } from './qdrant-target.mjs';
import { formatReport } from './report.mjs';

export const USAGE = `npm run bench -- [options]          (or: serving; loading; filters; text, how well texts are found; keyword; embed; store; migrate; curves; each with --help)

  --dataset NAME     clusters-50k-768 (the default), any other clusters-<n>-<dim> such as clusters-1m-128, text,
                     a .fvecs or .bvecs file, or PREFIX of PREFIX.f32 and PREFIX.q.f32 (raw float32; give --dim)
  --rows N           the first N rows only; for text and clusters the number made
  --queries N        queries (1000)
  --dim N            dimension of raw float32 files
  --metric NAME      cosine, ip or l2 (cosine; l2 for .fvecs and .bvecs)
  --text FOLDER      where text is read from, may be repeated; --model NAME or folder embeds it
  --peer NAME        measured in the same run, may be repeated: chroma (server), qdrant and qdrant-int8 (the program that
                     QDRANT_PROGRAM names; ef tuned to --recall), cluster (Quiver as a coordinator and nodes), or in process
                     ${Object.keys(IN_PROCESS).join(', ')}
  --nodes N          of the cluster (2)         --shards LIST      1,2: a cluster for each     --replicas N  1
  --chroma-ef N      Chroma's ef_search, its own default otherwise
  --beside WHAT      another Quiver in the same run, may be repeated: NAME=VALUE, settings that it has (HTTP_THREADS=1,
                     several with commas), or the folder of another checkout that is set up
  --recall R         what Qdrant and in-process peers are tuned to (0.99)
  --connections LIST 1,8,32     --load-connections N  4
  --seconds N        of searching with each number of connections (15), in --rounds N (5), in which servers take turns
  --no-filters       leave filtered searches out; --no-restart restarts
  --url URL          a Quiver that runs already (rate limit off), with --api-key; its memory, disk and restarts are not measured
  --json FILE        everything measured, as JSON
`;

const SERVERS = ['chroma', 'qdrant', 'qdrant-int8', 'cluster'];
/** Filtered searches are checked on fewer queries: their exact answers have to be found first. */
const FILTERED_QUERIES = 200;
const FILTERED_SECONDS_MAX = 3;

export async function bench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-50k-768' },
      rows: { type: 'string' },
      queries: { type: 'string', default: '1000' },
      dim: { type: 'string' },
      metric: { type: 'string' },
      text: { type: 'string', multiple: true },
      model: { type: 'string' },
      peer: { type: 'string', multiple: true, default: [] },
      'chroma-ef': { type: 'string' },
      nodes: { type: 'string', default: '2' },
      shards: { type: 'string', default: '1,2' },
      replicas: { type: 'string', default: '1' },
      beside: { type: 'string', multiple: true, default: [] },
      recall: { type: 'string', default: '0.99' },
      connections: { type: 'string', default: '1,8,32' },
      'load-connections': { type: 'string', default: '4' },
      seconds: { type: 'string', default: '15' },
      rounds: { type: 'string', default: '5' },
      'no-filters': { type: 'boolean' },
      'no-restart': { type: 'boolean' },
      url: { type: 'string' },
      'api-key': { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const number = (text) => (text === undefined ? undefined : Number(text));
  const unknown = values.peer.filter((peer) => !SERVERS.includes(peer) && !(peer in IN_PROCESS));
  if (unknown.length > 0) throw new Error(`no peer ${unknown.join(', ')}\n\n${USAGE}`);
  const threads = availableParallelism();
  const dataset = await loadDataset(values.dataset, {
    rows: number(values.rows),
    queries: number(values.queries),
    dim: number(values.dim),
    metric: values.metric,
    textFolders: values.text,
    model: values.model,
    threads,
  });
  /** @type {(() => Promise<any>)[]} */
  const open = [
    () => openQuiver({ url: values.url, apiKey: values['api-key'] }),
    ...values.beside.map((what) => () => openQuiver(besides(what))),
  ];
  if (values.peer.includes('chroma')) open.push(() => openChroma({ effort: number(values['chroma-ef']) }));
  for (const name of ['qdrant', 'qdrant-int8'])
    if (values.peer.includes(name)) open.push(() => openQdrant({ isQuantized: name === 'qdrant-int8' }));
  if (values.peer.includes('cluster')) {
    const { nodes, replicas } = values;
    for (const shards of values.shards.split(','))
      open.push(() => openCluster({ nodes: Number(nodes), shards: Number(shards), replicas: Number(replicas) }));
  }
  const servers = await measureServers({
    dataset,
    open,
    threads,
    seconds: number(values.seconds),
    rounds: number(values.rounds),
    connectionCounts: values.connections.split(',').map(Number),
    loadConnections: number(values['load-connections']),
    recall: number(values.recall),
    withFilters: !values['no-filters'],
    withRestarts: !values['no-restart'],
  });
  const libraries = [];
  for (const name of values.peer.filter((peer) => peer in IN_PROCESS)) {
    // One library that fails must not cost the figures of the others.
    await measureInProcess({ name, dataset, recallWanted: number(values.recall) }).then(
      (result) => libraries.push(result),
      (error) =>
        process.stderr.write(
          `${name} failed: ${error.stack}${error.details === undefined ? '' : ` ${JSON.stringify(error.details)}`}\n`,
        ),
    );
  }
  process.stdout.write(`\n${formatReport({ dataset, servers, libraries })}`);
  if (values.json !== undefined) {
    const { rows: _rows, queries: _queries, truth: _truth, ...facts } = dataset;
    writeFigures(values.json, { dataset: facts, servers, libraries });
  }
}

/**
 * What `--beside` says: settings, or a checkout.
 * @param {string} what
 */
function besides(what) {
  if (!what.includes('=')) return { name: what, root: resolve(what) };
  return {
    name: what,
    environment: Object.fromEntries(
      what.split(',').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    ),
  };
}

/** Loads every server, then asks them in turn, so that all are measured in the same minutes of the same machine. */
async function measureServers({
  dataset,
  open,
  threads,
  seconds,
  rounds,
  connectionCounts,
  loadConnections,
  recall,
  withFilters,
  withRestarts,
}) {
  const targets = [];
  const results = [];
  try {
    for (const openTarget of open) {
      const target = await openTarget();
      targets.push(target);
      await target.server?.start();
      await target.createCollection(dataset);
      const { bodies, remove } = await prepareBulkBodies({ format: target.format, dataset, threads });
      try {
        const loading = await measureLoading({ target, dataset, bodies, connections: loadConnections });
        results.push({
          name: target.name,
          loading,
          settling: await measureSettling({ target, dataset, startedAt: loading.startedAt }),
        });
        await tuneEffort({ target, dataset, recall });
      } finally {
        remove();
      }
    }
    const count = Math.min(FILTERED_QUERIES, dataset.queryCount);
    const truths = withFilters ? await filteredTruths({ dataset, count, threads }) : [];
    const searches = await measureSearches({ targets, dataset, connectionCounts, seconds, rounds });
    for (const [i, target] of targets.entries()) {
      results[i].search = searches[i];
      if (withFilters)
        results[i].filtered = await measureFiltered({
          target,
          dataset,
          truths,
          count,
          seconds: Math.min(seconds, FILTERED_SECONDS_MAX),
        });
      results[i].space = measureSpace({ target, dataset });
    }
    for (const [i, target] of targets.entries()) {
      if (withRestarts && target.server?.pid !== undefined)
        results[i].restarts = await measureRestarts({ target, dataset });
    }
    return results;
  } finally {
    for (const target of targets) await target.server?.destroy();
  }
}
