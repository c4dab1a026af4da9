import {
  attack,
  type Attack,
  get,
  GIANT_ITEMS,
  GIANT_METADATA_BYTES,
  GIANT_TEXT_BYTES,
  GIANT_TEXTS,
  giants,
  post,
  randomVector,
  scratch,
  type Shot,
} from '../attack';

/** With room for names and marks. */
const GIANT = {
  metadata: { long: 'm'.repeat(GIANT_METADATA_BYTES - 100) },
  text: `giant ${'t'.repeat(GIANT_TEXT_BYTES - 100)}`,
};
const IDS = Array.from({ length: GIANT_ITEMS }, (_, i) => `giant-${i}`);

/** Every endpoint that answers with data, asked for as much as it gives of items at their largest. */
const ASKED: Record<string, (random: () => number) => Shot> = {
  export: () => get(giants('export?limit=100000')),
  scroll: () => post(giants('scroll'), { limit: 1000 }),
  fetch: () => post(giants('vectors/fetch'), { ids: IDS.slice(0, 100) }),
  item: () => get(giants(`vectors/${IDS[0]}`)),
  search: (random) => post(giants('search'), { vector: randomVector(random), k: GIANT_ITEMS }),
  'small-search': (random) => post(giants('search'), { vector: randomVector(random), k: 10 }),
  'bulk-search': (random) =>
    post(giants('bulk_search'), {
      queries: Array.from({ length: 20 }, () => ({ vector: randomVector(random), k: GIANT_ITEMS })),
    }),
  'hybrid-search': (random) =>
    post(giants('hybrid_search'), { vector: randomVector(random), query_text: 'giant', k: GIANT_ITEMS }),
  rerank: (random) => post(giants('rerank'), { vector: randomVector(random), candidates: IDS }),
  recommend: () => post(giants(`recommend/${IDS[0]}`), { k: GIANT_ITEMS }),
  sample: () =>
    post(giants('sample'), { size: GIANT_ITEMS, include_vectors: true, projection: { method: 'pca', dimensions: 2 } }),
  query: () => post('/v1/query', { collection_name: GIANT_TEXTS, query: 'giant', top_k: 100 }),
  collections: () => get('/v1/collections'),
  metrics: () => get('/metrics'),
  openapi: () => get('/openapi.json'),
  explorer: () => get('/docs/swagger-ui-bundle.js'),
};

const NAMES = { stall: 'deaf', sip: 'sipping', pace: 'slow' } as const;

/** Connections of each of eight clients. */
const LANES = 40;

/** Who takes nothing of an answer, a byte now and then, or so much that it is not cut off. */
export const READER_ATTACKS: Attack[] = [
  ...Object.entries(ASKED).flatMap(([name, shot]) =>
    (['stall', 'sip', 'pace'] as const).map((mode) =>
      attack({
        name: `${NAMES[mode]}-${name}`,
        mode,
        lanes: LANES,
        holdsAnswers: true,
        shots: (random) => [shot(random)],
      }),
    ),
  ),
  attack({
    name: 'giant-items-read',
    lanes: 2,
    holdsAnswers: true,
    shots: (random) => Object.values(ASKED).map((shot) => shot(random)),
  }),
  attack({
    name: 'giant-items-written',
    role: 'readwrite',
    lanes: 2,
    shots: (random) => [
      post(scratch('bulk_upsert'), {
        items: Array.from({ length: 20 }, (_, i) => ({
          external_id: `giant-${i}`,
          vector: randomVector(random),
          ...GIANT,
        })),
      }),
    ],
  }),
];
