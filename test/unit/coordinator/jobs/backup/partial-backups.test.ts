import { StoredJobs } from '../../../../../coordinator/jobs/record/stored-jobs';
import { BackupPass } from '../../../../../coordinator/jobs/backup/backup-pass';
import { backupFromEntry, backupPath } from '../../../../../coordinator/jobs/backup/backup-record';
import { BackupRepository } from '../../../../../coordinator/jobs/backup/backup-repository';
import { BackupRequests, newBackupRecord } from '../../../../../coordinator/jobs/backup/backup-requests';
import { deleteOldBackups } from '../../../../../coordinator/jobs/backup/backup-schedule';
import { parseKeepRule } from '../../../../../coordinator/jobs/backup/kept-backups';
import {
  collectionPath,
  type CollectionRecord,
  collectionToValue,
} from '../../../../../coordinator/service/collections/collection-record';
import { ONLY_DRIVER, OwnedEntry } from '../../../../../coordinator/jobs/driving/owned-entry';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { backupId, type BackupManifest, sealedText } from '../../../../../shared/backup-store/backup-format';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { type Logger, silentLogger } from '../../../../../shared/base/logs/logger';
import type { ShardBackupOrder, ShardBackupState } from '../../../../../shared/contract/shard/shard-backup';
import type { ShardId } from '../../../../../shared/contract/shard/shard-client';
import { ManualClock } from '../../../../support/manual-clock';
import { MemoryTarget } from '../../../../support/targets/memory-target';
import { OTHER_SEALS } from '../../../../support/cluster/test-seals';

/**
 * Backups that lack collections, whose clock was ahead, or that somebody else has made: what is taken next, and what is
 * kept.
 */

const NOW_MS = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;
const YEAR_MS = 400 * DAY_MS;

let store: ClusterStore;
let target: MemoryTarget;
let repository: BackupRepository;
const clock = new ManualClock(NOW_MS);
/** What shards answer, by uid; without, they are done. */
const shards = new Map<string, () => Promise<ShardBackupState>>();
const orders: { id: ShardId; base: string | null }[] = [];

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  target = new MemoryTarget();
  clock.advance(NOW_MS - clock.wallMs());
  repository = new BackupRepository(target, () => clock.wallMs());
  shards.clear();
  orders.length = 0;
  for (const name of ['bad', 'good']) await put(name);
});
afterEach(() => store.close());

const recordOf = (name: string): CollectionRecord => ({
  ...{
    uid: name,
    identity: name,
    name,
    dim: 2,
    metric: 'l2' as const,
    description: null,
    language: null,
    quantization: 'int8' as const,
  },
  ...{ shards: 1, replicas: 1, minInSync: 1, createdAt: '', embeddingModel: null, state: 'ready' as const },
});

async function put(name: string): Promise<void> {
  await store.transact([], [{ type: 'put', key: collectionPath(name), value: collectionToValue(recordOf(name)) }]);
}

const stateOf = (id: ShardId, backup: string): ShardBackupState => {
  const manifest = { key: `data/${backup}/${id.collectionUid}.0/a/shard.json`, bytes: 1, sha256: 'ab'.repeat(32) };
  return {
    state: 'done',
    copiedBytes: 1,
    totalBytes: 1,
    items: 1,
    manifest,
    position: null,
    needs: [backup],
    error: null,
  };
};

/** Takes a backup an hour after the one before. */
async function taken(of: { collections?: string[]; scheduled?: boolean } = {}): Promise<BackupManifest> {
  clock.advance(3_600_000);
  const record = newBackupRecord(clock.wallMs(), target.name, {
    collections: of.collections ?? null,
    scheduled: of.scheduled ?? false,
  });
  const key = backupPath(record.id);
  await store.transact([], [{ type: 'put', key, value: JSON.stringify(record) }]);
  const entry = (await store.get(key))!;
  const read = async (id: ShardId, _kind: string, order: ShardBackupOrder): Promise<ShardBackupState> => {
    orders.push({ id, base: order.base?.key.split('/')[1] ?? null });
    return shards.get(id.collectionUid)?.() ?? stateOf(id, order.backup);
  };
  const parts = {
    store,
    shards: { read: read as never },
    clock,
    version: '',
    log: silentLogger,
    stop: new AbortController().signal,
  };
  return new BackupPass(
    new OwnedEntry({ store, leadership: ONLY_DRIVER }, key, backupFromEntry(entry), entry.revision),
    repository,
    parts,
  ).run();
}

