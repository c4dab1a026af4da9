import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filterProgram } from '../../../../../node/engine/filter/filter-program';
import { MemoryFilterIndex } from '../../../../../node/engine/filter/memory-filter-index';
import { type AddonVectorIndex, nativeBinding } from '../../../../../node/engine/vector/native-binding';
import { SLOT_SEARCH_PLANS, type SlotScores } from '../../../../../node/engine/slots/slot-scores';
import type { Filter, JsonObject } from '../../../../../shared/contract/filter/filter';
import { parseFilter } from '../../../../../shared/contract/filter/parse-filter';
import type { Metric } from '../../../../../shared/contract/vector/metric';
import type { Quantization } from '../../../../../shared/contract/vector/quantization';
import { seededRandom } from '../../../../support/values/random';
import { clusteredVectors } from '../../../../support/values/vector-clusters';

/**
 * Filtered searches that look through cells (node/engine/native/cells/cells.h), by the addon: an index makes cells of
 * far more rows.
 */

const DIM = 24;
const ROWS = 6_400;
const QUERIES = 40;
const K = 10;
const CALIBRATED = 0;
const EXACT = 2;
const BITMAP = 2;

let folder: string;
let alive: NodeJS.Timeout;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vector-cells-'));
  // The steps do not keep the process alive.
  alive = setInterval(() => {}, 1_000);
});

afterEach(() => {
  clearInterval(alive);
  rmSync(folder, { recursive: true, force: true });
});

function open(metric: Metric, quantization: Quantization = 'int8'): AddonVectorIndex {
  return new (nativeBinding().VectorIndex)({ metric, dim: DIM, quantization, originals: join(folder, 'originals') });
}

/** An index of clustered vectors with cells, and queries that it does not hold. */
async function made(
  metric: Metric,
  quantization?: Quantization,
): Promise<{ index: AddonVectorIndex; vectors: Float32Array; queries: Float32Array[] }> {
  const all = clusteredVectors(seededRandom(7), {
    rows: ROWS + QUERIES,
    dim: DIM,
    centres: 150,
    lengths: metric === 'ip' ? 'varied' : 'unit',
  });
  const index = open(metric, quantization);
  const vectors = all.slice(0, ROWS * DIM);
  index.put(
    Uint32Array.from({ length: ROWS }, (_, row) => row),
    vectors,
  );
  await index.extend(ROWS, 1, 1);
  // Not calibrated: a walk then is expected to take long, and cells have a measure of their own.
  await index.makeCells(0.99, 2);
  const queries = Array.from({ length: QUERIES }, (_, query) =>
    all.slice((ROWS + query) * DIM, (ROWS + query + 1) * DIM),
  );
  return { index, vectors, queries };
}

function bitmapOf(allows: (slot: number) => boolean): { words: Uint32Array; count: number } {
  const words = new Uint32Array(ROWS / 32);
  let count = 0;
  for (let slot = 0; slot < ROWS; slot++) {
    if (!allows(slot)) continue;
    words[slot >>> 5] |= 1 << (slot & 31);
    count += 1;
  }
  return { words, count };
}

/** Mean recall of filtered searches, the plans that they took, and the rows that they scored on average. */
async function ask(
  index: AddonVectorIndex,
  queries: Float32Array[],
  filterOf: (query: Float32Array) => { words: Uint32Array; count: number },
): Promise<{ recall: number; plans: Set<string>; scored: number }> {
  let right = 0;
  let scored = 0;
  const plans = new Set<string>();
  for (const query of queries) {
    const { words, count } = filterOf(query);
    const exact = await index.search(query, K, EXACT, 0, BITMAP, words, count);
    const found = await index.search(query, K, CALIBRATED, 0, BITMAP, words, count, true);
    expect(found.slots.length).toBeGreaterThanOrEqual(Math.min(K, count));
    for (const slot of found.slots) expect((words[slot >>> 5] >>> (slot & 31)) & 1).toBe(1);
    right += found.scores.slice(0, K).filter((score) => score >= exact.scores[K - 1]).length;
    plans.add(SLOT_SEARCH_PLANS[found.plan!]);
    scored += found.scored!;
  }
  return { recall: right / (queries.length * K), plans, scored: scored / queries.length };
}

