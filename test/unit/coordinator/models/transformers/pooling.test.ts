import { normaliseRows, pool, type PoolingMode } from '../../../../../coordinator/models/transformers/pooling';

/** Two texts of two numbers per token; the first has three tokens, the second two and a padding that must not count. */
const INPUT = {
  states: Float32Array.of(1, 2, 3, -4, 5, 6, 10, 20, 30, 40, 999, 999),
  mask: [1n, 1n, 1n, 1n, 1n, 0n],
  texts: 2,
  tokens: 3,
  hidden: 2,
};

describe('pooling', () => {
  test.each<[PoolingMode, number[]]>([
    ['cls', [1, 2, 10, 20]],
    ['last', [5, 6, 30, 40]],
    ['max', [5, 6, 30, 40]],
    ['mean', [3, 4 / 3, 20, 30]],
    ['mean_sqrt_len', [9 / Math.sqrt(3), 4 / Math.sqrt(3), 40 / Math.sqrt(2), 60 / Math.sqrt(2)]],
    ['weighted_mean', [(1 + 6 + 15) / 6, (2 - 8 + 18) / 6, (10 + 60) / 3, (20 + 80) / 3]],
  ])('%s', (mode, expected) => {
    pool(INPUT, [mode]).forEach((value, i) => expect(value).toBeCloseTo(expected[i], 4));
  });

  test('padding in front counts as little', () => {
    expect([...pool({ ...INPUT, mask: [0, 1, 1, 0, 0, 1] }, ['cls', 'last'])]).toEqual([
      3, -4, 5, 6, 999, 999, 999, 999,
    ]);
  });

  test('several modes stand one after another', () => {
    expect([...pool(INPUT, ['cls', 'max'])]).toEqual([1, 2, 5, 6, 10, 20, 30, 40]);
  });

  test('rows are brought to unit length, one by one; zeros stay', () => {
    const rows = Float32Array.of(3, 4, 0, 0, 0, -2);
    normaliseRows(rows, 2);
    expect([...rows].map((value) => Number(value.toFixed(6)))).toEqual([0.6, 0.8, 0, 0, 0, -1]);
  });
});
