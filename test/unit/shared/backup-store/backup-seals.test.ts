import { z } from 'zod';
import { contentOf, openedContent, sealedText } from '../../../../shared/backup-store/backup-format';
import { BackupSeals, backupSealsOf } from '../../../../shared/backup-store/backup-seals';
import {
  type LogSegment,
  openedSegment,
  segmentKey,
  segmentOf,
  segmentToBytes,
  type ShippedEntry,
} from '../../../../shared/backup-store/log-format';
import { OTHER_SEALS, TEST_SEALS } from '../../../support/cluster/test-seals';

/** By what it is told who wrote an object of a backup target. */

const KEY = 'backups/a.json';
const ANY = z.object({ n: z.int().max(9) });

test('a seal holds for one name and one content', () => {
  const sealed = sealedText({ n: 1 }, { seals: TEST_SEALS, key: KEY });
  expect(openedContent(ANY, TEST_SEALS, KEY, sealed)).toMatchObject({ content: { n: 1 }, seal: 'sealed' });
  expect(openedContent(ANY, TEST_SEALS, 'backups/b.json', sealed).seal).toBe('foreign');
  expect(openedContent(ANY, OTHER_SEALS, KEY, sealed).seal).toBe('foreign');
  expect(openedContent(ANY, TEST_SEALS, KEY, sealedText({ n: 1 })).seal).toBe('unsealed');
  const { seal } = JSON.parse(sealed.toString()) as { seal: string };
  expect(
    openedContent(
      ANY,
      TEST_SEALS,
      KEY,
      Buffer.from(JSON.stringify({ ...JSON.parse(sealedText({ n: 2 }).toString()), seal })),
    ).seal,
  ).toBe('foreign');
});

test('seals of the other secrets are taken, and the first one seals', () => {
  const both = backupSealsOf({
    backupSecret: 'the secret of backups',
    clusterSecret: 'the secret of the cluster',
    backupSecretOther: 'the secret before',
  });
  for (const secret of ['the secret of backups', 'the secret of the cluster', 'the secret before']) {
    const one = new BackupSeals([secret]);
    expect(both.check(KEY, 'x', one.of(KEY, 'x'))).toBe('sealed');
    expect(one.check(KEY, 'x', both.of(KEY, 'x'))).toBe(secret === 'the secret of backups' ? 'sealed' : 'foreign');
  }
  expect(() => backupSealsOf({})).toThrow('no secret');
});

test.each([
  ['of another shape', { n: 'x' }, 'does not hold what it should: n:'],
  ['beyond its bounds', { n: 10 }, 'does not hold what it should: n:'],
  ['null', null, 'does not hold what it should: it:'],
])('a content %s is damage', (_, content, message) => {
  expect(() => contentOf(ANY, KEY, sealedText(content))).toThrow(
    expect.objectContaining({ kind: 'storage_damaged', message: expect.stringContaining(message) }),
  );
});

describe('a segment of a log', () => {
  const entries: ShippedEntry[] = [
    { sequence: 5, epoch: 1, at: 10, write: null },
    {
      sequence: 6,
      epoch: 2,
      at: 20,
      write: { source: { session: 's', requestNumber: 1, settledBelow: 1 }, payload: Buffer.from('payload') },
    },
  ];
  const key = segmentKey('u.0', { first: 5, last: 6, precedingEpoch: 1, lastEpoch: 2, fromMs: 10, toMs: 20 });
  const named = (name = key): LogSegment => segmentOf({ key: name, bytes: 1 })!;
  const sealed = segmentToBytes(entries, { seals: TEST_SEALS, key });

  test('has its entries, with a seal of its name and content, or without', () => {
    expect(openedSegment(named(), sealed, TEST_SEALS)).toEqual({ entries, seal: 'sealed' });
    expect(openedSegment(named(), sealed, OTHER_SEALS)).toEqual({ entries, seal: 'foreign' });
    expect(openedSegment(named(), segmentToBytes(entries), TEST_SEALS)).toEqual({ entries, seal: 'unsealed' });
    expect(openedSegment(named(key.replace('u.0', 'u.1')), sealed, TEST_SEALS).seal).toBe('foreign');
    const one = { first: 5, last: 5, precedingEpoch: 1, lastEpoch: 1, fromMs: 10, toMs: 10 };
    const single = segmentKey('u.0', one);
    expect(
      openedSegment(named(single), segmentToBytes([entries[0]], { seals: TEST_SEALS, key: single }), TEST_SEALS),
    ).toEqual({ entries: [entries[0]], seal: 'sealed' });
  });

  test('is to a program without seals the same with its last entry once more, which it has had', () => {
    // The count of such a program, and the number, epoch and time of each entry as it reads them.
    expect(sealed.readUInt32LE(40)).toBe(3);
    const at = sealed.length - (25 + 4 + 38);
    expect([
      sealed.readDoubleLE(at),
      sealed.readDoubleLE(at + 8),
      sealed.readDoubleLE(at + 16),
      sealed[at + 24],
    ]).toEqual([6, 2, 20, 1]);
  });

  test.each([
    ['whose numbers are none', '99999999999999999999'],
    ['of no epoch', '1e5'],
  ])('%s is none', (_, epoch) => {
    expect(segmentOf({ key: `log/u.0/0000000000000005-0000000000000006-1-${epoch}-10-20`, bytes: 1 })).toBeNull();
  });

  test('beyond all numbers that a log may go on behind is none', () => {
    expect(
      segmentOf({ key: `log/u.0/0000000000000001-${String(2 ** 52).padStart(16, '0')}-0-1-10-20`, bytes: 1 }),
    ).not.toBeNull();
    expect(
      segmentOf({ key: `log/u.0/0000000000000001-${String(2 ** 52 + 1).padStart(16, '0')}-0-1-10-20`, bytes: 1 }),
    ).toBeNull();
  });

  test('that lies about its lengths is damage', () => {
    const many = segmentToBytes(entries);
    many.writeUInt32LE(0xffffffff, 40);
    expect(() => openedSegment(named(), many, TEST_SEALS)).toThrow(
      expect.objectContaining({ kind: 'storage_damaged' }),
    );
  });
});
