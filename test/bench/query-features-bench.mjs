import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { loadDataset } from './datasets.mjs';
import { writeFigures } from './figures-file.mjs';
import { measureTurns, timedRequest } from './feature-turns.mjs';
import { loadRows } from './load-rows.mjs';
import { measureSettling } from './measure.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom } from './seeded-random.mjs';

export const QUERY_FEATURES_USAGE = `npm run bench -- query-features [options]

Searches through HTTP with one feature each, beside the same searches without it, in turns on one connection: p50 and p99 of
both, and the ratio of their p50; counts and aggregates, of half of the items, beside a plain search. Each is asked in three ways:
the first (nothing is known of the path yet), each other than the one before, and one again and again.

  --dataset NAME     clusters-1m-128; as for the benchmark of vectors, with --rows, --dim and --queries (100)
  --values N         distinct texts of the field that is filtered by (100000)
  --only LIST        names of features, or their beginnings ("boost": all boosts); all of them otherwise
  --seconds N        of each turn (1)
  --rounds N         turns of each kind (5)
  --json FILE        everything measured, as JSON
`;

const K = 10;
/** How long each feature is asked for before it is measured, in the length of a turn. */
const SETTLES = 3;
const SEED = 23;
const SYLLABLES = [
  'ka',
  'lo',
  'mi',
  'ren',
  'sta',
  'vor',
  'tel',
  'ush',
  'ban',
  'qui',
  'zed',
  'har',
  'ond',
  'fe',
  'pli',
  'gra',
];
/** Of rows that count up, one after the other: prime, so that the remainders are all different. */
const STEP = 7_919;
const WEIGHTS = 1_000;
/** Items of a page that a cursor is taken behind. */
const PAGE_MAX = 1_000;
const FIRST_TIME = Date.UTC(2020, 0, 1);
const MINUTE = 60_000;

/**
 * What is measured: what the i-th request has besides vector and k; or an object of that as `body`, with `beside`, what
 * the search without the feature has, or `path`, where it goes instead of to the search, and `behind`, so much of a
 * scroll's items. A new feature is a row.
 * @type {Record<string, Body | { body: Body, beside?: Body, path?: string, behind?: number }>}
 */
export const FEATURES = {
  'fields: [], k 100': { body: () => ({ k: 100, fields: [] }), beside: () => ({ k: 100 }) },
  group_by: () => ({ group_by: 'title' }),
  'group_by, 3 hits each': () => ({ group_by: 'title', group_size: 3 }),
  order_by: () => ({ order_by: [{ field: 'price', direction: 'desc' }] }),
  'ordered page': { path: 'scroll', body: ordered },
  'ordered page, half way': { path: 'scroll', body: ordered, behind: 0.5 },
  'boost of one in ten': () => ({ boosts: [oftenBoosted] }),
  'boost of one in a thousand': (i) => ({ boosts: [{ filters: { shelf: `shelf ${i % 1_000}` }, weight: 1.5 }] }),
  'boost by a number': () => ({ boosts: [{ field: 'price', modifier: 'log1p', weight: 0.2 }] }),
  'boost by a number, added': () => ({
    boosts: [{ field: 'price', modifier: 'log1p', weight: 0.02 }],
    boost_mode: 'add',
  }),
  'boost around a number': (i) => ({
    boosts: [{ field: 'price', decay: { origin: 50 * (i % 200), scale: 1_000, shape: 'gauss' }, weight: 0.3 }],
  }),
  'boost by a date': (i) => ({ boosts: [newer(i)] }),
  'boost by a place': (i) => ({
    boosts: [{ field: 'place', decay: { origin: placeOf(i * 31), scale: '2000km' }, weight: 0.3 }],
  }),
  'boosts, two': (i) => ({ boosts: [oftenBoosted, newer(i)] }),
  'boosts, two, of half of the items': {
    body: (i) => ({ ...half(i), boosts: [oftenBoosted, newer(i)] }),
    beside: half,
  },
  'total, filtered': { body: (i) => ({ ...half(i), total: true }), beside: half },
  count: { path: 'count', body: half },
  'facet of 1,000 values': { path: 'aggregate', body: (i) => ({ ...half(i), facets: [{ field: 'shelf' }] }) },
  stats: { path: 'aggregate', body: (i) => ({ ...half(i), stats: [{ field: 'price' }] }) },
  'distinct, p50, p99': {
    path: 'aggregate',
    body: (i) => ({ ...half(i), stats: [{ field: 'price', ops: ['distinct', 'p50', 'p99'] }] }),
  },
  '100 ranges': {
    path: 'aggregate',
    body: (i) => ({ ...half(i), ranges: [{ field: 'price', edges: Array.from({ length: 101 }, (_, n) => 100 * n) }] }),
  },
  equal: (i, { title }) => ({ filters: { title: title(i * 7) } }),
  prefix: (i, { title }) => ({ filters: { title: { $prefix: title(i * 7).slice(0, 6) } } }),
  'prefix, folded': (i, { title }) => ({
    filters: {
      title: {
        $prefix: title(i * 7)
          .slice(0, 6)
          .toUpperCase(),
        case: 'fold',
      },
    },
  }),
  contains: (i, { title }) => ({ filters: { title: { $contains: title(i * 7).slice(3, 9) } } }),
  'contains, folded': (i, { title }) => ({
    filters: {
      title: {
        $contains: title(i * 7)
          .slice(3, 9)
          .toUpperCase(),
        case: 'fold',
      },
    },
  }),
  like: (i, { title }) => ({ filters: { title: { $like: `*${title(i * 7).slice(2, 6)}*${title(i * 7).slice(-2)}` } } }),
  dates: (i) => ({ filters: { at: { $between: [i * 3, i * 3 + 600].map((minute) => ({ $date: timeAt(minute) })) } } }),
  $text: (i, { title }) => ({ filters: { $text: { query: title(i * 7).split(' ')[0] } } }),
  ids: (i) => ({ filters: { $id: Array.from({ length: 1_000 }, (_, n) => String((i * 7_919 + n * 97) % 100_000)) } }),
  elements: (i) => ({ filters: { parts: { $elem_match: { code: i % 1_000, width: { $lt: 5 } } } } }),
  'geo radius': (i) => ({ filters: { place: { $geo_radius: { ...placeOf(i * 31), metres: 50_000 } } } }),
  'geo box': (i) => {
    const { lat, lon } = placeOf(i * 31);
    return {
      filters: { place: { $geo_box: { min_lat: lat - 1, max_lat: lat + 1, min_lon: lon - 1, max_lon: lon + 1 } } },
    };
  },
};

