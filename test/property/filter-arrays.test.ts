import { type ItemFacts, matches } from '../../node/engine/filter/matches';
import { MemoryFilterIndex } from '../../node/engine/filter/memory-filter-index';
import { ChunkedSlotSet } from '../../node/engine/slots/chunked-slot-set';
import type { Filter, JsonObject, JsonValue } from '../../shared/contract/filter/filter';
import { DEFAULT_FILTER_BOUNDS, parseFilter } from '../../shared/contract/filter/parse-filter';
import { runSeed, seededRandom } from '../support/values/random';

/** Conditions on arrays, their elements, ids and times: the index against the plain predicate. */

const ITEMS = 1_500;
const WORDS = ['a', 'b', 'ab', 'é', '😀', '\ud800', '', `${'x'.repeat(140)}b`];
const KEYS = ['k', 'm', 'k.m', 'm.k', '__proto__', ''];

class Arrays {
  private readonly random = seededRandom(runSeed('filter-arrays'));

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  one<T>(from: readonly T[]): T {
    return from[this.below(from.length)];
  }

  scalar(): JsonValue {
    return this.one<JsonValue>([this.below(6), this.one(WORDS), null, true, `2024-01-0${1 + this.below(9)}`]);
  }

  object(depth: number): JsonObject {
    const object: JsonObject = {};
    for (let left = this.below(4); left > 0; left--) this.set(object, this.key(), this.value(depth + 1));
    return object;
  }

  /** Dots are rare, because they change how paths are found from then on. */
  private key(): string {
    return this.below(60) === 0 ? this.one(KEYS) : this.one(['k', 'm', '__proto__', '']);
  }

  private set(object: JsonObject, key: string, value: JsonValue): void {
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  }

  value(depth = 0): JsonValue {
    const kind = this.below(depth > 3 ? 3 : 8);
    if (kind < 3) return this.scalar();
    if (kind === 3) return this.object(depth);
    return Array.from({ length: this.below(4) }, () => this.value(depth + 1));
  }

  item(): JsonObject {
    const kind = this.below(12);
    if (kind === 0) return {};
    if (kind === 1) return { 'a.b': this.value(), a: { b: this.value() } };
    return { list: this.value(), a: { b: this.value() }, n: this.below(4) };
  }

  plain(): JsonObject {
    const operators: (() => JsonObject)[] = [
      () => ({
        [this.one(['$gt', '$lt', '$lte'])]: this.one<JsonValue>([this.below(6), this.one(['a', 'b'])]),
      }),
      () => ({ $eq: this.value(3) }),
      () => ({ $ne: this.scalar() }),
      () => ({ $in: [this.scalar(), this.value(2)] }),
      () => ({ [this.one(['$exists', '$empty'])]: this.below(2) === 0 }),
      () => ({ $contains: 'b' }),
      () => ({ $prefix: this.one(['a', 'x']) }),
      () => ({ $between: [1, 1 + this.below(4)] }),
      () => ({ $gt: { $date: '2024-01-04' } }),
      () => ({ $gt: this.below(3), $lt: 2 + this.below(4) }),
    ];
    return this.one(operators)();
  }

  condition(depth = 0): JsonObject {
    const kind = this.below(depth > 2 ? 6 : 8);
    if (kind < 2) return this.plain();
    if (kind === 2) return { $all: Array.from({ length: this.below(3) }, () => this.value(3)) };
    if (kind === 3) return { $any: Array.from({ length: this.below(3) }, () => this.value(3)) };
    if (kind === 4) return { $size: this.below(4) };
    if (kind === 5) return { $size: { $gt: this.below(3) - 1, [this.one(['$lt', '$lte'])]: 0.5 + this.below(5) } };
    if (kind === 6) return { $elem_match: this.condition(depth + 1) };
    return { $elem_match: this.members(depth + 1) };
  }

  members(depth: number): JsonObject {
    const kind = this.below(9);
    const one: JsonObject = {};
    for (let left = 1 + this.below(2); left > 0; left--)
      this.set(one, this.one(KEYS), this.below(3) === 0 ? this.scalar() : this.condition(depth));
    if (kind === 0) return { $not: one };
    if (kind === 1) return { $or: [one, this.members(depth)] };
    if (kind === 2) return { $and: [one, this.members(depth)] };
    return one;
  }

