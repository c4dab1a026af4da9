import { type ApiAnswer, dataOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

/** Idempotency-Key: what is repeated under one is not done again, and is answered as before. */
export function idempotencySuite(context: SuiteContext): void {
  let count = 0;
  /** Headers with a key of their own. */
  const once = () => ({ headers: { 'idempotency-key': `suite ${process.pid} ${++count}` } });
  const isReplayed = ({ headers }: ApiAnswer): boolean => headers['idempotency-replayed'] === 'true';
  const expectRepeated = (first: ApiAnswer, second: ApiAnswer): void => {
    expect({ text: second.text, isReplayed: isReplayed(second) }).toEqual({ text: first.text, isReplayed: true });
    expect(isReplayed(first)).toBe(false);
  };
  const countOf = async (name: string): Promise<number> =>
    dataOf(await context.api.get(`/v1/collections/${name}`)).vector_count;
  const codeOf = ({ json }: ApiAnswer): number | undefined => json?.error?.code;

  describe('Idempotency-Key', () => {
    test.each([1, 3])('writes of vectors to %i shards are done once, and answered again', async (shards) => {
      const { api } = context;
      const name = await context.collection({ shards });
      const path = `/v1/collections/${name}`;
      const items = Array.from({ length: 8 }, (_, i) => ({
        external_id: `i-${i}`,
        vector: [i, 1, 2],
        metadata: { n: i % 2 },
      }));
      const requests: ((key: ReturnType<typeof once>) => Promise<ApiAnswer>)[] = [
        (key) => api.post(`${path}/bulk_upsert`, { items, include_timing: false }, key),
        (key) => api.post(`${path}/upsert`, { external_id: 'one', vector: [1, 2, 3] }, key),
        (key) => api.patch(`${path}/vectors/i-3`, { metadata: { n: 7 } }, key),
        (key) => api.delete(`${path}/delete/i-3`, key),
        (key) => api.delete(`${path}/delete/absent`, key),
        (key) => api.post(`${path}/delete_batch`, { external_ids: ['i-0', 'absent'] }, key),
        (key) => api.post(`${path}/update_by_filter`, { filters: { n: 1 }, set: { seen: true } }, key),
        (key) => api.post(`${path}/delete_by_filter`, { filters: { n: 0 } }, key),
        (key) => api.post(`${path}/bulk_upsert`, { items: [{ ...items[1], if_version: 1 }, items[5]] }, key),
        // Texts, of which vectors are made only the first time.
        (key) =>
          api.post(
            `${path}/bulk_upsert`,
            { items: [1, 2, 1].map((n) => ({ external_id: `t-${n}`, text: `text ${n}` })), include_timing: false },
            key,
          ),
        (key) => api.patch(`${path}/vectors/t-1`, { text: 'another', embed: true }, key),
        (key) =>
          api.post(
            `${path}/bulk_upsert`,
            {
              items: [1, 3].map((n) => ({ external_id: `t-${n}`, text: `text ${n}`, only_if: 'absent' })),
              include_timing: false,
            },
            key,
          ),
      ];
      const done: { request: (typeof requests)[number]; key: ReturnType<typeof once>; answer: ApiAnswer }[] = [];
      for (const request of requests) {
        const key = once();
        done.push({ request, key, answer: await request(key) });
      }
      expect(done.map(({ answer }) => codeOf(answer))).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
        404,
        undefined,
        undefined,
        undefined,
        409,
        undefined,
        undefined,
        409,
      ]);
      const before = await api.post(`${path}/scroll`, { limit: 100 });
      for (const { request, key, answer } of done) expectRepeated(answer, await request(key));
      expect((await api.post(`${path}/scroll`, { limit: 100 })).text).toBe(before.text);
      expect(await countOf(name)).toBe(6);
    });

    test('another request under the same key is refused, wherever its items are', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 3 });
      const key = once();
      const upsert = (id: string) =>
        api.post(`/v1/collections/${name}/upsert`, { external_id: id, vector: [1, 2, 3] }, key);
      dataOf(await upsert('a'));
      for (const id of ['b', 'c', 'd', 'e']) expect(codeOf(await upsert(id))).toBe(422);
      expect(codeOf(await api.delete(`/v1/collections/${name}/delete/a`, key))).toBe(422);
      expect(await countOf(name)).toBe(1);
    });

    test('collections are made, changed and deleted once', async () => {
      const { api } = context;
      const name = `once-${process.pid}-${++count}`;
      const [create, change, drop] = [once(), once(), once()];
      const created = await api.post('/v1/collections', { name, dim: 3 }, create);
      dataOf(created);
      expectRepeated(created, await api.post('/v1/collections', { name, dim: 3 }, create));
      expect(codeOf(await api.post('/v1/collections', { name, dim: 4 }, create))).toBe(422);
      const changed = await api.patch(`/v1/collections/${name}`, { description: 'first' }, change);
      await api.patch(`/v1/collections/${name}`, { description: 'second' });
      expectRepeated(changed, await api.patch(`/v1/collections/${name}`, { description: 'first' }, change));
      expect(dataOf(await api.get(`/v1/collections/${name}`)).description).toBe('second');
      const dropped = await api.delete(`/v1/collections/${name}`, drop);
      expectRepeated(dropped, await api.delete(`/v1/collections/${name}`, drop));
      // The refusal of the first time stays, too.
      const refused = once();
      const missing = await api.delete(`/v1/collections/${name}`, refused);
      expect(codeOf(missing)).toBe(404);
      dataOf(await api.post('/v1/collections', { name, dim: 3 }));
      expectRepeated(missing, await api.delete(`/v1/collections/${name}`, refused));
      dataOf(await api.delete(`/v1/collections/${name}`));
    });

    test('a key is made once, and its secret is shown again to its maker alone', async () => {
      const { api } = context;
      const key = once();
      const create = (more = {}) => api.post('/v1/admin/keys', { name: 'once', role: 'admin' }, { ...key, ...more });
      const created = await create();
      const { id, key: secret } = dataOf(created);
      expectRepeated(created, await create());
      // Another caller may use the same key for its own.
      const other = dataOf(await create({ key: secret }));
      expect(other.id).not.toBe(id);
      const rotation = once();
      const rotate = (caller: string) =>
        api.post(`/v1/admin/keys/${other.id}/rotate`, { grace_seconds: 0 }, { ...rotation, key: caller });
      const rotated = await rotate(secret);
      expectRepeated(rotated, await rotate(secret));
      const renewed = dataOf(await api.post(`/v1/admin/keys/${id}/rotate`, {})).key;
      // The scope stays when the caller's key is rotated; what was sealed for the old secret does not open.
      expect(codeOf(await rotate(renewed))).toBe(409);
      for (const one of [id, other.id])
        expectRepeated(
          await api.delete(`/v1/admin/keys/${one}`, {
            ...key,
            headers: { 'idempotency-key': `drop ${one} ${process.pid}` },
          }),
          await api.delete(`/v1/admin/keys/${one}`, { headers: { 'idempotency-key': `drop ${one} ${process.pid}` } }),
        );
    });

    test('an upload is stored once', async () => {
      const { api } = context;
      const name = await context.collection({ dim: 8 });
      const key = once();
      const upload = (content: string) =>
        api.call({
          method: 'POST',
          path: '/v1/documents/upload',
          body: `--b\r\nContent-Disposition: form-data; name="collection_name"\r\n\r\n${name}\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n${content}\r\n--b--\r\n`,
          headers: { 'content-type': 'multipart/form-data; boundary=b', ...key.headers },
        });
      const first = await upload('some words about rivers');
      dataOf(first);
      expectRepeated(first, await upload('some words about rivers'));
      expect(codeOf(await upload('some words about lakes'))).toBe(422);
      expect(await countOf(name)).toBe(1);
    });

    test('two requests under one key at the same time are done once', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 2 });
      const key = once();
      const body = {
        items: Array.from({ length: 6 }, (_, i) => ({ external_id: `i-${i}`, vector: [i, 1, 2] })),
        include_timing: false,
      };
      const answers = await Promise.all(
        [1, 2, 3].map(() => api.post(`/v1/collections/${name}/bulk_upsert`, body, key)),
      );
      for (const answer of answers) expect(answer.text).toBe(answers[0].text);
      expect(dataOf(answers[0]).results.map(({ status }: { status: string }) => status)).toEqual(
        Array.from({ length: 6 }, () => 'inserted'),
      );
    });

    test('what was written within a quota is answered again when that is full, and not counted twice', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 3, quota: { items: 4 } });
      const path = `/v1/collections/${name}`;
      const upsert = (ids: string[], key?: ReturnType<typeof once>) =>
        api.post(`${path}/bulk_upsert`, { items: ids.map((id) => ({ external_id: id, vector: [1, 2, 3] })) }, key);
      const bulk = once();
      const first = await upsert(['a', 'b'], bulk);
      dataOf(first);
      // Far from full, and full: by then the items of the first write are gone.
      for (let i = 0; i < 3; i += 1) expectRepeated(first, await upsert(['a', 'b'], bulk));
      dataOf(await api.post(`${path}/delete_batch`, { external_ids: ['a', 'b'] }));
      dataOf(await upsert(['c', 'd', 'e', 'f']));
      expectRepeated(first, await upsert(['a', 'b'], bulk));
      expect(codeOf(await upsert(['a', 'g'], bulk))).toBe(422);
      expect(codeOf(await upsert(['a', 'b'], once()))).toBe(400);
      // What was refused for it left nothing, and may be sent again under its key.
      const refused = once();
      expect(codeOf(await upsert(['g'], refused))).toBe(400);
      dataOf(await api.delete(`${path}/delete/c`));
      expect(isReplayed(await upsert(['g'], refused))).toBe(false);
      expect(await countOf(name)).toBe(4);
      const quota = once();
      const raised = await api.post(`${path}/quota`, { items: 5 }, quota);
      dataOf(await api.post(`${path}/quota`, { items: 6 }));
      expectRepeated(raised, await api.post(`${path}/quota`, { items: 5 }, quota));
      expect(dataOf(await api.get(path)).quota).toEqual({ items: 6, bytes: null });
    });

    test('a key that is none is refused; reads ignore it', async () => {
      const { api } = context;
      const name = await context.empty();
      const upsert = (key: string) =>
        api.post(
          `/v1/collections/${name}/upsert`,
          { external_id: 'a', vector: [1, 2, 3] },
          { headers: { 'idempotency-key': key } },
        );
      for (const bad of ['', 'x'.repeat(256), 'caf\u00e9']) expect(codeOf(await upsert(bad))).toBe(400);
      dataOf(await api.get('/v1/collections', { headers: { 'idempotency-key': 'x'.repeat(256) } }));
    });
  });
}
