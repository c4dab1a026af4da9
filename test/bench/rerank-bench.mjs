import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { measureTurns } from './feature-turns.mjs';
import { loadRows } from './load-rows.mjs';
import { measureSettling, median } from './measure.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom } from './seeded-random.mjs';

export const RERANK_USAGE = `npm run bench -- rerank --model MODEL [options]

How long a model takes for the texts of one request, and what plain searches take alone and beside a client that has texts reranked
all the time: p50 and p99 of both in turns, and the ratio of their p99. No pair comes twice.

  --model MODEL      as RERANK_MODEL has it: a cross-encoder's name or folder, or late-interaction:MODEL
  --pairs N          texts of a request (50)
  --words N          words of a text, about as many tokens (115; a query has 8)
  --dataset NAME     that is searched (clusters-20k-128)
  --seconds N        of each turn (5)
  --rounds N         turns of each kind (5)
  --json FILE        everything measured, as JSON
`;

const K = 10;
const SEED = 41;
const QUERY_WORDS = 8;
/** Of which a tokenizer has most as they are. */
const WORDS =
  'the of and in to was is for with on as by at from his that it an were are which this also be has had first one their its new after who they two her she been other when time during there into all year city school team world state over only most some would where later up national made many part film season out more family number music early game long well house war company day life work north south river water church second place song small village east west road line island white black king book study history power form known high area large station group system name member'.split(
    ' ',
  );

export async function rerankBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      model: { type: 'string' },
      pairs: { type: 'string', default: '50' },
      words: { type: 'string', default: '115' },
      dataset: { type: 'string', default: 'clusters-20k-128' },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(RERANK_USAGE);
    return;
  }
  if (values.model === undefined) throw new Error(`--model is missing\n\n${RERANK_USAGE}`);
  const dataset = await loadDataset(values.dataset, { threads: availableParallelism() });
  const model = existsSync(values.model) ? resolve(values.model) : values.model;
  const settings = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => /^(?:EMBEDDING|RERANK)_/.test(name)),
  );
  const target = await openQuiver({ environment: { ...settings, EMBEDDING_MODEL: 'builtin', RERANK_MODEL: model } });
  try {
    await target.server.start();
    await target.createCollection({ dim: dataset.dim, metric: dataset.metric, language: undefined });
    const startedAt = performance.now();
    await loadRows(target, dataset, () => ({}));
    await measureSettling({ target, dataset, startedAt });
    const figures = await measured(target, dataset, values);
    process.stdout.write(`\n${formatRerankReport({ model: values.model, dataset: values.dataset, ...figures })}`);
    if (values.json !== undefined)
      writeFigures(values.json, { model: values.model, dataset: values.dataset, ...figures });
  } finally {
    await target.server.destroy();
  }
}

async function measured(target, dataset, { pairs, words, seconds, rounds }) {
  const random = seededRandom(SEED);
  const textOf = (count) => Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ');
  const rerank = async () => {
    const documents = Array.from({ length: Number(pairs) }, () => textOf(Number(words)));
    const startedAt = performance.now();
    const { status, error } = await target.call('POST', '/v1/rerank', { query: textOf(QUERY_WORDS), documents });
    if (status !== 'success') throw new Error(JSON.stringify(error));
    return performance.now() - startedAt;
  };
  await rerank();
  const alone = [];
  for (let i = 0; i < 2 * Number(rounds); i++) alone.push(await rerank());
  const requests = Array.from({ length: 1_000 }, (_, i) => searchOf(target, dataset, i));
  const turn = () => measureTurns(target.address, { search: requests }, { seconds, rounds: 1 });
  await turn();
  const turns = { alone: [], beside: [] };
  const times = [];
  for (let round = 0; round < Number(rounds); round++) {
    turns.alone.push((await turn()).search);
    let isOver = false;
    const client = (async () => {
      while (!isOver) times.push(await rerank());
    })();
    turns.beside.push((await turn()).search);
    isOver = true;
    await client;
  }
  const mid = (kind, figure) => median(turns[kind].map((one) => one[figure]));
  return {
    pairs: Number(pairs),
    words: Number(words),
    rerankMs: median(alone),
    rerankBesideMs: median(times),
    alone: { p50Ms: mid('alone', 'p50Ms'), p99Ms: mid('alone', 'p99Ms') },
    beside: { p50Ms: mid('beside', 'p50Ms'), p99Ms: mid('beside', 'p99Ms') },
  };
}

function searchOf(target, dataset, i) {
  const query = i % dataset.queryCount;
  const { buffer } = dataset.queries.slice(query * dataset.dim, (query + 1) * dataset.dim);
  const body = JSON.stringify({ vector: Buffer.from(buffer).toString('base64'), k: K });
  return { method: 'POST', path: target.searchPath, headers: target.headers, body };
}

export function formatRerankReport({ model, dataset, pairs, words, rerankMs, rerankBesideMs, alone, beside }) {
  const ms = (value) => `${value.toFixed(2)} ms`;
  return `${[
    `${model}: ${pairs} texts of ${words} words`,
    '',
    `reranked in ${ms(rerankMs)}; beside searches ${ms(rerankBesideMs)}`,
    `searches of ${dataset} alone: p50 ${ms(alone.p50Ms)}, p99 ${ms(alone.p99Ms)}`,
    `beside it: p50 ${ms(beside.p50Ms)}, p99 ${ms(beside.p99Ms)}; p99 ${(beside.p99Ms / alone.p99Ms).toFixed(2)} ×`,
  ].join('\n')}\n`;
}
