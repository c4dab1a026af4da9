import { DEFAULT_FILTER_BOUNDS, FILTER_LIMITS, parseFilter } from '../../../../../shared/contract/filter/parse-filter';

/** What a client may send as `filters`, and what a refusal says. */

const refused = (message: string | RegExp): object =>
  expect.objectContaining({ kind: 'schema_violation', message: expect.stringMatching(message) });

function refusalOf(json: unknown): unknown {
  try {
    return parseFilter(json);
  } catch (error) {
    return error;
  }
}

const VOID = [
  undefined,
  null,
  {},
  { $and: [{}] },
  { $and: [{}, {}] },
  { $or: [{ a: 1 }, {}] },
  { $or: [{ $and: [{}] }, { a: 1 }] },
  { $not: { $and: [{ a: 1 }, { b: { $in: [] } }] } },
  { $not: { $not: {} } },
  { a: { $nin: [] } },
];
test.each(VOID.map((json) => [json]))('%j restricts nothing', (json) => {
  expect(parseFilter(json)).toBeNull();
});

test.each(
  [
    { $not: {} },
    { a: { $in: [] } },
    { $or: [{ a: 1 }, { a: { $in: [] } }] },
    { $and: [{}, { a: 1 }] },
    { a: { $nin: [null] } },
  ].map((json) => [json]),
)('%j restricts something', (json) => {
  expect(parseFilter(json)).not.toBeNull();
});

test('the tree says what the JSON says', () => {
  expect(parseFilter({ a: 1 })).toEqual({ type: 'equals', path: 'a', value: 1 });
  expect(parseFilter({ a: { $gt: 1, $ne: 'x' } })).toEqual({
    type: 'and',
    filters: [
      { type: 'range', path: 'a', operator: 'gt', bound: 1 },
      { type: 'not', filter: { type: 'equals', path: 'a', value: 'x' } },
    ],
  });
  expect(parseFilter({ $or: [{ 'a.b': { $in: [1, null] } }, { c: { $exists: false } }] })).toEqual({
    type: 'or',
    filters: [
      { type: 'in', path: 'a.b', values: [1, null] },
      { type: 'not', filter: { type: 'exists', path: 'c' } },
    ],
  });
  expect(parseFilter({ a: { $prefix: 'Ri' } })).toEqual({
    type: 'text',
    path: 'a',
    test: 'prefix',
    pattern: 'Ri',
    fold: false,
  });
  expect(parseFilter({ a: { $prefix: 'Ri', case: 'fold' } })).toEqual({
    type: 'text',
    path: 'a',
    test: 'prefix',
    pattern: 'Ri',
    fold: true,
  });
  const at = { time: Date.UTC(2024, 0, 31, 22) };
  const date = { $date: '2024-02-01T00:00:00+02:00' };
  expect(parseFilter({ a: { $gte: date } })).toEqual({ type: 'range', path: 'a', operator: 'gte', bound: at });
  expect(parseFilter({ a: { $between: [date, date] } })).toEqual({ type: 'between', path: 'a', low: at, high: at });
  expect(parseFilter({ a: { $between: ['a', 'b'] } })).toEqual({ type: 'between', path: 'a', low: 'a', high: 'b' });
  // An object of that form was equal to it before.
  const equal = {
    type: 'or',
    filters: [
      { type: 'in', path: 'a', values: [date] },
      { type: 'between', path: 'a', low: at, high: at },
    ],
  };
  expect(parseFilter({ a: { $eq: date } })).toEqual(equal);
  expect(parseFilter({ a: { $ne: date } })).toEqual({ type: 'not', filter: equal });
  expect(parseFilter({ a: { $in: [date] } })).toEqual(equal);
  // Without an operator that folds, it is a member like any other.
  expect(parseFilter({ a: { case: 'fold' } })).toEqual({ type: 'equals', path: 'a', value: { case: 'fold' } });
});

