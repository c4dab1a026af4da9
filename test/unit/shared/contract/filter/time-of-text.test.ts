import { timeFromNow, timeOfText } from '../../../../../shared/contract/filter/time-of-text';

test.each([
  ['1970-01-01', 0],
  ['1970-01-01T00:00Z', 0],
  ['2024-02-01T00:00:00+02:00', Date.UTC(2024, 0, 31, 22)],
  ['2024-02-29 23:59:59.999999-0130', Date.UTC(2024, 2, 1, 1, 29, 59) + 999.999],
  ['2024-02-01t10:20:30,5 z', Date.UTC(2024, 1, 1, 10, 20, 30, 500)],
  ['2024-02-01T10:20:30', Date.UTC(2024, 1, 1, 10, 20, 30)],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1)],
  ['1969-12-31T23:59:59Z', -1_000],
  ['0000-01-01', -62_167_219_200_000],
  ['9999-12-31', Date.UTC(9999, 11, 31)],
  ['2023-02-29', null],
  ['1900-02-29', null],
  ['2024-13-01', null],
  ['2024-00-10', null],
  ['2024-01-00', null],
  ['2024-04-31', null],
  ['2024-01-01T24:00', null],
  ['2024-01-01T00:60', null],
  ['2024-01-01T00:00:61', null],
  ['2024-01-01T00:00+24:00', null],
  ['2024-01-01T00:00+01:60', null],
  ['2024-01-01T00', null],
  ['2024-01-01T00:00 ', null],
  ['2024-1-1', null],
  ['20240101', null],
  ['x2024-01-01', null],
  ['2024-01-01\n', null],
  [`2024-01-01T00:00:00.${'1'.repeat(40)}Z`, null],
  ['', null],
])('%s', (text, time) => {
  expect(timeOfText(text)).toBe(time);
});

test('days are those of the calendar, from 0000 on', () => {
  for (let day = -719_528; day < 200_000; day += 37) {
    const date = new Date(day * 86_400_000);
    expect(timeOfText(date.toISOString())).toBe(date.getTime());
  }
});

test.each([
  ['now', 1_000_000_000],
  ['now-7d', 1_000_000_000 - 604_800_000],
  ['now-1w+30m', 1_000_000_000 - 604_800_000 + 1_800_000],
  ['now+2h-5s', 1_000_000_000 + 7_195_000],
  ['now-', null],
  ['now-7', null],
  ['now-7y', null],
  ['now -7d', null],
  ['Now', null],
  ['', null],
])('%s', (text, time) => {
  expect(timeFromNow(text, 1_000_000_000)).toBe(time);
});
