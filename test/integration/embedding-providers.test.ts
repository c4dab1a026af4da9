import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddingModel } from '../../coordinator/models/embedding-provider';
import { writeTinyModel } from '../support/onnx/tiny-model';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { EmbeddingsServer } from '../support/servers/embeddings-server';
import { TransformersModels } from '../support/shards/transformers-models';

const KEY = 'sk-of-a-test-0123456789';
const TEXTS = Array.from({ length: 40 }, (_, i) => `the ${i % 2 === 0 ? 'cat' : 'dog'} and ${i} red stones on a river`);
const ITEMS = TEXTS.map((text, i) => ({ external_id: `t${i}`, text }));

/** A service as a process of its own, and a real model behind a server of the OpenAI protocol. */
describe('embedding providers of a service', () => {
  const models = new TransformersModels();
  const started: EmbeddedProcess[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'quiver-providers-'));
  const local = join(folder, 'tiny');
  let model: EmbeddingModel;
  let server: EmbeddingsServer;
  beforeAll(async () => {
    writeTinyModel(local);
    model = await models.open(local);
    server = await EmbeddingsServer.start(async (texts) =>
      (await model.embed(texts, { dim: 32, kind: 'passage' })).map((vector) => [...vector]),
    );
    writeFileSync(join(folder, 'key'), `${KEY}\n`);
  });
  afterAll(async () => {
    for (const service of started) await service.destroy();
    await server?.close();
    await models.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(given: object, dataDir?: string): Promise<EmbeddedProcess> {
    const big = { url: server.url, models: ['tiny'], key_file: join(folder, 'key'), batch: 16, ...given };
    const environment = {
      EMBEDDING_MODEL: local,
      EMBEDDING_THREADS: '1',
      EMBEDDING_PROVIDERS: JSON.stringify({ big }),
      LOG_LEVEL: 'debug',
    };
    const service = new EmbeddedProcess({ environment, dataDir });
    started.push(service);
    await service.start();
    return service;
  }
  const failure = async (
    service: EmbeddedProcess,
    path: string,
    body: object,
  ): Promise<{ code: number; message: string }> => (await service.call('POST', path, body)).error!;
  const create = (service: EmbeddedProcess, name: string, embedding: object): Promise<any> =>
    service.data('POST', '/v1/collections', { name, embedding });

  test('find what the same model in the process finds, and ask for a text once, over starts', async () => {
    const service = await start({});
    expect(await create(service, 'near', { model: `local:${local}` })).toMatchObject({ dim: 32 });
    expect(await create(service, 'far', { model: 'big:tiny' })).toMatchObject({ dim: 32 });
    for (const name of ['near', 'far'])
      await service.data('POST', `/v1/collections/${name}/bulk_upsert`, { items: ITEMS });
    const question = { text: 'seven red dogs', k: 10, exact: true };
    const ranked = async (from: EmbeddedProcess, name: string): Promise<any[]> =>
      (await from.data('POST', `/v1/collections/${name}/search`, question)).results;
    const near = await ranked(service, 'near');
    const far = await ranked(service, 'far');
    expect(far.map(({ external_id: id }) => id)).toEqual(near.map(({ external_id: id }) => id));
    for (const [i, { score }] of far.entries()) expect(score).toBeCloseTo(near[i].score, 5);
    expect(new Set(server.asked.map(({ key }) => key))).toEqual(new Set([`Bearer ${KEY}`]));
    expect(Math.max(...server.asked.map(({ input }) => input.length))).toBe(16);
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    expect(metrics).toContain('quiver_embedding_provider_texts_total{provider="big",source="provider"}');
    expect(await service.stop()).toBe(0);

    server.asked.length = 0;
    const again = await start({}, service.dataDir);
    expect((await again.data('GET', '/v1/collections/far')).embedding).toMatchObject({ model: 'big:tiny' });
    await create(again, 'copy', { model: 'big:tiny' });
    await again.data('POST', '/v1/collections/copy/bulk_upsert', { items: ITEMS });
    expect(await ranked(again, 'copy')).toEqual(far);
    // Only the dimension was asked for.
    expect(server.texts).toEqual(['dimension']);
    // Without its provider, vectors go on, and texts say why not.
    expect(await again.stop()).toBe(0);
    const without = await start({ models: ['other'] }, service.dataDir);
    const error = await failure(without, '/v1/collections/far/search', question);
    expect(error.message).toContain(
      '"big:tiny" is no embedding model that this server may use: EMBEDDING_PROVIDERS has big:other',
    );
    const [{ vector }] = [await without.data('GET', '/v1/collections/far/vectors/t0')];
    expect((await without.data('POST', '/v1/collections/far/search', { vector, k: 1 })).results[0].external_id).toBe(
      't0',
    );
    for (const one of started) expect(one.output).not.toContain(KEY);
  });

  test('what a day may cost holds over starts, and the cache goes on', async () => {
    const service = await start({ tokens_per_day: 400 });
    await create(service, 'c', { model: 'big:tiny' });
    await service.data('POST', '/v1/collections/c/bulk_upsert', { items: ITEMS.slice(0, 20) });
    const more = Array.from({ length: 60 }, (_, i) => ({ external_id: `m${i}`, text: `another text ${i} of the sea` }));
    const refused = await failure(service, '/v1/collections/c/bulk_upsert', { items: more });
    expect(refused).toMatchObject({
      code: 429,
      message: expect.stringContaining('The 400 tokens that the embedding provider "big"'),
    });
    expect(await service.stop()).toBe(0);
    const again = await start({ tokens_per_day: 400 }, service.dataDir);
    expect((await failure(again, '/v1/collections/c/bulk_upsert', { items: more })).code).toBe(429);
    await again.data('POST', '/v1/collections/c/bulk_upsert', { items: ITEMS.slice(0, 20) });
    expect((await again.data('GET', '/v1/collections/c')).vector_count).toBe(20);
  });
});
