import { WhyNot } from '../../../../../coordinator/service/search/why-not';
import type { SearchRequest } from '../../../../../coordinator/service/search-request';
import type { SearchAnswer, SearchService } from '../../../../../coordinator/service/service';

/** Finds "wanted" where the effort is enough; no real index misses something for sure. */
function approximate(needs: number): Pick<SearchService, 'search' | 'count'> {
  return {
    count: async () => 1,
    search: async (_, { query: { effort }, page: { k } }) => {
      const [type, given = 0] = Object.values(effort) as [string, number?];
      const isSeen = type === 'exact' || given >= needs;
      const ids = ['a', ...(isSeen ? ['wanted'] : []), 'b', 'c'].slice(0, k);
      return { hits: ids.map((externalId, i) => ({ externalId, score: 1 - i / 10 })) } as unknown as SearchAnswer;
    },
  };
}

const search: SearchRequest = {
  query: {
    source: { type: 'nearest', to: { vector: Float32Array.of(1) } },
    filter: null,
    effort: { type: 'calibrated' },
  },
  page: { k: 2, offset: 0 },
  output: { texts: false },
};
const asked = { externalId: 'wanted', search, conditions: [], kMax: 100 };

test.each([
  [100, 1_000, 128],
  [16, 1_000, 16],
  [1, 1_000, 16],
  // No effort that may be asked for finds it.
  [2_000, 1_000, null],
])('an item that needs the effort %i is lost by approximation', async (needs, effortMax, effort) => {
  const report = await new WhyNot(approximate(needs)).report('c', { ...asked, effortMax });
  expect(report).toMatchObject({ lostAt: 'approximation', effort, legs: [{ exactRank: 2, rank: null, depth: 2 }] });
});

test('one that is behind the page is lost by its rank, not by approximation', async () => {
  const behind = { ...asked, search: { ...search, page: { k: 1, offset: 0 } }, effortMax: 1_000 };
  const report = await new WhyNot(approximate(100)).report('c', behind);
  expect(report).toMatchObject({ lostAt: 'lists', legs: [{ exactRank: 2, rank: null, depth: 1 }] });
});

test('one that a model puts off the page has its place in the list that the model read', async () => {
  const plain = Array.from({ length: 80 }, (_, i) => (i === 59 ? 'wanted' : `i${i}`));
  const rerank = { model: undefined, topN: 50, leastScore: undefined, budgetMs: undefined, field: 'text' };
  const reranking: Pick<SearchService, 'search' | 'count'> = {
    count: async () => 1,
    search: async (_, request) => {
      const read = request.rerank === undefined ? plain : plain.slice(0, request.rerank.topN).toReversed();
      const hits = read.slice(0, request.page.k).map((externalId) => ({ externalId, score: 0 }));
      return { hits } as unknown as SearchAnswer;
    },
  };
  const behind = { ...asked, search: { ...search, rerank }, effortMax: 1_000 };
  expect(await new WhyNot(reranking).report('c', behind)).toMatchObject({ lostAt: 'rank', place: 60 });
});

test('one that several stages leave out is lost by the first of them', async () => {
  const both: Pick<SearchService, 'search' | 'count'> = {
    count: async () => 1,
    search: async (_, { query: { boosts }, page: { k, diversity } }) => {
      const isLeft = boosts !== undefined || diversity !== undefined;
      const ids = isLeft ? ['a', 'b'] : ['a', 'wanted', 'b'];
      return { hits: ids.slice(0, k).map((externalId) => ({ externalId, score: 0 })) } as unknown as SearchAnswer;
    },
  };
  const query = { ...search.query, boosts: { mode: 'multiply' as const, parts: [] } };
  const page = { ...search.page, diversity: { type: 'field' as const, path: 'a', atMost: 1 } };
  const behind = { ...asked, search: { ...search, query, page }, effortMax: 1_000 };
  const report = await new WhyNot(both).report('c', behind);
  expect(report).toMatchObject({ lostAt: 'boosts' });
});

test('one that the model puts behind the page is lost by reranking', async () => {
  const plain = approximate(0);
  const reranked: typeof plain = {
    ...plain,
    search: async (name, request) => {
      const found = await plain.search(name, { ...request, page: { ...request.page, k: 10 } });
      const last = (id: string): number => (id === 'wanted' && request.rerank !== undefined ? 1 : 0);
      const hits = found.hits.toSorted((a, b) => last(a.externalId) - last(b.externalId)).slice(0, request.page.k);
      return { ...found, hits };
    },
  };
  const rerank = { model: 'm', topN: 10, leastScore: undefined, budgetMs: undefined, field: 'text' };
  const report = await new WhyNot(reranked).report('c', { ...asked, search: { ...search, rerank }, effortMax: 1_000 });
  expect(report).toMatchObject({ lostAt: 'rerank', place: 2 });
});