describe.each([
  ['cosine', 'int8'],
  ['l2', 'int8'],
  ['ip', 'int8'],
  ['cosine', 'int4'],
  ['l2', 'binary'],
] as const)('%s, %s', (metric, quantization) => {
  test('a filter that has nothing to do with the vectors is answered from a few cells', async () => {
    const { index, queries } = await made(metric, quantization);
    try {
      const random = seededRandom(3);
      const filter = bitmapOf(() => random() < 0.25);
      const { recall, plans, scored } = await ask(index, queries, () => filter);
      // Rough codes are scanned so fast that a few searches do so instead.
      if (quantization === 'int8') expect([...plans]).toEqual(['cells']);
      expect(plans).toContain('cells');
      expect(recall).toBeGreaterThanOrEqual(0.97);
      expect(scored).toBeLessThan(filter.count * 0.75);
    } finally {
      await index.close();
    }
  });
});

test('a filter that has to do with the vectors loses nothing either, whichever side of it the query is on', async () => {
  const { index, vectors, queries } = await made('cosine');
  try {
    const sideOf = (values: Float32Array, from: number): boolean =>
      values[from] + values[from + 1] - values[from + 2] > 0;
    const [above, below] = [true, false].map((side) => bitmapOf((slot) => sideOf(vectors, slot * DIM) === side));
    expect((await ask(index, queries, (query) => (sideOf(query, 0) ? above : below))).recall).toBeGreaterThanOrEqual(
      0.98,
    );
    expect((await ask(index, queries, (query) => (sideOf(query, 0) ? below : above))).recall).toBeGreaterThanOrEqual(
      0.98,
    );
    // None of the nearest cells has a row that is allowed: after some of them, all that is allowed is scanned.
    const far = (query: Float32Array): { words: Uint32Array; count: number } => {
      const products = Array.from({ length: ROWS }, (_, slot) =>
        query.reduce((sum, value, j) => sum + value * vectors[slot * DIM + j], 0),
      );
      const limit = products.toSorted((a, b) => a - b)[ROWS / 4];
      return bitmapOf((slot) => products[slot] <= limit);
    };
    const { recall, plans } = await ask(index, queries.slice(0, 10), far);
    expect(recall).toBeGreaterThanOrEqual(0.97);
    expect(plans).toContain('cells_then_scan');
  } finally {
    await index.close();
  }
});

test('a filter whose rows are away from the query is answered from cells too: those near it hold none, so the search goes on', async () => {
  const { index, vectors, queries } = await made('cosine');
  try {
    const random = seededRandom(5);
    const along = Float64Array.from({ length: DIM }, () => random() - 0.5);
    const placeOf = (values: ArrayLike<number>, from: number): number =>
      along.reduce((sum, value, i) => sum + value * values[from + i], 0);
    const places = Float64Array.from({ length: ROWS }, (_, slot) => placeOf(vectors, slot * DIM));
    const sorted = places.toSorted();
    const count = ROWS * 0.3;
    const [low, high] = [
      bitmapOf((slot) => places[slot] < sorted[count]),
      bitmapOf((slot) => places[slot] >= sorted[ROWS - count]),
    ];
    const away = (query: Float32Array): typeof low => (placeOf(query, 0) < sorted[ROWS / 2] ? high : low);
    const { recall, plans, scored } = await ask(index, queries, away);
    expect([...plans]).toEqual(['cells']);
    expect(recall).toBeGreaterThanOrEqual(0.98);
    expect(scored).toBeLessThan(count * 0.75);
  } finally {
    await index.close();
  }
});

