import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { type ReceivedSpan, TraceReceiver } from '../support/servers/trace-receiver';

/** Where the time of requests went, as answers, the log and traces tell it: real processes, and a receiver of OTLP. */

const ITEMS = 60;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const SECRET_WORD = 'hidden';

/** A collection of 3 shards; `even` holds for every second item. */
async function store(api: ApiClient): Promise<void> {
  dataOf(await api.post('/v1/collections', { name: 'c', dim: 4, shards: 3 }));
  const items = Array.from({ length: ITEMS }, (_, i) => ({
    external_id: `${SECRET_WORD}-${i}`,
    vector: [i + 1, 1, 2, 3],
    text: `${SECRET_WORD} words ${i}`,
    metadata: { even: i % 2 === 0 },
  }));
  dataOf(await api.post('/v1/collections/c/bulk_upsert', { items }));
}

/** What holds of each profile, whatever was asked. */
function mustAddUp(profile: any): void {
  const parts = ['wait', 'parse', 'route', 'embed', 'queue', 'shards', 'merge', 'other'].map(
    (part) => profile[`${part}_ms`],
  );
  for (const part of parts) expect(part).toBeGreaterThanOrEqual(0);
  expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(profile.total_ms, 2);
  expect(profile.shards.length).toBeGreaterThan(0);
  for (const call of profile.shards) {
    expect(call.start_ms + call.total_ms).toBeLessThanOrEqual(profile.total_ms + 0.001);
    expect(call.wait_ms + call.run_ms + (call.rpc_ms ?? 0)).toBeLessThanOrEqual(call.total_ms + 0.001);
    expect(call.error).toBeNull();
  }
}

const scored = (profile: any): number =>
  profile.shards.reduce(
    (sum: number, call: any) => sum + (call.scored ?? 0) + (call.plan === 'exact' ? call.rescored : 0),
    0,
  );
const kinds = (profile: any): string[] => [...new Set<string>(profile.shards.map((call: any) => call.read))].sort();

/** Each kind of search, with what its profile must say. */
async function profileEach(api: ApiClient, place: 'inline' | 'shard' | 'node'): Promise<void> {
  const vector = [1, 2, 3, 4];
  const ask = async (path: string, body: object): Promise<any> => {
    const { profile, results } = dataOf(await api.post(`${path}?profile=true`, body));
    expect(results.length).toBeGreaterThan(0);
    mustAddUp(profile);
    return profile;
  };
  const plain = await ask('/v1/collections/c/search', { vector, k: 3 });
  expect(plain.shards.map((call: any) => [call.shard, call.place, call.plan, call.attempts])).toEqual(
    [0, 1, 2].map((shard) => [shard, place, 'scan', 1]),
  );
  expect(scored(plain)).toBe(ITEMS);
  expect(plain.embed_ms).toBe(0);
  const filtered = await ask('/v1/collections/c/search', { vector, k: 3, filters: { even: true } });
  expect(scored(filtered)).toBe(ITEMS / 2);
  expect(filtered.shards.reduce((sum: number, call: any) => sum + call.candidates, 0)).toBe(ITEMS / 2);
  const exact = await ask('/v1/collections/c/search', { vector, k: 3, exact: true });
  expect(exact.shards.map((call: any) => call.plan)).toEqual(['exact', 'exact', 'exact']);
  expect(scored(exact)).toBe(ITEMS);
  expect((await ask('/v1/collections/c/search', { text: 'words', k: 3 })).embed_ms).toBeGreaterThan(0);
  const hybrid = await ask('/v1/collections/c/hybrid_search', { query_text: 'words', k: 3 });
  expect(kinds(hybrid)).toEqual(['keywordSearch', 'keywordStatistics', 'search']);
  const bulk = await ask('/v1/collections/c/bulk_search', { queries: [{ vector }, { vector, k: 2 }] });
  expect(bulk.shards.map((call: any) => call.query).sort()).toEqual([0, 0, 0, 1, 1, 1]);
  expect(kinds(await ask('/v1/collections/c/recommend/hidden-1', { k: 2 }))).toEqual(['fetch', 'search']);
  expect(kinds(await ask('/v1/collections/c/rerank', { vector, candidates: ['hidden-1', 'hidden-2'] }))).toEqual([
    'score',
  ]);
  const query = await ask('/v1/query', { query: 'words', collection_name: 'c', top_k: 2 });
  expect(query.embed_ms).toBeGreaterThan(0);
  expect(query.shards[0].texts_ms).toBeGreaterThanOrEqual(0);
  expect(dataOf(await api.post('/v1/collections/c/search', { vector })).profile).toBeUndefined();
  expect(dataOf(await api.post('/v1/collections/c/search?profile=false', { vector })).profile).toBeUndefined();
  errorOf(await api.post('/v1/collections/c/search?profile=perhaps', { vector }), 400);
}

