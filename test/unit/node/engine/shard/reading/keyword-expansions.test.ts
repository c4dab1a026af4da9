import { Bm25KeywordIndex } from '../../../../../../node/engine/keyword/bm25-keyword-index';
import { graphFactories, NO_HURRY, openMemoryStore, ShardNode } from '../../../../../support/shards/shard-node';

test('what a search by other weights made is let go some time later, and what another one needs is not made', async () => {
  const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openMemoryStore }).start();
  const drop = jest.spyOn(Bm25KeywordIndex.prototype, 'dropSortedTerms');
  const clock = jest.spyOn(globalThis, 'setTimeout');
  const ends = () => clock.mock.calls.filter(([, ms]) => ms === 5 * 60_000);
  try {
    const id = { collectionUid: 'c', shard: 0 };
    const keywordFields = [
      { path: 'title', weight: 3 },
      { path: 'text', weight: 1 },
    ];
    await node.client.make({ ...id, dim: 2, metric: 'cosine', keywordFields });
    const search = async (more: { fieldWeights?: number[] }): Promise<void> => {
      const statistics = await node.client.read(id, 'keywordStatistics', { terms: ['a'], ...more }, NO_HURRY);
      await node.client.read(id, 'keywordSearch', { terms: ['a'], statistics, k: 1, filter: null, ...more }, NO_HURRY);
    };
    await search({});
    expect(ends()).toEqual([]);
    await search({ fieldWeights: [1, 2] });
    expect(ends()).toHaveLength(1);
    expect(drop).not.toHaveBeenCalled();
    (ends()[0][0] as () => void)();
    expect(drop).toHaveBeenCalledTimes(1);
    // Statistics of some fields alone need lists, too.
    await search({ fieldWeights: [1, 0] });
    expect(ends()).toHaveLength(3);
  } finally {
    clock.mockRestore();
    drop.mockRestore();
    await node.destroy();
  }
});