  ofItem(): JsonObject {
    const kind = this.below(4);
    if (kind === 0) return { $expires_at: { $exists: this.below(2) === 0 } };
    const time = (): JsonValue => new Date(1e12 + this.below(1_000)).toISOString();
    if (kind === 1) return { $expires_at: { [this.one(['$gt', '$lt', '$lte'])]: { $date: time() } } };
    if (kind === 2) return { [this.one(['$expires_at', '$updated'])]: { $between: [time(), time()] } };
    return { $id: Array.from({ length: this.below(40) }, () => `id${this.below(ITEMS + 50)}`) };
  }

  filter(): JsonObject {
    const one = (): JsonObject =>
      this.below(5) === 0 ? this.ofItem() : { [this.one(['list', 'list', 'a.b', 'absent', 'a'])]: this.condition() };
    const kind = this.below(9);
    if (kind === 0) return { $not: one() };
    if (kind === 1) return { $and: [one(), { n: { $gt: this.below(4) } }] };
    if (kind === 2) return { $or: [one(), one(), { n: 3 }] };
    if (kind === 3) return { $and: [one(), { $not: one() }, { $or: [one(), { n: { $in: [0, 1] } }] }] };
    return one();
  }
}

/** A shard's items by slot, and the index of them. */
class Model {
  readonly metadata = new Map<number, JsonObject>();
  private readonly facts = new Map<number, ItemFacts>();
  private readonly slots = new Map<string, number>();
  private readonly items = {
    metadataOf: (slot: number): JsonObject => this.metadata.get(slot) as JsonObject,
    factsOf: (slot: number): ItemFacts => this.facts.get(slot) as ItemFacts,
    slotsOf: (externalIds: readonly string[]): Uint32Array =>
      Uint32Array.from(externalIds.flatMap((externalId) => this.slots.get(externalId) ?? [])),
    slotsExpiring: (low: number, high: number): number[] =>
      [...this.facts]
        .filter(([, { expiry }]) => expiry !== 0 && Math.abs(expiry) >= low && Math.abs(expiry) <= high)
        .map(([slot]) => slot)
        .sort((a, b) => a - b),
    slotsUpdated: (low: number, high: number): Generator<undefined, Uint32Array> => this.slotsUpdated(low, high),
  };
  index = new MemoryFilterIndex(this.items);

  private *slotsUpdated(low: number, high: number): Generator<undefined, Uint32Array> {
    yield;
    const found = new ChunkedSlotSet();
    for (const [slot, { updatedMs }] of this.facts)
      if (updatedMs !== undefined && updatedMs >= low && updatedMs <= high) found.add(slot);
    return found.toBitmap(0);
  }

  put(slot: number, item: JsonObject, facts: ItemFacts): void {
    this.remove(slot);
    this.metadata.set(slot, item);
    this.facts.set(slot, facts);
    this.slots.set(facts.externalId, slot);
    this.index.put(slot, item);
  }

  remove(slot: number): void {
    const before = this.metadata.get(slot);
    if (before === undefined) return;
    this.index.remove(slot, before);
    this.metadata.delete(slot);
    this.slots.delete((this.facts.get(slot) as ItemFacts).externalId);
    this.facts.delete(slot);
  }

  reload(): void {
    this.index = MemoryFilterIndex.load(Buffer.concat([...this.index.save()]), this.items);
  }

  repair(slots: number[]): void {
    this.index.removeEverywhere(ChunkedSlotSet.fromArray(slots));
    for (const slot of new Set(slots)) {
      const item = this.metadata.get(slot);
      if (item !== undefined) this.index.put(slot, item);
    }
  }

  expectSame(filter: Filter, found: Uint32Array): number {
    const expected = [...this.metadata]
      .filter(([slot, item]) => matches(filter, item, this.facts.get(slot)))
      .map(([slot]) => slot)
      .sort((a, b) => a - b);
    if (found.join() !== expected.join())
      throw new Error(`${JSON.stringify(filter)}: ${found.length} instead of ${expected.length}`);
    return expected.length;
  }
}

