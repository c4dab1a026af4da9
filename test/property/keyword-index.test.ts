import assert from 'node:assert/strict';
import { Bm25KeywordIndex } from '../../node/engine/keyword/bm25-keyword-index';
import { type KeywordIndex, slotName } from '../../node/engine/keyword/keyword-index';
import { PlainKeywordIndex } from '../support/models/plain-keyword-index';
import { ChunkedSlotSet } from '../../node/engine/slots/chunked-slot-set';
import type { WordsCondition } from '../../shared/contract/filter/filter';
import { resultOf } from '../../shared/base/time/work-slices';
import type { QuiverError } from '../../shared/base/errors/quiver-error';
import type { KeywordPlan, KeywordUnit } from '../../shared/contract/shard/keyword-plan';
import type { SlotScores } from '../../node/engine/slots/slot-scores';
import type { SlotSet } from '../../node/engine/slots/slot-set';
import type { KeywordStatistics } from '../../shared/contract/shard/shard-read';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Bm25KeywordIndex against the plain definition, under random changes, saves, damage, and splits into shards. What is
 * compared hit by hit is compared without `expect`, which would take most of the time.
 */

const random = seededRandom(runSeed('keyword index'));
const below = (n: number): number => Math.floor(random() * n);
/** Frequent words have short names: w0 is in most texts. */
const word = (): string => `w${Math.floor(400 ** random()) - 1}`;
const text = (): string => Array.from({ length: below(12) }, word).join(' ');
const query = (): string[] => [...new Set(Array.from({ length: 1 + below(5) }, word))];

function expectSameAnswers(actual: KeywordIndex, expected: KeywordIndex, slotCount: number): void {
  const terms = query();
  const statistics = actual.statistics(terms);
  expect(statistics).toEqual(expected.statistics(terms));
  for (const match of ['any', 'all'] as const) {
    const condition: WordsCondition = { type: 'words', query: query().slice(0, 3).join(' '), match };
    const slots = resultOf(actual.slotsWithWords(condition));
    assert.deepEqual(slots.toArray(), resultOf(expected.slotsWithWords(condition)).toArray());
    const slot = below(slotCount);
    assert.equal(actual.hasWords(slot, condition), slots.has(slot));
  }
  const allowed =
    random() < 0.5 ? null : ChunkedSlotSet.fromArray(Array.from({ length: below(slotCount) }, () => below(slotCount)));
  const k = 1 + below(random() < 0.2 ? 400 : 20);
  // Names in another order than the slots.
  const nameOf = (slot: number): string => `${(slot * 7919) % 200_003}`;
  const found = actual.search(terms, statistics, { k, allowed, nameOf });
  const all = expected.search(terms, statistics, { k: slotCount, allowed, nameOf });
  expectBest(found, all, k);
  // Bit for bit and tie by tie what nothing was pruned from.
  const whole = actual.search(terms, statistics, { k: slotCount, allowed, nameOf });
  assert.deepEqual(found, { slots: whole.slots.slice(0, k), scores: whole.scores.slice(0, k) });
  whole.slots.forEach((slot, i) => {
    if (i > 0 && whole.scores[i] === whole.scores[i - 1]) assert.ok(nameOf(whole.slots[i - 1]) < nameOf(slot));
  });
}

function expectSameExpansions(actual: KeywordIndex, expected: KeywordIndex): void {
  const by = (['prefix', 1, 2] as const)[below(3)];
  const asked = { term: word().slice(0, 1 + below(4)), by, after: random() < 0.7 ? '' : word(), limit: 1 + below(40) };
  assert.deepEqual(resultOf(actual.expansions(asked)), resultOf(expected.expansions(asked)), JSON.stringify(asked));
  if (random() < 0.02) actual.dropSortedTerms();
}

