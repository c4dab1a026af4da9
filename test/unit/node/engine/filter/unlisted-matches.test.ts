import { MemoryFilterIndex } from '../../../../../node/engine/filter/memory-filter-index';
import { ChunkedSlotSet } from '../../../../../node/engine/slots/chunked-slot-set';
import type { Filter, JsonObject } from '../../../../../shared/contract/filter/filter';

const PHRASE: Filter = { type: 'words', query: 'red fox', match: 'phrase' };
/** Numbers in the lists of the index, and items that have many besides. */
const FULL = { items: 75, numbers: 4_000, others: 20 };

test('items outside the lists have the phrases that are found in them after they were put', async () => {
  const items: JsonObject[] = [];
  const having = new ChunkedSlotSet();
  const index = new MemoryFilterIndex({
    metadataOf: (slot) => items[slot],
    factsOf: (slot) => ({
      externalId: `i${slot}`,
      expiry: 0,
      updatedMs: 0,
      hasWords: () => having.has(slot),
    }),
    *slotsWithWords() {
      yield;
      return having.clone();
    },
  });
  let next = 0;
  const put = (numbers: number): number => {
    const slot = items.push({ numbers: Array.from({ length: numbers }, () => next++) }) - 1;
    index.put(slot, items[slot]);
    return slot;
  };
  const decide = (slot: number, has: boolean): void => {
    if (has) having.add(slot);
    else having.remove(slot);
    index.wordsChanged([slot]);
  };
  const found = async (): Promise<number[]> => {
    await index.prepare(PHRASE);
    return [...index.resolve(PHRASE).toArray()];
  };
  for (let i = 0; i < FULL.items; i += 1) put(FULL.numbers);
  for (let i = 0; i < FULL.others; i += 1) put(FULL.numbers);
  expect(index.unlistedSlots.size).toBeGreaterThan(16);
  decide(3, true);
  decide(90, true);
  expect(await found()).toEqual([3, 90]);
  const later = put(FULL.numbers);
  expect(await found()).toEqual([3, 90]);
  decide(later, true);
  decide(90, false);
  expect(await found()).toEqual([3, later]);
});

test('what words that begin so stand for is found in steps before it is asked for', async () => {
  const having = ChunkedSlotSet.fromArray([1]);
  let turns = 0;
  const steps = 50;
  const index = new MemoryFilterIndex({
    metadataOf: () => ({}),
    factsOf: (slot) => ({ externalId: `i${slot}`, expiry: 0, updatedMs: 0, hasWords: () => having.has(slot) }),
    *slotsWithWords() {
      for (let i = 0; i < steps; i++) {
        turns += 1;
        yield;
      }
      return having.clone();
    },
  });
  for (let slot = 0; slot < 3; slot++) index.put(slot, {});
  for (const stands of ['prefix', 1] as const) {
    turns = 0;
    const filter: Filter = { type: 'words', query: 'it', match: 'all', stands };
    await index.prepare(filter);
    expect(turns).toBe(steps);
    expect([...index.resolve(filter).toArray()]).toEqual([1]);
    // Of that, and not of the lists again.
    expect(turns).toBe(steps);
  }
});