test.each<[unknown, RegExp]>([
  ['x', /^filters must be an object$/],
  [[], /^filters must be an object$/],
  [7, /^filters must be an object$/],
  [{ $nor: [{ a: 1 }] }, /filters\.\$nor: unknown operator/],
  [{ $gt: 1 }, /filters\.\$gt: unknown operator/],
  [{ price: { $foo: 1 } }, /filters\.price\.\$foo: unknown operator.*\$eq.*\$exists/],
  [{ price: { $not: { $gt: 1 } } }, /filters\.price\.\$not: unknown operator/],
  [{ price: { $gt: 1, max: 2 } }, /filters\.price: operator \$gt and plain key max/],
  [{ price: { $gt: 1, case: 'fold' } }, /filters\.price: operator \$gt and plain key case/],
  [{ a: { $prefix: 'x', case: 'upper' } }, /^filters\.a\.case must be "fold"$/],
  [{ a: { $like: 'x\\\\\\' } }, /^filters\.a\.\$like ends with a \\/],
  [{ a: { $between: [1, 2, 3] } }, /^filters\.a\.\$between must be \[lowest, highest\]$/],
  [{ a: { $between: [1, { $date: 'now' }] } }, /^filters\.a\.\$between\[1\]\.\$date must be a date/],
  [{ a: { $gt: { $date: '2024' } } }, /^filters\.a\.\$gt\.\$date must be a date/],
  [{ a: { $gt: { $date: '2024-01-01', x: 1 } } }, /^filters\.a\.\$gt must be a finite number, a string or/],
  [{ a: { $date: '2024-01-01' } }, /^filters\.a\.\$date: unknown operator/],
  [{ a: { $prefix: 1 } }, /^filters\.a\.\$prefix must be a string$/],
  [{ a: { $prefix: 'x'.repeat(129) } }, /filters\.a\.\$prefix must have at most 128 characters/],
  [{ a: { $regex: 'x' } }, /filters\.a\.\$regex: unknown operator; there are .*\$exists, .*\$prefix/],
  [{ $and: {} }, /filters\.\$and must be an array/],
  [{ $or: [] }, /filters\.\$or must be an array of at least one/],
  [{ $or: [1] }, /filters\.\$or\[0\] must be an object/],
  [{ $not: [] }, /filters\.\$not must be an object/],
  [{ a: { $in: 1 } }, /filters\.a\.\$in must be an array/],
  [{ a: { $exists: 1 } }, /filters\.a\.\$exists must be true or false/],
  [{ a: { $gt: null } }, /filters\.a\.\$gt must be a finite number, a string or/],
  [{ a: { $lt: [1] } }, /filters\.a\.\$lt must be/],
  [{ a: { $lte: Infinity } }, /filters\.a\.\$lte must be/],
  [{ a: JSON.parse('1e400') }, /filters\.a must be a JSON value with finite numbers/],
  [{ a: undefined }, /filters\.a must be a JSON value/],
  [{ a: { $in: [[Number.NaN]] } }, /filters\.a\.\$in\[0\] must be a JSON value/],
  [{ a: { $gt: 'x'.repeat(129) } }, /filters\.a\.\$gt must have at most 128 characters/],
])('%j is refused', (json, message) => {
  expect(refusalOf(json)).toEqual(refused(message));
});

test('now is asked once for a filter, and only where it is used', () => {
  let asked = 0;
  const now = (): number => (asked += 1) * 1_000_000;
  parseFilter({ a: 1, b: { $gt: { $date: '2024-01-01' } } }, DEFAULT_FILTER_BOUNDS, now);
  expect(asked).toBe(0);
  const filter = parseFilter(
    { a: { $between: [{ $date: 'now-1m' }, { $date: 'now' }] }, b: { $lt: { $date: 'now' } } },
    DEFAULT_FILTER_BOUNDS,
    now,
  );
  expect(filter).toMatchObject({
    filters: [{ low: { time: 940_000 }, high: { time: 1_000_000 } }, { bound: { time: 1_000_000 } }],
  });
});

test('the limits are as stated: each is allowed, one more is refused', () => {
  const nested = (depth: number): unknown => (depth === 1 ? { a: 1 } : { $not: nested(depth - 1) });
  expect(parseFilter(nested(DEFAULT_FILTER_BOUNDS.filterDepthMax))).not.toBeNull();
  expect(refusalOf(nested(DEFAULT_FILTER_BOUNDS.filterDepthMax + 1))).toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringMatching(/at most 32 levels deep \(MAX_FILTER_DEPTH\)/),
  });

  const wide = (conditions: number): unknown => ({ $or: Array.from({ length: conditions }, (_, i) => ({ a: i })) });
  expect(parseFilter(wide(DEFAULT_FILTER_BOUNDS.filterConditionsMax))).not.toBeNull();
  expect(refusalOf(wide(DEFAULT_FILTER_BOUNDS.filterConditionsMax + 1))).toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringMatching(/at most 1024 conditions \(MAX_FILTER_CONDITIONS\)/),
  });

  const listed = (values: number): unknown => ({ a: { $in: Array(values - 1).fill(0) }, b: { $nin: [0] } });
  expect(parseFilter(listed(DEFAULT_FILTER_BOUNDS.filterValuesMax))).not.toBeNull();
  expect(refusalOf(listed(DEFAULT_FILTER_BOUNDS.filterValuesMax + 1))).toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringMatching(/at most 16384 values \(MAX_FILTER_VALUES\)/),
  });

  const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)]);
  expect(parseFilter({ a: deep(FILTER_LIMITS.valueDepthMax) })).not.toBeNull();
  expect(refusalOf({ a: deep(FILTER_LIMITS.valueDepthMax + 1) })).toEqual(refused(/filters\.a may nest at most 32/));
});

test('nesting beyond every limit is refused without exhausting the stack', () => {
  const depth = 100_000;
  for (const text of [
    `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`,
    `${'{"$not":'.repeat(depth)}{}${'}'.repeat(depth)}`,
  ]) {
    expect(refusalOf(JSON.parse(text))).toMatchObject({
      name: 'QuiverError',
      message: expect.stringMatching(/nest at most/),
    });
  }
});

test('a message shows the beginning of a long key only', () => {
  const error = refusalOf({ ['k'.repeat(10_000)]: { $foo: 1 } }) as Error;
  expect(error.message.length).toBeLessThan(300);
});
