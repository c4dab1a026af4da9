import assert from 'node:assert/strict';
import { Bm25KeywordIndex } from '../../node/engine/keyword/bm25-keyword-index';
import { sumStatistics } from '../../coordinator/service/search/merge';
import type { SlotScores } from '../../node/engine/slots/slot-scores';
import { resultOf } from '../../shared/base/time/work-slices';
import type { KeywordPlan } from '../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../shared/contract/shard/shard-read';
import { runSeed, seededRandom } from '../support/values/random';

/** Searches by other weights than those of the index, against indexes that were made with these weights. */

const random = seededRandom(runSeed('field weights'));
const below = (n: number): number => Math.floor(random() * n);
const word = (): string => `w${Math.floor(300 ** random()) - 1}`;
const words = (most: number): string => Array.from({ length: below(most) }, word).join(' ');
const query = (): string[] => [...new Set(Array.from({ length: 1 + below(5) }, word))];
const PATHS = ['title', 'text', 'tags'];
const DECLARED = [3, 2, 1];
/** Of several lists of weights, those of an index and those of queries. */
const ASKED = [
  [1, 1, 1],
  [7, 1, 20],
  [1, 5, 0],
  [0, 0, 4],
];
const SLOTS = 1_500;

const fieldsOf = (weights: readonly number[]) => PATHS.map((path, i) => ({ path, weight: weights[i] }));
const reloaded = (index: Bm25KeywordIndex): Bm25KeywordIndex =>
  Bm25KeywordIndex.load(Buffer.concat([...index.save()]), { fields: index.fields });

/** One index, and beside it those that were made with other weights; a field without weight is none of theirs. */
class Indexes {
  index = new Bm25KeywordIndex({ fields: fieldsOf(DECLARED) });
  readonly others = ASKED.map((weights) => ({
    weights,
    index: new Bm25KeywordIndex({ fields: fieldsOf(weights).filter(({ weight }) => weight > 0) }),
  }));
  readonly shards = [0, 1, 2].map(() => new Bm25KeywordIndex({ fields: fieldsOf(DECLARED) }));
  readonly texts = new Map<number, string[]>();

  change(): void {
    const slot = below(SLOTS);
    if (this.texts.delete(slot)) for (const one of this.all(slot)) one.remove(slot);
    if (below(3) === 0) return;
    // Some are in no document but this, and some hundreds of times in it.
    const long = below(40) === 0 ? Array.from({ length: 300 }, () => 'w0').join(' ') : '';
    const texts = [`${words(5)} ${long}`, `${words(12)} ${below(9) === 0 ? `own${slot}` : ''}`, words(4)];
    this.texts.set(slot, texts);
    for (const one of this.all(slot)) {
      const given = one.fields!.map(({ path, weight }) => ({ text: texts[PATHS.indexOf(path)], weight }));
      one.putAnalysed(slot, resultOf(one.analyse(given)));
    }
  }

  expectSame(): void {
    const terms = [...query(), ...(below(3) === 0 ? [`own${below(SLOTS)}`] : [])];
    const { weights, index: other } = this.others[below(this.others.length)];
    const statistics = this.index.statistics(terms, weights);
    const own = other.statistics(terms);
    assert.deepEqual(statistics, own);
    // And where the items are in several shards.
    const shards = this.shards.map((shard) => shard.statistics(terms, weights));
    assert.deepEqual(sumStatistics(shards), own);
    const plans: (KeywordPlan | undefined)[] = [undefined, this.plan(terms.length)];
    for (const plan of plans) {
      const k = [5, SLOTS][below(2)];
      const found = searched(this.index, { terms, statistics, plan, k, weights });
      assert.deepEqual(
        found,
        searched(other, { terms, statistics, plan, k }),
        JSON.stringify({ terms, weights, plan }),
      );
    }
    const declared = this.index.statistics(terms);
    assert.deepEqual(
      searched(this.index, { terms, statistics: declared, k: 20 }),
      searched(this.index, { terms, statistics: declared, k: 20, weights: DECLARED }),
    );
  }

  plan(count: number): KeywordPlan {
    const units = Array.from({ length: 1 + below(3) }, () => ({
      terms: [...new Set(Array.from({ length: 1 + below(3) }, () => below(count)))],
      isOptional: below(4) > 0,
    })).map((unit) => (below(2) === 0 ? { ...unit, factors: unit.terms.map(() => 0.25 + random()) } : unit));
    return { units, minimum: below(1 + units.length) };
  }

