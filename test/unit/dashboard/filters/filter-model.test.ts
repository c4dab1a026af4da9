import {
  conditionFromText,
  conditionsFromParameter,
  filtersOf,
  isChosen,
  parameterOf,
  toggled,
  valueFromText,
  withCondition,
} from '../../../../dashboard/filters/filter-model';
import { parseFilter } from '../../../../shared/contract/filter/parse-filter';

test.each([
  ['3', 3],
  ['-1.5e3', -1500],
  ['"3"', '3'],
  ['007', '007'],
  ['true', true],
  ['null', null],
  [' spaced ', ' spaced '],
  ['', ''],
  ['"broken', '"broken'],
])('%j is typed for %j', (text, value) => {
  expect(valueFromText(text)).toBe(value);
});

test('conditions make filters that the service takes, two on one field too', () => {
  const conditions = [
    conditionFromText('year', '$gte', '1990'),
    conditionFromText('year', '$lt', '2000'),
    conditionFromText('topic', '$in', 'rivers, 3'),
    conditionFromText('gone', '$exists', 'false'),
    conditionFromText('', '$text', '2000 ships'),
    conditionFromText('title', '$text', 'sea'),
  ];
  const filters = filtersOf(conditions);
  expect(filters).toEqual({
    $and: [
      { year: { $gte: 1990 } },
      { year: { $lt: 2000 } },
      { topic: { $in: ['rivers', 3] } },
      { gone: { $exists: false } },
      { $text: { query: '2000 ships', match: 'all' } },
      { $text: { query: 'sea', match: 'all', fields: ['title'] } },
    ],
  });
  expect(() => parseFilter(filters)).not.toThrow();
  expect(filtersOf([])).toBeUndefined();
});

test('a condition is there once', () => {
  const one = conditionFromText('a', '$eq', '1');
  expect(withCondition([one], { ...one })).toEqual([one]);
});

test('conditions come back from the address; what was changed there by hand does no harm', () => {
  const conditions = [conditionFromText('täg', '$eq', '<b>'), conditionFromText('n', '$ne', 'null')];
  expect(conditionsFromParameter(parameterOf(conditions))).toEqual(conditions);
  for (const text of ['', '{}', '[1]', '[["a"]]', '[["a","$where","x"]]', 'nonsense', null])
    expect(conditionsFromParameter(text)).toEqual([]);
});

test('a value is chosen, one more beside it, and both are taken away again', () => {
  const before = [conditionFromText('year', '$gte', '1990'), conditionFromText('topic', '$ne', 'rivers')];
  const one = toggled(before, 'topic', 'rivers');
  expect(one).toEqual([...before, { field: 'topic', operator: '$eq', value: 'rivers' }]);
  const two = toggled(one, 'topic', null);
  expect(two).toEqual([...before, { field: 'topic', operator: '$in', value: ['rivers', null] }]);
  expect([isChosen(two, 'topic', null), isChosen(two, 'topic', 'null'), isChosen(two, 'year', 1990)]).toEqual([
    true,
    false,
    false,
  ]);
  expect(toggled(two, 'topic', 'rivers')).toEqual([...before, { field: 'topic', operator: '$eq', value: null }]);
  expect(toggled(toggled(two, 'topic', 'rivers'), 'topic', null)).toEqual(before);
  parseFilter(filtersOf(two), { depthMax: 8, valuesMax: 100 } as never);
});
