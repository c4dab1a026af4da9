import assert from 'node:assert/strict';
import fc from 'fast-check';
import { matches } from '../../node/engine/filter/matches';
import { MemoryFilterIndex } from '../../node/engine/filter/memory-filter-index';
import { ChunkedSlotSet } from '../../node/engine/slots/chunked-slot-set';
import type { Filter, JsonObject } from '../../shared/contract/filter/filter';
import { parseFilter } from '../../shared/contract/filter/parse-filter';

/**
 * The filter index against the plain predicate, over random metadata and filters with puts, removes and reloads
 * between.
 */

/**
 * Few keys and values, so that filters often match; the odd ones are those that plain objects and numbers trip over.
 */
const key = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c') },
  { weight: 3, arbitrary: fc.constantFrom('a.b', 'b.c', 'a.b.c', '', '.', 'a.', '.b') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'ключ', '\ud800', '\udfff'),
  },
);
const scalar = fc.constantFrom<unknown>(
  ...[0, -0, 1, 2, 2.5, -1, 1e308, -1e308, 5e-324, 2 ** 53, 2 ** 53 + 2, 1e-7],
  ...[
    '',
    '0',
    '1',
    'a',
    'b',
    'ab',
    'é',
    '😀',
    '\ud800',
    '\ufffd',
    'null',
    'true',
    'x'.repeat(128),
    'x'.repeat(129),
    `${'x'.repeat(128)}y`,
  ],
  ...[true, false, null],
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 6, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 3 }) },
    { weight: 2, arbitrary: members(tie('value'), 3) },
  ),
}));

function members<T>(member: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<Record<string, T>> {
  return fc.array(fc.tuple(key, member), { maxLength }).map(ownMembers);
}

/** As JSON.parse makes them: `__proto__` is an own key. */
function ownMembers<T>(entries: [string, T][]): Record<string, T> {
  const object = {};
  for (const [name, member] of entries) {
    Object.defineProperty(object, name, { value: member, enumerable: true, writable: true, configurable: true });
  }
  return object;
}

const metadata = members(value, 5).map((json) => json as JsonObject);
const bound = fc
  .oneof(scalar, fc.constantFrom('x'.repeat(127), 'x'.repeat(128), -Infinity))
  .filter((b) => (typeof b === 'number' && Number.isFinite(b)) || (typeof b === 'string' && b.length <= 128));
const operation = fc.oneof(
  fc.tuple(fc.constantFrom('$eq', '$ne'), value),
  fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), bound),
  fc.tuple(fc.constantFrom('$in', '$nin'), fc.array(value, { maxLength: 4 })),
  fc.tuple(fc.constant('$exists'), fc.boolean()),
);
const condition = fc.oneof(
  { weight: 2, arbitrary: value },
  { weight: 3, arbitrary: scalar },
  {
    weight: 4,
    arbitrary: fc
      .array(operation, { minLength: 1, maxLength: 2 })
      .map((entries) => ownMembers<unknown>(entries as [string, unknown][])),
  },
);
const path = fc.oneof(
  { weight: 5, arbitrary: key },
  fc.tuple(key, key).map(([a, b]) => `${a}.${b}`),
  fc.tuple(key, key, key).map((keys) => keys.join('.')),
);
const { filter } = fc.letrec<{ filter: unknown }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    {
      weight: 5,
      arbitrary: fc
        .array(fc.tuple(path, condition), { minLength: 1, maxLength: 2 })
        .map((entries) => ownMembers<unknown>(entries)),
    },
    { weight: 2, arbitrary: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map((parts) => ({ $and: parts })) },
    { weight: 2, arbitrary: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map((parts) => ({ $or: parts })) },
    { weight: 1, arbitrary: tie('filter').map((part) => ({ $not: part })) },
  ),
}));

const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ type: fc.constant('put' as const), slot: fc.nat({ max: 40 }), metadata }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('remove' as const), slot: fc.nat({ max: 40 }) }) },
  { weight: 10, arbitrary: fc.record({ type: fc.constant('resolve' as const), filter }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('others' as const), path, values: fc.array(scalar, { maxLength: 20 }) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reload' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('repair' as const),
      slots: fc.array(fc.nat({ max: 40 }), { maxLength: 5 }),
    }),
  },
);

