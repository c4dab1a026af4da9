import { dataOf, errorOf } from '../../support/targets/api-client';
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
      [
        'upsert',
        { external_id: 'a', values: [1, 2, 3] },
        'body must have either vector or text; there is "values": did you mean vector?',
      ],
      ['upsert', { external_id: 'a', vectr: [1, 2, 3] }, 'there is "vectr": did you mean vector?'],
      [
        'bulk_upsert',
        { items: [{ external_id: 'a', embedding: [1, 2, 3] }] },
        'items[0] (external_id "a") must have either vector or text; there is "embedding": did you mean vector?',
      ],
      ['bulk_upsert', { points: [] }, 'items is required; there is "points": did you mean items?'],
      ['hybrid_search', { query: 'a' }, 'query_text is required; there is "query": did you mean query_text?'],
      ['vectors/fetch', { external_ids: ['a'] }, 'ids is required; there is "external_ids": did you mean ids?'],
      ['upsert', { vector: [1, 2, 3] }, 'external_id is required'],
      [
        'upsert',
        { external_id: 'a', vector: [1, 2, 3], __proto__: 5, zzz: 1, metadata: 7 },
        'metadata must be a JSON object',
      ],
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
      expect(errorOf(await context.api.post('/v1/admin/keys', { name: 'a', role: 'read-only' }), 400)).toContain(
        'did you mean "readonly"?',
      );
    });

    test('a field that is ignored is warned of, with the one that was meant where there is one', async () => {
      const created = await context.api.post('/v1/collections', {
        name: 'hints-l2',
        dim: 3,
        metric: 'l2',
        colour: 'red',
      });
      expect(created.json).toMatchObject({
        status: 'success',
        error: null,
        warnings: [
          '"metric" is not a field and was ignored; did you mean distance_metric?',
          '"colour" is not a field and was ignored',
        ],
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
      expect(await warningsOf('search', { vector: [1, 2, 3], filters: {}, filter: {}, k: 3 })).toEqual([
        '"filter" is not a field and was ignored',
      ]);
      expect(await warningsOf('search', { vector: [1, 2, 3], filters: {}, k: 3 })).toBeUndefined();
      expect(
        await warningsOf('bulk_upsert', {
          items: [1, 2].map((n) => ({ external_id: `h${n}`, vector: [n, 2, 3], payload: {} })),
        }),
      ).toEqual(['items[0] and 1 more: "payload" is not a field and was ignored; did you mean metadata?']);
      expect(await warningsOf('scroll', { with_vectors: false, limit: 1 })).toEqual([
        '"with_vectors" is not a field and was ignored; did you mean include_vectors?',
      ]);
    });

    describe('filters that are most likely not what was meant', () => {
      let shelf: string;
      const EACH = [
        'search',
        'hybrid_search',
        'recommend/r1',
        'scroll',
        'sample',
        'recall_check',
        'delete_by_filter',
        'update_by_filter',
      ];
      const bodyOf = (endpoint: string, filters: unknown): Record<string, unknown> => {
        if (endpoint === 'search') return { vector: [1, 2, 3], filters };
        if (endpoint === 'hybrid_search') return { query_text: 'rivers', vector: [1, 2, 3], filters };
        return endpoint === 'update_by_filter' ? { filters, set: { seen: true } } : { filters };
      };
      const told = async (path: string, body: unknown): Promise<string[]> => {
        const answer = await context.api.post(path, body);
        dataOf(answer);
        return (answer.json as { warnings?: string[] }).warnings ?? [];
      };
      const at = (endpoint: string) => `/v1/collections/${shelf}/${endpoint}`;
      const search = (filters: unknown) => told(at('search'), { vector: [1, 2, 3], filters });

      beforeAll(async () => {
        shelf = await context.collection({ shards: 3 });
        const items = Array.from({ length: 12 }, (_, i) => ({
          external_id: `r${i}`,
          vector: [i, 2, 3],
          text: 'rivers',
          metadata: {
            category: 'law',
            tags: ['a', 'b'],
            author: { name: 'Ada' },
            'a.b': 1,
            parts: [{ x: 1 }],
            ...(i === 7 && { rare: true, when: '2024-02-01T00:00:00Z', must: 1 }),
          },
        }));
        dataOf(await context.api.post(at('bulk_upsert'), { items }));
      });

      test('every endpoint with a filter tells of a field that no item has', async () => {
        for (const endpoint of EACH) {
          expect({ endpoint, told: await told(at(endpoint), bodyOf(endpoint, { categry: 'law' })) }).toEqual({
            endpoint,
            told: ['filters: no item has the field "categry"; did you mean "category"?'],
          });
        }
        expect(
          await told(at('bulk_search'), {
            queries: [{ vector: [1, 2, 3] }, { vector: [1, 2, 3], filters: { categry: 'law' } }],
          }),
        ).toEqual(['queries[1].filters: no item has the field "categry"; did you mean "category"?']);
      });

      test.each<[string, object, string[]]>([
        ['search', { vector: [1, 2, 3], group_by: 'categry' }, ['group_by: "categry"; did you mean "category"?']],
        [
          'search',
          { vector: [1, 2, 3], order_by: [{ field: 'category' }, { field: 'author.nme' }], filters: { category: 'x' } },
          ['order_by[1].field: "author.nme"; did you mean "author.name"?'],
        ],
        [
          'bulk_search',
          { queries: [{ vector: [1, 2, 3] }, { vector: [1, 2, 3], group_by: 'metadata.category' }] },
          [
            'queries[1].group_by: "metadata.category"; fields of the metadata are named directly: did you mean "category"?',
          ],
        ],
        [
          'search',
          { vector: [1, 2, 3], diversity: { field: 'categry' } },
          ['diversity.field: "categry"; did you mean "category"?'],
        ],
        [
          'search',
          { vector: [1, 2, 3], boosts: [{ field: 'categry', weight: 1 }] },
          ['boosts[0].field: "categry"; did you mean "category"?'],
        ],
        ['scroll', { order_by: [{ field: 'raer' }] }, ['order_by[0].field: "raer"; did you mean "rare"?']],
        [
          'aggregate',
          {
            facets: [{ field: 'category' }, { field: 'owner' }],
            stats: [{ field: 'raer', ops: ['count'] }],
            ranges: [{ field: 'owner', edges: [1, 2] }],
            by: { field: 'categry', facets: [{ field: 'tgs' }] },
          },
          [
            'facets[1].field: "owner"',
            'ranges[0].field: "owner"',
            'stats[0].field: "raer"; did you mean "rare"?',
            'by.field: "categry"; did you mean "category"?',
            'by.facets[0].field: "tgs"; did you mean "tags"?',
          ],
        ],
        ['search', { vector: [1, 2, 3], group_by: 'rare', group_missing: 'each' }, []],
        ['search', { vector: [1, 2, 3], order_by: [{ field: 'author.name' }] }, []],
      ])('%s tells fields by which it groups, orders, or counts: %j', async (endpoint, body, wanted) => {
        const said = wanted.map((text) => text.replace(': "', ': no item has the field "'));
        expect(await told(at(endpoint), body)).toEqual(said);
        const strict = await context.api.post(at(endpoint), { ...body, strict: true });
        if (wanted.length > 0) expect(errorOf(strict, 422)).toBe(`refused because of strict: ${said.join('; ')}`);
        else dataOf(strict);
      });

      test('so it does of fields in which words are looked for', async () => {
        const body = { vector: [1, 2, 3], query_text: 'catgory:law category:law -tgs:x', query_syntax: 'simple' };
        expect(await told(at('hybrid_search'), body)).toEqual([
          'filters: no item has the field "tgs"; did you mean "tags"?',
          'query_text: no item has the field "catgory"; did you mean "category"?',
        ]);
        errorOf(await context.api.post(at('hybrid_search'), { ...body, strict: true }), 422);
      });

      test('and refuses it where the request is strict, and does nothing', async () => {
        for (const endpoint of EACH) {
          const filters = { $or: [{ categry: 'law' }, { rare: true }, { owner: 1 }] };
          const message = errorOf(
            await context.api.post(at(endpoint), { ...bodyOf(endpoint, filters), strict: true }),
            422,
          );
          expect(message).toBe(
            'refused because of strict: filters: no item has the field "categry"; did you mean "category"?; filters: no item has the field "owner"',
          );
        }
        // Every item passes this one.
        for (const endpoint of EACH)
          errorOf(
            await context.api.post(at(endpoint), { ...bodyOf(endpoint, { catgory: { $ne: 'x' } }), strict: true }),
            422,
          );
        // Nor one that is done once.
        for (const endpoint of ['update_by_filter', 'delete_by_filter'])
          errorOf(
            await context.api.post(
              at(endpoint),
              { ...bodyOf(endpoint, { $or: [{ categry: 'law' }, { rare: true }] }), strict: true },
              { headers: { 'idempotency-key': `strict-${endpoint}` } },
            ),
            422,
          );
        const left = dataOf(await context.api.post(at('scroll'), {}));
        expect(left.vectors).toHaveLength(12);
        expect(left.vectors.some(({ metadata }: any) => 'seen' in metadata)).toBe(false);
      });

      test('and is done once where it is repeated, although its fields are gone since', async () => {
        const path = `/v1/collections/${await context.collection({ dim: 2 })}`;
        const items = ['a', 'b'].map((external_id) => ({ external_id, vector: [1, 2], metadata: { draft: true } }));
        dataOf(await context.api.post(`${path}/bulk_upsert`, { items }));
        const body = { filters: { draft: true }, strict: true };
        const once = { headers: { 'idempotency-key': 'drafts' } };
        for (let i = 0; i < 2; i++)
          expect(dataOf(await context.api.post(`${path}/delete_by_filter`, body, once))).toEqual({ deleted_count: 2 });
        expect(
          errorOf(await context.api.post(`${path}/delete_by_filter`, { ...body, filters: { drft: 1 } }, once), 422),
        ).toContain('Idempotency-Key');
      });

      test.each<[unknown, string[]]>([
        [
          { must: [{ key: 'category', match: { value: 'law' } }], should: [] },
          ['"should"; a filter is {"field": value}'],
        ],
        [{ category: { gte: 1 } }, ['"category.gte"; operators begin with $: did you mean $gte?']],
        [{ price: { lt: 1 } }, ['"price"; operators begin with $: did you mean $lt?']],
        [{ bool: { filter: [] } }, ['"bool"; a filter is']],
        [
          { operator: 'And', operands: [{ path: ['a'], operator: 'Equal', valueInt: 1 }] },
          ['"operator"; a filter is', '"operands"; a filter is'],
        ],
        [{ 'parts.x': 1 }, ['"parts.x"; paths lead into objects, not into the elements of arrays']],
        [
          { metadata: { category: 'law' } },
          ['"metadata"; fields of the metadata are named directly: did you mean "category"?'],
        ],
        [
          { 'metadata.category': 'law' },
          ['"metadata.category"; fields of the metadata are named directly: did you mean "category"?'],
        ],
        [
          { payload: { category: { $in: ['law'] } } },
          ['"payload"; fields of the metadata are named directly: did you mean "category"?'],
        ],
        [{ name: 'Ada' }, ['"name"; did you mean "author.name"?']],
        [{ author: { nme: 'Ada' } }, ['"author.nme"; did you mean "author.name"?']],
        [{ $or: [{ rare: true }, { raer: true }] }, ['"raer"; did you mean "rare"?']],
        [{ catgory: { $ne: 'law' } }, ['"catgory"; did you mean "category"?']],
        [
          { $text: { query: 'law', fields: ['category', 'catgory', 'nme'] } },
          ['"catgory"; did you mean "category"?', '"nme"'],
        ],
      ])('%j is told', async (filters, wanted) => {
        const warnings = await search(filters);
        expect(warnings).toHaveLength(wanted.length);
        for (const [i, text] of wanted.entries())
          expect(warnings[i]).toContain(`filters: no item has the field ${text}`);
      });

      test.each<[unknown]>([
        [{ category: 'none of them' }],
        [{ category: { $gt: 'z' } }],
        [{ rare: true }],
        [{ must: 2 }],
        [{ tags: 'c' }],
        [{ tags: { $in: ['x'] } }],
        [{ author: { name: 'Bo' } }],
        [{ 'author.name': 'Bo' }],
        [{ 'a.b': 2 }],
        [{ author: {} }],
        [{ deleted: { $ne: true } }],
        [{ deleted: { $exists: false } }],
        [{ $not: { deleted: true } }],
        [{ deleted: { $nin: [1, 2] } }],
        [{ $or: [{ rare: true }, { category: 'law' }] }],
      ])('%j is not', async (filters) => {
        expect(await search(filters)).toEqual([]);
        expect(
          (await context.api.post(at('search'), { vector: [1, 2, 3], filters }, { headers: { 'x-strict': 'true' } }))
            .json?.error,
        ).toBeNull();
      });

      test('an empty collection has no fields, and only what is none of its filters is told', async () => {
        const empty = await context.empty();
        const asked = (filters: unknown) => told(`/v1/collections/${empty}/search`, { vector: [1, 2, 3], filters });
        expect(await asked({ category: 'law', $or: [{ a: 1 }, { 'b.c': { $gt: 2 } }] })).toEqual([]);
        expect(await asked({ category: { gte: 3 } })).toEqual([
          'filters: no item has the field "category"; operators begin with $: did you mean $gte?',
        ]);
        expect(await asked({ must: [{ key: 'a' }] })).toEqual([expect.stringContaining('"must"; a filter is')]);
      });

      test('items with an empty key, at the root or within objects, spoil no hint', async () => {
        const name = await context.collection({ shards: 2 });
        const items = [{ '': 1, category: 'law' }, { '': { '': 2, year: 3 } }, { a: { '': 4 }, b: '' }].map(
          (metadata, i) => ({ external_id: `e${i}`, vector: [1, 2, 3], metadata }),
        );
        dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
        const asked = (filters: unknown) => told(`/v1/collections/${name}/search`, { vector: [1, 2, 3], filters });
        for (const [filters, wanted] of [
          [{ '': 9 }, []],
          [{ '.year': 9 }, []],
          [{ 'a.': 9 }, []],
          [{ categry: 'law' }, ['"categry"; did you mean "category"?']],
          [{ '.categry': 'law' }, ['".categry"; did you mean "category"?']],
          [{ '.yaer': 3 }, ['".yaer"; did you mean ".year"?']],
          [{ year: 3 }, ['"year"; did you mean ".year"?']],
          [{ zebra: 3 }, ['"zebra"']],
          [{ 'b.': 3 }, ['"b."; paths lead into objects, not into the elements of arrays']],
        ] as [unknown, string[]][])
          expect({ filters, told: await asked(filters) }).toEqual({
            filters,
            told: wanted.map((text) => `filters: no item has the field ${text}`),
          });
      });

      test('a field that an item has from now on is not told any more', async () => {
        const name = await context.collection({ shards: 2 });
        const asked = () => told(`/v1/collections/${name}/search`, { vector: [1, 2, 3], filters: { later: 5 } });
        const put = (id: string, metadata: unknown) =>
          context.api.post(`/v1/collections/${name}/upsert`, { external_id: id, vector: [1, 2, 3], metadata });
        dataOf(await put('a', {}));
        expect(await asked()).toHaveLength(1);
        dataOf(await put('b', { later: 6 }));
        expect(await asked()).toEqual([]);
      });

      test('dates that are compared with dates in another form are told', async () => {
        const name = await context.collection({ shards: 2 });
        const put = async (id: string, when: unknown) =>
          dataOf(
            await context.api.post(`/v1/collections/${name}/upsert`, {
              external_id: id,
              vector: [1, 2, 3],
              metadata: { when },
            }),
          );
        const asked = (condition: unknown) =>
          told(`/v1/collections/${name}/search`, { vector: [1, 2, 3], filters: { when: condition } });
        await put('a', '2024-02-01T00:30:00Z');
        expect(await asked({ $gte: '2024-02-01T00:00:00Z', $lt: '2024-03-01T00:00:00Z' })).toEqual([]);
        expect(await asked({ $gte: '2024-02-01T00:00:00+02:00' })).toEqual([
          'filters: "when" is compared as a text, not as a time: the bound "2024-02-01T00:00:00+02:00" is one of the times with the offset +02:00, and items have times with the offset Z; write all in one form, best in UTC with Z',
        ]);
        await put('b', ['2024-02-01T00:30:00+02:00', 'no date', 7]);
        expect(await asked({ $gte: '2024-02-01T00:00:00Z' })).toEqual([
          expect.stringContaining('items have times with the offset +02:00;'),
        ]);
        expect(await asked({ $gte: '2024-02-01' })).toEqual([
          expect.stringMatching(/dates without a time, and items have (?=.*offset Z)(?=.*offset \+02:00)/),
        ]);
        for (const condition of ['2024-02-01', { $in: ['2024-02-01'] }, { $gte: 'b' }, { $gte: 2024 }])
          expect(await asked(condition)).toEqual([]);
        expect(
          (
            await context.api.post(`/v1/collections/${name}/search`, {
              vector: [1, 2, 3],
              filters: { when: { $gt: '2024-02-01' } },
              strict: true,
            })
          ).json?.status,
        ).toBe('success');
      });
    });

    test('a text that is longer than the model reads is told wherever one is embedded, with what was left out', async () => {
      const texts = await context.collection({ dim: 16 });
      const long = 'river '.repeat(8_500);
      const at = (endpoint: string) => `/v1/collections/${texts}/${endpoint}`;
      const warningsOf = (answer: { json: unknown }) => (answer.json as { warnings?: string[] }).warnings;
      const of = async (path: string, body: unknown) => {
        const answer = await context.api.post(path, body);
        dataOf(answer);
        return warningsOf(answer);
      };
      const one = [
        'the text is longer than the 49152 characters that the model reads: 1848 characters at its end have no part in its vector',
      ];
      expect(await of(at('upsert'), { external_id: 'a', text: long })).toEqual(one);
      expect(await of(at('upsert'), { external_id: 'b', text: 'river' })).toBeUndefined();
      expect(await of(at('upsert'), { external_id: 'c', text: long, vector: new Array(16).fill(1) })).toBeUndefined();
      const items = [
        { vector: new Array(16).fill(1), text: long },
        { text: 'river' },
        { text: long },
        { text: `${long}.` },
      ].map((item, i) => ({ external_id: `i${i}`, ...item }));
      expect(await of(at('bulk_upsert'), { items })).toEqual([
        '2 texts are longer than the 49152 characters that the model reads; what is left out at their ends has no part in their vectors: items[2] (1848 characters), items[3] (1849 characters)',
      ]);
      const patched = await context.api.patch(at('vectors/b'), { text: long, embed: true });
      expect(warningsOf(patched)).toEqual(one);
      const many = Array.from({ length: 13 }, (_, i) => ({ external_id: `m${i}`, text: long }));
      expect((await of(at('bulk_upsert'), { items: many }))![0]).toMatch(
        /^13 texts .* items\[9\] \(1848 characters\), and 3 more$/,
      );
    });

    test.each([
      ['GET', '/v1/collections/NAME/search', `; it is POST /v1/collections/NAME/search`],
      ['PUT', '/v1/collections', '; it is GET or POST /v1/collections'],
      ['POST', '/v1/collections/NAME', '; it is GET or PATCH or DELETE /v1/collections/NAME'],
      ['GET', '/collections', '; did you mean GET /v1/collections?'],
      ['POST', '/collections/NAME/search', '; did you mean POST /v1/collections/NAME/search?'],
      ['POST', '/v1/collection/NAME/search', '; did you mean POST /v1/collections/NAME/search?'],
      ['POST', '/v1/collections/NAME/serach', '; did you mean POST /v1/collections/NAME/search?'],
      ['GET', '/v1/collections/', '; did you mean GET /v1/collections?'],
      ['GET', '/v1/nothing/like/it', ''],
      ['GET', '/elsewhere', ''],
    ])('%s %s says what was meant', async (method, path, hint) => {
      const filled = (text: string) => text.replaceAll('NAME', name);
      expect(errorOf(await context.api.call({ method, path: filled(path) }), 404)).toBe(
        `there is no ${method} ${filled(path)}${filled(hint)}`,
      );
    });

    test.each([
      ['{"vector":[1,NaN,2]}', 'unexpected "N" at byte 13; JSON has no NaN'],
      ['{"a":-Infinity}', 'unexpected "I" at byte 6; JSON has no Infinity'],
      ['{"a":None}', 'unexpected "N" at byte 5; JSON writes null'],
      ['{"a":True}', 'unexpected "T" at byte 5; JSON writes true and false in small letters'],
      ["{'a':1}", `unexpected "'" at byte 1; JSON has texts and names between double quotes`],
      ['{a:1}', 'unexpected "a" at byte 1; JSON has names between double quotes'],
      ['{"a":1,}', 'unexpected "}" at byte 7; JSON has no comma behind the last one'],
      ['\ufeff{"a":1}', 'unexpected U+FEFF at byte 0, a byte order mark: send the body without'],
      ['{"a":\u00a01}', 'unexpected U+00A0 at byte 5'],
      [
        '{"a":1}\n{"a":2}',
        'unexpected "{" at byte 8; a body is one JSON value: put those of several lines into a list',
      ],
      ['k=5&vector=1', 'unexpected "k" at byte 0; this is a form: send JSON'],
      ['--x1\r\ncontent-disposition: form-data', 'unexpected "-" at byte 1; this is a form: send JSON'],
      ['{"a" 1}', 'unexpected "1" at byte 5'],
    ])('what is no JSON is told by its name: %j', async (body, message) => {
      const given = errorOf(await post('search', body), 422);
      expect(given).toContain(`body is not valid JSON: ${message}`);
    });

    test('a change without what it may change says what was meant', async () => {
      const patched = await context.api.call({
        method: 'PATCH',
        path: `/v1/collections/${name}/vectors/a`,
        body: { payload: { a: 1 } },
      });
      expect(errorOf(patched, 422)).toContain('; there is "payload": did you mean metadata?');
      expect(errorOf(await post('update_by_filter', { filters: { a: 1 }, metadata: { b: 2 } }), 422)).toContain(
        'must have set, unset or expires_at; there is "metadata": did you mean set?',
      );
    });

    test('a wrong dimension of a single upsert is that of the vector', async () => {
      expect(errorOf(await post('upsert', { external_id: 'a', vector: [1, 2] }), 400)).toContain(
        'dimension mismatch: the vector has dimension 2',
      );
      expect(errorOf(await post('bulk_upsert', { items: [{ external_id: 'a', vector: [1, 2] }] }), 400)).toContain(
        'the vector of items[0] (external_id "a") has dimension 2',
      );
    });

    test('a zero vector is told where directions are compared', async () => {
      const euclidean = await context.collection({ distance_metric: 'l2' });
      const cosine = await context.collection();
      const of = async (answer: Promise<{ json: unknown }>) =>
        ((await answer).json as { status: string; warnings?: string[] }).warnings;
      const zero = { external_id: 'z', vector: [0, -0, 0] };
      const told = 'is zero, and has no direction to compare: under cosine, it scores 0 in every search';
      expect(await of(context.api.post(`/v1/collections/${cosine}/upsert`, zero))).toEqual([`the vector ${told}`]);
      expect(await of(context.api.post(`/v1/collections/${euclidean}/upsert`, zero))).toBeUndefined();
      expect(await of(context.api.patch(`/v1/collections/${cosine}/vectors/z`, { vector: [0, 0, 0] }))).toEqual([
        `the vector ${told}`,
      ]);
      expect(await of(context.api.patch(`/v1/collections/${cosine}/vectors/z`, { vector: [0, 1, 0] }))).toBeUndefined();
      const items = Array.from({ length: 1000 }, (_, i) => ({
        external_id: `i${i}`,
        vector: i === 3 || i === 700 ? [0, 0, 0] : [0, 0, i],
        metadata: { text: 'x'.repeat(100) },
      }));
      // A large body is encoded as it comes, a small one is not.
      for (const some of [items.slice(0, 10), items]) {
        const indexes = some.flatMap(({ vector }, i) => (vector.every((value) => value === 0) ? [`items[${i}]`] : []));
        expect(await of(context.api.post(`/v1/collections/${cosine}/bulk_upsert`, { items: some }))).toEqual([
          `the vector of ${indexes.join(', ')} ${told}`,
        ]);
      }
    });

    test('a key in the header of another product is told', async () => {
      expect(
        errorOf(await context.api.get('/v1/collections', { key: null, headers: { 'api-key': 'x' } }), 401),
      ).toContain('x-api-key header, not in api-key');
    });

    test('a missing or wrong key is told how to be given', async () => {
      const { api } = context;
      expect(errorOf(await api.get('/v1/collections', { key: null }), 401)).toContain('curl -H "x-api-key: $API_KEY"');
      expect(
        errorOf(await api.get('/v1/collections', { key: null, headers: { authorization: 'Bearer x' } }), 401),
      ).toContain('x-api-key header, not in Authorization');
      expect(errorOf(await api.get('/v1/collections', { key: 'wrong' }), 401)).toContain(
        'invalid API key: the x-api-key header must hold the secret',
      );
    });

    test('a wrong dimension is told with both numbers, and the model where there is one', async () => {
      expect(errorOf(await post('search', { vector: [1, 2] }), 400)).toBe(
        `dimension mismatch: the vector has dimension 2, but collection "${name}" has dimension 3`,
      );
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
      expect(errorOf(await api.get('/v1/collections/nothing-like-it'), 404)).toBe(
        'collection "nothing-like-it" does not exist',
      );
    });
  });
}
