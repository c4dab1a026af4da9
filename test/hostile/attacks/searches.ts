import { attack, type Attack, BOOKS, get, library, post, randomVector, words } from '../attack';

const K_MAX = 10_000;

function bookIds(random: () => number, count: number): string[] {
  return Array.from({ length: count }, () => `book-${Math.floor(random() * BOOKS)}`);
}

/** Requests that are what they should be, but dear. */
export const SEARCH_ATTACKS: Attack[] = [
  attack({
    name: 'k-max',
    lanes: 2,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: K_MAX })],
  }),
  attack({
    name: 'last-page',
    lanes: 2,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 1, offset: K_MAX - 1 })],
  }),
  attack({
    name: 'exact',
    lanes: 4,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10, exact: true })],
  }),
  attack({
    name: 'exact-k-max',
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: K_MAX, exact: true })],
  }),
  attack({
    name: 'ef-max',
    lanes: 2,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10, ef: K_MAX })],
  }),
  attack({
    name: 'bulk-search-k-max',
    shots: (random) => [
      post(library('bulk_search'), {
        queries: Array.from({ length: 20 }, () => ({ vector: randomVector(random), k: K_MAX, exact: true })),
      }),
    ],
  }),
  attack({
    name: 'hybrid-k-max',
    shots: (random) => [
      post(library('hybrid_search'), {
        query_text: words(random, 5),
        vector: randomVector(random),
        k: K_MAX,
        explain: true,
      }),
    ],
  }),
  attack({
    name: 'keywords-k-max',
    shots: () => [post(library('hybrid_search'), { query_text: 'word0 word1 word2', alpha: 0, k: K_MAX })],
  }),
  attack({
    name: 'question-k-max',
    shots: () => [post('/v1/query', { collection_name: 'library', query: 'word0 word1', top_k: K_MAX })],
  }),
  attack({
    name: 'rerank',
    shots: (random) => [post(library('rerank'), { vector: randomVector(random), candidates: bookIds(random, K_MAX) })],
  }),
  attack({
    name: 'rerank-unknown',
    shots: (random) => [
      post(library('rerank'), {
        vector: randomVector(random),
        candidates: Array.from({ length: K_MAX }, () => String(random()).repeat(10)),
      }),
    ],
  }),
  attack({
    name: 'recommend-k-max',
    shots: (random) => bookIds(random, 8).map((id) => post(library(`recommend/${id}`), { k: K_MAX })),
  }),
  attack({
    name: 'fetch',
    lanes: 4,
    shots: (random) => [post(library('vectors/fetch'), { ids: bookIds(random, 100) })],
  }),
  attack({ name: 'scroll', lanes: 2, shots: () => [post(library('scroll'), { limit: 1_000 })] }),
  attack({ name: 'export', shots: () => [get(library('export?limit=100000'))] }),
  attack({
    name: 'similarity',
    lanes: 4,
    shots: (random) => [
      post(library(`similarity?id1=${bookIds(random, 1)[0]}&id2=${bookIds(random, 1)[0]}`), Buffer.alloc(0)),
    ],
  }),
  attack({ name: 'list-collections', lanes: 4, shots: () => [get('/v1/collections')] }),
];
