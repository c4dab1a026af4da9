import { createHash } from 'node:crypto';
import { facetOf } from '../../coordinator/service/aggregates/facet';
import { percentilesOf } from '../../coordinator/service/aggregates/percentile';
import { ShardQuestions } from '../../coordinator/service/aggregates/shard-questions';
import type { AggregateRequest, Aggregates, FacetRequest } from '../../coordinator/service/aggregates-service';
import { matches } from '../../node/engine/filter/matches';
import { MemoryFilterIndex } from '../../node/engine/filter/memory-filter-index';
import { lookUpPath } from '../../shared/contract/filter/metadata-path';
import { readCounts } from '../../node/engine/filter/read-counts';
import type { Filter, JsonObject, JsonValue, Scalar } from '../../shared/contract/filter/filter';
import { type AggregatePart, compareScalars } from '../../shared/contract/shard/aggregate';
import { newCollection, plainService } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';

/** What is counted, against counting one by one; the number of shards never shows. */

const seed = runSeed('aggregates');
const LONG = 'long '.repeat(40);
const SCALARS: Scalar[] = [
  ...[0, -0, 1, 2, 2.5, -1, 1e308, -1e308, 1.7e308, 5e-324, 2 ** 53, 1e-7],
  ...['', '1', 'a', 'ab', 'é', '😀', '\ud800', 'true', LONG, `${LONG}a`, `${LONG}b`],
  ...['2024-02-29', '2024-03-31T01:30:00+01:00', '0000-01-01', '9999-12-31T23:59:59Z', 'no date'],
  ...[true, false, null],
];
const PATHS = ['a', 'b', 'a.b', 'c.d', 'absent'];

class Draw {
  private readonly random: () => number;

