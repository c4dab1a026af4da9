import { contentOf, openedContent, sealedText } from '../../../../shared/backup-store/backup-format';
import { BACKUP_CLAIM } from '../../../../shared/backup-store/content-schemas';
import { OTHER_SEALS, TEST_SEALS } from '../../../support/cluster/test-seals';

/** Texts in a backup target that nobody sealed are not parsed where that would take minutes and gigabytes. */

const claim = { id: '20260101T000000Z-00000000', startedAt: '2026-01-01T00:00:00.000Z', bases: [] };
const many = (count: number): object => ({ ...claim, later: Array.from({ length: count }, () => 0) });

afterEach(() => jest.restoreAllMocks());

/** The longest text that was parsed meanwhile. */
function longestParsed(read: () => unknown): { answer: unknown; parsed: number } {
  const parse = jest.spyOn(JSON, 'parse');
  let answer: unknown;
  try {
    answer = read();
  } catch (error) {
    answer = (error as Error).message;
  }
  return { answer, parsed: Math.max(0, ...parse.mock.calls.map(([text]) => text.length)) };
}

test('values beside the content are counted before anything is parsed', () => {
  const bytes = Buffer.from(`{"format":1,"content":"","later":[${'{},'.repeat(1_000)}{}]}`);
  expect(longestParsed(() => contentOf(BACKUP_CLAIM, 'k', bytes))).toEqual({
    answer: 'the backup is damaged: k has more than 64 values',
    parsed: 0,
  });
});

test('values of a content are counted before it is parsed, unless it is sealed', () => {
  const seals = TEST_SEALS;
  const of = (count: number, isSealed: boolean) => sealedText(many(count), isSealed ? { seals, key: 'k' } : undefined);
  expect(openedContent(BACKUP_CLAIM, seals, 'k', of(400_000, false))).toMatchObject({
    content: claim,
    seal: 'unsealed',
  });
  expect(openedContent(BACKUP_CLAIM, seals, 'k', of(600_000, true))).toMatchObject({ content: claim, seal: 'sealed' });
  const bytes = of(600_000, false);
  const { answer, parsed } = longestParsed(() => openedContent(BACKUP_CLAIM, seals, 'k', bytes));
  expect([answer, parsed]).toEqual(['the backup is damaged: k has more than 500000 values', bytes.length]);
  // By the seals of another service.
  expect(longestParsed(() => openedContent(BACKUP_CLAIM, OTHER_SEALS, 'k', of(600_000, true))).answer).toContain(
    'more than 500000 values',
  );
});

test('commas and brackets in texts are no values', () => {
  const text = { ...claim, later: `\\",[{`.repeat(300_000) };
  expect(contentOf(BACKUP_CLAIM, 'k', sealedText(text))).toEqual(claim);
});
