import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

const TEXTS = [
  'The car is red',
  'An automobile of 1920',
  'A motor for the boat, and a car park',
  'The motor car museum',
  'A pump in the cellar',
  'The compressor hums',
];

export function synonymsSuite(context: SuiteContext): void {
  describe('synonyms', () => {
    const rules = [['car', 'automobile', 'motor car'], { from: 'pump', to: ['compressor'] }];
    const filled = async (fields: Record<string, unknown>): Promise<string> => {
      const name = await context.collection(fields);
      const items = TEXTS.map((text, i) => ({
        external_id: `t${i}`,
        vector: [1, i, 0],
        text,
        metadata: { title: text.split(' ')[1] },
      }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
      return name;
    };
    const search = async (name: string, query: string, more: object = {}): Promise<any[]> =>
      dataOf(
        await context.api.post(`/v1/collections/${name}/hybrid_search`, {
          query_text: query,
          vector: [1, 0, 0],
          alpha: 0,
          ...more,
        }),
      ).results;
    const found = async (name: string, query: string, more: object = {}): Promise<string[]> =>
      (await search(name, query, more)).map(({ external_id: id }): string => id).sort();
    const count = async (name: string, of: object): Promise<number> =>
      dataOf(await context.api.post(`/v1/collections/${name}/count`, { filters: { $text: of } })).count;

    test('words of queries and filters mean others, over any number of shards', async () => {
      for (const shards of [1, 3]) {
        const name = await filled({ language: 'en', shards, synonyms: rules });
        expect(await found(name, 'cars')).toEqual(['t0', 't1', 't2', 't3']);
        expect(await found(name, 'automobile')).toEqual(['t0', 't1', 't2', 't3']);
        expect(await found(name, 'motor car', { match: 'all' })).toEqual(['t0', 't1', 't2', 't3']);
        expect(await found(name, 'pumps')).toEqual(['t4', 't5']);
        expect(await found(name, 'compressor')).toEqual(['t5']);
        expect(await found(name, 'red cars', { match: 'all' })).toEqual(['t0']);
        expect(await found(name, '1920 cars', { match: 'all' })).toEqual(['t1']);
        const simple = { query_syntax: 'simple' };
        for (const alpha of [0, 0.5, 1]) {
          expect(await found(name, '+pump', { ...simple, alpha, exact: true })).toEqual(['t4', 't5']);
          expect(await found(name, 'hums -automobile', { ...simple, alpha, exact: true })).toEqual(
            alpha === 0 ? ['t5'] : ['t4', 't5'],
          );
        }
        expect(await found(name, '"car"', simple)).toEqual(['t0', 't1', 't2', 't3']);
        expect(await found(name, '"motor car"', simple)).toEqual(['t3']);
        expect(await found(name, 'automob*', simple)).toEqual(['t1']);
        expect(await found(name, '+title:pump', simple)).toEqual(['t4', 't5']);
        expect(await found(name, 'title:automobile', simple)).toEqual(['t0', 't1']);
        expect(await count(name, { query: 'car' })).toBe(4);
        expect(await count(name, { query: 'pump red' })).toBe(3);
        expect(await count(name, { query: 'pump hums', match: 'all' })).toBe(1);
        expect(await count(name, { query: 'car', fields: ['title'] })).toBe(2);
        const deleted = await context.api.post(`/v1/collections/${name}/delete_by_filter`, {
          filters: { $text: { query: 'pump' } },
        });
        expect(dataOf(deleted).deleted_count).toBe(2);
      }
    });

    test('are marked, and shown by analyse', async () => {
      const name = await filled({ language: 'en', synonyms: rules });
      const highlight = { pre: '[', post: ']' };
      const marked = Object.fromEntries(
        (await search(name, 'cars', { highlight })).map(({ external_id: id, highlights }) => [id, highlights[0].text]),
      );
      expect(marked).toEqual({
        t0: 'The [car] is red',
        t1: 'An [automobile] of 1920',
        t2: 'A motor for the boat, and a [car] park',
        t3: expect.stringMatching(/\[motor\]? ?\[?car\] museum/),
      });
      const analyse = async (body: object): Promise<any> =>
        dataOf(await context.api.post(`/v1/collections/${name}/analyse`, body));
      expect((await analyse({ text: 'red motor cars', as: 'query' })).synonyms).toEqual([
        { start: 4, end: 14, meanings: ['car', 'automobile'] },
      ]);
      expect((await analyse({ text: 'boat', as: 'query' })).synonyms).toEqual([]);
      expect(await analyse({ text: 'car' })).not.toHaveProperty('synonyms');
    });

    test('are changed at once, and taken away', async () => {
      const name = await filled({});
      const path = `/v1/collections/${name}`;
      expect(dataOf(await context.api.get(path)).synonyms).toBeNull();
      expect(await found(name, 'pump')).toEqual(['t4']);
      const stored = [rules[0], { from: ['pump'], to: ['compressor'] }];
      expect(dataOf(await context.api.patch(path, { synonyms: rules })).synonyms).toEqual(stored);
      expect(dataOf(await context.api.get(path)).synonyms).toEqual(stored);
      expect(await found(name, 'pump')).toEqual(['t4', 't5']);
      expect(dataOf(await context.api.patch(path, { description: 'd' })).synonyms).toEqual(stored);
      for (const none of [null, []]) {
        dataOf(await context.api.patch(path, { synonyms: rules }));
        expect(dataOf(await context.api.patch(path, { synonyms: none })).synonyms).toBeNull();
        expect(await found(name, 'pump')).toEqual(['t4']);
      }
    });

    test.each<[unknown, string]>([
      ['car', 'synonyms'],
      [[['car']], 'synonyms has a rule that says nothing at 0'],
      [[['a', 'b'], { from: 'c', to: [] }], 'synonyms has a rule that says nothing at 1'],
      [[['car', '!']], 'synonyms has "!", which has no word'],
      [[['car', '']], 'synonyms must have words of 1 to 256 characters, and has others at 0'],
      [[['car', 'x'.repeat(257)]], 'synonyms must have words of 1 to 256 characters'],
      [Array.from({ length: 1_001 }, (_, i) => [`a${i}`, `b${i}`]), 'synonyms must have at most 1000 rules'],
      [[Array.from({ length: 33 }, (_, i) => `a${i}`)], 'synonyms must have at most 32 words in a rule'],
      [
        Array.from({ length: 300 }, (_, i) => [`${i}${'x'.repeat(200)}`, 'y'.repeat(200)]),
        'synonyms must take at most 65536 bytes as JSON',
      ],
    ])('refused: %#', async (synonyms, message) => {
      const name = await context.collection({});
      expect(errorOf(await context.api.patch(`/v1/collections/${name}`, { synonyms }), 422)).toContain(message);
    });
  });

  describe('stop words of a collection', () => {
    const texts = ['the who on tour', 'an item on tour', 'a tour', 'items of the museum'];
    const filled = async (fields: Record<string, unknown>): Promise<string> => {
      const name = await context.collection(fields);
      const items = texts.map((text, i) => ({ external_id: `t${i}`, vector: [1, i, 0], text }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
      return name;
    };
    const found = async (name: string, query: string, more: object = {}): Promise<string[]> => {
      const body = { query_text: query, vector: [1, 0, 0], alpha: 0, match: 'all', ...more };
      const { results } = dataOf(await context.api.post(`/v1/collections/${name}/hybrid_search`, body));
      return results.map(({ external_id: id }: { external_id: string }) => id).sort();
    };
    const count = async (name: string, of: object): Promise<number> =>
      dataOf(await context.api.post(`/v1/collections/${name}/count`, { filters: { $text: of } })).count;
    const own = { add: ['Item'], remove: ['who', 'the'] };

    test('say which words of queries and filters count, over any number of shards', async () => {
      for (const shards of [1, 3]) {
        const name = await filled({ language: 'en', shards, stop_words: own });
        expect(await found(name, 'items tour')).toEqual(['t0', 't1', 't2']);
        expect(await found(name, 'item')).toEqual(['t1', 't3']);
        expect(await found(name, 'the who tour')).toEqual(['t0']);
        expect(await found(name, 'of the', { match: 'any' })).toEqual(['t0', 't3']);
        const simple = { query_syntax: 'simple', match: 'any' };
        for (const alpha of [0, 0.5, 1]) {
          const asked = { ...simple, alpha, exact: true };
          expect(await found(name, '+the-tour', asked)).toEqual(['t0']);
          expect(await found(name, '+of-tour', asked)).toEqual(['t0', 't1', 't2']);
          expect(await found(name, '+the-tou*', asked)).toEqual(['t0']);
        }
        expect(await found(name, '"item on"', simple)).toEqual(['t1']);
        expect(await count(name, { query: 'who tour', match: 'all' })).toBe(1);
        expect(await count(name, { query: 'item museum', match: 'all' })).toBe(1);
        expect(await count(name, { query: 'item museum' })).toBe(1);
      }
    });

    test('are shown, changed at once, and taken away', async () => {
      const name = await filled({ language: 'en' });
      const path = `/v1/collections/${name}`;
      expect(dataOf(await context.api.get(path)).stop_words).toBeNull();
      expect(await found(name, 'the who tour')).toEqual(['t0', 't1', 't2']);
      expect(dataOf(await context.api.patch(path, { stop_words: own })).stop_words).toEqual(own);
      expect(await found(name, 'the who tour')).toEqual(['t0']);
      const analysed = dataOf(await context.api.post(`${path}/analyse`, { text: 'the item of museums', as: 'query' }));
      expect(analysed.terms.map(({ term }: { term: string }) => term)).toEqual(['the', 'museum']);
      for (const none of [null, {}]) {
        dataOf(await context.api.patch(path, { stop_words: own }));
        expect(dataOf(await context.api.patch(path, { stop_words: none })).stop_words).toBeNull();
        expect(await found(name, 'the who tour')).toEqual(['t0', 't1', 't2']);
      }
    });

    test.each<[unknown, string]>([
      [['the'], 'stop_words'],
      [{ add: ['motor car'] }, 'stop_words has "motor car", which is not one word'],
      [{ remove: ['!'] }, 'stop_words has "!", which is not one word'],
      [{ add: ['x'.repeat(65)] }, 'stop_words must have words of 1 to 64 characters in add'],
      [
        { remove: Array.from({ length: 1_001 }, (_, i) => `w${i}`) },
        'stop_words must have at most 1000 words in remove',
      ],
      [
        Object.fromEntries(
          ['add', 'remove'].map((name) => [name, Array.from({ length: 1_000 }, (_, i) => `w${i}`.padEnd(40, 'ä'))]),
        ),
        'stop_words must take at most 65536 bytes as JSON, and takes 1',
      ],
    ])('refused: %#', async (words, message) => {
      const name = await context.collection({});
      expect(errorOf(await context.api.patch(`/v1/collections/${name}`, { stop_words: words }), 422)).toContain(
        message,
      );
    });
  });
}
