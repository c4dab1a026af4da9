import { RetryBackoff } from '../../../../../shared/base/time/retry-backoff';

const PAUSES = { firstMs: 100, longestMs: 1000 };

test('pauses double up to the longest, each from its upper half, and begin anew after a success', () => {
  const shortest = new RetryBackoff(PAUSES, () => 0);
  const longest = new RetryBackoff(PAUSES, () => 1);
  expect(Array.from({ length: 6 }, () => shortest.nextMs())).toEqual([50, 100, 200, 400, 500, 500]);
  expect(Array.from({ length: 6 }, () => longest.nextMs())).toEqual([100, 200, 400, 800, 1000, 1000]);
  longest.reset();
  expect(longest.nextMs()).toBe(100);
});

test('a pause ends when it is aborted, or was before', async () => {
  const anHour = 3_600_000;
  const backoff = new RetryBackoff({ firstMs: anHour, longestMs: anHour }, () => 1);
  const stop = new AbortController();
  const pausing = backoff.pause(stop.signal);
  stop.abort();
  await expect(pausing).resolves.toBeUndefined();
  await expect(backoff.pause(stop.signal)).resolves.toBeUndefined();
});
