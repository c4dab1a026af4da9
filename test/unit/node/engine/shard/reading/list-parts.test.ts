import { KeptParts } from '../../../../../../node/engine/shard/reading/kept-parts';
import { type DeepList, ListParts } from '../../../../../../node/engine/shard/reading/list-parts';

/** node/engine/shard/reading/list-parts.ts: how deep is looked for a part. */

const nameOf = (slot: number): string => `i${String(slot).padStart(6, '0')}`;

/** Slots from 0 on, each with a lower score than the one before. */
function listOf(count: number) {
  const depths: number[] = [];
  const items = { liveCount: count, isLive: () => true, externalIdOf: nameOf, versionOf: () => 1 };
  const search = async (depth: number): Promise<DeepList> => {
    depths.push(depth);
    const slots = Uint32Array.from({ length: Math.min(depth, count) }, (_, slot) => slot);
    return { found: { slots, scores: Float64Array.from(slots, (slot) => -slot) }, isWhole: slots.length < depth };
  };
  return { depths, search, parts: new ListParts(items, new KeptParts({ bytesMax: 1 << 20, unusedMs: 60_000 })) };
}

test.each([1, 40, 2 ** 32, Number.MAX_SAFE_INTEGER])(
  'where %d are said to come before, the part is the same, and no search is for many more than there are',
  async (passed) => {
    const { parts, search, depths } = listOf(50);
    const after = { externalId: nameOf(9), score: -9 };
    const hits = await parts.next(() => 'list', { versionMax: 1, after, passed }, 5, search);
    expect(hits.map(({ slot }) => slot)).toEqual([10, 11, 12, 13, 14]);
    expect(Math.max(...depths)).toBeLessThanOrEqual(4 * 50);
  },
);
