import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChunkedSlotSet } from '../../node/engine/slots/chunked-slot-set';
import type { SlotScores } from '../../node/engine/slots/slot-scores';
import { nativeBinding } from '../../node/engine/vector/native-binding';
import { DiskVectorIndex } from '../../node/engine/vector/disk-vector-index';
import { NativeVectorIndex } from '../../node/engine/vector/native-vector-index';
import { PlainVectorIndex } from '../support/models/plain-vector-index';
import type { VectorIndex, VectorIndexOptions } from '../../node/engine/vector/vector-index';
import type { SearchEffort } from '../../shared/contract/shard/shard-read';
import { METRICS, scoreOf, type Metric } from '../../shared/contract/vector/metric';
import { QUANTIZATIONS } from '../../shared/contract/vector/quantization';
import { runSeed, seededRandom } from '../support/values/random';
import { clusteredVectors } from '../support/values/vector-clusters';

/** What every VectorIndex promises (node/engine/vector/vector-index.ts), checked against a map and a sort. */

type Open = (options: VectorIndexOptions, save: string | null) => Promise<VectorIndex>;

const IMPLEMENTATIONS: [string, Open][] = [
  ['plain', PlainVectorIndex.open],
  ...QUANTIZATIONS.map((quantization): [string, Open] => [
    `disk, ${quantization}`,
    (options, save) => DiskVectorIndex.open({ segmentRows: 1000, ...options, quantization }, save),
  ]),
  ...nativeBinding()
    .kernelNames()
    .flatMap((kernels) =>
      QUANTIZATIONS.map((quantization): [string, Open] => [
        `native, ${kernels}, ${quantization}`,
        (options, save) => NativeVectorIndex.open({ ...options, quantization }, save, kernels),
      ]),
    ),
];

const CALIBRATED: SearchEffort = { type: 'calibrated' };
const EXACT: SearchEffort = { type: 'exact' };
const EFFORTS: SearchEffort[] = [CALIBRATED, { type: 'ef', ef: 50 }, EXACT];

let folder: string;
let opened: VectorIndex[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vector-index-'));
  opened = [];
});

afterEach(async () => {
  for (const index of opened) await index.close();
  rmSync(folder, { recursive: true, force: true });
});

function optionsOf(metric: Metric, dim: number): VectorIndexOptions {
  return {
    folder,
    dim,
    metric,
    recallTarget: 0.99,
    buildThreads: 2,
    onDamaged: (error: Error) => {
      throw error;
    },
    onBackgroundError: (error) => {
      throw error;
    },
  };
}

/** The truth beside an index: slot → vector. */
class Model {
  readonly vectors = new Map<number, Float32Array>();

  constructor(
    readonly index: VectorIndex,
    readonly metric: Metric,
    readonly dim: number,
  ) {}

  put(slots: number[], vectors: Float32Array): void {
    this.index.put(Uint32Array.from(slots), vectors);
    slots.forEach((slot, i) => this.vectors.set(slot, vectors.slice(i * this.dim, (i + 1) * this.dim)));
  }

  remove(slots: number[]): void {
    this.index.remove(Uint32Array.from(slots));
    for (const slot of slots) this.vectors.delete(slot);
  }

  /** Scores of all candidates, best first. */
  ranking(query: Float32Array, allowed: ReadonlySet<number> | null = null): number[] {
    const scores: number[] = [];
    for (const [slot, vector] of this.vectors) {
      if (allowed === null || allowed.has(slot)) scores.push(scoreOf(this.metric, query, vector));
    }
    return scores.sort((a, b) => b - a);
  }

