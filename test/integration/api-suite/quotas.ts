import { createHash } from 'node:crypto';
import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

const ITEMS = 40;
const WRITERS = 24;
const PER_WRITE = 5;

/** Quotas of collections and of keys. */
export function quotasSuite(context: SuiteContext): void {
  const items = (first: number, count = PER_WRITE): object[] =>
    Array.from({ length: count }, (_, i) => ({ external_id: `id-${first + i}`, vector: [1, first + i, 1] }));

  describe('a quota of items', () => {
    test('is never exceeded, however many write at once, and lets what is there be changed and deleted', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 3, quota: { items: ITEMS } });
      const path = `/v1/collections/${name}`;
      const answers = await Promise.all(
        Array.from({ length: WRITERS }, (_, i) => api.post(`${path}/bulk_upsert`, { items: items(i * PER_WRITE) })),
      );
      const refused = answers.flatMap(({ json }) => (json?.error ? [json.error] : []));
      // What fits is never refused because others are under way.
      expect(refused.length).toBe(WRITERS - ITEMS / PER_WRITE);
      for (const { code, message } of refused)
        expect([code, message]).toEqual([
          400,
          expect.stringMatching(
            /holds \d+ items, and 5 more are beyond its quota of 40 \(quota\.items\); nothing was written/,
          ),
        ]);
      expect(dataOf(await api.get(`${path}/stats`))).toMatchObject({
        vector_count: ITEMS,
        quota: { items: ITEMS, bytes: null },
      });

      // Full: what is there may be written again, as often as one likes; one more may not, unless another goes.
      const { vectors } = dataOf(await api.post(`${path}/scroll`, { limit: ITEMS, include_vectors: false }));
      const [first, second] = vectors.map((one: { external_id: string }) => one.external_id);
      dataOf(
        await api.post(`${path}/bulk_upsert`, {
          items: [first, second].map((id: string) => ({ external_id: id, vector: [9, 9, 9] })),
        }),
      );
      dataOf(await api.patch(`${path}/vectors/${first}`, { metadata: { a: 1 } }));
      errorOf(await api.post(`${path}/upsert`, { external_id: 'new', vector: [1, 2, 3] }), 400);
      errorOf(
        await api.post(`${path}/bulk_upsert`, {
          items: [{ external_id: first, vector: [1, 2, 3] }, ...items(10_000, 1)],
        }),
        400,
      );
      dataOf(await api.delete(`${path}/delete/${second}`));
      dataOf(await api.post(`${path}/upsert`, { external_id: 'new', vector: [1, 2, 3] }));
      errorOf(await api.post(`${path}/upsert`, { external_id: 'newer', vector: [1, 2, 3] }), 400);
      expect(dataOf(await api.get(path)).vector_count).toBe(ITEMS);
    });

    test('is set and taken away by admins alone, and what is there already stays', async () => {
      const { api } = context;
      const name = await context.collection();
      const path = `/v1/collections/${name}`;
      dataOf(await api.post(`${path}/bulk_upsert`, { items: items(0) }));
      const { key } = dataOf(await api.post('/v1/admin/keys', { name: 'writer', role: 'readwrite' }));
      errorOf(await api.post(`${path}/quota`, { items: 2 }, { key }), 403);
      errorOf(await api.post('/v1/collections', { name: `${name}-q`, dim: 3, quota: { items: 2 } }, { key }), 403);
      expect(dataOf(await api.post(`${path}/quota`, { items: 2 }))).toMatchObject({
        quota: { items: 2, bytes: null },
        vector_count: PER_WRITE,
      });
      expect(errorOf(await api.post(`${path}/upsert`, { external_id: 'new', vector: [1, 2, 3] }), 400)).toContain(
        'quota of 2',
      );
      dataOf(await api.patch(path, { description: 'kept' }));
      expect(dataOf(await api.get(path)).quota).toEqual({ items: 2, bytes: null });
      expect(dataOf(await api.post(`${path}/quota`, {})).quota).toBeNull();
      dataOf(await api.post(`${path}/upsert`, { external_id: 'new', vector: [1, 2, 3] }));
      for (const quota of [{ items: 0 }, { bytes: -1 }, { items: 1.5 }, { items: 'many' }])
        expect([400, 422]).toContain((await api.post(`${path}/quota`, quota)).json?.error?.code);
    });
  });

  test('a quota of bytes bounds what a collection takes on the disk', async () => {
    const { api } = context;
    const name = await context.collection({ quota: { bytes: 4_000_000 } });
    const path = `/v1/collections/${name}`;
    // Texts that do not become smaller on the disk.
    const text = (seed: number): string =>
      Array.from({ length: 5_000 }, (_, i) => createHash('sha256').update(`${seed} ${i}`).digest('base64')).join(' ');
    let written = 0;
    let refusal = '';
    while (refusal === '' && written < 40) {
      const { json } = await api.post(`${path}/upsert`, {
        external_id: `id-${written}`,
        vector: [1, 2, 3],
        text: text(written),
      });
      if (json?.error === null) written += 1;
      else refusal = json?.error?.message ?? 'no answer';
    }
    expect(refusal).toMatch(/takes \d+ bytes of disk, and 2\d+ more are beyond its quota of 4000000 \(quota\.bytes\)/);
    dataOf(await api.delete(`${path}/delete/id-0`));
    dataOf(await api.post(`${path}/quota`, {}));
    dataOf(await api.post(`${path}/upsert`, { external_id: 'last', vector: [1, 2, 3], text: text(0) }));
  });

  test('changing what matches a filter, or one item, counts in a quota of bytes; a refusal says how far it came', async () => {
    const { api } = context;
    const name = await context.collection({ shards: 2 });
    const path = `/v1/collections/${name}`;
    const note = 'x'.repeat(20_000);
    dataOf(
      await api.post(`${path}/bulk_upsert`, { items: items(0, 20).map((item) => ({ ...item, metadata: { a: 1 } })) }),
    );
    const { disk_bytes: taken } = dataOf(await api.get(`${path}/stats`));
    dataOf(await api.post(`${path}/quota`, { bytes: taken + 100_000 }));
    const update = { filters: { a: 1 }, set: { note } };
    expect(errorOf(await api.post(`${path}/update_by_filter`, update), 400)).toMatch(
      /takes \d+ bytes of disk, and 4\d{5} more are beyond its quota of \d+ \(quota\.bytes\); nothing was written/,
    );
    expect(
      errorOf(
        await api.post(`${path}/update_by_filter`, update, { headers: { 'idempotency-key': `once-${name}` } }),
        400,
      ),
    ).toContain('(quota.bytes)');
    expect(dataOf(await api.get(`${path}/vectors/id-0`)).metadata).toEqual({ a: 1 });
    errorOf(await api.patch(`${path}/vectors/id-0`, { metadata: { note: note.repeat(3), more: note.repeat(3) } }), 400);
    dataOf(await api.patch(`${path}/vectors/id-0`, { metadata: { b: 1 } }));
    dataOf(await api.post(`${path}/quota`, { bytes: taken + 100_000_000 }));
    expect(dataOf(await api.post(`${path}/update_by_filter`, update)).updated_count).toBe(20);
  });

  describe('a quota of a key', () => {
    const keyWith = async (quota: object | null, more: object = {}): Promise<{ id: number; key: string }> =>
      dataOf(await context.api.post('/v1/admin/keys', { name: 'bounded', role: 'readwrite', quota, ...more }));
    const usedBy = async (id: number): Promise<any> =>
      dataOf(await context.api.get(`/v1/admin/keys/${id}/usage`)).quota_used;

    test('is never exceeded, however many write at once, and counts every item that is written', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 3 });
      const path = `/v1/collections/${name}`;
      const { id, key } = await keyWith({ items: ITEMS, period: 'total' });
      expect(await usedBy(id)).toEqual({ items: 0, bytes: null, period: 'total', resets_at: null });
      const answers = await Promise.all(
        Array.from({ length: WRITERS }, (_, i) =>
          api.post(`${path}/bulk_upsert`, { items: items(i * PER_WRITE) }, { key }),
        ),
      );
      const refused = answers.flatMap(({ json }) => (json?.error ? [json.error] : []));
      expect(refused.length).toBe(WRITERS - ITEMS / PER_WRITE);
      for (const { code, message } of refused)
        expect([code, message]).toEqual([
          400,
          expect.stringMatching(
            new RegExp(
              `API key ${id} has stored \\d+ items, and 5 more are beyond its quota of 40 \\(quota\\.items of the key\\); they were not written`,
            ),
          ),
        ]);
      expect(await usedBy(id)).toMatchObject({ items: ITEMS });
      expect(dataOf(await api.get(path)).vector_count).toBe(ITEMS);
      // What is there already counts when it is written again; deleting and reading go on, and other keys do.
      const [{ external_id: first }] = dataOf(
        await api.post(`${path}/scroll`, { limit: 1, include_vectors: false }),
      ).vectors;
      errorOf(await api.post(`${path}/upsert`, { external_id: first, vector: [1, 2, 3] }, { key }), 400);
      errorOf(await api.patch(`${path}/vectors/${first}`, { metadata: { a: 1 } }, { key }), 400);
      dataOf(await api.patch(`${path}/vectors/${first}`, { metadata: { a: 1 } }));
      errorOf(await api.post(`${path}/update_by_filter`, { filters: { a: 1 }, set: { b: 1 } }, { key }), 400);
      dataOf(await api.get(`${path}/vectors/${first}`, { key }));
      dataOf(await api.delete(`${path}/delete/${first}`, { key }));
      expect(await usedBy(id)).toMatchObject({ items: ITEMS });
      // Raised, it goes on from there.
      dataOf(await api.patch(`/v1/admin/keys/${id}`, { quota: { items: ITEMS + 2, period: 'total' } }));
      dataOf(await api.post(`${path}/bulk_upsert`, { items: items(10_000, 2) }, { key }));
      errorOf(await api.post(`${path}/bulk_upsert`, { items: items(10_002, 1) }, { key }), 400);
      dataOf(await api.patch(`/v1/admin/keys/${id}`, { quota: null }));
      expect(await usedBy(id)).toBeNull();
      dataOf(await api.post(`${path}/bulk_upsert`, { items: items(10_002, 1) }, { key }));
    });

    test('counts what was stored, and nothing that was not', async () => {
      const { api } = context;
      const name = await context.collection();
      const path = `/v1/collections/${name}`;
      const { id, key } = await keyWith({ bytes: 10_000, items: 100 });
      dataOf(
        await api.post(
          `${path}/upsert`,
          { external_id: 'abcd', vector: [1, 2, 3], metadata: { a: 1 }, text: 'some text' },
          { key },
        ),
      );
      const bytes = 4 + 12 + 7 + 9;
      const { resets_at: resets, ...written } = await usedBy(id);
      expect(written).toEqual({ items: 1, bytes, period: 'month' });
      // The beginning of a month, and not one that is more than a month away.
      expect(resets).toMatch(/^\d{4}-\d\d-01T00:00:00\.000Z$/);
      expect(Date.parse(resets) - Date.now()).toBeLessThanOrEqual(31 * 86_400_000);
      expect(
        (await api.post(`${path}/upsert`, { external_id: 'abcd', vector: [1, 2, 3], only_if: 'absent' }, { key })).json
          ?.error?.code,
      ).toBe(409);
      errorOf(await api.post(`${path}/upsert`, { external_id: 'efgh', vector: [1, 2] }, { key }), 400);
      errorOf(await api.patch(`${path}/vectors/none`, { metadata: { a: 1 } }, { key }), 404);
      expect(
        dataOf(await api.post(`${path}/update_by_filter`, { filters: { a: 2 }, set: { b: 1 } }, { key })).updated_count,
      ).toBe(0);
      const mixed = [
        { external_id: 'abcd', vector: [1, 2, 3], only_if: 'absent' },
        { external_id: 'efgh', vector: [1, 2, 3] },
      ];
      dataOf(await api.post(`${path}/bulk_upsert`, { items: mixed, on_error: 'skip' }, { key }));
      expect(await usedBy(id)).toMatchObject({ items: 2, bytes: bytes + 16 });
      expect(
        dataOf(await api.post(`${path}/update_by_filter`, { filters: { a: 1 }, set: { b: 1 } }, { key })).updated_count,
      ).toBe(1);
      expect(await usedBy(id)).toMatchObject({ items: 3 });
      expect(
        errorOf(
          await api.post(
            `${path}/upsert`,
            { external_id: 'big', vector: [1, 2, 3], text: 'x'.repeat(10_000) },
            { key },
          ),
          400,
        ),
      ).toContain('(quota.bytes of the key)');
      const { quota, quota_used: used } = dataOf(await api.get('/v1/me', { key }));
      expect([quota, used]).toEqual([{ items: 100, bytes: 10_000, period: 'month' }, await usedBy(id)]);
    });

    test('counts a write that is repeated under its Idempotency-Key once, and answers it also when the quota is full', async () => {
      const { api } = context;
      const name = await context.collection();
      const path = `/v1/collections/${name}`;
      const { id, key } = await keyWith({ items: 3 });
      const headers = { 'idempotency-key': `quota-${name}` };
      const write = () => api.post(`${path}/bulk_upsert`, { items: items(0, 2) }, { key, headers });
      const first = dataOf(await write());
      expect(dataOf(await write())).toEqual(first);
      expect(await usedBy(id)).toMatchObject({ items: 2 });
      dataOf(await api.post(`${path}/upsert`, { external_id: 'last', vector: [1, 2, 3] }, { key }));
      expect(dataOf(await write())).toEqual(first);
      errorOf(await api.post(`${path}/upsert`, { external_id: 'more', vector: [1, 2, 3] }, { key }), 400);
    });

    test('gets back what an upload took that was refused', async () => {
      const { api } = context;
      const name = await context.collection();
      const { id, key } = await keyWith({ items: 100 });
      const upload = (words: number) => {
        const content = Array.from({ length: words }, (_, i) => `word number ${i}, which makes the text longer.`).join(
          '\n\n',
        );
        return api.upload(
          [
            { name: 'collection_name', value: name },
            { name: 'file', fileName: 'a.txt', content },
          ],
          { key },
        );
      };
      const { chunks_created: chunks } = dataOf(await upload(20));
      expect(await usedBy(id)).toMatchObject({ items: chunks });
      expect(errorOf(await upload(20_000), 400)).toContain('quota of 100 (quota.items of the key)');
      expect(await usedBy(id)).toMatchObject({ items: chunks });
      expect(dataOf(await api.get(`/v1/collections/${name}`)).vector_count).toBe(chunks);
    });

    test('is none of key 1, and is what its fields say', async () => {
      const { api } = context;
      errorOf(await api.patch('/v1/admin/keys/1', { quota: { items: 1 } }), 400);
      for (const quota of [
        {},
        { items: 0 },
        { items: null, bytes: null },
        { bytes: 1.5 },
        { items: 1, period: 'hour' },
        7,
      ])
        expect([400, 422]).toContain(
          (await api.post('/v1/admin/keys', { name: 'a', role: 'readwrite', quota })).json?.error?.code,
        );
    });
  });
}