/** What no client sends. */
function othersOf({ path: of, values }: { path: string; values: unknown[] }): Filter {
  return { type: 'others', path: of, values: values.filter((one) => one !== null) as string[] };
}

function slotsThatMatch(model: Map<number, JsonObject>, parsed: Filter | null): number[] {
  const slots = [...model.keys()].sort((a, b) => a - b);
  return parsed === null ? slots : slots.filter((slot) => matches(parsed, model.get(slot) as JsonObject));
}

describe('filter index', () => {
  test('resolves to the slots whose metadata matches, through puts, removes, reuse, repairs and reloads', () => {
    let hits = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 120, size: 'max' }), (steps) => {
        const model = new Map<number, JsonObject>();
        const options = { metadataOf: (slot: number): JsonObject => model.get(slot) as JsonObject };
        let index = new MemoryFilterIndex(options);
        const take = (slot: number): void => {
          const stored = model.get(slot);
          if (stored === undefined) return;
          index.remove(slot, stored);
          model.delete(slot);
        };
        for (const next of steps) {
          if (next.type === 'put') {
            take(next.slot);
            index.put(next.slot, next.metadata);
            model.set(next.slot, next.metadata);
          } else if (next.type === 'remove') take(next.slot);
          else if (next.type === 'reload') index = MemoryFilterIndex.load(Buffer.concat([...index.save()]), options);
          else if (next.type === 'repair') {
            index.removeEverywhere(ChunkedSlotSet.fromArray(next.slots));
            for (const slot of new Set(next.slots)) if (model.has(slot)) index.put(slot, model.get(slot) as JsonObject);
          } else {
            const parsed = next.type === 'others' ? othersOf(next) : parseFilter(next.filter);
            if (parsed === null) continue;
            const expected = slotsThatMatch(model, parsed);
            // Tens of thousands of times: `expect` would take longer than the index.
            assert.deepEqual(Array.from(index.resolve(parsed).toArray()), expected);
            if (expected.length > 0 && expected.length < model.size) hits++;
          }
        }
        for (const slot of [...model.keys()]) take(slot);
        expect(index.resolve({ type: 'and', filters: [] }).size).toBe(0);
        expect(index.resolve({ type: 'exists', path: 'a' }).size).toBe(0);
      }),
      { numRuns: 800 },
    );
    expect(hits).toBeGreaterThan(1_000);
  });

  test('a save taken while slots change is whole for the others, and repaired for those', () => {
    fc.assert(
      fc.property(
        fc.array(metadata, { minLength: 20, maxLength: 60, size: 'max' }),
        fc.array(metadata, { minLength: 10, maxLength: 10 }),
        filter,
        (items, later, json) => {
          const parsed = parseFilter(json);
          fc.pre(parsed !== null);
          const model = new Map(items.map((item, slot) => [slot, item]));
          const options = { metadataOf: (slot: number): JsonObject => model.get(slot) as JsonObject };
          const index = new MemoryFilterIndex(options);
          for (const [slot, item] of model) index.put(slot, item);
          const chunks: Buffer[] = [];
          let changed = 0;
          for (const chunk of index.save()) {
            chunks.push(Buffer.from(chunk));
            if (changed === later.length) continue;
            index.remove(changed, model.get(changed) as JsonObject);
            model.set(changed, later[changed]);
            index.put(changed, later[changed]);
            changed++;
          }
          const loaded = MemoryFilterIndex.load(Buffer.concat(chunks), options);
          const touched = ChunkedSlotSet.fromArray(Array.from({ length: changed }, (_, slot) => slot));
          loaded.removeEverywhere(touched);
          touched.forEach((slot) => loaded.put(slot, model.get(slot) as JsonObject));
          expect(Array.from(loaded.resolve(parsed as NonNullable<typeof parsed>).toArray())).toEqual(
            slotsThatMatch(model, parseFilter(json)),
          );
        },
      ),
      { numRuns: 100 },
    );
  });
});
