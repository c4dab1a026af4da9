import {
  exactPlaceText,
  hitsToReach,
  listName,
  whyConditionText,
  whyWords,
} from '../../../../dashboard/search/why-text';

type Report = Parameters<typeof whyWords>[0];

const plan = { k: 10, groupBy: null, rerank: null };
const report = (fields: Partial<Report>): Report => ({
  external_id: 'a',
  lost_at: null,
  because: '',
  place: null,
  conditions: [],
  legs: [],
  effort: null,
  ...fields,
});
const leg = (name: 'vector' | 'keyword', place: number | null, score: number | null = 0.5): Report['legs'][number] => ({
  leg: name,
  score,
  exact_rank: place,
  rank: null,
  depth: 200,
});

test.each([
  ['a hit', { place: 3 }, plan, 'The search finds it, at place 3.', null],
  ['no item', { lost_at: 'item' }, plan, 'This collection has no item of this id.', /case and blanks/],
  [
    'conditions that fail',
    {
      lost_at: 'filter',
      conditions: [
        { condition: { a: 1 }, passes: false },
        { condition: { b: 1 }, passes: true },
      ],
    },
    plan,
    'The filters leave it out: it fails 1 condition.',
    null,
  ],
  [
    'what an effort finds',
    { lost_at: 'approximation', effort: 64 },
    plan,
    'The approximate search misses it. An exact one has it among the best 10.',
    /effort of 64/,
  ],
  ['what no effort finds', { lost_at: 'approximation' }, plan, /misses it/, /"exact": true/],
  [
    'a place behind the page',
    { lost_at: 'rank', place: 1234 },
    plan,
    'Others are better: it is at place 1,234, and the page ends at 10.',
    null,
  ],
  [
    'a place that words would raise',
    { lost_at: 'rank', place: 37, legs: [leg('vector', 340), leg('keyword', 2)] },
    plan,
    /place 37/,
    /smaller alpha/,
  ],
  [
    'a place that meaning would raise',
    { lost_at: 'rank', place: 37, legs: [leg('vector', 12), leg('keyword', null, null)] },
    plan,
    /place 37/,
    /greater alpha/,
  ],
  [
    'a list of which a model reads the best',
    { lost_at: 'rank', place: 70 },
    { ...plan, rerank: 'm' },
    /reads the best hits/,
    /Before .* place 70/,
  ],
  ['a model', { lost_at: 'rerank', place: 4 }, { ...plan, rerank: 'm' }, /^The model m puts others/, /place 4/],
  [
    'a place behind the page of groups',
    { lost_at: 'rank', place: 22 },
    { ...plan, groupBy: 'topic' },
    'Others are better: those of other groups, or others of its topic.',
    null,
  ],
  ['groups', { lost_at: 'groups' }, { ...plan, groupBy: 'topic' }, /^Grouping by topic/, null],
  ['a least score', { lost_at: 'score' }, plan, /below the least/, null],
  ['diversity', { lost_at: 'diversity' }, plan, /less like each other/, null],
  ['one list', { lost_at: 'lists', legs: [leg('vector', null)] }, plan, /too far away: as many hits/, null],
  ['two lists', { lost_at: 'lists', legs: [leg('vector', null), leg('keyword', null)] }, plan, /neither list/, null],
] as [string, Partial<Report>, Parameters<typeof whyWords>[1], string | RegExp, RegExp | null][])(
  'words for %s',
  (_what, fields, asked, said, advice) => {
    const words = whyWords(report(fields), asked);
    expect(words.isFound).toBe(fields.lost_at === undefined);
    expect(words.said).toMatch(said);
    if (advice === null) expect(words.advice).toBeNull();
    else expect(words.advice).toMatch(advice);
  },
);

test('a place in a list, or why there is none', () => {
  expect(exactPlaceText(leg('vector', 12_345), 'rank')).toBe('12,345');
  expect(exactPlaceText(leg('keyword', null, null), 'rank')).toBe('has no word of the query');
  expect(exactPlaceText(leg('keyword', null, 0.1), 'rank')).toBe('too far down');
  expect(exactPlaceText(leg('vector', null), 'filter')).toBe('left out by the filters');
});

test('a list is called by what was searched', () => {
  expect([listName('vector', true), listName('vector', false), listName('keyword', true)]).toEqual([
    'Meaning',
    'Vectors',
    'Keywords',
  ]);
});

test('a condition reads as it does among the filters, and another one as JSON', () => {
  const asked = [
    { field: 'year', operator: '$gt', value: 1990 },
    { field: '', operator: '$text', value: 'red storm' },
  ] as const;
  expect(whyConditionText({ year: { $gt: 1990 } }, [...asked])).toBe('year > 1990');
  expect(whyConditionText({ $text: { query: 'red storm', match: 'all' } }, [...asked])).toBe('has the words red storm');
  expect(whyConditionText({ year: { $gt: 1991 } }, [...asked])).toBe('{"year":{"$gt":1991}}');
});

test('as many hits as the page offers reach a place, or none do', () => {
  expect([1, 10, 11, 100, 101].map((place) => hitsToReach(place, [5, 10, 20, 100]))).toEqual([5, 10, 20, 100, null]);
  expect(hitsToReach(null, [5])).toBeNull();
});
