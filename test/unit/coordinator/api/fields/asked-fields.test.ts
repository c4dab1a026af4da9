import { askedFields } from '../../../../../coordinator/api/fields/asked-fields';
import { dateForm } from '../../../../../shared/contract/filter/date-form';
import { parseFilter } from '../../../../../shared/contract/filter/parse-filter';

const asked = (json: unknown) => askedFields(parseFilter(json)!);
const paths = (json: unknown): Record<string, boolean> =>
  Object.fromEntries(asked(json).fields.map(({ path, isNegated }) => [path, isNegated]));

test('a filter asks for its paths, and for the members of objects that it compares with; negations are met without them', () => {
  expect(paths({ a: 1, 'b.c': { $gt: 1, $lt: 3 }, o: { in: { 'd.e': [{ f: 1 }] } } })).toEqual({
    a: false,
    'b.c': false,
    o: false,
    'o.in': false,
    'o.in.d.e': false,
  });
  expect(
    paths({
      a: { $ne: 1 },
      b: { $nin: [1] },
      $not: { c: 1, d: { $ne: 2 } },
      e: { $exists: false },
      f: { $exists: true },
    }),
  ).toEqual({ a: true, b: true, c: true, d: false, f: false });
  expect(paths({ a: { $ne: 1 }, $or: [{ a: 2 }, { b: { x: 1 } }] })).toEqual({ a: false, b: false, 'b.x': false });
  expect(paths({ a: { $ne: { x: 1 } } })).toEqual({ a: true });
  expect(paths({ a: { $empty: true }, b: { $empty: false } })).toEqual({ a: true, b: false });
  expect(paths({ $or: [{ a: { $exists: false } }, { a: 2, b: 1 }] })).toEqual({ a: true, b: false });
});

test('whether every hit has all fields is known from the conditions alone', () => {
  for (const json of [{ a: 1 }, { a: 1, b: { $in: [1] }, $and: [{ c: { $exists: true } }, { d: { $lt: 2 } }] }])
    expect(asked(json).areAllNeeded).toBe(true);
  for (const json of [
    { a: { $ne: 1 } },
    { $or: [{ a: 1 }, { b: 1 }] },
    { $not: { $and: [{ a: 1 }, { b: 1 }] } },
    { a: { $exists: false } },
  ])
    expect(asked(json).areAllNeeded).toBe(false);
});

test('of very many fields, the first are looked at', () => {
  expect(asked({ $or: Array.from({ length: 200 }, (_, i) => ({ [`f${i}`]: 1 })) }).fields).toHaveLength(64);
  expect(asked({ ['x'.repeat(2_000)]: 1 }).fields).toEqual([]);
});

test.each([
  ['2024-02-01', 'no time'],
  ['2024-02-01T10:00', 'no offset'],
  ['2024-02-01 10:00:00.123', 'no offset'],
  ['2024-02-01T10:00:00Z', 'Z'],
  ['2024-02-01t10:00:00Z', null],
  ['2024-02-01T10:00:00.5+02:00', '+02:00'],
  ['2024-02-01T10:00:00-0530', '-0530'],
  ['2024-02-01T10:00:00 +02', '+02'],
  ['2024-02', null],
  ['2024-02-01 and more', null],
  ['x2024-02-01', null],
  ['v2.1', null],
  [20240201, null],
  [null, null],
])('%j is written as a date with %s', (text, form) => {
  expect(dateForm(text)).toBe(form);
});

test('the dates of ranges are found, also under negations', () => {
  expect(
    asked({ a: { $gte: '2024-02-01', $lt: 'b' }, b: '2024-02-01', $not: { c: { $lt: '2024-02-01T00:00:00Z' } } }).dates,
  ).toEqual([
    { path: 'a', bound: '2024-02-01', form: 'no time' },
    { path: 'c', bound: '2024-02-01T00:00:00Z', form: 'Z' },
  ]);
});
