import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { ModelHub } from '../support/servers/model-hub';
import { writeTinyModel } from '../support/onnx/tiny-model';

/** A service with transformers models, as a process of its own: what clients see of them over restarts. */
describe('embedding models of a service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-embedding-'));
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  const started: EmbeddedProcess[] = [];
  beforeAll(() => {
    writeTinyModel(first, { seed: 1 });
    writeTinyModel(second, { seed: 2, files: ['model_quantized'] });
  });
  afterAll(async () => {
    for (const service of started) await service.destroy();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(environment: Record<string, string>, dataDir?: string): Promise<EmbeddedProcess> {
    const service = new EmbeddedProcess({ environment: { EMBEDDING_THREADS: '1', ...environment }, dataDir });
    started.push(service);
    await service.start();
    return service;
  }
  const texts = (from: number, count: number): object => ({
    items: Array.from({ length: count }, (_, i) => ({
      external_id: `t${from + i}`,
      text: `the cat and dog ${from + i} on a red stone`,
    })),
  });

  test('a collection keeps its model, whatever is configured later', async () => {
    const before = await start({ EMBEDDING_MODEL: first });
    await before.data('POST', '/v1/collections', { name: 'kept', dim: 32 });
    expect((await before.data('GET', '/v1/collections/kept')).embedding_model).toBeNull();
    await before.data('POST', '/v1/collections/kept/bulk_upsert', texts(0, 20));
    expect((await before.data('GET', '/v1/collections/kept')).embedding_model).toBe(first);
    const question = { text: 'the cat and dog 7 on a red stone', k: 3 };
    const { results } = await before.data('POST', '/v1/collections/kept/search', question);
    expect(results[0]).toMatchObject({ external_id: 't7' });
    expect(results[0].score).toBeCloseTo(1, 4);
    expect(await before.stop()).toBe(0);

    const after = await start({ EMBEDDING_MODEL: second }, before.dataDir);
    expect((await after.data('GET', '/v1/health')).embedding).toEqual({
      configured: second,
      active: second,
      fallback_reason: null,
      dim: expect.any(Number),
      models: [`local:${second}`, 'local:builtin'],
    });
    expect((await after.data('POST', '/v1/collections/kept/search', question)).results).toEqual(results);
    await after.data('POST', '/v1/collections', { name: 'newer', dim: 32 });
    await after.data('POST', '/v1/collections/newer/bulk_upsert', texts(0, 2));
    expect(
      (await after.data('GET', '/v1/collections')).collections.map(
        (one: { embedding_model: string }) => one.embedding_model,
      ),
    ).toEqual([first, second]);
    expect(await after.stop()).toBe(0);
  });

  test('a model that is gone: its texts are refused with the reason, vectors keep working', async () => {
    const service = await start({ EMBEDDING_MODEL: first });
    await service.data('POST', '/v1/collections', { name: 'orphan', dim: 32 });
    await service.data('POST', '/v1/collections/orphan/bulk_upsert', texts(0, 3));
    await service.stop();
    renameSync(first, `${first}-away`);
    try {
      await service.start();
      const answer = await service.call('POST', '/v1/collections/orphan/search', { text: 'the cat' });
      expect(answer).toMatchObject({
        status: 'error',
        data: null,
        error: { code: 500, message: 'The embedding model "(a file)" can\'t be loaded: there is no such folder' },
      });
      expect((await service.call('POST', '/v1/collections/orphan/bulk_upsert', texts(3, 2))).error?.code).toBe(500);
      const vector = Array.from({ length: 32 }, (_, i) => i / 10);
      await service.data('POST', '/v1/collections/orphan/upsert', { external_id: 'v', vector });
      const { results, total_count } = await service.data('POST', '/v1/collections/orphan/search', { vector, k: 1 });
      expect([results[0].external_id, total_count]).toEqual(['v', 4]);
      expect(
        (await service.data('POST', '/v1/collections/orphan/hybrid_search', { query_text: 'cat', alpha: 0 })).results,
      ).toHaveLength(3);
    } finally {
      renameSync(`${first}-away`, first);
    }
  });

  test('without a hub and a copy new collections fall back to builtin, said once and shown', async () => {
    const model = 'Xenova/all-MiniLM-L6-v2';
    const service = await start({ EMBEDDING_MODEL: model, EMBEDDING_HUB: 'http://127.0.0.1:9' });
    const { embedding } = await service.data('GET', '/v1/health');
    expect(embedding).toEqual({
      configured: model,
      active: 'builtin',
      fallback_reason: `The embedding model "${model}" can't be loaded: the hub can't be reached at 127.0.0.1:9`,
      dim: null,
      models: [`local:${model}`, 'local:builtin'],
    });
    await service.data('POST', '/v1/collections', { name: 'lexical', dim: 7 });
    await service.data('POST', '/v1/collections/lexical/bulk_upsert', texts(0, 3));
    await service.data('POST', '/v1/collections/lexical/search', { text: 'cat' });
    expect((await service.data('GET', '/v1/collections/lexical')).embedding_model).toBe('builtin');
    expect(service.output.match(/CAN'T BE LOADED/g)).toHaveLength(1);
    // No stack, and a sentence in the closing lines.
    expect(service.output).not.toMatch(/\bat .*\.js:\d+/);
    expect(service.output).toContain(`\nTexts are compared by words, not by meaning. ${embedding.fallback_reason}.\n`);
    expect(await service.call('POST', '/v1/demo')).toMatchObject({
      status: 'success',
      warnings: [`Texts are compared by words, not by meaning. ${embedding.fallback_reason}.`],
    });
  });

  test('a stop while a model is being fetched does not wait for it', async () => {
    const hub = await ModelHub.start(folder);
    writeTinyModel(join(folder, 'quiver/fetched'), { files: ['model'] });
    hub.misbehave('onnx/model.onnx', 'stalls');
    const service = new EmbeddedProcess({ environment: { EMBEDDING_MODEL: 'quiver/fetched', EMBEDDING_HUB: hub.url } });
    started.push(service);
    try {
      const ready = service.start().catch(() => 'ended');
      await eventually('the graph is asked for', () => hub.asked.includes('onnx/model.onnx'));
      expect(await service.stop()).toBe(0);
      await ready;
    } finally {
      await hub.close();
    }
  });

  test('text into a collection that does not fit the model names both dimensions and the model', async () => {
    const service = await start({ EMBEDDING_MODEL: second });
    await service.data('POST', '/v1/collections', { name: 'narrow', dim: 5 });
    const { error } = await service.call('POST', '/v1/collections/narrow/upsert', { external_id: 'a', text: 'cat' });
    expect(error).toMatchObject({ code: 400, message: expect.stringMatching(/dimension mismatch.* 5,.*second.* 32/) });
    expect((await service.data('GET', '/v1/collections/narrow')).vector_count).toBe(0);
  });

  test('a stop while texts are being embedded is clean, and nothing of them is stored', async () => {
    const slow = join(folder, 'slow');
    writeTinyModel(slow, { shape: { hidden: 256, intermediate: 1024, layers: 4, positions: 512 } });
    // Leaves running requests a second, and the rest of the stop ten.
    const service = await start({ EMBEDDING_MODEL: slow, SHUTDOWN_TIMEOUT_MS: '11000' });
    await service.data('POST', '/v1/collections', { name: 'busy', dim: 256 });
    const items = Array.from({ length: 1000 }, (_, i) => ({
      external_id: `s${i}`,
      text: `${i} ${'the slow river '.repeat(120)}`,
    }));
    const writing = service.call('POST', '/v1/collections/busy/bulk_upsert', { items }).catch(() => null);
    // Queries go first: an answer means that the others have begun.
    await service.data('POST', '/v1/collections/busy/search', { text: 'rain' });
    expect(await service.stop()).toBe(0);
    const answer = await writing;
    await service.start();
    expect((await service.data('GET', '/v1/collections/busy')).vector_count).toBe(
      answer?.status === 'success' ? 1000 : 0,
    );
  });
});
