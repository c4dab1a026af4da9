import { type ItemsBySlot, orderedHits } from '../../../../../../node/engine/shard/reading/ordered-hits';
import { LEFT_OUT } from '../../../../../../shared/contract/shard/shard-read';

/** Live items of equal scores, whose metadata are of so many characters. */
function items(metadataLength: number): ItemsBySlot {
  return {
    isLive: () => true,
    externalIdOf: (slot) => `item-${String(slot).padStart(5, '0')}`,
    metadataOf: () => 'm'.repeat(metadataLength),
  };
}

function scored(count: number): { slot: number; score: number }[] {
  return Array.from({ length: count }, (_, i) => ({ slot: count - 1 - i, score: 1 }));
}

/** The hits, and how often the work can be interrupted before they are there. */
function run(steps: ReturnType<typeof orderedHits>): { slots: number[]; metadata: string[]; pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = steps.next();
    if (done !== true) continue;
    const hits = value ?? [];
    return { slots: hits.map(({ slot }) => slot), metadata: hits.map(({ hit }) => hit.metadata), pauses };
  }
}

describe('ordered hits', () => {
  it('are made in one step where they are few and small', () => {
    expect(run(orderedHits(items(100), scored(900), 900)).pauses).toBe(0);
  });

  it('can be interrupted behind each mebibyte of metadata, however few they are', () => {
    const { slots, pauses } = run(orderedHits(items(64 * 1024), scored(100), 100));
    expect(slots).toEqual(Array.from({ length: 100 }, (_, slot) => slot));
    expect(pauses).toBe(6);
  });

  it('can be interrupted where they are many', () => {
    expect(run(orderedHits(items(1), scored(1_024), 1_024)).pauses).toBe(8);
  });

  it('leave metadata out behind the bound', () => {
    const { metadata } = run(orderedHits(items(1_000), scored(10), 10, 2_500));
    expect(metadata.map((text) => text === LEFT_OUT)).toEqual([...Array(3).fill(false), ...Array(7).fill(true)]);
  });

  it('are none where an item goes between two steps', () => {
    const live = new Set(Array.from({ length: 40 }, (_, slot) => slot));
    const steps = orderedHits({ ...items(64 * 1024), isLive: (slot) => live.has(slot) }, scored(40), 40);
    expect(steps.next().done).toBe(false);
    live.delete(1);
    let last = steps.next();
    while (last.done !== true) last = steps.next();
    expect(last.value).toBeNull();
  });
});
