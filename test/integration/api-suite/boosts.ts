import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

const DAY_MS = 86_400_000;
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();
/** Their cosines with [1, 0, 0] are 1, .8, .6 and −1. */
const items = () => [
  {
    external_id: 'near',
    vector: [1, 0, 0],
    metadata: { kind: 'a', likes: 0, at: { lat: 48.1, lon: 11.5 } },
    text: 'red apple',
  },
  {
    external_id: 'next',
    vector: [0.8, 0.6, 0],
    metadata: { kind: 'b', likes: 3, published: daysAgo(0) },
    text: 'apple pear',
  },
  {
    external_id: 'far',
    vector: [0.6, 0.8, 0],
    metadata: { kind: 'b', likes: 8, published: daysAgo(14), at: { lat: 48.2, lon: 11.5 } },
    text: 'pear apple apple',
  },
  { external_id: 'behind', vector: [-1, 0, 0], metadata: { kind: 'c' }, text: 'stone' },
];
const ofKind = (kind: string, weight: number) => ({ filters: { kind }, weight });

export function boostsSuite(context: SuiteContext): void {
  describe('boosts', () => {
    let name: string;
    const post = (endpoint: string, body: object) =>
      context.api.post(endpoint === 'query' ? '/v1/query' : `/v1/collections/${name}/${endpoint}`, body);
    const found = async (options: object, endpoint = 'search'): Promise<{ external_id: string; score: number }[]> =>
      dataOf(await post(endpoint, { vector: [1, 0, 0], ...options })).results;
    const scores = async (options: object): Promise<Record<string, number>> =>
      Object.fromEntries((await found(options)).map(({ external_id, score }) => [external_id, score]));

    beforeAll(async () => {
      name = await context.collection({ shards: 2 });
      dataOf(await post('bulk_upsert', { items: items() }));
    });

    test('a filter multiplies scores, or adds to them', async () => {
      const boosted = await found({ boosts: [ofKind('b', 1.5)] });
      expect(boosted.map(({ external_id }) => external_id)).toEqual(['next', 'near', 'far', 'behind']);
      expect(boosted.map(({ score }) => score)).toEqual([1.2, 1, 0.9, -1].map((score) => expect.closeTo(score, 6)));
      expect(await scores({ boosts: [ofKind('c', 4)] })).toMatchObject({ near: 1, behind: expect.closeTo(-0.25, 6) });
      expect(await scores({ boosts: [ofKind('c', 4), ofKind('b', -0.5)], boost_mode: 'add' })).toEqual({
        behind: expect.closeTo(3, 6),
        near: expect.closeTo(1, 6),
        next: expect.closeTo(0.3, 6),
        far: expect.closeTo(0.1, 6),
      });
    });

    test('numbers count by a modifier, and what is missing as it is told', async () => {
      const likes = { field: 'likes', modifier: 'log1p', weight: 0.5 };
      expect(await scores({ boosts: [likes] })).toEqual({
        near: expect.closeTo(1, 6),
        next: expect.closeTo(0.8 * (1 + 0.5 * Math.log(4)), 6),
        far: expect.closeTo(0.6 * (1 + 0.5 * Math.log(9)), 6),
        behind: expect.closeTo(-1, 6),
      });
      const { behind } = await scores({ boosts: [{ ...likes, modifier: 'none', missing: 2 }] });
      expect(behind).toBeCloseTo(-0.5, 6);
    });

    test('what is near to now, to a number or to a place counts more', async () => {
      const published = { field: 'published', decay: { origin: 'now', scale: '7d' }, weight: 1 };
      const { next, far, near } = await scores({ boosts: [published] });
      expect(next).toBeGreaterThan(1.59);
      expect(next).toBeLessThanOrEqual(1.6 + 1e-6);
      expect(far).toBeCloseTo(0.6 * 1.25, 2);
      expect(near).toBeCloseTo(1, 6);
      const gauss = { shape: 'gauss', origin: 3, scale: 5, offset: 0, at: 0.5 };
      expect(await scores({ boosts: [{ field: 'likes', decay: gauss, weight: 1 }] })).toMatchObject({
        next: expect.closeTo(1.6, 6),
        far: expect.closeTo(0.6 * 1.5, 6),
      });
      const place = { shape: 'linear', origin: { lat: 48.1, lon: 11.5 }, scale: '11.12km' };
      expect(await scores({ boosts: [{ field: 'at', decay: place, weight: 1, missing: 0.25 }] })).toMatchObject({
        near: expect.closeTo(2, 6),
        far: expect.closeTo(0.9, 2),
        next: expect.closeTo(1, 6),
      });
    });

    test('every search takes boosts, and explains them', async () => {
      const boosts = [ofKind('b', 3), { field: 'likes', weight: 0.25 }];
      const [first] = await found({ boosts, explain: true, k: 1 });
      expect(first).toMatchObject({ external_id: 'far', boosts: [3, 3] });
      const more = { boosts, explain: true, query_text: 'apple', text: 'apple', query: 'apple', collection_name: name };
      const ids = async (endpoint: string, options: object) =>
        (await found({ ...more, ...options }, endpoint)).map(({ external_id }) => external_id);
      expect((await ids('query', { alpha: 0, boosts: [ofKind('a', 9)] }))[0]).toBe('near');
      expect((await ids('query', { alpha: 0 }))[0]).toBe('far');
      expect((await ids('recommend/near', {}))[0]).toBe('far');
      expect((await ids('search', { vector: undefined, text: undefined, positives: [{ id: 'near' }] }))[0]).toBe('far');
      const [asked] = await found({ ...more, alpha: 0, top_k: 1 }, 'query');
      expect(asked).toMatchObject({ external_id: 'far', boosts: [3, 3], keyword_rank: 1 });
      const bulk = dataOf(
        await post('bulk_search', { queries: [{ vector: [1, 0, 0], boosts }, { vector: [1, 0, 0] }] }),
      );
      expect(bulk.results.map((list: { external_id: string }[]) => list[0].external_id)).toEqual(['far', 'near']);
      const grouped = dataOf(await post('search', { vector: [1, 0, 0], boosts, group_by: 'kind' }));
      expect(grouped.groups.map(({ key }: { key: string }) => key)).toEqual(['b', 'a', 'c']);
      expect(grouped.boost_depth).toBeUndefined();
      expect(await ids('search', { offset: 1, k: 1 })).toEqual(['next']);
      expect(await ids('search', { filters: { kind: 'a' } })).toEqual(['near']);
    });

    test('why tells that boosts put others before an item', async () => {
      const boosts = [ofKind('b', 3)];
      const report = dataOf(await post('why', { vector: [1, 0, 0], k: 1, boosts, external_id: 'near' }));
      expect(report).toMatchObject({ lost_at: 'boosts', place: 3 });
      const other = dataOf(await post('why', { vector: [1, 0, 0], k: 1, boosts, external_id: 'behind' }));
      expect(other).toMatchObject({ lost_at: 'rank', place: 4 });
    });

    test.each<[string, object, number]>([
      ['boosts[0].weight', { boosts: [{ filters: { kind: 'a' } }] }, 422],
      ['boosts[0].weight', { boosts: [ofKind('a', 0)] }, 422],
      ['boosts[1].weight', { boosts: [ofKind('a', 2), ofKind('a', -1)] }, 422],
      ['boosts[0]', { boosts: [{ weight: 1 }] }, 422],
      ['boosts[0]', { boosts: [{ filters: { kind: 'a' }, field: 'likes', weight: 1 }] }, 422],
      ['boosts[0].filters', { boosts: [{ filters: { kind: { $is: 1 } }, weight: 1 }] }, 422],
      ['boosts[0].modifier', { boosts: [{ field: 'likes', modifier: 'cube', weight: 1 }] }, 422],
      ['boosts[0].decay.scale', { boosts: [{ field: 'a', decay: { origin: 'now' }, weight: 1 }] }, 422],
      ['boosts[0].decay.scale', { boosts: [{ field: 'a', decay: { origin: 'now', scale: 7 }, weight: 1 }] }, 422],
      ['boosts[0].decay.scale', { boosts: [{ field: 'a', decay: { origin: 3, scale: '7d' }, weight: 1 }] }, 422],
      ['boosts[0].decay.scale', { boosts: [{ field: 'a', decay: { origin: 3, scale: 0 }, weight: 1 }] }, 422],
      ['boosts[0].decay.origin', { boosts: [{ field: 'a', decay: { origin: 'soon', scale: '7d' }, weight: 1 }] }, 422],
      [
        'boosts[0].decay.shape',
        { boosts: [{ field: 'a', decay: { shape: 'x', origin: 1, scale: 1 }, weight: 1 }] },
        422,
      ],
      ['boosts[0].decay.at', { boosts: [{ field: 'a', decay: { origin: 1, scale: 1, at: 1 }, weight: 1 }] }, 422],
      ['boosts[0].missing', { boosts: [{ field: 'a', decay: { origin: 1, scale: 1 }, weight: 1, missing: 2 }] }, 422],
      ['boost_mode', { boosts: [ofKind('a', 2)], boost_mode: 'max' }, 422],
      ['boost_mode', { boost_mode: 'add' }, 400],
      ['boosts', { boosts: Array.from({ length: 17 }, () => ofKind('a', 2)) }, 400],
    ])('a wrong %s is told (%j)', async (field, options, status) => {
      expect(errorOf(await post('search', { vector: [1, 0, 0], ...options }), status)).toContain(field);
    });
  });
}
