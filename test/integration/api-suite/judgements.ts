import { eventually } from '../../support/eventually';
import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

/** Judged queries, and evaluations by them. */
export function judgementsSuite(context: SuiteContext): void {
  const TEXTS = ['a red car', 'a blue boat', 'the car and the boat', 'green trees'];
  const JUDGED = [
    { query: 'car', relevant: { t0: 2, t2: 1 } },
    { query: 'boat', relevant: { t1: 1, t0: 0 } },
    { query: 'trees gone', relevant: { t3: 1, 'never there': 1 } },
  ];
  const filled = async (fields: object = {}): Promise<string> => {
    const name = await context.collection({ dim: 64, ...fields });
    const items = TEXTS.map((text, i) => ({ external_id: `t${i}`, text }));
    dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
    return name;
  };
  const put = (name: string, set: string, body: unknown): Promise<any> =>
    context.api.call({ method: 'PUT', path: `/v1/collections/${name}/judgements/${set}`, body });
  const ended = async (id: string): Promise<any> => {
    let job: any;
    await eventually(`job ${id} is over`, async () => {
      job = dataOf(await context.api.get(`/v1/jobs/${id}`));
      return ['done', 'failed', 'cancelled'].includes(job.state);
    });
    return job;
  };
  const evaluated = async (name: string, body: object): Promise<any> =>
    ended(dataOf(await context.api.post(`/v1/collections/${name}/evaluate`, body)).id);

  describe('judged queries', () => {
    test('are kept, shown, replaced and deleted, and go with their collection', async () => {
      const { api } = context;
      const name = await filled();
      const path = `/v1/collections/${name}/judgements`;
      expect(dataOf(await api.get(path))).toEqual({ judgements: [] });
      const view = dataOf(await put(name, 'first', JUDGED));
      expect(view).toEqual({ name: 'first', queries: 3, grades: 6, updated_at: expect.any(String) });
      dataOf(await put(name, 'second', JUDGED.slice(0, 1)));
      const { judgements } = dataOf(await api.get(path));
      expect(judgements.map((one: any) => [one.name, one.queries])).toEqual([
        ['first', 3],
        ['second', 1],
      ]);
      expect(dataOf(await api.get(`${path}/first`))).toEqual({ ...view, judged: JUDGED });
      expect(dataOf(await put(name, 'second', JUDGED.slice(1)))).toMatchObject({ queries: 2 });
      expect(dataOf(await api.delete(`${path}/second`))).toEqual({ deleted: 'second' });
      errorOf(await api.get(`${path}/second`), 404);
      errorOf(await api.delete(`${path}/second`), 404);
      dataOf(await api.delete(`/v1/collections/${name}`));
      errorOf(await api.get(path), 404);
      dataOf(await api.post('/v1/collections', { name, dim: 64, distance_metric: 'cosine' }));
      expect(dataOf(await api.get(path))).toEqual({ judgements: [] });
    });

    test.each([
      ['no list', { queries: [] }, 422, /must be an array/],
      ['no queries', [], 422, /must not be empty/],
      ['a query of blanks', [{ query: ' ', relevant: { a: 1 } }], 422, /\[0\]\.query must not be empty/],
      ['no answer', [{ query: 'car', relevant: { a: 0 } }], 422, /\[0\]\.relevant must have a grade above 0/],
      ['a grade below 0', [{ query: 'car', relevant: { a: -1 } }], 422, /\[0\]\.relevant\.a must be at least 0/],
      ['a grade that is a text', [{ query: 'car', relevant: { a: '1' } }], 422, /must be a number/],
      ['nothing of a query', [{ query: 'car' }], 422, /\[0\]\.relevant is required/],
      [
        'a name of objects',
        JSON.parse('[{ "query": "car", "relevant": { "a": 1, "__proto__": 1 } }]'),
        422,
        /\[0\]\.relevant can’t name the id "__proto__"/,
      ],
      ['an empty id', [{ query: 'car', relevant: { '': 1 } }], 422, /relevant has an id/],
      ['too many', Array.from({ length: 1_001 }, () => JUDGED[0]), 400, /1001 elements/],
      [
        'too much',
        Array.from({ length: 900 }, (_, i) => ({ query: `${i} ${'x'.repeat(200)}`, relevant: { a: 1 } })),
        400,
        /more than the maximum of 131072/,
      ],
    ])('are refused with %s', async (_, body, code, message) => {
      expect(errorOf(await put(await filled(), 'set', body), code)).toMatch(message);
    });

    test('say how good searches are, over any number of shards', async () => {
      const results: any[] = [];
      for (const shards of [1, 3]) {
        const name = await filled({ shards });
        dataOf(await put(name, 'set', JUDGED));
        const job = await evaluated(name, {
          name: 'set',
          k: 3,
          variants: [{ name: 'words', alpha: 0 }, { alpha: 0, filters: { $id: ['t3'] } }, { mode: 'keyword' }],
        });
        expect(job).toMatchObject({ kind: 'evaluate', state: 'done', collection: name, subject: 'set', progress: 1 });
        results.push(job.result);
      }
      const [one] = results;
      expect(results[1]).toEqual(one);
      expect(one).toMatchObject({ judgements: 'set', k: 3, queries: 3, missing_items: 1 });
      const [words, few, same] = one.variants;
      expect([words.name, few.name, same.name]).toEqual([
        'words',
        '{"alpha":0,"filters":{"$id":["t3"]}}',
        '{"mode":"keyword"}',
      ]);
      // car: t0 and t2 in their order; boat: t1 first; trees: t3 of two.
      expect(words.mrr).toEqual({ mean: 1, low: 1, high: 1 });
      expect(words.recall.mean).toBeCloseTo((1 + 1 + 0.5) / 3, 12);
      expect(words.ndcg.mean).toBeCloseTo((1 + 1 + 1 / 1.63093) / 3, 4);
      expect(words.ndcg.low).toBeLessThan(words.ndcg.mean);
      expect(words.queries_without_hits).toBe(0);
      expect(words.against_first).toBeUndefined();
      expect(few.queries_without_hits).toBe(2);
      expect(few.mrr.mean).toBeCloseTo(1 / 3, 12);
      expect(few.against_first).toMatchObject({ better: 0, worse: 2 });
      expect(few.against_first.lost_most.map((lost: any) => lost.query).sort()).toEqual(['boat', 'car']);
      expect(few.against_first.ndcg.mean).toBeCloseTo(-2 / 3, 12);
      expect(same.against_first).toMatchObject({ ndcg: { mean: 0, low: 0, high: 0 }, better: 0, worse: 0 });
    });

    test.each([
      ['an unknown option', { alhpa: 1 }, /variants\[1\]\.alhpa is no option.*did you mean "alpha"/],
      ['an option of what hits carry', { include_text: true }, /variants\[1\]\.include_text is no option/],
      ['a value that is none', { alpha: 2 }, /variants\[1\]\.alpha must be at most 1/],
      ['a filter that is none', { filters: { a: { $near: 1 } } }, /variants\[1\]\.filters/],
    ])('an evaluation is refused with %s', async (_, variant, message) => {
      const name = await filled();
      dataOf(await put(name, 'set', JUDGED));
      const asked = { name: 'set', variants: [{}, variant] };
      expect(errorOf(await context.api.post(`/v1/collections/${name}/evaluate`, asked), 422)).toMatch(message);
    });

    test('an evaluation says which variant a collection refuses', async () => {
      const name = await filled();
      dataOf(await put(name, 'set', JUDGED));
      const variants = [{ alpha: 0 }, { alpha: 0, field_weights: { title: 2 } }];
      const job = await evaluated(name, { name: 'set', variants });
      expect(job).toMatchObject({ state: 'failed', result: null });
      expect(job.error).toMatch(/^variants\[1\], asked for "car": .*has no keyword_fields/);
    });

    test('an evaluation of variants that take much is refused', async () => {
      const name = await filled();
      dataOf(await put(name, 'set', JUDGED));
      const ids = Array.from({ length: 1_000 }, (_, i) => `${i}-${'x'.repeat(40)}`);
      const asked = { name: 'set', variants: [{ filters: { $id: ids } }] };
      const answer = await context.api.post(`/v1/collections/${name}/evaluate`, asked);
      expect(errorOf(answer, 400)).toMatch(/^variants take \d+ bytes, more than the maximum of 32768/);
    });

    test('the name of a variant is cut where its options are long', async () => {
      const name = await filled();
      dataOf(await put(name, 'set', JUDGED));
      const variants = [{ alpha: 0, filters: { title: '😀'.repeat(500) } }];
      const { result } = await evaluated(name, { name: 'set', variants });
      expect(result.variants[0].name).toMatch(/^\{"alpha":0,"filters":.{1,180}…$/u);
      expect(result.variants[0].name.isWellFormed()).toBe(true);
    });

    test('an evaluation without variants, or of what is not there, is refused', async () => {
      const name = await filled();
      const path = `/v1/collections/${name}/evaluate`;
      errorOf(await context.api.post(path, { name: 'none', variants: [{}] }), 404);
      dataOf(await put(name, 'set', JUDGED));
      expect(errorOf(await context.api.post(path, { name: 'set', variants: [] }), 422)).toMatch(/must not be empty/);
    });
  });
}
