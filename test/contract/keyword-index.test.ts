import { Bm25KeywordIndex } from '../../node/engine/keyword/bm25-keyword-index';
import type { KeywordIndex } from '../../node/engine/keyword/keyword-index';
import { PlainKeywordIndex } from '../support/models/plain-keyword-index';
import { ChunkedSlotSet } from '../../node/engine/slots/chunked-slot-set';

/** What every KeywordIndex does. */
describe.each([
  {
    name: 'Bm25KeywordIndex',
    create: () => new Bm25KeywordIndex(),
    load: (bytes: Buffer) => Bm25KeywordIndex.load(bytes),
  },
  {
    name: 'PlainKeywordIndex',
    create: () => new PlainKeywordIndex(),
    load: (bytes: Buffer) => PlainKeywordIndex.load(bytes),
  },
])('$name', ({ create, load }) => {
  const filled = (texts: Record<number, string>): KeywordIndex => {
    const index: KeywordIndex = create();
    for (const [slot, text] of Object.entries(texts)) index.put(Number(slot), text);
    return index;
  };
  const find = (index: KeywordIndex, terms: string[], k = 10, allowed: number[] | null = null): number[] => {
    const set = allowed === null ? null : ChunkedSlotSet.fromArray(allowed);
    return [...index.search(terms, index.statistics(terms), { k, allowed: set }).slots];
  };

  test('an empty index finds nothing', () => {
    const index = create();
    expect(index.statistics(['a'])).toEqual({ documentCount: 0, totalLength: 0, documentFrequencies: [0] });
    expect(find(index, ['a'])).toEqual([]);
    expect(find(index, [])).toEqual([]);
  });

  test('documents that hold rarer terms, more often, in less text come first', () => {
    const index = filled({
      1: 'common common rare',
      2: 'common',
      3: 'common and much other text beside it',
      4: 'nothing of it',
    });
    expect(find(index, ['rare', 'common'])).toEqual([1, 2, 3]);
  });

  test('scores are those of the definition', () => {
    const index = filled({ 0: 'a b', 1: 'a a c d' });
    const { slots, scores } = index.search(['a', 'c'], index.statistics(['a', 'c']), { k: 5, allowed: null });
    expect([...slots]).toEqual([1, 0]);
    // N = 2, avgdl = 3: idf(a) = ln 1.2, idf(c) = ln 2; the length parts of the denominators are 1.5 and 0.9.
    expect(scores[0]).toBeCloseTo((Math.log(1.2) * 2 * 2.2) / (2 + 1.5) + (Math.log(2) * 2.2) / (1 + 1.5), 12);
    expect(scores[1]).toBeCloseTo((Math.log(1.2) * 2.2) / (1 + 0.9), 12);
  });

  test('statistics are the callers: a collection-wide idf and average length decide', () => {
    const index = filled({ 0: 'a', 1: 'b' });
    const aIsRare = { documentCount: 1000, totalLength: 5000, documentFrequencies: [2, 500] };
    const bIsRare = { documentCount: 1000, totalLength: 5000, documentFrequencies: [500, 2] };
    expect([...index.search(['a', 'b'], aIsRare, { k: 1, allowed: null }).slots]).toEqual([0]);
    expect([...index.search(['a', 'b'], bIsRare, { k: 1, allowed: null }).slots]).toEqual([1]);
  });

  test('a document that matches is found however common its terms are', () => {
    const index = filled({ 0: 'a', 1: 'a', 2: 'a' });
    expect(find(index, ['a'], 3)).toEqual([0, 1, 2]);
  });

  test('slots of equal score come in the order of their names, by number where they have none', () => {
    const index = filled(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [i, i === 20 ? 'a a' : 'a b'])));
    expect(find(index, ['a'], 1)).toEqual([20]);
    expect(find(index, ['a'], 4)).toEqual([20, 0, 1, 2]);
    const options = { k: 4, allowed: null, nameOf: (slot: number) => `n${99 - slot}` };
    expect([...index.search(['a'], index.statistics(['a']), options).slots]).toEqual([20, 49, 48, 47]);
  });

  test('however many slots tie, the first by name are found', () => {
    const index = filled(
      Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [i, i % 1000 === 0 ? 'a a' : 'a b'])),
    );
    const nameOf = (slot: number): string => String((slot * 7919) % 5000).padStart(4, '0');
    const slots = Array.from({ length: 5000 }, (_, i) => i).sort(
      (x, y) => Number(y % 1000 === 0) - Number(x % 1000 === 0) || (nameOf(x) < nameOf(y) ? -1 : 1),
    );
    for (const k of [1, 7, 300, 4999]) {
      expect([...index.search(['a'], index.statistics(['a']), { k, allowed: null, nameOf }).slots]).toEqual(
        slots.slice(0, k),
      );
    }
  });

  test('only allowed slots are found, be they few or many', () => {
    const index = filled(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [i, `a ${i % 2 ? 'b' : 'c'}`])));
    expect(find(index, ['a', 'b'], 1000, [3, 4, 499, 70_000])).toEqual([3, 499, 4]);
    expect(
      find(
        index,
        ['a'],
        1000,
        Array.from({ length: 499 }, (_, i) => i),
      ).length,
    ).toBe(499);
    expect(find(index, ['a'], 10, [])).toEqual([]);
  });

  test('a text without terms is no document', () => {
    const index = filled({ 1: '', 2: ' … ', 3: 'word' });
    expect(index.statistics(['word'])).toEqual({ documentCount: 1, totalLength: 1, documentFrequencies: [1] });
    index.put(1, 'now it has a word');
    expect(find(index, ['word'])).toEqual([3, 1]);
  });

  test('a removed slot is gone from every figure and may be put again', () => {
    const index = filled({ 1: 'alpha beta', 2: 'beta beta gamma' });
    index.remove(2);
    index.remove(2);
    index.remove(77);
    expect(index.statistics(['beta', 'gamma'])).toEqual({
      documentCount: 1,
      totalLength: 2,
      documentFrequencies: [1, 0],
    });
    expect(find(index, ['gamma', 'beta'])).toEqual([1]);
    index.put(2, 'gamma');
    expect(index.statistics(['beta', 'gamma'])).toEqual({
      documentCount: 2,
      totalLength: 3,
      documentFrequencies: [1, 1],
    });
    index.removeEverywhere(ChunkedSlotSet.fromArray([1, 2, 3]));
    expect(index.statistics(['beta'])).toEqual({ documentCount: 0, totalLength: 0, documentFrequencies: [0] });
  });

  test('a taken slot is refused', () => {
    const index = filled({ 1: 'a' });
    expect(() => index.put(1, 'b')).toThrow(/taken/);
    expect(find(index, ['a', 'b'])).toEqual([1]);
  });

  test('frequencies and lengths beyond small numbers are exact', () => {
    const index = filled({
      1: 'x '.repeat(254),
      2: 'x '.repeat(255),
      3: 'x '.repeat(300_000),
      4: `y ${'x '.repeat(70_000)}`,
    });
    const plain = new PlainKeywordIndex();
    for (const [slot, text] of [
      [1, 'x '.repeat(254)],
      [2, 'x '.repeat(255)],
      [3, 'x '.repeat(300_000)],
      [4, `y ${'x '.repeat(70_000)}`],
    ] as const)
      plain.put(slot, text);
    const statistics = index.statistics(['x', 'y']);
    const expected = plain.search(['x', 'y'], statistics, { k: 9, allowed: null });
    for (const state of [index, load(Buffer.concat([...index.save()]))]) {
      const found = state.search(['x', 'y'], statistics, { k: 9, allowed: null });
      expect(found.slots).toEqual(expected.slots);
      found.scores.forEach((score, i) => expect(score).toBeCloseTo(expected.scores[i], 12));
    }
  });

  test('a save loads as the same index', () => {
    const index = filled({ 5: 'alpha beta 東京', 9: 'beta', 70_000: 'gamma gamma 🎉' });
    index.remove(9);
    const loaded = load(Buffer.concat([...index.save()]));
    for (const terms of [['alpha'], ['beta', '東京'], ['gamma', '🎉', 'alpha']]) {
      expect(loaded.statistics(terms)).toEqual(index.statistics(terms));
      expect(find(loaded, terms)).toEqual(find(index, terms));
    }
    loaded.remove(70_000);
    expect(loaded.statistics(['gamma'])).toEqual({ documentCount: 1, totalLength: 5, documentFrequencies: [0] });
  });

  test('an empty index can be saved', () => {
    expect(load(Buffer.concat([...create().save()])).statistics(['a']).documentCount).toBe(0);
  });

  test('memory is accounted for', () => {
    const index = create();
    const before = index.memoryBytes;
    for (let slot = 0; slot < 2000; slot++) index.put(slot, `some words of text ${slot}`);
    expect(index.memoryBytes).toBeGreaterThan(before + 2000 * 4);
  });

  test('few texts take little memory: a process has thousands of such indexes', () => {
    const index = filled({ 1: 'a text', 2: 'another text' });
    expect(index.memoryBytes).toBeLessThan(64 * 1024);
  });
});
