import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChunkedSlotSet } from '../../../../../node/engine/slots/chunked-slot-set';
import { GRAPH_ROWS_MIN } from '../../../../../node/engine/vector/maintenance';
import { nativeBinding } from '../../../../../node/engine/vector/native-binding';
import { NativeVectorIndex } from '../../../../../node/engine/vector/native-vector-index';
import type { SearchEffort } from '../../../../../shared/contract/shard/shard-read';
import { METRICS, type Metric } from '../../../../../shared/contract/vector/metric';
import type { Quantization } from '../../../../../shared/contract/vector/quantization';
import { eventually } from '../../../../support/eventually';
import { runSeed, seededRandom } from '../../../../support/values/random';
import { clusteredVectors } from '../../../../support/values/vector-clusters';

/** The native index once its rows are many enough for a graph: recall as promised, whatever happened to the rows. */

const DIM = 32;
/**
 * Graphs of so few rows are what most of these tests make, for a build takes long: as many as the slowest kernels build
 * in a second.
 */
const GRAPH_ROWS = 3_000;
/**
 * Relative to the rows that make a graph: after two of seven are removed, more than a quarter, a compaction leaves
 * enough for one.
 */
const WITH_DEAD = 1.41;
const REMOVED = (slot: number): boolean => slot % 7 < 2;
const QUERIES = 200;
const CALIBRATED: SearchEffort = { type: 'calibrated' };

let folder: string;
let index: NativeVectorIndex;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vector-graph-'));
});

