import { retryAfterMs } from '../../../../../coordinator/models/remote/json-post';

test.each([
  [{}, null],
  [{ 'retry-after': '' }, null],
  [{ 'retry-after': '3' }, 3000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after': '-1' }, null],
  [{ 'retry-after': 'Mon, 30 Nov 2026 10:00:10 GMT' }, 10_000],
  [{ 'retry-after': 'Mon, 30 Nov 2026 09:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '3', 'retry-after-ms': '120' }, 120],
  [{ 'retry-after': '3', 'retry-after-ms': 'x' }, 3000],
] as [Record<string, string>, number | null][])('%j is %p ms', (headers, expected) => {
  expect(retryAfterMs(new Headers(headers), Date.UTC(2026, 10, 30, 10))).toBe(expected);
});