test.each([1, 2])(
  'a filter over numbers in order is asked slot by slot, and loses nothing either, while slots come and go (seed %i)',
  async (seed) => {
    const { index, vectors, queries } = await made('cosine');
    try {
      const random = seededRandom(seed);
      const along = Float64Array.from({ length: DIM }, () => random() - 0.5);
      const placeOf = (values: ArrayLike<number>, from: number): number =>
        along.reduce((sum, value, i) => sum + value * values[from + i], 0);
      const metadata = new Map<number, JsonObject>();
      const filters = new MemoryFilterIndex({ metadataOf: (slot) => metadata.get(slot) as JsonObject });
      // Rises: what comes later is above all that was there when numbers were ranked.
      let time = 0;
      const put = (slot: number, from: number): void => {
        metadata.set(slot, {
          lot: random(),
          place: placeOf(vectors, from * DIM),
          kind: random() < 0.8 ? 'most' : 'few',
          time: time++,
        });
        filters.put(slot, metadata.get(slot) as JsonObject);
      };
      for (let slot = 0; slot < ROWS; slot++) put(slot, slot);
      const places = [...metadata.values()].map(({ place }) => place as number).toSorted((a, b) => a - b);
      const rank = (share: number): number => places[Math.min(ROWS - 1, Math.floor(share * ROWS))];
      const around = (query: Float32Array): { $gte: number; $lt: number } => {
        const at = places.findIndex((place) => place >= placeOf(query, 0)) / ROWS;
        const from = Math.min(Math.max(0, at - 0.2), 0.6);
        return { $gte: rank(from), $lt: rank(from + 0.4) };
      };
      const filtersFor = (query: Float32Array): unknown[] => [
        { lot: { $gte: 0.2, $lt: 0.5 } },
        { place: around(query) },
        { place: around(query), lot: { $lt: 0.7 } },
        { $and: [{ lot: { $gt: 0.4 } }, { kind: 'most' }, { place: { $lt: rank(0.8) } }] },
        { lot: { $lt: 0.5 }, kind: { $in: ['most', 'few'] } },
        { time: { $gte: ROWS / 2 } },
        { lot: { $gt: 0.3 }, time: { $lte: ROWS + 700 } },
      ];
      const plans = new Map<string, number>();
      // Recall of both ways: with all slots that pass as a bitmap, and by the filter itself.
      const checkAll = async (): Promise<{ listed: number; asked: number }> => {
        let [listed, asked, wanted] = [0, 0, 0];
        for (const query of queries) {
          for (const json of filtersFor(query)) {
            const filter = parseFilter(json) as Filter;
            const passing = filters.resolve(filter);
            await filters.ordered;
            const found = nativeBinding().searchInline(
              index.share(),
              query,
              K,
              CALIBRATED,
              0,
              filters.share(),
              filterProgram(filter),
              true,
            ) as SlotScores | null;
            // Left to a thread that may scan.
            if (found === null) continue;
            const words = passing.toBitmap(0);
            const exact = await index.search(query, K, EXACT, 0, BITMAP, words, passing.size);
            const way = await index.search(query, K, CALIBRATED, 0, BITMAP, words, passing.size);
            const rightOf = ({ scores }: SlotScores): number =>
              scores.slice(0, K).filter((score) => score >= exact.scores[K - 1]).length;
            for (const slot of found.slots) expect(passing.has(slot)).toBe(true);
            expect(Math.abs(found.allowed! - passing.size)).toBeLessThan(passing.size / 5);
            asked += rightOf(found);
            listed += rightOf(way);
            wanted += K;
            const kind = `${SLOT_SEARCH_PLANS[found.plan!]}, ${found.allowed === passing.size ? 'counted' : 'estimated'}`;
            plans.set(kind, (plans.get(kind) ?? 0) + 1);
          }
        }
        expect(wanted).toBeGreaterThan(4 * QUERIES * K);
        return { listed: listed / wanted, asked: asked / wanted };
      };
      const changeSome = (): void => {
        for (let i = 0; i < 1_500; i++) {
          const [slot, from] = [Math.floor(random() * ROWS), Math.floor(random() * ROWS)];
          filters.remove(slot, metadata.get(slot) as JsonObject);
          put(slot, from);
          index.put(Uint32Array.of(slot), vectors.slice(from * DIM, (from + 1) * DIM));
        }
      };
      for (let round = 0; round < 2; round++) {
        const { listed, asked } = await checkAll();
        expect(asked).toBeGreaterThanOrEqual(Math.max(0.98, listed - 0.005));
        changeSome();
      }
      expect(plans.get('cells, estimated')).toBeGreaterThan(3 * QUERIES);
    } finally {
      await index.close();
    }
  },
);

