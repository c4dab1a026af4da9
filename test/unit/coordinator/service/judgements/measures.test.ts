import { estimates } from '../../../../../coordinator/service/judgements/estimates';
import { measuresOf } from '../../../../../coordinator/service/judgements/measures';
import { resultOf } from '../../../../../shared/base/time/work-slices';
import { seededRandom } from '../../../../support/values/random';

const GRADES = new Map([
  ['a', 3],
  ['b', 2],
  ['c', 1],
  ['zero', 0],
]);

describe('measures of a query', () => {
  test.each([
    ['the best order', ['a', 'b', 'c'], 3, { ndcg: 1, recall: 1, mrr: 1 }],
    ['nothing', [], 10, { ndcg: 0, recall: 0, mrr: 0 }],
    ['what was judged to be no answer', ['zero', 'x'], 10, { ndcg: 0, recall: 0, mrr: 0 }],
    ['the last one at place 3', ['x', 'zero', 'c'], 10, { ndcg: 0.5 / 4.76186, recall: 1 / 3, mrr: 1 / 3 }],
    ['two in the other order', ['b', 'a'], 10, { ndcg: (2 + 3 * 0.63093) / 4.76186, recall: 2 / 3, mrr: 1 }],
    ['what is behind k', ['x', 'a', 'b'], 1, { ndcg: 0, recall: 0, mrr: 0 }],
    ['fewer places than answers', ['b', 'c'], 1, { ndcg: 2 / 3, recall: 1 / 3, mrr: 1 }],
  ])('%s', (_, found, k, expected) => {
    const measured = measuresOf(found, GRADES, k);
    expect(measured.ndcg).toBeCloseTo(expected.ndcg, 5);
    expect(measured.recall).toBeCloseTo(expected.recall, 12);
    expect(measured.mrr).toBeCloseTo(expected.mrr, 12);
  });
});

describe('intervals', () => {
  test('are those of the normal distribution for many values, and the same for the same values', () => {
    const random = seededRandom(7);
    const values = Array.from({ length: 400 }, () => random());
    const [found] = resultOf(estimates([values]));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
    const half = (1.96 * deviation) / Math.sqrt(values.length);
    expect(found.mean).toBeCloseTo(mean, 12);
    expect(found.low / (mean - half)).toBeCloseTo(1, 2);
    expect(found.high / (mean + half)).toBeCloseTo(1, 2);
    expect(resultOf(estimates([values]))).toEqual([found]);
  });

  test('are none for one query, or values that are all the same', () => {
    expect(resultOf(estimates([[0.5]]))).toEqual([{ mean: 0.5, low: 0.5, high: 0.5 }]);
    expect(resultOf(estimates([[1, 1, 1]]))).toEqual([{ mean: 1, low: 1, high: 1 }]);
  });

  test('of lists are of the same draws: a list and the same with 1 more have the same width', () => {
    const random = seededRandom(8);
    const values = Array.from({ length: 50 }, () => random());
    const [one, other] = resultOf(estimates([values, values.map((value) => value + 1)]));
    expect(other.low - one.low).toBeCloseTo(1, 12);
    expect(other.high - one.high).toBeCloseTo(1, 12);
  });
});