/** @type {Record<string, unknown>} */
const oftenBoosted = { filters: { weight: { $lt: WEIGHTS / 10 } }, weight: 1.5 };

/** The last items are the newest. */
function newer(i) {
  const origin = timeAt(1_000_000 - i);
  return { field: 'at', decay: { origin, scale: '90d', offset: '1d' }, weight: 0.3 };
}

/** @typedef {{ title: (row: number) => string }} Made */
/** @typedef {(i: number, made: Made) => Record<string, unknown>} Body */

export async function queryFeaturesBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dataset: { type: 'string', default: 'clusters-1m-128' },
      rows: { type: 'string' },
      dim: { type: 'string' },
      queries: { type: 'string', default: '100' },
      values: { type: 'string', default: '100000' },
      only: { type: 'string' },
      seconds: { type: 'string', default: '1' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(QUERY_FEATURES_USAGE);
    return;
  }
  const number = (text) => (text === undefined ? undefined : Number(text));
  const dataset = await loadDataset(values.dataset, {
    rows: number(values.rows),
    queries: number(values.queries),
    dim: number(values.dim),
    threads: availableParallelism(),
  });
  const made = madeTitles(number(values.values));
  const names = namesOf(values.only);
  const target = await openQuiver();
  try {
    await target.server.start();
    await target.createCollection({ dim: dataset.dim, metric: dataset.metric, language: undefined });
    const startedAt = performance.now();
    const isCounted = names.some(
      (name) => typeof FEATURES[name] !== 'function' || name === 'order_by' || name.includes('boost'),
    );
    await loadRows(target, dataset, (row) => ({
      title: made.title(row),
      at: timeAt(row),
      ...(isCounted ? countedOf(row) : {}),
      ...(names.includes('elements') ? { parts: partsOf(row) } : {}),
      ...(names.some((name) => name.startsWith('geo') || name.includes('place')) ? { place: placeOf(row) } : {}),
    }));
    await measureSettling({ target, dataset, startedAt });
    const figures = [];
    for (const name of names)
      figures.push({ name, ...(await measured(target, dataset, made, FEATURES[name], values)) });
    process.stdout.write(`\n${formatQueryFeaturesReport({ dataset, figures })}`);
    if (values.json !== undefined) writeFigures(values.json, { dataset: values.dataset, rows: dataset.count, figures });
  } finally {
    await target.server.destroy();
  }
}

/** Those of a list, each by its name or else by its beginning. */
function namesOf(list) {
  const all = Object.keys(FEATURES);
  if (list === undefined) return all;
  return list.split(',').flatMap((one) => {
    const found = all.filter((name) => name === one.trim());
    return found.length > 0 ? found : all.filter((name) => name.startsWith(one.trim()));
  });
}

