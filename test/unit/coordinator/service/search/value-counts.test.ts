import { KeyDigests } from '../../../../../coordinator/service/search/key-digests';
import { ValueCounts } from '../../../../../coordinator/service/search/value-counts';
import { resultOf } from '../../../../../shared/base/time/work-slices';

/** coordinator/service/search/value-counts.ts: hits of many values. */

const diversity = { type: 'field', path: 'tags', atMost: 1 } as const;

function metadataOf(from: number, count: number): string {
  return JSON.stringify({ tags: Array.from({ length: count }, (_, i) => from + i) });
}

test('hits of many values are looked at in steps', () => {
  const counts = new ValueCounts(diversity, KeyDigests.NONE.with(['another']));
  const steps = counts.roomFor(metadataOf(0, 1_000));
  let count = 0;
  let last = steps.next();
  for (; last.done !== true; last = steps.next()) count += 1;
  expect(count).toBeGreaterThanOrEqual(1_000);
  counts.add(last.value!);
  expect([...counts.given()].length).toBeGreaterThanOrEqual(1_000);
});

test('a cursor with more values than it can hold is not answered', () => {
  const counts = new ValueCounts(diversity, KeyDigests.NONE);
  const add = (from: number, count: number): void => counts.add(resultOf(counts.roomFor(metadataOf(from, count)))!);
  for (let i = 0; i < 50; i += 1) add(1_000 * i, 1_000);
  expect(resultOf(counts.given()).size).toBe(50_000);
  add(50_000, 1);
  expect(() => resultOf(counts.given())).toThrow('it goes on for 50000 values');
});
