import { Cron } from '../../../../../coordinator/jobs/backup/cron';

const after = (rule: string, time: string): string | null => {
  const next = Cron.parse(rule)?.after(Date.parse(time)) ?? null;
  return next === null ? null : new Date(next).toISOString();
};

test.each([
  ['0 3 * * *', '2026-07-01T02:59:59Z', '2026-07-01T03:00:00.000Z'],
  ['0 3 * * *', '2026-07-01T03:00:00Z', '2026-07-02T03:00:00.000Z'],
  ['*/15 * * * *', '2026-07-01T23:50:00Z', '2026-07-02T00:00:00.000Z'],
  ['10-40/10,55 6 * * *', '2026-07-01T06:40:30Z', '2026-07-01T06:55:00.000Z'],
  ['0 0 1 * *', '2026-12-15T00:00:00Z', '2027-01-01T00:00:00.000Z'],
  ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['0 0 * * 7', '2026-07-01T00:00:00Z', '2026-07-05T00:00:00.000Z'],
  ['0 0 * * 1-5', '2026-07-03T12:00:00Z', '2026-07-06T00:00:00.000Z'],
  // Where both days are given, one of them suffices.
  ['0 0 13 * 5', '2026-07-01T00:00:00Z', '2026-07-03T00:00:00.000Z'],
])('%s after %s is %s', (rule, time, expected) => expect(after(rule, time)).toBe(expected));

test.each([
  '',
  '* * * *',
  '60 * * * *',
  '* 24 * * *',
  '0 0 0 * *',
  '0 0 * 13 *',
  '5-1 * * * *',
  '*/0 * * * *',
  'daily',
  '0 0 31 2 *',
  '0 0 * * 8',
])('"%s" is no rule', (rule) => expect(Cron.parse(rule)).toBeNull());
