import { existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HubCache } from '../../coordinator/embedding/transformers/hub-cache';
import { HubDownload } from '../../coordinator/embedding/transformers/hub-download';
import { silentLogger } from '../../shared/logs/logger';
import { systemClock } from '../../shared/time/clock';
import { ModelHub } from '../support/model-hub';
import { writeTinyModel } from '../support/onnx/tiny-model';
import { TransformersModels } from '../support/transformers-models';

describe('models of a hub', () => {
  const models = new TransformersModels();
  let hub: ModelHub;
  beforeAll(async () => {
    writeTinyModel(models.path('hub/quiver/both'), { files: ['model', 'model_quantized'], more: { '1_Pooling/config.json': { pooling_mode_cls_token: true } } });
    writeTinyModel(models.path('hub/quiver/plain'), { files: ['model'] });
    writeTinyModel(models.path('hub/quiver/split'), { files: ['model'], more: { 'onnx/model.onnx_data': { weights: 'beside the graph' } } });
    const config = { model_type: 'bert', 'transformers.js_config': { use_external_data_format: { 'model.onnx': true } } };
    writeFileSync(models.path('hub/quiver/split/config.json'), JSON.stringify(config));
    hub = await ModelHub.start(models.path('hub'));
  });
  afterAll(async () => {
    await hub.close();
    await models.close();
  });

  let made = 0;
  function emptyCache(given: { isOffline?: boolean; hub?: string; answerMs?: number; silenceMs?: number } = {}) {
    const folder = models.path(`cache-${made++}`);
    return cacheIn(folder, given);
  }
  function cacheIn(folder: string, given: { isOffline?: boolean; hub?: string; answerMs?: number; silenceMs?: number } = {}) {
    const { answerMs, silenceMs } = given;
    const download = new HubDownload({ hub: given.hub ?? hub.url, clock: systemClock, log: silentLogger, answerMs, silenceMs });
    return { folder, cache: new HubCache({ folder, isOffline: given.isOffline ?? false, hub: download, log: silentLogger }) };
  }
  function filesOf(folder: string): string[] {
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => entry.name).sort();
  }

  test('a model is fetched once, then taken from the folder, offline too', async () => {
    const cacheDir = models.path('fetched');
    const first = await models.open('quiver/both', { hub: hub.url, isOffline: false, cacheDir });
    const [vector] = await first.embed(['the cat'], { dim: 32, kind: 'passage' });
    const asked = hub.asked.length;
    expect(asked).toBeGreaterThan(3);
    expect(hub.asked).not.toContain('onnx/model.onnx');
    expect(models.logged.map(({ message }) => message)).toEqual(['fetching the embedding model', 'fetched the embedding model', 'embedding model ready']);
    expect(models.logged.at(-1)?.fields).toMatchObject({ model: 'quiver/both', dtype: 'q8', pooling: ['cls'] });
    for (const isOffline of [false, true]) {
      const again = await models.open('quiver/both', { hub: hub.url, isOffline, cacheDir });
      expect((await again.embed(['the cat'], { dim: 32, kind: 'passage' }))[0]).toEqual(vector);
    }
    expect(hub.asked.length).toBe(asked);
    truncateSync(join(cacheDir, 'quiver/both/onnx/model_quantized.onnx'), 10_000);
    await expect(models.open('quiver/both', { cacheDir })).rejects.toMatchObject({
      message: "its q8 graph can't be loaded; remove it from EMBEDDING_CACHE_DIR to have it fetched again",
    });
  });

  test('what a model does not have is not missed', async () => {
    const { cache, folder } = emptyCache();
    expect(await cache.folderOf('quiver/plain', 'auto')).toBe(join(folder, 'quiver/plain'));
    expect(filesOf(folder)).toEqual(['config.json', 'model.onnx', 'tokenizer.json', 'tokenizer_config.json']);
    await expect(cache.folderOf('quiver/plain', 'q8')).rejects.toMatchObject({ message: 'the hub has no ONNX graph of it for EMBEDDING_DTYPE=q8' });
  });

  test('weights beside the graph come with it', async () => {
    const { cache, folder } = emptyCache();
    await cache.folderOf('quiver/split', 'fp32');
    expect(filesOf(folder)).toContain('model.onnx_data');
    expect(filesOf(folder)).toContain('model.onnx');
  });

  test.each<[string, 'silent' | 'stalls' | 'cut' | 'forbidden' | 'broken', string, string]>([
    ['does not answer', 'silent', 'config.json', 'the hub did not answer within 200 ms'],
    ['stops in the middle', 'stalls', 'onnx/model.onnx', 'the download of onnx/model.onnx broke off'],
    ['breaks off', 'cut', 'tokenizer.json', 'the download of tokenizer.json broke off'],
    ['refuses', 'forbidden', 'config.json', 'the hub has no public model of that name (it answers 401)'],
    ['is out of order', 'broken', 'tokenizer_config.json', 'the hub answers 503'],
  ])('a hub that %s: the reason is said, nothing half is kept, and a later try succeeds', async (_title, mischief, path, reason) => {
    const { cache, folder } = emptyCache(mischief === 'silent' ? { answerMs: 200 } : mischief === 'stalls' ? { silenceMs: 1000 } : {});
    hub.misbehave(path, mischief);
    await expect(cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({ kind: 'embedding_unavailable', message: expect.stringContaining(reason) });
    expect(filesOf(folder)).not.toContain('config.json');
    expect(filesOf(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
    hub.misbehave(path, null);
    await cacheIn(folder).cache.folderOf('quiver/plain', 'auto');
    expect(filesOf(folder)).toContain('config.json');
  });

  test('no hub, no such model, no network wanted', async () => {
    await expect(emptyCache({ hub: 'http://127.0.0.1:9' }).cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({ message: "the hub can't be reached" });
    await expect(emptyCache().cache.folderOf('quiver/none', 'auto')).rejects.toMatchObject({ message: 'the hub has no config.json of it' });
    await expect(emptyCache({ isOffline: true }).cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({ message: expect.stringContaining('EMBEDDING_OFFLINE') });
  });

  test('a folder that cannot be written is named by its setting', async () => {
    const { cache, folder } = emptyCache();
    writeFileSync(folder, 'a file where the folder should be');
    await expect(cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({ message: "it can't be written to EMBEDDING_CACHE_DIR" });
    rmSync(folder);
  });
});