/** A plan over some terms, with slots that may have some of its units. */
function plan(count: number, slotCount: number): { plan: KeywordPlan; unitSlots: (unit: number) => SlotSet | null } {
  const units = Array.from({ length: 1 + below(4) }, () => ({
    terms: [...new Set(Array.from({ length: random() < 0.3 ? 2 : 1 }, () => below(count)))],
    isOptional: random() < 0.8,
  })).map((unit) => (random() < 0.3 ? { ...unit, factors: unit.terms.map(() => 0.25 + random()) } : unit));
  const sets = units.map(() =>
    random() < 0.7 ? null : ChunkedSlotSet.fromArray(Array.from({ length: slotCount }, () => below(slotCount))),
  );
  return { plan: { units, minimum: below(1 + units.length) }, unitSlots: (unit) => sets[unit] };
}

function expectSamePlanned(actual: KeywordIndex, expected: KeywordIndex, slotCount: number): void {
  const terms = query();
  const statistics = expected.statistics(terms);
  const nameOf = (slot: number): string => `${(slot * 7919) % 200_003}`;
  const filtered = ChunkedSlotSet.fromArray(Array.from({ length: below(slotCount) }, () => below(slotCount)));
  const allowed = random() < 0.5 ? () => null : () => filtered;
  const asked = plan(terms.length, slotCount);
  const options = { allowed, nameOf, unitSlots: asked.unitSlots };
  const k = 1 + below(20);
  const found = resultOf(actual.searchPlanInSteps(terms, asked.plan, statistics, { k, ...options }));
  const all = resultOf(expected.searchPlanInSteps(terms, asked.plan, statistics, { k: slotCount, ...options }));
  expectBest(found, all, k);
  // Without anything else, a plan changes nothing, to the last digit.
  const plain = { units: terms.map((_, place) => ({ terms: [place], isOptional: true })), minimum: 1 };
  assert.deepEqual(
    resultOf(actual.searchPlanInSteps(terms, plain, statistics, { k, allowed, nameOf, unitSlots: () => null })),
    actual.search(terms, statistics, { k, allowed: allowed(), nameOf }),
  );
}

/** Words of which some stand for up to 50 others. */
function expectSameExpanded(actual: KeywordIndex, expected: KeywordIndex, slotCount: number): void {
  const terms = [...new Set(Array.from({ length: 5 + below(60) }, word))];
  const places = terms.map((_, place) => place);
  const units = Array.from({ length: 1 + below(3) }, () => ({ terms: [below(terms.length)], isOptional: true })).map(
    (unit) => {
      if (below(3) === 0) return unit;
      const others = places.filter((place) => place !== unit.terms[0] && below(2) > 0);
      return { ...unit, terms: [...unit.terms, ...others], factors: [1, ...others.map(() => 0.25 + random())] };
    },
  );
  const asked: KeywordPlan = { units, minimum: below(4) > 0 ? 1 : units.length };
  const statistics = actual.statistics(terms);
  const few = ChunkedSlotSet.fromArray(Array.from({ length: 60 }, () => below(slotCount)));
  const half = ChunkedSlotSet.fromArray(Array.from({ length: slotCount }, () => below(slotCount)));
  const allowed = [null, null, few, half][below(4)];
  const options = {
    nameOf: (slot: number): string => `${(slot * 7919) % 200_003}`,
    allowed: () => allowed,
    unitSlots: (): SlotSet | null => null,
  };
  const k = 1 + below(random() < 0.2 ? 400 : 20);
  const answer = (index: KeywordIndex, count: number, more = {}): SlotScores =>
    resultOf(index.searchPlanInSteps(terms, asked, statistics, { ...options, ...more, k: count }));
  const found = answer(actual, k);
  expectBest(found, answer(expected, slotCount), k);
  // Bit for bit what nothing was pruned from, and what is found where a unit has a filter.
  const everything = ChunkedSlotSet.fromArray(Array.from({ length: slotCount }, (_, slot) => slot));
  for (const more of [{}, { unitSlots: () => everything }]) {
    const whole = answer(actual, slotCount, more);
    assert.deepEqual(found, { slots: whole.slots.slice(0, k), scores: whole.scores.slice(0, k) });
  }
}

