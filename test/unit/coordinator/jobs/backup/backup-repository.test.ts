import { checkBackup, checkKey } from '../../../../../coordinator/jobs/backup/backup-checks';
import { BackupRepository } from '../../../../../coordinator/jobs/backup/backup-repository';
import { ShippedLogs } from '../../../../../coordinator/jobs/backup/shipped-logs';
import {
  type BackupManifest,
  type CheckedObject,
  putChecked,
  sealedText,
  sha256Of,
  type ShardManifest,
} from '../../../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../../../shared/backup-store/backup-target';
import { HISTORIES_PREFIX, LOG_PREFIX, segmentKey } from '../../../../../shared/backup-store/log-format';
import { Pace } from '../../../../../shared/base/time/pace';
import { MemoryTarget } from '../../../../support/targets/memory-target';

const ID = '20260101T000000Z-00000000';
const BEGUN_MS = Date.UTC(2026, 0, 1);
const WEEK_MS = 7 * 24 * 3_600_000;

class InterruptedTarget extends MemoryTarget {
  /** Run before the next object is put or created. */
  meanwhile: (() => Promise<unknown>) | null = null;

  override async put(key: string, bytes: Buffer): Promise<void> {
    await this.interrupt();
    await super.put(key, bytes);
  }

  override async create(key: string, bytes: Buffer): Promise<boolean> {
    await this.interrupt();
    return super.create(key, bytes);
  }

  private async interrupt(): Promise<void> {
    const { meanwhile } = this;
    this.meanwhile = null;
    await meanwhile?.();
  }
}

/** A backup of one shard, as one attempt wrote it; its records are those of `base` where that is given. */
async function written(
  target: BackupTarget,
  attempt: string,
  { id = ID, shard = 'uid.0', base }: { id?: string; shard?: string; base?: CheckedObject } = {},
): Promise<BackupManifest> {
  const prefix = `data/${id}/${shard}/${attempt}`;
  const segment = {
    ...(base ?? (await putChecked(target, `${prefix}/0`, Buffer.from(attempt)))),
    from: 1,
    to: 1,
    count: 1,
  };
  const content: ShardManifest = {
    lineage: 'l',
    dim: 1,
    items: 1,
    lastRecno: 1,
    segments: [segment],
    live: [],
    spec: '',
    operation: 1,
    index: null,
    journal: [],
  };
  const manifest = await putChecked(target, `${prefix}/shard.json`, sealedText(content));
  return {
    id,
    startedAt: '2026-01-01T00:00:00.000Z',
    finishedAt: '2026-01-01T00:00:00.000Z',
    version: '',
    scheduled: false,
    collections: [
      {
        name: 'c',
        record: '',
        uid: 'uid',
        shards: [
          { manifest, items: 1, totalBytes: 1, needs: base === undefined ? [id] : [id, base.key.split('/')[1]] },
        ],
      },
    ],
    keys: [],
    copiedBytes: 1,
    totalBytes: 1,
  };
}

/** What a backup of the collection builds upon. */
async function claimed(repository: BackupRepository, id: string): Promise<string[]> {
  return (await repository.claim(id, '', [{ uid: 'uid', shards: 1 }])).map((base) => base.id);
}

async function damagedOf(repository: BackupRepository, id: string): Promise<string[]> {
  const manifest = (await repository.find(id))!;
  return (
    await checkBackup(repository.target, manifest, {
      pace: new Pace(Infinity),
      stop: new AbortController().signal,
      wallMs: () => 0,
      from: null,
      onProgress: () => undefined,
    })
  ).damaged;
}

test('of two drivers whose manifests are on their way, the first to come is the backup for both; what is not needed goes later', async () => {
  const target = new InterruptedTarget();
  let wallMs = BEGUN_MS;
  const repository = new BackupRepository(target, () => wallMs);
  const late = await written(target, 'one');
  const first = await written(target, 'two');
  target.meanwhile = async () => expect(await repository.publish(first)).toEqual(first);
  expect(await repository.publish(late)).toEqual(first);
  expect(await repository.find(ID)).toEqual(first);
  await repository.sweep();
  expect(await damagedOf(repository, ID)).toEqual([]);
  wallMs += 2 * WEEK_MS;
  await repository.sweep();
  expect(await damagedOf(repository, ID)).toEqual([]);
  expect((await target.list('data/')).map(({ key }) => key.split('/')[3])).toEqual(['two', 'two']);
});

