import { REQUEST_BOUNDS } from '../../../../coordinator/api/requests/http-limits';
import type { BackupManifest, ShardManifest } from '../../../../shared/backup-store/backup-format';
import {
  BACKUP_MANIFEST,
  LOG_HEADS,
  SHARD_MANIFEST,
  SHARDS_MAX,
} from '../../../../shared/backup-store/content-schemas';

/** What objects of a backup target may hold. */

const object = { key: 'data/20260101T000000Z-00000000/u.0/a/0', bytes: 1, sha256: 'ab'.repeat(32) };
const shard = { manifest: object, items: 1, totalBytes: 1, needs: ['20260101T000000Z-00000000'] };
const manifest: BackupManifest = {
  ...{
    id: '20260101T000000Z-00000000',
    startedAt: '2026-01-01T00:00:00.000Z',
    finishedAt: '2026-01-01T00:00:00.000Z',
    version: '',
    scheduled: false,
  },
  ...{
    collections: [{ name: 'c', record: '{}', uid: 'u', shards: [shard] }],
    keys: ['{}'],
    copiedBytes: 1,
    totalBytes: 1,
  },
};
const content: ShardManifest = {
  lineage: '',
  dim: 1,
  items: 1,
  lastRecno: 1,
  segments: [{ ...object, from: 1, to: 1, count: 1 }],
  live: [object],
  spec: '',
  operation: 1,
  index: null,
  journal: [],
};

test('shards have the bound of the API', () => {
  expect(SHARDS_MAX).toBe(REQUEST_BOUNDS.shardsMax);
  expect(
    BACKUP_MANIFEST.safeParse({
      ...manifest,
      collections: [{ ...manifest.collections[0], shards: Array.from({ length: SHARDS_MAX }, () => shard) }],
    }).success,
  ).toBe(true);
  expect(
    BACKUP_MANIFEST.safeParse({
      ...manifest,
      collections: [{ ...manifest.collections[0], shards: Array.from({ length: SHARDS_MAX + 1 }, () => shard) }],
    }).success,
  ).toBe(false);
});

test('what a later version added is passed over', () => {
  expect(BACKUP_MANIFEST.parse({ ...manifest, later: 1 })).toEqual(manifest);
  const index = {
    checkpoint: {
      operation: 1,
      lastRecno: 1,
      number: 1,
      vectors: 'save-1-2.index',
      files: { directory: { bytes: 1, crc: 1 } },
      writtenAtMs: 5,
    },
    files: [],
  };
  expect(SHARD_MANIFEST.parse({ ...content, index })).toEqual({ ...content, index });
});

test.each([
  '../../etc/passwd',
  '/etc/passwd',
  'data/../x',
  'data/./x',
  'backups/x.json',
  'data//x',
  'data/x y',
  'data/x\0',
  '',
])('no object has the name %j', (key) => {
  expect(SHARD_MANIFEST.safeParse({ ...content, live: [{ ...object, key }] }).success).toBe(false);
});

test('a list is given up at its first bad element', () => {
  const found = SHARD_MANIFEST.safeParse({ ...content, segments: Array.from({ length: 500_000 }, () => null) });
  expect(found.error?.issues).toHaveLength(1);
  expect(found.error?.issues[0].path).toEqual(['segments', '0']);
  const heads = LOG_HEADS.safeParse({
    member: 'm',
    at: 1,
    shards: Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`u.${n}`, null])),
  });
  expect(heads.error?.issues).toHaveLength(1);
});

test.each(['..', '.', 'a/b', '../x'])('a checkpoint has no vectors in %j', (vectors) => {
  const checkpoint = { operation: 1, lastRecno: 1, number: 1, vectors, files: {} };
  expect(SHARD_MANIFEST.safeParse({ ...content, index: { checkpoint, files: [] } }).success).toBe(false);
});

test('what is in memory as a whole has a bound, however often it names the same object', () => {
  const log = { sequence: 1, epoch: 1, gate: null };
  const of = (count: number) => Array.from({ length: count }, () => ({ ...object, bytes: 8 * 1024 * 1024 }));
  const isTaken = (given: Partial<ShardManifest>): boolean =>
    SHARD_MANIFEST.safeParse({ ...content, ...given }).success;
  expect([
    isTaken({ marks: of(32) }),
    isTaken({ live: of(256) }),
    isTaken({ log: { ...log, sessions: of(32) } }),
  ]).toEqual([true, true, true]);
  expect([
    isTaken({ marks: of(33) }),
    isTaken({ live: of(257) }),
    isTaken({ log: { ...log, sessions: of(33) } }),
  ]).toEqual([false, false, false]);
});
