import { matches } from '../../node/engine/filter/matches';
import { MemoryFilterIndex } from '../../node/engine/filter/memory-filter-index';
import { ChunkedSlotSet } from '../../node/engine/slots/chunked-slot-set';
import type { Filter, JsonObject, JsonValue } from '../../shared/contract/filter/filter';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { runSeed } from '../support/values/random';

/** The filter index at sizes where its sorted runs, columns and bitmaps come into play, against the plain predicate. */

const seed = runSeed('filter-index');

class Shard {
  readonly metadata = new Map<number, JsonObject>();
  reads = 0;
  readonly options = {
    metadataOf: (slot: number): JsonObject => {
      this.reads++;
      return this.metadata.get(slot) as JsonObject;
    },
  };
  index = new MemoryFilterIndex(this.options);
  private state = seed;

  /** A random whole number below `limit` (Numerical Recipes' linear congruence; the high bits). */
  random(limit: number): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * limit);
  }

  put(slot: number, metadata: JsonObject): void {
    this.remove(slot);
    this.metadata.set(slot, metadata);
    this.index.put(slot, metadata);
  }

  remove(slot: number): void {
    const before = this.metadata.get(slot);
    if (before === undefined) return;
    this.index.remove(slot, before);
    this.metadata.delete(slot);
  }

  reload(): void {
    this.index = MemoryFilterIndex.load(Buffer.concat([...this.index.save()]), this.options);
  }

  /** Compares the index with the predicate; answers how many slots match. */
  check(json: unknown): number {
    const filter = parseFilter(json) as Filter;
    const matching: number[] = [];
    for (const [slot, item] of this.metadata) if (matches(filter, item)) matching.push(slot);
    const expected = Uint32Array.from(matching).sort();
    const found = Uint32Array.from(this.index.resolve(filter).toArray());
    // Thousands of numbers, some thousand times: as text only where they differ.
    if (Buffer.compare(bytesOf(found), bytesOf(expected)) !== 0) expect(found.join()).toBe(expected.join());
    return found.length;
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const ITEMS = 16_000;

function item(shard: Shard, serial: number): JsonObject {
  const price: JsonValue = shard.random(10) === 0 ? [shard.random(1e6) / 8, -shard.random(1e6)] : shard.random(1e6) / 8;
  const date = new Date(1.6e12 + shard.random(1e9) * 100).toISOString();
  return {
    id: `item-${serial}`,
    price,
    date,
    kind: `k${shard.random(7)}`,
    stock: { count: shard.random(50), sold: shard.random(2) === 0 },
  };
}

const FILTERS = [
  { price: { $gt: 60_000 } },
  { price: { $gte: 100, $lt: 200.5 } },
  { price: { $lt: 0 } },
  { price: { $lte: -999_000 } },
  { price: { $gt: 0, $lt: 0 } },
  { date: { $gte: '2020-12', $lt: '2021-03-01' } },
  { date: { $lt: '2020-09-15' } },
  { date: { $gt: '2' } },
  { date: { $lte: '' } },
  { id: { $gte: 'item-5', $lt: 'item-6' } },
  { kind: 'k3' },
  { kind: { $ne: 'k3' } },
  { kind: { $in: ['k1', 'k5', 'none'] }, 'stock.sold': true },
  { kind: 'k2', price: { $lt: 5_000 }, 'stock.count': { $gte: 48 } },
  { id: 'item-77', price: { $gt: -1e9 } },
  { $or: [{ kind: 'k0' }, { price: { $gt: 124_000 } }, { id: 'item-9' }] },
  { $not: { $or: [{ kind: { $in: ['k0', 'k1', 'k2', 'k3', 'k4'] } }, { price: { $gt: 1_000 } }] } },
  { 'stock.count': { $nin: [1, 2, 3] }, date: { $gt: '2021' } },
  { stock: { count: 7, sold: true } },
];

describe('filter index at size', () => {
  test('is exact for many distinct numbers and strings, while items change', () => {
    const shard = new Shard();
    for (let slot = 0; slot < ITEMS; slot++) shard.put(slot, item(shard, slot));
    let found = FILTERS.reduce((sum, filter) => sum + shard.check(filter), 0);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 4_000; i++) shard.remove(shard.random(ITEMS));
      for (let i = 0; i < 3_000; i++) shard.put(shard.random(ITEMS + 2_000), item(shard, i + round * 100_000));
      found += FILTERS.reduce((sum, filter) => sum + shard.check(filter), 0);
      if (round === 1) shard.reload();
    }
    expect(found).toBeGreaterThan(50_000);
    expect(shard.reads).toBe(0);
  });

  test('is exact for ranges over columns of numbers, with bounds that are values, several of one field, and of two', () => {
    const shard = new Shard();
    const [items, huge] = [9_001, Number.MAX_VALUE];
    const values: number[] = [-huge, huge, -0, Number.MIN_VALUE, 1e-300];
    for (let slot = 0; slot < items; slot++) {
      const at = slot < values.length ? values[slot] : (shard.random(1e9) - 5e8) / 64;
      // One in ten has no number there.
      const place: JsonObject = slot >= values.length && shard.random(10) === 0 ? {} : { at };
      shard.put(slot, { ...place, lot: shard.random(1e9) / 1e9, kind: `k${shard.random(3)}` });
    }
    const atOf = (slot: number): number => (shard.metadata.get(slot)?.at as number | undefined) ?? 0;
    let found = 0;
    for (let round = 0; round < 40; round++) {
      const [a, b] = [atOf(shard.random(items)), atOf(shard.random(items))].sort((x, y) => x - y);
      const [lower, upper] = [['$gt', '$gte'][round % 2], ['$lt', '$lte'][(round >> 1) % 2]];
      const between = { [lower]: a, [upper]: b };
      found += shard.check({ at: between });
      found += shard.check({ at: { [upper]: a } }) + shard.check({ at: { [lower]: b } });
      found += shard.check({ $and: [{ at: between }, { at: { $lte: b, $gt: a } }, { kind: 'k1' }] });
      found += shard.check({ at: between, lot: { $gte: 0.25, $lt: 0.5 } });
      found += shard.check({ at: between, lot: { $lt: 0.003 }, kind: { $ne: 'k0' } });
      found += shard.check({ $not: { at: between }, lot: { $gte: 0.9 } });
      expect(shard.check({ at: { $gt: b, $lt: a } }) + shard.check({ at: { $gt: a, $lt: a } })).toBe(0);
    }
    for (const bound of values)
      for (const operator of ['$gt', '$gte', '$lt', '$lte']) found += shard.check({ at: { [operator]: bound } });
    expect(found).toBeGreaterThan(50_000);
  });

  test.each([
    ['at random', (shard: Shard) => (shard.random(1e9) - 5e8) / 64],
    ['few of them, so that many slots have one', (shard: Shard) => shard.random(5_000) / 8],
    ['which rise', (_: Shard, serial: number) => serial / 4],
    ['which fall', (_: Shard, serial: number) => -serial / 4],
  ])('is exact for ranges over numbers in order, %s, while slots come and go', async (_, numberOf) => {
    const shard = new Shard();
    const items = 15_000;
    let serial = 0;
    const next = (): JsonObject => {
      const at = numberOf(shard, serial++);
      return { ...(shard.random(20) === 0 ? {} : { at }), lot: shard.random(1e9) / 1e9, kind: `k${shard.random(3)}` };
    };
    for (let slot = 0; slot < items; slot++) shard.put(slot, next());
    let found = 0;
    const checkAll = (): void => {
      const known = [...shard.metadata.values()].flatMap(({ at }) => (typeof at === 'number' ? [at] : []));
      for (let i = 0; i < 8; i++) {
        const [a, b] = [known[shard.random(known.length)], known[shard.random(known.length)]].sort((x, y) => x - y);
        found +=
          shard.check({ at: { $gte: a, $lt: b } }) + shard.check({ at: { $gt: a } }) + shard.check({ at: { $lte: a } });
        found +=
          shard.check({ at: { $gte: a, $lte: a } }) +
          shard.check({ at: { $gte: a, $lte: a + 3 }, kind: { $ne: 'k1' } });
        found +=
          shard.check({ at: { $gte: a, $lt: b }, lot: { $lt: 0.02 } }) +
          shard.check({ at: { $gte: a, $lt: b }, lot: { $gt: 0.3 }, kind: 'k2' });
        found += shard.check({ $or: [{ at: { $lte: a, $gte: a } }, { lot: { $lt: 0.01 } }] });
      }
      found +=
        shard.check({ at: { $gt: 1e12 } }) + shard.check({ at: { $lt: -1e12 } }) + shard.check({ at: { $gte: -1e12 } });
    };
    const changeSome = (): void => {
      for (let i = 0; i < 2_500; i++) shard.remove(shard.random(items));
      for (let i = 0; i < 2_000; i++) shard.put(shard.random(items + 1_500), next());
    };
    checkAll();
    // While they are put in order, and afterwards.
    for (let round = 0; round < 5; round++) {
      changeSome();
      if (round > 0) await shard.index.ordered;
      checkAll();
      if (round === 2) shard.reload();
    }
    // Almost all go, and others come.
    for (let slot = 0; slot < items; slot++) if (slot % 100 !== 0) shard.remove(slot);
    checkAll();
    for (let slot = 0; slot < items; slot++) shard.put(slot, next());
    await shard.index.ordered;
    checkAll();
    expect(found).toBeGreaterThan(100_000);
  });

  test('a range over numbers in order takes four to eight bytes more for each of them, and nothing once a slot has several', async () => {
    const shard = new Shard();
    const items = 20_000;
    for (let slot = 0; slot < items; slot++) shard.put(slot, { at: shard.random(1e9) });
    shard.check({ at: { $gt: 0 } });
    const before = shard.index.memoryBytes;
    await shard.index.ordered;
    const perNumber = (shard.index.memoryBytes - before) / items;
    expect(perNumber).toBeGreaterThanOrEqual(4);
    expect(perNumber).toBeLessThan(8);
    shard.put(items, { at: [1, 2] });
    shard.check({ at: { $gt: 0 } });
    await shard.index.ordered;
    expect(shard.index.memoryBytes).toBeLessThan(before);
    shard.check({ at: { $gte: 1, $lte: 2 } });
  });

  test('is exact while most values come and go, so that orders and columns are given up and made anew', () => {
    const shard = new Shard();
    for (let round = 0; round < 3; round++) {
      for (let slot = 0; slot < 12_000; slot++) shard.put(slot, { n: round * 1e6 + slot, s: `r${round}-${slot}` });
      shard.check({ n: { $gt: 1e6 + 500 } });
      shard.check({ s: { $gte: 'r1-5' } });
      for (let slot = 0; slot < 11_500; slot++) shard.remove(slot);
      shard.check({ n: { $lt: 2e6 } });
      shard.check({ s: { $lt: 'r2-11800' } });
      shard.check({ s: { $exists: true }, n: { $gte: 0 } });
    }
  });

  test('a filter that takes long is worked out beside other work, and is exact whatever changes meanwhile', async () => {
    const shard = new Shard();
    const items = 1_500;
    for (let slot = 0; slot < items; slot++) shard.put(slot, item(shard, slot));
    const ranges = Array.from({ length: 80 }, (_, i) => ({ price: { $gte: i * 1_500, $lt: i * 1_500 + 300 } }));
    const listed = Array.from({ length: 2_000 }, (_, i) => `item-${i * 2}`);
    for (const json of [
      { $or: ranges },
      { $not: { $or: ranges } },
      { $and: [{ kind: { $ne: 'k1' } }, { id: { $nin: listed } }, { $or: ranges }] },
    ]) {
      const prepared = shard.index.prepare(parseFilter(json) as Filter);
      expect(prepared).not.toBeNull();
      for (let i = 0; i < 50; i++) shard.remove(shard.random(items));
      for (let i = 0; i < 50; i++) shard.put(shard.random(items + 500), item(shard, 1e6 + i));
      await prepared;
      expect(shard.check(json)).toBeGreaterThan(0);
      // Asked again after more changes, with nothing prepared again.
      for (let i = 0; i < 50; i++) shard.put(shard.random(items), item(shard, 2e6 + i));
      shard.check(json);
    }
  });

  test('a filter of a few conditions is answered at once', () => {
    const shard = new Shard();
    for (let slot = 0; slot < ITEMS; slot++) shard.put(slot, item(shard, slot));
    for (const json of FILTERS) expect(shard.index.prepare(parseFilter(json) as Filter)).toBeNull();
  });

  test('a set that was handed out stays as it was', () => {
    const shard = new Shard();
    for (let slot = 0; slot < 10_000; slot++) shard.put(slot, { even: slot % 2 === 0 });
    const filter = parseFilter({ even: true }) as Filter;
    const before = shard.index.resolve(filter);
    for (let slot = 0; slot < 5_000; slot++) shard.remove(slot);
    expect(before.size).toBe(5_000);
    expect(before.has(0)).toBe(true);
    expect(before.toArray()).toHaveLength(5_000);
    expect(shard.index.resolve(filter).size).toBe(2_500);
    expect(shard.index.resolve(filter)).toBe(shard.index.resolve(filter));
  });

  test('a save during changes holds every slot that was left alone', () => {
    const shard = new Shard();
    for (let slot = 0; slot < 30_000; slot++)
      shard.put(slot, { ...item(shard, slot), filler: `${slot}`.padStart(40, 'x') });
    const chunks: Buffer[] = [];
    const touched = new Set<number>();
    for (const chunk of shard.index.save()) {
      chunks.push(Buffer.from(chunk));
      for (let i = 0; i < 300; i++) {
        const slot = shard.random(31_000);
        touched.add(slot);
        if (i % 3 === 0) shard.remove(slot);
        else shard.put(slot, { ...item(shard, 1e6 + i), [`new${i}`]: { [`deep${i % 10}`]: i } });
      }
    }
    expect(chunks.length).toBeGreaterThan(4);
    shard.index = MemoryFilterIndex.load(Buffer.concat(chunks), shard.options);
    shard.index.removeEverywhere(ChunkedSlotSet.fromArray([...touched]));
    for (const slot of touched)
      if (shard.metadata.has(slot)) shard.index.put(slot, shard.metadata.get(slot) as JsonObject);
    for (const filter of [...FILTERS, { new7: { $exists: true } }, { 'new8.deep8': 8 }]) shard.check(filter);
  });

  test('is empty when everything is removed, whatever was in it', () => {
    const shard = new Shard();
    for (let slot = 0; slot < 5_000; slot++) shard.put(slot, item(shard, slot));
    for (const filter of FILTERS) shard.check(filter);
    const full = shard.index.memoryBytes;
    shard.index.removeEverywhere(ChunkedSlotSet.fromArray([...shard.metadata.keys()]));
    shard.metadata.clear();
    for (const filter of FILTERS) expect(shard.check(filter)).toBe(0);
    expect(shard.index.memoryBytes).toBeLessThan(full / 50);
  });
});

