import { cutTiedSlots, cutTies } from '../../../../../../node/engine/shard/reading/border-ties';
import { resultOf } from '../../../../../../shared/base/time/work-slices';

/** node/engine/shard/reading/border-ties.ts: which of those that tie with the last are kept. */

const found = (scores: number[]) => ({ slots: Uint32Array.from(scores.keys()), scores: Float64Array.from(scores) });
const named = (names: string[], gone: number[] = []) => ({
  isLive: (slot: number) => !gone.includes(slot),
  externalIdOf: (slot: number) => names[slot],
});

test('where nothing ties beyond the last, no id is read', () => {
  const items = {
    isLive: () => true,
    externalIdOf: () => {
      throw new Error('read');
    },
  };
  for (const [scores, k] of [
    [[], 3],
    [[3, 2, 2], 3],
    [[3, 2], 3],
  ] as const) {
    expect(resultOf(cutTies(items, found([...scores]), k))).toEqual({
      scored: scores.map((score, slot) => ({ slot, score })),
      border: null,
    });
  }
});

test('of those that tie with the last, the first by id in code units stay, whatever their number', () => {
  const names = [
    'z',
    'y',
    ...Array.from(
      { length: 5_000 },
      (_, i) => `${['\u{1f600}', '\uffee', 'i'][i % 3]}${String((i * 997) % 5_000).padStart(4, '0')}`,
    ),
  ];
  const { scored, border } = resultOf(cutTies(named(names), found([9, 8, ...new Array<number>(5_000).fill(7)]), 1_900));
  const first = names
    .slice(2)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .slice(0, 1_898);
  expect(scored.map(({ slot }) => names[slot])).toEqual(['z', 'y', ...first]);
  expect(border).toEqual({ score: 7, externalId: first.at(-1) });
});

test('a slot that is empty by now comes besides: something may have come in its place', () => {
  const { scored, border } = resultOf(cutTies(named(['c', 'a', 'd', 'b'], [1]), found([1, 1, 1, 1]), 2));
  expect(scored.map(({ slot }) => slot).toSorted((a, b) => a - b)).toEqual([0, 1, 3]);
  expect(border).toEqual({ score: 1, externalId: 'c' });
  expect(resultOf(cutTies(named(['c', 'a', 'd'], [1, 2]), found([1, 1, 1]), 2))).toMatchObject({ border: null });
});

test('as slots and scores they are the same, without those that are gone', () => {
  const items = named(['c', 'a', 'd', 'b', 'e'], [1]);
  for (const scores of [[], [3, 2, 1], [3, 2, 2, 2, 2], [1, 1, 1, 1, 1]])
    for (const k of [1, 2, 3, 5]) {
      const { scored, border } = resultOf(cutTies(items, found(scores), k));
      const { slots, scores: kept, isCut } = resultOf(cutTiedSlots(items, found(scores), k));
      const ties = scored.filter(({ slot }) => scores.length <= k || slot !== 1 || scores[1] !== scores.at(-1));
      expect([...slots].map((slot, i) => ({ slot, score: kept[i] }))).toEqual(ties);
      expect(isCut).toBe(border !== null);
    }
});

test('many are looked at in steps', () => {
  const steps = cutTies(named(Array.from({ length: 10_000 }, String)), found(new Array<number>(10_000).fill(1)), 10);
  expect([...steps].length).toBeGreaterThan(15);
});

test('many that do not tie are listed in steps', () => {
  const scores = Array.from({ length: 100_000 }, (_, i) => -i);
  expect([...cutTies(named([]), found(scores), scores.length)].length).toBeGreaterThan(15);
});
