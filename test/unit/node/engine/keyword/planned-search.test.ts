import { Bm25KeywordIndex } from '../../../../../node/engine/keyword/bm25-keyword-index';
import { TermDictionary } from '../../../../../node/engine/keyword/term-dictionary';

const WORDS = 3_000;

test('words that a unit has more of are found once, though each break has a write, and numbers that pass on are told', () => {
  const index = new Bm25KeywordIndex();
  for (let i = 0; i < WORDS; i++) index.put(i, `pump${i} iron`);
  for (let i = 0; i < 10_000; i++) index.put(WORDS + i, 'pump1 pump2');
  const units = [
    { terms: [0], factors: [1], more: [{ term: 'pump', by: 'prefix' as const }], isOptional: false },
    { terms: [1], isOptional: false },
  ];
  const documentCount = WORDS + 10_000;
  const statistics = { documentCount, totalLength: 2 * documentCount, documentFrequencies: [10_001, WORDS] };
  const options = { k: 2 * documentCount, allowed: () => null, unitSlots: () => null };
  // The order of the terms is made.
  for (const _ of index.searchPlanInSteps(['pump1', 'iron'], { units, minimum: 0 }, statistics, options));
  const find = jest.spyOn(TermDictionary.prototype, 'find');
  const search = index.searchPlanInSteps(['pump1', 'iron'], { units, minimum: 0 }, statistics, options);
  let steps = 0;
  let step = search.next();
  for (; !step.done; step = search.next(), steps++) {
    // The number of the word that goes passes to one that does not begin so.
    index.remove(10 + steps);
    index.put(documentCount + steps, `valve${steps}`);
  }
  expect(steps).toBeGreaterThan(3);
  expect(find.mock.calls.length).toBeLessThan(4 * WORDS);
  find.mockRestore();
  const found = new Set(step.value.slots);
  for (let i = 10 + steps; i < documentCount; i++) if (!found.has(i)) throw new Error(`slot ${i} is lost`);
  expect([...step.value.slots].filter((slot) => slot >= documentCount)).toEqual([]);
  const after = index.searchPlanInSteps(['pump1', 'iron'], { units, minimum: 0 }, statistics, options);
  let last = after.next();
  while (!last.done) last = after.next();
  expect(last.value.slots.length).toBe(documentCount - steps);
});

test('very many words that a unit has more of are found in steps', () => {
  const index = new Bm25KeywordIndex();
  for (let i = 0; i < 60_000; i++) index.put(i, `pump${i}`);
  const units = [{ terms: [0], factors: [1], more: [{ term: 'pump', by: 'prefix' as const }], isOptional: false }];
  const statistics = { documentCount: 60_000, totalLength: 60_000, documentFrequencies: [1] };
  const find = jest.spyOn(TermDictionary.prototype, 'find');
  const options = { k: 60_000, allowed: () => null, unitSlots: () => null };
  const search = index.searchPlanInSteps(['pump1'], { units, minimum: 0 }, statistics, options);
  let most = 0;
  let step = search.next();
  for (let before = 0; ; step = search.next()) {
    const calls = find.mock.calls.length;
    most = Math.max(most, calls - before);
    before = calls;
    if (step.done) break;
  }
  find.mockRestore();
  expect(step.value.slots.length).toBe(60_000);
  expect(most).toBeLessThan(30_000);
});
