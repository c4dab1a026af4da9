import { matcherOf } from '../../../../../node/engine/filter/matcher';
import { matches } from '../../../../../node/engine/filter/matches';
import { parseFilter } from '../../../../../shared/contract/filter/parse-filter';

/**
 * What filters mean, by example: [filter, metadata, whether it passes], all as JSON texts, so that `__proto__` is a
 * key.
 */

type Example = [filter: string, metadata: string, passes: boolean];

function passes(filter: string, metadata: string): boolean {
  const parsed = parseFilter(JSON.parse(filter));
  if (parsed === null) return true;
  const isMatch = matches(parsed, JSON.parse(metadata));
  // Made ready for many items, it says the same.
  expect(matcherOf(parsed)(JSON.parse(metadata))).toBe(isMatch);
  return isMatch;
}

function examples(title: string, rows: Example[]): void {
  test.each(rows)(`${title}: %s on %s is %s`, (filter, metadata, expected) => {
    expect(passes(filter, metadata)).toBe(expected);
  });
}

examples('equality', [
  ['{"a": 3}', '{"a": 3}', true],
  ['{"a": 3}', '{"a": "3"}', false],
  ['{"a": 3}', '{"a": 3.0}', true],
  ['{"a": 0}', '{"a": -0}', true],
  ['{"a": -0.0}', '{"a": 0}', true],
  ['{"a": true}', '{"a": 1}', false],
  ['{"a": ""}', '{"a": ""}', true],
  ['{"a": "é"}', '{"a": "e\u0301"}', false],
  ['{"a": 1, "b": 2}', '{"a": 1, "b": 2, "c": 3}', true],
  ['{"a": 1, "b": 2}', '{"a": 1, "b": 3}', false],
  ['{"a": 9007199254740993}', '{"a": 9007199254740992}', true],
  ['{}', '{"a": 1}', true],
]);

examples('null', [
  ['{"a": null}', '{"a": null}', true],
  ['{"a": null}', '{}', false],
  ['{"a": null}', '{"a": 0}', false],
  ['{"a": null}', '{"a": [1, null]}', true],
]);

examples('arrays', [
  ['{"a": "x"}', '{"a": ["y", "x"]}', true],
  ['{"a": "x"}', '{"a": [["x"]]}', false],
  ['{"a": -0.0}', '{"a": [0]}', true],
  ['{"a": ["x", "y"]}', '{"a": ["x", "y"]}', true],
  ['{"a": ["x", "y"]}', '{"a": ["y", "x"]}', false],
  ['{"a": ["x"]}', '{"a": ["x", "y"]}', false],
  ['{"a": ["x"]}', '{"a": [["x"]]}', false],
  ['{"a": []}', '{"a": []}', true],
  ['{"a": {"b": 1}}', '{"a": [{"b": 1}]}', false],
  ['{"a.b": 1}', '{"a": [{"b": 1}]}', false],
  ['{"a.0": 1}', '{"a": [1]}', false],
]);

examples('objects', [
  ['{"a": {"x": 1, "y": [2]}}', '{"a": {"y": [2], "x": 1}}', true],
  ['{"a": {"x": 1}}', '{"a": {"x": 1, "y": 2}}', false],
  ['{"a": {}}', '{"a": {}}', true],
  ['{"a": {}}', '{"a": []}', false],
  ['{"a": {"toString": 1}}', '{"a": {"constructor": 1}}', false],
  ['{"a": {"x": {"$gt": 1}}}', '{"a": {"x": {"$gt": 1}}}', true],
]);

examples('dotted keys', [
  ['{"a.b": 1}', '{"a": {"b": 1}}', true],
  ['{"a.b": 1}', '{"a.b": 1}', true],
  ['{"a.b": 1}', '{"a.b": 2, "a": {"b": 1}}', false],
  ['{"a.b": 2}', '{"a.b": 2, "a": {"b": 1}}', true],
  ['{"a.b": null}', '{"a.b": null, "a": {"b": 1}}', true],
  ['{"a.b.c": 1}', '{"a": {"b.c": 1, "b": {"c": 2}}}', true],
  ['{"a.b.c": 1}', '{"a": {"b": {"c": 1}}}', true],
  ['{"a.b.c": 1}', '{"a.b": {"c": 1}}', false],
  ['{"a.": 1}', '{"a": {"": 1}}', true],
  ['{".a": 1}', '{"": {"a": 1}}', true],
  ['{"": 1}', '{"": 1}', true],
  ['{"a.b": 1}', '{"a": 1}', false],
]);

examples('keys that objects inherit', [
  ['{"__proto__": 1}', '{"__proto__": 1}', true],
  ['{"__proto__": {"$exists": true}}', '{}', false],
  ['{"constructor": {"$exists": true}}', '{}', false],
  ['{"toString.name": "toString"}', '{}', false],
  ['{"constructor.name": {"$exists": true}}', '{"a": 1}', false],
  ['{"__proto__.x": 1}', '{"__proto__": {"x": 1}}', true],
  ['{"a.__proto__": 1}', '{"a": {"__proto__": 1}}', true],
  ['{"a.length": 2}', '{"a": [1, 2]}', false],
  ['{"a.length": 1}', '{"a": "x"}', false],
]);

