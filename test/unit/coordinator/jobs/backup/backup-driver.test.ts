import { jobFromEntry } from '../../../../../coordinator/jobs/record/job-record';
import { StoredJobs } from '../../../../../coordinator/jobs/record/stored-jobs';
import { BACKUP_CLAIM } from '../../../../../shared/backup-store/content-schemas';
import { BackupDriver } from '../../../../../coordinator/jobs/backup/backup-driver';
import type { BackupObserver } from '../../../../../coordinator/jobs/backup/backup-observer';
import {
  type BackupRecord,
  backupPath,
  type RestoreRecord,
  restoreFromEntry,
  restorePath,
} from '../../../../../coordinator/jobs/backup/backup-record';
import { BackupRepository } from '../../../../../coordinator/jobs/backup/backup-repository';
import { newBackupRecord } from '../../../../../coordinator/jobs/backup/backup-requests';
import {
  collectionPath,
  type CollectionRecord,
  COLLECTIONS_PREFIX,
  collectionToValue,
} from '../../../../../coordinator/service/collections/collection-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { type BackupManifest, contentOf, sealedText } from '../../../../../shared/backup-store/backup-format';
import type { ClusterStore, Guard, StoreChange } from '../../../../../shared/cluster-store/cluster-store';
import type { OpenTarget } from '../../../../../shared/backup-store/backup-target';
import { CONTROLLER_PATH } from '../../../../../shared/cluster-store/entries/members';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { type Logger, silentLogger } from '../../../../../shared/base/logs/logger';
import type { ShardBackupState } from '../../../../../shared/contract/shard/shard-backup';
import { type Clock, systemClock } from '../../../../../shared/base/time/clock';
import { ManualClock } from '../../../../support/manual-clock';
import { eventually } from '../../../../support/eventually';
import { OTHER_SEALS, TEST_SEALS } from '../../../../support/cluster/test-seals';
import { MemoryTarget } from '../../../../support/targets/memory-target';

/** Who drives backups and restores while others believe that they do. */

const NOBODY: BackupObserver = { ended: () => undefined, unreadable: () => undefined, newest: () => undefined };
const DONE: ShardBackupState = {
  state: 'done',
  copiedBytes: 1,
  totalBytes: 1,
  items: 1,
  manifest: { key: 'data/x', bytes: 1, sha256: 'a'.repeat(64) },
  position: null,
  needs: [],
  error: null,
};
const FAILED: ShardBackupState = { ...DONE, state: 'failed', manifest: null, error: 'the disk is gone' };

const COLLECTION: CollectionRecord = {
  uid: 'u',
  identity: 'u',
  name: 'c',
  dim: 2,
  metric: 'l2',
  description: null,
  language: null,
  quantization: 'int8',
  shards: 1,
  replicas: 1,
  minInSync: 1,
  createdAt: '',
  embeddingModel: null,
  state: 'ready',
};

let store: ClusterStore;
let target: MemoryTarget;
let repository: BackupRepository;
const TIME = '2026-01-01T00:00:00.000Z';
const clock = new ManualClock(0);
/** Pauses between attempts pass by themselves. */
const drivenBy: Clock = {
  wallMs: () => clock.wallMs(),
  monotonicMs: () => systemClock.monotonicMs() + clock.monotonicMs(),
};
const drivers: BackupDriver[] = [];
const warnings: string[] = [];

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  target = new MemoryTarget();
  repository = new BackupRepository(target, () => clock.wallMs());
  warnings.length = 0;
});

afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.close();
  await store.close();
});

/** The next controller, as far as it knows. */
async function elected(name: string): Promise<{ guard: Guard }> {
  const result = await store.transact([], [{ type: 'put', key: CONTROLLER_PATH, value: name }]);
  return { guard: { key: CONTROLLER_PATH, revision: result.applied ? result.revision : 0 } };
}

/** `readShard`: what shards answer to the order of a backup. */
async function drive(
  leadership: { guard: Guard | null },
  readShard: () => Promise<ShardBackupState>,
  openTarget: OpenTarget = () => target,
): Promise<void> {
  const never = (): never => {
    throw new Error('nothing here asks for it');
  };
  const log = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
  const jobs = new StoredJobs({
    store,
    clock,
    leadership: () => leadership,
    log: silentLogger as Logger,
    kinds: [],
    rightsOf: {},
  });
  const driver = new BackupDriver({
    ...{
      store,
      clock: drivenBy,
      leadership,
      jobs,
      log,
      observer: NOBODY,
      version: '',
      schedule: null,
      target: target.name,
      openTarget,
    },
    shards: { read: readShard as never, make: never },
    ...{
      reshards: { plannedRestore: never, mustBeEmpty: never },
      catalog: null as never,
      quota: null as never,
      drop: never,
      aliasesSettled: never,
    },
  });
  drivers.push(driver);
  await driver.start();
}

