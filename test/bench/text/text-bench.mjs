import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openQuiver } from '../quiver-target.mjs';
import { seededRandom } from '../seeded-random.mjs';
import { readBeirFolder } from './beir-folder.mjs';
import { mean, ndcgAt, quantile, recallAt } from './ranking-metrics.mjs';
import { withTypo } from './typos.mjs';

export const TEXT_USAGE = `npm run bench -- text --data FOLDER [options]

Finds the documents of a folder in BEIR's layout (corpus.jsonl, queries.jsonl, qrels/test.tsv) by keywords, by vectors and
by both, and measures what was found: nDCG@10 and recall@100 as trec_eval has them, and the time per query.

  --model NAME       embedding model: a name, a local folder, or builtin (builtin)
  --dim N            its dimension (of a local folder: what its config.json says; else 384)
  --language CODE    language of the collection's keywords (none)
  --alpha A          weight of the vectors in hybrid search (0.5)
  --split NAME       judgements in qrels/NAME.tsv (test)
  --queries N        the first N queries only
  --rerank MODEL     also vectors and both reranked by it, as RERANK_MODEL has it, --top N hits of them (50)
  --typos SEED       by keywords alone, without and with fuzzy: the queries, and each with one random edit of a word
  --url URL          a Quiver that runs already (rate limit off), with --api-key; --model is then the one it has
  --json FILE        everything measured, as JSON
`;

/** As deep as recall is measured; one more place is asked for, as a query may be among the documents. */
const RECALL_DEPTH = 100;
const GAIN_DEPTH = 10;
const ITEMS_PER_WRITE = 200;
/** Asked first and not measured: code is compiled, files are read. */
const WARM_UP_QUERIES = 5;
const BUSY_PAUSE_MS = 500;
const BUSY_TRIES = 60;
const DIM_DEFAULT = 384;

export async function textBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      data: { type: 'string' },
      model: { type: 'string', default: 'builtin' },
      dim: { type: 'string' },
      language: { type: 'string' },
      alpha: { type: 'string', default: '0.5' },
      split: { type: 'string', default: 'test' },
      queries: { type: 'string' },
      typos: { type: 'string' },
      rerank: { type: 'string' },
      top: { type: 'string', default: '50' },
      url: { type: 'string' },
      'api-key': { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(TEXT_USAGE);
    return;
  }
  const alpha = Number(values.alpha);
  if (values.data === undefined) throw new Error(`--data is missing\n\n${TEXT_USAGE}`);
  if (!(alpha >= 0 && alpha <= 1)) throw new Error('--alpha must be a number from 0 to 1');
  const task = readBeirFolder(values.data, values.split);
  if (values.queries !== undefined) task.queries = task.queries.slice(0, Number(values.queries));
  const model = existsSync(values.model) ? resolve(values.model) : values.model;
  const target = await openQuiver({
    url: values.url,
    apiKey: values['api-key'],
    environment: {
      ...modelSettings(),
      EMBEDDING_MODEL: model,
      ...(values.rerank === undefined ? {} : { RERANK_MODEL: values.rerank }),
    },
  });
  try {
    await target.server?.start();
    const collection = {
      dim: values.dim === undefined ? dimOf(model) : Number(values.dim),
      metric: 'cosine',
      language: values.language,
    };
    const loading = await load(target, collection, task.documents);
    const modes = [];
    for (const { name, queries = task.queries, ...options } of modesOf(task, alpha, values))
      modes.push({ name, ...(await evaluate(target, { ...task, queries }, options)) });
    const facts = {
      data: basename(resolve(values.data)),
      documents: task.documents.length,
      queries: task.queries.length,
      model: loading.model,
      language: values.language ?? null,
      alpha,
    };
    process.stdout.write(`\n${report(facts, loading, modes)}`);
    if (values.json !== undefined)
      writeFileSync(
        values.json,
        `${JSON.stringify({ at: new Date().toISOString(), ...facts, loading, modes }, null, 2)}\n`,
      );
  } finally {
    await target.server?.destroy();
  }
}

/**
 * What is measured: options of the searches, and queries where they are others than the task's.
 * @returns {{ name: string, [option: string]: any }[]}
 */
function modesOf({ queries }, alpha, { typos, rerank, top }) {
  const reranked = { k: Number(top), rerank: { top_n: Number(top) } };
  if (typos === undefined)
    return [
      { name: 'keyword', alpha: 0 },
      { name: 'vector', alpha: 1 },
      { name: 'hybrid', alpha },
      ...(rerank === undefined
        ? []
        : [
            { name: `vector, ${top} reranked`, alpha: 1, ...reranked },
            { name: `hybrid, ${top} reranked`, alpha, ...reranked },
          ]),
    ];
  const random = seededRandom(Number(typos));
  const wrong = queries.map((query) => ({ ...query, text: withTypo(query.text, random) }));
  return [
    { name: 'keyword', alpha: 0 },
    { name: 'keyword, fuzzy', alpha: 0, fuzzy: 'auto' },
    { name: 'typos', alpha: 0, queries: wrong },
    { name: 'typos, fuzzy', alpha: 0, fuzzy: 'auto', queries: wrong },
  ];
}