/** `found` is the best k of `all`, but for rounding in the last places. */
function expectBest(
  found: { slots: Uint32Array; scores: Float64Array },
  all: { slots: Uint32Array; scores: Float64Array },
  k: number,
): void {
  const truth = new Map([...all.slots].map((slot, i) => [slot, all.scores[i]]));
  expect(found.slots.length).toBe(Math.min(k, all.slots.length));
  expect(new Set(found.slots).size).toBe(found.slots.length);
  found.slots.forEach((slot, i) => {
    assert.ok(
      Math.abs(found.scores[i] - (truth.get(slot) ?? NaN)) < 1e-9,
      `slot ${slot}: ${found.scores[i]}, not ${truth.get(slot)}`,
    );
    assert.ok(Math.abs(found.scores[i] - all.scores[i]) < 1e-9, `at ${i}: ${found.scores[i]}, not ${all.scores[i]}`);
    assert.ok(i === 0 || found.scores[i] <= found.scores[i - 1], `not in order at ${i}`);
  });
}

const reloaded = (index: Bm25KeywordIndex): Bm25KeywordIndex => Bm25KeywordIndex.load(Buffer.concat([...index.save()]));

test('answers as the definition does under puts, removes, saves and loads', () => {
  const slotCount = 2000;
  let index = new Bm25KeywordIndex();
  const plain = new PlainKeywordIndex();
  for (let step = 0; step < 16_000; step++) {
    const slot = below(slotCount);
    index.remove(slot);
    plain.remove(slot);
    if (random() < 0.75) {
      const content = text();
      index.put(slot, content);
      plain.put(slot, content);
    }
    if (step % 80 === 0) expectSameAnswers(index, plain, slotCount);
    if (step % 80 === 40) expectSamePlanned(index, plain, slotCount);
    if (step % 40 === 10) expectSameExpansions(index, plain);
    if (step % 80 === 60) expectSameExpanded(index, plain, slotCount);
    if (step % 3000 === 1700) index = reloaded(index);
  }
});

/** Units of a dozen terms, of which any is enough. */
function unionsOf(terms: readonly string[]): KeywordUnit[] {
  const units: KeywordUnit[] = [];
  for (let from = 0; from < terms.length; from += 12) {
    const places = [...terms.keys()].slice(from, from + 12);
    units.push({ terms: places, factors: places.map((place) => 1 / (1 + (place % 3))), isOptional: true });
  }
  return units;
}

test('a search in steps finds what is best, whatever changes between its steps', () => {
  const index = new Bm25KeywordIndex();
  const plain = new PlainKeywordIndex();
  const slotCount = 20_000;
  const contents: string[] = [];
  const put = (slot: number, content: string): void => {
    contents[slot] = content;
    index.put(slot, content);
    plain.put(slot, content);
  };
  const remove = (slot: number): void => {
    contents[slot] = '';
    index.remove(slot);
    plain.remove(slot);
  };
  for (let slot = 0; slot < slotCount; slot++) put(slot, text());
  const everything = ChunkedSlotSet.fromArray(Array.from({ length: 20 * slotCount }, (_, slot) => slot));
  let next = slotCount;
  let breaks = 0;
  for (let round = 0; round < 20; round++) {
    // Many terms make several steps; few of them make windows.
    const terms = [...new Set(Array.from({ length: round % 2 === 0 ? 3 + below(3) : 120 }, word))];
    const k = 1 + below(30);
    const isAllowed = round % 3 === 0 ? (slot: number): boolean => slot % 5 < 3 : null;
    const allowed = (): ChunkedSlotSet | null =>
      isAllowed === null
        ? null
        : ChunkedSlotSet.fromArray([...contents.keys()].filter((slot) => contents[slot] !== '' && isAllowed(slot)));
    const statistics = index.statistics(terms);
    const options = { k, allowed, nameOf: slotName };
    // A plan of single terms finds the same, also where units have filters; or some of its words stand for others.
    const stands = round % 8 >= 6;
    const units = stands ? unionsOf(terms) : terms.map((_, place) => ({ terms: [place], isOptional: true }));
    const plan = { units, minimum: 1 };
    const unitSlots = (): SlotSet | null => (stands ? null : everything);
    const steps =
      round % 4 < 2
        ? index.searchInSteps(terms, statistics, options)
        : index.searchPlanInSteps(terms, plan, statistics, { ...options, unitSlots });
    const put0 = next;
    const gone = new Set<number>();
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) {
      breaks += 1;
      // An item is replaced by a version in a slot of its own, or goes, or comes. Now and then all get new numbers.
      for (let i = 0; i < (round % 8 === 6 && breaks % 3 === 0 ? 6_000 : 3); i++) {
        const slot = below(next);
        if (gone.has(slot) || slot >= put0) continue;
        const content = contents[slot];
        gone.add(slot);
        remove(slot);
        if (random() < 0.9) put(next++, content);
      }
    }
    const { slots, scores } = step.value;
    const all = { ...options, k: next, unitSlots: () => null };
    const whole = resultOf(plain.searchPlanInSteps(terms, plan, statistics, all));
    const truth = new Map([...whole.slots].map((slot, i) => [slot, whole.scores[i]]));
    const alive = [...slots].filter((slot) => !gone.has(slot));
    for (const [i, slot] of slots.entries()) {
      if (!gone.has(slot))
        assert.ok(
          Math.abs(scores[i] - (truth.get(slot) ?? NaN)) < 1e-9,
          `round ${round}, slot ${slot}: ${scores[i]}, not ${truth.get(slot)}`,
        );
    }
    // The best of those that there are, if none of those that went took a place.
    if (alive.length === slots.length)
      alive.forEach((_, i) =>
        assert.ok(
          Math.abs(scores[i] - whole.scores[i]) < 1e-9,
          `round ${round}, at ${i}: ${scores[i]}, not ${whole.scores[i]}`,
        ),
      );
    assert.equal(slots.length, Math.min(k, whole.slots.length + slots.length - alive.length), `round ${round}`);
  }
  expect(breaks).toBeGreaterThan(10);
});

