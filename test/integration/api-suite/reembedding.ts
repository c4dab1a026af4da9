import { eventually } from '../../support/eventually';
import { EmbeddingsServer, letterVectors } from '../../support/servers/embeddings-server';
import { type ApiClient as Api, ApiClient, dataOf, errorOf } from '../../support/targets/api-client';
import type { ApiTarget, StartTarget } from '../../support/targets/api-target';

const DIMS = new Map([
  ['small', 8],
  ['large', 12],
]);
const TEXTS = ['the cat', 'a red stone on the river', 'snow and wind', 'twelve dogs', 'the slow fox', 'sea road'];
const ITEMS = TEXTS.map((text, i) => ({ external_id: `t${i}`, text, metadata: { n: i } }));

/** Collections that get vectors of another model while they are used. */
export function describeReembedding(name: string, startTarget: StartTarget): void {
  describe(`reembedding of ${name}`, () => {
    let server: EmbeddingsServer;
    let target: ApiTarget;
    let api: Api;
    beforeAll(async () => {
      server = await EmbeddingsServer.start((texts, model) => letterVectors(texts, model, DIMS.get(model)));
      const models = [...DIMS.keys()];
      const providers = { p: { url: server.url, models }, poor: { url: server.url, models, tokens_per_day: 12 } };
      target = await startTarget({ EMBEDDING_PROVIDERS: JSON.stringify(providers) });
      api = new ApiClient(target);
    });
    afterAll(async () => {
      await target?.stop();
      await server?.close();
    });

    const post = async (path: string, body: object = {}): Promise<any> => dataOf(await api.post(path, body));
    const create = async (of: string, given: object = {}): Promise<string> => {
      const path = `/v1/collections/${of}`;
      await post('/v1/collections', { name: of, shards: 3, embedding: { model: 'p:small' }, ...given });
      return path;
    };
    const jobOf = async (id: string): Promise<any> => dataOf(await api.get(`/v1/jobs/${id}`));
    const reaches = async (id: string, step: string): Promise<any> => {
      let job: any;
      await eventually(`job ${id} is ${step}`, async () => {
        job = await jobOf(id);
        if (step !== 'failed') expect([job.state, job.error]).not.toEqual(['failed', expect.anything()]);
        return job.step === step || job.state === step;
      });
      return job;
    };
    /** What vectors there are, held against what a model makes of the texts. */
    const expectVectors = async (path: string, model: string, texts: Record<string, string>): Promise<void> => {
      const { vectors } = await post(`${path}/vectors/fetch`, { ids: Object.keys(texts) });
      const found = vectors.map((one: any) => [one.external_id, one.text, one.vector.map(Math.fround)]);
      const wanted = Object.entries(texts).map(([id, text]) => {
        const [vector] = letterVectors([text], model, DIMS.get(model));
        return [id, text, vector.map(Math.fround)];
      });
      expect(found).toEqual(wanted);
    };
    const textsOf = (items: readonly { external_id: string; text: string }[]): Record<string, string> =>
      Object.fromEntries(items.map(({ external_id: id, text }) => [id, text]));

    test('vectors are compared, the new ones take over, and the way back keeps what was written since', async () => {
      const path = await create('moved');
      await post(`${path}/bulk_upsert`, { items: ITEMS });
      const expires = new Date(Date.now() + 3_600_000).toISOString();
      await post(`${path}/upsert`, { external_id: 't9', text: 'will be gone', metadata: {}, expires_at: expires });
      const judged = [
        { query: 'the cat', relevant: { t0: 1 } },
        { query: 'sea road', relevant: { t5: 1 } },
      ];
      dataOf(await api.call({ method: 'PUT', path: `${path}/judgements/sea`, body: judged }));
      const before = (await post(`${path}/vectors/fetch`, { ids: ['t0', 't9'], include_vectors: false })).vectors;
      const { id, kind, subject } = await post(`${path}/reembed`, { model: 'p:large', compare: { judged: 'sea' } });
      expect({ kind, subject }).toEqual({ kind: 'reembed', subject: 'p:small (8) to p:large (12)' });
      // While it is under way, nothing else of the kind may begin.
      for (const [of, body] of [
        ['reembed', { model: 'p:large' }],
        ['reshard', { shards: 2 }],
      ] as const)
        errorOf(await api.post(`${path}/${of}`, body), 409);
      await post(`${path}/upsert`, { external_id: 't6', text: 'written while it is filled' });
      const ready = await reaches(id, 'ready');
      expect(ready).toMatchObject({
        state: 'running',
        collection: 'moved',
        result: {
          model: 'p:large',
          dim: 12,
          dropped: 0,
          queries: 2,
          // What is written meanwhile may be in one of the sets alone.
          overlap_at_10: expect.any(Number),
          ndcg_at_10: { before: 1, after: 1 },
          bytes: { before: expect.any(Number), after: expect.any(Number) },
          switched_at: null,
          kept_until: null,
        },
      });
      errorOf(await api.post(`/v1/jobs/${id}/back`), 409);
      expect(dataOf(await api.get(path))).toMatchObject({ dim: 8, embedding: { model: 'p:small' } });
      await post(`/v1/jobs/${id}/switch`);
      const switched = await reaches(id, 'switched');
      expect(Date.parse(switched.result.kept_until) - Date.parse(switched.result.switched_at)).toBe(24 * 3_600_000);
      expect(dataOf(await api.get(path))).toMatchObject({ dim: 12, embedding: { model: 'p:large' }, vector_count: 8 });
      const all = { ...textsOf(ITEMS), t6: 'written while it is filled', t9: 'will be gone' };
      await expectVectors(path, 'large', all);
      expect((await post(`${path}/vectors/fetch`, { ids: ['t0', 't9'], include_vectors: false })).vectors).toEqual(
        before,
      );
      expect((await post(`${path}/search`, { text: 'snow and wind', k: 1 })).results).toMatchObject([
        { external_id: 't2', score: expect.closeTo(1, 5) },
      ]);
      const [old] = letterVectors(['sea']);
      expect(errorOf(await api.post(`${path}/upsert`, { external_id: 'x', vector: old }), 400)).toMatch(
        /this collection's vectors are of p:large since 20/,
      );
      errorOf(await api.post(`${path}/search`, { vector: old, vector_model: 'p:small' }), 409);
      errorOf(await api.delete(`/v1/jobs/${id}`), 409);
      expect(errorOf(await api.post(`${path}/reshard`, { shards: 2 }), 409)).toContain(`POST /v1/jobs/${id}/back`);
      await post(`${path}/upsert`, { external_id: 't7', text: 'written after the switch' });
      await post(`${path}/upsert`, { external_id: 't1', text: 'changed after the switch' });
      dataOf(await api.delete(`${path}/delete/t3`));
      await post(`/v1/jobs/${id}/back`);
      await reaches(id, 'cancelled');
      expect(dataOf(await api.get(path))).toMatchObject({ dim: 8, embedding: { model: 'p:small' }, vector_count: 8 });
      await expectVectors(path, 'small', {
        ...Object.fromEntries(Object.entries(all).filter(([externalId]) => externalId !== 't3')),
        t1: 'changed after the switch',
        t7: 'written after the switch',
      });
      dataOf(await api.delete(path));
    });

    test('one that switches by itself ends at once where no way back is kept', async () => {
      const path = await create('swift');
      await post(`${path}/bulk_upsert`, { items: ITEMS });
      const { id } = await post(`${path}/reembed`, {
        model: 'p:large',
        truncate_dim: 6,
        switch: 'auto',
        keep_hours: 0,
        compare: { sample: 4 },
      });
      const done = await reaches(id, 'done');
      // There are fewer than ten, so both find all.
      const compared = { queries: 4, overlap_at_10: 1, ndcg_at_10: null };
      expect(done).toMatchObject({ progress: 1, result: { dim: 6, ...compared, kept_until: null } });
      expect(dataOf(await api.get(path))).toMatchObject({ dim: 6, embedding: { truncate_dim: 6 } });
      errorOf(await api.post(`/v1/jobs/${id}/back`), 409);
      dataOf(await api.delete(path));
    });

    test('vectors of callers give way to those of texts; what has no text fails it or is left out', async () => {
      const path = await create('given', { embedding: null, dim: 3 });
      const items = ITEMS.map((item, i) => ({ ...item, vector: [i, 1, 2] }));
      await post(`${path}/bulk_upsert`, { items });
      await post(`${path}/upsert`, { external_id: 'bare', vector: [1, 2, 3] });
      const asked = { model: 'p:large', switch: 'auto' };
      expect(errorOf(await api.post(`${path}/reembed`, { ...asked, keep_hours: 1 }), 400)).toMatch(
        /^keep_hours must be 0/,
      );
      const failed = await reaches((await post(`${path}/reembed`, asked)).id, 'failed');
      expect(failed.error).toBe(
        'texts are missing in 1 item, such as "bare": give them texts, delete them, or reembed with on_no_text "drop"',
      );
      expect(dataOf(await api.get(path))).toMatchObject({ dim: 3, vector_count: 7 });
      const { id } = await post(`${path}/reembed`, { ...asked, on_no_text: 'drop' });
      expect((await reaches(id, 'done')).result).toMatchObject({ dropped: 1, overlap_at_10: expect.any(Number) });
      expect(dataOf(await api.get(path))).toMatchObject({ dim: 12, vector_count: 6 });
      await expectVectors(path, 'large', textsOf(ITEMS));
      dataOf(await api.delete(path));
    });

    test('vectors are made of fields of metadata as well, whatever is written', async () => {
      const path = await create('titled');
      await post(`${path}/bulk_upsert`, {
        items: ITEMS.map((item, i) => ({ ...item, metadata: { title: `Part ${i}` } })),
      });
      const template = '{{title}}: {{text}}';
      const { id } = await post(`${path}/reembed`, { model: 'p:small', template, switch: 'auto', keep_hours: 0 });
      await reaches(id, 'done');
      expect(dataOf(await api.get(path)).embedding).toMatchObject({ model: 'p:small', template });
      await post(`${path}/upsert`, { external_id: 't0', text: 'another cat' });
      dataOf(await api.call({ method: 'PATCH', path: `${path}/vectors/t1`, body: { metadata: { title: 'Stones' } } }));
      const { job_id: job } = await post('/v1/documents', {
        collection_name: 'titled',
        text: 'a document of one text',
        metadata: { title: 'Paper' },
      });
      await reaches(job, 'done');
      const wanted = new Map(TEXTS.map((text, i) => [text, `Part ${i}: ${text}`]));
      wanted.delete(TEXTS[0]);
      wanted.set('another cat', 'Part 0: another cat').set(TEXTS[1], `Stones: ${TEXTS[1]}`);
      wanted.set('a document of one text', 'Paper: a document of one text');
      const { vectors } = await post(`${path}/scroll`, {});
      expect(new Map(vectors.map((one: any) => [one.text, one.vector.map(Math.fround)]))).toEqual(
        new Map([...wanted].map(([text, passage]) => [text, letterVectors([passage])[0].map(Math.fround)])),
      );
      const filters = { title: 'Part 2' };
      expect(errorOf(await api.post(`${path}/update_by_filter`, { filters, set: { title: 'Snow' } }), 400)).toContain(
        '(embedding.template)',
      );
      dataOf(await api.delete(path));
    });

    test('it is paused, resumed and cancelled as other jobs', async () => {
      const path = await create('paused');
      await post(`${path}/bulk_upsert`, { items: ITEMS });
      const { id } = await post(`${path}/reembed`, { model: 'p:large' });
      await reaches(id, 'ready');
      expect(await post(`/v1/jobs/${id}/pause`)).toMatchObject({ state: 'paused', step: 'ready' });
      expect(errorOf(await api.post(`/v1/jobs/${id}/switch`), 409)).toContain('is paused: resume it first');
      expect(await post(`/v1/jobs/${id}/resume`)).toMatchObject({ state: 'running' });
      dataOf(await api.delete(`/v1/jobs/${id}`));
      await reaches(id, 'cancelled');
      expect(dataOf(await api.get(path))).toMatchObject({ dim: 8 });
      dataOf(await api.delete(path));
    });

    test('calls beside the switch, and beside the way back, see the old vectors or the new ones', async () => {
      const path = await create('beside');
      await post(`${path}/bulk_upsert`, { items: ITEMS });
      const { id } = await post(`${path}/reembed`, { model: 'p:large' });
      await reaches(id, 'ready');
      const problems: unknown[] = [];
      const counts = { searches: 0, writes: 0 };
      let isOver = false;
      const note = (answer: any, isRight: (data: any) => boolean): void => {
        if (answer.json?.error !== null || !isRight(answer.json.data)) problems.push(answer.json);
      };
      const searching = async (): Promise<void> => {
        for (; !isOver; counts.searches += 1) {
          const at = counts.searches % TEXTS.length;
          const isOwn = (hits: any[]): boolean => hits[0]?.external_id === `t${at}` && hits[0].score > 0.9999;
          const query = { text: TEXTS[at], k: 1 };
          note(await api.post(`${path}/search`, query), ({ results }) => isOwn(results));
          note(await api.post(`${path}/bulk_search`, { queries: [query] }), ({ results }) => isOwn(results[0]));
          note(await api.post(`${path}/recommend/t${at}`, { k: 2 }), ({ results }) => results.length === 2);
        }
      };
      const written = new Map<string, string>();
      const writing = async (): Promise<void> => {
        for (; !isOver; counts.writes += 1) {
          const external_id = `w${counts.writes % 20}`;
          const text = `written ${counts.writes}`;
          const write = (): Promise<any> => api.post(`${path}/upsert`, { external_id, text });
          let answer = await write();
          // The plain service drops shards as soon as others have taken over, also under a write.
          while (answer.json?.error?.message.includes('may have been applied') === true) answer = await write();
          note(answer, ({ status }) => status !== undefined);
          written.set(external_id, text);
        }
      };
      const more = (): Promise<void> => {
        const { searches, writes } = counts;
        return eventually('calls go on', () => counts.searches > searches + 20 && counts.writes > writes + 20);
      };
      const clients = [searching(), searching(), writing()];
      try {
        await more();
        await post(`/v1/jobs/${id}/switch`);
        await reaches(id, 'switched');
        await more();
        await post(`/v1/jobs/${id}/back`);
        await reaches(id, 'cancelled');
        await more();
      } finally {
        isOver = true;
        await Promise.all(clients);
      }
      expect(problems).toEqual([]);
      await expectVectors(path, 'small', { ...textsOf(ITEMS), ...Object.fromEntries(written) });
      dataOf(await api.delete(path));
    });

    test('it waits when the tokens of a day are spent', async () => {
      const path = await create('costly');
      const items = ITEMS.map((item, i) => ({ ...item, text: `${item.text}, text ${i} of the costly ones` }));
      await post(`${path}/bulk_upsert`, { items });
      const { id } = await post(`${path}/reembed`, { model: 'poor:large' });
      await eventually('it waits', async () => (await jobOf(id)).waits_for !== null);
      const { state, waits_for: waitsFor } = await jobOf(id);
      expect({ state, waitsFor }).toEqual({ state: 'running', waitsFor: expect.stringContaining('tokens_per_day') });
      dataOf(await api.delete(`/v1/jobs/${id}`));
      await reaches(id, 'cancelled');
      dataOf(await api.delete(path));
    });

    test('what can’t be done is refused with the reason', async () => {
      const path = await create('refused');
      const refused = async (body: object, code: number): Promise<string> =>
        errorOf(await api.post(`${path}/reembed`, { model: 'p:large', ...body }), code);
      expect(await refused({ model: 'p:small' }, 400)).toBe(
        'the vectors of collection "refused" are of this model already',
      );
      expect(await refused({ model: 'p:other' }, 400)).toContain('is none that collections may have');
      expect(await refused({ template: 'title' }, 422)).toContain('template must have a field, as {{text}}');
      expect(await refused({ dim: 8 }, 400)).toContain('makes vectors of dimension 12');
      expect(await refused({ compare: { judged: 'none' } }, 404)).toContain('has no judgements "none"');
      expect(await refused({ compare: {} }, 422)).toContain('compare must have one of sample and judged');
      await refused({ on_no_text: 'keep' }, 422);
      errorOf(await api.post('/v1/collections/absent/reembed', { model: 'p:large' }), 404);
      for (const verb of ['switch', 'back']) errorOf(await api.post(`/v1/jobs/none/${verb}`), 404);
      dataOf(await api.delete(path));
    });
  });
}