test('a backup that was made void stays so, whichever manifest comes later', async () => {
  const target = new InterruptedTarget();
  const repository = new BackupRepository(target, () => BEGUN_MS + WEEK_MS / 2);
  const late = await written(target, 'one');
  await repository.publish(await written(target, 'two'));
  await repository.makeVoid(ID);
  await repository.sweep();
  await expect(repository.publish(late)).rejects.toMatchObject({ kind: 'unavailable' });
  expect(await repository.ids()).toEqual([]);
});

const [FIRST, SECOND, THIRD, FOURTH] = [1, 2, 3, 4].map((n) => `2026010${n}T000000Z-00000000`);
const firstRecords = (target: InterruptedTarget): CheckedObject => ({
  key: `data/${FIRST}/uid.0/one/0`,
  bytes: 3,
  sha256: sha256Of(target.objects.get(`data/${FIRST}/uid.0/one/0`)!),
});

/** Four backups: the second needs the records of the first, the third and fourth are of another shard. */
async function fourBackups(): Promise<{
  target: InterruptedTarget;
  repository: BackupRepository;
  keys: (id: string) => string[];
}> {
  const target = new InterruptedTarget();
  const repository = new BackupRepository(target, () => BEGUN_MS + WEEK_MS / 2);
  await repository.publish(await written(target, 'one', { id: FIRST }));
  await repository.publish(await written(target, 'two', { id: SECOND, base: firstRecords(target) }));
  for (const id of [THIRD, FOURTH]) await repository.publish(await written(target, 'other', { id, shard: 'uid.1' }));
  return {
    target,
    repository,
    keys: (id) => [...target.objects.keys()].filter((key) => key.startsWith(`data/${id}/`)),
  };
}

test('a damaged manifest keeps what its backup needs, and nothing else from being removed', async () => {
  const { target, repository, keys } = await fourBackups();
  target.objects.set(`backups/${SECOND}.json`, Buffer.from('nothing of use'));
  for (const id of [FIRST, THIRD]) await repository.makeVoid(id);
  expect(await repository.sweep()).toEqual([`backups/${SECOND}.json`]);
  expect(keys(FIRST)).toEqual([`data/${FIRST}/uid.0/one/0`]);
  expect(keys(THIRD)).toEqual([]);
  // Where that of the shard is damaged, too, all of the same shard stays.
  target.objects.set(`data/${SECOND}/uid.0/two/shard.json`, Buffer.from('{}'));
  await repository.makeVoid(FOURTH);
  expect(await repository.sweep()).toEqual([`backups/${SECOND}.json`, `data/${SECOND}/uid.0/two/shard.json`]);
  expect(keys(FIRST)).toHaveLength(1);
  expect(keys(FOURTH)).toEqual([]);
});

test('a claim that can not be read keeps what was there when it began, and nothing else', async () => {
  const { target, repository, keys } = await fourBackups();
  target.objects.set(`claims/${THIRD}.json`, Buffer.from('nothing of use'));
  for (const id of [FIRST, SECOND, FOURTH]) await repository.makeVoid(id);
  expect(await repository.sweep()).toEqual([`claims/${THIRD}.json`]);
  expect([keys(FIRST).length, keys(SECOND).length, keys(FOURTH).length]).toEqual([2, 1, 0]);
});

test('all drivers of a backup build upon what the first of them has claimed', async () => {
  const { target, repository } = await fourBackups();
  const [id, other] = [10, 11].map((hour) => `20260104T${hour}0000Z-00000000`);
  // Two at once, between which another backup is published.
  target.meanwhile = async () => {
    await repository.publish(await written(target, 'other', { id: other, shard: 'uid.1' }));
    expect((await claimed(repository, id))[0]).toBe(other);
  };
  expect((await claimed(repository, id))[0]).toBe(other);
});

