import { mergedSample, partSize, type SampledItem } from '../../../../../coordinator/service/sampling/merged-sample';
import { SAMPLE_KEYS, sampleKey, sampleKeyOfAscii } from '../../../../../shared/contract/shard/sample-key';
import type { SampleResult } from '../../../../../shared/contract/shard/shard-read';
import { resultOf } from '../../../../../shared/base/time/work-slices';
import { shardOf } from '../../../../../coordinator/service/routing/shard-router';

const IDS = Array.from({ length: 4_000 }, (_, i) => `item-${i}`);
const keyed = (ids: string[], seed: number): SampledItem[] =>
  ids.map((externalId) => ({ externalId, key: sampleKey(seed, externalId) }));
const byKey = (items: SampledItem[]): SampledItem[] => [...items].sort((a, b) => a.key - b.key);
const ids = (items: SampledItem[] | null): string[] | undefined => items?.map(({ externalId }) => externalId);

function partOf(population: number, drawn: SampledItem[]): SampleResult {
  return {
    population,
    externalIds: drawn.map(({ externalId }) => externalId),
    keys: Float64Array.from(drawn, ({ key }) => key),
  };
}

/** What each of some shards answers when it is asked for `asked` items: some more than that. */
function partsOf(items: SampledItem[], shards: number, asked: number): SampleResult[] {
  return Array.from({ length: shards }, (_, shard) => {
    const own = byKey(items.filter(({ externalId }) => shardOf(externalId, shards) === shard));
    return partOf(own.length, own.slice(0, asked + 3).reverse());
  });
}

describe('the keys of a sample', () => {
  test('are integers below 2^53, the same for an id as text and as bytes', () => {
    for (const id of ['', 'a', 'item-1', 'x'.repeat(512)]) {
      const key = sampleKey(3, id);
      expect(Number.isSafeInteger(key) && key >= 0 && key < SAMPLE_KEYS).toBe(true);
      expect(sampleKeyOfAscii(3, Buffer.from(`..${id}..`), 2, 2 + id.length)).toBe(key);
    }
    expect(sampleKeyOfAscii(3, Buffer.from('é'), 0, 2)).toBe(-1);
    expect(sampleKey(0, 'é')).not.toBe(sampleKey(0, 'e'));
  });

  test('never change: samples of all versions are the same', () => {
    expect([sampleKey(0, 'item-1'), sampleKey(1, 'item-1'), sampleKey(2 ** 32 - 1, 'ß\ud800')]).toEqual(GOLDEN_KEYS);
  });

  test('are spread evenly, over ids and over seeds', () => {
    // Chi-square with 99 degrees of freedom: above 160 in one of ten thousand. The seeds are fixed.
    const unevenness = (keys: number[]): number => {
      const counts = new Array<number>(100).fill(0);
      for (const key of keys) counts[Math.floor((key / SAMPLE_KEYS) * 100)]++;
      return counts.reduce((sum, count) => sum + (count - keys.length / 100) ** 2 / (keys.length / 100), 0);
    };
    for (const seed of [0, 1, 2, 4_000_000_000])
      expect(unevenness(IDS.map((id) => sampleKey(seed, id)))).toBeLessThan(160);
    for (const id of ['a', 'item-7', '42'])
      expect(unevenness(IDS.map((_, seed) => sampleKey(seed, id)))).toBeLessThan(160);
  });

  test('draw every item equally often, and pairs of neighbours no oftener than chance', () => {
    const some = IDS.slice(0, 40);
    const times = new Map<string, number>();
    let pairs = 0;
    const ROUNDS = 4_000;
    for (let seed = 0; seed < ROUNDS; seed++) {
      const drawn = new Set(ids(byKey(keyed(some, seed)).slice(0, 10)));
      for (const id of drawn) times.set(id, (times.get(id) ?? 0) + 1);
      if (drawn.has(some[6]) && drawn.has(some[7])) pairs++;
    }
    // Each is drawn in a quarter of the rounds, 1,000 ± 27; both of two in 10/40 × 9/39 of them, 231 ± 15.
    for (const id of some) expect(Math.abs((times.get(id) ?? 0) - 1_000)).toBeLessThan(5 * 27);
    expect(Math.abs(pairs - 231)).toBeLessThan(5 * 15);
  });
});

describe('merging the parts of a sample', () => {
  const items = keyed(IDS, 9);

  test.each([1, 2, 3, 16, 64])('gives the least keys in order, of %i shards as of one', (shards) => {
    for (const size of [1, 100, 1_500, 4_000, 9_000]) {
      let asked = partSize(size, shards);
      let sample = resultOf(mergedSample(partsOf(items, shards, asked), asked, size));
      while (sample === null) {
        asked = Math.min(size, asked * 2);
        sample = resultOf(mergedSample(partsOf(items, shards, asked), asked, size));
      }
      expect(ids(sample)).toEqual(ids(byKey(items).slice(0, size)));
    }
  });

  test('asks again when a part does not reach far enough, and never without need', () => {
    expect(resultOf(mergedSample(partsOf(items, 2, 10), 10, 1_000))).toBeNull();
    expect(resultOf(mergedSample(partsOf(items, 8, partSize(2_000, 8)), partSize(2_000, 8), 2_000))).not.toBeNull();
    expect(partSize(50_000, 1)).toBe(50_000);
    expect(partSize(50_000, 100)).toBeLessThan(1_000);
  });

  test('has an item once that was seen twice, and ties in the order of ids', () => {
    const parts = [
      partOf(3, [
        { externalId: 'b', key: 5 },
        { externalId: 'a', key: 1 },
        { externalId: 'a', key: 1 },
      ]),
      partOf(1, [{ externalId: 'c', key: 5 }]),
    ];
    expect(ids(resultOf(mergedSample(parts, 4, 4)))).toEqual(['a', 'b', 'c']);
    expect(ids(resultOf(mergedSample(parts, 3, 3)))).toEqual(['a', 'b', 'c']);
  });

  test('of nothing is nothing', () => {
    expect(resultOf(mergedSample([partOf(0, [])], 5, 5))).toEqual([]);
  });
});

const GOLDEN_KEYS = [1_661_723_356_659_751, 108_844_777_464_436, 7_472_318_720_181_162];