test('the slots with words are found in steps, whatever changes between them', () => {
  const index = new Bm25KeywordIndex();
  const contents: string[] = [];
  const put = (): void => {
    const content = `w0 w1 ${text()}`;
    index.put(contents.length, content);
    contents.push(content);
  };
  for (let slot = 0; slot < 90_000; slot++) put();
  let [breaks, found] = [0, 0];
  for (let round = 0; round < 12; round++) {
    const condition: WordsCondition = {
      type: 'words',
      query: ['w0 w2', 'w1 w0 w3', 'w40 w41 w90'][round % 3],
      match: round % 2 === 0 ? 'any' : 'all',
    };
    const changed = new Set<number>();
    const steps = index.slotsWithWords(condition);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) {
      breaks += 1;
      // Now and then all get new numbers.
      for (let i = 0; i < (breaks % 4 === 0 ? 9_000 : 3); i++) {
        const slot = below(contents.length);
        changed.add(slot).add(contents.length);
        index.remove(slot);
        contents[slot] = '';
        put();
      }
    }
    const wanted = condition.query.split(' ');
    for (const [slot, content] of contents.entries()) {
      if (changed.has(slot)) continue;
      const words = new Set(content.split(' '));
      const passes =
        condition.match === 'any' ? wanted.some((one) => words.has(one)) : wanted.every((one) => words.has(one));
      if (passes !== step.value.has(slot)) throw new Error(`${JSON.stringify(condition)}: slot ${slot}, ${content}`);
      if (passes) found += 1;
    }
  }
  expect(breaks).toBeGreaterThan(20);
  expect(found).toBeGreaterThan(100_000);
});

