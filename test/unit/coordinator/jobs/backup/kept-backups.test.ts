import { keptBackups, parseKeepRule } from '../../../../../coordinator/jobs/backup/kept-backups';

const DAY_MS = 86_400_000;
const newestMs = Date.parse('2026-07-15T03:00:00Z');

test('of daily backups over two years, the last days, and the newest of weeks and months before are kept', () => {
  const backups = Array.from({ length: 730 }, (_, day) => ({ finishedMs: newestMs - day * DAY_MS }));
  const kept = [...keptBackups(backups, parseKeepRule('3d,2w,3m,2y')!)]
    .map(({ finishedMs }) => new Date(finishedMs).toISOString().slice(0, 10))
    .sort();
  expect(kept).toEqual([
    '2025-12-31',
    '2026-05-31',
    '2026-06-30',
    '2026-07-12',
    '2026-07-13',
    '2026-07-14',
    '2026-07-15',
  ]);
});

test('periods without a backup do not count, and the newest always stays', () => {
  const backups = [0, 40, 400].map((days) => ({ finishedMs: newestMs - days * DAY_MS }));
  expect(keptBackups(backups, parseKeepRule('2d')!)).toEqual(new Set(backups.slice(0, 2)));
  expect(keptBackups(backups.slice(2), parseKeepRule('1h')!).size).toBe(1);
  expect(keptBackups([], parseKeepRule('1h')!).size).toBe(0);
});

test.each(['', '7', 'd', '0d', '7d,', '7x'])('"%s" is no rule', (text) => expect(parseKeepRule(text)).toBeNull());
