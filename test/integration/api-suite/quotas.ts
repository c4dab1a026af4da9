import { createHash } from 'node:crypto';
import { dataOf, errorOf } from '../../support/api-client';
import type { SuiteContext } from '../api-suite';

const ITEMS = 40;
const WRITERS = 24;
const PER_WRITE = 5;

/** Quotas of collections. */
export function quotasSuite(context: SuiteContext): void {
  const items = (first: number, count = PER_WRITE): object[] => Array.from({ length: count }, (_, i) => ({ external_id: `id-${first + i}`, vector: [1, first + i, 1] }));

  describe('a quota of items', () => {
    test('is never exceeded, however many write at once, and lets what is there be changed and deleted', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 3, quota: { items: ITEMS } });
      const path = `/v1/collections/${name}`;
      const answers = await Promise.all(Array.from({ length: WRITERS }, (_, i) => api.post(`${path}/bulk_upsert`, { items: items(i * PER_WRITE) })));
      const refused = answers.flatMap(({ json }) => (json?.error ? [json.error] : []));
      expect(refused.length).toBe(WRITERS - ITEMS / PER_WRITE);
      for (const { code, message } of refused)
        expect([code, message]).toEqual([400, expect.stringMatching(/holds \d+ items, and 5 more are beyond its quota of 40 \(quota\.items\); nothing was written/)]);
      expect(dataOf(await api.get(`${path}/stats`))).toMatchObject({ vector_count: ITEMS, quota: { items: ITEMS, bytes: null } });

      // Full: what is there may be written again, as often as one likes; one more may not, unless another goes.
      const { vectors } = dataOf(await api.post(`${path}/scroll`, { limit: ITEMS, include_vectors: false }));
      const [first, second] = vectors.map((one: { external_id: string }) => one.external_id);
      dataOf(await api.post(`${path}/bulk_upsert`, { items: [first, second].map((id: string) => ({ external_id: id, vector: [9, 9, 9] })) }));
      dataOf(await api.patch(`${path}/vectors/${first}`, { metadata: { a: 1 } }));
      errorOf(await api.post(`${path}/upsert`, { external_id: 'new', vector: [1, 2, 3] }), 400);
      errorOf(await api.post(`${path}/bulk_upsert`, { items: [{ external_id: first, vector: [1, 2, 3] }, ...items(10_000, 1)] }), 400);
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
      expect(dataOf(await api.post(`${path}/quota`, { items: 2 }))).toMatchObject({ quota: { items: 2, bytes: null }, vector_count: PER_WRITE });
      expect(errorOf(await api.post(`${path}/upsert`, { external_id: 'new', vector: [1, 2, 3] }), 400)).toContain('quota of 2');
      dataOf(await api.patch(path, { description: 'kept' }));
      expect(dataOf(await api.get(path)).quota).toEqual({ items: 2, bytes: null });
      expect(dataOf(await api.post(`${path}/quota`, {})).quota).toBeNull();
      dataOf(await api.post(`${path}/upsert`, { external_id: 'new', vector: [1, 2, 3] }));
      for (const quota of [{ items: 0 }, { bytes: -1 }, { items: 1.5 }, { items: 'many' }]) expect([400, 422]).toContain((await api.post(`${path}/quota`, quota)).json?.error?.code);
    });
  });

  test('a quota of bytes bounds what a collection takes on the disk', async () => {
    const { api } = context;
    const name = await context.collection({ quota: { bytes: 4_000_000 } });
    const path = `/v1/collections/${name}`;
    // Texts that do not become smaller on the disk.
    const text = (seed: number): string => Array.from({ length: 5_000 }, (_, i) => createHash('sha256').update(`${seed} ${i}`).digest('base64')).join(' ');
    let written = 0;
    let refusal = '';
    while (refusal === '' && written < 40) {
      const { json } = await api.post(`${path}/upsert`, { external_id: `id-${written}`, vector: [1, 2, 3], text: text(written) });
      if (json?.error === null) written += 1;
      else refusal = json?.error?.message ?? 'no answer';
    }
    expect(refusal).toMatch(/takes \d+ bytes of disk, and 2\d+ more are beyond its quota of 4000000 \(quota\.bytes\)/);
    dataOf(await api.delete(`${path}/delete/id-0`));
    dataOf(await api.post(`${path}/quota`, {}));
    dataOf(await api.post(`${path}/upsert`, { external_id: 'last', vector: [1, 2, 3], text: text(0) }));
  });
}