test('a driver whose base was deleted builds upon none, and what the one before it has named of the base stays', async () => {
  const { target, repository, keys } = await fourBackups();
  const id = '20260105T000000Z-00000000';
  for (const other of [SECOND, THIRD, FOURTH]) await repository.makeVoid(other);
  expect((await claimed(repository, id))[0]).toBe(FIRST);
  const late = await written(target, 'late', { id, base: firstRecords(target) });
  await repository.makeVoid(FIRST);
  expect(await claimed(repository, id)).toEqual([]);
  await repository.sweep();
  expect(keys(FIRST)).toHaveLength(2);
  target.meanwhile = () => repository.publish(late);
  expect(await repository.publish(await written(target, 'whole', { id }))).toEqual(late);
  await repository.sweep();
  expect(keys(FIRST)).toEqual([`data/${FIRST}/uid.0/one/0`]);
  expect(await damagedOf(repository, id)).toEqual([]);
});

test.each([
  ['is gone', true],
  ['was void, and a sweep had not yet removed its manifest', false],
])('a claim that came when the backup %s holds nothing', async (_, isSwept) => {
  const { target, repository } = await fourBackups();
  const reader = '20260105T000000Z-00000000';
  await repository.makeVoid(FOURTH);
  if (isSwept) await repository.sweep();
  // Of a process that ended before it looked whether the backup was still there.
  await target.put(`claims/${reader}.json`, sealedText({ id: reader, startedAt: '', bases: [FOURTH] }));
  await expect(repository.hold(reader, [FOURTH], { startedAt: '', isHeld: false })).rejects.toMatchObject({
    kind: 'not_found',
    message: `backup "${FOURTH}" does not exist any more`,
  });
});

test('what a restore holds stays until it is over, deleted or not', async () => {
  const { repository, keys } = await fourBackups();
  const reader = '20260105T000000Z-00000000';
  await repository.hold(reader, [SECOND], { startedAt: '', isHeld: false });
  for (const id of [FIRST, SECOND]) await repository.makeVoid(id);
  await repository.sweep();
  expect([keys(FIRST).length, keys(SECOND).length]).toEqual([1, 1]);
  expect((await repository.held(SECOND)).manifest.id).toBe(SECOND);
  // The driver after this one goes on.
  await repository.hold(reader, [SECOND], { startedAt: '', isHeld: true });
  await repository.release(reader);
  // Who comes after that, a week late say, holds it no more.
  await expect(repository.hold(reader, [SECOND], { startedAt: '', isHeld: true })).rejects.toMatchObject({
    kind: 'not_found',
  });
  await repository.release(reader);
  await repository.sweep();
  expect([keys(FIRST).length, keys(SECOND).length]).toEqual([0, 0]);
  await expect(repository.hold(reader, [SECOND], { startedAt: '', isHeld: true })).rejects.toMatchObject({
    kind: 'not_found',
  });
});

describe('the log of a collection', () => {
  const reader = '20260105T000000Z-00000000';

  /**
   * Ten entries of a collection that a backup has from the tenth on; `isDropped`: of one that is long deleted, and in
   * no backup.
   */
  async function logged({ isDropped = false } = {}): Promise<{
    target: MemoryTarget;
    repository: BackupRepository;
    logs: () => Promise<string[]>;
  }> {
    const target = new MemoryTarget();
    const repository = new BackupRepository(target, () => BEGUN_MS + WEEK_MS / 2);
    for (let at = 1; at <= 10; at += 1)
      await target.put(
        segmentKey('uid.0', { first: at, last: at, precedingEpoch: 0, lastEpoch: 0, fromMs: at, toMs: at }),
        Buffer.from('x'),
      );
    await new ShippedLogs(target).putHistory({
      name: 'c',
      uid: 'uid',
      identity: 'uid',
      record: '',
      shards: 1,
      fromMs: 0,
      toMs: isDropped ? 1 : null,
    });
    if (!isDropped) {
      const manifest = await written(target, 'one');
      Object.assign(manifest.collections[0].shards[0], { position: { sequence: 10, epoch: 0, at: 0 } });
      await repository.publish(manifest);
    }
    return {
      target,
      repository,
      logs: async () =>
        [...(await target.list(LOG_PREFIX)), ...(await target.list(HISTORIES_PREFIX))].map(({ key }) => key),
    };
  }

  test.each([
    ['before the oldest backup', false],
    ['of a collection that is long deleted', true],
  ])('%s stays while a restore reads it from its beginning', async (_, isDropped) => {
    const { repository, logs } = await logged({ isDropped });
    const all = await logs();
    expect(all).toHaveLength(11);
    await repository.hold(reader, [], { startedAt: '', isHeld: false, logs: ['uid'] });
    await repository.sweep();
    expect(await logs()).toEqual(all);
    await repository.release(reader);
    await repository.sweep();
    expect(await logs()).toHaveLength(isDropped ? 0 : 1);
  });

  test('stays while a claim can not be read, and is not kept by one of another collection, or of an earlier version', async () => {
    const { target, repository, logs } = await logged();
    target.objects.set(`claims/${reader}.json`, Buffer.from('nothing of use'));
    await repository.sweep();
    expect(await logs()).toHaveLength(11);
    await repository.release(reader);
    await repository.hold(reader, [ID], { startedAt: '', isHeld: false, logs: ['other'] });
    await target.put(`claims/${FOURTH}.json`, sealedText({ id: FOURTH, startedAt: '', bases: [ID] }));
    await repository.sweep();
    expect(await logs()).toHaveLength(1);
  });
});

