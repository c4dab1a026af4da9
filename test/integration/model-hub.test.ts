import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HubCache } from '../../coordinator/models/transformers/hub-cache';
import { HubDownload } from '../../coordinator/models/transformers/hub-download';
import { pinOf } from '../../coordinator/models/transformers/model-pin';
import { silentLogger } from '../../shared/base/logs/logger';
import { systemClock } from '../../shared/base/time/clock';
import { type HubMischief, ModelHub } from '../support/servers/model-hub';
import { writeTinyModel } from '../support/onnx/tiny-model';
import { TransformersModels } from '../support/shards/transformers-models';

describe('models of a hub', () => {
  const models = new TransformersModels();
  let hub: ModelHub;
  beforeAll(async () => {
    writeTinyModel(models.path('hub/quiver/both'), {
      files: ['model', 'model_quantized'],
      more: { '1_Pooling/config.json': { pooling_mode_cls_token: true } },
    });
    writeTinyModel(models.path('hub/quiver/plain'), { files: ['model'] });
    writeTinyModel(models.path('hub/quiver/split'), {
      files: ['model'],
      more: { 'onnx/model.onnx_data': { weights: 'beside the graph' } },
    });
    const config = {
      model_type: 'bert',
      'transformers.js_config': { use_external_data_format: { 'model.onnx': true } },
    };
    writeFileSync(models.path('hub/quiver/split/config.json'), JSON.stringify(config));
    hub = await ModelHub.start(models.path('hub'));
  });
  afterAll(async () => {
    await hub.close();
    await models.close();
  });

  let made = 0;
  interface Given {
    isOffline?: boolean;
    hub?: string;
    answerMs?: number;
    silenceMs?: number;
    freePart?: number;
    revision?: string;
    /** Known digests of the model's files. */
    sha256?: Record<string, string>;
  }
  function emptyCache(given: Given = {}) {
    const folder = models.path(`cache-${made++}`);
    return cacheIn(folder, given);
  }
  function cacheIn(folder: string, given: Given = {}) {
    const { answerMs, silenceMs, freePart } = given;
    const download = new HubDownload({
      hub: given.hub ?? hub.url,
      clock: systemClock,
      log: silentLogger,
      answerMs,
      silenceMs,
      freePart,
    });
    return {
      folder,
      cache: new HubCache({
        folder,
        isOffline: given.isOffline ?? false,
        hub: download,
        log: silentLogger,
        pinOf: (name) => ({ ...pinOf(name, given.revision ?? ''), sha256: given.sha256 ?? {} }),
      }),
    };
  }
  function filesOf(folder: string): string[] {
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name)
      .sort();
  }

  test('a model is fetched once, then taken from the folder, offline too', async () => {
    const cacheDir = models.path('fetched');
    const first = await models.open('quiver/both', { hub: hub.url, isOffline: false, cacheDir });
    const [vector] = await first.embed(['the cat'], { dim: 32, kind: 'passage' });
    const asked = hub.asked.length;
    expect(asked).toBeGreaterThan(3);
    expect(hub.asked).not.toContain('onnx/model.onnx');
    expect(models.logged.map(({ message }) => message)).toEqual([
      'fetching the embedding model',
      'fetched the embedding model',
      'embedding model ready',
    ]);
    expect(models.logged.at(-1)?.fields).toMatchObject({ model: 'quiver/both', dtype: 'q8', pooling: ['cls'] });
    for (const isOffline of [false, true]) {
      const again = await models.open('quiver/both', { hub: hub.url, isOffline, cacheDir });
      expect((await again.embed(['the cat'], { dim: 32, kind: 'passage' }))[0]).toEqual(vector);
    }
    expect(hub.asked.length).toBe(asked);
    truncateSync(join(cacheDir, 'quiver/both/onnx/model_quantized.onnx'), 10_000);
    await expect(models.open('quiver/both', { cacheDir })).rejects.toMatchObject({
      message:
        'its onnx/model_quantized.onnx is not what it was when it was first used (quiver-lock.json); remove it from EMBEDDING_CACHE_DIR to have it fetched again',
    });
  });

  test('what a model does not have is not missed', async () => {
    const { cache, folder } = emptyCache();
    expect(await cache.folderOf('quiver/plain', 'auto')).toBe(join(folder, 'quiver/plain'));
    expect(filesOf(folder)).toEqual([
      'config.json',
      'model.onnx',
      'quiver-lock.json',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    await expect(cache.folderOf('quiver/plain', 'q8')).rejects.toMatchObject({
      message: 'the hub has no ONNX graph of it for EMBEDDING_DTYPE=q8',
    });
  });

  test('weights beside the graph come with it', async () => {
    const { cache, folder } = emptyCache();
    await cache.folderOf('quiver/split', 'fp32');
    expect(filesOf(folder)).toContain('model.onnx_data');
    expect(filesOf(folder)).toContain('model.onnx');
  });

  test.each<[string, HubMischief, string, string]>([
    ['does not answer', 'silent', 'config.json', 'the hub did not answer within 200 ms'],
    ['stops in the middle', 'stalls', 'onnx/model.onnx', 'the download of onnx/model.onnx broke off'],
    ['says next to nothing', 'drips', 'config.json', 'the download of config.json broke off'],
    ['says next to nothing of a large file', 'drips', 'onnx/model.onnx', 'the download of onnx/model.onnx broke off'],
    ['does not end', 'floods', 'config.json', "the hub's config.json has more than 16777216 bytes"],
    [
      'does not end a large file',
      'floods',
      'onnx/model.onnx',
      'the disk of EMBEDDING_CACHE_DIR has too little room for it',
    ],
    ['breaks off', 'cut', 'tokenizer.json', 'the download of tokenizer.json broke off'],
    ['refuses', 'forbidden', 'config.json', 'the hub has no public model of that name (it answers 401)'],
    ['is out of order', 'broken', 'tokenizer_config.json', 'the hub answers 503'],
  ])(
    'a hub that %s: the reason is said, nothing half is kept, and a later try succeeds',
    async (_title, mischief, path, reason) => {
      const { cache, folder } = emptyCache(
        mischief === 'silent'
          ? { answerMs: 200 }
          : mischief === 'stalls' || mischief === 'drips'
            ? { silenceMs: 1000 }
            : mischief === 'floods'
              ? { freePart: 1 }
              : {},
      );
      hub.misbehave(path, mischief);
      await expect(cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({
        kind: 'embedding_unavailable',
        message: expect.stringContaining(reason),
      });
      expect(filesOf(folder)).not.toContain('config.json');
      expect(filesOf(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
      hub.misbehave(path, null);
      await cacheIn(folder).cache.folderOf('quiver/plain', 'auto');
      expect(filesOf(folder)).toContain('config.json');
    },
  );

  const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');
  const lockOf = (folder: string, model = 'quiver/plain') =>
    JSON.parse(readFileSync(join(folder, model, 'quiver-lock.json'), 'utf8'));

  test('all files are of the commit that the first was of, and recorded with their digests', async () => {
    const { cache, folder } = emptyCache();
    hub.revisions.length = 0;
    await cache.folderOf('quiver/plain', 'auto');
    expect(hub.revisions[0]).toBe('main');
    expect(new Set(hub.revisions.slice(1))).toEqual(new Set([hub.commit]));
    expect(lockOf(folder)).toMatchObject({ revision: 'main', commit: hub.commit });
    const at = join(folder, 'quiver/plain');
    expect(lockOf(folder).files).toEqual(
      Object.fromEntries(
        ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'onnx/model.onnx'].map((path) => [
          path,
          { bytes: readFileSync(join(at, path)).length, sha256: sha256(join(at, path)) },
        ]),
      ),
    );
  });

  test('a mirror that says neither commit nor digests serves as well', async () => {
    const { commit } = hub;
    hub.commit = null;
    try {
      const { cache, folder } = emptyCache();
      hub.revisions.length = 0;
      await cache.folderOf('quiver/plain', 'auto');
      expect(new Set(hub.revisions)).toEqual(new Set(['main']));
      expect(lockOf(folder)).toMatchObject({ revision: 'main', commit: null });
    } finally {
      hub.commit = commit;
    }
  });

  test.each(['onnx/model.onnx', 'tokenizer.json', 'config.json'])(
    '%s that is not what the hub says it is: refused, and nothing of it is kept',
    async (path) => {
      const { cache, folder } = emptyCache();
      hub.misbehave(path, 'altered');
      await expect(cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({
        kind: 'embedding_unavailable',
        message: expect.stringContaining(`the download of ${path} does not match`),
      });
      expect(existsSync(join(folder, 'quiver/plain', path))).toBe(false);
      hub.misbehave(path, null);
    },
  );

  test('another format is taken from the same commit, and what was there stays compared', async () => {
    const { cache, folder } = emptyCache();
    await cache.folderOf('quiver/both', 'fp32');
    hub.revisions.length = 0;
    await cache.folderOf('quiver/both', 'q8');
    expect(new Set(hub.revisions)).toEqual(new Set([hub.commit]));
    expect(lockOf(folder, 'quiver/both')).toMatchObject({
      revision: 'main',
      commit: hub.commit,
      files: { 'onnx/model.onnx': {}, 'onnx/model_quantized.onnx': {} },
    });
    truncateSync(join(folder, 'quiver/both/onnx/model.onnx'), 1);
    await expect(cache.folderOf('quiver/both', 'q8')).rejects.toMatchObject({
      message: expect.stringContaining('its onnx/model.onnx is not what it was'),
    });
  });

  test('known digests decide, whatever the hub says', async () => {
    const right = sha256(models.path('hub/quiver/plain/onnx/model.onnx'));
    await emptyCache({ sha256: { 'onnx/model.onnx': right } }).cache.folderOf('quiver/plain', 'auto');
    const { cache, folder } = emptyCache({
      sha256: { 'onnx/model.onnx': right.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) },
    });
    await expect(cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({
      message: expect.stringContaining("the hub's onnx/model.onnx is not the one that is known at this revision"),
    });
    expect(filesOf(folder)).not.toContain('model.onnx');
  });

  test('the default model is pinned to a commit with digests, others to what an operator says', () => {
    const pin = pinOf('Xenova/all-MiniLM-L6-v2', '');
    expect(pin.revision).toMatch(/^[0-9a-f]{40}$/);
    expect(Object.keys(pin.sha256)).toContain('onnx/model_quantized.onnx');
    expect(pinOf('Xenova/all-MiniLM-L6-v2', 'main')).toEqual({ revision: 'main', isExplicit: true, sha256: {} });
    expect(pinOf('Xenova/all-MiniLM-L6-v2', pin.revision).sha256).toEqual(pin.sha256);
    expect(pinOf('quiver/plain', '')).toEqual({ revision: 'main', isExplicit: false, sha256: {} });
  });

  test('another revision is fetched when it is asked for, and refused offline; a copy that nobody asks about stays', async () => {
    const { cache, folder } = emptyCache();
    await cache.folderOf('quiver/plain', 'auto');
    hub.revisions.length = 0;
    await cacheIn(folder, { revision: hub.commit as string, isOffline: true }).cache.folderOf('quiver/plain', 'auto');
    await expect(
      cacheIn(folder, { revision: 'v2', isOffline: true }).cache.folderOf('quiver/plain', 'auto'),
    ).rejects.toMatchObject({
      message: expect.stringMatching(/not known to be of EMBEDDING_REVISION v2, and EMBEDDING_OFFLINE/),
    });
    expect(hub.revisions).toEqual([]);
    await cacheIn(folder, { revision: 'v2' }).cache.folderOf('quiver/plain', 'auto');
    expect(hub.revisions[0]).toBe('v2');
    expect(lockOf(folder).revision).toBe('v2');
    hub.revisions.length = 0;
    await cacheIn(folder).cache.folderOf('quiver/plain', 'auto');
    expect(hub.revisions).toEqual([]);
  });

  test('a folder that somebody else filled is trusted once, and compared from then on', async () => {
    const { cache, folder } = emptyCache();
    await cache.folderOf('quiver/plain', 'auto');
    rmSync(join(folder, 'quiver/plain/quiver-lock.json'));
    await cacheIn(folder, { isOffline: true }).cache.folderOf('quiver/plain', 'auto');
    expect(lockOf(folder)).toMatchObject({
      revision: null,
      commit: null,
      files: { 'onnx/model.onnx': { sha256: sha256(join(folder, 'quiver/plain/onnx/model.onnx')) } },
    });
    writeFileSync(join(folder, 'quiver/plain/tokenizer.json'), '{}');
    await expect(cacheIn(folder, { isOffline: true }).cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({
      message: expect.stringMatching(/^its tokenizer.json is not what it was.*remove it from EMBEDDING_CACHE_DIR/),
    });
    writeFileSync(join(folder, 'quiver/plain/quiver-lock.json'), 'torn');
    await expect(cacheIn(folder).cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: 'its quiver-lock.json is damaged',
    });
  });

  test('EMBEDDING_SHA256 is what the graph must have, of the hub or of a folder', async () => {
    const name = models.path('hub/quiver/plain');
    const right = sha256(join(name, 'onnx/model.onnx'));
    await models.open(name, { pin: { model: name, revision: '', sha256: right } });
    const wrong = '0'.repeat(64);
    await expect(models.open(name, { pin: { model: name, revision: '', sha256: wrong } })).rejects.toMatchObject({
      message: `its onnx/model.onnx has the SHA-256 ${right}, not that of EMBEDDING_SHA256`,
    });
    await models.open(name, { pin: { model: 'another', revision: '', sha256: wrong } });
    const split = models.path('hub/quiver/split/onnx');
    const both = createHash('sha256')
      .update(readFileSync(join(split, 'model.onnx')))
      .update(readFileSync(join(split, 'model.onnx_data')))
      .digest('hex');
    await expect(
      models.open('quiver/split', {
        hub: hub.url,
        isOffline: false,
        dtype: 'fp32',
        pin: { model: 'quiver/split', revision: '', sha256: wrong },
      }),
    ).rejects.toMatchObject({
      message: expect.stringContaining(`has the SHA-256 ${both}`),
    });
  });

  test('no hub, no such model, no network wanted', async () => {
    await expect(
      emptyCache({ hub: 'http://127.0.0.1:9' }).cache.folderOf('quiver/plain', 'auto'),
    ).rejects.toMatchObject({ message: "the hub can't be reached at 127.0.0.1:9" });
    await expect(emptyCache().cache.folderOf('quiver/none', 'auto')).rejects.toMatchObject({
      message: 'the hub has no config.json of it',
    });
    await expect(emptyCache({ isOffline: true }).cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({
      message: expect.stringContaining('EMBEDDING_OFFLINE'),
    });
  });

  test('a folder that cannot be written is named by its setting', async () => {
    const { cache, folder } = emptyCache();
    writeFileSync(folder, 'a file where the folder should be');
    await expect(cache.folderOf('quiver/plain', 'auto')).rejects.toMatchObject({
      message: "it can't be written to EMBEDDING_CACHE_DIR",
    });
    rmSync(folder);
  });
});
