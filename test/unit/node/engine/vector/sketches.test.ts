import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AddonVectorIndex, nativeBinding } from '../../../../../node/engine/vector/native-binding';
import { METRICS, type Metric } from '../../../../../shared/contract/vector/metric';
import { runSeed, seededRandom } from '../../../../support/values/random';
import { clusteredVectors } from '../../../../support/values/vector-clusters';

/** Rows that wait to be linked have sketches, by which searches leave most of them out: nothing is lost by that. */

const CHUNK = 4_096;
const ROWS = 2 * CHUNK + 500;
const QUERIES = 50;
const K = 10;
const KERNELS = nativeBinding().kernelNames();
const EFFORT = { calibrated: 0, exact: 2 };
const ALLOWED = { all: 0, bitmap: 2 };

let folder: string;
let index: AddonVectorIndex | null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sketches-'));
  index = null;
});

afterEach(async () => {
  await index?.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(metric: Metric, dim: number, kernels = KERNELS[0]): AddonVectorIndex {
  index = new (nativeBinding().VectorIndex)({
    metric,
    dim,
    originals: join(folder, `${metric}-${dim}-${kernels}`),
    kernels,
  });
  return index;
}

function slotsOf(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, slot) => slot);
}

function dataset(seed: number, dim: number, rows = ROWS): { vectors: Float32Array; queries: Float32Array[] } {
  const all = clusteredVectors(seededRandom(seed), { rows: rows + QUERIES, dim, centres: 100, lengths: 'varied' });
  return {
    vectors: all.slice(0, rows * dim),
    queries: Array.from({ length: QUERIES }, (_, i) => all.slice((rows + i) * dim, (rows + i + 1) * dim)),
  };
}

/** The share of the exact answers that are found, and how many rows were scored and left out on average. */
async function ask(
  of: AddonVectorIndex,
  queries: Float32Array[],
  bitmap: Uint32Array | null = null,
): Promise<{ recall: number; scored: number; leftOut: number }> {
  const sums = { recall: 0, scored: 0, leftOut: 0 };
  const count =
    bitmap === null
      ? of.liveCount()
      : bitmap.reduce((sum, word) => sum + word.toString(2).replaceAll('0', '').length, 0);
  const kind = bitmap === null ? ALLOWED.all : ALLOWED.bitmap;
  for (const query of queries) {
    const exact = await of.search(query, K, EFFORT.exact, 0, kind, bitmap, count);
    const answer = await of.search(query, K, EFFORT.calibrated, 0, kind, bitmap, count, true);
    const worst = exact.scores[Math.min(K, exact.scores.length) - 1];
    sums.recall +=
      Array.from(answer.scores).filter((score) => score >= worst).length /
      Array.from(exact.scores).filter((score) => score >= worst).length;
    sums.scored += answer.scored!;
    sums.leftOut += answer.leftOut!;
  }
  return {
    recall: sums.recall / queries.length,
    scored: sums.scored / queries.length,
    leftOut: sums.leftOut / queries.length,
  };
}

const CASES = METRICS.flatMap((metric) => KERNELS.map((kernels): [Metric, string] => [metric, kernels]));

test.each(CASES)('%s: by the %s kernels, most rows that wait are left out, and no answer', async (metric, kernels) => {
  for (const dim of [17, 128, 200]) {
    const { vectors, queries } = dataset(runSeed(`sketches ${metric} ${dim}`), dim);
    const made = open(metric, dim, kernels);
    made.put(slotsOf(ROWS), vectors);
    expect(made.status().unsketchedRows).toBe(2 * CHUNK);
    const before = await ask(made, queries.slice(0, 3));
    expect(before).toEqual({ recall: 1, scored: ROWS, leftOut: 0 });
    await made.sketch(2);
    expect(made.status().unsketchedRows).toBe(0);
    const { recall, scored, leftOut } = await ask(made, queries);
    expect({ dim, recall }).toEqual({ dim, recall: 1 });
    expect(scored + leftOut).toBe(ROWS);
    // Ends of few dimensions say little.
    expect({ dim, isMost: leftOut > (dim === 17 ? 0.2 : 0.6) * ROWS, leftOut }).toMatchObject({ isMost: true });
    await made.close();
  }
});

test('the kernels leave out the same rows', async () => {
  const dim = 100;
  const { vectors, queries } = dataset(5, dim);
  const counts: number[] = [];
  for (const kernels of KERNELS) {
    const made = open('l2', dim, kernels);
    made.put(slotsOf(ROWS), vectors);
    await made.sketch(1);
    counts.push((await ask(made, queries)).leftOut);
    await made.close();
  }
  // Sums of float32 differ in their last bits: a row at the edge may be left out or not.
  for (const count of counts) expect(Math.abs(count - counts[0])).toBeLessThan(2);
});

