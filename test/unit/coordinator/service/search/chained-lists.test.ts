import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { ChainedLists } from '../../../../../coordinator/service/search/chained-lists';
import { type SearchChain, chainOf } from '../../../../../coordinator/service/search/search-chain';
import { CursorSeal } from '../../../../../coordinator/service/search/cursor-seal';
import type { SearchRequest } from '../../../../../coordinator/service/search-request';

/** coordinator/service/search/chained-lists.ts: how its reads are counted. */

const ITEMS = 5_000;
const collection = { name: 'c', uid: 'u', identity: 'i', shards: 1, dim: 1 } as CollectionRecord;
const call = { deadlineMs: 0 } as never;

test('a page that lies deep counts as a deep read, wherever its part is kept, and the first pages do not', async () => {
  const costs: number[] = [];
  const hitAt = (n: number) => ({ externalId: `i${String(n).padStart(5, '0')}`, score: -n, metadata: '{}' });
  const shards = {
    read: async (_id: unknown, kind: string, asked: any): Promise<any> => {
      if (kind === 'lastVersion') return 7;
      const from = asked.part.after === null ? 0 : -asked.part.after.score + 1;
      const count = Math.min(asked.k, ITEMS - from);
      return { hits: Array.from({ length: count }, (_, i) => hitAt(from + i)), vectorCount: ITEMS };
    },
  };
  const cursorSeal = new CursorSeal('a secret');
  const lists = new ChainedLists({
    shards,
    scatter: { readAll: async (_collection: unknown, _call: unknown, ask: any) => [await ask({ shard: 0 })] },
    sets: { ofModel: async (record: unknown, _call: unknown, ask: any) => ask(record) },
    deep: {
      run: (cost: number, _call: unknown, read: () => Promise<unknown>) => {
        costs.push(cost);
        return read();
      },
    },
    cursorSeal,
  } as never);

  let text: string | null = null;
  let found = 0;
  for (const k of [10, 990, 10, 3_000]) {
    const request: SearchRequest = {
      query: {
        source: { type: 'nearest', to: { vector: Float32Array.of(1) } },
        filter: null,
        effort: { type: 'calibrated' },
      },
      page: { k, offset: 0, cursor: { text, secondsMax: 300 } },
      output: { texts: false },
    };
    const chain: SearchChain = chainOf(collection, request, request.page.cursor!, { nowMs: 0, seal: cursorSeal });
    const vector = Float32Array.of(1);
    const page = await lists.rank({ collection, request, vector, options: {}, call, chain });
    expect(page.hits.map(({ externalId }) => externalId)).toEqual(
      Array.from({ length: k }, (_, i) => hitAt(found + i).externalId),
    );
    found += k;
    text = page.nextCursor!;
  }
  // One more than a page tells whether there is another.
  expect(costs).toEqual([11, 10 + 991, 1_000 + 11, 1_010 + 3_001]);
});
