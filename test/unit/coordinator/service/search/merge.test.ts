import { mergeHits, sumStatistics } from '../../../../../coordinator/service/search/merge';
import { compareHits } from '../../../../../shared/contract/shard/shard-read';

const hits = (...pairs: [string, number][]) => pairs.map(([externalId, score]) => ({ externalId, score }));
const ids = (list: { externalId: string }[]): string[] => list.map((hit) => hit.externalId);

describe('the order of answers', () => {
  test('is score falling, then ids by UTF-16 code units', () => {
    const list = hits(['b', 1], ['a', 1], ['B', 1], ['z', 2], ['', 0], ['a', 0.5]);
    expect(ids(list.sort(compareHits))).toEqual(['z', 'B', 'a', 'b', 'a', '']);
    // U+1F642 begins with a surrogate, D83D, so it comes before U+FF21 although its code point is higher.
    expect(ids(hits(['\uff21', 1], ['🙂', 1], ['é', 1], ['e\u0301', 1]).sort(compareHits))).toEqual([
      'e\u0301',
      'é',
      '🙂',
      '\uff21',
    ]);
  });

  test('holds where scores overflow', () => {
    const list = hits(['c', -Infinity], ['b', Infinity], ['a', Infinity], ['d', 0], ['e', -Infinity]);
    expect(ids(list.sort(compareHits))).toEqual(['a', 'b', 'd', 'c', 'e']);
  });
});

describe('merging', () => {
  const lists = [hits(['a', 3], ['d', 1]), [], hits(['b', 3], ['c', 2], ['e', 1])];

  test('interleaves the lists and cuts out the page', () => {
    expect(ids(mergeHits(lists, 0, 10))).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(ids(mergeHits(lists, 1, 2))).toEqual(['b', 'c']);
    expect(mergeHits(lists, 5, 2)).toEqual([]);
    expect(mergeHits([[], []], 0, 3)).toEqual([]);
  });

  test('a single list is passed through without a copy', () => {
    expect(mergeHits([lists[2]], 0, 3)).toBe(lists[2]);
    expect(ids(mergeHits([lists[2]], 1, 1))).toEqual(['c']);
  });
});

test('statistics of shards add up, term by term', () => {
  const shards = [
    { documentCount: 2, totalLength: 10, documentFrequencies: [1, 0] },
    { documentCount: 3, totalLength: 7, documentFrequencies: [2, 5] },
  ];
  expect(sumStatistics(shards)).toEqual({ documentCount: 5, totalLength: 17, documentFrequencies: [3, 5] });
});