/** The lines of a log that have come whole. */
function linesOf(output: string): any[] {
  return output
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
}

/** The spans of a trace by name, once all with these names are there. */
async function traceOf(
  receiver: TraceReceiver,
  traceId: string,
  names: string[],
): Promise<(name: string) => ReceivedSpan[]> {
  const named = (name: string): ReceivedSpan[] => receiver.trace(traceId).filter((span) => span.name === name);
  await eventually(`the spans ${names.join(', ')} are there`, () => names.every((name) => named(name).length > 0));
  return named;
}

function mustBeWhole(receiver: TraceReceiver, traceId: string): void {
  const spans = receiver.trace(traceId);
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const span of spans) {
    if (span.parent === '' || span.parent === CALLER) continue;
    const parent = byId.get(span.parent)!;
    expect(parent).toBeDefined();
    // Each process has its own clock, which the machine may put right.
    expect(span.startMs).toBeGreaterThan(parent.startMs - 1_000);
    expect(span.endMs).toBeLessThan(parent.endMs + 1_000);
  }
}

test.each([
  ['1', 'http/protobuf'],
  ['2', 'http/json'],
])('an embedded process that serves on %s threads tells where the time went, by %s', async (threads, protocol) => {
  const receiver = await TraceReceiver.start();
  const server = new EmbeddedProcess({
    environment: {
      HTTP_THREADS: threads,
      ...receiver.environment,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      LOG_LEVEL: 'info',
      LOG_REQUESTS: 'all',
      LOG_SLOW_MS: '0',
    },
  });
  try {
    await server.start();
    const api = new ApiClient({ baseUrl: server.baseUrl, adminKey: server.apiKey });
    await store(api);
    const inline = threads === '2';
    if (inline) {
      // What was put a moment ago is searched by its own thread.
      await eventually('a search is inline', async () => {
        const { profile } = dataOf(await api.post('/v1/collections/c/search?profile=true', { vector: [1, 2, 3, 4] }));
        return profile.shards.every((call: any) => call.place === 'inline');
      });
    }
    await profileEach(api, inline ? 'inline' : 'shard');

    const headers = { traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'vendor=1', 'x-request-id': 'ours' };
    const { profile } = dataOf(
      await api.post('/v1/collections/c/search?profile=1', { text: 'hidden', k: 2 }, { headers }),
    );
    expect(profile).toMatchObject({ request_id: 'ours', trace_id: TRACE });
    const named = await traceOf(receiver, TRACE, [
      'POST /v1/collections/{name}/search',
      'search c',
      'embed',
      'merge',
      'shard search',
      'authorise',
      'read body',
      'write answer',
    ]);
    const [request] = named('POST /v1/collections/{name}/search');
    expect(request).toMatchObject({
      kind: 'server',
      parent: CALLER,
      hasFailed: false,
      resource: { 'service.name': 'quiver', 'quiver.role': 'embedded' },
    });
    expect(request.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/collections/{name}/search',
      'http.response.status_code': 200,
      'quiver.request_id': 'ours',
    });
    const [work] = named('search c');
    expect(work).toMatchObject({
      parent: request.spanId,
      attributes: { 'db.system.name': 'quiver', 'db.operation.name': 'search', 'db.collection.name': 'c' },
    });
    for (const name of ['embed', 'merge', 'shard search']) expect(named(name)[0].parent).toBe(work.spanId);
    expect(
      named('shard search')
        .map((span) => Number(span.attributes['quiver.shard']))
        .sort((a, b) => a - b),
    ).toEqual([0, 1, 2]);
    expect(named('shard search')[0].attributes).toMatchObject({
      'quiver.plan': 'scan',
      'quiver.place': inline ? 'inline' : 'shard',
    });
    mustBeWhole(receiver, TRACE);

    const missing = TRACE.replace('4', '5');
    errorOf(
      await api.post(
        '/v1/collections/none/search',
        { vector: [1] },
        { headers: { traceparent: `00-${missing}-${CALLER}-01` } },
      ),
      404,
    );
    const failed = await traceOf(receiver, missing, ['search none']);
    expect(failed('search none')[0]).toMatchObject({ hasFailed: true, attributes: { 'error.type': 'not_found' } });
    expect(failed('POST /v1/collections/{name}/search')[0]).toMatchObject({
      hasFailed: false,
      attributes: { 'quiver.response.code': 404 },
    });

    const unsampled = TRACE.replace('4', '6');
    dataOf(
      await api.post(
        '/v1/collections/c/search',
        { vector: [1, 2, 3, 4] },
        { headers: { traceparent: `00-${unsampled}-${CALLER}-00` } },
      ),
    );
    const metrics = async (): Promise<string> =>
      fetch(`http://127.0.0.1:${server.opsPort}/metrics`).then((answer) => answer.text());
    await eventually(
      'the metrics count what was sent',
      async () => Number(/^quiver_trace_spans_exported_total (\d+)$/m.exec(await metrics())?.[1]) > 100,
    );
    expect(await metrics()).toMatch(/^quiver_trace_spans_dropped_total 0$/m);

    const inLog = (field: string, value: string): any => linesOf(server.output).find((line) => line[field] === value);
    await eventually(
      'both are in the log',
      () => inLog('requestId', 'ours') !== undefined && inLog('trace_id', unsampled) !== undefined,
    );
    expect(inLog('requestId', 'ours')).toMatchObject({
      trace_id: TRACE,
      span_id: request.spanId,
      collection: 'c',
      profile: { shards: expect.any(Array) },
    });
    expect(inLog('trace_id', unsampled)).toMatchObject({ endpoint: '/v1/collections/{name}/search' });
    expect(await server.stop()).toBe(0);
    expect(receiver.trace(unsampled)).toEqual([]);
    expect(JSON.stringify(receiver.spans)).not.toContain(SECRET_WORD);
    expect(JSON.stringify(receiver.spans)).not.toContain(server.apiKey);
  } finally {
    await server.destroy();
    receiver.close();
  }
});

