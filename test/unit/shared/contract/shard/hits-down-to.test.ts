import { hitsDownTo } from '../../../../../shared/contract/shard/shard-read';

const hits = [
  { externalId: 'b', score: 0.5 },
  { externalId: 'a', score: 2e-8 },
  { externalId: 'c', score: 1e-8 },
  { externalId: 'd', score: -1 },
];
const idsDownTo = (externalId: string, score: number): string =>
  hitsDownTo(hits, { externalId, score })
    .map((hit) => hit.externalId)
    .join('');

test.each([1e-8, 5e-8, -5e-8])('the last hit is the last one where another processor gave it the score %d', (score) => {
  expect(idsDownTo('c', score)).toBe('bac');
});

test('where the last hit has gone, its score says what came before it', () => {
  expect(idsDownTo('gone', 1.5e-8)).toBe('ba');
  expect(idsDownTo('b2', 2e-8)).toBe('ba');
  expect(hitsDownTo(hits, null)).toEqual(hits);
});
