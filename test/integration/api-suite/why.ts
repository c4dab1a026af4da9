import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

/** Why a search does not find an item. */
export function whySuite(context: SuiteContext): void {
  const ITEMS = 40;
  /** One after the other farther from [1, 0]; every second has the word "odd". */
  const filled = async (fields: object = {}): Promise<string> => {
    const name = await context.collection({ dim: 2, ...fields });
    const items = Array.from({ length: ITEMS }, (_, i) => ({
      external_id: `i${i}`,
      vector: [1, i / 10],
      text: i % 2 === 1 ? `odd ${'filler '.repeat(i)}` : 'even',
      metadata: { n: i, tens: Math.floor(i / 10) },
    }));
    dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
    return name;
  };
  const why = async (name: string, body: object): Promise<any> =>
    dataOf(await context.api.post(`/v1/collections/${name}/why`, body));
  const near = { vector: [1, 0], k: 5 };

  describe('why an item is not found', () => {
    test('says each stage, over any number of shards', async () => {
      const answers: any[] = [];
      for (const shards of [1, 3]) {
        const name = await filled({ shards });
        answers.push([
          await why(name, { ...near, external_id: 'i3' }),
          await why(name, { ...near, external_id: 'i7' }),
          await why(name, { ...near, external_id: 'gone' }),
          await why(name, {
            ...near,
            external_id: 'i7',
            filters: { n: { $gt: 5 }, $and: [{ tens: 1 }, { n: { $lt: 50 } }] },
          }),
          await why(name, { ...near, external_id: 'i1', group_by: 'tens' }),
          await why(name, { ...near, external_id: 'i4', diversity: { field: 'tens', at_most: 2 } }),
          await why(name, { ...near, external_id: 'i9', offset: 3 }),
          await why(name, { ...near, external_id: 'i30', exact: true, offset: 3 }),
          await why(name, { ...near, external_id: 'i12', group_by: 'tens', group_size: 3 }),
          await why(name, { ...near, external_id: 'i13', group_by: 'tens', group_size: 3 }),
          await why(name, { ...near, k: 1, external_id: 'i12', group_by: 'tens' }),
          await why(name, { ...near, external_id: 'i2', group_by: 'none' }),
        ]);
      }
      expect(answers[1]).toEqual(answers[0]);
      const [found, behind, gone, filtered, grouped, diverse, later, exact, ...others] = answers[0];
      expect(found).toMatchObject({ lost_at: null, place: 4, conditions: [], effort: null });
      expect(found.because).toBe('the search finds it, at place 4');
      expect(found.legs).toEqual([{ leg: 'vector', score: expect.any(Number), exact_rank: 4, rank: 4, depth: 5 }]);
      expect(behind).toMatchObject({ lost_at: 'rank', place: 8, legs: [{ exact_rank: 8, rank: null, depth: 5 }] });
      expect(behind.because).toBe('it is at place 8, and the page has places 1 to 5');
      expect(gone).toMatchObject({ lost_at: 'item', place: null, legs: [] });
      expect(filtered.conditions).toEqual([
        { condition: { n: { $gt: 5 } }, passes: true },
        { condition: { tens: 1 }, passes: false },
        { condition: { n: { $lt: 50 } }, passes: true },
      ]);
      expect(filtered.because).toBe('it does not pass {"tens":1}');
      // Its score is said all the same.
      expect(filtered.legs).toEqual([
        { leg: 'vector', score: behind.legs[0].score, exact_rank: null, rank: null, depth: 5 },
      ]);
      expect(grouped).toMatchObject({ lost_at: 'groups' });
      expect(diverse).toMatchObject({ lost_at: 'diversity' });
      expect(later).toMatchObject({ lost_at: 'rank', place: 10 });
      expect(exact).toMatchObject({ lost_at: 'rank', place: 31 });
      const [first, second, otherGroup, none] = others;
      // At the place of its group.
      expect(first).toMatchObject({ lost_at: null, place: 2 });
      expect(second).toMatchObject({ lost_at: 'groups', place: 14 });
      expect(second.because).toContain('its group is on the page');
      expect(none).toMatchObject({ lost_at: 'groups', place: 3 });
      expect(none.because).toBe('it has no number, text or boolean under "none", by which the search groups');
      expect(otherGroup).toMatchObject({ lost_at: 'rank', place: 13 });
      expect(otherGroup.because).toContain('the groups of the page have better hits than its own');
    });

    test('says the ranks of both lists of a hybrid search', async () => {
      const name = await filled();
      const asked = { query_text: 'odd', vector: [1, 0], k: 3 };
      const both = await why(name, { ...asked, external_id: 'i1' });
      expect(both).toMatchObject({ lost_at: null, place: 1 });
      expect(both.legs.map((leg: any) => [leg.leg, leg.exact_rank, leg.rank])).toEqual([
        ['vector', 2, 2],
        ['keyword', 1, 1],
      ]);
      // As keyword search scores it: no share of a rank.
      expect(both.legs[1].score).toBeGreaterThan(0.1);
      const even = await why(name, { ...asked, external_id: 'i30' });
      expect(even.lost_at).toBe('rank');
      expect(even.legs[1]).toMatchObject({ leg: 'keyword', score: null, exact_rank: null, rank: null });
      expect(await why(name, { ...asked, mode: 'keyword', external_id: 'i30' })).toMatchObject({
        lost_at: 'lists',
        place: null,
        legs: [{ leg: 'keyword' }],
      });
      const signs = { ...asked, query_text: '+odd -filler', query_syntax: 'simple' };
      expect(await why(name, { ...signs, external_id: 'i3' })).toMatchObject({
        lost_at: 'filter',
        conditions: [{ condition: { query_text: '+odd -filler' }, passes: false }],
      });
    });

    test.each([
      ['no id', { vector: [1, 0] }, 422, /external_id is required/],
      ['a field that neither has', { external_id: 'a', vector: [1, 0], kk: 3 }, 422, /kk is no field/],
      ['nothing to look for', { external_id: 'a' }, 422, /vector/],
      ['a wrong value', { external_id: 'a', vector: [1, 0], k: 0 }, 422, /k must be at least 1/],
      ['a filter that is none', { external_id: 'a', vector: [1, 0], filters: { a: { $x: 1 } } }, 422, /filters/],
      ['a cursor', { external_id: 'a', vector: [1, 0], cursor: 'first' }, 400, /cursor is of pages that/],
      ['another dimension', { external_id: 'i1', vector: [1, 0, 0] }, 400, /dimension/],
    ])('is refused with %s', async (_, body, code, message) => {
      const name = await filled();
      expect(errorOf(await context.api.post(`/v1/collections/${name}/why`, body), code)).toMatch(message);
    });
  });
}