describe('a backup', () => {
  let record: BackupRecord;
  const state = async (): Promise<string | null> => {
    const entry = await store.get(backupPath(record.id));
    return entry === null ? null : (JSON.parse(entry.value) as BackupRecord).state;
  };

  beforeEach(async () => {
    record = newBackupRecord(clock.wallMs(), target.name, { collections: null, scheduled: false });
    await store.transact(
      [],
      [
        { type: 'put', key: collectionPath('c'), value: collectionToValue(COLLECTION) },
        { type: 'put', key: backupPath(record.id), value: JSON.stringify(record) },
      ],
    );
  });

  test('that another driver has finished is not made void by one that was replaced and fails', async () => {
    let answer: (state: ShardBackupState) => void = () => undefined;
    let isAsked = false;
    await drive(await elected('first'), () => {
      isAsked = true;
      return new Promise((resolve) => (answer = resolve));
    });
    await eventually('the first driver asks the shard', async () => isAsked);
    await drive(await elected('second'), async () => DONE);
    await eventually('the second driver has finished it', async () => (await state()) === null);
    answer(FAILED);
    await eventually('the first driver hears that it was replaced', async () =>
      warnings.some((message) => message.includes('step failed')),
    );
    expect(await repository.find(record.id)).not.toBeNull();
    expect(await target.list('void/')).toEqual([]);
  });

  test('or restore in a state that this version does not know is left as it is', async () => {
    const restore = { id: 'restore-x', backup: 'x', target: target.name, collections: [], keys: false, endedAt: null };
    const unknown = [
      [backupPath('19990101T000000Z-00000000'), { ...record, id: '19990101T000000Z-00000000', state: 'resting' }],
      [restorePath('restore-x'), { ...restore, state: 'resting', startedAt: TIME, error: null }],
    ].map(([key, value]) => ({ type: 'put' as const, key: key as string, value: JSON.stringify(value) }));
    await store.transact([], unknown);
    await drive(await elected('first'), async () => DONE);
    await eventually('the known one is done', async () => (await state()) === null);
    for (const { key, value } of unknown) expect((await store.get(key))?.value).toBe(value);
    expect(await target.list('void/')).toEqual([]);
  });

  test('that fails is void, and shown as failed', async () => {
    await drive(await elected('first'), async () => FAILED);
    await eventually('it has failed', async () => (await state()) === 'failed');
    expect((await target.list('void/')).map(({ key }) => key)).toEqual([`void/${record.id}.json`]);
  });

  test('whose driver ends between the two is void and failed by the next one', async () => {
    const { value } = (await store.get(backupPath(record.id)))!;
    await store.transact(
      [],
      [
        {
          type: 'put',
          key: backupPath(record.id),
          value: JSON.stringify({
            ...(JSON.parse(value) as BackupRecord),
            state: 'cancelling',
            error: 'the disk is gone',
          }),
        },
      ],
    );
    await drive(await elected('second'), async () => DONE);
    await eventually('it has failed', async () => (await state()) === 'failed');
    expect(JSON.parse((await store.get(backupPath(record.id)))!.value)).toMatchObject({ error: 'the disk is gone' });
    expect(await target.list('void/')).toHaveLength(1);
  });

  describe('while the cluster store is away for a moment', () => {
    const RUNNING: ShardBackupState = { ...DONE, state: 'running', manifest: null };

    /** Has the store refuse one change that `isChosen`; answers whether it has. */
    function failOnce(isChosen: (changes: StoreChange[]) => boolean): () => boolean {
      const transact = store.transact.bind(store);
      let hasFailed = false;
      store.transact = async (guards, changes) => {
        if (hasFailed || !isChosen(changes)) return transact(guards, changes);
        hasFailed = true;
        throw new QuiverError('unavailable', 'the store is away');
      };
      return () => hasFailed;
    }

    const isPutOf = (changes: StoreChange[]): boolean =>
      changes.some(({ type, key }) => type === 'put' && key === backupPath(record.id));
    const isDone = async (): Promise<void> => {
      await eventually('it is over', async () => [null, 'failed'].includes(await state()));
      expect(await state()).toBeNull();
      expect(await repository.find(record.id)).not.toBeNull();
      expect(await target.list('void/')).toEqual([]);
    };

    test('goes on when how far it is could not be stored', async () => {
      let hasFailed = (): boolean => false;
      let asked = 0;
      await drive(await elected('first'), async () => {
        asked += 1;
        // What comes from here on is how far it is.
        if (asked === 1) hasFailed = failOnce(isPutOf);
        clock.advance(2_100);
        return asked > 3 ? DONE : RUNNING;
      });
      await isDone();
      expect(asked).toBe(4);
      expect(hasFailed()).toBe(true);
    });

    test('begins again when what it can not do without failed', async () => {
      const hasFailed = failOnce(isPutOf);
      await drive(await elected('first'), async () => DONE);
      await isDone();
      expect(hasFailed()).toBe(true);
    });

    test('begins again when its end could not be stored', async () => {
      const hasFailed = failOnce((changes) =>
        changes.some(({ type, key }) => type === 'delete' && key === backupPath(record.id)),
      );
      await drive(await elected('first'), async () => DONE);
      await isDone();
      expect(hasFailed()).toBe(true);
    });

    test('begins again when the collections could not be read', async () => {
      const list = store.list.bind(store);
      let hasFailed = false;
      store.list = async (prefix) => {
        if (hasFailed || prefix !== COLLECTIONS_PREFIX) return list(prefix);
        hasFailed = true;
        throw new QuiverError('unavailable', 'the store is away');
      };
      await drive(await elected('first'), async () => DONE);
      await isDone();
      expect(hasFailed).toBe(true);
    });
  });

  test('that is given up meanwhile ends, and is void', async () => {
    await drive(await elected('first'), async () => {
      const { value } = (await store.get(backupPath(record.id)))!;
      await store.transact(
        [],
        [
          {
            type: 'put',
            key: backupPath(record.id),
            value: JSON.stringify({ ...(JSON.parse(value) as BackupRecord), state: 'cancelling' }),
          },
        ],
      );
      clock.advance(2_100);
      return { ...DONE, state: 'running', manifest: null };
    });
    await eventually('it is over', async () => (await state()) === null);
    expect(await repository.find(record.id)).toBeNull();
    expect(await target.list('void/')).toHaveLength(1);
  });

  test('is what another driver has published by the time that this one does', async () => {
    const late: BackupManifest = {
      id: record.id,
      startedAt: record.startedAt,
      finishedAt: '2026-01-01T00:00:00.000Z',
      version: '',
      scheduled: false,
      collections: [],
      keys: [],
      copiedBytes: 7,
      totalBytes: 7,
    };
    await drive(await elected('second'), async () => {
      await repository.publish(late);
      return DONE;
    });
    await eventually('it is over', async () => (await state()) === null);
    expect(await repository.find(record.id)).toEqual(late);
  });
});

