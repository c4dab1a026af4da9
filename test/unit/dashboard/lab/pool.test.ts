import { pooled } from '../../../../dashboard/lab/pool';

const hit = (id: string) => ({ external_id: id, score: 1, metadata: {} });

test('the hits of several answers are one list, each once, with its place in each', () => {
  const found = pooled([[hit('a'), hit('b'), hit('c')], [hit('b'), hit('d')], []]);
  expect(found.map(({ hit: { external_id: id }, places }) => [id, ...places])).toEqual([
    ['a', 1, null, null],
    ['b', 2, 1, null],
    ['d', null, 2, null],
    ['c', 3, null, null],
  ]);
  expect(pooled([])).toEqual([]);
});
