import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

/** What each operator on texts and dates keeps, in every endpoint that takes filters. */

const ITEMS = [
  { external_id: 'a', metadata: { title: 'River Songs', at: '2024-01-31T23:30:00+02:00', tags: ['Sea', 'river'] } },
  { external_id: 'b', metadata: { title: 'the river', at: '2024-01-31', tags: [] } },
  { external_id: 'c', metadata: { title: 'ÉTÉ 100%', at: '2024-02-01T00:00:00Z', n: 5 } },
  { external_id: 'd', metadata: { title: `${'x'.repeat(200)} end*`, at: 'soon', n: [1, 9] } },
  { external_id: 'e', metadata: { title: 7, at: 1_706_745_600_000, n: [6] } },
  { external_id: 'f', metadata: {} },
];

const KEPT: [object, string][] = [
  [{ title: { $prefix: 'River' } }, 'a'],
  [{ title: { $prefix: 'RIVER', case: 'fold' } }, 'a'],
  [{ title: { $prefix: '' } }, 'abcd'],
  [{ tags: { $prefix: 'riv' } }, 'a'],
  [{ title: { $contains: 'river' } }, 'b'],
  [{ title: { $contains: 'river', case: 'fold' } }, 'ab'],
  [{ title: { $contains: 'x end' } }, 'd'],
  [{ title: { $contains: 'été', case: 'fold' } }, 'c'],
  [{ title: { $like: '*River*', case: 'fold' } }, 'ab'],
  [{ title: { $like: '???R*', case: 'fold' } }, ''],
  [{ title: { $like: '????r*', case: 'fold' } }, 'ab'],
  [{ title: { $like: '*end\\*' } }, 'd'],
  [{ $not: { title: { $contains: 'river', case: 'fold' } } }, 'cdef'],
  [{ at: { $gte: { $date: '2024-01-31T21:30:00Z' } } }, 'ac'],
  [{ at: { $lt: { $date: '2024-01-31T23:30:00+02:00' } } }, 'b'],
  [{ at: { $between: [{ $date: '2024-01-31' }, { $date: '2024-02-01' }] } }, 'abc'],
  [{ at: { $eq: { $date: '2024-02-01T01:00:00+01:00' } } }, 'c'],
  [{ at: { $in: [{ $date: '2024-01-31T00:00Z' }, 'soon'] } }, 'bd'],
  [{ at: { $ne: { $date: '2024-02-01' } } }, 'abdef'],
  [{ at: { $lt: { $date: 'now-7d' } } }, 'abc'],
  [{ at: { $gt: { $date: 'now-1h+2h' } } }, ''],
  // A plain text stays one.
  [{ at: { $gte: '2024-01-31T21:30:00Z' } }, 'acd'],
  [{ n: { $between: [4, 7] } }, 'ce'],
  [{ n: { $gte: 4, $lte: 7 } }, 'cde'],
];

const REFUSED: [object, string][] = [
  [{ title: { $prefix: 1 } }, 'filters are not valid: filters.title.$prefix must be a string'],
  [{ title: { $like: 'a\\' } }, 'filters.title.$like ends with a \\'],
  [{ title: { $contains: 'a', case: 'none' } }, 'filters.title.case must be "fold"'],
  [{ title: { $regex: 'a' } }, 'filters.title.$regex: unknown operator; there are $eq'],
  [{ n: { $between: [1] } }, 'filters.n.$between must be [lowest, highest]'],
  [{ n: { $between: [1, 'a'] } }, 'filters.n.$between must have two numbers, two texts or two dates'],
  [{ at: { $gt: { $date: 'yesterday' } } }, 'filters.at.$gt.$date must be a date'],
  [{ at: { $in: ['a', { $date: '2024-02-30' }] } }, 'filters.at.$in[1].$date must be a date'],
];

export function filtersSuite(context: SuiteContext): void {
  describe('filters', () => {
    let name: string;
    const post = (endpoint: string, body: unknown) => context.api.post(`/v1/collections/${name}/${endpoint}`, body);

    beforeAll(async () => {
      name = await context.collection();
      const items = ITEMS.map((item, i) => ({ ...item, vector: [1, i, 2], text: 'words' }));
      dataOf(await post('bulk_upsert', { items }));
    });

    test.each(KEPT)('%j keeps the same everywhere', async (filters, expected) => {
      const idsOf = (hits: { external_id: string }[]): string =>
        hits
          .map(({ external_id }) => external_id)
          .sort()
          .join('');
      const vector = [1, 2, 3];
      expect(idsOf(dataOf(await post('search', { vector, k: 10, filters })).results)).toBe(expected);
      expect(idsOf(dataOf(await post('hybrid_search', { vector, query_text: 'words', k: 10, filters })).results)).toBe(
        expected,
      );
      expect(idsOf(dataOf(await post('scroll', { filters, include_vectors: false })).vectors)).toBe(expected);
      expect(dataOf(await post('count', { filters })).count).toBe(expected.length);
    });

    test.each(REFUSED)('%j is refused, with its path', async (filters, message) => {
      expect(errorOf(await post('search', { vector: [1, 2, 3], filters }), 422)).toContain(message);
    });

    test('updates and deletes by filter concern what the same filter keeps', async () => {
      const filters = { at: { $lt: { $date: '2024-01-31T22:00:00Z' } }, title: { $like: '*river*', case: 'fold' } };
      expect(dataOf(await post('update_by_filter', { filters, set: { seen: true } }))).toEqual({ updated_count: 2 });
      expect(dataOf(await post('count', { filters: { seen: true } })).count).toBe(2);
      expect(dataOf(await post('delete_by_filter', { filters: { ...filters, title: { $prefix: 'the' } } }))).toEqual({
        deleted_count: 1,
      });
      expect(dataOf(await post('count', { filters })).count).toBe(1);
    });
  });
}