test('slots that are put again are found where they are now, and removed ones not at all', async () => {
  const { index, vectors, queries } = await made('cosine');
  try {
    const filter = bitmapOf((slot) => slot % 4 === 0);
    // Every eighth slot is removed, or gets the first query's vector; a part of those is removed again.
    const [query] = queries;
    const moved = Uint32Array.from({ length: 20 }, (_, i) => i * 16);
    const removed = Uint32Array.from({ length: ROWS / 16 }, (_, i) => i * 16 + 8);
    index.remove(removed);
    const twins = new Float32Array(moved.length * DIM);
    for (let i = 0; i < moved.length; i++) twins.set(query, i * DIM);
    index.put(moved, twins);
    index.remove(moved.subarray(0, 10));
    // A slot that was freed, used again for a vector far from the query.
    index.put(
      removed.subarray(0, 1),
      query.map((value) => -value),
    );
    const { slots, plan } = await index.search(
      query,
      K,
      CALIBRATED,
      0,
      BITMAP,
      filter.words,
      filter.count - removed.length - 10,
      true,
    );
    expect(SLOT_SEARCH_PLANS[plan!]).toBe('cells');
    expect(Array.from(slots).toSorted((a, b) => a - b)).toEqual(Array.from(moved.subarray(10)));
    const { slots: all } = await index.search(
      vectors.slice(8 * DIM, 9 * DIM),
      50,
      CALIBRATED,
      0,
      BITMAP,
      filter.words,
      filter.count - removed.length - 10,
    );
    expect(Array.from(all).filter((slot) => slot % 16 === 8)).toEqual([]);
  } finally {
    await index.close();
  }
});

test('cells outlive a longer graph, whose later rows are scanned, and go with a compaction', async () => {
  const { index, queries } = await made('cosine');
  try {
    const filter = bitmapOf((slot) => slot % 4 === 0);
    const [query] = queries;
    const twin = ROWS / 2;
    index.put(Uint32Array.of(twin, twin + 4), Float32Array.from([...query, ...query]));
    await index.extend(2, 1, 1);
    expect(index.status()).toMatchObject({ graphRows: ROWS + 2, cellRows: ROWS });
    const { slots, plan } = await index.search(query, K, CALIBRATED, 0, BITMAP, filter.words, filter.count, true);
    expect(SLOT_SEARCH_PLANS[plan!]).toBe('cells');
    expect(Array.from(slots.subarray(0, 2))).toEqual([twin, twin + 4]);
    await index.compact(join(folder, 'compacted'), 1, 1);
    expect(index.status().cellRows).toBe(0);
    expect(
      Array.from(
        (await index.search(query, K, CALIBRATED, 0, BITMAP, filter.words, filter.count)).slots.subarray(0, 2),
      ),
    ).toEqual([twin, twin + 4]);
  } finally {
    await index.close();
  }
});

test.each(['cosine', 'l2', 'ip'] as const)('%s: rows that are all the same, of no length, or dead', async (metric) => {
  const index = open(metric);
  try {
    const rows = 3_000;
    const slots = Uint32Array.from({ length: rows }, (_, row) => row);
    index.put(slots, new Float32Array(rows * DIM).fill(1).fill(0, (rows / 2) * DIM));
    await index.extend(rows, 1, 1);
    await index.makeCells(0.9, 1);
    const filter = bitmapOf((slot) => slot < rows && slot % 2 === 0);
    const { slots: found } = await index.search(
      new Float32Array(DIM).fill(1),
      K,
      CALIBRATED,
      0,
      BITMAP,
      filter.words,
      filter.count,
    );
    expect(Math.max(...found)).toBeLessThan(rows / 2);
    expect(found.length).toBeGreaterThanOrEqual(K);
    index.remove(slots);
    await index.makeCells(0.9, 1);
    expect(
      (await index.search(new Float32Array(DIM).fill(1), K, CALIBRATED, 0, BITMAP, filter.words, 0)).slots.length,
    ).toBe(0);
  } finally {
    await index.close();
  }
});