describe('filter index, odd metadata', () => {
  test('a dotted key means in each item what the predicate says, however many keys could be meant', () => {
    const shard = new Shard();
    const values = [undefined, 1, 2, null];
    let slot = 0;
    for (const whole of values)
      for (const tail of values)
        for (const inner of values)
          for (const head of values) {
            const members = Object.entries({
              'a.b.c': whole,
              a: {
                ...(tail === undefined ? {} : { 'b.c': tail }),
                ...(inner === undefined ? {} : { b: { c: inner } }),
              },
              'a.b': head === undefined ? undefined : { c: head },
            });
            shard.put(slot++, Object.fromEntries(members.filter(([, member]) => member !== undefined)) as JsonObject);
          }
    for (const path of ['a.b.c', 'a.b', 'b.c']) {
      for (const value of [
        1,
        null,
        { c: 1 },
        { $gte: 2 },
        { $lt: 2 },
        { $in: [2, null] },
        { $ne: 1 },
        { $exists: true },
        { $nin: [null] },
      ]) {
        shard.check({ [path]: value });
        shard.check({ [path]: value, 'a.b': { $exists: false } });
      }
    }
    expect(shard.check({ 'a.b.c': 1 })).toBeGreaterThan(64);
  });

  test('long strings are told apart, compared by ranges, and cost little memory', () => {
    const shard = new Shard();
    const long = 'x'.repeat(60_000);
    for (let slot = 0; slot < 500; slot++) shard.put(slot, { text: long + slot, short: `x${slot}` });
    expect(shard.check({ text: `${long}77` })).toBe(1);
    expect(shard.check({ text: long })).toBe(0);
    expect(shard.check({ text: { $gt: 'x'.repeat(128) } })).toBe(500);
    expect(shard.check({ text: { $lt: `${'x'.repeat(127)}y` } })).toBe(500);
    expect(shard.check({ text: { $in: [`${long}1`, `${long}2`, 'x'] } })).toBe(2);
    expect(shard.index.memoryBytes).toBeLessThan(1e6);
  });

  test('metadata deeper than any filter reaches is taken without harm', () => {
    const shard = new Shard();
    const objects = JSON.parse(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`) as JsonObject;
    const arrays = JSON.parse(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)},"b":1}`) as JsonObject;
    shard.put(1, objects);
    shard.put(2, arrays);
    expect(shard.check({ b: 1 })).toBe(1);
    expect(shard.check({ [Array(32).fill('a').join('.')]: { $exists: true } })).toBe(1);
    expect(shard.check({ [Array(33).fill('a').join('.')]: { $exists: true } })).toBe(0);
    shard.reload();
    shard.remove(1);
    shard.remove(2);
    expect(shard.check({ a: { $exists: true } })).toBe(0);
  });

  test('items with hundreds of keys of their own are bounded in memory, and found all the same', () => {
    const shard = new Shard();
    const own = (slot: number): JsonObject =>
      Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`own-${slot}-${i}`, i]));
    for (let slot = 0; slot < 900; slot++) shard.put(slot, { ...own(slot), common: slot % 3 });
    for (let slot = 900; slot < 1_000; slot++) shard.put(slot, { common: slot % 3 });
    expect(shard.check({ common: 1 })).toBe(333);
    expect(shard.reads).toBeGreaterThan(0);
    expect(shard.check({ 'own-3-7': 7 })).toBe(1);
    expect(shard.check({ 'own-800-7': { $gte: 7 } })).toBe(1);
    expect(shard.check({ $not: { common: 1 } })).toBe(667);
    for (let slot = 500; slot < 900; slot += 2) shard.remove(slot);
    shard.reload();
    expect(shard.check({ common: { $ne: 1 } })).toBeGreaterThan(500);
    expect(shard.index.memoryBytes).toBeLessThan(3e8);
  });

  test('refuses bytes that it did not write', () => {
    const shard = new Shard();
    for (let slot = 0; slot < 3_000; slot++) shard.put(slot, item(shard, slot));
    const bytes = Buffer.concat([...shard.index.save()]);
    const load = (broken: Buffer) => () => MemoryFilterIndex.load(broken, shard.options);
    expect(load(bytes)).not.toThrow();
    expect(load(Buffer.alloc(0))).toThrow();
    expect(load(Buffer.from('not an index'))).toThrow();
    expect(load(Buffer.concat([bytes, Buffer.of(0)]))).toThrow();
    for (let cut = 1; cut < 40; cut++) expect(load(bytes.subarray(0, Math.floor((bytes.length * cut) / 40)))).toThrow();
    expect(load(Buffer.alloc(bytes.length, 0xff))).toThrow();
  });
});
