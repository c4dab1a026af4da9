import { boostedKeywords } from '../../../../../../node/engine/shard/reading/boosted-search';
import type { NumberedSlots } from '../../../../../../node/engine/shard/reading/boosted-list';
import { orderedHits } from '../../../../../../node/engine/shard/reading/ordered-hits';
import type { ShardBoosts } from '../../../../../../node/engine/shard/reading/shard-boosts';
import type { SlotScores } from '../../../../../../node/engine/slots/slot-scores';
import type { SlotSet } from '../../../../../../node/engine/slots/slot-set';
import { resultOf } from '../../../../../../shared/base/time/work-slices';
import { compareHits } from '../../../../../../shared/contract/shard/shard-read';

/** node/engine/shard/reading/boosted-search.ts: long lists of keywords with boosts, while items change. */

const ITEMS = 3_000;
const LAST_ROUND = 4;

interface Item {
  externalId: string;
  score: number;
  number: number;
}

/** Items by slot; a slot is used once. */
class Story {
  readonly slots: (Item | null)[] = [];
  readonly movedTo: number[] = [];
  /** How often the list of all was begun, and how often in one turn. */
  wholeLists = 0;
  private steps = 0;

  /** `onStep`: is called in each of the steps in which numbers are read. */
  constructor(private readonly onStep: (story: Story, step: number) => unknown) {
    for (let i = 0; i < ITEMS; i++) this.slots.push({ externalId: `i${i}`, score: 1, number: 1 + i / ITEMS });
  }

  remove(externalId: string): void {
    const slot = this.slots.findIndex((one) => one?.externalId === externalId);
    if (slot >= 0) this.slots[slot] = null;
  }

  replace(externalId: string, number: number): void {
    this.remove(externalId);
    this.movedTo.push(this.slots.push({ externalId, score: 1, number }) - 1);
  }

  /** The best of what there is, one by one. */
  best(k: number): { externalId: string; score: number }[] {
    return this.slots
      .flatMap((one) => (one === null ? [] : { externalId: one.externalId, score: one.score * one.number }))
      .sort(compareHits)
      .slice(0, k);
  }

  async found(k: number): Promise<{ externalId: string; score: number }[]> {
    const items = {
      isLive: (slot: number) => this.slots[slot] !== null,
      externalIdOf: (slot: number) => this.slots[slot]!.externalId,
      metadataOf: () => '{}',
    };
    const hits = await boostedKeywords({
      k,
      items,
      // No item has as much, so that the list is read to its end.
      boosts: { mode: 'multiply', most: 9, numbered: (listed: SlotScores) => this.numbered(listed) } as ShardBoosts,
      listOf: (count, within) => this.listed(count, within),
      moved: () => this.movedTo.filter((slot) => this.slots[slot] !== null),
      made: (scored) => resultOf(orderedHits(items, scored, k)),
      attemptsMax: 4,
      lastRound: LAST_ROUND,
    });
    return hits.map(({ hit: { externalId, score } }) => ({ externalId, score }));
  }

  private *listed(count: number, within: SlotSet | undefined): Generator<undefined, SlotScores> {
    if (within === undefined) this.wholeLists += 1;
    yield;
    const slots = [...this.slots.keys()].filter(
      (slot) => this.slots[slot] !== null && (within === undefined || within.has(slot)),
    );
    const first = Uint32Array.from(slots.slice(0, count));
    return { slots: first, scores: Float64Array.from(first, (slot) => this.slots[slot]!.score) };
  }

  private *numbered({ slots, scores }: SlotScores): Generator<undefined, NumberedSlots> {
    const found: { slot: number; score: number; number: number }[] = [];
    for (const [i, slot] of slots.entries()) {
      this.onStep(this, (this.steps += 1));
      const item = this.slots[slot];
      if (item === null) continue;
      found.push({ slot, score: scores[i], number: item.number });
      yield;
    }
    return {
      slots: Uint32Array.from(found, ({ slot }) => slot),
      scores: Float64Array.from(found, ({ score }) => score),
      numbers: Float64Array.from(found, ({ number }) => number),
    };
  }
}

async function wholeListsOf(onStep: (story: Story, step: number) => unknown): Promise<number> {
  const story = new Story(onStep);
  expect(await story.found(3)).toEqual(story.best(3));
  return story.wholeLists;
}

test('what is replaced while a long list is read is looked up, and the list is not read again', async () => {
  const undisturbed = await wholeListsOf(() => undefined);
  const replacing = wholeListsOf((story, step) => {
    if (step % 100 === 0 && step <= ITEMS) story.replace(`i${step}`, step === 2_000 ? 8 : 1.1);
  });
  expect(await replacing).toBe(undisturbed);
});

test('the best may be replaced again and again, and are answered in their last versions', async () => {
  let last = 0;
  const undisturbed = await wholeListsOf((_, step) => (last = step));
  // Also in the first steps in which its new version is looked up.
  const replacing = wholeListsOf((story, step) => step <= last + 2 && story.replace('i49', 3 + step / 1e6));
  expect(await replacing).toBe(undisturbed);
});

test('where the best are gone at last, the list is read for others', async () => {
  let last = 0;
  const undisturbed = await wholeListsOf((_, step) => (last = step));
  const removing = wholeListsOf((story, step) => {
    if (step === last) for (const { externalId } of story.best(5)) story.remove(externalId);
  });
  expect(await removing).toBeGreaterThan(undisturbed);
});
