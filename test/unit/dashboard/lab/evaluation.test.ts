import { barOf, commandOf, difference, verdict } from '../../../../dashboard/lab/evaluation';

test.each([
  [{ low: 0.01, high: 0.2 }, 'better', 'good'],
  [{ low: -0.2, high: -0.01 }, 'worse', 'bad'],
  [{ low: -0.1, high: 0.1 }, 'no clear difference', ''],
  [{ low: 0, high: 0.1 }, 'no clear difference', ''],
  [{ low: 0, high: 0 }, 'the same', ''],
])('a difference between %j is %s', (interval, said, tag) => {
  expect(verdict({ mean: 0, ...interval })).toEqual({ said, tag });
});

test('differences have their sign, and none where nothing is shown of them', () => {
  expect([0.03125, -0.5, 0, -0.00001].map(difference)).toEqual(['+0.0313', '−0.5000', '0.0000', '0.0000']);
});

test('bars stay within their place', () => {
  expect(barOf({ mean: 0.5, low: 0.25, high: 1 })).toEqual({ width: 50, from: 25, span: 75 });
  expect(barOf({ mean: 1.2, low: -1, high: 2 })).toEqual({ width: 100, from: 0, span: 100 });
});

test('the command asks for no more than the first variant has', () => {
  const estimate = { mean: 0.7999, low: 0, high: 1 };
  const variant = { name: 'a', ndcg: estimate, recall: estimate, mrr: estimate, queries_without_hits: 0 };
  expect(commandOf('notes', { judgements: 'set', k: 10, queries: 2, missing_items: 0, variants: [variant] })).toBe(
    'quiver evaluate notes set --file set.json --at-least 0.79',
  );
});
