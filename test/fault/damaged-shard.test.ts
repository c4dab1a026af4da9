import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../support/processes/command-run';
import { EmbeddedProcess, type Envelope } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** One shard of an embedded process is damaged: what has nothing to do with it goes on, and what does names it. */

const SHARDS = 2;
let service: EmbeddedProcess;

beforeAll(async () => {
  service = new EmbeddedProcess();
  await service.start();
  let badUid: string | undefined;
  for (const [name, count] of [
    ['bad', 20],
    ['good', 5],
  ] as const) {
    await service.data('POST', '/v1/collections', { name, dim: 2, shards: SHARDS });
    badUid ??= readdirSync(join(service.dataDir, 'node/shards'))[0];
    await service.data('POST', `/v1/collections/${name}/bulk_upsert`, {
      items: Array.from({ length: count }, (_, i) => ({ external_id: `x${i}`, vector: [i, 1], text: `word${i}` })),
    });
  }
  await service.kill();
  const records = join(service.dataDir, 'node/shards', badUid!, '1/records');
  const log = join(
    records,
    readdirSync(records).find((name) => name.endsWith('.log'))!,
  );
  const bytes = readFileSync(log);
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(log, bytes);
  await service.start();
});

afterAll(() => service.destroy());

const SHARD_1 = { shard: 1, reason: expect.stringMatching(/shard 1 of 2 of collection "bad"/) };

test('lists name the shard, and count the others', async () => {
  const { collections } = await service.data('GET', '/v1/collections');
  expect(collections).toMatchObject([
    { name: 'bad', vector_count: -1, unavailable_shards: [SHARD_1] },
    { name: 'good', vector_count: 5, unavailable_shards: [] },
  ]);
  expect(await service.data('GET', '/v1/collections/bad')).toMatchObject(collections[0]);
  expect(await service.data('PATCH', '/v1/collections/bad', { description: 'changed' })).toMatchObject({
    vector_count: -1,
    description: 'changed',
  });
  expect(await service.data('GET', '/v1/health')).toMatchObject({
    status: 'degraded',
    total_vectors: 5,
    total_collections: 2,
    collections: [
      { name: 'bad', vector_count: -1 },
      { name: 'good', vector_count: 5 },
    ],
    unavailable: [{ collection: 'bad', ...SHARD_1 }],
  });
});

test('a key that may not see the collection hears nothing of it', async () => {
  const { key } = await service.data('POST', '/v1/admin/keys', {
    name: 'limited',
    role: 'readonly',
    collections: [{ name: 'good' }],
  });
  const asked = async (path: string): Promise<any> =>
    ((await (await fetch(service.baseUrl + path, { headers: { 'x-api-key': key } })).json()) as Envelope).data;
  expect((await asked('/v1/collections')).collections).toMatchObject([{ name: 'good', vector_count: 5 }]);
  expect(await asked('/v1/health')).toMatchObject({
    status: 'ok',
    total_vectors: 5,
    total_collections: 1,
    unavailable: [],
  });
});

test('the state of shards and the metrics say which is down, and nothing else is', async () => {
  const { shards } = await service.data('GET', '/v1/cluster');
  expect(shards.map(({ collection, shard, state }: any) => [collection, shard, state])).toEqual([
    ['bad', 0, 'ok'],
    ['bad', 1, 'unavailable'],
    ['good', 0, 'ok'],
    ['good', 1, 'ok'],
  ]);
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
  expect(metrics).toMatch(/^vectordb_collections_total 2$/m);
  expect(metrics).toMatch(/^vectordb_vectors_total\{collection="good"\} 5$/m);
  expect(metrics).not.toMatch(/^vectordb_vectors_total\{collection="bad"\}/m);
  expect(metrics).toMatch(/^quiver_shard_up\{collection="bad",shard="1"\} 0$/m);
  expect(metrics).toMatch(/^quiver_shard_up\{collection="bad",shard="0"\} 1$/m);
  expect(await service.data('GET', '/v1/metrics/summary')).toMatchObject({ requests: expect.any(Object) });
});

test('the command line lists them, and says what is missing', async () => {
  const { exitCode, output, messages } = await runCommand(['collections'], {
    QUIVER_URL: service.baseUrl,
    QUIVER_API_KEY: service.apiKey,
  });
  expect(exitCode).toBe(0);
  expect(output).toMatch(/bad +unknown/);
  expect(output).toMatch(/good +5/);
  expect(messages).toMatch(/bad: shard 1 does not answer: /);
});

test('damage that the first write after a start finds is told by the name of the collection, with what to do', async () => {
  const other = new EmbeddedProcess();
  try {
    await other.start();
    await other.data('POST', '/v1/collections', { name: 'rested', dim: 2 });
    await other.data('POST', '/v1/collections/rested/upsert', { external_id: 'a', vector: [1, 2] });
    await other.stop();
    await other.start();
    expect(await other.data('POST', '/v1/collections/rested/search', { vector: [1, 2], k: 1 })).toMatchObject({
      results: [{ external_id: 'a' }],
    });
    const shards = join(other.dataDir, 'node/shards');
    const records = join(shards, readdirSync(shards)[0], '0/records');
    const log = join(
      records,
      readdirSync(records).find((name) => name.endsWith('.log'))!,
    );
    truncateSync(log);
    const told = async (): Promise<Envelope> =>
      other.call('POST', '/v1/collections/rested/upsert', { external_id: 'b', vector: [1, 2] });
    // Nothing is known of it yet but that the records have changed.
    expect((await told()).error!.message).toContain('"rested" is unavailable');
    await eventually('it was opened anew', async () => !(await told()).error!.message.includes('is unavailable'));
    expect((await told()).error!.message).toMatch(
      /^shard 0 of 1 of collection "rested": .*damaged.*quiver repair.*docs\/operations\.md/,
    );
  } finally {
    await other.destroy();
  }
});

test('others are used, made, resharded, optimized, purged and deleted, and then the damaged one is', async () => {
  await service.data('POST', '/v1/collections', { name: 'new', dim: 2, shards: SHARDS });
  await service.data('POST', '/v1/collections/new/upsert', { external_id: 'a', vector: [1, 2] });
  await service.data('POST', '/v1/collections/good/reshard', { shards: 3 });
  await eventually('it has three shards', async () => (await service.data('GET', '/v1/collections/good')).shards === 3);
  await service.data('POST', '/v1/collections/good/optimize');
  await service.data('POST', '/v1/collections/good/purge');
  expect(await service.data('POST', '/v1/collections/good/delete_by_filter', { filters: { none: 1 } })).toMatchObject({
    deleted_count: 0,
  });
  expect(await service.data('GET', '/v1/collections/good')).toMatchObject({ vector_count: 5 });
  await service.data('DELETE', '/v1/collections/new');
  await service.data('DELETE', '/v1/collections/bad');
  expect(await service.data('GET', '/v1/health')).toMatchObject({ status: 'ok', total_vectors: 5, unavailable: [] });
});