  /** Those that have a slot. */
  private all(slot: number): Bm25KeywordIndex[] {
    return [this.index, this.shards[slot % 3], ...this.others.map(({ index }) => index)];
  }
}

interface Asked {
  terms: string[];
  statistics: KeywordStatistics;
  plan?: KeywordPlan | undefined;
  k: number;
  weights?: readonly number[];
}

function steps(index: Bm25KeywordIndex, { terms, statistics, plan, k, weights: fieldWeights }: Asked) {
  const options = { k, allowed: () => null, nameOf: (slot: number) => `${(slot * 7919) % 200_003}`, fieldWeights };
  return plan === undefined
    ? index.searchInSteps(terms, statistics, options)
    : index.searchPlanInSteps(terms, plan, statistics, { ...options, unitSlots: () => null });
}

function searched(index: Bm25KeywordIndex, asked: Asked): SlotScores {
  return resultOf(steps(index, asked));
}

test('other weights give what an index with these weights gives, to the last digit, under changes and after loads', () => {
  const indexes = new Indexes();
  for (let round = 0; round < 60; round += 1) {
    for (let i = 0; i < 200; i += 1) indexes.change();
    for (let i = 0; i < 8; i += 1) indexes.expectSame();
    if (round % 20 === 7) indexes.index = reloaded(indexes.index);
    if (round % 20 === 12) indexes.index.dropSortedTerms();
  }
  expect(indexes.texts.size).toBeGreaterThan(500);
  const { index } = indexes;
  const before = index.memoryBytes;
  for (let i = 0; i < 30; i += 1)
    searched(index, { terms: ['w0'], statistics: index.statistics(['w0']), k: 5, weights: [1, 1, 1 + (i % 20)] });
  index.dropSortedTerms();
  expect(index.memoryBytes).toBeLessThanOrEqual(before);
});

test('documents that stay during a search are found with their scores, whatever else changes between its steps', () => {
  const indexes = new Indexes();
  for (let i = 0; i < 3_000; i += 1) indexes.change();
  let changes = 0;
  for (let round = 0; round < 25; round += 1) {
    // Frequent enough for a break.
    const terms = [...new Set(['w0', 'w1', 'w2', ...query()])];
    const { weights, index: other } = indexes.others[below(indexes.others.length)];
    const statistics = indexes.index.statistics(terms, weights);
    const before = new Map(indexes.texts);
    const search = steps(indexes.index, { terms, statistics, k: SLOTS, weights });
    let step = search.next();
    while (!step.done) {
      for (let i = 0; i < 300; i += 1, changes += 1) indexes.change();
      if (below(8) === 0) indexes.index.dropSortedTerms();
      step = search.next();
    }
    const wanted = searched(other, { terms, statistics, k: SLOTS });
    const found = new Map([...step.value.slots].map((slot, i) => [slot, step.value!.scores[i]]));
    wanted.slots.forEach((slot, i) => {
      if (before.get(slot) === indexes.texts.get(slot)) assert.equal(found.get(slot), wanted.scores[i]);
    });
  }
  expect(changes).toBeGreaterThan(1_000);
});

test('a save has what each field has; weights that are not one for each field are refused', () => {
  const fields = fieldsOf(DECLARED);
  const index = new Bm25KeywordIndex({ fields });
  index.putAnalysed(
    0,
    resultOf(
      index.analyse([
        { text: 'a b', weight: 3 },
        { text: 'a', weight: 2 },
      ]),
    ),
  );
  const bytes = Buffer.concat([...index.save()]);
  const loaded = Bm25KeywordIndex.load(bytes, { fields });
  expect(loaded.statistics(['a'], [1, 10, 1]).totalLength).toBe(12);
  for (let end = 0; end < bytes.length; end += 1)
    expect(() => Bm25KeywordIndex.load(bytes.subarray(0, end), { fields })).toThrow('keyword');
  expect(() => loaded.statistics(['a'], [1, 2])).toThrow('2 weights for 3 keyword fields');
  const plain = new Bm25KeywordIndex();
  expect(() => plain.statistics(['a'], [1])).toThrow('1 weights for 0 keyword fields');
  // Of one field, there is nothing to keep, and the format is that of before.
  const [one] = fields;
  const single = new Bm25KeywordIndex({ fields: [one] });
  single.putAnalysed(0, resultOf(single.analyse([{ text: 'a b', weight: 3 }])));
  expect(Buffer.concat([...single.save()]).toString('latin1')).toContain('quiver-keyword-1');
  expect(single.statistics(['a'], [5]).totalLength).toBe(10);
});
