import { dataOf, errorOf } from '../../support/api-client';
import type { SuiteContext } from '../api-suite';

export function hintsSuite(context: SuiteContext): void {
  describe('errors and warnings that help', () => {
    let name: string;
    const post = (endpoint: string, body: unknown) => context.api.post(`/v1/collections/${name}/${endpoint}`, body);

    beforeAll(async () => {
      name = await context.collection();
    });

    test.each([
      ['upsert', { id: 'a', vector: [1, 2, 3] }, 'external_id is required; there is "id": did you mean external_id?'],
      ['upsert', { externalId: 'a', vector: [1, 2, 3] }, 'there is "externalId": did you mean external_id?'],
      ['upsert', { external_id: 'a', values: [1, 2, 3] }, 'body must have either vector or text; there is "values": did you mean vector?'],
      ['upsert', { external_id: 'a', vectr: [1, 2, 3] }, 'there is "vectr": did you mean vector?'],
      ['bulk_upsert', { items: [{ external_id: 'a', embedding: [1, 2, 3] }] }, 'items[0] (external_id "a") must have either vector or text; there is "embedding": did you mean vector?'],
      ['bulk_upsert', { points: [] }, 'items is required; there is "points": did you mean items?'],
      ['hybrid_search', { query: 'a' }, 'query_text is required; there is "query": did you mean query_text?'],
      ['vectors/fetch', { external_ids: ['a'] }, 'ids is required; there is "external_ids": did you mean ids?'],
      ['upsert', { vector: [1, 2, 3] }, 'external_id is required'],
      ['upsert', { external_id: 'a', vector: [1, 2, 3], __proto__: 5, zzz: 1, metadata: 7 }, 'metadata must be a JSON object'],
    ])('%s of %j names what was meant', async (endpoint, body, message) => {
      const given = errorOf(await post(endpoint, body), 422);
      expect(given).toContain(message);
      if (!message.includes('did you mean')) expect(given).not.toContain('did you mean');
    });

    test.each([
      [{ distance_metric: 'euclidean' }, 422, 'did you mean "l2"?'],
      [{ distance_metric: 'Cosine' }, 422, 'did you mean "cosine"?'],
      [{ quantization: 'binry' }, 422, 'did you mean "binary"?'],
      [{ distance_metric: 'xyzzy' }, 422, null],
    ])('a value that is none of those named gets the nearest: %j', async (fields, code, hint) => {
      const message = errorOf(await context.api.post('/v1/collections', { name: 'never', dim: 3, ...fields }), code);
      if (hint === null) expect(message).not.toContain('did you mean');
      else expect(message).toContain(hint);
      expect(errorOf(await context.api.post('/v1/admin/keys', { name: 'a', role: 'read-only' }), 400)).toContain('did you mean "readonly"?');
    });

    test('a field that is ignored is warned of, with the one that was meant where there is one', async () => {
      const created = await context.api.post('/v1/collections', { name: 'hints-l2', dim: 3, metric: 'l2', colour: 'red' });
      expect(created.json).toMatchObject({
        status: 'success',
        error: null,
        warnings: ['"metric" is not a field and was ignored; did you mean distance_metric?', '"colour" is not a field and was ignored'],
      });
      dataOf(await context.api.delete('/v1/collections/hints-l2'));
      const warningsOf = async (endpoint: string, body: unknown) => {
        const answer = await post(endpoint, body);
        dataOf(answer);
        return (answer.json as { warnings?: string[] }).warnings;
      };
      expect(await warningsOf('search', { vector: [1, 2, 3], filter: { a: 1 }, limit: 3, hint: 1 })).toEqual([
        '"filter" is not a field and was ignored; did you mean filters?',
        '"limit" is not a field and was ignored; did you mean k?',
        '"hint" is not a field and was ignored',
      ]);
      expect(await warningsOf('search', { vector: [1, 2, 3], filters: {}, filter: {}, k: 3 })).toEqual(['"filter" is not a field and was ignored']);
      expect(await warningsOf('search', { vector: [1, 2, 3], filters: {}, k: 3 })).toBeUndefined();
      expect(await warningsOf('bulk_upsert', { items: [1, 2].map((n) => ({ external_id: `h${n}`, vector: [n, 2, 3], payload: {} })) })).toEqual([
        'items[0] and 1 more: "payload" is not a field and was ignored; did you mean metadata?',
      ]);
      expect(await warningsOf('scroll', { with_vectors: false, limit: 1 })).toEqual(['"with_vectors" is not a field and was ignored; did you mean include_vectors?']);
    });

    test('a missing or wrong key is told how to be given', async () => {
      const { api } = context;
      expect(errorOf(await api.get('/v1/collections', { key: null }), 401)).toContain('curl -H "x-api-key: $API_KEY"');
      expect(errorOf(await api.get('/v1/collections', { key: null, headers: { authorization: 'Bearer x' } }), 401)).toContain('x-api-key header, not in Authorization');
      expect(errorOf(await api.get('/v1/collections', { key: 'wrong' }), 401)).toContain('invalid API key: the x-api-key header must hold the secret');
    });

    test('a wrong dimension is told with both numbers, and the model where there is one', async () => {
      expect(errorOf(await post('search', { vector: [1, 2] }), 400)).toBe(`dimension mismatch: the vector has dimension 2, but collection "${name}" has dimension 3`);
      const texts = await context.collection({ dim: 384 });
      dataOf(await context.api.post(`/v1/collections/${texts}/upsert`, { external_id: 'a', text: 'the river floods' }));
      const { embedding_model: model } = dataOf(await context.api.get(`/v1/collections/${texts}`));
      const message = errorOf(await context.api.post(`/v1/collections/${texts}/search`, { vector: [1, 2] }), 400);
      expect(message).toContain('has dimension 2, but');
      expect(message).toContain(`has dimension 384 (its texts are embedded by ${model})`);
    });

    test('a collection that is not there is told with the nearest that is', async () => {
      const { api } = context;
      const near = name.replace('-', '_');
      for (const answer of [
        await api.get(`/v1/collections/${near}`),
        await api.post(`/v1/collections/${near}/search`, { vector: [1, 2, 3] }),
        await api.post('/v1/query', { collection_name: near, query: 'rivers' }),
        await api.delete(`/v1/collections/${near}`),
      ]) {
        expect(errorOf(answer, 404)).toBe(`collection "${near}" does not exist; did you mean "${name}"?`);
      }
      expect(errorOf(await api.get('/v1/collections/nothing-like-it'), 404)).toBe('collection "nothing-like-it" does not exist');
    });
  });
}