test('a plan of very rare and very common words finds the same, whatever changes between its steps', () => {
  const index = new Bm25KeywordIndex();
  const plain = new PlainKeywordIndex();
  const slots: number[] = [];
  const words = new Map<number, Set<string>>();
  let next = 0;
  const content = (): string =>
    ['every', ...(below(2) ? ['half'] : []), ...(below(50) ? [] : ['fiftieth']), ...(below(2_000) ? [] : ['rare'])]
      .map((one) => `${one} `.repeat(below(3_000) === 0 ? 300 : 1 + below(3)))
      .join(text());
  const put = (): void => {
    const own = content();
    index.put(next, own);
    plain.put(next, own);
    words.set(next, new Set(own.split(' ')));
    slots.push(next++);
  };
  const remove = (): number => {
    const place = below(slots.length);
    const slot = slots[place];
    slots[place] = slots[slots.length - 1];
    slots.pop();
    index.remove(slot);
    plain.remove(slot);
    return slot;
  };
  for (let i = 0; i < 36_000; i++) put();
  let [breaks, found] = [0, 0];
  for (let round = 0; round < 24; round++) {
    const terms = ['every', 'half', 'fiftieth', 'rare', 'nowhere', 'w0', 'w3', 'w90']
      .map((one) => ({ one, at: random() }))
      .sort((a, b) => a.at - b.at)
      .slice(0, 2 + below(3))
      .map(({ one }) => one);
    // So many that there are breaks.
    const areCommon = round % 4 === 0;
    if (areCommon) terms.splice(0, terms.length, 'half', 'every');
    // Two words of a unit, all or any, in a third of the rounds.
    const units = terms.map((_, place) => ({ terms: [place], isOptional: areCommon || below(6) > 0 }));
    const pair = { terms: [0, 1], isOptional: true, ...(below(2) && { factors: [1, 0.5] }) };
    if (round % 3 === 0) units.splice(0, 2, pair);
    const optional = units.filter(({ isOptional }) => isOptional).length;
    const plan: KeywordPlan = { units, minimum: areCommon ? optional : Math.max(0, optional - below(3)) };
    const statistics = index.statistics(terms);
    // None, few or many are allowed.
    const divisor = [0, 300, 2][round % 3];
    const allowed = (): ChunkedSlotSet | null =>
      divisor === 0 ? null : ChunkedSlotSet.fromArray(slots.filter((slot) => slot % divisor === 0));
    const few = below(3) === 0 ? ChunkedSlotSet.fromArray(slots.filter((slot) => slot % 7 > 0)) : null;
    const options = { k: 1 + below(30), allowed, nameOf: slotName, unitSlots: (i: number) => (i === 0 ? few : null) };
    const gone = new Set<number>();
    const steps = index.searchPlanInSteps(terms, plan, statistics, options);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) {
      breaks += 1;
      // Now and then so many go that all get new numbers.
      for (let i = round % 12 === 8 && gone.size === 0 ? 20_000 : 4; i > 0; i--) {
        gone.add(remove());
        put();
      }
    }
    const all = { ...options, k: next };
    const whole = resultOf(plain.searchPlanInSteps(terms, plan, statistics, all));
    const left = [...step.value.slots].flatMap((slot, i) => (gone.has(slot) ? [] : [{ slot, i }]));
    const truth = new Map([...whole.slots].map((slot, i) => [slot, whole.scores[i]]));
    for (const { slot, i } of left)
      assert.ok(Math.abs(step.value.scores[i] - truth.get(slot)!) < 1e-9, `round ${round}: ${slot}`);
    if (left.length === step.value.slots.length)
      left.forEach(({ i }) => assert.ok(Math.abs(step.value.scores[i] - whole.scores[i]) < 1e-9, `round ${round}`));
    const count = Math.min(options.k, whole.slots.length + step.value.slots.length - left.length);
    assert.equal(step.value.slots.length, count, `round ${round}`);
    found += left.length;
    // To the last digit what all postings give: a plan that needs nothing reads them.
    const some = resultOf(index.searchPlanInSteps(terms, { ...plan, minimum: 0 }, statistics, all));
    const scores = new Map([...some.slots].map((slot, i) => [slot, some.scores[i]]));
    const again = resultOf(index.searchPlanInSteps(terms, plan, statistics, options));
    for (const [i, slot] of again.slots.entries()) assert.equal(again.scores[i], scores.get(slot));
    const condition: WordsCondition = { type: 'words', query: terms.join(' '), match: 'all' };
    assert.deepEqual(
      [...resultOf(index.slotsWithWords(condition)).toArray()],
      slots.filter((slot) => terms.every((one) => words.get(slot)!.has(one))).sort((a, b) => a - b),
    );
  }
  expect(breaks).toBeGreaterThan(4);
  expect(found).toBeGreaterThan(150);
});

