import { fuse, fusionDepth } from '../../../../../coordinator/service/search/fusion';
import type { Fusing } from '../../../../../coordinator/service/search-request';
import type { Hit } from '../../../../../shared/contract/shard/shard-read';
import { byAlpha } from '../../../../support/models/plain-fusion';

const list = (...ids: string[]) =>
  ids.map((externalId, i) => ({ externalId, score: 100 - i, metadata: `{"of":"${externalId}"}` }));
const vector = list('a', 'b', 'c');
const keyword = list('c', 'd', 'a');
const fused = (
  lists: { vector: Hit[]; keyword: Hit[] },
  { alpha, ...page }: { alpha: number; offset: number; k: number; explain?: boolean; fusing?: Fusing },
) => fuse(byAlpha(lists, alpha), page);

describe('reciprocal rank fusion', () => {
  test('adds the weighted reciprocal ranks, ranks from 1, constant 60', () => {
    expect(fused({ vector, keyword }, { alpha: 0.5, offset: 0, k: 10 })).toEqual([
      { externalId: 'a', score: 0.5 / 61 + 0.5 / 63, metadata: '{"of":"a"}' },
      { externalId: 'c', score: 0.5 / 63 + 0.5 / 61, metadata: '{"of":"c"}' },
      { externalId: 'b', score: 0.5 / 62, metadata: '{"of":"b"}' },
      { externalId: 'd', score: 0.5 / 62, metadata: '{"of":"d"}' },
    ]);
  });

  test('weighs by alpha', () => {
    expect(
      fused({ vector, keyword }, { alpha: 0.9, offset: 0, k: 2 }).map(({ externalId, score }) => [externalId, score]),
    ).toEqual([
      ['a', 0.9 / 61 + (1 - 0.9) / 63],
      ['c', 0.9 / 63 + (1 - 0.9) / 61],
    ]);
  });

  test('alpha 1 is the vector list, alpha 0 the keyword list, with nothing of the other', () => {
    expect(fused({ vector, keyword }, { alpha: 1, offset: 0, k: 10 }).map((hit) => hit.externalId)).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(fused({ vector, keyword }, { alpha: 0, offset: 0, k: 10 }).map((hit) => hit.externalId)).toEqual([
      'c',
      'd',
      'a',
    ]);
  });

  test('cuts the page out of the fused order', () => {
    expect(fused({ vector, keyword }, { alpha: 0.5, offset: 1, k: 2 }).map((hit) => hit.externalId)).toEqual([
      'c',
      'b',
    ]);
    expect(fused({ vector, keyword }, { alpha: 0.5, offset: 4, k: 2 })).toEqual([]);
  });

  test('explains each hit by its places in the lists that weigh something', () => {
    const explained = (alpha: number) => fused({ vector, keyword }, { alpha, offset: 1, k: 2, explain: true });
    expect(explained(0.5)).toEqual([
      {
        externalId: 'c',
        score: 0.5 / 63 + 0.5 / 61,
        metadata: '{"of":"c"}',
        explanation: [
          { rank: 3, score: 98, part: 0.5 / 63 },
          { rank: 1, score: 100, part: 0.5 / 61 },
        ],
      },
      {
        externalId: 'b',
        score: 0.5 / 62,
        metadata: '{"of":"b"}',
        explanation: [
          { rank: 2, score: 99, part: 0.5 / 62 },
          { rank: null, score: null, part: 0 },
        ],
      },
    ]);
    expect(explained(1)[1].explanation).toEqual([
      { rank: 3, score: 98, part: 1 / 63 },
      { rank: null, score: null, part: 0 },
    ]);
    expect(explained(0)[1].explanation).toEqual([
      { rank: null, score: null, part: 0 },
      { rank: 3, score: 98, part: 1 / 63 },
    ]);
  });

  const fusedBy = (
    kind: Fusing['kind'],
    { constant = 60, isUnit = false, alpha = 0.5 } = {},
    lists = { vector, keyword },
  ) =>
    fused(lists, { alpha, offset: 0, k: 10, fusing: { kind, constant, isUnit } }).map(({ externalId, score }) => [
      externalId,
      score,
    ]);
  const scored = (...scores: number[]) => scores.map((score, i) => ({ externalId: `${i}`, score, metadata: '{}' }));

  test('ranks with another constant', () => {
    expect(fusedBy('rrf', { constant: 1 })).toEqual([
      ['a', 0.5 / 2 + 0.5 / 4],
      ['c', 0.5 / 4 + 0.5 / 2],
      ['b', 0.5 / 3],
      ['d', 0.5 / 3],
    ]);
    expect(fusedBy('rrf')).toEqual(
      fused({ vector, keyword }, { alpha: 0.5, offset: 0, k: 10 }).map((hit) => [hit.externalId, hit.score]),
    );
  });

  test('relative scores lie between the least and the greatest of their list; of one hit, it is 1', () => {
    expect(fusedBy('relative', { alpha: 0.75 })).toEqual([
      ['a', 0.75],
      ['b', 0.75 / 2],
      ['c', 0.25],
      ['d', 0.25 / 2],
    ]);
    expect(fusedBy('relative', { alpha: 0.75 }, { vector: list('x'), keyword: list('y', 'z') })).toEqual([
      ['x', 0.75],
      ['y', 0.25],
      ['z', 0],
    ]);
    expect(fusedBy('relative', { alpha: 1 }, { vector: scored(Infinity, 7, -Infinity), keyword })).toEqual([
      ['0', 1],
      ['1', 0.5],
      ['2', 0],
    ]);
  });

  test('dbsf goes by the mean and the deviation; of equal scores, each is in the middle', () => {
    const deviation = Math.sqrt(2 / 3);
    expect(fusedBy('dbsf', { alpha: 1 }, { vector: scored(3, 2, 1), keyword })).toEqual([
      ['0', expect.closeTo(0.5 + 1 / (6 * deviation), 12)],
      ['1', 0.5],
      ['2', expect.closeTo(0.5 - 1 / (6 * deviation), 12)],
    ]);
    expect(fusedBy('dbsf', { alpha: 1 }, { vector: scored(2, 2), keyword })).toEqual([
      ['0', 0.5],
      ['1', 0.5],
    ]);
  });

  test('linear adds the scores as they are', () => {
    expect(fusedBy('linear', { alpha: 0.25 })).toEqual([
      ['c', 0.25 * 98 + 0.75 * 100],
      ['a', 0.25 * 100 + 0.75 * 98],
      ['d', 0.75 * 99],
      ['b', 0.25 * 99],
    ]);
    expect(fusedBy('linear', {}, { vector: scored(Infinity), keyword: scored(-Infinity) })).toEqual([['0', 0]]);
  });

  test.each(['rrf', 'relative', 'dbsf'] as const)('in units, the best that there can be is 1 (%s)', (kind) => {
    const lists = { vector: scored(1, 0, 0, 0, 0), keyword: scored(9, 4, 4, 4, 4) };
    const found = fusedBy(kind, { isUnit: true, alpha: 0.3 }, lists);
    expect(found[0]).toEqual(['0', expect.closeTo(1, 12)]);
    const plain = fusedBy(kind, { alpha: 0.3 }, lists);
    expect(found.map(([id]) => id)).toEqual(plain.map(([id]) => id));
  });

  test('leaves the lists alone', () => {
    const before = JSON.stringify([vector, keyword]);
    fused({ vector, keyword }, { alpha: 0.5, offset: 0, k: 10 });
    expect(JSON.stringify([vector, keyword])).toBe(before);
  });

  test('reaches 200 deep at least and five times the places asked for, rounded up to a level', () => {
    expect([1, 40, 41, 51, 101, 201, 1_000, 1_001, 9_999, 10_000].map(fusionDepth)).toEqual([
      200, 200, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 50_000,
    ]);
  });

  test('a later page leaves out what earlier pages answered at a smaller depth', () => {
    // "late" is the 201st of the keywords: lists of 200 have it in one of them alone, lists of 250 in both.
    const vector = list(...Array.from({ length: 250 }, (_, i) => (i === 30 ? 'late' : `v${i}`)));
    const keyword = list(...Array.from({ length: 250 }, (_, i) => (i === 200 ? 'late' : `w${i}`)));
    const page = (offset: number) =>
      fused(
        { vector: vector.slice(0, fusionDepth(offset + 10)), keyword: keyword.slice(0, fusionDepth(offset + 10)) },
        { alpha: 0.5, offset, k: 10 },
      );
    const pages = [0, 10, 20, 30, 40, 50, 60, 70].map((offset) => page(offset).map(({ externalId }) => externalId));
    const all = pages.flat();
    expect(new Set(all).size).toBe(80);
    // Its place by the shorter lists is the 62nd, by the longer ones before the 40th, so it is the first that is left.
    expect(pages[4][0]).toBe('late');
    expect(new Set(all.slice(0, 40))).toEqual(new Set(Array.from({ length: 20 }, (_, i) => [`v${i}`, `w${i}`]).flat()));
  });
});
