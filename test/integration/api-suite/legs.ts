import { type ApiAnswer, dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

const ITEMS = [
  { external_id: 'east', vector: [1, 0], metadata: { kind: 'way', n: 1 }, text: 'rivers flow to the sea' },
  { external_id: 'north', vector: [0, 1], metadata: { kind: 'way', n: 2 }, text: 'mountains stand still' },
  { external_id: 'up', vector: [0.9, 0.1], metadata: { kind: 'air', n: 3 }, text: 'birds and rivers' },
  { external_id: 'between', vector: [0.7, 0.7], metadata: { kind: 'air', n: 4 } },
];

/** Searches of several lists. `fused`: asks for them; `scoring`: what leaves out of a leg what scores less. */
export function legsSuite(
  context: SuiteContext,
  fused: (collection: string, body: object) => Promise<ApiAnswer>,
  scoring: (least: number) => object,
): void {
  describe('lists of any number', () => {
    const filled = async (shards: number): Promise<string> => {
      const name = await context.collection({ dim: 2, shards });
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items: ITEMS }));
      return name;
    };
    const idsOf = (results: { external_id: string }[]): string[] => results.map(({ external_id: id }) => id);

    test('become one by the sum of their weighted ranks, each with what its hits must pass', async () => {
      for (const shards of [1, 3]) {
        const name = await filled(shards);
        const legs = [
          { vector: [1, 0], weight: 2 },
          { query_text: 'rivers', filters: { kind: 'air' } },
          { like: { id: 'between' }, ...scoring(0.75) },
        ];
        const { results } = dataOf(await fused(name, { legs, explain: true }));
        // The item that others are to be like is no result.
        expect(results.map(({ external_id: id, score }: any) => [id, score])).toEqual([
          ['up', expect.closeTo(2 / 62 + 1 / 61 + 1 / 61, 8)],
          ['east', expect.closeTo(2 / 61, 8)],
          ['north', expect.closeTo(2 / 63, 8)],
        ]);
        expect(results[0]).toEqual({
          external_id: 'up',
          score: expect.any(Number),
          metadata: { kind: 'air', n: 3 },
          legs: [
            { rank: 2, score: expect.any(Number), part: expect.closeTo(2 / 62, 8) },
            { rank: 1, score: expect.any(Number), part: expect.closeTo(1 / 61, 8) },
            { rank: 1, score: expect.closeTo(0.7809, 3), part: expect.closeTo(1 / 61, 8) },
          ],
        });
        expect(results[1].legs[1]).toEqual({ rank: null, score: null, part: 0 });
        const plain = dataOf(await fused(name, { legs, filters: { n: { $gt: 1 } } })).results;
        expect(idsOf(plain)).toEqual(['up', 'north']);
        expect(plain[0]).not.toHaveProperty('legs');
      }
    });

    test('of a vector and keywords are what query_text and vector are', async () => {
      const name = await filled(2);
      for (const fusion of ['rrf', 'relative', 'dbsf', 'linear']) {
        const given = { fusion, k: 3 };
        const both = { query_text: 'rivers still', vector: [1, 0.2], alpha: 0.25, ...given };
        const legs = [
          { vector: [1, 0.2], weight: 0.25 },
          { query_text: 'rivers still', weight: 0.75 },
        ];
        expect(dataOf(await fused(name, { legs, ...given }))).toEqual(dataOf(await fused(name, both)));
      }
      // Signs of one hold for all.
      const signs = [{ vector: [1, 0] }, { query_text: 'rivers -birds' }];
      const { results } = dataOf(await fused(name, { legs: signs, query_syntax: 'simple' }));
      expect(idsOf(results).sort()).toEqual(['between', 'east', 'north']);
      // A text is embedded, and one of weight 0 is not looked up.
      const texts = [{ text: 'rivers' }, { query_text: 'mountains' }, { like: { id: 'gone' }, weight: 0 }];
      expect(idsOf(dataOf(await fused(name, { legs: texts })).results)).toContain('north');
      errorOf(await fused(name, { legs: texts.map((leg) => ({ ...leg, weight: 1 })) }), 404);
    });

    test('take examples, groups, diversity and pages as other searches do', async () => {
      const name = await filled(3);
      const like = { positives: [{ id: 'east' }, { vector: [1, 0] }], negatives: [{ id: 'north' }] };
      const byExamples = async (strategy: string): Promise<string[]> => {
        const legs = [{ like: { ...like, strategy } }, { query_text: 'rivers mountains' }];
        return idsOf(dataOf(await fused(name, { legs })).results);
      };
      expect(await byExamples('average')).toEqual(['up', 'between']);
      // As near to a negative.
      expect(await byExamples('best_score')).toEqual(['up']);
      const legs = [{ vector: [1, 0] }, { vector: [0, 1] }, { query_text: 'rivers' }];
      const whole = dataOf(await fused(name, { legs })).results;
      const pages = [0, 1, 2, 3].map(async (offset) => dataOf(await fused(name, { legs, k: 1, offset })).results);
      expect((await Promise.all(pages)).flat()).toEqual(whole);
      const { groups } = dataOf(await fused(name, { legs, group_by: 'kind' }));
      expect(groups.map(({ key }: any) => key).sort()).toEqual(['air', 'way']);
      const diverse = dataOf(await fused(name, { legs, diversity: { field: 'kind', at_most: 1 } })).results;
      expect(diverse.length).toBe(2);
    });

    test('are refused with their place where they make no sense', async () => {
      const name = await filled(1);
      const two = [{ vector: [1, 0] }, { query_text: 'rivers' }];
      const refused = async (body: object, code: number): Promise<string> => errorOf(await fused(name, body), code);
      expect(await refused({ legs: [two[0]] }, 422)).toContain('legs must have at least 2');
      expect(await refused({ legs: Array.from({ length: 9 }, () => two[0]) }, 400)).toContain('legs has 9 elements');
      expect(await refused({ legs: [two[0], { weight: 2 }] }, 422)).toContain('legs[1] must have one of text, vector');
      expect(await refused({ legs: [two[0], { vector: [1, 0], text: 'a' }] }, 422)).toContain('legs[1] must have one');
      expect(await refused({ legs: [two[0], { text: ' ' }] }, 400)).toContain('legs[1].text must not be empty');
      for (const weight of [-1, 1e7, '1'])
        expect(await refused({ legs: [two[0], { text: 'a', weight }] }, 422)).toContain('legs[1].weight');
      expect(await refused({ legs: two.map((leg) => ({ ...leg, weight: 0 })) }, 400)).toContain(
        'legs must have a weight',
      );
      expect(await refused({ legs: [two[0], { vector: [1, 0, 0] }] }, 400)).toContain('legs[1]');
      expect(await refused({ legs: [two[0], { like: { negatives: [{ id: 'up' }] } }] }, 400)).toContain('legs[1].like');
      expect(await refused({ legs: [two[0], { text: 'a', filters: { n: { $near: 1 } } }] }, 422)).toContain('legs[1]');
      for (const more of [{ query_text: 'a' }, { vector: [1, 0] }, { alpha: 0.5 }, { mode: 'vector' }])
        expect(await refused({ legs: two, ...more }, 400)).toContain('beside legs');
      expect(await refused({ legs: [two[0], { query_text: '"a' }], query_syntax: 'simple' }, 400)).toContain(
        'legs[1].query_text has an unbalanced quote',
      );
      expect(await refused({}, 422)).toContain('query_text is required');
    });

    test('are refused with options of words where no leg has words', async () => {
      const name = await filled(1);
      const legs = [{ vector: [1, 0] }, { text: 'rivers -birds' }];
      const options = [
        { query_syntax: 'simple' },
        { match: 'all' },
        { fuzzy: 1 },
        { prefix_last: true },
        { field_weights: { title: 2 } },
      ];
      for (const option of options)
        expect(errorOf(await fused(name, { legs, ...option }), 400)).toBe(
          `${Object.keys(option)[0]} is of keywords: give a leg with query_text`,
        );
      // What has weight 0 looks for nothing.
      const without = [{ query_text: '-birds' }, { vector: [1, 0], weight: 0 }];
      expect(errorOf(await fused(name, { legs: without, query_syntax: 'simple' }), 400)).toContain(
        'legs must have a word besides',
      );
    });

    test('name the example that is wrong by its place in the request', async () => {
      const name = await filled(2);
      const positives = [{ vector: [1, 0] }, { vector: [1] }];
      const legs = [{ vector: [1, 0] }, { like: { id: 'up', positives } }];
      expect(errorOf(await fused(name, { legs }), 400)).toContain('the vector of legs[1].like.positives[1] has');
      const recommend = await context.api.post(`/v1/collections/${name}/recommend/up`, { positives });
      expect(errorOf(recommend, 400)).toContain('the vector of positives[1] has');
    });

    test('show the sentence that is nearest to a text, whichever leg that is of', async () => {
      const name = await context.collection({ dim: 256 });
      const text = 'Boats cross a lake. Cats sleep all day. Bread was baked today.';
      const vector = Array.from({ length: 256 }, (_, i) => i + 1);
      dataOf(
        await context.api.post(`/v1/collections/${name}/bulk_upsert`, {
          items: [
            { external_id: 'boats', text: 'Boats cross a lake.' },
            { external_id: 'cats', text },
          ],
        }),
      );
      const highlight = { by: 'meaning' };
      for (const first of [{ like: { id: 'boats' } }, { vector }]) {
        const legs = [first, { text: 'sleepy' }];
        const { results } = dataOf(await fused(name, { legs, highlight, fields: [] }));
        const { highlights } = results.find(({ external_id: id }: any) => id === 'cats');
        expect(highlights).toEqual([expect.objectContaining({ text: 'Cats sleep all day.', spans: [] })]);
      }
    });

    test('tell of fields of their filters that no item has', async () => {
      const name = await filled(1);
      const legs = [{ vector: [1, 0] }, { query_text: 'rivers', filters: { kid: 'air' } }];
      const answer = await fused(name, { legs });
      const { warnings } = answer.json as { warnings?: string[] };
      expect(JSON.stringify(warnings)).toContain('legs[1].filters: no item has the field \\"kid\\"');
    });

    test('are marked by the words of the first query_text', async () => {
      const name = await filled(1);
      const legs = [{ text: 'mountains' }, { query_text: 'rivers' }, { query_text: 'birds' }];
      const { results } = dataOf(await fused(name, { legs, highlight: { pre: '<', post: '>' } }));
      const marked = results.flatMap(({ highlights }: any) => highlights.map(({ text }: any) => text)).sort();
      expect(marked).toEqual(['<rivers> flow to the sea', 'birds and <rivers>']);
    });
  });

  test('why tells of each leg', async () => {
    const name = await context.collection({ dim: 2, shards: 2 });
    dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items: ITEMS }));
    const why = async (body: object): Promise<any> =>
      dataOf(await context.api.post(`/v1/collections/${name}/why`, body));
    const legs = [
      { vector: [1, 0], ...scoring(0.5) },
      { query_text: 'rivers', filters: { kind: 'air', n: { $lt: 9 } } },
      { text: 'rivers', weight: 0 },
    ];
    const behind = await why({ legs, external_id: 'east', k: 1 });
    expect(behind).toMatchObject({ lost_at: 'rank', place: 2, conditions: [] });
    expect(behind.legs).toEqual([
      { leg: 'vector', index: 0, score: 1, exact_rank: 1, rank: 1, depth: 200 },
      {
        leg: 'keyword',
        index: 1,
        score: expect.any(Number),
        exact_rank: null,
        rank: null,
        depth: 200,
        conditions: [
          { condition: { kind: 'air' }, passes: false },
          { condition: { n: { $lt: 9 } }, passes: true },
        ],
      },
    ]);
    const out = await why({ legs, external_id: 'north' });
    expect(out).toMatchObject({
      lost_at: 'lists',
      because: 'every leg leaves it out, by its filters or its least score',
    });
    // Its place without the least score is said all the same.
    expect(out.legs[0]).toMatchObject({ score: 0, exact_rank: 4, rank: null });
    expect(await why({ legs, external_id: 'up', k: 1 })).toMatchObject({ lost_at: null, place: 1 });
    const like = [legs[0], { like: { id: 'up' } }];
    expect(await why({ legs: like, external_id: 'east', k: 1 })).toMatchObject({
      lost_at: null,
      legs: [{}, { rank: 1 }],
    });
    const because = 'results are to be like it, or unlike it, and it is none of them itself';
    expect(await why({ legs: like, external_id: 'up' })).toMatchObject({ lost_at: 'lists', because });
    expect(await why({ positives: [{ id: 'up' }], external_id: 'up' })).toMatchObject({ because });
  });
}
