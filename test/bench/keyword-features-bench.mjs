import { parseArgs } from 'node:util';
import { measureTurns, timedRequest } from './feature-turns.mjs';
import { writeFigures } from './figures-file.mjs';
import { KeywordCorpus } from './keyword-corpus.mjs';
import { loadedService, nextItem } from './keyword-service.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom } from './seeded-random.mjs';
import { withTypo } from './text/typos.mjs';

export const KEYWORD_FEATURES_USAGE = `npm run bench -- keyword-features [options]

Keyword searches through HTTP over generated short documents with one feature each, beside three plain words, in turns on
one connection: p50 and p99 of both, and the ratio of their p50. Each is asked in three ways: the first, each other than
the one before, and one again and again.

  --documents N      1000000
  --only LIST        names of features; all of them otherwise
  --seconds N        of each turn (1)
  --rounds N         turns of each kind (5)
  --json FILE        everything measured, as JSON
`;

const SEED = 29;
const K = 10;
const REQUESTS = 1_000;
const SIMPLE = { query_syntax: 'simple' };

/**
 * What is measured: what a request has in place of three words. `words`: three that are next to each other in a
 * document; `any`: three that are words of queries; `random`: uniform numbers.
 */
const FEATURES = {
  'three words': ({ any }) => ({ query_text: any.join(' ') }),
  'match all': ({ words }) => ({ query_text: words.join(' '), match: 'all' }),
  '+must': ({ any: [first, second, third] }) => ({ query_text: `${first} +${second} ${third}`, ...SIMPLE }),
  '-not': ({ any: [first, second, third] }) => ({ query_text: `-${first} ${second} ${third}`, ...SIMPLE }),
  'phrase of three': ({ words }) => ({ query_text: `"${words.join(' ')}"`, ...SIMPLE }),
  'near, ~3': ({ words }) => ({ query_text: `"${words.join(' ')}"~3`, ...SIMPLE }),
  'fuzzy, one typo': ({ any, random }) => ({ query_text: withTypo(any.join(' '), random), fuzzy: 'auto' }),
  'fuzzy, no typo': ({ any }) => ({ query_text: any.join(' '), fuzzy: 'auto' }),
  'prefix of 4 letters*': ({ any: [first, second, third] }) => ({
    query_text: `${first} ${second} ${third.slice(0, 4)}*`,
    ...SIMPLE,
  }),
  prefix_last: ({ any: [first, second, third] }) => ({
    query_text: `${first} ${second} ${third.slice(0, 4)}`,
    prefix_last: true,
  }),
  highlight: ({ any }) => ({ query_text: any.join(' '), highlight: {} }),
};
export async function keywordFeaturesBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      documents: { type: 'string', default: '1000000' },
      only: { type: 'string' },
      seconds: { type: 'string', default: '1' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(KEYWORD_FEATURES_USAGE);
    return;
  }
  const count = Number(values.documents);
  const names = values.only?.split(',').map((name) => name.trim()) ?? Object.keys(FEATURES);
  const queries = madeQueries();
  const target = await openQuiver();
  try {
    await loadedService(target, { corpus: new KeywordCorpus(), count, language: undefined });
    const figures = [];
    for (const name of names) figures.push({ name, ...(await measured(target, queries, FEATURES[name], values)) });
    process.stdout.write(`\n${report(count, figures)}`);
    if (values.json !== undefined) writeFigures(values.json, { count, figures });
  } finally {
    await target.server.destroy();
  }
}

/** The same on every machine, of the first documents that are stored. */
function madeQueries() {
  const corpus = new KeywordCorpus();
  const random = seededRandom(SEED);
  const queries = [];
  while (queries.length < REQUESTS) {
    const document = nextItem(corpus).text.split(' ');
    const from = Math.floor(random() * (document.length - 2));
    queries.push({ words: document.slice(from, from + 3), random });
  }
  const asked = new KeywordCorpus();
  for (const query of queries) {
    let any = asked.query();
    while (any.length < 3) any = asked.query();
    query.any = any.slice(0, 3);
  }
  return queries;
}

async function measured(target, queries, feature, { seconds, rounds }) {
  const requestOf = (more) => ({
    method: 'POST',
    path: '/v1/collections/bench/hybrid_search',
    headers: target.headers,
    body: JSON.stringify({ mode: 'keyword', k: K, ...more }),
  });
  const made = queries.map(feature);
  const plain = queries.map(FEATURES['three words']);
  const first = await timedRequest(target.address, requestOf(made.at(-1)));
  const hits = [];
  for (const one of made.slice(0, 50)) {
    const { data } = await timedRequest(target.address, requestOf(one));
    hits.push(data.results.length);
  }
  const turns = {
    plain: plain.map(requestOf),
    others: made.map(requestOf),
    again: made.map(() => requestOf(made[7])),
  };
  return {
    firstMs: first.ms,
    hits: hits.reduce((sum, one) => sum + one, 0) / hits.length,
    ...(await measureTurns(target.address, turns, { seconds, rounds })),
  };
}

function report(count, figures) {
  const cell = ({ p50Ms, p99Ms }) => `${p50Ms.toFixed(2)}; ${p99Ms.toFixed(2)}`;
  const lines = [
    `${count.toLocaleString('en')} documents, k = ${K}; p50; p99 in ms of one connection, in turns`,
    '',
    '| feature | three words | each another | again and again | ratio, each another | hits | first, ms |',
    '|---|---|---|---|---|---|---|',
    ...figures.map(
      ({ name, plain, others, again, hits, firstMs }) =>
        `| ${name} | ${cell(plain)} | ${cell(others)} | ${cell(again)} | ${(others.p50Ms / plain.p50Ms).toFixed(2)} | ${hits.toFixed(1)} | ${firstMs.toFixed(1)} |`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
