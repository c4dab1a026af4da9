import { dataOf, errorOf } from '../../support/targets/api-client';
import { eventually } from '../../support/eventually';
import type { SuiteContext } from '../api-suite';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export function collectionsSuite(context: SuiteContext): void {
  describe('collections', () => {
    test('are created, listed, shown, described and deleted', async () => {
      const { api } = context;
      const created = dataOf(
        await api.post('/v1/collections', {
          name: 'Books_2-a',
          dim: 4,
          distance_metric: 'l2',
          description: 'of the library',
          extra: 1,
        }),
      );
      expect(created).toMatchObject({
        name: 'Books_2-a',
        dim: 4,
        distance_metric: 'l2',
        vector_count: 0,
        description: 'of the library',
        shards: expect.any(Number),
        replicas: expect.any(Number),
      });
      expect(created.created_at).toMatch(TIMESTAMP);
      expect(dataOf(await api.get('/v1/collections/Books_2-a'))).toEqual(created);
      expect(dataOf(await api.get('/v1/collections')).collections).toContainEqual(created);

      expect(dataOf(await api.patch('/v1/collections/Books_2-a', { description: 'new' }))).toEqual({
        ...created,
        description: 'new',
      });
      expect(dataOf(await api.patch('/v1/collections/Books_2-a', { description: null }))).toEqual({
        ...created,
        description: null,
      });

      expect(dataOf(await api.delete('/v1/collections/Books_2-a'))).toEqual({
        deleted: 'Books_2-a',
        name: 'Books_2-a',
        status: 'deleted',
      });
      for (const answer of [
        await api.get('/v1/collections/Books_2-a'),
        await api.delete('/v1/collections/Books_2-a'),
        await api.patch('/v1/collections/Books_2-a', { description: null }),
      ]) {
        expect(errorOf(answer, 404)).toContain('Books_2-a');
      }
    });

    test('have cosine as their metric when none, or null, is given', async () => {
      const name = await context.collection({ distance_metric: null, description: null, shards: null, replicas: null });
      expect(dataOf(await context.api.get(`/v1/collections/${name}`))).toMatchObject({
        distance_metric: 'cosine',
        description: null,
      });
    });

    test('take a number of shards', async () => {
      const name = await context.collection({ shards: 3 });
      expect(dataOf(await context.api.get(`/v1/collections/${name}`)).shards).toBe(3);
    });

    test('take how many replicas must have a write, at most all of them', async () => {
      const name = await context.collection({ replicas: 2, min_in_sync: 2 });
      expect(dataOf(await context.api.get(`/v1/collections/${name}`))).toMatchObject({ replicas: 2, min_in_sync: 2 });
      const byDefault = await context.collection({ replicas: 3 });
      expect(dataOf(await context.api.get(`/v1/collections/${byDefault}`))).toMatchObject({
        replicas: 3,
        min_in_sync: 2,
      });
      expect(
        errorOf(await context.api.post('/v1/collections', { name: 'bad', dim: 3, replicas: 2, min_in_sync: 3 }), 400),
      ).toContain('min_in_sync');
      errorOf(await context.api.get('/v1/collections/bad'), 404);
    });

    test('hold their vectors in bytes, or in fewer bits when that is asked for, and answer the same', async () => {
      const { api } = context;
      const items = Array.from({ length: 300 }, (_, i) => ({
        external_id: `v${i}`,
        vector: [Math.sin(i), Math.cos(3 * i), Math.sin(i * i)],
        metadata: { even: i % 2 === 0 },
      }));
      const answers = [];
      for (const [fields, quantization] of [
        [{}, 'int8'],
        [{ quantization: null }, 'int8'],
        [{ quantization: 'int4', shards: 2 }, 'int4'],
        [{ quantization: 'binary' }, 'binary'],
      ] as const) {
        const name = await context.collection({ distance_metric: 'l2', ...fields });
        expect(dataOf(await api.get(`/v1/collections/${name}`)).quantization).toBe(quantization);
        expect(dataOf(await api.patch(`/v1/collections/${name}`, { description: 'd' })).quantization).toBe(
          quantization,
        );
        expect(dataOf(await api.get(`/v1/collections/${name}/stats`)).quantization).toBe(quantization);
        dataOf(await api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
        for (const filters of [undefined, { even: true }]) {
          answers.push(
            dataOf(await api.post(`/v1/collections/${name}/search`, { vector: [0.5, 0.5, 0.5], k: 20, filters }))
              .results,
          );
        }
      }
      for (const [i, answer] of answers.entries()) expect(answer).toEqual(answers[i % 2]);
      expect(errorOf(await api.post('/v1/collections', { name: 'bad', dim: 3, quantization: 'int2' }), 422)).toContain(
        'quantization',
      );
      errorOf(await api.get('/v1/collections/bad'), 404);
    });

    test('hold ids and metadata in memory, or on the disk when that is asked for, and answer the same', async () => {
      const { api } = context;
      const items = Array.from({ length: 600 }, (_, i) => ({
        external_id: `${'é'.repeat(i % 3)}v${i}`,
        vector: [Math.sin(i), Math.cos(3 * i), Math.sin(i * i)],
        metadata: { even: i % 2 === 0, note: `note ${i} `.repeat(i % 40) },
      }));
      const answers = [];
      for (const [fields, metadata] of [
        [{ metadata: null }, 'memory'],
        [{ metadata: 'disk', shards: 2 }, 'disk'],
        [{ metadata: 'disk' }, 'disk'],
      ] as const) {
        const name = await context.collection({ distance_metric: 'l2', ...fields });
        expect(dataOf(await api.get(`/v1/collections/${name}`)).metadata).toBe(metadata);
        expect(dataOf(await api.patch(`/v1/collections/${name}`, { description: 'd' })).metadata).toBe(metadata);
        for (let first = 0; first < items.length; first += 100)
          dataOf(await api.post(`/v1/collections/${name}/bulk_upsert`, { items: items.slice(first, first + 100) }));
        const answer: unknown[] = [];
        for (const filters of [undefined, { even: true }]) {
          answer.push(
            dataOf(await api.post(`/v1/collections/${name}/search`, { vector: [0.5, 0.5, 0.5], k: 50, filters }))
              .results,
          );
        }
        const changed = { filters: { even: false }, set: { odd: true } };
        expect(dataOf(await api.post(`/v1/collections/${name}/update_by_filter`, changed))).toMatchObject({
          updated_count: 300,
        });
        answer.push(
          dataOf(
            await api.post(`/v1/collections/${name}/search`, { vector: [0, 0, 1], k: 100, filters: { odd: true } }),
          ).results,
        );
        answers.push(answer);
      }
      for (const answer of answers) expect(answer).toEqual(answers[0]);
      expect(errorOf(await api.post('/v1/collections', { name: 'bad', dim: 3, metadata: 'tape' }), 422)).toContain(
        'metadata',
      );
    });

    test('hold the index of their vectors in memory, or on the disk when that is asked for, and answer the same', async () => {
      const { api } = context;
      const items = Array.from({ length: 300 }, (_, i) => ({
        external_id: `v${i}`,
        vector: [Math.sin(i), Math.cos(3 * i), Math.sin(i * i)],
        metadata: { even: i % 2 === 0 },
      }));
      const answers = [];
      for (const fields of [
        { vectors: null },
        { vectors: 'disk', shards: 2 },
        { vectors: 'disk', metadata: 'disk', quantization: 'int4' },
      ] as const) {
        const name = await context.collection({ distance_metric: 'l2', ...fields });
        expect(dataOf(await api.get(`/v1/collections/${name}`)).vectors).toBe(fields.vectors ?? 'memory');
        expect(dataOf(await api.patch(`/v1/collections/${name}`, { description: 'd' })).vectors).toBe(
          fields.vectors ?? 'memory',
        );
        dataOf(await api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
        const answer: unknown[] = [];
        for (const filters of [undefined, { even: true }])
          answer.push(
            dataOf(await api.post(`/v1/collections/${name}/search`, { vector: [0.5, 0.5, 0.5], k: 50, filters }))
              .results,
          );
        expect(
          dataOf(await api.post(`/v1/collections/${name}/delete_by_filter`, { filters: { even: true } })),
        ).toMatchObject({ deleted_count: 150 });
        answer.push(dataOf(await api.post(`/v1/collections/${name}/search`, { vector: [0, 0, 1], k: 100 })).results);
        answers.push(answer);
      }
      for (const answer of answers) expect(answer).toEqual(answers[0]);
      expect(errorOf(await api.post('/v1/collections', { name: 'bad', dim: 3, vectors: 'tape' }), 422)).toContain(
        'vectors',
      );
    });

    test('show how far their index is built, and make the best of it when asked, as often as they are', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 2 });
      const stats = async () => dataOf(await api.get(`/v1/collections/${name}/stats`));
      expect(await stats()).toMatchObject({
        name,
        vector_count: 0,
        index: { state: 'ready', rows: 0, fraction: 1, seconds_left: 0, optimizing: false },
      });
      const items = Array.from({ length: 40 }, (_, i) => ({ external_id: `v${i}`, vector: [i, 1, 2] }));
      dataOf(await api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
      dataOf(await api.post(`/v1/collections/${name}/delete_batch`, { external_ids: ['v0', 'v1', 'v2'] }));
      const after = await stats();
      expect(after).toMatchObject({
        vector_count: 37,
        index: { rows_indexed: 0, rows_refined: 0 },
        disk_bytes: expect.any(Number),
        memory_bytes: expect.any(Number),
      });
      // An index may still hold the rows of what was deleted.
      expect([37, 40]).toContain(after.index.rows);

      expect(dataOf(await api.post(`/v1/collections/${name}/optimize`))).toMatchObject({ name, vector_count: 37 });
      expect(dataOf(await api.post(`/v1/collections/${name}/optimize`))).toMatchObject({ name, vector_count: 37 });
      await eventually('the best index', async () => !(await stats()).index.optimizing);
      expect((await stats()).index).toEqual({
        state: 'ready',
        rows: 37,
        rows_indexed: 0,
        rows_refined: 0,
        fraction: 1,
        seconds_left: 0,
        optimizing: false,
      });
      const { results } = dataOf(await api.post(`/v1/collections/${name}/search`, { vector: [39, 1, 2], k: 37 }));
      expect(results).toHaveLength(37);
    });

    test('that are missing have no index to show, or to make the best of', async () => {
      const { api } = context;
      expect(errorOf(await api.get('/v1/collections/missing/stats'), 404)).toContain('missing');
      expect(errorOf(await api.post('/v1/collections/missing/optimize'), 404)).toContain('missing');
    });

    test('get another number of shards, more or fewer, and stay what they are', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 1 });
      const path = `/v1/collections/${name}`;
      const items = Array.from({ length: 60 }, (_, i) => ({
        external_id: `v${i}`,
        vector: [i, 1, 2],
        metadata: { n: i },
        ...(i % 2 === 0 ? { text: `word${i} shared` } : {}),
      }));
      dataOf(await api.post(`${path}/bulk_upsert`, { items }));
      // Stored again, and in its old place.
      dataOf(await api.post(`${path}/upsert`, items[7]));
      const looks = async () => [
        dataOf(await api.get(`${path}/export`)),
        dataOf(await api.post(`${path}/search`, { vector: [30, 1, 2], k: 60, filters: { n: { $gte: 20 } } })).results,
        dataOf(await api.post(`${path}/hybrid_search`, { query_text: 'shared word30', vector: [30, 1, 2], k: 10 }))
          .results,
      ];
      const before = await looks();
      const page = dataOf(await api.post(`${path}/scroll`, { limit: 20 }));
      for (const shards of [5, 2]) {
        expect(dataOf(await api.post(`${path}/reshard`, { shards }))).toMatchObject({
          collection: name,
          to: shards,
          state: 'filling',
          error: null,
        });
        await eventually(`${shards} shards`, async () => dataOf(await api.get(path)).shards === shards);
        expect(await looks()).toEqual(before);
        expect(dataOf(await api.get(path))).toMatchObject({ vector_count: 60, shards });
      }
      // A cursor of the first shards.
      const rest = dataOf(await api.post(`${path}/scroll`, { limit: 100, cursor: page.next_cursor })).vectors;
      expect([...page.vectors, ...rest].map(({ external_id: id }: any) => id)).toEqual(
        items.map(({ external_id: id }) => id),
      );
      expect(dataOf(await api.post(`${path}/upsert`, items[3])).status).toBe('updated');
      expect(errorOf(await api.post(`${path}/reshard`, { shards: 2 }), 400)).toContain('2 shards already');
      errorOf(await api.post(`${path}/reshard`, { shards: 0 }), 422);
      errorOf(await api.post(`${path}/reshard`, {}), 422);
    });

    test('that do not change their number of shards have nothing to give up', async () => {
      const name = await context.collection();
      expect(errorOf(await context.api.delete(`/v1/collections/${name}/reshard`), 404)).toContain(
        'has no reshard that can still be cancelled',
      );
    });

    test('exist once per name', async () => {
      const name = await context.collection();
      expect(errorOf(await context.api.post('/v1/collections', { name, dim: 5 }), 409)).toContain(name);
      expect(dataOf(await context.api.get(`/v1/collections/${name}`)).dim).toBe(3);
    });

    test('are new and empty when made again', async () => {
      const name = await context.collection();
      dataOf(await context.api.post(`/v1/collections/${name}/upsert`, { external_id: 'a', vector: [1, 2, 3] }));
      dataOf(await context.api.delete(`/v1/collections/${name}`));
      dataOf(await context.api.post('/v1/collections', { name, dim: 2 }));
      expect(dataOf(await context.api.get(`/v1/collections/${name}`))).toMatchObject({ dim: 2, vector_count: 0 });
    });

    test.each([
      ['name missing', { dim: 3 }, 'name'],
      ['name null', { name: null, dim: 3 }, 'name'],
      ['name empty', { name: '', dim: 3 }, 'name'],
      ['name with a space', { name: 'a b', dim: 3 }, 'name'],
      ['name not ASCII', { name: 'é', dim: 3 }, 'name'],
      ['name with a line break at its end', { name: 'a\n', dim: 3 }, 'name'],
      ['name too long', { name: 'a'.repeat(256), dim: 3 }, 'name'],
      ['name a number', { name: 5, dim: 3 }, 'name'],
      ['dim missing', { name: 'bad' }, 'dim'],
      ['dim zero', { name: 'bad', dim: 0 }, 'dim'],
      ['dim negative', { name: 'bad', dim: -1 }, 'dim'],
      ['dim a fraction', { name: 'bad', dim: 1.5 }, 'dim'],
      ['dim a text', { name: 'bad', dim: '3' }, 'dim'],
      ['dim true', { name: 'bad', dim: true }, 'dim'],
      ['dim above MAX_VECTOR_DIM', { name: 'bad', dim: 16385 }, 'dim'],
      ['metric unknown', { name: 'bad', dim: 3, distance_metric: 'hamming' }, 'distance_metric'],
      ['description a number', { name: 'bad', dim: 3, description: 5 }, 'description'],
      ['shards out of range', { name: 'bad', dim: 3, shards: 257 }, 'shards'],
      ['replicas out of range', { name: 'bad', dim: 3, replicas: 6 }, 'replicas'],
      ['min_in_sync out of range', { name: 'bad', dim: 3, min_in_sync: 0 }, 'min_in_sync'],
    ])('are refused with a 422 that names the field: %s', async (_title, body, field) => {
      expect(errorOf(await context.api.post('/v1/collections', body), 422)).toContain(field);
      errorOf(await context.api.get('/v1/collections/bad'), 404);
    });

    test('have a name of up to 255 characters and a dim of up to 16384', async () => {
      const name = 'n'.repeat(255);
      dataOf(await context.api.post('/v1/collections', { name, dim: 16384 }));
      dataOf(await context.api.delete(`/v1/collections/${name}`));
    });

    test('refuse a change that is none', async () => {
      const name = await context.collection();
      for (const body of [{}, { description: 5 }, { description: ['a'] }])
        expect(errorOf(await context.api.patch(`/v1/collections/${name}`, body), 422)).toContain('description');
    });

    test('a name that can’t be one is a 400 in a path', async () => {
      expect(errorOf(await context.api.get('/v1/collections/a%20b'), 400)).toContain('name');
      expect(errorOf(await context.api.get('/v1/collections/..'), 400)).toContain('name');
      errorOf(await context.api.get('/v1/collections/a%2Fb'), 400);
    });
  });

  describe('export', () => {
    test('gives the first vectors in insertion order, as they were given', async () => {
      const name = await context.collection();
      const items = ['c', 'a', 'b'].map((id, i) => ({ external_id: id, vector: [0.1, -i, 1e-7], metadata: { at: i } }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items: items.slice(0, 2) }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items: items.slice(2) }));
      dataOf(await context.api.post(`/v1/collections/${name}/upsert`, { external_id: 'c', vector: [0.1, 0, 1e-7] }));
      const all = dataOf(await context.api.get(`/v1/collections/${name}/export`));
      expect(all).toMatchObject({ collection: name, dim: 3, distance_metric: 'cosine', count: 3 });
      expect(all.vectors.map(({ external_id }: any) => external_id).slice(0, 3)).toEqual(['c', 'a', 'b']);
      expect(all.vectors[1]).toEqual({ ...items[1], version: expect.any(Number) });
      const two = dataOf(await context.api.get(`/v1/collections/${name}/export?limit=2`));
      expect({ count: two.count, length: two.vectors.length }).toEqual({ count: 2, length: 2 });
    });

    test('of an empty collection is empty', async () => {
      expect(
        dataOf(await context.api.get(`/v1/collections/${await context.empty()}/export?limit=100000`)),
      ).toMatchObject({ count: 0, vectors: [] });
    });

    test.each(['0', '-1', '100001', 'x', '1.5', '', '1e2', 'true'])('refuses limit=%s with a 400', async (limit) => {
      const name = await context.empty();
      expect(errorOf(await context.api.get(`/v1/collections/${name}/export?limit=${limit}`), 400)).toContain('limit');
    });
  });
}
