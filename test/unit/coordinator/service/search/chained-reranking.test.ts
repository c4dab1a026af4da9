import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { chainedReranking } from '../../../../../coordinator/service/search/chained-reranking';
import { RerankedLists } from '../../../../../coordinator/service/search/reranked-lists';
import type { SearchRequest } from '../../../../../coordinator/service/search-request';
import { ManualClock } from '../../../../support/manual-clock';

const ITEMS = 20;
const reranking = { model: undefined, topN: ITEMS, leastScore: undefined, budgetMs: undefined, field: 'text' };

test('pages of a reranked list have each hit once where a model scores a text a little differently each time', async () => {
  let calls = 0;
  /** Neighbours change places from one call to the next. */
  const scoreOf = (text: string): number => (Number(text) + (Number(text) % 2 === calls % 2 ? 1.5 : 0)) / 100;
  const reranked = new RerankedLists({
    lists: { rank: () => ({ hits: [], totalCount: 0 }) },
    ordered: { async *read() {} },
    reranker: {
      modelOf: async () => 'm',
      score: async (_model, _query, texts) => {
        calls += 1;
        return texts.map(scoreOf);
      },
    },
    clock: new ManualClock(0),
    recordStep: () => undefined,
  });
  const hits = Array.from({ length: ITEMS }, (_, i) => ({
    externalId: `i${i}`,
    score: 1 - i / 100,
    metadata: '{}',
    text: String(i),
  }));
  const list = async () => ({ hits, isMore: false, totalCount: ITEMS });
  const found: string[] = [];
  let state: readonly unknown[] | null = [];
  for (let pages = 0; state !== null && pages < 2 * ITEMS; pages += 1) {
    const request: SearchRequest = {
      query: {
        source: { type: 'nearest', to: { vector: Float32Array.of(1), text: 'x' } },
        filter: null,
        effort: { type: 'calibrated' },
      },
      page: { k: 1 + (pages % 3), offset: 0 },
      output: { texts: true },
      rerank: reranking,
    };
    const collection = {} as CollectionRecord;
    const search = { collection, request, reranking, vector: null, options: {}, call: { deadlineMs: 0 } as never };
    // The state as a cursor brings it.
    const page = await chainedReranking({ list, reranked }, search, JSON.parse(JSON.stringify(state)));
    found.push(...page.ranked.hits.map(({ externalId }) => externalId));
    state = page.next;
  }
  expect(found.length).toBe(ITEMS);
  expect(new Set(found)).toEqual(new Set(hits.map(({ externalId }) => externalId)));
});
