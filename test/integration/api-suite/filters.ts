import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

/** What each operator on texts and dates keeps, in every endpoint that takes filters. */

const ITEMS = [
  {
    external_id: 'a',
    expires_at: '2100-01-01T00:00:00Z',
    metadata: {
      title: 'River Songs',
      at: '2024-01-31T23:30:00+02:00',
      tags: ['Sea', 'river'],
      label: [null, 'new'],
      parts: [
        { code: 7, width: 3 },
        { code: 8, width: 1 },
      ],
    },
  },
  {
    external_id: 'b',
    metadata: {
      title: 'the river',
      at: '2024-01-31',
      tags: [],
      label: [null],
      parts: [[{ code: 7 }], { code: 7, width: 1 }],
    },
  },
  { external_id: 'c', metadata: { title: 'ÉTÉ 100%', at: '2024-02-01T00:00:00Z', n: 5, label: [] } },
  { external_id: 'd', metadata: { title: `${'x'.repeat(200)} end*`, at: 'soon', n: [1, 9], label: null } },
  { external_id: 'e', metadata: { title: 7, at: 1_706_745_600_000, n: [6], place: { lat: 52.52, lon: 13.4 } } },
  { external_id: 'f', metadata: { place: { type: 'Point', coordinates: [179.5, -17] } } },
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
  [{ tags: { $all: ['river', 'Sea'] } }, 'a'],
  [{ tags: { $all: ['river', 'land'] } }, ''],
  [{ tags: { $any: ['river', 'land'] } }, 'a'],
  [{ tags: { $size: 0 } }, 'b'],
  [{ $not: { tags: { $size: { $gte: 0 } } } }, 'cdef'],
  [{ tags: { $empty: true } }, 'bcdef'],
  [{ label: { $empty: true } }, 'bcdef'],
  [{ label: { $empty: false } }, 'a'],
  [{ n: { $empty: true }, place: { $empty: false } }, 'f'],
  [{ none: { $empty: false } }, ''],
  [{ none: { $empty: true }, title: { $empty: true } }, 'f'],
  [{ n: { $size: { $gt: 1 } } }, 'd'],
  [{ n: { $elem_match: { $gt: 4, $lt: 8 } } }, 'e'],
  [{ n: { $elem_match: { $gt: 1, $lt: 9 } } }, 'e'],
  [{ parts: { $elem_match: { code: 7, width: { $lt: 2 } } } }, 'b'],
  [{ parts: { $elem_match: { code: 7 } } }, 'ab'],
  [{ parts: { $elem_match: { $not: { code: 7 } } } }, 'a'],
  [{ place: { $geo_radius: { lat: 52.5, lon: 13.4, metres: 3_000 } } }, 'e'],
  [{ place: { $geo_radius: { lat: 52.5, lon: 13.4, metres: 2_000 } } }, ''],
  [{ $not: { place: { $geo_box: { min_lat: -20, min_lon: 170, max_lat: 0, max_lon: -170 } } } }, 'abcde'],
  [
    {
      place: {
        $geo_polygon: [
          { lat: 50, lon: 10 },
          { lat: 55, lon: 10 },
          { lat: 52, lon: 20 },
        ],
      },
    },
    'e',
  ],
  [{ $id: ['f', 'a', 'z'] }, 'af'],
  [{ $not: { $id: ['f', 'a'] }, n: { $exists: true } }, 'cde'],
  [{ $expires_at: { $gt: '2099-12-31T00:00:00Z', $lte: { $date: '2100-01-01' } } }, 'a'],
  [{ $expires_at: { $exists: false } }, 'bcdef'],
  [{ $updated: { $gt: 'now-1h' } }, 'abcdef'],
  [{ $updated: { $lt: { $date: '2024-01-01' } } }, ''],
  [{ $not: { $updated: { $exists: true } } }, ''],
  [{ n: { $gte: 4, $lte: 7 } }, 'cde'],
  [{ $text: { query: 'RIVER' } }, 'ab'],
  [{ $text: { query: 'river, Lámp', match: 'all' } }, 'ab'],
  [{ $text: { query: 'songs lamp', match: 'all' } }, 'a'],
  [{ $text: { query: 'ete nowhere', match: 'any' } }, 'c'],
  [{ $text: { query: 'ete nowhere', match: 'all' } }, ''],
  [{ $text: { query: 'nowhere' } }, ''],
  [{ $not: { $text: { query: 'lamp' } } }, 'cf'],
  [{ $text: { query: 'river', fields: ['tags'] } }, 'a'],
  [{ $text: { query: 'river songs', match: 'all', fields: ['tags', 'title'] } }, 'a'],
  [{ $text: { query: 'lamp', fields: ['tags', 'title', 'nowhere'] } }, ''],
  [{ $not: { $text: { query: 'river', fields: ['title'] } }, n: { $exists: false } }, 'f'],
  [{ $or: [{ $text: { query: 'songs' } }, { n: 5, $text: { query: 'cup' } }] }, 'ac'],
];