examples('ranges', [
  ['{"a": {"$gt": 1}}', '{"a": 2}', true],
  ['{"a": {"$gt": 1}}', '{"a": 1}', false],
  ['{"a": {"$gte": 1}}', '{"a": 1}', true],
  ['{"a": {"$lt": 1}}', '{"a": "0"}', false],
  ['{"a": {"$lt": "b"}}', '{"a": "a"}', true],
  ['{"a": {"$lt": "10"}}', '{"a": "9"}', false],
  ['{"a": {"$gte": 0}}', '{"a": -0}', true],
  ['{"a": {"$gt": 0}}', '{"a": 5e-324}', true],
  ['{"a": {"$gt": 1e308}}', '{"a": 1e309}', true],
  ['{"a": {"$gt": 0}}', '{"a": true}', false],
  ['{"a": {"$lte": 0}}', '{"a": null}', false],
  ['{"a": {"$lt": 1}}', '{}', false],
  ['{"a": {"$gt": 5}}', '{"a": [1, 9]}', true],
  ['{"a": {"$gt": 5, "$lt": 3}}', '{"a": [1, 9]}', true],
  ['{"a": {"$gt": 5, "$lt": 3}}', '{"a": 4}', false],
  ['{"a": {"$gte": "2024-01-01", "$lt": "2024-02-01"}}', '{"a": "2024-01-31T23:59:59Z"}', true],
]);

examples('lists and negations', [
  ['{"a": {"$in": [1, "x"]}}', '{"a": "x"}', true],
  ['{"a": {"$in": [1, "x"]}}', '{"a": ["y", 1]}', true],
  ['{"a": {"$in": []}}', '{"a": 1}', false],
  ['{"a": {"$in": [[1], {"b": 2}]}}', '{"a": {"b": 2}}', true],
  ['{"a": {"$nin": [1]}}', '{"a": 2}', true],
  ['{"a": {"$nin": [1]}}', '{}', true],
  ['{"a": {"$nin": []}}', '{}', true],
  ['{"a": {"$ne": 1}}', '{"a": 1}', false],
  ['{"a": {"$ne": 1}}', '{"a": [2, 1]}', false],
  ['{"a": {"$ne": 1}}', '{}', true],
  ['{"a": {"$ne": null}}', '{}', true],
  ['{"a": {"$eq": {"b": 1}}}', '{"a": {"b": 1}}', true],
  ['{"a": {"$exists": true}}', '{"a": null}', true],
  ['{"a": {"$exists": false}}', '{"a": null}', false],
  ['{"a": {"$exists": false}}', '{"b": 1}', true],
]);

examples('and, or, not', [
  ['{"$and": [{"a": 1}, {"b": 2}]}', '{"a": 1, "b": 2}', true],
  ['{"$and": [{"a": 1}, {"b": 2}]}', '{"a": 1}', false],
  ['{"$or": [{"a": 1}, {"b": 2}]}', '{"b": 2}', true],
  ['{"$or": [{"a": 1}, {"b": 2}], "c": 3}', '{"b": 2}', false],
  ['{"$not": {"a": 1}}', '{"a": 2}', true],
  ['{"$not": {}}', '{}', false],
  ['{"$or": [{}]}', '{}', true],
  ['{"$and": [{"$or": [{"a": 1}, {"$not": {"b": 2}}]}]}', '{"b": 3}', true],
]);

test('a long list means what a short one does', () => {
  const others = Array.from({ length: 100 }, (_, i) => `other ${i}`);
  const inList = (values: unknown[], metadata: unknown): boolean =>
    passes(JSON.stringify({ a: { $in: [...others, ...values] } }), JSON.stringify(metadata));
  for (const value of [0, 'x', '', true, false, null, { b: 1 }, ['y']]) {
    expect(inList([value], { a: value })).toBe(true);
    expect(inList([], { a: value })).toBe(false);
  }
  expect(inList(['y'], { a: ['x', 'y'] })).toBe(true);
  expect(inList([0], { a: -0 })).toBe(true);
  expect(inList([1], { a: '1' })).toBe(false);
  expect(inList([null], { b: 1 })).toBe(false);
});

test('a path reaches 32 objects deep, and no further', () => {
  const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const filter = (depth: number): string => JSON.stringify({ [Array(depth).fill('a').join('.')]: 1 });
  expect(passes(filter(32), nested(32))).toBe(true);
  expect(passes(filter(33), nested(33))).toBe(false);
  expect(passes(JSON.stringify({ ['x.'.repeat(500)]: 1 }), JSON.stringify({ ['x.'.repeat(500)]: 1 }))).toBe(true);
});