test('without an endpoint nothing of OpenTelemetry is loaded, and slow searches are told with their steps', async () => {
  const server = new EmbeddedProcess({
    environment: { HTTP_THREADS: '1', NODE_DEBUG: 'module', LOG_SLOW_MS: '0', LOG_LEVEL: 'info' },
  });
  try {
    await server.start();
    const api = new ApiClient({ baseUrl: server.baseUrl, adminKey: server.apiKey });
    await store(api);
    for (let i = 0; i < 2; i += 1)
      dataOf(
        await api.post(
          '/v1/collections/c/search',
          { text: 'words' },
          { headers: { 'x-request-id': `s${i}`, traceparent: `00-${TRACE}-${CALLER}-01` } },
        ),
      );
    const lineOf = (id: string): any => linesOf(server.output).find(({ requestId }) => requestId === id);
    await eventually('both are in the log', () => lineOf('s0') !== undefined && lineOf('s1') !== undefined);
    expect(lineOf('s0')).toMatchObject({
      trace_id: TRACE,
      steps: {
        wait: expect.any(Number),
        parse: expect.any(Number),
        embed: expect.any(Number),
        search: expect.any(Number),
        serialise: expect.any(Number),
      },
    });
    // After a slow one, the next is looked at more closely.
    expect(lineOf('s1').profile.shards).toMatchObject([{ plan: 'scan' }, { plan: 'scan' }, { plan: 'scan' }]);
    expect(lineOf('s1').span_id).toBeUndefined();
    expect(server.output).toContain('programs/embedded');
    expect(server.output).not.toMatch(/@opentelemetry\/(?:sdk|exporter|otlp|resources)/);
  } finally {
    await server.destroy();
  }
});