test('the index finds the arrays, elements, ids and times that pass, through puts, removes, repairs and reloads', async () => {
  const arrays = new Arrays();
  const model = new Model();
  const put = (slot: number): void =>
    model.put(slot, arrays.item(), {
      externalId: `id${slot}`,
      expiry: arrays.below(3) === 0 ? (1e12 + arrays.below(1_000)) * (arrays.below(2) * 2 - 1) : 0,
      updatedMs: arrays.below(3) === 0 ? undefined : 1e12 + arrays.below(1_000),
    });
  const change = (): void => {
    const slot = arrays.below(ITEMS + 50);
    if (arrays.below(4) === 0) model.remove(slot);
    else put(slot);
  };
  for (let slot = 0; slot < ITEMS; slot++) put(slot);
  let found = 0;
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 60; i++) {
      const filter = parseFilter(arrays.filter());
      if (filter === null) continue;
      if (i % 4 > 0) {
        const ready = model.index.prepare(filter);
        // While it works.
        if (i % 4 === 1) for (let left = 5; left > 0; left--) change();
        await ready;
        if (i % 4 === 2) change();
      }
      found += model.expectSame(filter, model.index.resolve(filter).toArray());
    }
    for (let i = 0; i < 200; i++) change();
    if (round % 3 === 1) model.repair(Array.from({ length: 30 }, () => arrays.below(ITEMS)));
    if (round % 3 === 2) model.reload();
  }
  expect(found).toBeGreaterThan(30_000);
});

test('what is empty has no value: it is missing, null, an empty array, or nulls beside which there is no scalar', () => {
  const arrays = new Arrays();
  const isValue = (value: JsonValue): boolean => typeof value !== 'object';
  const isEmpty = (value: JsonValue | undefined): boolean => {
    if (value === undefined || value === null) return true;
    if (!Array.isArray(value)) return false;
    return value.length === 0 || (value.includes(null) && !value.some(isValue));
  };
  const counts = { empty: 0, filled: 0 };
  for (let i = 0; i < 2_000; i++) {
    const value = arrays.below(8) === 0 ? undefined : arrays.value();
    const item: JsonObject = value === undefined ? {} : { list: value };
    const expected = isEmpty(value);
    counts[expected ? 'empty' : 'filled'] += 1;
    for (const wanted of [true, false])
      expect([value, matches(parseFilter({ list: { $empty: wanted } })!, item)]).toEqual([value, expected === wanted]);
  }
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(300);
});

test('ids and times beside conditions on metadata are exact for items that are in no list', () => {
  const model = new Model();
  // More keys of their own than the lists take.
  for (let slot = 0; slot < 200; slot++) {
    const own = Array.from({ length: 900 }, (_, i) => [`own-${slot}-${i}`, i]);
    model.put(slot, Object.fromEntries([...own, ['n', slot % 3]]), { externalId: `id${slot}`, expiry: slot % 2 });
  }
  expect(model.index.unlistedSlots.size).toBeGreaterThan(10);
  const ids = { $id: Array.from({ length: 200 }, (_, slot) => `id${slot}`) };
  for (const json of [
    { ...ids, $not: { n: 1 } },
    { ...ids, n: 1 },
    { $or: [ids, { n: 1 }] },
    { $not: { $and: [ids, { $not: { n: 2 } }] } },
    { $expires_at: { $exists: true }, $not: { n: 0 } },
  ]) {
    const filter = parseFilter(json)!;
    expect(model.expectSame(filter, model.index.resolve(filter).toArray())).toBeGreaterThan(30);
  }
});

test('an element that passes one condition is found without a look at the metadata', async () => {
  let reads = 0;
  const items = Array.from({ length: 400 }, (_, slot): JsonObject => ({
    list: [{ k: slot }, { k: slot + 1, m: 'x' }],
  }));
  const index = new MemoryFilterIndex({
    metadataOf: (slot) => {
      reads += 1;
      return items[slot];
    },
  });
  for (const [slot, item] of items.entries()) index.put(slot, item);
  const ask = async (json: unknown): Promise<number[]> => {
    const filter = parseFilter(json) as Filter;
    await index.prepare(filter);
    return [...index.resolve(filter).toArray()];
  };
  expect(await ask({ list: { $elem_match: { k: 7 } } })).toEqual([6, 7]);
  reads = 0;
  expect(await ask({ list: { $elem_match: { k: 9 } } })).toEqual([8, 9]);
  expect(reads).toBe(0);
  // Two conditions: of their candidates alone.
  expect(await ask({ list: { $elem_match: { k: 9, m: 'x' } } })).toEqual([8]);
  expect(reads).toBe(2);
});

test('$empty counts as the four conditions that it is made of', () => {
  const beside = (count: number): unknown => [
    { a: { $empty: true } },
    ...Array.from({ length: count }, (_, i) => ({ a: i })),
  ];
  const most = DEFAULT_FILTER_BOUNDS.filterConditionsMax;
  expect(parseFilter({ $or: beside(most - 4) })).not.toBeNull();
  expect(() => parseFilter({ $or: beside(most - 3) })).toThrow(/MAX_FILTER_CONDITIONS/);
});
