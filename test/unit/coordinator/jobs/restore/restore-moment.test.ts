import { type BackupRepository } from '../../../../../coordinator/jobs/backup/backup-repository';
import { RestoreMoment } from '../../../../../coordinator/jobs/restore/restore-moment';
import { ShippedLogs } from '../../../../../coordinator/jobs/backup/shipped-logs';
import type { BackupManifest } from '../../../../../shared/backup-store/backup-format';
import { headsKey, segmentKey, segmentToBytes } from '../../../../../shared/backup-store/log-format';
import { headsToBytes } from '../../../../../shared/backup-store/log-heads';
import type { BackupSeals, SealState } from '../../../../../shared/backup-store/backup-seals';
import { OTHER_SEALS, TEST_SEALS } from '../../../../support/cluster/test-seals';
import { MemoryTarget } from '../../../../support/targets/memory-target';

/** How a moment is reached, from the backups and logs that a target has. */

const START_MS = Date.parse('2026-01-01T00:00:00Z');
const UID = 'u';

const target = new MemoryTarget();
const { objects } = target;

/** A backup of one shard at a place of its log, with the time that its primary's clock had then. */
const backupOf = (id: string, sequence: number, at: number): BackupManifest =>
  ({
    id,
    collections: [{ name: 'things', uid: UID, record: '', shards: [{ position: { sequence, epoch: 1, at } }] }],
  }) as unknown as BackupManifest;

/** A segment of entries, by their times. */
async function ship(first: number, precedingEpoch: number, times: number[]): Promise<void> {
  const entries = times.map((at, i) => ({ sequence: first + i, epoch: 1, at, write: null }));
  const name = {
    first,
    last: first + times.length - 1,
    precedingEpoch,
    lastEpoch: 1,
    fromMs: times[0],
    toMs: times.at(-1)!,
  };
  const key = segmentKey(`${UID}.0`, name);
  await target.put(key, segmentToBytes(entries, { seals: target.seals, key }));
}

async function find(backups: BackupManifest[], ms: number): Promise<{ base: string; upTo: number[] }> {
  const load = async (id: string) => ({ manifest: backups.find((one) => one.id === id)!, seal: 'sealed', sha256: '' });
  const repository = { target, ids: async () => backups.map(({ id }) => id), load } as unknown as BackupRepository;
  const {
    collections: [{ base, upTo }],
  } = await new RestoreMoment(repository).find({ until: new Date(ms).toISOString(), rename: {} });
  return { base, upTo };
}

beforeEach(async () => {
  objects.clear();
  await new ShippedLogs(target).putHistory({
    name: 'things',
    uid: UID,
    identity: UID,
    record: '',
    shards: 1,
    fromMs: START_MS,
    toMs: null,
  });
  await target.put(
    headsKey('a'),
    headsToBytes(
      {
        member: 'a',
        at: START_MS,
        shards: { [`${UID}.0`]: { sequence: 6, epoch: 1, untilMs: START_MS + 60_000, since: 1, gaps: 0, error: null } },
      },
      target.seals,
    ),
  );
});

test('the newest backup before the moment is the base', async () => {
  await ship(
    1,
    0,
    [1, 2, 3, 4, 5, 6].map((seconds) => START_MS + seconds * 1000),
  );
  const backups = [backupOf('second', 4, START_MS + 4_500), backupOf('first', 2, START_MS + 2_500)];
  expect(await find(backups, START_MS + 5_000)).toEqual({ base: 'second', upTo: [5] });
  expect(await find(backups, START_MS + 4_200)).toEqual({ base: 'first', upTo: [4] });
  expect(await find(backups, START_MS + 1_000)).toEqual({ base: '', upTo: [1] });
});

test('a backup that a primary took whose clock was behind is no base for a moment before its last entries', async () => {
  // The first primary was ten seconds ahead, and its successor gives the time of the last entry before it.
  await ship(1, 0, [START_MS + 1_000, START_MS + 2_000]);
  await ship(3, 1, [START_MS + 13_000, START_MS + 13_000, START_MS + 13_000]);
  const behind = backupOf('behind', 4, START_MS + 5_000);
  // Entries 3 and 4 are in it, and are of 13 s by the log.
  expect(await find([behind], START_MS + 6_000)).toEqual({ base: '', upTo: [2] });
  expect(await find([behind, backupOf('before', 2, START_MS + 2_500)], START_MS + 6_000)).toEqual({
    base: 'before',
    upTo: [2],
  });
  await ship(6, 1, [START_MS + 20_000]);
  expect(await find([behind], START_MS + 13_000)).toEqual({ base: 'behind', upTo: [5] });
});

describe('what is not sealed by this service', () => {
  const backup = backupOf('a', 2, START_MS + 2_500);
  const segment = async (seals: BackupSeals | null): Promise<void> => {
    const entries = [1, 2, 3, 4, 5, 6].map((seconds, i) => ({
      sequence: i + 1,
      epoch: 1,
      at: START_MS + seconds * 1000,
      write: null,
    }));
    const key = segmentKey(`${UID}.0`, {
      first: 1,
      last: 6,
      precedingEpoch: 0,
      lastEpoch: 1,
      fromMs: START_MS + 1_000,
      toMs: START_MS + 6_000,
    });
    await target.put(key, segmentToBytes(entries, seals === null ? undefined : { seals, key }));
  };
  const found = async (seal: SealState, unsealed: boolean): Promise<{ base: string; isSealed: boolean }> => {
    const repository = {
      target,
      ids: async () => ['a'],
      load: async () => ({ manifest: backup, seal, sha256: '' }),
    } as unknown as BackupRepository;
    const [{ base, isSealed }] = (
      await new RestoreMoment(repository).find({
        until: new Date(START_MS + 5_000).toISOString(),
        rename: {},
        unsealed,
      })
    ).collections;
    return { base, isSealed };
  };

  test.each([
    ['no seal', null],
    ['a seal of another secret', OTHER_SEALS],
  ])('of a log (%s) leads on from no sealed backup, unless somebody says so', async (_, seals) => {
    await segment(seals);
    await expect(found('sealed', false)).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringContaining('"unsealed": true'),
    });
    expect(await found('sealed', true)).toEqual({ base: 'a', isSealed: false });
  });

  test('of a log leads on from a backup of an earlier version, which is told', async () => {
    await segment(null);
    expect(await found('unsealed', false)).toEqual({ base: 'a', isSealed: false });
  });

  test('of what members told is of no use to what is sealed', async () => {
    await segment(TEST_SEALS);
    expect(await found('sealed', false)).toEqual({ base: 'a', isSealed: true });
    const late = new Date(START_MS + 30_000).toISOString();
    const repository = {
      target,
      ids: async () => ['a'],
      load: async () => ({ manifest: backup, seal: 'sealed', sha256: '' }),
    } as unknown as BackupRepository;
    expect((await new RestoreMoment(repository).find({ until: late, rename: {} })).collections[0].upTo).toEqual([6]);
    await target.put(
      headsKey('a'),
      headsToBytes(
        {
          member: 'a',
          at: START_MS,
          shards: {
            [`${UID}.0`]: { sequence: 6, epoch: 1, untilMs: START_MS + 60_000, since: 1, gaps: 0, error: null },
          },
        },
        OTHER_SEALS,
      ),
    );
    await expect(new RestoreMoment(repository).find({ until: late, rename: {} })).rejects.toMatchObject({
      kind: 'invalid_parameter',
    });
  });
});