test('sketches go as their rows are linked, filters are kept, and rows that die are not answered', async () => {
  const dim = 64;
  const { vectors, queries } = dataset(7, dim);
  const made = open('cosine', dim);
  made.put(slotsOf(ROWS), vectors);
  const plain = made.status().memoryBytes;
  await made.sketch(2);
  const chunkBytes = CHUNK * (dim / 8 + 8);
  expect(made.status().memoryBytes).toBe(plain + 2 * chunkBytes);

  const even = new Uint32Array(Math.ceil(ROWS / 32)).fill(0x55555555);
  const filtered = await ask(made, queries, even);
  expect(filtered.recall).toBe(1);
  expect(filtered.leftOut).toBeGreaterThan(ROWS / 4);

  await made.extend(CHUNK - 1, 0, 2);
  expect((await ask(made, queries)).leftOut).toBeGreaterThan(CHUNK / 2);
  const links = (await graphBytes(vectors, dim, CHUNK - 1)) - plain;
  expect(made.status().memoryBytes).toBe(plain + links + 2 * chunkBytes);
  await made.extend(CHUNK / 2, 0, 2);
  expect(made.status().unsketchedRows).toBe(0);
  expect(made.status().memoryBytes).toBe(
    plain + (await graphBytes(vectors, dim, CHUNK - 1, CHUNK / 2)) - plain + chunkBytes,
  );
  for (const bitmap of [null, even]) expect((await ask(made, queries, bitmap)).recall).toBeGreaterThan(0.99);

  const best = await Promise.all(
    queries.map(async (query) => (await made.search(query, 1, EFFORT.exact, 0, ALLOWED.all, null, 0)).slots[0]),
  );
  const gone = Uint32Array.from(new Set(best));
  made.remove(gone);
  for (const query of queries) {
    const { slots } = await made.search(query, K, EFFORT.calibrated, 0, ALLOWED.all, null, 0);
    expect(Array.from(slots).filter((slot) => gone.includes(slot))).toEqual([]);
  }
  expect((await ask(made, queries)).recall).toBeGreaterThan(0.99);

  await made.extend(ROWS, 0, 2);
  made.rest();
  expect((await ask(made, queries)).leftOut).toBe(0);
  expect(made.status().unsketchedRows).toBe(0);
});

/** What an index takes whose first rows were linked in those steps, without sketches. */
async function graphBytes(vectors: Float32Array, dim: number, ...steps: number[]): Promise<number> {
  const other = new (nativeBinding().VectorIndex)({ metric: 'cosine', dim, originals: join(folder, 'other') });
  other.put(slotsOf(ROWS), vectors);
  for (const rows of steps) await other.extend(rows, 0, 2);
  const { memoryBytes } = other.status();
  await other.close();
  return memoryBytes;
}

test('vectors without a length, equal ones, very long ones, and queries without a length leave nothing out that is wanted', async () => {
  const dim = 128;
  for (const metric of METRICS) {
    const { vectors, queries } = dataset(9, dim);
    vectors.fill(0, 0, 50 * dim);
    for (let row = 50; row < 400; row++) vectors.copyWithin(row * dim, (ROWS - 1) * dim, ROWS * dim);
    // Of the others, answers are exact then, whatever their codes are.
    if (metric === 'cosine') for (let i = 400 * dim; i < 450 * dim; i++) vectors[i] *= 1e18;
    const made = open(metric, dim);
    made.put(slotsOf(ROWS), vectors);
    await made.sketch(2);
    const long = Array.from({ length: 50 }, (_, i) =>
      vectors.slice((400 + i) * dim, (401 + i) * dim).map((value) => (metric === 'cosine' ? value / 1e18 : value)),
    );
    const asked = await ask(made, [...queries, ...long, new Float32Array(dim), vectors.slice(60 * dim, 61 * dim)]);
    expect({ metric, recall: asked.recall }).toEqual({ metric, recall: 1 });
    expect(asked.leftOut).toBeGreaterThan(ROWS / 2);
    await made.close();
  }
});

test('rows of short codes get none', async () => {
  const made = new (nativeBinding().VectorIndex)({
    metric: 'l2',
    dim: 8,
    quantization: 'int4',
    originals: join(folder, 'short'),
  });
  index = made;
  made.put(slotsOf(CHUNK), new Float32Array(CHUNK * 8));
  expect(made.status().unsketchedRows).toBe(0);
  await expect(Promise.resolve().then(() => made.sketch(1))).rejects.toThrow('rows of this kind have no sketches');
});
