import { BoostedList } from '../../../../../../node/engine/shard/reading/boosted-list';
import { sortedInSteps } from '../../../../../../node/engine/shard/reading/sorted-in-steps';
import { resultOf } from '../../../../../../shared/base/time/work-slices';
import { seededRandom } from '../../../../../support/values/random';

/** node/engine/shard/reading/sorted-in-steps.ts: long lists are sorted a little at a time. */

test.each([0, 1, 4_096, 4_097, 50_000])('%d are sorted, equal ones in their order, none of the steps long', (count) => {
  const random = seededRandom(7);
  const given = Array.from({ length: count }, (_, at) => ({ at, score: Math.floor(random() * 100) }));
  let compared = 0;
  let most = 0;
  const steps = sortedInSteps(given, (a, b) => {
    compared += 1;
    return a.score - b.score;
  });
  for (;;) {
    compared = 0;
    const { done, value } = steps.next();
    most = Math.max(most, compared);
    if (done !== true) continue;
    expect(value).toEqual(given.toSorted((a, b) => a.score - b.score || a.at - b.at));
    break;
  }
  expect(most).toBeLessThan(4_096 * 13);
});

test('a boosted list that keeps many is sorted and answered in steps', () => {
  const count = 100_000;
  const random = seededRandom(8);
  const slots = Uint32Array.from({ length: count }, (_, slot) => slot);
  const scores = Float64Array.from(slots, () => random());
  const numbers = Float64Array.from(slots, () => 1 + random());
  const list = new BoostedList(2 * count, { mode: 'multiply', most: 2, depth: count, isTied: true });
  expect(stepsOf(list.take({ found: { slots, scores, numbers }, last: null }))).toBeGreaterThan(4 * (count / 4_096));
  const steps = stepsOf(list.found());
  expect(steps).toBeGreaterThan(count / 4_096);
  const found = resultOf(list.found());
  const expected = [...slots].map((slot) => ({ slot, score: scores[slot] * numbers[slot] }));
  expected.sort((a, b) => b.score - a.score);
  expect([...found.slots]).toEqual(expected.map(({ slot }) => slot));
  expect([...found.scores]).toEqual(expected.map(({ score }) => score));
});

function stepsOf(steps: Iterator<unknown, unknown>): number {
  for (let count = 1; ; count += 1) if (steps.next().done === true) return count;
}
