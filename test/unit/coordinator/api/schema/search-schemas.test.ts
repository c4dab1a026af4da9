import type { HttpLimits } from '../../../../../coordinator/api/requests/http-limits';
import { searchBody, searchWithVector } from '../../../../../coordinator/api/schema/search-schemas';

const limits = {
  vectorDimMax: 4,
  searchTextLengthMax: 100,
  kMax: 100,
  offsetMax: 100,
  searchEffortMax: 100,
  cursorSeconds: 300,
  filterConditionsMax: 9,
  filterValuesMax: 9,
  filterDepthMax: 9,
} as unknown as HttpLimits;
/** A body with every field. */
const BODY = {
  vector: [1, 2],
  text: 'a',
  k: 7,
  offset: 3,
  filters: { a: 1 },
  ef: 50,
  exact: false,
  vector_model: 'm',
  boosts: [{ filters: { a: 1 }, weight: 2 }],
  boost_mode: 'add',
  fields: ['a', 'b.c'],
  include_text: true,
  include_version: true,
  text_max: 9,
  total: true,
  order_by: [{ field: 'a', direction: 'desc', missing: 'last' }],
  expand: { before: 1, after: 2 },
  highlight: { fields: ['a'], fragments: 1, size: 50, pre: '<', post: '>' },
  group_by: 'a.b',
  group_size: 2,
  group_missing: 'each',
  rerank: { model: 'm', top_n: 60, min_score: 0.2, budget_ms: 100, text: 'title' },
  min_score: 0.5,
  explain: true,
  diversity: { field: 'a', at_most: 2 },
  cursor: 'first',
  include_timing: true,
};

test('a body that is remembered keeps every field when it gets another vector', () => {
  const schema = searchBody(limits);
  // A new field has to be in the body above, or to be refused beside a vector.
  const refused = { positives: [{ id: 'a' }], negatives: [{ id: 'a' }], strategy: 'average' };
  for (const [name, value] of Object.entries(refused))
    expect(schema.safeParse({ vector: [1, 2], [name]: value }).success).toBe(false);
  expect([...Object.keys(BODY), ...Object.keys(refused)].sort()).toEqual(Object.keys(schema.def.in.shape).sort());
  const none = { group_by: undefined, group_size: undefined, group_missing: undefined };
  const grouped = { order_by: undefined, diversity: undefined };
  for (const body of [
    { ...BODY, ...grouped, cursor: undefined },
    { ...BODY, ...none, rerank: undefined, cursor: undefined },
    { ...BODY, ...none, diversity: undefined, cursor: undefined },
    {
      ...BODY,
      ...none,
      diversity: undefined,
      boosts: undefined,
      boost_mode: undefined,
      rerank: { top_n: 60 },
      offset: 0,
    },
  ])
    expect(searchWithVector(schema.parse(body), Float32Array.of(3, 4))).toEqual(
      schema.parse({ ...body, vector: [3, 4] }),
    );
});

test('hits that differ by their vectors are chosen of 100, or of all that a model has read', () => {
  const candidatesOf = (candidates: number | undefined, given: object): unknown => {
    const { diversity } = searchBody({ ...limits, kMax: 1_000 }).parse({
      text: 'a',
      diversity: { lambda: 0.5, candidates },
      ...given,
    }).search.page;
    return diversity?.type === 'mmr' ? diversity.candidates : null;
  };
  expect(candidatesOf(undefined, {})).toBe(100);
  expect(candidatesOf(40, {})).toBe(40);
  expect(candidatesOf(undefined, { rerank: {} })).toBe(50);
  expect(candidatesOf(undefined, { rerank: { top_n: 500 } })).toBe(500);
  expect(candidatesOf(40, { rerank: { top_n: 500 } })).toBe(40);
  expect(candidatesOf(900, { rerank: { top_n: 500 } })).toBe(500);
  // A page of 140 is not refused for a number that nobody gave.
  expect(candidatesOf(undefined, { k: 100, offset: 40, rerank: { top_n: 200 } })).toBe(200);
  expect(() => candidatesOf(130, { k: 100, offset: 40, rerank: { top_n: 200 } })).toThrow('is 130, less than k');
});

test('reranking reads 50 hits or as many as the page needs', () => {
  const rerankOf = (given: object): unknown => searchBody(limits).parse({ text: 'a', ...given }).search.rerank;
  const none = { model: undefined, leastScore: undefined, budgetMs: undefined, field: 'text' };
  expect(rerankOf({})).toBeUndefined();
  expect(rerankOf({ rerank: null })).toBeUndefined();
  expect(rerankOf({ rerank: {} })).toEqual({ ...none, topN: 50 });
  expect(rerankOf({ k: 60, offset: 20, rerank: {} })).toEqual({ ...none, topN: 80 });
  // Pages of one chain may have another k, and are of one list.
  for (const k of [10, 60])
    expect(rerankOf({ k, rerank: { top_n: 70 }, cursor: 'first' })).toEqual({ ...none, topN: 70 });
  expect(rerankOf({ k: 10, rerank: {}, cursor: 'first' })).toEqual({ ...none, topN: 50 });
  expect(() => rerankOf({ k: 60, rerank: {}, cursor: 'first' })).toThrow('is 50, and k');
  expect(rerankOf({ rerank: BODY.rerank })).toEqual({
    model: 'm',
    topN: 60,
    leastScore: 0.2,
    budgetMs: 100,
    field: 'title',
  });
});