describe('what begins while it is swept is left alone', () => {
  /**
   * Runs `begin` before the call of this number that a sweep makes of the target; answers what the target holds then.
   */
  async function sweptWhile(
    call: number,
    begin: (repository: BackupRepository, target: InterruptedTarget) => Promise<void>,
  ): Promise<{ target: InterruptedTarget; repository: BackupRepository }> {
    const target = new InterruptedTarget();
    const repository = new BackupRepository(target, () => BEGUN_MS + WEEK_MS / 2);
    await repository.publish(await written(target, 'one', { id: FIRST }));
    let calls = 0;
    const list = target.list.bind(target);
    const swept = new InterruptedTarget();
    Object.assign(swept, {
      objects: target.objects,
      list: async (prefix: string) => {
        if (calls++ === call) await begin(repository, target);
        return list(prefix);
      },
    });
    await new BackupRepository(swept, () => BEGUN_MS + WEEK_MS / 2).sweep();
    return { target, repository };
  }

  const LISTS = [0, 1, 2, 3];

  test.each(LISTS)('a backup that claims and writes before list %i', async (call) => {
    const { target } = await sweptWhile(call, async (repository) => {
      await claimed(repository, SECOND);
      await written(repository.target as InterruptedTarget, 'two', { id: SECOND });
    });
    expect([...target.objects.keys()].filter((key) => key.startsWith(`data/${SECOND}/`))).toHaveLength(2);
  });

  test.each(LISTS)(
    'the data of a backup that another one builds upon, and that is deleted then, before list %i',
    async (call) => {
      const { target } = await sweptWhile(call, async (repository) => {
        expect((await claimed(repository, SECOND))[0]).toBe(FIRST);
        await repository.makeVoid(FIRST);
      });
      expect([...target.objects.keys()].filter((key) => key.startsWith(`data/${FIRST}/`))).toHaveLength(2);
    },
  );
});

test('nothing is built upon data in which a verification has found damage, whichever backup names them', async () => {
  const target = new MemoryTarget();
  const repository = new BackupRepository(target, () => BEGUN_MS + WEEK_MS);
  const [one, two, three, four] = [1, 2, 3, 4].map((n) => `2026010${n}T000000Z-00000000`);
  const basesOf = async (id: string): Promise<string[]> =>
    (await repository.claim(id, '', [{ uid: 'uid', shards: 1 }]))
      .filter(({ collections }) => collections.length > 0)
      .map((base) => base.id);
  await repository.publish(await written(target, 'a', { id: one }));
  const [segment] = (await target.list(`data/${one}/`)).filter(({ key }) => key.endsWith('/0'));
  const base = await putChecked(target, segment.key, Buffer.from('a'));
  await repository.publish(await written(target, 'b', { id: two, base }));
  expect(await basesOf(three)).toEqual([two]);
  target.objects.get(segment.key)![0] ^= 4;
  // What the older one is found to lack, the newer one lacks, too.
  expect(await damagedOf(repository, one)).toEqual([segment.key]);
  // What somebody else put there hides nothing.
  for (let n = 10; n < 40; n += 1) target.objects.set(checkKey(`202701${n}T000000Z-00000000`), Buffer.from('{}'));
  expect(await basesOf(four)).toEqual([]);
  // The next one that is whole is a base again.
  await repository.publish(await written(target, 'c', { id: three }));
  expect(await basesOf('20260105T000000Z-00000000')).toEqual([three]);
});
