import { dataOf, errorOf } from '../../support/targets/api-client';
import { eventually } from '../../support/eventually';
import type { SuiteContext } from '../api-suite';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TEXT = 'The river floods every spring. Farmers wait for the water to fall.';

export function documentsSuite(context: SuiteContext): void {
  const file = (content: Buffer | string = TEXT, fileName = 'river.txt') => ({ name: 'file', fileName, content });
  const into = (name: string) => ({ name: 'collection_name', value: name });

  describe('documents', () => {
    test('a text is stored in chunks and found by query', async () => {
      const name = await context.collection({ dim: 384 });
      const data = dataOf(
        await context.api.upload([
          into(name),
          file(`${`${TEXT} `.repeat(7)}\n\n${'Stars shine at night above hills. '.repeat(40)}`),
          { name: 'include_timing', value: 'true' },
        ]),
      );
      expect(data).toEqual({
        document_id: expect.stringMatching(UUID),
        chunks_created: expect.any(Number),
        timing_ms: { embedding_ms: expect.any(Number), storage_ms: expect.any(Number), total_ms: expect.any(Number) },
      });
      expect(data.chunks_created).toBeGreaterThan(1);
      expect(dataOf(await context.api.get(`/v1/collections/${name}`)).vector_count).toBe(data.chunks_created);
      const first = dataOf(await context.api.get(`/v1/collections/${name}/vectors/${data.document_id}-chunk-0`));
      expect(first.metadata).toMatchObject({
        document_id: data.document_id,
        chunk_index: 0,
        source: 'river.txt',
        text: first.text,
      });

      const answer = dataOf(
        await context.api.post('/v1/query', {
          query: 'the river floods every spring',
          collection_name: name,
          include_timing: true,
        }),
      );
      expect(answer).toMatchObject({
        query: 'the river floods every spring',
        collection: name,
        timing_ms: { search_ms: expect.any(Number) },
      });
      expect(answer.results[0]).toEqual({
        text: expect.stringContaining('river'),
        score: expect.any(Number),
        metadata: first.metadata,
        external_id: `${data.document_id}-chunk-0`,
      });
      const around = dataOf(
        await context.api.post('/v1/query', {
          query: 'the river floods every spring',
          collection_name: name,
          top_k: 1,
          expand: { before: 2, after: 1 },
        }),
      );
      const second = dataOf(await context.api.get(`/v1/collections/${name}/vectors/${data.document_id}-chunk-1`));
      expect(around.results[0].context).toMatchObject({ from_chunk: 0, to_chunk: 1 });
      expect(around.results[0].context.text).toMatch(/^The river floods/);
      expect(around.results[0].context.text.endsWith(second.text.slice(-100))).toBe(true);
      const none = dataOf(
        await context.api.post('/v1/query', {
          query: 'river',
          collection_name: name,
          filters: { source: 'other.txt' },
        }),
      );
      expect(none.results).toEqual([]);
    });

    test('the fields of the form may come after the file', async () => {
      const name = await context.collection({ dim: 384 });
      const data = dataOf(await context.api.upload([file(), { name: 'unknown', value: 'ignored' }, into(name)]));
      expect(data).toEqual({ document_id: expect.stringMatching(UUID), chunks_created: 1 });
    });

    test('its chunks expire when the form says, and a repetition that says otherwise is another request', async () => {
      const name = await context.collection({ dim: 384 });
      const expiring = (expiresAt: string, more = {}) =>
        context.api.upload([into(name), { name: 'expires_at', value: expiresAt }, file()], more);
      const expiryOf = async (documentId: string) =>
        dataOf(await context.api.get(`/v1/collections/${name}/vectors/${documentId}-chunk-0`)).expires_at;
      const key = { headers: { 'idempotency-key': `document ${name} ${process.pid}` } };
      const [first, second] = ['2100-01-01T00:00:00.000Z', '2101-01-01T00:00:00.000Z'];
      expect(await expiryOf(dataOf(await expiring(second)).document_id)).toBe(second);
      const { document_id: documentId } = dataOf(await expiring(first, key));
      expect(await expiryOf(documentId)).toBe(first);
      const again = await expiring(first, key);
      expect([dataOf(again).document_id, again.headers['idempotency-replayed']]).toEqual([documentId, 'true']);
      expect(errorOf(await expiring(second, key), 422)).toContain('Idempotency-Key');
      expect(dataOf(await context.api.get(`/v1/collections/${name}`)).vector_count).toBe(2);
    });

    test.each([
      ['no file', (name: string) => [into(name)], 422, 'file'],
      ['a file that is a field', (name: string) => [into(name), { name: 'file', value: 'text' }], 422, 'file'],
      ['no collection_name', () => [file()], 422, 'collection_name'],
      ['a collection_name that is no name', () => [into('a b'), file()], 422, 'collection_name'],
      [
        'include_timing that is no boolean',
        (name: string) => [into(name), file(), { name: 'include_timing', value: 'perhaps' }],
        422,
        'include_timing',
      ],
      ['two files', (name: string) => [into(name), file(), file()], 422, 'file is given twice'],
      [
        'two collection_names',
        (name: string) => [into(name), into(name), file()],
        422,
        'collection_name is given twice',
      ],
      ['another type of file', (name: string) => [into(name), file(TEXT, 'river.pdf')], 400, 'Only .txt'],
      ['an empty file', (name: string) => [into(name), file('')], 400, 'empty'],
      ['a blank file', (name: string) => [into(name), file(' \n\t')], 400, 'empty'],
    ] as const)('refuses %s and stores nothing', async (_title, parts, code, named) => {
      const name = await context.empty(384);
      expect(errorOf(await context.api.upload([...parts(name)]), code)).toContain(named);
      expect(dataOf(await context.api.get(`/v1/collections/${name}`)).vector_count).toBe(0);
    });

    test('a collection that is not there is a 404 that names it', async () => {
      expect(errorOf(await context.api.upload([into('no-such'), file()]), 404)).toContain('no-such');
    });

    test('a body that is no form is a 422', async () => {
      errorOf(await context.api.post('/v1/documents/upload', { collection_name: 'a' }), 422);
      errorOf(
        await context.api.post('/v1/documents/upload', 'x', { headers: { 'content-type': 'multipart/form-data' } }),
        422,
      );
      errorOf(
        await context.api.post('/v1/documents/upload', 'x', {
          headers: { 'content-type': 'multipart/form-data; boundary=y' },
        }),
        422,
      );
      errorOf(await context.api.post('/v1/documents/upload'), 422);
    });

    test('query refuses what it can’t ask', async () => {
      const name = await context.empty(384);
      const ask = (body: object) => context.api.post('/v1/query', { collection_name: name, ...body });
      expect(errorOf(await ask({ query: ' ' }), 400)).toContain('empty');
      expect(errorOf(await ask({ query: 'x'.repeat(1001) }), 400)).toContain('maximum length');
      dataOf(await ask({ query: 'x'.repeat(1000) }));
      expect(errorOf(await ask({}), 422)).toContain('query');
      expect(errorOf(await ask({ query: 5 }), 422)).toContain('query');
      expect(errorOf(await ask({ query: 'a', top_k: 0 }), 422)).toContain('top_k');
      expect(errorOf(await ask({ query: 'a', top_k: 10001 }), 400)).toContain('top_k');
      expect(errorOf(await context.api.post('/v1/query', { query: 'a' }), 422)).toContain('collection_name');
      expect(errorOf(await context.api.post('/v1/query', { query: 'a', collection_name: 'no-such' }), 404)).toContain(
        'no-such',
      );
    });

    test('query leaves out what scores less than min_score', async () => {
      const name = await context.collection({ dim: 384 });
      const items = ['the river floods in spring', 'stars shine at night'].map((text, i) => ({
        external_id: `t${i}`,
        text,
      }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
      const ask = (more: object) =>
        context.api.post('/v1/query', { query: 'the river floods in spring', collection_name: name, ...more });
      const all = dataOf(await ask({})).results;
      expect(all).toHaveLength(2);
      expect(dataOf(await ask({ min_score: all[0].score })).results).toEqual([all[0]]);
      expect(dataOf(await ask({ min_score: all[1].score })).results).toEqual(all);
      expect(errorOf(await ask({ min_score: 'high' }), 422)).toContain('min_score');
    });

    test('query looks for words, too, with alpha, match and signs', async () => {
      const name = await context.collection({ dim: 384 });
      const items = ['the river floods in spring', 'a river of stars', 'stars shine at night'].map((text, i) => ({
        external_id: `t${i}`,
        text,
      }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
      const found = async (more: object) => {
        const { results } = dataOf(await context.api.post('/v1/query', { collection_name: name, ...more }));
        return results.map(({ external_id: id, text }: { external_id: string; text: string }) => [id, text]);
      };
      for (const words of [{ alpha: 0 }, { mode: 'keyword' }])
        expect(await found({ query: 'river stars', match: 'all', ...words })).toEqual([['t1', items[1].text]]);
      for (const query of [
        '+river -stars floods',
        '+riv* -star* floods',
        '+rivre~ -strs~ floods',
        '+"spring floods"~1',
      ])
        for (const alpha of [0, 0.5, 1])
          expect(await found({ query, query_syntax: 'simple', alpha })).toEqual([['t0', items[0].text]]);
    });

    test('an item without a text has an empty one in a query', async () => {
      const name = await context.collection({ dim: 384 });
      dataOf(
        await context.api.post(`/v1/collections/${name}/upsert`, {
          external_id: 'a',
          vector: new Array(384).fill(0.5),
        }),
      );
      expect(dataOf(await context.api.post('/v1/query', { query: 'anything', collection_name: name })).results).toEqual(
        [{ text: '', score: expect.any(Number), metadata: {}, external_id: 'a' }],
      );
    });

    describe('as jobs', () => {
      const options = { metadata: { team: 'law' }, chunking: { size: 64, overlap: 16 } };
      const over = async (id: string): Promise<any> => {
        let job: any;
        await eventually(`job ${id} is over`, async () => {
          job = dataOf(await context.api.get(`/v1/jobs/${id}`));
          return ['done', 'failed', 'cancelled'].includes(job.state);
        });
        return job;
      };
      const added = async (body: object) => dataOf(await context.api.post('/v1/documents', { wait: true, ...body }));

      test('a text is stored, found, listed, replaced and deleted', async () => {
        const { api } = context;
        const name = await context.collection({ dim: 384, shards: 2 });
        const text = `${TEXT} `.repeat(4).trim();
        const first = await added({ collection_name: name, document_key: 'river', text, ...options });
        expect(first).toEqual({
          job_id: expect.stringMatching(/^document-/),
          document_id: expect.stringMatching(UUID),
          state: 'done',
          error: null,
          result: {
            outcome: 'inserted',
            document_id: first.document_id,
            chunks: expect.any(Number),
            pages: null,
            embedded: expect.any(Number),
          },
        });
        const { documents, next_cursor: next } = dataOf(await api.get(`/v1/collections/${name}/documents`));
        expect(next).toBeNull();
        expect(documents).toEqual([
          {
            document_id: first.document_id,
            document_key: 'river',
            source: '',
            type: 'txt',
            title: null,
            pages: null,
            chunks: first.result.chunks,
            bytes: Buffer.byteLength(text),
            sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
            fingerprint: null,
            updated_at: expect.any(String),
          },
        ]);
        const [hit] = dataOf(
          await api.post('/v1/query', { query: 'farmers wait for the water', collection_name: name, top_k: 1 }),
        ).results;
        expect(hit.metadata).toMatchObject({ team: 'law', document_id: first.document_id, document_key: 'river' });
        expect(hit.metadata.text).toBeUndefined();
        expect(text.slice(hit.metadata.start, hit.metadata.end)).toBe(hit.text);

        const around = dataOf(
          await api.post('/v1/query', {
            query: 'farmers wait for the water',
            collection_name: name,
            top_k: 1,
            expand: { before: 1, after: 1 },
          }),
        ).results[0];
        const index = around.metadata.chunk_index;
        expect(around.context).toMatchObject({ from_chunk: Math.max(0, index - 1) });
        expect(around.context.text).toContain(around.text);
        expect(text).toContain(around.context.text);
        const again = await added({ collection_name: name, document_key: 'river', text, ...options });
        expect(again).toMatchObject({ document_id: first.document_id, result: { outcome: 'replaced', embedded: 0 } });
        const shorter = await added({ collection_name: name, document_key: 'river', text: TEXT, ...options });
        expect(shorter.result).toMatchObject({ chunks: 2 });
        expect(dataOf(await api.get(`/v1/collections/${name}`)).vector_count).toBe(2);
        const path = `/v1/collections/${name}/documents/${first.document_id}`;
        expect(dataOf(await api.get(path))).toMatchObject({ chunks: 2 });
        expect(dataOf(await api.delete(path))).toEqual({ document_id: first.document_id, deleted_chunks: 2 });
        errorOf(await api.get(path), 404);
        errorOf(await api.delete(path), 404);
      });

      test('a file goes as a form, with its fields before or after it', async () => {
        const name = await context.collection({ dim: 384 });
        const data = dataOf(
          await context.api.upload(
            [
              into(name),
              { name: 'file', fileName: 'guide.md', content: '# Pumps\n\nThey leak.\n\n## Seals\n\nReplace them.' },
              { name: 'metadata', value: '{"team":"law"}' },
              { name: 'chunking', value: '{"strategy":"headings","size":40}' },
              { name: 'wait', value: 'true' },
            ],
            { path: '/v1/documents' },
          ),
        );
        expect(data).toMatchObject({ state: 'done', result: { outcome: 'inserted' } });
        const { vectors } = dataOf(await context.api.post(`/v1/collections/${name}/scroll`, {}));
        expect(vectors.at(-1).metadata).toMatchObject({
          source: 'guide.md',
          headings: ['Pumps', 'Seals'],
          team: 'law',
        });
      });

      test('is added once under an Idempotency-Key, as JSON and as a form, and has its fingerprint', async () => {
        const { api } = context;
        const name = await context.collection({ dim: 384 });
        const key = (of: string) => ({ headers: { 'idempotency-key': `added ${of} ${name}` } });
        const json = (of: string, more = {}) =>
          api.post(
            '/v1/documents',
            { collection_name: name, text: TEXT, wait: true, fingerprint: 'v1', ...more },
            key(of),
          );
        const form = (of: string, content = TEXT, mark = 'v2') =>
          api.upload(
            [into(name), { name: 'fingerprint', value: mark }, { name: 'wait', value: 'true' }, file(content)],
            { path: '/v1/documents', ...key(of) },
          );
        const isReplayed = (answer: { headers: Record<string, unknown> }) => answer.headers['idempotency-replayed'];
        for (const add of [json, form]) {
          const first = await add(add.name);
          const again = await add(add.name);
          expect(dataOf(again)).toEqual(dataOf(first));
          expect(dataOf(first)).toMatchObject({ state: 'done' });
          expect([isReplayed(first), isReplayed(again)]).toEqual([undefined, 'true']);
          expect(dataOf(await add(`other ${add.name}`)).job_id).not.toBe(dataOf(first).job_id);
        }
        expect(errorOf(await json('json', { text: 'Another.' }), 422)).toContain('Idempotency-Key');
        expect(errorOf(await form('form', 'Another.'), 422)).toContain('Idempotency-Key');
        expect(errorOf(await form('form', TEXT, 'v3'), 422)).toContain('Idempotency-Key');
        const { documents } = dataOf(await api.get(`/v1/collections/${name}/documents`));
        expect(documents.map((one: any) => one.fingerprint).sort()).toEqual(['v1', 'v1', 'v2', 'v2']);
        // A retry of what may be there only once is answered as the first time.
        const once = () => json('error', { document_key: 'k', on_exists: 'error' });
        expect(dataOf(await once()).document_id).toBe(dataOf(await once()).document_id);
      });

      test('what can’t be taken is refused, and says why', async () => {
        const name = await context.collection({ dim: 384 });
        const refused = async (body: object, code: number) =>
          errorOf(await context.api.post('/v1/documents', body), code);
        const body = { collection_name: name, text: TEXT };
        expect(await refused({ ...body, collection_name: 'nothing-here' }, 404)).toContain('nothing-here');
        expect(await refused({ ...body, metadata: { chunk_index: 3 } }, 400)).toContain('chunk_index');
        expect(await refused({ ...body, chunking: { strategy: 'lines' } }, 422)).toContain('chunking.strategy');
        const form = await context.api.upload([into(name), file('x', 'a.exe')], { path: '/v1/documents' });
        expect(errorOf(form, 400)).toContain('pdf');
        await added({ ...body, document_key: 'k' });
        expect(await refused({ ...body, document_key: 'k', on_exists: 'error' }, 409)).toContain('"k"');
        const skipped = await added({ ...body, document_key: 'k', on_exists: 'skip' });
        expect(skipped).toMatchObject({ state: 'done', result: { outcome: 'skipped' } });
      });

      test('a job that can’t be done says why, and leaves nothing', async () => {
        const name = await context.collection({ dim: 384 });
        const data = dataOf(
          await context.api.upload([into(name), file('{"a": 1}\n{"b": no}\n', 'broken.jsonl')], {
            path: '/v1/documents',
          }),
        );
        expect(await over(data.job_id)).toMatchObject({ kind: 'document', state: 'failed', error: expect.any(String) });
        expect(dataOf(await context.api.get(`/v1/collections/${name}`)).vector_count).toBe(0);
        errorOf(await context.api.post(`/v1/jobs/${data.job_id}/pause`), 409);
      });
    });
  });
}
