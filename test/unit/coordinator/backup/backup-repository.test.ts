import { BackupRepository } from '../../../../coordinator/backup/backup-repository';
import { type BackupManifest, putChecked, sealedText, type ShardManifest } from '../../../../shared/backup/backup-format';
import type { BackupTarget } from '../../../../shared/backup/backup-target';
import { Pace } from '../../../../shared/time/pace';

const ID = '20260101T000000Z-00000000';
const BEGUN_MS = Date.UTC(2026, 0, 1);
const WEEK_MS = 7 * 24 * 3_600_000;

class MemoryTarget implements BackupTarget {
  readonly name = 'memory';
  readonly objects = new Map<string, Buffer>();
  /** Run before the next object is put. */
  meanwhile: (() => Promise<void>) | null = null;

  async put(key: string, bytes: Buffer): Promise<void> {
    const { meanwhile } = this;
    this.meanwhile = null;
    await meanwhile?.();
    this.objects.set(key, bytes);
  }

  async get(key: string): Promise<Buffer | null> {
    return this.objects.get(key) ?? null;
  }

  async list(prefix: string): Promise<{ key: string; bytes: number }[]> {
    return [...this.objects].filter(([key]) => key.startsWith(prefix)).map(([key, { length: bytes }]) => ({ key, bytes }));
  }

  async delete(key: string): Promise<void> {
    this.objects.delete(key);
  }
}

/** A backup of one shard, as one attempt wrote it. */
async function written(target: BackupTarget, attempt: string): Promise<BackupManifest> {
  const prefix = `data/${ID}/uid.0/${attempt}`;
  const segment = { ...(await putChecked(target, `${prefix}/0`, Buffer.from(attempt))), from: 1, to: 1, count: 1 };
  const content: ShardManifest = { lineage: 'l', dim: 1, items: 1, lastRecno: 1, segments: [segment], live: [], spec: '', operation: 1, index: null, journal: [] };
  const manifest = await putChecked(target, `${prefix}/shard.json`, sealedText(content));
  return {
    id: ID,
    startedAt: '',
    finishedAt: '',
    version: '',
    scheduled: false,
    collections: [{ name: 'c', record: '', uid: 'uid', shards: [{ manifest, items: 1, totalBytes: 1, needs: [ID] }] }],
    keys: [],
    copiedBytes: 1,
    totalBytes: 1,
  };
}

test('a driver that was replaced, and whose manifest comes last, leaves a whole backup; what is not needed goes later', async () => {
  const target = new MemoryTarget();
  let wallMs = BEGUN_MS;
  const repository = new BackupRepository(target, () => wallMs);
  const early = await written(target, 'one');
  const late = await written(target, 'two');
  target.meanwhile = () => repository.publish(late);
  await repository.publish(early);
  const damaged = async (): Promise<string[]> => (await repository.verify(ID, () => undefined, { pace: new Pace(Infinity), stop: new AbortController().signal })).damaged;
  expect(await repository.find(ID)).toEqual(early);
  await repository.sweep();
  expect(await damaged()).toEqual([]);
  wallMs += 2 * WEEK_MS;
  await repository.sweep();
  expect(await damaged()).toEqual([]);
  expect((await target.list('data/')).map(({ key }) => key.split('/')[3])).toEqual(['one', 'one']);
});