const baseOf = (name: string): string | null => orders.findLast(({ id }) => id.collectionUid === name)!.base;
const isDamaged = async (): Promise<ShardBackupState> => ({
  ...stateOf({ collectionUid: 'bad', shard: 0 }, ''),
  state: 'failed',
  manifest: null,
  error: 'stored data are damaged',
});
/** Answers as long as it is asked; each time, minutes have passed. */
const isSilent = async (): Promise<ShardBackupState> => {
  clock.advance(2 * 60_000);
  throw new QuiverError('unavailable', 'the shard is not open');
};

describe('a collection of which a shard', () => {
  test.each([
    ['is damaged', isDamaged, 'stored data are damaged'],
    ['does not answer', isSilent, 'shard 0 of collection "bad": the shard is not open'],
    [
      'fails in a way that nobody expects',
      async () => Promise.reject(new TypeError('x is not a function')),
      'the log says why',
    ],
  ])('%s is left out, with the reason, and the others are taken', async (_, answer, reason) => {
    shards.set('bad', answer);
    const manifest = await taken();
    expect(manifest.collections.map(({ name }) => name)).toEqual(['good']);
    expect(manifest.leftOut).toEqual([{ name: 'bad', uid: 'bad', reason: expect.stringContaining(reason) }]);
    expect(await repository.find(manifest.id)).toEqual(manifest);
  });

  test('is damaged builds upon the last backup that has it, once it is sound again', async () => {
    const whole = await taken();
    shards.set('bad', isDamaged);
    const partial = await taken();
    shards.clear();
    await taken();
    expect([baseOf('bad'), baseOf('good')]).toEqual([whole.id, partial.id]);
  });

  test('is damaged makes a backup fail that would have nothing else', async () => {
    shards.set('bad', isDamaged);
    await expect(taken({ collections: ['bad'] })).rejects.toMatchObject({
      kind: 'storage_failed',
      message: expect.stringContaining('stored data are damaged'),
    });
  });
});

test('a collection whose record is damaged is left out, also where it is asked for beside others', async () => {
  await store.transact([], [{ type: 'put', key: collectionPath('bad'), value: '{"uid":' }]);
  const leftOut = [{ name: 'bad', uid: 'unknown', reason: expect.stringContaining('unreadable') }];
  for (const collections of [undefined, ['bad', 'good']]) {
    const manifest = await taken({ ...(collections && { collections }) });
    expect(manifest).toMatchObject({ collections: [{ name: 'good' }], leftOut });
    expect(await repository.find(manifest.id)).toEqual(manifest);
  }
  await expect(taken({ collections: ['bad'] })).rejects.toMatchObject({ kind: 'storage_failed' });
});

test('a backup of some collections is no loss to the others: the next of everything builds upon what has them', async () => {
  const whole = await taken();
  const some = await taken({ collections: ['good'] });
  await taken();
  expect([baseOf('bad'), baseOf('good')]).toEqual([whole.id, some.id]);
});

test('where all that are looked at lack something, the newest that is whole is no newer than these', async () => {
  const whole = await taken();
  shards.set('bad', isDamaged);
  const lacking = await taken();
  expect((await repository.newest())!.id).toBe(whole.id);
  for (let n = 0; n < 150; n += 1) {
    const other = backupId(clock.wallMs() + n * 1_000 + 1_000, '0000000a');
    const key = `backups/${other}.json`;
    await target.put(
      key,
      sealedText(
        { ...lacking, id: other, finishedAt: new Date(clock.wallMs() + n * 1_000 + 1_000).toISOString() },
        { seals: target.seals, key },
      ),
    );
  }
  expect((await repository.newest())!.id).toBe((await repository.ids())[99]);
});