test('scores do not depend on the split into shards or on the order of insertion', () => {
  const texts = Array.from({ length: 3000 }, text);
  const whole = new Bm25KeywordIndex();
  texts.forEach((content, slot) => whole.put(slot, content));
  const shards = Array.from({ length: 3 }, () => new Bm25KeywordIndex());
  for (let slot = texts.length - 1; slot >= 0; slot--) shards[slot % 3].put(slot, texts[slot]);
  for (let round = 0; round < 60; round++) {
    const terms = query();
    const parts = shards.map((shard) => shard.statistics(terms));
    const statistics: KeywordStatistics = {
      documentCount: parts.reduce((sum, part) => sum + part.documentCount, 0),
      totalLength: parts.reduce((sum, part) => sum + part.totalLength, 0),
      documentFrequencies: terms.map((_, i) => parts.reduce((sum, part) => sum + part.documentFrequencies[i], 0)),
    };
    expect(statistics).toEqual(whole.statistics(terms));
    const options = { k: texts.length, allowed: null };
    const merged = shards.flatMap((shard) => pairs(shard.search(terms, statistics, options)));
    // Bit for bit, and whether pruned or not.
    assert.deepEqual(
      merged.sort(byScoreThenSlot),
      pairs(whole.search(terms, statistics, options)).sort(byScoreThenSlot),
    );
    const few = pairs(whole.search(terms, statistics, { k: 5, allowed: null })).slice(0, 5);
    expect(few.map(([, score]) => score)).toEqual(merged.slice(0, 5).map(([, score]) => score));
  }
});

const pairs = ({ slots, scores }: { slots: Uint32Array; scores: Float64Array }): [number, number][] =>
  [...slots].map((slot, i) => [slot, scores[i]]);
const byScoreThenSlot = (a: [number, number], b: [number, number]): number => b[1] - a[1] || a[0] - b[0];

test('pruning over many blocks and windows of documents finds what scoring everything finds', () => {
  const index = new Bm25KeywordIndex();
  const plain = new PlainKeywordIndex();
  const slotCount = 40_000;
  const put = (slot: number): void => {
    const content = text();
    index.put(slot, content);
    plain.put(slot, content);
  };
  for (let slot = 0; slot < slotCount; slot++) put(slot);
  for (let round = 0; round < 8; round++) {
    expectSameAnswers(index, plain, slotCount);
    expectSamePlanned(index, plain, slotCount);
    for (let i = 0; i < 4; i++) expectSameExpanded(index, plain, slotCount);
  }
  // Longer texts move the average length, and removals the numbers: bounds made before must not be used as they were.
  for (let i = 0; i < slotCount / 2; i++) {
    const slot = below(slotCount);
    index.remove(slot);
    plain.remove(slot);
    if (i % 4 === 0) put(slot);
  }
  for (let slot = slotCount; slot < slotCount + 3000; slot++) put(slot);
  for (let round = 0; round < 8; round++) {
    expectSameAnswers(index, plain, slotCount + 3000);
    expectSameExpanded(index, plain, slotCount + 3000);
  }
});

test('many replacements leave neither dead postings nor wrong figures behind', () => {
  const index = new Bm25KeywordIndex();
  const slotCount = 4000;
  for (let slot = 0; slot < slotCount; slot++)
    index.put(slot, `w${slot % 7} unique${slot} ${'long '.repeat(slot % 300)}`);
  const before = index.memoryBytes;
  for (let round = 0; round < 8; round++) {
    for (let slot = 0; slot < slotCount; slot++) {
      index.remove(slot);
      index.put(slot, `w${slot % 7} unique${slot}x${round} ${'long '.repeat(slot % 300)}`);
    }
  }
  expect(index.memoryBytes).toBeLessThan(before * 2);
  expect(index.statistics(['w3', 'unique5', 'unique5x7', 'long'])).toEqual({
    documentCount: slotCount,
    totalLength: Array.from({ length: slotCount }, (_, slot) => 2 + (slot % 300)).reduce((a, b) => a + b),
    documentFrequencies: [571, 0, 1, slotCount - Math.ceil(slotCount / 300)],
  });
});

