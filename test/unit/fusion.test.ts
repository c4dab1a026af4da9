import { fuse, fusionDepth } from '../../coordinator/search/fusion';

const list = (...ids: string[]) => ids.map((externalId, i) => ({ externalId, score: 100 - i, metadata: `{"of":"${externalId}"}` }));
const vector = list('a', 'b', 'c');
const keyword = list('c', 'd', 'a');

describe('reciprocal rank fusion', () => {
  test('adds the weighted reciprocal ranks, ranks from 1, constant 60', () => {
    expect(fuse({ vector, keyword }, 0.5, 0, 10)).toEqual([
      { externalId: 'a', score: 0.5 / 61 + 0.5 / 63, metadata: '{"of":"a"}' },
      { externalId: 'c', score: 0.5 / 63 + 0.5 / 61, metadata: '{"of":"c"}' },
      { externalId: 'b', score: 0.5 / 62, metadata: '{"of":"b"}' },
      { externalId: 'd', score: 0.5 / 62, metadata: '{"of":"d"}' },
    ]);
  });

  test('weighs by alpha', () => {
    expect(fuse({ vector, keyword }, 0.9, 0, 2).map(({ externalId, score }) => [externalId, score])).toEqual([
      ['a', 0.9 / 61 + (1 - 0.9) / 63],
      ['c', 0.9 / 63 + (1 - 0.9) / 61],
    ]);
  });

  test('alpha 1 is the vector list, alpha 0 the keyword list, with nothing of the other', () => {
    expect(fuse({ vector, keyword }, 1, 0, 10).map((hit) => hit.externalId)).toEqual(['a', 'b', 'c']);
    expect(fuse({ vector, keyword }, 0, 0, 10).map((hit) => hit.externalId)).toEqual(['c', 'd', 'a']);
  });

  test('cuts the page out of the fused order', () => {
    expect(fuse({ vector, keyword }, 0.5, 1, 2).map((hit) => hit.externalId)).toEqual(['c', 'b']);
    expect(fuse({ vector, keyword }, 0.5, 4, 2)).toEqual([]);
  });

  test('leaves the lists alone', () => {
    const before = JSON.stringify([vector, keyword]);
    fuse({ vector, keyword }, 0.5, 0, 10);
    expect(JSON.stringify([vector, keyword])).toBe(before);
  });

  test('reaches 200 deep at least, five times the places asked for', () => {
    expect([fusionDepth(1), fusionDepth(40), fusionDepth(41), fusionDepth(10_000)]).toEqual([200, 200, 205, 50_000]);
  });
});
