import type { CollectionObstacle } from '../../../../../coordinator/service/collections/collection-obstacle';
import { ALIASES_PATH, aliasesToValue } from '../../../../../coordinator/service/collections/alias-record';
import { collectionToValue } from '../../../../../coordinator/service/collections/collection-record';
import { StoredJobs } from '../../../../../coordinator/jobs/record/stored-jobs';
import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import { VerifyKind } from '../../../../../coordinator/jobs/backup/verify-kind';
import { type Logger, silentLogger } from '../../../../../shared/base/logs/logger';
import { Pace } from '../../../../../shared/base/time/pace';
import { TEST_SEALS } from '../../../../support/cluster/test-seals';
import {
  backupFromEntry,
  backupPath,
  restorePath,
  type RestoreRecord,
} from '../../../../../coordinator/jobs/backup/backup-record';
import { BackupRequests, newBackupRecord } from '../../../../../coordinator/jobs/backup/backup-requests';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { type BackupManifest, sealedText } from '../../../../../shared/backup-store/backup-format';
import type { BackupTarget, OpenTarget } from '../../../../../shared/backup-store/backup-target';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ManualClock } from '../../../../support/manual-clock';

/** What may be asked for beside what is under way. */

const ID = '20260101T000000Z-00000000';
const manifest: BackupManifest = {
  id: ID,
  startedAt: '2026-01-01T00:00:00.000Z',
  finishedAt: '2026-01-01T00:00:01.000Z',
  version: '',
  scheduled: false,
  collections: [],
  keys: [],
  copiedBytes: 0,
  totalBytes: 0,
};
let store: ClusterStore;
let objects: Map<string, Buffer>;
let requests: BackupRequests;
let requestsWith: (collectionObstacle?: CollectionObstacle) => BackupRequests;
let jobs: StoredJobs;

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  objects = new Map([[`backups/${ID}.json`, sealedText(manifest, { seals: TEST_SEALS, key: `backups/${ID}.json` })]]);
  const target: BackupTarget = {
    name: 'file:/x',
    seals: TEST_SEALS,
    get: async (key) => objects.get(key) ?? null,
    put: async (key, bytes) => void objects.set(key, bytes),
    create: async (key, bytes) => !objects.has(key) && objects.set(key, bytes).has(key),
    delete: async (key) => void objects.delete(key),
    list: async () => [],
  };
  const openTarget: OpenTarget = (name) => {
    if (name !== target.name)
      throw new QuiverError('invalid_parameter', 'target must be BACKUP_TARGET, or a folder below it');
    return target;
  };
  const clock = new ManualClock(0);
  jobs = new StoredJobs({
    store,
    clock,
    leadership: () => ONLY_DRIVER,
    log: silentLogger as Logger,
    kinds: [new VerifyKind({ openTarget, pace: new Pace(Infinity), clock, log: silentLogger as Logger })],
    rightsOf: {},
  });
  requestsWith = (collectionObstacle) =>
    new BackupRequests({
      store,
      clock,
      target: target.name,
      openTarget,
      reshards: { mustBeEmpty: async () => undefined },
      jobs,
      collectionObstacle,
    });
  requests = requestsWith();
});
afterEach(() => store.close());

test('a backup is not deleted while it is restored, and is afterwards', async () => {
  const restore = await requests.restore({ backup: ID, rename: {}, keys: false });
  await expect(requests.delete(ID)).rejects.toMatchObject({
    kind: 'conflict',
    code: 409,
    message: expect.stringContaining(restore.id),
  });
  expect((await requests.get(ID)).state).toBe('done');
  const key = restorePath(restore.id);
  const { value } = (await store.get(key))!;
  await store.transact(
    [],
    [{ type: 'put', key, value: JSON.stringify({ ...(JSON.parse(value) as RestoreRecord), state: 'done' }) }],
  );
  expect((await requests.delete(ID)).state).toBe('deleting');
});

test('what not every member knows is not restored', async () => {
  const record = collectionToValue({
    ...{ uid: 'c', identity: 'c', name: 'c', dim: 2, metric: 'l2', description: null, language: 'zh' },
    ...{ quantization: 'int8', shards: 1, replicas: 1, minInSync: 1, createdAt: '', embeddingModel: null },
    ...{ keywordFields: [{ path: 'title', weight: 2, analyser: 'de' }], state: 'ready' },
    embedding: { model: 'local:builtin', template: '{{title}} {{text}}' },
  });
  const object = { key: `data/${ID}/c.0/a/shard.json`, bytes: 1, sha256: 'ab'.repeat(32) };
  const shards = [{ items: 0, totalBytes: 1, needs: [ID], manifest: object }];
  const collections = [{ name: 'c', uid: 'c', record, shards }];
  const key = `backups/${ID}.json`;
  objects.set(key, sealedText({ ...manifest, collections }, { seals: TEST_SEALS, key }));
  const restore = { backup: ID, rename: {}, keys: false };
  const features = ['keyword-fields', 'field-analysers', 'unspaced-languages', 'passage-templates'] as const;
  for (const missing of features) {
    const obstacle: CollectionObstacle = (feature) => (feature === missing ? `nobody knows ${feature}` : null);
    await expect(requestsWith(obstacle).restore(restore)).rejects.toMatchObject({
      kind: 'unavailable',
      message: `nobody knows ${missing}`,
    });
  }
  expect((await store.list('/q/restores')).entries).toEqual([]);
  expect((await requests.restore(restore)).collections).toHaveLength(1);
});

