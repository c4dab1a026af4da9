import { Bm25KeywordIndex } from '../../../../../node/engine/keyword/bm25-keyword-index';
import type { TermSource } from '../../../../../node/engine/keyword/term-slots';
import type { IndexedFields } from '../../../../../node/engine/keyword/weighted-terms';
import { WeightedViews } from '../../../../../node/engine/keyword/weighted-views';
import { resultOf } from '../../../../../shared/base/time/work-slices';

const FIELDS = [
  { path: 'title', weight: 3 },
  { path: 'text', weight: 1 },
];

function indexOf(texts: Iterable<[title: string, text: string]>): Bm25KeywordIndex {
  const index = new Bm25KeywordIndex({ fields: FIELDS });
  let slot = 0;
  for (const [title, text] of texts) {
    const given = [
      { text: title, weight: 3 },
      { text, weight: 1 },
    ];
    index.putAnalysed(slot++, resultOf(index.analyse(given)));
  }
  return index;
}

function viewsOf(index: Bm25KeywordIndex, bytesMax?: number): WeightedViews {
  const parts = index as unknown as Omit<IndexedFields, 'fields'> & {
    byField: IndexedFields['fields'];
    terms: TermSource;
  };
  const { documents, dictionary, lists, byField: fields } = parts;
  return new WeightedViews({ documents, dictionary, lists, fields }, parts.terms, bytesMax);
}

/** How many breaks there are before the search. */
function breaksOf(views: WeightedViews, asked: number[], terms: string[]): number {
  let breaks = 0;
  const steps = views.search(asked, terms, function* ({ dictionary }) {
    yield;
    return terms.map((term) => dictionary.find(term));
  });
  while (!steps.next().done) breaks += 1;
  return breaks - 1;
}

function* repeated(count: number): Generator<[string, string]> {
  for (let i = 0; i < count; i += 1) yield ['a b', 'a b c d'];
}

test('a field without weight counts neither documents nor their terms', () => {
  const index = indexOf(
    Array.from({ length: 41 }, (_, i) => [i === 0 ? 'pump seal' : 'seal', i === 0 ? 'rest' : 'pump']),
  );
  expect(index.statistics(['pump', 'seal'], [1, 0]).documentFrequencies).toEqual([1, 41]);
  expect(index.statistics(['pump', 'seal'], [0, 1])).toEqual({
    documentCount: 41,
    totalLength: 41,
    documentFrequencies: [40, 0],
  });
  index.remove(0);
  expect(index.statistics(['pump', 'rest'], [1, 0])).toEqual({
    documentCount: 40,
    totalLength: 40,
    documentFrequencies: [0, 0],
  });
});

test('a field costs memory for the terms that it has', () => {
  const paths = Array.from({ length: 20 }, (_, i) => ({ path: i === 0 ? 'text' : `more.${i}`, weight: 1 }));
  const memoryOf = (fields: typeof paths): number => {
    const index = new Bm25KeywordIndex({ fields });
    for (let slot = 0; slot < 5_000; slot += 1)
      index.putAnalysed(
        slot,
        resultOf(index.analyse(fields.map((_, i) => ({ text: i === 0 ? `own${slot}` : '', weight: 1 })))),
      );
    const loaded = Bm25KeywordIndex.load(Buffer.concat([...index.save()]), { fields });
    expect(
      loaded.statistics(
        ['own7'],
        fields.map((_, i) => (i === 0 ? 2 : 0)),
      ).documentFrequencies,
    ).toEqual([1]);
    return Math.max(index.memoryBytes, loaded.memoryBytes);
  };
  const many = memoryOf(paths);
  // The lengths, and what a list of nothing has.
  expect(many - memoryOf(paths.slice(0, 2))).toBeLessThan(18 * (4 * 8_192 + 2_048));
});

test('lists are made with breaks before a search; then only what has come since is missing', () => {
  const index = indexOf(repeated(100_000));
  const views = viewsOf(index);
  // 100,000 lengths and as many postings of each term.
  const breaks = breaksOf(views, [1, 2], ['a', 'b', 'c']);
  expect(breaks).toBeGreaterThanOrEqual(12);
  expect(breaksOf(views, [1, 2], ['a', 'b', 'c'])).toBe(0);
  expect(breaksOf(views, [1, 2], ['a', 'd'])).toBeGreaterThanOrEqual(3);
});

test('together they have so many bytes at most: the oldest go first, and of the last one its oldest lists', () => {
  const index = indexOf(repeated(20_000));
  const one = viewsOf(index);
  breaksOf(one, [1, 2], ['a', 'b']);
  const { memoryBytes } = one;
  const bytesMax = Math.floor(memoryBytes * 1.5);
  const views = viewsOf(index, bytesMax);
  let count = 0;
  for (const asked of [
    [1, 2],
    [2, 1],
    [5, 1],
  ]) {
    breaksOf(views, asked, ['a', 'b']);
    expect(views.memoryBytes).toBeLessThanOrEqual(bytesMax);
    count = 0;
    views.forEach(() => (count += 1));
    expect(count).toBe(1);
  }
  // One that is too large alone keeps what was asked for last.
  const small = viewsOf(index, memoryBytes - 1);
  breaksOf(small, [1, 2], ['a', 'b']);
  expect(small.memoryBytes).toBeGreaterThan(memoryBytes / 3);
  expect(small.memoryBytes).toBeLessThan(memoryBytes);
  // What is being searched stays, and counts.
  const steps = views.search([7, 1], ['a', 'b'], function* () {
    yield;
  });
  steps.next();
  breaksOf(views, [1, 7], ['a', 'b']);
  const found: unknown[] = [];
  views.forEach((view) => found.push(view.users));
  expect(found).toEqual([1, 0]);
  expect(views.memoryBytes).toBeLessThanOrEqual(bytesMax);
  expect(() => resultOf(steps)).not.toThrow();
});