/** The first request, each another, one again and again; each of the latter two in turns with plain searches. */
async function measured(target, dataset, made, feature, { seconds, rounds }) {
  const { body: own, beside = () => ({}), path, behind } = typeof feature === 'function' ? { body: feature } : feature;
  const cursor = behind === undefined ? undefined : await cursorBehind(target, behind * dataset.count, own(0, made));
  const body = (i, from) => ({ ...own(i, from), cursor });
  const searchOf = (i, more) => {
    const query = i % dataset.queryCount;
    const vector = Buffer.from(dataset.queries.slice(query * dataset.dim, (query + 1) * dataset.dim).buffer).toString(
      'base64',
    );
    return {
      method: 'POST',
      path: target.searchPath,
      headers: target.headers,
      body: JSON.stringify({ vector, k: K, ...more }),
    };
  };
  const requestOf = (i, more) =>
    path === undefined
      ? searchOf(i, more)
      : {
          method: 'POST',
          path: target.searchPath.replace(/search$/, path),
          headers: target.headers,
          body: JSON.stringify(more),
        };
  const requestsOf = (of) => Array.from({ length: 1_000 }, (_, i) => of(i));
  const { ms: firstMs } = await timedRequest(target.address, requestOf(0, body(5, made)));
  // What the service makes in the background of what it was first asked for is there then.
  for (const endAt = performance.now() + SETTLES * 1_000 * Number(seconds); performance.now() < endAt;)
    await timedRequest(target.address, requestOf(1, body(6, made)));
  const turns = {
    plain: requestsOf((i) => searchOf(i, beside(11, made))),
    others: requestsOf((i) => requestOf(i, body(i, made))),
    again: requestsOf((i) => requestOf(i, body(11, made))),
  };
  return { firstMs, ...(await measureTurns(target.address, turns, { seconds, rounds })) };
}

/** Where a scroll is behind so many items. */
async function cursorBehind(target, items, body) {
  let cursor;
  for (let at = 0; at < items; at += PAGE_MAX) {
    const limit = Math.min(PAGE_MAX, items - at);
    const { data } = await target.call('POST', `${target.collectionPath}/scroll`, { ...body, limit, cursor });
    cursor = data.next_cursor;
  }
  return cursor;
}

function madeTitles(count) {
  const random = seededRandom(SEED);
  const word = () =>
    Array.from({ length: 2 + Math.floor(random() * 3) }, () => SYLLABLES[Math.floor(random() * SYLLABLES.length)]).join(
      '',
    );
  const titles = Array.from({ length: count }, (_, i) => `${word()} ${word()} ${i.toString(36)}`);
  return { title: (row) => titles[row % count] };
}

/** Two parts, of which each has one of a thousand codes. */
function partsOf(row) {
  return [0, 1].map((part) => ({ code: (row * 7 + part * 331) % 1_000, width: (row + part) % 10 }));
}

/** All over the Earth, but for its poles. */
function placeOf(row) {
  return { lat: ((row * 0.754877) % 160) - 80, lon: ((row * 0.56984) % 360) - 180 };
}

function ordered() {
  return { order_by: [{ field: 'price', direction: 'desc' }], limit: K, include_vectors: false };
}

/** Half of the items, about, in some hundred ways. */
function half(i) {
  return { filters: { weight: { $lt: WEIGHTS * 0.4 + (i % (WEIGHTS * 0.2)) } } };
}

/** A weight, one of a thousand shelves, and a price from 0 to 10,000 that no other of a million items has. */
function countedOf(row) {
  return {
    weight: (row * STEP) % WEIGHTS,
    shelf: `shelf ${(row * 31) % 1_000}`,
    price: ((row * STEP) % 1_000_000) / 100,
  };
}

function timeAt(minute) {
  return new Date(FIRST_TIME + minute * MINUTE).toISOString();
}

export function formatQueryFeaturesReport({ dataset, figures }) {
  const cell = ({ p50Ms, p99Ms }) => `${p50Ms.toFixed(2)}; ${p99Ms.toFixed(2)}`;
  const lines = [
    `${dataset.name}: ${dataset.count.toLocaleString('en')} × ${dataset.dim}, k = ${K}; p50; p99 in ms of one connection, in turns`,
    '',
    '| feature | plain | each another | again and again | ratio, again | first, ms |',
    '|---|---|---|---|---|---|',
    ...figures.map(
      ({ name, plain, others, again, firstMs }) =>
        `| ${name} | ${cell(plain)} | ${cell(others)} | ${cell(again)} | ${(again.p50Ms / plain.p50Ms).toFixed(2)} | ${firstMs.toFixed(1)} |`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
