import { HybridSearch } from '../../../../../coordinator/service/search/hybrid-search';
import { vectorAndKeywords } from '../../../../../coordinator/service/search-request';
import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import type { ShardClient, ShardId } from '../../../../../shared/contract/shard/shard-client';
import type { Hit } from '../../../../../shared/contract/shard/shard-read';
import { systemClock } from '../../../../../shared/base/time/clock';

const SHARDS = 4;
const collection = { uid: 'u', name: 'c', shards: SHARDS, language: null };

/** Shards that have these hits each, and note how many they were asked for. */
function shardsOf(hitsByShard: Hit[][]) {
  const asked: [shard: number, k: number][] = [];
  const read = async (id: ShardId, _kind: string, request: { k: number }) => {
    asked.push([id.shard, request.k]);
    return { hits: hitsByShard[id.shard].slice(0, request.k), vectorCount: 0 };
  };
  const scatter = new ScatterGather({ clock: systemClock, timeoutMs: 60_000, uidOf: async () => 'u' });
  const catalog = { read: async () => collection };
  const search = new HybridSearch({ catalog, shards: { read } as unknown as Pick<ShardClient, 'read'>, scatter });
  const vector = Float32Array.of(1);
  const page = (k: number) =>
    search.search(
      collection,
      {
        legs: vectorAndKeywords({ text: '' }, { vector, alpha: 1 }).legs,
        vectors: [{ vector }, { vector: null }],
        k,
        offset: 0,
        filter: null,
        effort: { type: 'calibrated' },
        ofBestScore: { reserve: async () => undefined, deeper: (work) => work() },
      },
      scatter.begin(),
    );
  return { asked, page };
}

const hit = (n: number): Hit => ({ externalId: `item-${n}`, score: -n, metadata: '{}' });
const numbers = Array.from({ length: 6_000 }, (_, n) => n);

describe('lists of a hybrid search', () => {
  test('short ones come whole from every shard', async () => {
    const { asked, page } = shardsOf([0, 1, 2, 3].map((shard) => numbers.filter((n) => n % SHARDS === shard).map(hit)));
    expect((await page(999)).map(({ externalId }) => externalId)).toEqual(
      numbers.slice(0, 999).map((n) => `item-${n}`),
    );
    expect(asked).toEqual([0, 1, 2, 3].map((shard) => [shard, 999]));
  });

  test('long ones come in part from every shard if they are spread evenly', async () => {
    const { asked, page } = shardsOf([0, 1, 2, 3].map((shard) => numbers.filter((n) => n % SHARDS === shard).map(hit)));
    expect((await page(4_000)).map(({ externalId }) => externalId)).toEqual(
      numbers.slice(0, 4_000).map((n) => `item-${n}`),
    );
    // A quarter, and six times the square root of it.
    expect(asked).toEqual([0, 1, 2, 3].map((shard) => [shard, 1_190]));
  });

  test('a shard that has more of a long one than its part is asked again, and the answer is the same', async () => {
    const shardOf = (n: number): number => (n < 3_000 ? 2 : n % SHARDS);
    const { asked, page } = shardsOf([0, 1, 2, 3].map((shard) => numbers.filter((n) => shardOf(n) === shard).map(hit)));
    expect((await page(4_000)).map(({ externalId }) => externalId)).toEqual(
      numbers.slice(0, 4_000).map((n) => `item-${n}`),
    );
    expect(asked.slice(SHARDS)).toEqual([[2, 4_000]]);
  });

  test('a list that ends early is read to its end', async () => {
    const { asked, page } = shardsOf([numbers.slice(0, 2_000).map(hit), [], [], [hit(2_500)]]);
    expect(await page(4_000)).toHaveLength(2_001);
    expect(asked.slice(SHARDS)).toEqual([[0, 4_000]]);
  });

  test('those by the best score, of many lists each, are made one after the other', async () => {
    let running = 0;
    let most = 0;
    const read = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return { hits: [hit(1)], vectorCount: 1 };
    };
    const scatter = new ScatterGather({ clock: systemClock, timeoutMs: 60_000, uidOf: async () => 'u' });
    const shards = { read } as unknown as Pick<ShardClient, 'read'>;
    const search = new HybridSearch({ catalog: { read: async () => collection }, shards, scatter });
    const vector = Float32Array.of(1);
    const of = {
      type: 'examples' as const,
      positives: [{ vector }, { vector }],
      negatives: [],
      strategy: 'best_score' as const,
    };
    const legs = Array.from({ length: 8 }, () => ({ of, weight: 1, filter: null }));
    const found = await search.search(
      collection,
      {
        legs,
        vectors: legs.map(() => ({ vector, examples: { positives: [vector, vector], negatives: [] } })),
        k: 1,
        offset: 0,
        filter: null,
        effort: { type: 'calibrated' },
        ofBestScore: { reserve: async () => undefined, deeper: (work) => work() },
      },
      scatter.begin(),
    );
    expect(found[0].score).toBeCloseTo(8 / 61, 8);
    expect(most).toBe(of.positives.length * SHARDS);
  });
});