  /**
   * Checks all that holds for any answer, approximate ones too; returns the share of answers that are among the best.
   */
  recallOf(answer: SlotScores, query: Float32Array, k: number, allowed: ReadonlySet<number> | null = null): number {
    const ranking = this.ranking(query, allowed);
    const wanted = Math.min(k, ranking.length);
    const { slots, scores } = answer;
    // Thousands of answers are looked at: `expect` on each of their items would take most of the suite's time.
    const faults: string[] = [];
    if (slots.length !== scores.length) faults.push('slots and scores differ in number');
    if (slots.length < wanted) faults.push(`${slots.length} answers, ${wanted} wanted`);
    if (new Set(slots).size !== slots.length) faults.push('a slot twice');
    slots.forEach((slot, i) => {
      const vector = this.vectors.get(slot);
      if (vector === undefined) return faults.push(`slot ${slot} is not live`);
      if (allowed !== null && !allowed.has(slot)) faults.push(`slot ${slot} is not allowed`);
      const score = scoreOf(this.metric, query, vector);
      if (!(Math.abs(scores[i] - score) < 5e-5 * Math.max(1, Math.abs(score))))
        faults.push(`${slot}: ${scores[i]}, not ${score}`);
      if (i > 0 && scores[i] > scores[i - 1]) faults.push(`not in order at ${i}`);
      if (i >= k && scores[i] !== scores[k - 1]) faults.push(`more than k at ${i} without a tie`);
    });
    expect(faults).toEqual([]);
    if (wanted === 0) return 1;
    const last = ranking[wanted - 1] - 1e-5 * Math.max(1, Math.abs(ranking[wanted - 1]));
    return scores.slice(0, wanted).filter((score) => score >= last).length / wanted;
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

async function open(make: Open, metric: Metric, dim: number, save: string | null = null): Promise<VectorIndex> {
  const index = await make(optionsOf(metric, dim), save);
  opened.push(index);
  return index;
}

describe.each(IMPLEMENTATIONS)('%s', (_name, make) => {
  describe.each(METRICS)('%s', (metric) => {
    test.each([1, 2, 3, 16, 63, 64, 65, 100, 129, 768])('dimension %i: answers are exact on few rows', async (dim) => {
      const random = seededRandom(dim);
      const model = new Model(await open(make, metric, dim), metric, dim);
      model.put(range(0, 300), clusteredVectors(random, { rows: 300, dim, centres: 5, lengths: 'varied' }));
      for (const effort of EFFORTS) {
        const query = clusteredVectors(random, { rows: 1, dim, centres: 1 });
        for (const k of [1, 10, 299, 300, 1000]) {
          expect(model.recallOf(await model.index.search(query, { k, effort, allowed: null }), query, k)).toBe(1);
        }
      }
    });

    test('puts, replacements, removals and reuse of slots are seen at once', async () => {
      const seed = runSeed(`vector-index ${metric}`);
      const random = seededRandom(seed);
      const dim = 12;
      const model = new Model(await open(make, metric, dim), metric, dim);
      for (let step = 0; step < 200; step++) {
        const slots = [
          ...new Set(Array.from({ length: 1 + Math.floor(random() * 20) }, () => Math.floor(random() * 300))),
        ];
        if (random() < 0.65) {
          model.put(slots, clusteredVectors(random, { rows: slots.length, dim, centres: 3, lengths: 'varied' }));
        } else {
          model.remove(slots);
        }
        expect(model.index.liveCount).toBe(model.vectors.size);
        const query = clusteredVectors(random, { rows: 1, dim, centres: 1 });
        const answer = await model.index.search(query, { k: 7, effort: EFFORTS[step % 3], allowed: null });
        expect(model.recallOf(answer, query, 7)).toBe(1);
      }
      const live = [...model.vectors.keys()];
      const stored = model.index.vectors(Uint32Array.from(live));
      live.forEach((slot, i) => expect(stored.slice(i * dim, (i + 1) * dim)).toEqual(model.vectors.get(slot)));
    });

    test('a filter of any selectivity gives min(k, matches) and the right ones', async () => {
      const random = seededRandom(5);
      const dim = 24;
      const model = new Model(await open(make, metric, dim), metric, dim);
      model.put(range(0, 2000), clusteredVectors(random, { rows: 2000, dim, centres: 20 }));
      model.remove(range(500, 700));
      for (const share of [0, 0.0005, 0.01, 0.1, 0.5, 0.9, 1]) {
        const allowed = new Set(range(0, 2100).filter(() => random() < share));
        const query = clusteredVectors(random, { rows: 1, dim, centres: 1 });
        for (const effort of EFFORTS) {
          const options = { k: 10, effort, allowed: ChunkedSlotSet.fromArray([...allowed]) };
          expect(model.recallOf(await model.index.search(query, options), query, 10, allowed)).toBe(1);
        }
      }
    });

    test('equal vectors tie: the k best and all that tie with the last of them', async () => {
      const dim = 8;
      const model = new Model(await open(make, metric, dim), metric, dim);
      const one = clusteredVectors(seededRandom(1), { rows: 1, dim, centres: 1 });
      const copies = new Float32Array(3000 * dim);
      for (let i = 0; i < 3000; i++) copies.set(one, i * dim);
      model.put(range(0, 3000), copies);
      const other = clusteredVectors(seededRandom(2), { rows: 50, dim, centres: 1 });
      model.put(range(3000, 3050), other);
      for (const effort of EFFORTS) {
        const answer = await model.index.search(one, { k: 10, effort, allowed: null });
        expect(model.recallOf(answer, one, 10)).toBe(1);
        expect(answer.slots.length).toBe(3000);
      }
    });

    test('zero vectors and zero queries are answered', async () => {
      const dim = 16;
      const model = new Model(await open(make, metric, dim), metric, dim);
      model.put(range(0, 100), new Float32Array(100 * dim));
      model.put(range(100, 200), clusteredVectors(seededRandom(3), { rows: 100, dim, centres: 2 }));
      const zero = new Float32Array(dim);
      const some = clusteredVectors(seededRandom(4), { rows: 1, dim, centres: 1 });
      for (const query of [zero, some]) {
        const answer = await model.index.search(query, { k: 150, effort: CALIBRATED, allowed: null });
        expect(model.recallOf(answer, query, 150)).toBe(1);
      }
      if (metric === 'cosine') {
        const scores = await model.index.score(zero, Uint32Array.of(0, 150));
        expect([...scores]).toEqual([0, 0]);
      }
    });

    test('numbers at the ends of float32 give finite scores in the right order', async () => {
      const dim = 4;
      const model = new Model(await open(make, metric, dim), metric, dim);
      const largest = 3.4e38;
      const rows = [
        [largest, largest, -largest, largest],
        [-largest, largest, largest, 1],
        [1e-40, 1e-42, 0, 1e-40],
        [1, 2, 3, 4],
        [1e-30, 1e30, 1, -1],
      ];
      model.put(range(0, rows.length), Float32Array.from(rows.flat()));
      for (const row of rows) {
        const query = Float32Array.from(row);
        const answer = await model.index.search(query, { k: 5, effort: CALIBRATED, allowed: null });
        expect([...answer.scores].every(Number.isFinite)).toBe(true);
        const expected = rows.map((_, slot) => scoreOf(metric, query, model.vectors.get(slot)!));
        answer.slots.forEach((slot, i) => {
          // cosine in the plain definition multiplies squares, which under- or overflow doubles only at these ends.
          if (Number.isFinite(expected[slot])) {
            expect(Math.abs(answer.scores[i] - expected[slot])).toBeLessThanOrEqual(
              1e-5 * Math.max(1, Math.abs(expected[slot])),
            );
          }
        });
      }
    });

    test('score gives exact scores in order, NaN for what is not live', async () => {
      const dim = 40;
      const model = new Model(await open(make, metric, dim), metric, dim);
      model.put(range(0, 50), clusteredVectors(seededRandom(6), { rows: 50, dim, centres: 3, lengths: 'varied' }));
      model.remove([7]);
      const query = clusteredVectors(seededRandom(7), { rows: 1, dim, centres: 1 });
      const scores = await model.index.score(query, Uint32Array.of(3, 7, 49, 3, 1_000_000));
      expect(scores[0]).toBeCloseTo(scoreOf(metric, query, model.vectors.get(3)!), 5);
      expect(scores[1]).toBeNaN();
      expect(scores[2]).toBeCloseTo(scoreOf(metric, query, model.vectors.get(49)!), 5);
      expect(scores[3]).toBe(scores[0]);
      expect(scores[4]).toBeNaN();
    });
  });

  test('an empty index answers nothing', async () => {
    const index = await open(make, 'cosine', 3);
    const answer = await index.search(Float32Array.of(1, 2, 3), { k: 10, effort: CALIBRATED, allowed: null });
    expect(answer.slots.length).toBe(0);
    index.remove(Uint32Array.of(0, 1, 99));
    expect(index.liveCount).toBe(0);
    expect(() => index.vectors(Uint32Array.of(0))).toThrow(expect.objectContaining({ kind: 'internal' }));
  });

  test('wrong lengths and wild slots are refused and change nothing', async () => {
    const index = await open(make, 'l2', 3);
    index.put(Uint32Array.of(1), Float32Array.of(1, 2, 3));
    const internal = expect.objectContaining({ kind: 'internal' });
    expect(() => index.put(Uint32Array.of(1, 2), Float32Array.of(9, 9, 9))).toThrow(internal);
    expect(() => index.put(Uint32Array.of(0xffffffff), Float32Array.of(9, 9, 9))).toThrow(internal);
    await expect(
      index.search(Float32Array.of(1, 2), { k: 1, effort: CALIBRATED, allowed: null }),
    ).rejects.toMatchObject({ kind: 'internal' });
    await expect(
      index.search(Float32Array.of(1, 2, 3), { k: 0, effort: CALIBRATED, allowed: null }),
    ).rejects.toMatchObject({ kind: 'internal' });
    await expect(index.score(Float32Array.of(1), Uint32Array.of(1))).rejects.toMatchObject({ kind: 'internal' });
    expect(index.liveCount).toBe(1);
    expect([...index.vectors(Uint32Array.of(1))]).toEqual([1, 2, 3]);
  });

  test('the last of a slot given twice in one put wins', async () => {
    const index = await open(make, 'ip', 2);
    index.put(Uint32Array.of(4, 4), Float32Array.of(1, 1, 2, 2));
    expect(index.liveCount).toBe(1);
    expect([...index.vectors(Uint32Array.of(4))]).toEqual([2, 2]);
  });

  test('calls after close fail; close again does nothing', async () => {
    const index = await open(make, 'ip', 2);
    index.put(Uint32Array.of(1), Float32Array.of(1, 1));
    await index.close();
    await index.close();
    expect(() => index.put(Uint32Array.of(1), Float32Array.of(1, 1))).toThrow(
      expect.objectContaining({ kind: 'internal' }),
    );
    await expect(
      index.search(Float32Array.of(1, 1), { k: 1, effort: CALIBRATED, allowed: null }),
    ).rejects.toMatchObject({ kind: 'internal' });
    await expect(index.save()).rejects.toMatchObject({ kind: 'internal' });
  });

  describe('saves', () => {
    test('hold the state of the call; what was touched later is repaired by remove and put', async () => {
      const dim = 20;
      const random = seededRandom(8);
      const model = new Model(await open(make, 'l2', dim), 'l2', dim);
      model.put(range(0, 500), clusteredVectors(random, { rows: 500, dim, centres: 4 }));
      model.remove(range(100, 150));
      const saving = model.index.save();
      const touched = range(140, 260);
      model.put(touched, clusteredVectors(random, { rows: touched.length, dim, centres: 4 }));
      const save = await saving;
      await model.index.close();

      const again = new Model(await open(make, 'l2', dim, save), 'l2', dim);
      again.index.remove(Uint32Array.from(touched));
      for (const [slot, vector] of model.vectors) again.vectors.set(slot, vector);
      again.put(touched, Float32Array.from(touched.flatMap((slot) => [...model.vectors.get(slot)!])));
      expect(again.index.liveCount).toBe(model.vectors.size);
      for (let i = 0; i < 20; i++) {
        const query = clusteredVectors(random, { rows: 1, dim, centres: 1 });
        expect(
          again.recallOf(await again.index.search(query, { k: 10, effort: CALIBRATED, allowed: null }), query, 10),
        ).toBe(1);
      }
    });

    test('a save of an empty index opens', async () => {
      const index = await open(make, 'ip', 5);
      const save = await index.save();
      await index.close();
      const again = await open(make, 'ip', 5, save);
      expect(again.liveCount).toBe(0);
      again.put(Uint32Array.of(3), Float32Array.of(1, 2, 3, 4, 5));
      expect([...again.vectors(Uint32Array.of(3))]).toEqual([1, 2, 3, 4, 5]);
    });

    test('earlier saves stay until they are discarded', async () => {
      const index = await open(make, 'ip', 1);
      index.put(Uint32Array.of(0), Float32Array.of(1));
      const first = await index.save();
      index.put(Uint32Array.of(1), Float32Array.of(2));
      const second = await index.save();
      expect(second).not.toBe(first);
      await index.close();
      const old = await make(optionsOf('ip', 1), first);
      expect(old.liveCount).toBe(1);
      await old.close();
    });

    test('discarding leaves the one that is named, and it opens', async () => {
      const index = await open(make, 'ip', 1);
      index.put(Uint32Array.of(0), Float32Array.of(1));
      const first = await index.save();
      index.put(Uint32Array.of(1), Float32Array.of(2));
      const second = await index.save();
      await index.discardOtherSaves(second);
      expect(readdirSync(folder)).not.toContain(first);
      index.put(Uint32Array.of(2), Float32Array.of(3));
      await index.close();
      expect((await open(make, 'ip', 1, second)).liveCount).toBe(2);
    });

    test('a save of another kind, or none, is refused', async () => {
      const index = await open(make, 'ip', 4);
      index.put(Uint32Array.of(0), Float32Array.of(1, 2, 3, 4));
      const save = await index.save();
      await index.close();
      await expect(make(optionsOf('l2', 4), save)).rejects.toMatchObject({ kind: 'storage_failed' });
      await expect(make(optionsOf('ip', 5), save)).rejects.toMatchObject({ kind: 'storage_failed' });
      await expect(make(optionsOf('ip', 4), 'nothing')).rejects.toMatchObject({ kind: 'storage_failed' });
      expect((await open(make, 'ip', 4, save)).liveCount).toBe(1);
    });

    test('a torn file is refused, wherever it is torn', async () => {
      const dim = 6;
      const rows = 200;
      const index = await open(make, 'cosine', dim);
      index.put(Uint32Array.from(range(0, rows)), clusteredVectors(seededRandom(9), { rows, dim, centres: 3 }));
      const save = await index.save();
      await index.close();
      const used = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
        statSync(join(folder, name)).isFile(),
      );
      const whole = new Map(used.map((name) => [name, readFileSync(join(folder, name))]));
      const random = seededRandom(runSeed('torn saves'));
      for (const name of used) {
        // Of the originals only the rows that were written count: behind them the file is a hole.
        const length = name.endsWith('.f32') ? rows * dim * 4 : whole.get(name)!.length;
        for (let i = 0; i < 12; i++) {
          const at = Math.floor(random() * length);
          if (i % 2 === 0) {
            truncateSync(join(folder, name), at);
          } else {
            const bytes = Buffer.from(whole.get(name)!);
            bytes[at] ^= 1 << Math.floor(random() * 8);
            writeFileSync(join(folder, name), bytes);
          }
          await expect(make(optionsOf('cosine', dim), save)).rejects.toMatchObject({ kind: 'storage_failed' });
          writeFileSync(join(folder, name), whole.get(name)!);
        }
      }
      expect((await open(make, 'cosine', dim, save)).liveCount).toBe(rows);
    });
  });
});