/** What the caller's environment says of models: where they are kept, whether they may be fetched. */
function modelSettings() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(?:EMBEDDING|RERANK)_/.test(name)));
}

function dimOf(model) {
  const path = join(model, 'config.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')).hidden_size ?? DIM_DEFAULT) : DIM_DEFAULT;
}

/** Stores the documents by their text alone, so that every word of them counts once. */
async function load(target, { dim, metric, language }, documents) {
  const created = await target.createCollection({ dim, metric, ...(language === undefined ? {} : { language }) });
  if (language !== undefined && created.language !== language)
    throw new Error(`the service did not take the language ${language}`);
  const startedAt = performance.now();
  for (let at = 0; at < documents.length; at += ITEMS_PER_WRITE) {
    const items = documents.slice(at, at + ITEMS_PER_WRITE).map(({ id, text }) => ({ external_id: id, text }));
    await dataOf(target, `${target.collectionPath}/bulk_upsert`, { items });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { embedding_model: model } = await dataOf(target, target.collectionPath);
  return { model, seconds, documentsPerSecond: documents.length / seconds };
}

/**
 * Asks every query with these options. Times are per query: of the whole call, and of its parts by the
 * service's word.
 */
async function evaluate(target, { queries, judgements }, options) {
  const ask = (text) =>
    dataOf(target, `${target.collectionPath}/hybrid_search`, {
      query_text: text,
      k: RECALL_DEPTH + 1,
      ...options,
      include_timing: true,
    });
  for (const { text } of queries.slice(0, WARM_UP_QUERIES)) await ask(text);
  const found = [];
  for (const { id, text } of queries) {
    const startedAt = performance.now();
    const { results, timing_ms: timing } = await ask(text);
    const ms = performance.now() - startedAt;
    // A query that is itself a document of the corpus does not find itself (as in BEIR).
    const ranking = results.map(({ external_id }) => external_id).filter((documentId) => documentId !== id);
    const judged = judgements.get(id);
    found.push({
      id,
      ms,
      searchMs: timing.search_ms,
      embeddingMs: timing.embedding_ms,
      ndcg: ndcgAt(GAIN_DEPTH, ranking, judged),
      recall: recallAt(RECALL_DEPTH, ranking, judged),
    });
  }
  const all = (member) => found.map((entry) => entry[member]);
  return {
    ndcg10: mean(all('ndcg')),
    recall100: mean(all('recall')),
    p50Ms: quantile(all('ms'), 0.5),
    p95Ms: quantile(all('ms'), 0.95),
    searchP50Ms: quantile(all('searchMs'), 0.5),
    embeddingP50Ms: quantile(all('embeddingMs'), 0.5),
  };
}

/** A service that says it is busy is asked again, as its clients would; the time counts. */
async function dataOf(target, path, body) {
  let answer = await target.call(body === undefined ? 'GET' : 'POST', path, body);
  for (let tries = 0; answer.error?.code === 429 && tries < BUSY_TRIES; tries += 1) {
    await new Promise((wake) => setTimeout(wake, BUSY_PAUSE_MS));
    answer = await target.call(body === undefined ? 'GET' : 'POST', path, body);
  }
  if (answer.status !== 'success') throw new Error(`${path}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

function report(facts, loading, modes) {
  const head = ['', 'nDCG@10', 'recall@100', 'p50', 'p95', 'search p50', 'embedding p50'];
  const ms = (value) => `${value.toFixed(2)} ms`;
  const rows = modes.map((mode) => [
    mode.name === 'hybrid' ? `hybrid, alpha ${facts.alpha}` : mode.name,
    mode.ndcg10.toFixed(4),
    mode.recall100.toFixed(4),
    ms(mode.p50Ms),
    ms(mode.p95Ms),
    ms(mode.searchP50Ms),
    ms(mode.embeddingP50Ms),
  ]);
  const table = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  const lines = table.map((cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
  const title = `${facts.data}: ${facts.documents} documents, ${facts.queries} queries; model ${facts.model}, language ${facts.language ?? 'none'}`;
  const note = `${loading.documentsPerSecond.toFixed(1)} documents/s embedded and stored; later rows find the queries' vectors in the cache`;
  return `${[title, '', ...lines, '', note].join('\n')}\n`;
}