describe('a restore of a backup that was deleted, and is claimed', () => {
  const BACKUP = '20260101T000000Z-00000000';
  const CLAIM = '20260102T000000Z-00000000';

  async function restoredWith(held: Pick<RestoreRecord, 'isHeld'>): Promise<RestoreRecord> {
    const manifest: BackupManifest = {
      id: BACKUP,
      startedAt: TIME,
      finishedAt: TIME,
      version: '',
      scheduled: false,
      collections: [],
      keys: [],
      copiedBytes: 0,
      totalBytes: 0,
    };
    await target.put(`backups/${BACKUP}.json`, sealedText(manifest));
    await target.put(`void/${BACKUP}.json`, sealedText({ id: BACKUP, at: '' }));
    await target.put(`claims/${CLAIM}.json`, sealedText({ id: CLAIM, startedAt: '', bases: [BACKUP] }));
    const record: RestoreRecord = {
      id: `restore-${CLAIM}`,
      backup: BACKUP,
      target: target.name,
      state: 'running',
      collections: [],
      ...held,
      keys: false,
      startedAt: '',
      endedAt: null,
      error: null,
    };
    await store.transact([], [{ type: 'put', key: restorePath(record.id), value: JSON.stringify(record) }]);
    await drive(await elected('next'), async () => DONE);
    const found = async (): Promise<RestoreRecord> => restoreFromEntry((await store.get(restorePath(record.id)))!);
    await eventually('it is over', async () => ['done', 'failed'].includes((await found()).state));
    return found();
  }

  test('goes on where it is noted that the claim was in time', async () => {
    expect(await restoredWith({ isHeld: true })).toMatchObject({ state: 'done', error: null });
  });

  test('fails where it is not: the claim may have come too late', async () => {
    expect(await restoredWith({})).toMatchObject({
      state: 'failed',
      error: `backup "${BACKUP}" does not exist any more`,
    });
  });

  test('notes it once it has looked', async () => {
    const present = target.get.bind(target);
    target.get = async (key) => (key.startsWith('void/') ? null : present(key));
    expect(await restoredWith({})).toMatchObject({ state: 'done', isHeld: true });
  });
});