describe.each([
  ['without a seal', undefined],
  ['with a seal of another secret', OTHER_SEALS],
])('however many newer ones somebody else has made %s, the last that is sealed', (_, seals) => {
  let real: BackupManifest;
  const strange = (): string[] => [...target.objects.keys()].filter((key) => key.endsWith('-0000000a.json'));

  beforeEach(async () => {
    real = await taken();
    for (let n = 0; n < 1_100; n += 1) {
      const ms = clock.wallMs() + n * 1_000 + 1_000;
      const key = `backups/${backupId(ms, '0000000a')}.json`;
      const content =
        n % 2 === 0 ? { ...real, id: backupId(ms, '0000000a'), finishedAt: new Date(ms).toISOString() } : null;
      await target.put(key, sealedText(content as object, seals && { seals, key }));
    }
  });

  test('is the newest, and the base of the next', async () => {
    expect((await repository.newest())!.id).toBe(real.id);
    await taken();
    expect(baseOf('good')).toBe(real.id);
  });

  test('is listed', async () => {
    await store.transact([], [{ type: 'delete', key: backupPath(real.id) }]);
    const jobs = new StoredJobs({
      store,
      clock,
      leadership: () => ONLY_DRIVER,
      log: silentLogger as Logger,
      kinds: [],
      rightsOf: {},
    });
    const requests = new BackupRequests({
      store,
      clock,
      target: target.name,
      openTarget: () => target,
      reshards: { mustBeEmpty: async () => undefined } as never,
      jobs,
    });
    const views = await requests.list();
    expect(views.filter(({ sealed }) => sealed).map(({ id }) => id)).toEqual([real.id]);
    expect(views).toHaveLength(1_001);
    expect(strange()).toHaveLength(1_100);
  });
});

describe('one that a clock took which was ahead', () => {
  test('is neither the base of later ones nor the newest', async () => {
    clock.advance(YEAR_MS);
    const ahead = await taken();
    clock.advance(-YEAR_MS);
    expect(await repository.newest()).toBeNull();
    const first = await taken();
    expect(baseOf('good')).toBeNull();
    for (let i = 0; i < 20; i += 1) {
      const before = (await repository.newest())!.id;
      await taken();
      expect(baseOf('good')).toBe(before);
    }
    expect(await repository.ids()).toContain(ahead.id);
    expect(first.id < ahead.id).toBe(true);
  });

  test('takes no place of what BACKUP_KEEP keeps', async () => {
    clock.advance(YEAR_MS);
    const ahead = await taken({ scheduled: true });
    clock.advance(-YEAR_MS);
    const [first, second] = [await taken({ scheduled: true }), await taken({ scheduled: true })];
    await deleteOldBackups(repository, parseKeepRule('1d')!, { log: silentLogger, present: new Set(['good', 'bad']) });
    expect(await repository.ids()).toEqual([ahead.id, second.id]);
    expect(first.id < second.id).toBe(true);
  });
});

