import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import type { ApiTarget } from '../support/targets/api-target';
import { startEmbedded } from '../support/targets/embedded-target';
import { ScriptedLlm } from '../support/servers/scripted-llm';
import { startPlainServer } from '../support/servers/plain-server';

/** The Model Context Protocol at /mcp, spoken by the SDK's own client to a real process. */

const ITEMS = [
  { external_id: 'nile', text: 'the nile is a river that floods in summer', metadata: { kind: 'river', length: 6650 } },
  { external_id: 'rhine', text: 'the rhine is a river that carries ships', metadata: { kind: 'river', length: 1230 } },
  { external_id: 'alps', text: 'the alps are mountains covered with snow', metadata: { kind: 'mountains' } },
];

describe('the Model Context Protocol', () => {
  let target: ApiTarget;
  let api: ApiClient;
  let llm: ScriptedLlm;
  const clients: Client[] = [];

  async function connect(
    key: string,
    options: ConstructorParameters<typeof Client>[1] = {},
    headers: Record<string, string> = {},
  ): Promise<Client> {
    const client = new Client({ name: 'a test', version: '1' }, options);
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${target.baseUrl}/mcp`), {
        requestInit: { headers: { 'x-api-key': key, ...headers } },
      }),
    );
    clients.push(client);
    return client;
  }
  const callTool = async (client: Client, name: string, args: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    return { isError: isError ?? false, texts: (content as { text: string }[]).map(({ text }) => text) };
  };
  const dataFrom = async (client: Client, name: string, args: Record<string, unknown>) => {
    const { content, isError, structuredContent } = await client.callTool({ name, arguments: args });
    const texts = (content as { text: string }[]).map(({ text }) => text);
    expect([isError ?? false, texts.slice(1)]).toEqual([false, []]);
    expect(structuredContent).toEqual(JSON.parse(texts[0]));
    return JSON.parse(texts[0]);
  };
  const errorFrom = async (client: Client, name: string, args: Record<string, unknown>): Promise<string> => {
    const { isError, texts } = await callTool(client, name, args);
    expect([isError, texts.length]).toEqual([true, 1]);
    return texts[0];
  };
  const keyOf = async (role: string) => dataOf(await api.post('/v1/admin/keys', { name: `mcp ${role}`, role }));

  beforeAll(async () => {
    llm = await ScriptedLlm.start();
    target = await startEmbedded({
      LLM_BASE_URL: llm.baseUrl,
      LLM_MODELS: 'scripted',
      MCP: 'true',
      MCP_ORIGINS: 'https://tools.example.com, http://other.example:81',
      HTTP_THREADS: '2',
    });
    api = new ApiClient(target);
    dataOf(await api.post('/v1/collections', { name: 'facts', dim: 64, description: 'what is where' }));
    dataOf(await api.post('/v1/collections/facts/bulk_upsert', { items: ITEMS }));
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    await target?.stop();
    await llm?.close();
  });

  test('describes a collection, answers from it, makes one and deletes from it', async () => {
    const client = await connect(target.adminKey);
    const described = await dataFrom(client, 'describe_collection', { collection: 'facts', samples: 1 });
    expect(described).toMatchObject({ name: 'facts', dim: 64, items: 3, looked_at: 3, description: 'what is where' });
    expect(described.fields).toEqual([
      {
        path: 'kind',
        kinds: ['text'],
        items: 3,
        values: [
          { value: 'river', count: 2 },
          { value: 'mountains', count: 1 },
        ],
        more: false,
      },
      {
        path: 'length',
        kinds: ['number'],
        items: 2,
        values: [
          { value: 1230, count: 1 },
          { value: 6650, count: 1 },
        ],
        more: false,
        least: 1230,
        greatest: 6650,
      },
    ]);
    expect(ITEMS.map(({ text }) => text)).toContain(described.samples[0].text);

    llm.script = { text: ['It floods. <cite n="1">floods in summer</cite>'] };
    const answer = await dataFrom(client, 'ask', {
      collection: 'facts',
      question: 'when does the nile flood?',
      filters: { length: { $gt: 2000 } },
    });
    expect(answer.sentences).toMatchObject([{ text: 'It floods.', citations: [{ external_id: 'nile' }] }]);

    const writer = await connect((await keyOf('readwrite')).key);
    await dataFrom(writer, 'create_collection', { collection: 'made', dim: 8, description: 'by a tool' });
    await dataFrom(writer, 'upsert_text', { collection: 'made', external_id: 'a', text: 'some words' });
    expect(await dataFrom(writer, 'delete_items', { collection: 'made', external_ids: ['a', 'b'] })).toMatchObject({
      deleted: ['a'],
      not_found: ['b'],
    });
    expect(await errorFrom(writer, 'create_collection', { collection: 'made', dim: 8 })).toMatch(/^Error 409/);
    dataOf(await api.delete('/v1/collections/made'));
  });

  test.each(['auto', 'legacy'] as const)('is spoken over standard input and output, too: %s', async (mode) => {
    const client = new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join(__dirname, '../../scripts/quiver.cjs'), 'mcp'],
        env: { PATH: process.env.PATH ?? '', QUIVER_URL: target.baseUrl, QUIVER_API_KEY: target.adminKey },
      }),
    );
    clients.push(client);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('ask');
    const { results } = await dataFrom(client, 'search', { collection: 'facts', text: 'a river', k: 1 });
    expect(results).toHaveLength(1);
    expect(await errorFrom(client, 'search', { collection: 'fact', text: 'a river' })).toContain(
      'did you mean "facts"',
    );
  });

  test('shows its tools with what they take; a key that may only read gets no tool that writes', async () => {
    const [writer, reader] = [
      await connect((await keyOf('readwrite')).key),
      await connect((await keyOf('readonly')).key),
    ];
    const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
    const reading = ['list_collections', 'describe_collection', 'search', 'query', 'ask', 'aggregate', 'fetch'];
    expect(await namesOf(reader)).toEqual(reading);
    expect(await namesOf(writer)).toEqual([...reading, 'upsert_text', 'create_collection', 'delete_items']);
    const { tools } = await writer.listTools();
    const search = tools.find(({ name }) => name === 'search');
    expect(search?.inputSchema).toMatchObject({
      type: 'object',
      required: ['collection'],
      properties: { collection: { type: 'string' }, k: { default: 10, maximum: 100 }, text: { maxLength: 4096 } },
    });
    expect(search?.annotations).toMatchObject({ readOnlyHint: true });
    expect(tools.find(({ name }) => name === 'upsert_text')?.annotations).toMatchObject({ readOnlyHint: false });

    await expect(callTool(reader, 'upsert_text', { collection: 'facts', external_id: 'x', text: 'y' })).rejects.toThrow(
      /upsert_text/,
    );
    errorOf(await api.get('/v1/collections/facts/vectors/x'), 404);
  });

  test.each(['2026', '2025'])('its tools answer what the API answers, to a client of %s', async (year) => {
    const client = await connect(target.adminKey, {
      versionNegotiation: { mode: year === '2026' ? 'auto' : 'legacy' },
    });
    expect(client.getNegotiatedProtocolVersion()).toMatch(new RegExp(`^${year}-`));
    expect((await dataFrom(client, 'list_collections', {})).collections).toEqual([
      expect.objectContaining({ name: 'facts', dim: 64, vector_count: 3, description: 'what is where' }),
    ]);

    const asked = { text: 'a river that floods', k: 2, filters: { length: { $gt: 1000 } } };
    const found = await dataFrom(client, 'search', { collection: 'facts', ...asked });
    expect(found).toEqual(dataOf(await api.post('/v1/collections/facts/search', { ...asked, include_text: true })));
    expect(found.results[0].text).toBe(ITEMS[0].text);
    const both = { text: 'a river', mode: 'keyword', match: 'all', k: 3 };
    const { text: query_text, ...others } = both;
    expect(await dataFrom(client, 'search', { collection: 'facts', ...both })).toEqual(
      dataOf(await api.post('/v1/collections/facts/hybrid_search', { query_text, ...others, include_text: true })),
    );
    expect(found.results.map((hit: { external_id: string }) => hit.external_id)).toEqual(['nile', 'rhine']);

    dataOf(await api.post('/v1/aliases', { actions: [{ create: { alias: `of-${year}`, collection: 'facts' } }] }));
    expect(await dataFrom(client, 'search', { collection: `of-${year}`, ...asked })).toMatchObject({
      results: found.results,
    });
    const byAlias = { collection: `of-${year}`, query: 'mountains with snow', top_k: 1 };
    expect(await dataFrom(client, 'query', byAlias)).toMatchObject({
      collection: 'facts',
      results: [{ external_id: 'alps' }],
    });

    const { results } = await dataFrom(client, 'query', {
      collection: 'facts',
      query: 'mountains with snow',
      top_k: 1,
    });
    expect(results).toEqual([
      expect.objectContaining({ external_id: 'alps', text: ITEMS[2].text, metadata: { kind: 'mountains' } }),
    ]);

    const chosen = { text: 'a river', k: 3, fields: [], order_by: [{ field: 'length' }], total: true };
    expect(await dataFrom(client, 'search', { collection: 'facts', ...chosen })).toMatchObject({
      results: ['rhine', 'nile', 'alps'].map((id) => ({ external_id: id, metadata: {} })),
      total_matches: 3,
      within: 'hits',
    });
    const counted = { facets: [{ field: 'kind' }], by: { field: 'kind', stats: [{ field: 'length', ops: ['max'] }] } };
    const aggregates = await dataFrom(client, 'aggregate', { collection: 'facts', ...counted });
    expect(aggregates).toEqual(dataOf(await api.post('/v1/collections/facts/aggregate', counted)));
    expect(aggregates.facets[0].values[0]).toEqual({ value: 'river', count: 2 });

    const { vectors } = await dataFrom(client, 'fetch', { collection: 'facts', ids: ['alps', 'none'] });
    expect(vectors).toEqual([
      { external_id: 'alps', metadata: { kind: 'mountains' }, text: ITEMS[2].text, version: expect.any(Number) },
    ]);
    const [{ vector }] = (
      await dataFrom(client, 'fetch', { collection: 'facts', ids: ['alps'], include_vectors: true })
    ).vectors;
    expect((await dataFrom(client, 'search', { collection: 'facts', vector, k: 1 })).results[0].external_id).toBe(
      'alps',
    );

    expect(
      await dataFrom(client, 'upsert_text', {
        collection: 'facts',
        external_id: 'etna',
        text: 'etna is a volcano',
        metadata: { kind: 'volcano' },
      }),
    ).toMatchObject({ external_id: 'etna' });
    expect(dataOf(await api.get('/v1/collections/facts/vectors/etna'))).toMatchObject({
      text: 'etna is a volcano',
      metadata: { kind: 'volcano' },
    });
    dataOf(await api.delete('/v1/collections/facts/delete/etna'));
  });

  test('what is wrong is told to the model in the words of the API, and what was ignored too', async () => {
    const client = await connect(target.adminKey);
    expect(await errorFrom(client, 'search', { collection: 'fact', text: 'a' })).toBe(
      'Error 404: collection "fact" does not exist; did you mean "facts"?',
    );
    expect(await errorFrom(client, 'search', { text: 'a' })).toBe('Error 422: collection is required');
    expect(await errorFrom(client, 'search', { collection: 'facts' })).toContain(
      'Error 422: body must have either vector or text',
    );
    expect(await errorFrom(client, 'search', { collection: 'facts', vector: [1, 2] })).toContain(
      'dimension mismatch: the vector has dimension 2',
    );
    expect(await errorFrom(client, 'search', { collection: 'facts', text: 'a', k: 101 })).toBe(
      'Error 400: k must be at most 100 here',
    );
    expect(await errorFrom(client, 'search', { collection: '../keys', text: 'a' })).toContain(
      'Error 400: name must be',
    );
    expect(await errorFrom(client, 'aggregate', { collection: 'facts', stats: [{ field: 'kind' }] })).toContain(
      'stats[0].field',
    );
    expect(await errorFrom(client, 'query', { collection: 'facts', query: ' ' })).toContain(
      'Error 400: query must not be empty',
    );
    expect(await errorFrom(client, 'upsert_text', { collection: 'facts', external_id: 'a' })).toBe(
      'Error 422: text is required',
    );
    const { texts } = await callTool(client, 'search', { collection: 'facts', text: 'a', filter: { kind: 'river' } });
    expect(texts[1]).toBe('Warning: "filter" is not a field and was ignored; did you mean filters?');
    const misspelt = { collection: 'facts', text: 'a', filters: { kin: 'river' } };
    expect((await callTool(client, 'search', misspelt)).texts[1]).toBe(
      'Warning: filters: no item has the field "kin"; did you mean "kind"?',
    );
    expect(await errorFrom(client, 'search', { ...misspelt, strict: true })).toBe(
      'Error 422: refused because of strict: filters: no item has the field "kin"; did you mean "kind"?',
    );
    expect(
      await errorFrom(client, 'upsert_text', {
        collection: 'facts',
        external_id: 'a',
        text: 'b',
        payload: {},
        tags: [],
        strict: true,
      }),
    ).toBe(
      'Error 422: refused because of strict: "payload" is not a field; did you mean metadata?; "tags" is not a field',
    );
    errorOf(await api.get('/v1/collections/facts/vectors/a'), 404);
    await expect(client.callTool({ name: 'drop_everything', arguments: {} })).rejects.toThrow(/drop_everything/);
  });

  test('counts in the usage of the key, and is refused without one', async () => {
    const { id, key } = await keyOf('readonly');
    const client = await connect(key);
    await dataFrom(client, 'list_collections', {});
    const usage = dataOf(await api.get(`/v1/admin/keys/${id}/usage`));
    expect(usage.by_endpoint['POST /mcp']).toBeGreaterThanOrEqual(2);

    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const refused = await api.post('/mcp', list, { key: 'wrong' });
    expect([refused.httpStatus, refused.json]).toEqual([
      401,
      {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32000, message: expect.stringContaining('invalid API key'), data: { code: 401 } },
      },
    ]);
    await expect(connect('wrong')).rejects.toThrow();
    for (const [body, status] of [
      ['{', 422],
      [[list, list], 422],
      [{ id: 1 }, 422],
    ] as const)
      expect((await api.post('/mcp', body)).httpStatus).toBe(status);
    for (const method of ['GET', 'DELETE']) expect((await api.call({ method, path: '/mcp' })).httpStatus).toBe(405);
    const listen = {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: { _meta: META, notifications: { toolsListChanged: true } },
    };
    const answer = await api.post('/mcp', listen, {
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
    });
    expect(answer.json).toMatchObject({ error: { message: expect.stringMatching(/limit/i) } });
  });

  test('pages of other origins are refused, whatever key they have; those of this machine and of MCP_ORIGINS are not', async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const headers = { accept: 'application/json, text/event-stream' };
    const statusFrom = async (origin: string) =>
      (await api.post('/mcp', list, { headers: { ...headers, origin } })).httpStatus;
    for (const origin of [
      'http://localhost',
      'http://localhost:6274',
      'https://127.0.0.1:1',
      'http://[::1]:8000',
      'https://tools.example.com',
      'HTTPS://Tools.Example.com:443',
    ])
      expect([origin, await statusFrom(origin)]).toEqual([origin, 200]);
    const others = [
      'https://evil.example',
      'http://tools.example.com',
      'https://tools.example.com:8443',
      'https://tools.example.com.evil.example',
      'http://localhost.evil.example',
    ];
    for (const origin of [
      ...others,
      'null',
      '',
      'http://evil@localhost',
      'http://localhost/path',
      'file://',
      'chrome-extension://abc',
      'http://localhost, https://evil.example',
    ])
      expect([origin, await statusFrom(origin)]).toEqual([origin, 403]);
    // The page that a hostile name leads to this address: its origin is that name, and so is the host that it asks.
    const rebound = await api.post('/mcp', list, {
      headers: { ...headers, host: 'evil.example', origin: 'http://evil.example' },
    });
    expect(rebound.json).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: {
        code: -32000,
        message: 'pages of this origin may not use /mcp (MCP_ORIGINS, CORS_ORIGINS)',
        data: { code: 403 },
      },
    });
    expect(
      (await api.call({ method: 'GET', path: '/mcp', headers: { origin: 'https://evil.example' } })).httpStatus,
    ).toBe(403);
  });

  test('a key that is limited to collections does and learns by a tool what it may by the API, and no more', async () => {
    dataOf(await api.post('/v1/collections', { name: 'secrets', dim: 64, description: 'hidden words' }));
    dataOf(await api.post('/v1/collections/secrets/upsert', { external_id: 's', text: 'hidden words' }));
    const limited = dataOf(
      await api.post('/v1/admin/keys', {
        name: 'limited',
        role: 'readonly',
        collections: [{ name: 'facts' }, { prefix: 'notes-', role: 'readwrite' }],
      }),
    );
    dataOf(await api.post('/v1/collections', { name: 'notes-a', dim: 64 }, { key: limited.key }));
    const client = await connect(limited.key);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'list_collections',
      'describe_collection',
      'search',
      'query',
      'ask',
      'aggregate',
      'fetch',
      'upsert_text',
      'create_collection',
      'delete_items',
    ]);
    const { collections } = await dataFrom(client, 'list_collections', {});
    expect(collections.map(({ name }: { name: string }) => name).sort()).toEqual(['facts', 'notes-a']);

    // What is there and what is not are refused alike, and no name is told.
    for (const name of ['secrets', 'secret', 'nothing'])
      for (const [tool, args] of [
        ['search', { text: 'hidden words' }],
        ['query', { query: 'hidden words' }],
        ['aggregate', { facets: [{ field: 'a' }] }],
        ['fetch', { ids: ['s'] }],
        ['upsert_text', { external_id: 's', text: 'other words' }],
      ] as const)
        expect(await errorFrom(client, tool, { collection: name, ...args })).toBe(
          `Error 403: this key may not use the collection "${name}"`,
        );
    expect(await errorFrom(client, 'search', { collection: 'notes-secrets', text: 'a' })).toBe(
      'Error 404: collection "notes-secrets" does not exist',
    );
    expect(await errorFrom(client, 'search', { collection: 'notes-b', text: 'a' })).toBe(
      'Error 404: collection "notes-b" does not exist; did you mean "notes-a"?',
    );
    expect(dataOf(await api.get('/v1/collections/secrets/vectors/s')).text).toBe('hidden words');

    expect(await errorFrom(client, 'upsert_text', { collection: 'facts', external_id: 'x', text: 'y' })).toContain(
      'Error 403: this needs a key with the role readwrite',
    );
    errorOf(await api.get('/v1/collections/facts/vectors/x'), 404);
    expect((await dataFrom(client, 'search', { collection: 'facts', text: 'river', k: 1 })).results).toHaveLength(1);
    expect(
      await dataFrom(client, 'upsert_text', { collection: 'notes-a', external_id: 'n', text: 'a note' }),
    ).toMatchObject({ external_id: 'n', status: 'inserted' });

    const reader = await connect(
      dataOf(await api.post('/v1/admin/keys', { name: 'reader', role: 'readonly', collections: [{ name: 'facts' }] }))
        .key,
    );
    expect((await reader.listTools()).tools.map(({ name }) => name)).not.toContain('upsert_text');
    const away = dataOf(
      await api.post('/v1/admin/keys', { name: 'away', role: 'readonly', allowed_networks: ['192.0.2.0/24'] }),
    );
    await expect(connect(away.key)).rejects.toThrow(/may not be used from/);
    for (const name of ['secrets', 'notes-a']) dataOf(await api.delete(`/v1/collections/${name}`));
  });

  test.each(['argument', 'header'])(
    'a text that is stored again with the same Idempotency-Key, as %s, is stored once, and answered as the first time',
    async (how) => {
      const name = `once-${how}`;
      dataOf(await api.post('/v1/collections', { name, dim: 64 }));
      const client = await connect(target.adminKey, {}, how === 'header' ? { 'idempotency-key': `a-${how}` } : {});
      const args = {
        collection: name,
        external_id: 'a',
        text: 'the first text',
        ...(how === 'argument' && { idempotency_key: `a-${how}` }),
      };
      const first = await dataFrom(client, 'upsert_text', args);
      expect(first).toMatchObject({ status: 'inserted' });
      const later = dataOf(
        await api.post(`/v1/collections/${name}/upsert`, { external_id: 'a', text: 'a later text' }),
      );
      const { isError, texts } = await callTool(client, 'upsert_text', args);
      const { timing: _now, ...again } = JSON.parse(texts[0]);
      const { timing: _then, ...before } = first;
      expect({ isError, again }).toEqual({ isError: false, again: before });
      expect(texts[1]).toContain('done by an earlier call');
      expect(dataOf(await api.get(`/v1/collections/${name}/vectors/a`))).toMatchObject({
        text: 'a later text',
        version: later.version,
      });

      expect(await errorFrom(client, 'upsert_text', { ...args, text: 'another' })).toContain(
        'Error 422: this Idempotency-Key was used for another request',
      );
      // What reads is not done once, whatever the header says.
      expect((await dataFrom(client, 'search', { collection: name, text: 'text', k: 1 })).results).toHaveLength(1);
      expect(await errorFrom(client, 'upsert_text', { ...args, idempotency_key: ' ' })).toContain('Error 400');
      const { tools } = await client.listTools();
      expect(
        tools.filter(({ inputSchema }) => 'idempotency_key' in (inputSchema.properties ?? {})).map((tool) => tool.name),
      ).toEqual(['upsert_text', 'create_collection', 'delete_items']);
      dataOf(await api.delete(`/v1/collections/${name}`));
    },
  );

  test('the audit log has a call of a tool as that of its endpoint, and none is made that it can not have', async () => {
    let isRefusing = false;
    const server = await startPlainServer({ MCP: 'true' }, { audit: { isRefusing: () => isRefusing } });
    try {
      const plain = new ApiClient(server);
      dataOf(await plain.post('/v1/collections', { name: 'facts', dim: 64 }));
      const reader = dataOf(
        await plain.post('/v1/admin/keys', { name: 'reader', role: 'readonly', collections: [{ name: 'facts' }] }),
      );
      const call = async (name: string, args: object, key = server.adminKey) => {
        const message = {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: { collection: 'facts', ...args } },
        };
        const answer = await plain.post('/mcp', message, {
          key,
          headers: { accept: 'application/json, text/event-stream' },
        });
        const { endpoint, access, collection, target, code, keyId } = server.answered[server.answered.length - 1];
        return { status: answer.httpStatus, facts: [endpoint, access, collection, target, code, keyId] };
      };
      const item = { external_id: 'a', text: 'b' };
      expect(await call('upsert_text', item)).toEqual({
        status: 200,
        facts: ['/mcp', 'readwrite', 'facts', 'tool:upsert_text', 200, 1],
      });
      expect(await call('search', { text: 'b' }, reader.key)).toEqual({
        status: 200,
        facts: ['/mcp', 'readonly', 'facts', 'tool:search', 200, reader.id],
      });
      expect(await call('search', { text: 'b', collection: 'other' }, reader.key)).toEqual({
        status: 200,
        facts: ['/mcp', 'readonly', 'other', 'tool:search', 403, reader.id],
      });

      isRefusing = true;
      expect(await call('upsert_text', { ...item, external_id: 'late' })).toEqual({
        status: 500,
        facts: ['/mcp', 'readwrite', null, 'tool:upsert_text', 500, 1],
      });
      expect((await call('search', { text: 'b' })).status).toBe(200);
      errorOf(await plain.get('/v1/collections/facts/vectors/late'), 404);
    } finally {
      await server.stop();
    }
  });

  test('is not there unless it is switched on, and keeps the rate limit where it is', async () => {
    const off = await startPlainServer();
    const limited = await startPlainServer({ MCP: 'true', RATE_LIMIT_PER_MINUTE: '2' });
    try {
      errorOf(await new ApiClient(off).post('/mcp', {}), 404);
      const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const send = () =>
        new ApiClient(limited).post('/mcp', list, { headers: { accept: 'application/json, text/event-stream' } });
      expect([(await send()).httpStatus, (await send()).httpStatus]).toEqual([200, 200]);
      const refused = await send();
      expect([refused.httpStatus, Number(refused.headers['retry-after']) > 0]).toEqual([429, true]);
    } finally {
      await off.stop();
      await limited.stop();
    }
  });
});

/** What each message of the protocol of 2026 says of its client. */
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
