import { ItemFindings } from '../../../../../cli/migrate/finding';
import type { PeerHttp } from '../../../../../cli/migrate/peer-http';
import type { PeerPage } from '../../../../../cli/migrate/peer-source';
import { MilvusSource } from '../../../../../cli/migrate/sources/milvus-source';

/** Answers a page of these keys, of a collection that has so many up to the greatest of them. */
async function pageOf(keys: number[], there: number, asked: unknown[] = []): Promise<PeerPage> {
  const answers: Record<string, (body: any) => unknown> = {
    'collections/list': () => ['books'],
    'collections/describe': () => ({
      fields: [
        { name: 'id', type: 'Int64', primaryKey: true },
        { name: 'v', type: 'FloatVector', params: [{ key: 'dim', value: '1' }] },
      ],
    }),
    'entities/query': (body) =>
      body.outputFields[0] === 'count(*)'
        ? (asked.push(body.filter), [{ 'count(*)': there }])
        : keys.map((id) => ({ id, v: [id] })),
  };
  const http = {
    post: async (path: string, body: any) => ({ code: 0, data: answers[path.replace('/v2/vectordb/', '')](body) }),
  };
  const source = new MilvusSource(http as unknown as PeerHttp, null);
  const [collection] = await source.collections();
  asked.length = 0;
  return source.page({ collection, vector: 'v', cursor: 1, limit: 3, textField: null, findings: new ItemFindings() });
}

describe('pages of Milvus', () => {
  test('in the order of keys go on after the greatest, and nothing is counted', async () => {
    const asked: unknown[] = [];
    expect((await pageOf([2, 3, 5], 99, asked)).next).toBe(5);
    expect(asked).toEqual([]);
  });

  test('in another order are taken when they have all keys up to the greatest', async () => {
    const asked: unknown[] = [];
    expect((await pageOf([5, 2, 3], 3, asked)).next).toBe(5);
    expect(asked).toEqual(['id > 1 and id <= 5']);
  });

  test('that leave keys out end the migration with the reason', async () => {
    await expect(pageOf([5, 2, 3], 7)).rejects.toThrow('would leave out 4');
  });
});