const REFUSED: [object, string][] = [
  [{ title: { $prefix: 1 } }, 'filters are not valid: filters.title.$prefix must be a string'],
  [{ title: { $like: 'a\\' } }, 'filters.title.$like ends with a \\'],
  [{ title: { $contains: 'a', case: 'none' } }, 'filters.title.case must be "fold"'],
  [{ title: { $regex: 'a' } }, 'filters.title.$regex: unknown operator; there are $eq'],
  [{ n: { $size: '1' } }, 'filters.n.$size must be a finite number'],
  [
    { n: { $size: { $near: 1 } } },
    'filters.n.$size.$near: unknown operator; there are $eq, $gt, $gte, $lt, $lte, $between',
  ],
  [{ n: { $elem_match: {} } }, 'filters.n.$elem_match must be an object of at least one condition'],
  [{ n: { $elem_match: { $id: ['a'] } } }, 'filters.n.$elem_match.$id: unknown operator; there are $eq'],
  [
    { place: { $geo_radius: { lat: 91, lon: 0, metres: 1 } } },
    'filters.place.$geo_radius.lat must be a number from -90 to 90',
  ],
  [{ place: { $geo_box: { min_lat: 1 } } }, 'filters.place.$geo_box.min_lon must be a number from -180 to 180'],
  [
    { place: { $geo_polygon: [{ lat: 1, lon: 1 }] } },
    'filters.place.$geo_polygon must be an array of 3 to 1000 corners {lat, lon}',
  ],
  [
    {
      place: {
        $geo_polygon: [
          { lat: 80, lon: 0 },
          { lat: 80, lon: 120 },
          { lat: 80, lon: -120 },
        ],
      },
    },
    'filters.place.$geo_polygon goes around a pole',
  ],
  [{ n: { $all: 1 } }, 'filters.n.$all must be an array'],
  [{ $id: 'a' }, 'filters.$id must be an array'],
  [{ $id: [7] }, 'filters.$id[0] must be an external_id, a string'],
  [{ $expires_at: { $lt: 'soon' } }, 'filters.$expires_at.$lt.$date must be a date'],
  [{ $updated: '2024-01-01' }, 'filters.$updated must be an object of operators'],
  [
    { $near: [7] },
    'filters.$near: unknown operator; beside keys of the metadata there are $and, $or and $not, $id, $expires_at, $updated, $text',
  ],
  [{ $text: 'river' }, 'filters.$text must be {"query": "words", "match": "any" or "all"'],
  [{ $text: { query: 'river', case: 'fold' } }, 'filters.$text must be {"query"'],
  [{ $text: { match: 'any' } }, 'filters.$text.query must be a string'],
  [{ $text: { query: '' } }, 'filters.$text.query must have a word to look for'],
  [{ $not: { $text: { query: ' !? … ' } } }, 'filters.$not.$text.query must have a word to look for'],
  [{ $text: { query: 'river', match: 'most' } }, 'filters.$text.match must be "any" or "all"'],
  [{ $text: { query: 'river', fields: [] } }, 'filters.$text.fields must be an array of 1 to 16'],
  [{ $text: { query: 'river', fields: ['title', ''] } }, 'filters.$text.fields[1] must be a field of the metadata'],
  [
    { $text: { query: 'river', fields: ['text'] } },
    "filters.$text.fields[0]: the text of an item can't be asked alone",
  ],
  [{ title: { $text: { query: 'river' } } }, 'filters.title.$text: unknown operator; there are $eq'],
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
      const items = ITEMS.map((item, i) => {
        const metadata = { ...item.metadata, kind: 'kept' };
        return { ...item, metadata, vector: [1, i, 2], text: i % 3 === 2 ? 'words cup' : 'words LAMP' };
      });
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
      const facets = [{ field: 'kind' }];
      expect(dataOf(await post('aggregate', { filters, facets })).facets[0].values).toEqual(
        expected === '' ? [] : [{ value: 'kept', count: expected.length }],
      );
      const groups = dataOf(await post('search', { vector, k: 1, group_by: 'kind', group_size: 10, filters })).groups;
      expect(groups.map(({ hits }: { hits: { external_id: string }[] }) => idsOf(hits))).toEqual(
        expected === '' ? [] : [expected],
      );
    });

    test('a facet without its own conditions is counted without those on its elements, too', async () => {
      const facets = [{ field: 'tags', own_filter: false, order: 'value' }];
      const valuesOf = async (filters: object): Promise<unknown> =>
        dataOf(await post('aggregate', { filters, facets })).facets[0].values;
      const both = ['Sea', 'river'].map((value) => ({ value, count: 1 }));
      for (const condition of [{ $size: 0 }, { $elem_match: { $prefix: 'z' } }, { $all: ['river', 'z'] }])
        expect(await valuesOf({ tags: condition })).toEqual(both);
      expect(await valuesOf({ tags: { $size: 0 }, $id: ['b'] })).toEqual([]);
      expect(await valuesOf({ tags: { $size: 0 }, parts: { $elem_match: { tags: 1 } } })).toEqual([]);
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
      const places = { lat: 0, lon: 0, metres: 3e7 };
      const again = { place: { $geo_radius: places }, $expires_at: { $exists: false } };
      const set = { places: [0, 1, 2] };
      expect(dataOf(await post('update_by_filter', { filters: again, set }))).toEqual({ updated_count: 2 });
      expect(dataOf(await post('count', { filters: { places: { $size: 3 } } })).count).toBe(2);
      const last = { places: { $elem_match: { $gt: 1 } }, $id: ['a', 'e'] };
      expect(dataOf(await post('delete_by_filter', { filters: last }))).toEqual({ deleted_count: 1 });
      expect(dataOf(await post('count', { filters: { places: { $size: 3 } } })).count).toBe(1);
      // Which words an item has is decided again by the shard that changes it, by its text.
      const cups = { $text: { query: 'cup ÉTÉ', match: 'all' }, n: 5 };
      expect(dataOf(await post('update_by_filter', { filters: cups, set: { title: 'saucer' } }))).toEqual({
        updated_count: 1,
      });
      expect(dataOf(await post('count', { filters: cups })).count).toBe(0);
      const saucers = { $text: { query: 'cup saucer', match: 'all', fields: ['title', 'kind'] } };
      expect(dataOf(await post('delete_by_filter', { filters: saucers }))).toEqual({ deleted_count: 0 });
      const both = { $text: { query: 'cup saucer', match: 'all' } };
      expect(dataOf(await post('delete_by_filter', { filters: both }))).toEqual({ deleted_count: 1 });
      expect(dataOf(await post('count', { filters: both })).count).toBe(0);
    });
  });
}
