import fc from 'fast-check';
import { matches } from '../../node/engine/filter/matches';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import type { Filter, JsonObject } from '../../shared/contract/filter/filter';
import { FIELD_OPERATORS, ITEM_OPERATORS } from '../../shared/contract/filter/filter-operators';
import { filterFromText, filterToText } from '../../shared/contract/filter/filter-text';
import { parseFilter } from '../../shared/contract/filter/parse-filter';

/**
 * Whatever a client sends as a filter: a tree that can be evaluated, or a refusal; never another error, never a side
 * effect.
 */

const OPERATORS = [
  ...Object.keys(FIELD_OPERATORS),
  ...Object.keys(ITEM_OPERATORS),
  '$and',
  '$or',
  '$not',
  '$',
  '$foo',
  '$__proto__',
];
const NAMES = [
  'a',
  'a.b',
  '',
  '.',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '__proto__.polluted',
  'constructor.prototype.polluted',
];
const text = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(
      '1',
      '-0',
      '1e400',
      '-1e400',
      '"x"',
      'null',
      'true',
      '[]',
      '{}',
      '"\\ud800"',
      '123456789012345678901234567890',
    ),
    fc.array(tie('value'), { maxLength: 3 }).map((parts) => `[${parts.join(',')}]`),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...OPERATORS), fc.constantFrom(...NAMES)), tie('value')), { maxLength: 3 })
    .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
}));
const metadata = fc.constantFrom(
  '{}',
  '{"a":1}',
  '{"a":{"b":"x"},"":null}',
  '{"__proto__":{"polluted":1},"constructor":[1]}',
);

test('a filter parses or is refused, and changes no prototype', () => {
  const before = prototypes();
  let parsedCount = 0;
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: text.object }, text.value), metadata, (json, item) => {
      try {
        const filter = parseFilter(JSON.parse(json));
        if (filter === null) return;
        parsedCount++;
        // Compared as text: JSON has no −0.
        const sent = filterToText(filter);
        expect(filterToText(filterFromText(sent) as Filter)).toBe(sent);
        expect(typeof matches(filter, JSON.parse(item) as JsonObject)).toBe('boolean');
      } catch (error) {
        if (!isQuiverError(error)) throw error;
        expect(error.kind).toBe('schema_violation');
        expect(error.message).toMatch(/^filters/);
      }
    }),
    { numRuns: 3_000 },
  );
  expect(parsedCount).toBeGreaterThan(100);
  expect(prototypes()).toEqual(before);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('values that are no JSON are refused too', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withSparseArray: true,
    withTypedArray: true,
  });
  fc.assert(
    fc.property(anything, (json) => {
      try {
        parseFilter(json);
      } catch (error) {
        if (!isQuiverError(error)) throw error;
      }
    }),
    { numRuns: 1_000 },
  );
});

function prototypes(): PropertyKey[][] {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype, Number.prototype].map((prototype) =>
    Reflect.ownKeys(prototype),
  );
}