test('nothing is restored into a name that is an alias', async () => {
  const record = collectionToValue({
    ...{ uid: 'c', identity: 'c', name: 'c', dim: 2, metric: 'l2', description: null, language: null },
    ...{ quantization: 'int8', shards: 1, replicas: 1, minInSync: 1, createdAt: '', embeddingModel: null },
    state: 'ready',
  });
  const key = `backups/${ID}.json`;
  const object = { key: `data/${ID}/c.0/a/shard.json`, bytes: 1, sha256: 'ab'.repeat(32) };
  const shards = [{ items: 0, totalBytes: 1, needs: [ID], manifest: object }];
  const collections = [{ name: 'c', uid: 'c', record, shards }];
  objects.set(key, sealedText({ ...manifest, collections }, { seals: TEST_SEALS, key }));
  const aliases = new Map([['c', { collection: 'other', createdAt: '', switchedAt: null, handsOn: 'admin' as const }]]);
  await store.transact([], [{ type: 'put', key: ALIASES_PATH, value: aliasesToValue(aliases) }]);
  await expect(requests.restore({ backup: ID, rename: {}, keys: false })).rejects.toMatchObject({
    kind: 'already_exists',
    message: expect.stringContaining('"c" is an alias'),
  });
  expect((await store.list('/q/restores')).entries).toEqual([]);
});

test('a backup under way is given up also where its target is one of this service no more', async () => {
  const record = newBackupRecord(0, 'file:/old', { collections: null, scheduled: false });
  await store.transact([], [{ type: 'put', key: backupPath(record.id), value: JSON.stringify(record) }]);
  expect((await requests.delete(record.id)).id).toBe(record.id);
  expect(backupFromEntry((await store.get(backupPath(record.id)))!).state).toBe('cancelling');
});

test('a backup that failed is deleted also where its target is one of this service no more', async () => {
  const record = {
    ...newBackupRecord(0, 'file:/old', { collections: null, scheduled: false }),
    state: 'failed' as const,
    error: 'target must be BACKUP_TARGET, or a folder below it',
  };
  await store.transact([], [{ type: 'put', key: backupPath(record.id), value: JSON.stringify(record) }]);
  expect((await requests.delete(record.id)).state).toBe('deleting');
  expect(backupFromEntry((await store.get(backupPath(record.id)))!).state).toBe('deleting');
});

test('who asks for keys is told what comes back with them', async () => {
  expect((await requests.restore({ backup: ID, rename: {}, keys: false })).warnings).toEqual([]);
  expect((await requests.restore({ backup: ID, rename: {}, keys: true })).warnings).toEqual([
    expect.stringContaining('2026-01-01'),
  ]);
});

describe('a verification', () => {
  const verifications = async (): Promise<string[]> =>
    (await jobs.list()).filter(({ kind }) => kind === 'verify').map(({ state }) => state);

  test('is a job, and one at a time for a backup', async () => {
    expect((await requests.verify(ID)).verification).toMatchObject({ state: 'running', objects: 0 });
    expect((await requests.verify(ID)).verification).toMatchObject({ state: 'running' });
    expect((await requests.get(ID)).verification).toMatchObject({ state: 'running', checkedAt: null });
    expect(await verifications()).toEqual(['queued']);
  });

  test('ends when its backup is deleted', async () => {
    await requests.verify(ID);
    await requests.delete(ID);
    expect(await verifications()).toEqual(['cancelled']);
  });

  test('that an earlier version began keeps its backup from nothing', async () => {
    const earlier = {
      ...newBackupRecord(0, 'file:/x', { collections: null, scheduled: false }),
      id: ID,
      state: 'verifying' as const,
      verified: { objects: 1, of: 2 },
    };
    await store.transact([], [{ type: 'put', key: backupPath(ID), value: JSON.stringify(earlier) }]);
    expect((await requests.get(ID)).state).toBe('done');
    expect((await requests.delete(ID)).state).toBe('deleting');
  });
});
