import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { RankedLists } from '../../../../../coordinator/service/search/ranked-lists';
import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import type { VectorSearch } from '../../../../../shared/contract/shard/shard-read';
import { systemClock } from '../../../../../shared/base/time/clock';
import { nearest } from '../../../../support/stories/search-forms';

/** Searches of few hits with long metadata are deep reads: coordinator/service/search/ranked-lists.ts. */

const RECORD = { uid: 'u', name: 'c', dim: 2, metric: 'ip', shards: 2 } as CollectionRecord;
const CALL = { deadlineMs: Infinity };

/** Hits of so many bytes each; answers for how many hits each search counted. */
function lists(bytes: () => number): { search: (k: number, texts?: boolean) => Promise<unknown>; counted: number[] } {
  const counted: number[] = [];
  const read = async (_id: unknown, _kind: unknown, { k }: VectorSearch) => ({
    hits: Array.from({ length: k }, (_, i) => ({ externalId: `${i}`, score: -i, metadata: 'm'.repeat(bytes()) })),
    vectorCount: 100,
  });
  const ranked = new RankedLists({
    catalog: { read: async () => RECORD },
    shards: { read: read as never },
    scatter: new ScatterGather({ clock: systemClock, timeoutMs: 10_000, uidOf: async ({ uid }) => uid }),
    sets: { ofModel: (_record: unknown, _call: unknown, ask: (record: unknown) => unknown) => ask(RECORD) } as never,
    deep: {
      run: (hits, _call, run) => {
        counted.push(Math.round(hits));
        return run();
      },
    },
    clock: systemClock,
    recordStep: () => undefined,
  });
  const vector = Float32Array.of(1, 0);
  const search = async (k: number, texts = false): Promise<unknown> => {
    const request = nearest({ source: { vector }, k });
    return ranked.rank(RECORD, { ...request, output: { ...request.output, texts } }, vector, {}, CALL);
  };
  return { search, counted };
}

test('a search counts as many hits as cost as much as its hits with their metadata', async () => {
  const { search, counted } = lists(() => 64 * 1024);
  await search(10);
  await search(10);
  await search(1, true);
  await search(2, true);
  // Those with texts have lengths of their own.
  expect(counted).toEqual([10, 2560, 1, 512]);
});

test('few short ones between do not hide that others are long, and many do', async () => {
  let bytes = 64 * 1024;
  const { search, counted } = lists(() => bytes);
  await search(10);
  bytes = 100;
  await search(10);
  await search(10);
  expect(counted[2]).toBeGreaterThan(700);
  for (let i = 0; i < 40; i += 1) await search(10);
  expect(counted.at(-1)).toBe(10);
});

test('of many searches at once, before any has answered, all but the first ones are taken for deep', async () => {
  const { search, counted } = lists(() => 100);
  await Promise.all(Array.from({ length: 12 }, () => search(3)));
  expect(counted).toEqual([...Array.from({ length: 8 }, () => 3), ...Array.from({ length: 4 }, () => 1000)]);
  await Promise.all(Array.from({ length: 12 }, () => search(3)));
  expect(counted.slice(12)).toEqual(Array.from({ length: 12 }, () => 3));
});