describe('a restore that can not succeed', () => {
  const BACKUP = '20260101T000000Z-00000000';

  async function restoredOf(keys: string[], given: Partial<RestoreRecord>): Promise<RestoreRecord> {
    await repository.publish({
      id: BACKUP,
      startedAt: TIME,
      finishedAt: TIME,
      version: '',
      scheduled: false,
      collections: [],
      keys,
      copiedBytes: 0,
      totalBytes: 0,
    });
    const record: RestoreRecord = {
      id: 'restore-20260102T000000Z-00000000',
      backup: BACKUP,
      target: target.name,
      state: 'running',
      collections: [],
      keys: true,
      startedAt: '',
      endedAt: null,
      error: null,
      ...given,
    };
    await store.transact([], [{ type: 'put', key: restorePath(record.id), value: JSON.stringify(record) }]);
    await drive(await elected('next'), async () => DONE);
    const found = async (): Promise<RestoreRecord> => restoreFromEntry((await store.get(restorePath(record.id)))!);
    await eventually('it is over', async () => ['done', 'failed'].includes((await found()).state));
    return found();
  }

  test.each<[string, string[], Partial<RestoreRecord>, string]>([
    ['a key of its backup is none', ['{"id":2}'], {}, 'damaged'],
    ['its backup is another one by now', [], { manifests: { [BACKUP]: 'ab'.repeat(32) } }, 'not what it was'],
  ])('ends as failed: %s', async (_, keys, given, error) => {
    expect(await restoredOf(keys, given)).toMatchObject({ state: 'failed', error: expect.stringContaining(error) });
  });

  test('ends as failed where what goes wrong is what nobody expects', async () => {
    const list = target.list.bind(target);
    target.list = async () => Promise.reject(new TypeError('x is not a function'));
    const get = target.get.bind(target);
    target.get = async (key) =>
      key.startsWith('claims/') ? Promise.reject(new TypeError('x is not a function')) : get(key);
    expect(await restoredOf([], { keys: false })).toMatchObject({
      state: 'failed',
      error: 'it failed; the log says why',
    });
    Object.assign(target, { list, get });
  });

  test('ends as failed where its keys were not judged, and are not sealed by this service', async () => {
    target.seals = OTHER_SEALS;
    const other = new BackupRepository(target, () => clock.wallMs());
    await other.publish({
      id: BACKUP,
      startedAt: TIME,
      finishedAt: TIME,
      version: '',
      scheduled: false,
      collections: [],
      keys: [],
      copiedBytes: 0,
      totalBytes: 0,
    });
    target.seals = TEST_SEALS;
    const publish = repository.publish.bind(repository);
    repository.publish = async (manifest) => manifest;
    expect(await restoredOf([], {})).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('not sealed by this service'),
    });
    repository.publish = publish;
  });
});

test('a restore holds the logs that it reads from the beginning, and no others', async () => {
  const CLAIM = '20260102T000000Z-00000000';
  const part = (fromUid: string, base?: string) => ({
    from: 'c',
    fromUid,
    record: collectionToValue(COLLECTION),
    ...(base !== undefined && { base, upTo: [1] }),
    shardsReady: 0,
  });
  const BASE = '20260101T000000Z-00000000';
  const manifest: BackupManifest = {
    id: BASE,
    startedAt: TIME,
    finishedAt: TIME,
    version: '',
    scheduled: false,
    collections: [],
    keys: [],
    copiedBytes: 0,
    totalBytes: 0,
  };
  await repository.publish(manifest);
  const collections = [part('begins', ''), part('goes on', BASE), part('of the backup')];
  const record: RestoreRecord = {
    id: `restore-${CLAIM}`,
    backup: BASE,
    target: target.name,
    state: 'running',
    collections,
    keys: false,
    startedAt: '',
    endedAt: null,
    error: null,
  };
  await store.transact([], [{ type: 'put', key: restorePath(record.id), value: JSON.stringify(record) }]);
  await drive(await elected('next'), async () => DONE);
  await eventually('it has a claim', async () => (await target.get(`claims/${CLAIM}.json`)) !== null);
  expect(contentOf(BACKUP_CLAIM, '', (await target.get(`claims/${CLAIM}.json`))!)).toMatchObject({
    bases: [BASE],
    logs: ['begins'],
  });
});