test('a save during which slots change is repaired by taking those slots out and putting them again', () => {
  const index = new Bm25KeywordIndex();
  const plain = new PlainKeywordIndex();
  const slotCount = 3000;
  const texts = Array.from(
    { length: slotCount },
    (_, slot) => `${text()} only${slot} ${'filler'.repeat(18)}${slot} ${'other'.repeat(20)}${slot}`,
  );
  texts.forEach((content, slot) => index.put(slot, content));
  const touched = new Set<number>();
  const chunks: Buffer[] = [];
  for (const chunk of index.save()) {
    chunks.push(chunk);
    for (let i = 0; i < 900; i++) {
      const slot = below(slotCount + 500);
      touched.add(slot);
      index.remove(slot);
      texts[slot] = random() < 0.7 ? text() : '';
      index.put(slot, texts[slot]);
    }
  }
  expect(chunks.length).toBeGreaterThan(1);
  const loaded = Bm25KeywordIndex.load(Buffer.concat(chunks));
  loaded.removeEverywhere(ChunkedSlotSet.fromArray([...touched]));
  for (const slot of touched) loaded.put(slot, texts[slot] ?? '');
  texts.forEach((content, slot) => plain.put(slot, content ?? ''));
  for (let round = 0; round < 20; round++) {
    expectSameAnswers(loaded, plain, slotCount + 500);
    expectSameAnswers(index, plain, slotCount + 500);
  }
});

test('a save is of some fields, by their weights', () => {
  const fields = [{ path: 'title', weight: 3 }];
  const index = new Bm25KeywordIndex({ fields });
  index.putAnalysed(
    0,
    resultOf(
      index.analyse([
        { text: 'a b a', weight: 3 },
        { text: 'b', weight: 2 },
      ]),
    ),
  );
  expect(index.statistics(['a', 'b'])).toEqual({ documentCount: 1, totalLength: 11, documentFrequencies: [1, 1] });
  const bytes = Buffer.concat([...index.save()]);
  expect(Bm25KeywordIndex.load(bytes, { fields }).statistics(['a'])).toMatchObject({ totalLength: 11 });
  for (const others of [undefined, [{ path: 'title', weight: 2 }]])
    expect(() => Bm25KeywordIndex.load(bytes, { fields: others })).toThrow('its terms are of another analyser');
});

test('a damaged save is refused or loads as an index that works', () => {
  const index = new Bm25KeywordIndex();
  for (let slot = 0; slot < 200; slot++) index.put(slot, text());
  const bytes = Buffer.concat([...index.save()]);
  for (let length = 0; length < bytes.length; length += 1 + below(40)) {
    expect(() => Bm25KeywordIndex.load(bytes.subarray(0, length))).toThrow(
      expect.objectContaining({ kind: 'storage_failed' }),
    );
  }
  expect(() => Bm25KeywordIndex.load(Buffer.concat([bytes, Buffer.from([0])]))).toThrow(/damaged/);
  let refused = 0;
  for (let round = 0; round < 2000; round++) {
    const damaged = Buffer.from(bytes);
    damaged[below(damaged.length)] ^= 1 << below(8);
    try {
      const loaded = Bm25KeywordIndex.load(damaged);
      loaded.search(['w0', 'w1'], loaded.statistics(['w0', 'w1']), { k: 10, allowed: null });
      for (let slot = 0; slot < 200; slot++) loaded.remove(slot);
    } catch (error) {
      assert.equal((error as QuiverError).kind, 'storage_failed');
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(0);
});

test('terms of another analyser version are refused', () => {
  const bytes = Buffer.concat([...new Bm25KeywordIndex().save()]);
  const none = (): never[] => [];
  const other = { name: 'unicode', version: 999, terms: none, parts: none, placedParts: none, termsToFind: none };
  expect(() => Bm25KeywordIndex.load(bytes, { analyser: other })).toThrow(/another analyser/);
});
