import { SETTINGS } from '../../../../../shared/base/config/settings';
import { filterFromText, filterToText } from '../../../../../shared/contract/filter/filter-text';
import { DEFAULT_FILTER_BOUNDS, parseFilter } from '../../../../../shared/contract/filter/parse-filter';

/** Filters as they travel and as logs keep them. */

test('the deepest filter that any setting lets in comes back as it was', () => {
  const levels = SETTINGS.filterDepthMax.maximum;
  let json: object = { c: { $exists: true, $nin: [1] } };
  for (let level = 1; level < levels; level++) json = { a: 1, $not: json };
  const filter = parseFilter(json, { ...DEFAULT_FILTER_BOUNDS, filterDepthMax: levels });
  expect(filter).not.toBeNull();
  expect(filterFromText(filterToText(filter as NonNullable<typeof filter>))).toEqual(filter);
});

test.each([
  ['no JSON', '{'],
  ['null', 'null'],
  ['a list', '[{"type":"exists","path":"a"}]'],
  ['a type that nobody knows', '{"type":"like","path":"a","value":"x"}'],
  ['a type of the prototype', '{"type":"constructor"}'],
  ['and of no list', '{"type":"and","filters":{"type":"exists","path":"a"}}'],
  ['or with a hole', '{"type":"or","filters":[null]}'],
  ['not of nothing', '{"type":"not"}'],
  ['equals without a value', '{"type":"equals","path":"a"}'],
  ['equals without a path', '{"type":"equals","value":1}'],
  ['in without a list', '{"type":"in","path":"a","values":"abc"}'],
  ['a range of no operator', '{"type":"range","path":"a","operator":"ne","bound":1}'],
  ['a range without a bound', '{"type":"range","path":"a","operator":"gt","bound":null}'],
  ['exists with a path of numbers', '{"type":"exists","path":[1]}'],
  ['deep inside another', '{"type":"and","filters":[{"type":"not","filter":{"type":"exists"}}]}'],
  [
    'a nesting that exhausts the stack',
    `${'{"type":"not","filter":'.repeat(100_000)}{"type":"exists","path":"a"}${'}'.repeat(100_000)}`,
  ],
])('%s is no filter', (_what, text) => {
  expect(filterFromText(text)).toBeUndefined();
});