describe('in a target that was that of this service once', () => {
  const OLD = 'file:/old';
  const openTarget: OpenTarget = (name) => {
    if (name === OLD) throw new QuiverError('invalid_parameter', 'target must be BACKUP_TARGET, or a folder below it');
    return target;
  };
  const put = (key: string, record: BackupRecord | RestoreRecord): Promise<unknown> =>
    store.transact([], [{ type: 'put', key, value: JSON.stringify(record) }]);
  const found = async <Content>(key: string): Promise<Content | null> => {
    const entry = await store.get(key);
    return entry === null ? null : (JSON.parse(entry.value) as Content);
  };
  /** One that would be begun before any of today. */
  const old = (): BackupRecord => ({
    ...newBackupRecord(clock.wallMs(), OLD, { collections: null, scheduled: false }),
    id: '19700101T000000Z-00000000',
  });

  test('a backup has failed, and keeps no other waiting', async () => {
    const [before, next] = [
      old(),
      {
        ...newBackupRecord(clock.wallMs(), target.name, { collections: null, scheduled: false }),
        id: '19700101T000000Z-00000001',
      },
    ];
    for (const record of [before, next]) await put(backupPath(record.id), record);
    await drive(await elected('next'), async () => DONE, openTarget);
    await eventually('the other one is over', async () => (await found(backupPath(next.id))) === null);
    expect(await repository.find(next.id)).not.toBeNull();
    expect(await found(backupPath(before.id))).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('BACKUP_TARGET'),
    });
    expect(await target.list('void/')).toEqual([]);
  });

  test.each([
    ['that has failed is shown so', 'cancelling', 'the disk is gone'],
    ['that is given up is over', 'cancelling', null],
    ['that is deleted is over', 'deleting', null],
    ['that is verified is over', 'verifying', null],
  ] as const)('a backup %s', async (_, state, error) => {
    const record: BackupRecord = { ...old(), state, error };
    await put(backupPath(record.id), record);
    await drive(await elected('next'), async () => DONE, openTarget);
    await eventually('it is over', async () =>
      ['failed', undefined].includes((await found<BackupRecord>(backupPath(record.id)))?.state),
    );
    expect((await found<BackupRecord>(backupPath(record.id)))?.error ?? null).toBe(error);
  });

  test('a verification that an earlier version began becomes a job', async () => {
    const record: BackupRecord = { ...old(), target: target.name, state: 'verifying' };
    await put(backupPath(record.id), record);
    await drive(await elected('next'), async () => DONE);
    await eventually('it is a job', async () => (await found(backupPath(record.id))) === null);
    const { entries } = await store.list('/q/jobs/');
    expect(entries.map(jobFromEntry)).toMatchObject([
      { kind: 'verify', state: 'queued', input: { backup: record.id, target: target.name } },
    ]);
  });

  test('a backup that failed and is deleted is over', async () => {
    const record: BackupRecord = { ...old(), state: 'deleting', error: 'the disk is gone' };
    await put(backupPath(record.id), record);
    await drive(await elected('next'), async () => DONE, openTarget);
    await eventually(
      'it is over',
      async () => (await found<BackupRecord>(backupPath(record.id)))?.state !== 'deleting',
    );
    expect(await found(backupPath(record.id))).toBeNull();
  });

  const restore = (record: Partial<RestoreRecord>): RestoreRecord => ({
    ...{
      id: 'restore-20260102T000000Z-00000000',
      backup: '20260101T000000Z-00000000',
      target: OLD,
      state: 'running',
      collections: [],
      keys: false,
    },
    ...{ startedAt: '', endedAt: null, error: null },
    ...record,
  });

  test.each<[string, Partial<RestoreRecord>, Partial<RestoreRecord> | null]>([
    ['that is given up is over', { state: 'cancelling' }, null],
    ['that failed is shown so', { state: 'cancelling', error: 'no room' }, { state: 'failed', error: 'no room' }],
    ['has failed', {}, { state: 'failed', error: 'target must be BACKUP_TARGET, or a folder below it' }],
    ['that only has to be made visible is done', { isPublishing: true }, { state: 'done', error: null }],
    ['is done but for the keys', { isPublishing: true, keys: true }, { state: 'failed' }],
  ])('a restore %s', async (_, record, result) => {
    const { id } = restore(record);
    await put(restorePath(id), restore(record));
    await drive(await elected('next'), async () => DONE, openTarget);
    await eventually('it is over', async () =>
      ['failed', 'done', undefined].includes((await found<RestoreRecord>(restorePath(id)))?.state),
    );
    if (result === null) expect(await found(restorePath(id))).toBeNull();
    else expect(await found(restorePath(id))).toMatchObject(result);
  });
});