  constructor(round: number) {
    this.random = seededRandom(seed + round);
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  of<Value>(list: readonly Value[]): Value {
    return list[this.below(list.length)];
  }

  value(): JsonValue {
    const kind = this.below(10);
    if (kind === 0) return { b: this.of(SCALARS), d: this.of(SCALARS) };
    if (kind === 1) return [];
    return kind < 4 ? Array.from({ length: 1 + this.below(4) }, () => this.of(SCALARS)) : this.of(SCALARS);
  }

  metadata(): JsonObject {
    const keys = ['a', 'b', 'a.b', 'c'].filter(() => this.below(3) > 0);
    return Object.fromEntries(keys.map((key) => [key, this.value()]));
  }
}

/** The values of an item, by the words of the interface. */
function valuesOf(metadata: JsonObject, path: string): Scalar[] {
  const found = lookUpPath(metadata, path);
  const list = found === undefined ? [] : Array.isArray(found) ? found : [found];
  return [...new Set(list.filter((one): one is Scalar => one === null || typeof one !== 'object'))];
}

const hashOf = (value: Scalar): Buffer =>
  createHash('sha256')
    .update(`${typeof value} ${String(value)}`, 'utf16le')
    .digest()
    .subarray(0, 16);

/** -0 is 0, and a hash is any that tells values apart. */
const plain = (answer: unknown): unknown => JSON.parse(JSON.stringify(answer));

describe('lists of values count as the metadata say', () => {
  const PARTS: ((path: string, draw: Draw) => AggregatePart)[] = [
    (path, draw) => ({ type: 'values', path, order: 'count', limit: 1 + draw.below(30), prefix: null, share: null }),
    (path, draw) => ({ type: 'values', path, order: 'value', limit: 1 + draw.below(30), prefix: null, share: null }),
    (path, draw) => ({
      type: 'values',
      path,
      order: 'count',
      limit: 9,
      prefix: draw.of(['', 'a', '20', 'é', LONG.slice(0, 128)]),
      share: null,
    }),
    (path) => ({ type: 'counts', path, values: SCALARS }),
    (path) => ({ type: 'numbers', path, sum: true }),
    (path) => ({ type: 'spread', path, low: -1, high: 1e308 }),
    (path) => ({ type: 'distinct', path, hashes: false }),
    (path) => ({ type: 'buckets', path, edges: [-1e308, -1, 0, 1, 3, 2 ** 53, 1.1e308], times: false }),
    (path) => ({ type: 'buckets', path, edges: [-1e14, 0, 1709164800000, 1e15], times: true }),
    (path) => ({ type: 'times', path }),
  ];

  test.each([0, 1, 2, 3, 4, 5])('round %i', (round) => {
    const draw = new Draw(round);
    const items = new Map<number, JsonObject>();
    const index = new MemoryFilterIndex({ metadataOf: (slot) => items.get(slot)! });
    for (let i = 0; i < 400; i += 1) {
      const slot = draw.below(round < 3 ? 40 : 90_000);
      const before = items.get(slot);
      if (before !== undefined) index.remove(slot, before);
      items.delete(slot);
      if (draw.below(4) === 0) continue;
      items.set(slot, draw.metadata());
      index.put(slot, items.get(slot)!);
    }
    for (const path of PATHS) {
      for (const make of PARTS) {
        const part = make(path, draw);
        for (const isAll of [true, false]) {
          const slots = [...items.keys()].filter(() => isAll || draw.below(2) === 0);
          const bitmap = new Uint32Array(3_000);
          for (const slot of slots) bitmap[slot >>> 5] |= 1 << (slot & 31);
          const metadata = slots.map((slot) => items.get(slot)!);
          const found = index.counts.answer(part, { bitmap: isAll ? null : bitmap, size: slots.length });
          const wanted = readCounts(part, metadata, hashOf);
          if (found.type === 'spread' && wanted.type === 'spread') {
            // A path that means several fields may have a number in each.
            const pairs = ({ values, counts }: typeof found): [number, number][] => {
              const sums = new Map<number, number>();
              values!.forEach((value, i) => sums.set(value, (sums.get(value) ?? 0) + counts[i]));
              return [...sums].sort(([x], [y]) => x - y);
            };
            expect(plain(pairs(found))).toEqual(plain(pairs(wanted)));
          } else expect(plain(found)).toEqual(plain(wanted));
        }
      }
    }
  });

  test.each([
    { kind: 'one number each', lists: false },
    { kind: 'and some have several', lists: true },
  ])('of many numbers: $kind', ({ lists }) => {
    const draw = new Draw(250);
    const number = (): number => (draw.below(20_000_000) - 1e7) / 1_000;
    const value = (): JsonValue => {
      const kind = draw.below(20);
      if (kind === 0) return draw.of(SCALARS);
      return lists && kind === 1 ? [number(), number(), 3] : number();
    };
    const items = Array.from({ length: 12_000 }, (): JsonObject => {
      const inner = draw.below(3);
      return inner === 0 ? { a: { b: value() } } : inner === 1 ? { 'a.b': value() } : { a: value(), 'a.b': value() };
    });
    const index = new MemoryFilterIndex({ metadataOf: (slot) => items[slot] });
    items.forEach((one, slot) => index.put(slot, one));
    const edges = [-9e3, -8_999.5, -1, 0, 1, 2, 3, 4, 2_500, 2_500.001, 9e3];
    for (const path of ['a', 'a.b']) {
      for (const [part, isAll] of [edges, edges.slice(2, 4), edges.slice(0, 3)].flatMap((some) =>
        [true, false].map(
          (all) => [{ type: 'buckets', path, edges: some, times: false } as AggregatePart, all] as const,
        ),
      )) {
        const slots = items.map((_, slot) => slot).filter(() => isAll || draw.below(2) === 0);
        const bitmap = new Uint32Array(400);
        for (const slot of slots) bitmap[slot >>> 5] |= 1 << (slot & 31);
        const counted = { bitmap: isAll ? null : bitmap, size: slots.length };
        const metadata = slots.map((slot) => items[slot]);
        for (const one of [
          part,
          { type: 'numbers', path, sum: true },
          { type: 'distinct', path, hashes: false },
        ] as const)
          expect(plain(index.counts.answer(one, counted))).toEqual(plain(readCounts(one, metadata, hashOf)));
      }
    }
  });

  test('very many distinct values are estimated as each by its hash', () => {
    const items = Array.from({ length: 110_000 }, (_, i): JsonObject => ({ a: i / 7, b: i % 2 === 0 ? `v${i}` : i }));
    const index = new MemoryFilterIndex({ metadataOf: (slot) => items[slot] });
    items.forEach((one, slot) => index.put(slot, one));
    for (const path of ['a', 'b']) {
      const part = { type: 'distinct', path, hashes: false } as const;
      const found = index.counts.answer(part, { bitmap: null, size: items.length });
      expect(found).toEqual(readCounts(part, items, (value) => index.counts.hashOf(value)));
      expect(found).toMatchObject({ count: 110_000, registers: expect.any(String) });
    }
  });

  test('shares by hashes are all values, each once', () => {
    const items = Array.from({ length: 500 }, (_, i): JsonObject => ({ a: i % 3 === 0 ? i : `v${i}` }));
    const index = new MemoryFilterIndex({ metadataOf: (slot) => items[slot] });
    items.forEach((one, slot) => index.put(slot, one));
    const shares = Array.from({ length: 7 }, (_, i) => {
      const part = {
        type: 'values',
        path: 'a',
        order: 'count',
        limit: 500,
        prefix: null,
        share: { of: 7, index: i },
      } as const;
      const found = index.counts.answer(part, { bitmap: null, size: 500 });
      expect(plain(found)).toEqual(plain(readCounts(part, items, (value) => index.counts.hashOf(value))));
      return found.type === 'values' ? found.values : [];
    });
    expect(shares.every(({ length }) => length > 20)).toBe(true);
    expect(new Set(shares.flat()).size).toBe(500);
    expect(shares.flat()).toHaveLength(500);
  });
});

describe('facets of more values than a shard sends', () => {
  /** Shards that send `most` values at a time. */
  function asking(shards: JsonObject[][], most: number): { asked: ShardQuestions; rounds: () => number } {
    let rounds = 0;
    const asked = new ShardQuestions(shards.length, async (questions) => {
      rounds += 1;
      return shards.map((items) =>
        questions.map(({ parts }) =>
          parts.map((part) => [
            readCounts(part.type === 'values' ? { ...part, limit: Math.min(part.limit, most) } : part, items, hashOf),
          ]),
        ),
      );
    });
    return { asked, rounds: () => rounds };
  }

  test.each([0, 1, 2, 3, 4, 5, 6, 7])('are exact, round %i', async (round) => {
    const draw = new Draw(100 + round);
    const distinct = 3 + draw.below(60);
    // Even rounds have some frequent values, odd ones none: then what no shard has sent may be among the first.
    const item = (): JsonObject => ({
      a: round % 2 === 0 ? Math.floor(draw.below(distinct) ** 2 / distinct) : draw.below(distinct),
    });
    const shards = Array.from({ length: 2 + draw.below(4) }, () => Array.from({ length: draw.below(200) }, item));
    for (const limit of [1, 5, 100]) {
      const request: FacetRequest = { field: 'a', limit, order: 'count', prefix: null, ownFilter: true };
      const { asked } = asking(shards, 4 + draw.below(20));
      const wanted = facetBy(shards.flat(), request);
      expect(await facetOf(asked, null, request)).toEqual(wanted);
    }
  });

  test('are asked for once, if all are sent', async () => {
    const shards = [[{ a: 1 }, { a: 2 }], [{ a: 2 }]];
    const { asked, rounds } = asking(shards, 100);
    const request: FacetRequest = { field: 'a', limit: 1, order: 'count', prefix: null, ownFilter: true };
    expect(await facetOf(asked, null, request)).toEqual({
      field: 'a',
      values: [{ value: 2, count: 2 }],
      more: true,
      missing: 0,
    });
    expect(rounds()).toBe(1);
  });

  test('percentiles of very many numbers are one of them', async () => {
    const draw = new Draw(200);
    const numbers = Array.from(
      { length: 60_000 },
      (_, i) => (i % 7 === 0 ? -1 : 1) * 1.001 ** draw.below(30_000) * (1 + i / 1e6),
    );
    const { asked, rounds } = asking(
      [numbers.slice(0, 25_000), numbers.slice(25_000)].map((list) => list.map((a) => ({ a }))),
      9,
    );
    const sorted = Float64Array.from(numbers).sort();
    const range = { count: numbers.length, min: sorted[0], max: sorted.at(-1)! };
    const percents = [50, 99];
    expect(await percentilesOf(asked, null, 'a', percents, range)).toEqual(
      percents.map((percent) => sorted[Math.ceil((percent * numbers.length) / 100) - 1]),
    );
    expect(rounds()).toBeLessThan(10);
  });
});

function facetBy(items: JsonObject[], { field, limit, order, prefix }: FacetRequest) {
  const counts = new Map<Scalar, number>();
  for (const metadata of items)
    for (const value of valuesOf(metadata, field))
      if (prefix === null || (typeof value === 'string' && value.startsWith(prefix)))
        counts.set(value, (counts.get(value) ?? 0) + 1);
  const sorted = [...counts].sort(([a, m], [b, n]) => (order === 'count' && m !== n ? n - m : compareScalars(a, b)));
  return {
    field,
    values: sorted.slice(0, limit).map(([value, count]) => ({ value, count })),
    more: sorted.length > limit,
    missing: items.filter((one) => lookUpPath(one, field) === undefined).length,
  };
}

function statsBy(items: JsonObject[], field: string) {
  const values = items.flatMap((one) => valuesOf(one, field)).filter((value) => value !== null);
  const numbers = values.filter((value) => typeof value === 'number').sort((a, b) => a - b);
  const place = (percent: number) => numbers[Math.ceil((percent * numbers.length) / 100) - 1] ?? null;
  return {
    field,
    notNumbers: values.length - numbers.length,
    distinctError: null,
    count: values.length,
    distinct: new Set(values).size,
    min: numbers[0] ?? null,
    max: numbers.at(-1) ?? null,
    p50: place(50),
    p99: place(99),
  };
}

test.each([0, 1, 2, 3])('aggregates of 1, 2 and 5 shards are those of a plain count (round %i)', async (round) => {
  const draw = new Draw(300 + round);
  const items = Array.from({ length: 120 }, (_, i) => ({ id: `i${i}`, metadata: draw.metadata() }));
  const filter: Filter | null = round === 0 ? null : { type: 'exists', path: draw.of(['a', 'b', 'c']) };
  const kept = items.filter(({ metadata }) => filter === null || matches(filter, metadata)).map((one) => one.metadata);
  const facets: FacetRequest[] = PATHS.map((field, i) => ({
    field,
    limit: 1 + draw.below(30),
    order: i % 2 === 0 ? 'count' : 'value',
    prefix: i === 1 ? 'a' : null,
    ownFilter: true,
  }));
  const numeric = PATHS.filter((path) =>
    kept.some((one) => valuesOf(one, path).some((value) => typeof value === 'number')),
  );
  const ops = ['count', 'distinct', 'min', 'max', 'p50', 'p99', 'sum', 'avg'] as const;
  const wanted: Aggregates = {
    facets,
    stats: numeric.map((field) => ({ field, ops: [...ops] })),
    ranges: [
      { field: 'a', buckets: { type: 'edges', edges: [-5, 0, 1, 2.5, 1e9] } },
      { field: 'a', buckets: { type: 'calendar', unit: 'year', timeZone: 'UTC' } },
    ],
    by: {
      field: 'b',
      limit: 4,
      facets: [facets[0]],
      stats: [],
      ranges: [],
      by: { field: 'a', limit: 2, facets: [facets[3]], stats: [], ranges: [], by: null },
    },
  };
  const views = [];
  for (const shards of [1, 2, 5]) {
    const { service } = await plainService();
    await service.collections.create(newCollection('c', { dim: 2, metric: 'cosine', shards }));
    await service.vectors.upsert(
      'c',
      items.map(({ id, metadata }) => ({
        externalId: id,
        source: { vector: Float32Array.of(1, 0) },
        metadata: JSON.stringify(metadata),
        text: undefined,
      })),
    );
    const request: AggregateRequest = { filter, over: null, wanted };
    views.push(await service.aggregates.aggregate('c', request));
  }
  for (const view of views) expect(plain(view)).toEqual(plain(views[0]));
  const [view] = views;
  const stored = kept.map((one) => JSON.parse(JSON.stringify(one)) as JsonObject);
  expect(plain(view.facets)).toEqual(plain(facets.map((facet) => facetBy(stored, facet))));
  for (const [i, field] of numeric.entries()) {
    const { sum: _sum, avg: _avg, ...others } = view.stats[i];
    expect(plain(others)).toEqual(plain(statsBy(stored, field)));
    expect(Number.isFinite(view.stats[i].avg)).toBe(true);
  }
  const [edges, years] = view.ranges;
  expect(edges.buckets.map(({ from, to, count }) => [from, to, count])).toEqual(
    [
      [-5, 0],
      [0, 1],
      [1, 2.5],
      [2.5, 1e9],
    ].map(([from, to]) => [
      from,
      to,
      stored.filter((one) =>
        valuesOf(one, 'a').some((value) => typeof value === 'number' && from <= value && value < to),
      ).length,
    ]),
  );
  expect(years.buckets.every(({ count }) => count >= 0)).toBe(true);
  const groups = facetBy(stored, { field: 'b', limit: 4, order: 'count', prefix: null, ownFilter: true });
  expect(plain(view.by!.groups.map(({ value, count }) => ({ value, count })))).toEqual(plain(groups.values));
  for (const { value, facets: inner, by } of view.by!.groups) {
    const own = stored.filter((one) => valuesOf(one, 'b').includes(value));
    expect(plain(inner[0])).toEqual(plain(facetBy(own, facets[0])));
    for (const group of by!.groups) {
      const both = own.filter((one) => valuesOf(one, 'a').includes(group.value));
      expect(group.count).toBe(both.length);
      expect(plain(group.facets[0])).toEqual(plain(facetBy(both, facets[3])));
    }
  }
});
