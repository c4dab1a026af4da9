import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nativeBinding } from '../../../../../node/engine/vector/native-binding';
import { NativeVectorIndex } from '../../../../../node/engine/vector/native-vector-index';
import type { SearchEffort } from '../../../../../shared/contract/shard/shard-read';
import { METRICS, type Metric } from '../../../../../shared/contract/vector/metric';
import { runSeed, seededRandom } from '../../../../support/values/random';
import { clusteredVectors } from '../../../../support/values/vector-clusters';

/**
 * Rows of many dimensions have signs, by which walks leave out most of them: as quick as nothing else, and with what
 * was promised.
 */

const DIM = 200;
const ROWS = 3_000;
const QUERIES = 100;
const CALIBRATED: SearchEffort = { type: 'calibrated' };
const KERNELS = nativeBinding().kernelNames();

let folder: string;
let index: NativeVectorIndex | null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signs-'));
  index = null;
});

afterEach(async () => {
  await index?.close();
  rmSync(folder, { recursive: true, force: true });
});

function fail(error: Error): void {
  throw error;
}

async function open(
  metric: Metric,
  { dim = DIM, kernels = KERNELS[0], save = null as string | null, vectors = null as Float32Array | null },
): Promise<NativeVectorIndex> {
  const opened = await NativeVectorIndex.open(
    {
      folder,
      dim,
      metric,
      graphRowsMin: 1_000,
      recallTarget: 0.99,
      buildThreads: 2,
      onBackgroundError: fail,
      onDamaged: fail,
    },
    save,
    kernels,
  );
  index = opened;
  if (vectors !== null) {
    opened.put(
      Uint32Array.from({ length: ROWS }, (_, row) => row),
      vectors.subarray(0, ROWS * dim),
    );
    await opened.settled();
  }
  return opened;
}

function dataset(seed: number, dim = DIM): { vectors: Float32Array; queries: Float32Array[] } {
  const all = clusteredVectors(seededRandom(seed), { rows: ROWS + QUERIES, dim, centres: 60, lengths: 'varied' });
  return {
    vectors: all.slice(0, ROWS * dim),
    queries: Array.from({ length: QUERIES }, (_, i) => all.slice((ROWS + i) * dim, (ROWS + i + 1) * dim)),
  };
}

/** The share of the exact answers that are found, and how many rows the walks scored and left out on average. */
async function ask(
  of: NativeVectorIndex,
  queries: Float32Array[],
  effort: SearchEffort,
): Promise<{ recall: number; scored: number; leftOut: number }> {
  const sums = { recall: 0, scored: 0, leftOut: 0 };
  for (const query of queries) {
    const exact = await of.search(query, { k: 10, effort: { type: 'exact' }, allowed: null });
    const answer = await of.search(query, { k: 10, effort, allowed: null, counted: true });
    sums.recall += answer.scores.slice(0, 10).filter((score) => score >= exact.scores[9] - 1e-6).length / 10;
    sums.scored += answer.scored!;
    sums.leftOut += answer.leftOut!;
  }
  return {
    recall: sums.recall / queries.length,
    scored: sums.scored / queries.length,
    leftOut: sums.leftOut / queries.length,
  };
}

/** All metrics by the quickest kernels, and one by the others: a build by the plain ones takes long. */
const CASES = [
  ...METRICS.map((metric): [Metric, string] => [metric, KERNELS[0]]),
  ...KERNELS.slice(1).map((kernels): [Metric, string] => ['l2', kernels]),
];

test.each(CASES)(
  '%s: walks by the %s kernels score few rows, and keep the promise; opened again, too',
  async (metric, kernels) => {
    const { vectors, queries } = dataset(runSeed(`signs ${metric}`));
    const made = await open(metric, { kernels, vectors });
    const first = await ask(made, queries, CALIBRATED);
    expect(first.recall).toBeGreaterThanOrEqual(0.97);
    expect(first.leftOut).toBeGreaterThan(first.scored / 10);
    const given = await ask(made, queries, { type: 'ef', ef: 20 });
    expect(given.recall).toBeGreaterThanOrEqual(0.9);
    expect(given.leftOut).toBeGreaterThan(0);

    const save = await made.save();
    await made.discardOtherSaves(save);
    await made.close();
    expect(await ask(await open(metric, { kernels, save }), queries, CALIBRATED)).toEqual(first);
  },
);

test('vectors without a length, equal ones, and queries without a length leave nothing out that is wanted', async () => {
  const { vectors, queries } = dataset(3);
  vectors.fill(0, 0, 50 * DIM);
  for (let row = 50; row < 400; row++) vectors.copyWithin(row * DIM, (ROWS - 1) * DIM, ROWS * DIM);
  for (const metric of METRICS) {
    const made = await open(metric, { vectors });
    expect((await ask(made, queries, CALIBRATED)).recall).toBeGreaterThanOrEqual(0.95);
    expect((await ask(made, [new Float32Array(DIM), vectors.slice(60 * DIM, 61 * DIM)], CALIBRATED)).recall).toBe(1);
    await made.close();
    index = null;
    rmSync(folder, { recursive: true, force: true });
    folder = mkdtempSync(join(tmpdir(), 'signs-'));
  }
});

test('rows of few dimensions have none: their codes are as quick to read', async () => {
  const { vectors, queries } = dataset(4, 192);
  const { recall, scored, leftOut } = await ask(await open('cosine', { dim: 192, vectors }), queries, CALIBRATED);
  expect(recall).toBeGreaterThanOrEqual(0.97);
  expect(leftOut).toBe(0);
  expect(scored).toBeGreaterThan(0);
});
