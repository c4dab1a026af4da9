import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { RerankedLists } from '../../../../../coordinator/service/search/reranked-lists';
import type { SearchRequest } from '../../../../../coordinator/service/search-request';
import { LEFT_OUT } from '../../../../../shared/contract/shard/shard-read';
import { ManualClock } from '../../../../support/manual-clock';

const request: SearchRequest = {
  query: {
    source: { type: 'nearest', to: { vector: Float32Array.of(1), text: 'x' } },
    filter: null,
    effort: { type: 'calibrated' },
  },
  page: { k: 5, offset: 0 },
  output: { texts: false },
};
const reranking = { model: undefined, topN: 5, leastScore: undefined, budgetMs: undefined };

test.each(['text', 'title'])('what is gone before its %s is read is left out, also of groups', async (field) => {
  const kept = { externalId: 'kept', score: 0.5, metadata: '{"title":"a"}', text: 'a' };
  const lists = new RerankedLists({
    lists: { rank: () => ({ hits: [{ externalId: 'gone', score: 0.9, metadata: LEFT_OUT }, kept], totalCount: 1 }) },
    ordered: {
      async *read() {
        yield [null];
      },
    },
    reranker: { modelOf: async () => 'm', score: async (_model, _query, texts) => texts.map(() => 0.25) },
    clock: new ManualClock(0),
    recordStep: () => undefined,
  });
  for (const groups of [undefined, { path: 'title', size: 1, missing: 'each' as const }]) {
    const found = await lists.rank({
      collection: {} as CollectionRecord,
      request: { ...request, page: { ...request.page, groups }, rerank: { ...reranking, field } },
      reranking: { ...reranking, field },
      vector: null,
      options: {},
      call: { deadlineMs: 0 } as never,
    });
    expect(found.hits.map(({ externalId }) => externalId)).toEqual(['kept']);
    expect(found.rerank).toMatchObject({ scored: 1, of: 1 });
  }
});
