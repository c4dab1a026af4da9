import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nativeBinding } from '../../../../../node/engine/vector/native-binding';
import { NativeVectorIndex } from '../../../../../node/engine/vector/native-vector-index';
import { METRICS, type Metric } from '../../../../../shared/contract/vector/metric';
import type { Quantization } from '../../../../../shared/contract/vector/quantization';
import { seededRandom } from '../../../../support/values/random';
import { clusteredVectors } from '../../../../support/values/vector-clusters';

/**
 * How many rows a scan scores again follows from their codes, so it shows what answers hide, which are exact in any
 * case: that every set of kernels has the products of the plain one, and that codes of fewer bits tell rows apart.
 */

const ROWS = 1_000;
const DIMS = [1, 2, 31, 64, 65, 128, 200, 384];
const KERNELS = nativeBinding().kernelNames();

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quantized-kernels-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function fail(error: Error): void {
  throw error;
}

/** Rows scored again for each of ten queries. */
async function rescored(metric: Metric, quantization: Quantization, dim: number, kernels: string): Promise<number[]> {
  const vectors = clusteredVectors(seededRandom(dim), { rows: ROWS + 10, dim, centres: 30, lengths: 'varied' });
  const options = {
    folder: join(folder, kernels),
    dim,
    metric,
    quantization,
    recallTarget: 0.99,
    buildThreads: 1,
    onBackgroundError: fail,
    onDamaged: fail,
  };
  const index = await NativeVectorIndex.open(options, null, kernels);
  try {
    index.put(
      Uint32Array.from({ length: ROWS }, (_, row) => row),
      vectors.slice(0, ROWS * dim),
    );
    const counts: number[] = [];
    for (let query = ROWS; query < ROWS + 10; query++) {
      const answer = await index.search(vectors.slice(query * dim, (query + 1) * dim), {
        k: 10,
        effort: { type: 'calibrated' },
        allowed: null,
        counted: true,
      });
      expect(answer.scored).toBe(ROWS);
      counts.push(answer.rescored!);
    }
    return counts;
  } finally {
    await index.close();
  }
}

describe.each(METRICS)('%s', (metric) => {
  test.each(['int4', 'binary'] as const)('%s codes mean the same to all kernels', async (quantization) => {
    for (const dim of DIMS) {
      const plain = await rescored(metric, quantization, dim, 'plain');
      for (const kernels of KERNELS.filter((name) => name !== 'plain')) {
        const counts = await rescored(metric, quantization, dim, kernels);
        // Sums of float32 differ in their last bits: a row at the edge may be scored again or not.
        counts.forEach((count, query) =>
          expect({
            kernels,
            dim,
            query,
            isNear: Math.abs(count - plain[query]) <= 3,
            count,
            plain: plain[query],
          }).toMatchObject({ isNear: true }),
        );
      }
    }
  });
});

test('fewer bits leave more rows to be scored again, and many dimensions fewer', async () => {
  const mean = async (quantization: Quantization, dim: number) =>
    (await rescored('cosine', quantization, dim, KERNELS[0])).reduce((sum, count) => sum + count, 0) / 10;
  const [int8, int4, binary] = [await mean('int8', 384), await mean('int4', 384), await mean('binary', 384)];
  expect(int8).toBeLessThan(20);
  expect(int4).toBeGreaterThan(int8);
  expect(binary).toBeGreaterThan(int4);
  expect(binary).toBeLessThan(ROWS / 2);
  expect(await mean('binary', 64)).toBeGreaterThan(binary);
});