test('a trace of a cluster goes from the coordinator to the nodes and back, and a write through its shards', async () => {
  const receiver = await TraceReceiver.start();
  const cluster = await ClusterProcesses.start({
    nodes: 2,
    coordinators: 1,
    replicas: 2,
    shards: 3,
    environment: receiver.environment,
  });
  try {
    const api = new ApiClient({
      baseUrl: `http://127.0.0.1:${cluster.coordinators[0].port}`,
      adminKey: 'test-admin-key',
    });
    await store(api);
    await profileEach(api, 'node');
    const ask = (traceId: string): Record<string, string> => ({ traceparent: `00-${traceId}-${CALLER}-01` });
    const { profile } = dataOf(
      await api.post('/v1/collections/c/search?profile=true', { vector: [1, 2, 3, 4] }, { headers: ask(TRACE) }),
    );
    for (const call of profile.shards)
      expect(call).toMatchObject({
        node: expect.stringMatching(/^node-[01]$/),
        role: 'primary',
        rpc_ms: expect.any(Number),
      });
    // Who may not ask for the cluster learns of its shards, and of no node.
    const limits = [
      { role: 'readonly' },
      { role: 'readwrite' },
      { role: 'readonly', collections: [{ name: 'c', role: 'admin' }] },
    ];
    for (const limit of limits) {
      const { key } = dataOf(await api.post('/v1/admin/keys', { name: 'reader', ...limit }));
      const answer = await api.post('/v1/collections/c/search?profile=true', { vector: [1, 2, 3, 4] }, { key });
      const { shards } = dataOf(answer).profile;
      expect(shards.map((call: any) => [call.shard, call.node, call.role, call.place])).toEqual(
        [0, 1, 2].map((shard) => [shard, null, null, 'node']),
      );
      for (const call of shards) expect(call.rpc_ms).toEqual(expect.any(Number));
      expect(answer.text).not.toMatch(/node-[01]|127\.0\.0\.1/);
    }
    const named = await traceOf(receiver, TRACE, ['POST /v1/collections/{name}/search', 'search c', 'search', 'wait']);
    await eventually('all of the nodes’ spans are there', () => named('search').length === 3);
    const calls = named('quiver.v1.Reads/Exchange');
    const [clients, servers] = [
      calls.filter(({ kind }) => kind === 'client'),
      calls.filter(({ kind }) => kind === 'server'),
    ];
    expect(clients.map(({ resource }) => resource['quiver.role'])).toEqual([
      'coordinator',
      'coordinator',
      'coordinator',
    ]);
    expect(servers.map(({ resource }) => resource['quiver.role'])).toEqual(['node', 'node', 'node']);
    expect(servers.map(({ parent }) => parent).sort()).toEqual(clients.map(({ spanId }) => spanId).sort());
    expect(
      named('shard search')
        .map(({ spanId }) => spanId)
        .sort(),
    ).toEqual(clients.map(({ parent }) => parent).sort());
    expect(clients[0].attributes).toMatchObject({
      'rpc.system': 'quiver',
      'rpc.service': 'quiver.v1.Reads',
      'server.port': expect.any(Number),
      'quiver.replica.role': 'primary',
    });
    expect(named('search')[0]).toMatchObject({ attributes: { 'quiver.plan': 'scan' } });
    mustBeWhole(receiver, TRACE);

    const writing = TRACE.replace('4', '7');
    dataOf(
      await api.post(
        '/v1/collections/c/upsert',
        { external_id: 'hidden-x', vector: [1, 2, 3, 4] },
        { headers: ask(writing) },
      ),
    );
    const write = await traceOf(receiver, writing, [
      'POST /v1/collections/{name}/upsert',
      'shard write',
      'quiver.v1.Writes/Exchange',
      'write',
    ]);
    await eventually('both ends of the call are there', () => write('quiver.v1.Writes/Exchange').length === 2);
    mustBeWhole(receiver, writing);
    expect(JSON.stringify(receiver.spans)).not.toContain(SECRET_WORD);
  } finally {
    await cluster.destroy();
    receiver.close();
  }
});
