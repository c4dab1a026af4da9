import { recallOf } from '../../../../dashboard/search/recall';

const hits = (...scores: number[]) => scores.map((score, i) => ({ external_id: `${score}/${i}`, score, metadata: {} }));

test.each([
  ['all of them', hits(0.9, 0.8), hits(0.9, 0.8), 1],
  ['half of them', hits(0.9, 0.5), hits(0.9, 0.8), 0.5],
  [
    'another one of the same score',
    hits(0.9, 0.8),
    [...hits(0.9), { external_id: 'other', score: 0.8, metadata: {} }],
    1,
  ],
  ['none where there is none', [], [], 1],
])('the recall of %s', (_, found, exact, wanted) => {
  expect(recallOf(found, exact)).toBe(wanted);
});