afterEach(async () => {
  await index.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What an index is made with besides its metric; default: the quickest kernels, small graphs, int8. */
interface Made {
  kernels?: string;
  graphRowsMin?: number;
  quantization?: Quantization;
}

function open(
  metric: Metric,
  save: string | null = null,
  { kernels, graphRowsMin = GRAPH_ROWS, quantization }: Made = {},
): Promise<NativeVectorIndex> {
  const options = {
    quantization,
    folder,
    dim: DIM,
    metric,
    graphRowsMin,
    recallTarget: 0.99,
    buildThreads: 2,
    onDamaged: (error: Error) => {
      throw error;
    },
    onBackgroundError: (error: Error) => {
      throw error;
    },
  };
  return NativeVectorIndex.open(options, save, kernels);
}

function range(from: number, to: number): Uint32Array {
  return Uint32Array.from({ length: to - from }, (_, i) => from + i);
}

function dataset(seed: number, rows: number): { vectors: Float32Array; queries: Float32Array } {
  const all = clusteredVectors(seededRandom(seed), { rows: rows + QUERIES, dim: DIM, centres: 200, lengths: 'varied' });
  return { vectors: all.subarray(0, rows * DIM), queries: all.subarray(rows * DIM) };
}

/**
 * Checks that calibrated searches find on average 99 % of the exact answers, counting ties of the last one. The promise
 * is about the mean over all queries: a sample of them may fall short by two standard errors.
 */
async function expectPromisedRecall(
  queries: Float32Array,
  k: number,
  allowed: ChunkedSlotSet | null = null,
  count = QUERIES,
): Promise<void> {
  const recalls: number[] = [];
  for (let i = 0; i < count; i++) {
    const query = queries.subarray(i * DIM, (i + 1) * DIM);
    const exact = await index.search(query, { k, effort: { type: 'exact' }, allowed });
    const answer = await index.search(query, { k, effort: CALIBRATED, allowed });
    const size = Math.min(k, exact.slots.length);
    expect(answer.slots.length).toBeGreaterThanOrEqual(size);
    expect(new Set(answer.slots).size).toBe(answer.slots.length);
    if (allowed !== null) expect(answer.slots.every((slot) => allowed.has(slot))).toBe(true);
    const found = answer.scores.slice(0, size).filter((score) => score >= exact.scores[size - 1] - 1e-6).length;
    recalls.push(size === 0 ? 1 : found / size);
  }
  const mean = recalls.reduce((a, b) => a + b, 0) / count;
  const variance = recalls.reduce((sum, recall) => sum + (recall - mean) ** 2, 0) / count;
  expect(mean).toBeGreaterThanOrEqual(0.99 - 2 * Math.sqrt(variance / count));
  expect(mean).toBeGreaterThanOrEqual(0.98);
}

/** The sum of the scores of 10 answers to each query, with a given effort. */
async function scoresAt(ef: number, queries: Float32Array): Promise<number> {
  let sum = 0;
  for (let i = 0; i < QUERIES; i++) {
    const answer = await index.search(queries.subarray(i * DIM, (i + 1) * DIM), {
      k: 10,
      effort: { type: 'ef', ef },
      allowed: null,
    });
    sum += answer.scores.slice(0, 10).reduce((a, b) => a + b, 0);
  }
  return sum;
}

function sealed(): { rows: number; deletedRows: number; ef: number } {
  const segment = index.status().segments.find(({ kind }) => kind === 'sealed');
  return segment ?? { rows: 0, deletedRows: 0, ef: 0 };
}

/**
 * Each metric by other kernels, as far as there are: a build takes seconds, and test/contract/vector-index tries all
 * with all. The quickest kernels come first: they make a graph of as many rows as one is made of in service.
 */
const KERNELS = nativeBinding().kernelNames();
const KERNELS_OF = METRICS.map((metric, i): [Metric, Quantization, string, number] => [
  metric,
  'int8',
  KERNELS[i % KERNELS.length],
  i === 0 ? GRAPH_ROWS_MIN : GRAPH_ROWS,
]);
/**
 * So few dimensions are hard for codes of a bit each: a walk has to go far, and most of what it finds is scored again.
 */
const QUANTIZED: [Metric, Quantization, string, number][] = [
  ['l2', 'int4', KERNELS[0], GRAPH_ROWS],
  ['ip', 'binary', KERNELS[0], GRAPH_ROWS],
];

describe.each([...KERNELS_OF, ...QUANTIZED])(
  '%s, %s by the %s kernels, graphs from %i rows',
  (metric, quantization, kernels, graphRowsMin) => {
    /** The first graph is of five batches, and the sixth is added to it. */
    const BATCH = Math.ceil((graphRowsMin * WITH_DEAD) / 6);
    const ROWS = BATCH * 6;

    test('recall is as promised: fresh, filtered, after two of seven were deleted, compacted, and opened again', async () => {
      const seed = runSeed(`vector-graph ${metric}`);
      const random = seededRandom(seed);
      const { vectors, queries } = dataset(seed, ROWS);
      index = await open(metric, null, { kernels, graphRowsMin, quantization });
      for (let row = 0; row < ROWS; row += BATCH) {
        index.put(range(row, row + BATCH), vectors.subarray(row * DIM, (row + BATCH) * DIM));
      }
      await index.settled();
      expect(sealed().rows).toBeGreaterThan(ROWS * 0.99);
      expect(sealed().ef).toBeGreaterThan(0);
      await expectPromisedRecall(queries, 10);
      await expectPromisedRecall(queries, 100, null, 50);
      // A given effort is obeyed: more finds more.
      expect(await scoresAt(100, queries)).toBeGreaterThan(await scoresAt(1, queries));

      for (const share of [0.7, 0.3, 0.05, 0.002]) {
        const allowed = ChunkedSlotSet.fromSorted([...range(0, ROWS)].filter(() => random() < share));
        await expectPromisedRecall(queries, 10, allowed, 100);
      }
      // A filter that keeps one corner of the space: most walks start far from it. Then half of it, and what is near or
      // far from queries.
      const corner = [...range(0, ROWS)].filter((row) => vectors[row * DIM] > 0.25);
      await expectPromisedRecall(queries, 10, ChunkedSlotSet.fromSorted(corner), 100);
      await expectPromisedRecall(queries, 10, ChunkedSlotSet.fromSorted(corner.filter((row) => row % 2 === 0)), 100);
      for (const sign of [1, -1]) {
        const side = (row: number): number =>
          queries.subarray(0, DIM).reduce((sum, x, i) => sum + sign * x * vectors[row * DIM + i], 0);
        await expectPromisedRecall(
          queries,
          10,
          ChunkedSlotSet.fromSorted([...range(0, ROWS)].filter((row) => side(row) > 0)),
          20,
        );
      }

      const removed = range(0, ROWS).filter(REMOVED);
      index.remove(removed);
      expect(index.liveCount).toBe(ROWS - removed.length);
      await expectPromisedRecall(queries, 10);

      index.put(range(ROWS, ROWS + 500), vectors.subarray(0, 500 * DIM));
      await index.settled();
      expect(sealed().deletedRows).toBe(0);
      expect(sealed().rows).toBeGreaterThan(graphRowsMin);
      expect(index.liveCount).toBe(ROWS - removed.length + 500);
      await expectPromisedRecall(queries, 10);

      const save = await index.save();
      await index.discardOtherSaves(save);
      expect(readdirSync(folder).filter((name) => name.startsWith('originals'))).toHaveLength(1);
      const before = sealed();
      await index.close();
      index = await open(metric, save, { kernels, graphRowsMin, quantization });
      expect(sealed()).toEqual(before);
      await expectPromisedRecall(queries, 10);
    });
  },
);

test('many hundreds of equal vectors and zero vectors do not trap the search', async () => {
  const { vectors, queries } = dataset(12, GRAPH_ROWS);
  const mixed = vectors.slice();
  // More of each than a walk keeps in hand while it builds (200).
  for (let row = 0; row < 900; row++) mixed.copyWithin(row * DIM, (GRAPH_ROWS - 1) * DIM, GRAPH_ROWS * DIM);
  mixed.fill(0, 900 * DIM, 1500 * DIM);
  index = await open('cosine');
  index.put(range(0, GRAPH_ROWS), mixed);
  await index.settled();
  expect(sealed().rows).toBe(GRAPH_ROWS);
  await expectPromisedRecall(queries, 10);
  const copies = mixed.subarray(0, DIM);
  const answer = await index.search(copies, { k: 10, effort: CALIBRATED, allowed: null });
  expect(answer.scores[9]).toBeCloseTo(1, 5);
  // All that tie with the last: 900 copies and the row that they are of.
  expect(answer.slots.length).toBe(901);
  const all = await index.search(copies, { k: GRAPH_ROWS, effort: CALIBRATED, allowed: null });
  expect(all.slots.length).toBe(GRAPH_ROWS);
});

test('ip: one row that is far longer than the others does not make all searches long', async () => {
  const random = seededRandom(runSeed('vector-graph long row'));
  const rows = Float32Array.from({ length: GRAPH_ROWS * DIM }, () => random() * 2 - 1);
  for (let i = 0; i < DIM; i++) rows[i] *= 300;
  index = await open('ip');
  index.put(range(0, GRAPH_ROWS), rows);
  await index.settled();
  await expectPromisedRecall(rows.subarray(DIM), 10, null, 100);
  // It was all rows.
  expect(sealed().ef).toBeLessThan(GRAPH_ROWS / 4);
});

test.each(METRICS)('%s: vectors of two dimensions, which their codes hardly tell apart, are found', async (metric) => {
  const random = seededRandom(runSeed('vector-graph plane'));
  index = await open(metric);
  const flat = Float32Array.from({ length: GRAPH_ROWS * DIM }, (_, i) => (i % DIM < 2 ? random() * 2 - 1 : 0));
  index.put(range(0, GRAPH_ROWS), flat);
  await index.settled();
  await expectPromisedRecall(flat, 10, null, 100);
});

test('puts and removals during a build and during a compaction are kept', async () => {
  const rows = 4_800;
  const slots = 5_000;
  const different = slots + 1_000;
  const { vectors, queries } = dataset(13, different);
  index = await open('l2');
  index.put(range(0, rows), vectors.subarray(0, rows * DIM));
  const states = new Map<number, number>();
  for (let slot = 0; slot < rows; slot++) states.set(slot, slot);
  const random = seededRandom(runSeed('vector-graph changes'));
  const change = (): void => {
    for (let i = 0; i < 20; i++) {
      const slot = Math.floor(random() * slots);
      if (random() < 0.5) {
        const row = Math.floor(random() * different);
        index.put(Uint32Array.of(slot), vectors.subarray(row * DIM, (row + 1) * DIM));
        states.set(slot, row);
      } else {
        index.remove(Uint32Array.of(slot));
        states.delete(slot);
      }
    }
  };
  const changeUntilSettled = async (what: string): Promise<void> => {
    let isSettled = false;
    const settling = index.settled().then(() => (isSettled = true));
    // It has begun, and takes its rows over in a later turn of the event loop: at least this comes meanwhile.
    change();
    let rounds = 1;
    await eventually(what, async () => {
      if (rounds++ < 20) change();
      await index.search(queries.subarray(0, DIM), { k: 5, effort: CALIBRATED, allowed: null });
      return isSettled;
    });
    await settling;
    expect(sealed().rows).toBeGreaterThanOrEqual(GRAPH_ROWS);
    expect(index.liveCount).toBe(states.size);
  };
  await changeUntilSettled('the build');
  // Too many dead rows, and enough live ones that the compaction builds a graph, during which more changes come.
  const before = sealed().rows;
  const gone = 1_500;
  index.remove(range(0, gone));
  for (let slot = 0; slot < gone; slot++) states.delete(slot);
  await changeUntilSettled('the compaction');
  expect(sealed().rows).toBeLessThan(before);
  const live = Uint32Array.from(states.keys());
  const stored = index.vectors(live);
  live.forEach((slot, i) => {
    const row = states.get(slot)!;
    if (
      Buffer.compare(
        Buffer.from(stored.slice(i * DIM, (i + 1) * DIM).buffer),
        Buffer.from(vectors.slice(row * DIM, (row + 1) * DIM).buffer),
      ) !== 0
    ) {
      throw new Error(`slot ${slot} does not hold what was put last`);
    }
  });
  await expectPromisedRecall(queries, 10);
});

test('close stops a build, long before it is done', async () => {
  const { vectors } = dataset(15, 30_000);
  index = await open('cosine');
  index.put(range(0, 30_000), vectors);
  const settling = index.settled();
  const before = process.cpuUsage();
  const takenMs = (): number => process.cpuUsage(before).user / 1000;
  await eventually('it is being built', () => takenMs() > 50);
  await index.close();
  // The whole takes some 15 seconds of a processor, whatever else the machine does.
  expect(takenMs()).toBeLessThan(3000);
  await settling;
});
