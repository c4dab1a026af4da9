import { type BestScoreParts, bestScores } from '../../../../../coordinator/service/search/best-score';
import type { ScoredHit } from '../../../../../coordinator/service/service';

const POSITIVES = [Float32Array.of(1), Float32Array.of(2)];
const NEGATIVE = Float32Array.of(-1);
const NOTHING: ReadonlySet<string> = new Set();

/** As many items near to each positive, no two alike; negatives are as near to the first `rejected` of each. */
function partsOf(items: number, rejected: number): BestScoreParts & { asked: string[][]; depths: string[] } {
  const asked: string[][] = [];
  const depths: string[] = [];
  let isDeeper = false;
  const hitsOf = (list: number): ScoredHit[] =>
    Array.from({ length: items }, (_, i) => ({ externalId: `${list}-${i}`, score: items - i, metadata: '{}' }));
  return {
    asked,
    depths,
    isBoosted: false,
    nearest: async (vectors, depth) => {
      depths.push(`${isDeeper ? 'deeper ' : ''}${depth}`);
      return { lists: vectors.map((_, list) => hitsOf(list).slice(0, depth)), totalCount: null };
    },
    scores: async (_, ids) => {
      asked.push(ids);
      return new Map(ids.map((id) => [id, Number(id.slice(2)) < rejected ? Infinity : -Infinity]));
    },
    deeper: async (work) => {
      isDeeper = true;
      return work().finally(() => (isDeeper = false));
    },
  };
}

const idsOf = ({ hits }: { hits: ScoredHit[] }): string[] => hits.map(({ externalId }) => externalId);

afterEach(() => jest.restoreAllMocks());

test('only the first lists are read without asking for more room', async () => {
  const parts = partsOf(1_000, 50);
  const found = await bestScores(parts, { positives: POSITIVES, negatives: [NEGATIVE] }, NOTHING, { offset: 1, k: 2 });
  expect(idsOf(found)).toEqual(['1-50', '0-51']);
  expect(parts.depths).toEqual(['6', 'deeper 24', 'deeper 96']);
});

test('what negatives reject is asked about in few calls, none of which is long', async () => {
  const parts = partsOf(12_000, 12_000);
  const found = await bestScores(parts, { positives: POSITIVES, negatives: [NEGATIVE] }, NOTHING, { offset: 0, k: 1 });
  expect(found.hits).toEqual([]);
  expect(new Set(parts.asked.flat()).size).toBe(20_000);
  expect(parts.asked.flat()).toHaveLength(20_000);
  expect(Math.max(...parts.asked.map((ids) => ids.length))).toBeLessThanOrEqual(1_024);
  expect(parts.asked.length).toBeLessThan(50);
});

test('long lists are merged in many turns of the event loop', async () => {
  // Each step is as long as a slice.
  let nowMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += 10));
  let turns = 0;
  let isDone = false;
  const turn = (): void => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const found = await bestScores(partsOf(10_000, 0), { positives: POSITIVES, negatives: [] }, new Set(['0-0']), {
    offset: 0,
    k: 9_000,
  });
  isDone = true;
  expect(idsOf(found).slice(0, 3)).toEqual(['1-0', '0-1', '1-1']);
  expect(found.hits).toHaveLength(9_000);
  expect(turns).toBeGreaterThan(10);
});
