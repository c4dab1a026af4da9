import { dataOf, errorOf } from '../../support/targets/api-client';
import { eventually } from '../../support/eventually';
import type { SuiteContext } from '../api-suite';

const ITEMS = Array.from({ length: 60 }, (_, i) => ({
  external_id: `i${String(i).padStart(2, '0')}`,
  vector: [Math.cos(i / 40), Math.sin(i / 40), 0],
  text: `a text ${i % 7}`,
  metadata: { n: i, kind: i % 9 },
}));

export function cursorsSuite(context: SuiteContext): void {
  describe('cursors of searches', () => {
    let path = '';
    beforeAll(async () => {
      path = `/v1/collections/${await context.collection({ shards: 2 })}`;
      dataOf(await context.api.post(`${path}/bulk_upsert`, { items: ITEMS }));
    });

    const idsOf = (hits: any[]): string[] => hits.map(({ external_id: id }) => id);
    /** All pages of a search. */
    const pagesOf = async (at: string, body: object, field = 'k'): Promise<any[]> => {
      const pages: any[] = [];
      for (let cursor = 'first'; cursor !== null; cursor = pages.at(-1).next_cursor)
        pages.push(dataOf(await context.api.post(at, { ...body, [field]: 7, cursor })));
      return pages;
    };

    test('go through the whole list, which is that of one page', async () => {
      const vector = [1, 0.2, 0];
      const boosts = [
        { filters: { kind: { $in: [2, 5] } }, weight: 1.5 },
        { field: 'n', modifier: 'log1p', weight: 0.1 },
      ];
      const forms = [
        { at: `${path}/search`, body: { vector } },
        { at: `${path}/search`, body: { vector, filters: { kind: 4 }, exact: true } },
        { at: `${path}/search`, body: { text: 'a text' } },
        { at: `${path}/search`, body: { positives: [{ id: 'i03' }, { vector }], negatives: [{ id: 'i50' }] } },
        { at: `${path}/recommend/i10`, body: { include_text: true } },
        { at: `${path}/search`, body: { vector, boosts, explain: true } },
        { at: `${path}/search`, body: { vector, boosts, boost_mode: 'add', group_by: 'none', group_missing: 'each' } },
        { at: `${path}/search`, body: { vector, diversity: { field: 'kind', at_most: 3 } } },
        { at: `${path}/search`, body: { vector, diversity: { lambda: 0.4, candidates: 60 }, explain: true } },
        { at: `${path}/search`, body: { vector, boosts, diversity: { field: 'kind', at_most: 2 } } },
      ];
      for (const { at, body } of forms) {
        const whole = dataOf(await context.api.post(at, { ...body, k: 60 }));
        const pages = await pagesOf(at, body);
        const hitsOf = ({ results, groups }: any): any[] => results ?? groups;
        expect(pages.flatMap(hitsOf)).toEqual(hitsOf(whole));
        expect(pages.length).toBe(Math.max(1, Math.ceil(hitsOf(whole).length / 7)));
        expect(whole).not.toHaveProperty('next_cursor');
      }
      for (const more of [
        {},
        { alpha: 0.5 },
        { alpha: 0, match: 'all' },
        { alpha: 0.3, fuzzy: 'auto', explain: true },
        { alpha: 0.4, boosts },
      ]) {
        const query = { query: 'a text 3', collection_name: path.split('/').at(-1), ...more };
        const asked = dataOf(await context.api.post('/v1/query', { ...query, top_k: 60 }));
        expect(asked.results.length).toBeGreaterThan(7);
        const pages = await pagesOf('/v1/query', query, 'top_k');
        expect(pages.flatMap(({ results }) => results)).toEqual(asked.results);
      }
    });

    test('are of each query of a bulk search', async () => {
      const queries = [
        { vector: [1, 0, 0], k: 3, cursor: 'first' },
        { vector: [0, 1, 0], k: 3 },
        { vector: [0, 1, 0], k: 100, cursor: 'first' },
      ];
      const first = dataOf(await context.api.post(`${path}/bulk_search`, { queries }));
      expect(first.next_cursor).toEqual([expect.any(String), null, null]);
      const [cursor] = first.next_cursor;
      const second = dataOf(await context.api.post(`${path}/bulk_search`, { queries: [{ ...queries[0], cursor }] }));
      expect(idsOf([...first.results[0], ...second.results[0]])).toEqual(['i00', 'i01', 'i02', 'i03', 'i04', 'i05']);
    });

    test('give each group once', async () => {
      for (const more of [{}, { group_size: 3 }, { group_by: 'n', group_size: 2 }]) {
        const body = { vector: [1, 0.2, 0], group_by: 'kind', ...more };
        const whole = dataOf(await context.api.post(`${path}/search`, { ...body, k: 60 }));
        const pages = await pagesOf(`${path}/search`, body);
        expect(pages.flatMap(({ groups }) => groups)).toEqual(whole.groups);
      }
    });

    test('leave out what has changed, and what was added', async () => {
      const name = await context.collection({ shards: 2 });
      const own = `/v1/collections/${name}`;
      dataOf(await context.api.post(`${own}/bulk_upsert`, { items: ITEMS }));
      const body = { vector: [1, 0, 0], k: 5 };
      const first = dataOf(await context.api.post(`${own}/search`, { ...body, cursor: 'first' }));
      dataOf(await context.api.post(`${own}/upsert`, { ...ITEMS[2], vector: [0.5, 0.5, 0] }));
      dataOf(await context.api.post(`${own}/upsert`, { external_id: 'new', vector: [0.9, 0.3, 0] }));
      dataOf(await context.api.delete(`${own}/delete/i05`));
      const second = dataOf(
        await context.api.post(`${own}/search`, { ...body, k: 100, cursor: first.next_cursor, include_text: true }),
      );
      expect(idsOf([...first.results, ...second.results])).toEqual(
        ITEMS.map(({ external_id: id }) => id).filter((id) => id !== 'i05'),
      );
      expect(second.next_cursor).toBeNull();
    });

    test('are refused where a list does not go on, and where they are of another one', async () => {
      const body = { vector: [1, 0, 0], k: 5 };
      const { next_cursor: cursor } = dataOf(await context.api.post(`${path}/search`, { ...body, cursor: 'first' }));
      const refused = async (given: object, code: number, says: string): Promise<void> =>
        expect(errorOf(await context.api.post(`${path}/search`, { ...body, ...given }), code)).toContain(says);
      await refused({ cursor, vector: [0, 1, 0] }, 422, 'it belongs to another search');
      await refused({ cursor, filters: { n: 1 } }, 422, 'it belongs to another search');
      await refused({ cursor: 'x' }, 400, 'Invalid cursor');
      await refused({ cursor, offset: 5 }, 400, 'offset');
      await refused({ cursor, diversity: { field: 'kind' } }, 422, 'it belongs to another search');
      const newest = { field: 'at', decay: { origin: 'now', scale: '7d' }, weight: 1 };
      const boosted = (boost: object): Promise<void> => refused({ cursor, boosts: [boost] }, 400, 'dates from now');
      await boosted(newest);
      await boosted({ filters: { $updated: { $lt: 'now-7d' } }, weight: 2 });
      await refused(
        { cursor, boosts: [{ ...newest, decay: { origin: '2024-02-01', scale: '7d' } }] },
        422,
        'another search',
      );
      await refused({ cursor, filters: { $updated: { $lt: 'now-7d' } } }, 400, 'dates from now');
      await refused({ cursor: 7 }, 422, 'cursor');
      await refused(
        { vector: undefined, positives: [{ id: 'i03' }], strategy: 'best_score', cursor },
        400,
        'best_score',
      );
      const query = { query: 'text', collection_name: path.split('/').at(-1), alpha: 0.5, cursor: 'first' };
      for (const [more, says] of [
        [{ fusion: 'dbsf' }, 'by ranks or by sums'],
        [{ group_by: 'kind' }, 'fuses several'],
        [{ diversity: { field: 'kind' } }, 'fuses several'],
        [{ top_k: 2_000 }, 'at most 1000'],
      ] as const)
        expect(errorOf(await context.api.post('/v1/query', { ...query, ...more }), 400)).toContain(says);
      const other = `/v1/collections/${await context.collection()}`;
      expect(errorOf(await context.api.post(`${other}/search`, { ...body, cursor }), 400)).toContain(
        'it belongs to another collection',
      );
    });

    test('end with a reshard', async () => {
      const own = `/v1/collections/${await context.collection({ shards: 2 })}`;
      dataOf(await context.api.post(`${own}/bulk_upsert`, { items: ITEMS }));
      const body = { vector: [1, 0, 0], k: 5 };
      const { next_cursor: cursor } = dataOf(await context.api.post(`${own}/search`, { ...body, cursor: 'first' }));
      dataOf(await context.api.post(`${own}/reshard`, { shards: 3 }));
      await eventually('three shards', async () => dataOf(await context.api.get(own)).shards === 3);
      expect(errorOf(await context.api.post(`${own}/search`, { ...body, cursor }), 400)).toContain(
        'this cursor ended: the collection was resharded',
      );
    });
  });
}