describe('BACKUP_KEEP', () => {
  const keep = (present: string[]): Promise<void> =>
    deleteOldBackups(repository, parseKeepRule('1d')!, { log: silentLogger, present: new Set(present) });

  test('leaves the last backup that has a collection which is there', async () => {
    const old = await taken({ scheduled: true });
    const whole = await taken({ scheduled: true });
    shards.set('bad', isDamaged);
    for (let day = 0; day < 3; day += 1) {
      clock.advance(DAY_MS);
      await taken({ scheduled: true });
    }
    const [newest] = await repository.ids();
    await keep(['good', 'bad']);
    expect(await repository.ids()).toEqual([newest, whole.id]);
    expect(old.id < whole.id).toBe(true);
  });

  test('lets it go once the collection is gone', async () => {
    await taken({ scheduled: true });
    shards.set('bad', isDamaged);
    clock.advance(DAY_MS);
    const { id } = await taken({ scheduled: true });
    await keep(['good']);
    expect(await repository.ids()).toEqual([id]);
  });

  test.each([
    ['without a seal, as earlier versions made them', undefined],
    ['with a seal of a secret that was lost', OTHER_SEALS],
  ])('lets old backups %s go as others do', async (_, seals) => {
    for (let day = 0; day < 3; day += 1) {
      const real = await taken({ scheduled: true });
      const key = `backups/${real.id}.json`;
      await target.put(key, sealedText(real, seals && { seals, key }));
      clock.advance(DAY_MS);
    }
    await keep(['good', 'bad']);
    expect(await repository.ids()).toHaveLength(3);
    const { id } = await taken({ scheduled: true });
    await keep(['good', 'bad']);
    expect(await repository.ids()).toEqual([id]);
  });

  test.each([
    ['without a seal', undefined],
    ['with a seal of another secret', OTHER_SEALS],
  ])('lets no backup that somebody else made %s take the place of one that is sealed', async (_, seals) => {
    const real = await taken({ scheduled: true });
    const id = backupId(clock.wallMs() + 1_000, '0000000a');
    const key = `backups/${id}.json`;
    await target.put(
      key,
      sealedText({ ...real, id, finishedAt: new Date(clock.wallMs() + 1_000).toISOString() }, seals && { seals, key }),
    );
    await keep(['good', 'bad']);
    expect(await repository.ids()).toEqual([id, real.id]);
    expect((await repository.newest())!.id).toBe(real.id);
    await taken();
    expect(baseOf('good')).toBe(real.id);
  });
});

test('a manifest that somebody else puts under the name of one under way is not taken for it', async () => {
  shards.set('good', async () => {
    const [{ key }] = (await store.list('/q/backups/')).entries;
    const id = key.split('/').at(-1)!;
    const manifest: BackupManifest = {
      id,
      startedAt: new Date(0).toISOString(),
      finishedAt: new Date(0).toISOString(),
      version: '',
      scheduled: false,
      collections: [],
      keys: ['{}'],
      copiedBytes: 0,
      totalBytes: 0,
    };
    await target.put(`backups/${id}.json`, sealedText(manifest));
    return stateOf({ collectionUid: 'good', shard: 0 }, id);
  });
  await expect(taken()).rejects.toMatchObject({
    kind: 'storage_damaged',
    message: expect.stringContaining('not sealed by this service'),
  });
});

describe('who can write to the target', () => {
  /** A driver before has ended, and what it wrote is there in the place of what it was to be. */
  async function resumed(before: (id: string) => Promise<void>): Promise<BackupManifest> {
    const claim = repository.claim.bind(repository);
    const load = repository.load.bind(repository);
    let isBegun = false;
    const begin = async (id: string): Promise<void> => {
      if (!isBegun) await before(id);
      isBegun = true;
    };
    repository.load = async (id) => {
      await begin(id);
      return load(id);
    };
    repository.claim = async (id, ...rest) => {
      await begin(id);
      return claim(id, ...rest);
    };
    return taken();
  }

  test('gets no seal for a manifest of his own, also where a store puts one over another', async () => {
    target.create = async (key, bytes) => {
      await target.put(key, bytes);
      return true;
    };
    const time = new Date(0).toISOString();
    const forged = async (id: string): Promise<void> =>
      target.put(
        `backups/${id}.json`,
        sealedText({
          id,
          startedAt: time,
          finishedAt: time,
          version: '',
          scheduled: false,
          collections: [],
          keys: ['{}'],
          copiedBytes: 0,
          totalBytes: 0,
        }),
      );
    await expect(resumed(forged)).rejects.toMatchObject({ kind: 'storage_damaged' });
    expect((await repository.load((await repository.ids())[0]))?.seal).toBe('unsealed');
  });

  test('makes nothing a base by a claim of his own', async () => {
    const real = await taken();
    const forged = { ...real, id: '20260601T000000Z-0000000a' };
    await target.put(`backups/${forged.id}.json`, sealedText(forged));
    await resumed(async (id) => target.put(`claims/${id}.json`, sealedText({ id, startedAt: '', bases: [forged.id] })));
    expect(baseOf('good')).toBeNull();
  });
});
