import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChunkedSlotSet } from '../../../../../node/engine/slots/chunked-slot-set';
import { DiskVectorIndex } from '../../../../../node/engine/vector/disk-vector-index';
import { NativeVectorIndex } from '../../../../../node/engine/vector/native-vector-index';
import type { VectorIndexOptions } from '../../../../../node/engine/vector/vector-index';
import { METRICS, type Metric } from '../../../../../shared/contract/vector/metric';
import { QUANTIZATIONS } from '../../../../../shared/contract/vector/quantization';
import { eventually } from '../../../../support/eventually';
import { runSeed, seededRandom } from '../../../../support/values/random';
import { clusteredVectors } from '../../../../support/values/vector-clusters';

/** What an index on the disk does beyond what every index promises (test/contract/vector-index.test.ts). */

const DIM = 24;
const SEGMENT_ROWS = 2_000;
const ROWS = 9_000;
const K = 10;
/** Of 10,000 rows in ten segments, those that a search scores: less than it would take for the ten nearest of each. */
const SCORED_OF_PARTS = 4_000;

let folder: string;
let opened: DiskVectorIndex[];
let failures: Error[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'disk-vector-index-'));
  opened = [];
  failures = [];
});

afterEach(async () => {
  for (const index of opened) await index.close();
  rmSync(folder, { recursive: true, force: true });
});

function optionsOf(changes: Partial<VectorIndexOptions> = {}): VectorIndexOptions {
  return {
    folder,
    dim: DIM,
    metric: 'cosine',
    recallTarget: 0.99,
    buildThreads: 2,
    segmentRows: SEGMENT_ROWS,
    onDamaged: (error) => failures.push(error),
    onBackgroundError: (error) => failures.push(error),
    ...changes,
  };
}

async function open(changes: Partial<VectorIndexOptions> = {}, save: string | null = null): Promise<DiskVectorIndex> {
  const index = await DiskVectorIndex.open(optionsOf(changes), save);
  opened.push(index);
  return index;
}

const slotsOf = (first: number, end: number): Uint32Array =>
  Uint32Array.from({ length: end - first }, (_, i) => first + i);
const some = (vectors: Float32Array, first: number, end: number): Float32Array => vectors.slice(first * DIM, end * DIM);

function fill(index: DiskVectorIndex, vectors: Float32Array, rows = ROWS): void {
  for (let first = 0; first < rows; first += 500)
    index.put(slotsOf(first, Math.min(first + 500, rows)), some(vectors, first, Math.min(first + 500, rows)));
}

/** The mean share of the exact answers that a calibrated search finds. */
async function recallOf(
  index: DiskVectorIndex,
  queries: Float32Array,
  allowed: ChunkedSlotSet | null = null,
  k = K,
): Promise<number> {
  let [found, wanted] = [0, 0];
  for (let i = 0; i < queries.length / DIM; i++) {
    const query = some(queries, i, i + 1);
    const exact = await index.search(query, { k, effort: { type: 'exact' }, allowed });
    const answer = await index.search(query, { k, effort: { type: 'calibrated' }, allowed });
    const last = exact.scores[Math.min(k, exact.scores.length) - 1];
    found += answer.scores.slice(0, k).filter((score) => score >= last - 1e-6).length;
    wanted += Math.min(k, exact.scores.length);
  }
  return wanted === 0 ? 1 : found / wanted;
}

const kindsOf = (index: DiskVectorIndex): string[] => index.status().segments.map(({ kind }) => kind);

function dataOf(metric: Metric): { vectors: Float32Array; queries: Float32Array } {
  const all = clusteredVectors(seededRandom(11), {
    rows: ROWS + 60,
    dim: DIM,
    centres: 200,
    lengths: metric === 'ip' ? 'varied' : 'unit',
  });
  return { vectors: some(all, 0, ROWS), queries: some(all, ROWS, ROWS + 60) };
}

describe.each(METRICS)('%s', (metric) => {
  test.each(QUANTIZATIONS)(
    '%s: segments are sealed one by one, and searches of their cells have the promised recall, with filters, too',
    async (quantization) => {
      const { vectors, queries } = dataOf(metric);
      const index = await open({ metric, quantization });
      fill(index, vectors);
      await index.settled();
      expect(failures).toEqual([]);
      expect(kindsOf(index)).toEqual(['sealed', 'sealed', 'sealed', 'sealed', 'sealed']);
      expect(index.status().progress).toMatchObject({ state: 'ready', rows: ROWS, indexedRows: ROWS });
      // With some room: the queries are few.
      expect(await recallOf(index, queries)).toBeGreaterThanOrEqual(0.98);
      const dice = seededRandom(5);
      const thirds = ChunkedSlotSet.fromArray([...slotsOf(0, ROWS)].filter(() => dice() < 0.3));
      expect(await recallOf(index, queries, thirds)).toBeGreaterThanOrEqual(0.98);
      // What was put last: most segments have none of it.
      expect(
        await recallOf(index, queries, ChunkedSlotSet.fromArray([...slotsOf(ROWS - 700, ROWS)])),
      ).toBeGreaterThanOrEqual(0.98);
      const cost = await index.search(queries.slice(0, DIM), {
        k: K,
        effort: { type: 'calibrated' },
        allowed: null,
        counted: true,
      });
      expect(cost.scored).toBeLessThan(ROWS);
      for (const slot of [0, 1, 2_500, ROWS - 1])
        expect([...index.vectors(Uint32Array.of(slot))]).toEqual([...vectors.slice(slot * DIM, (slot + 1) * DIM)]);
    },
  );
});

test('what is replaced and removed in sealed segments is gone from them; where much is, they are sealed anew, and small ones become one', async () => {
  const { vectors, queries } = dataOf('cosine');
  const index = await open();
  fill(index, vectors);
  await index.settled();
  // All of the first segment but a few, half of the next, and new vectors for some of the third.
  index.remove(slotsOf(0, 1_950));
  index.remove(slotsOf(2_000, 3_000));
  index.put(slotsOf(4_000, 4_500), some(vectors, 0, 500));
  expect(index.liveCount).toBe(ROWS - 2_950);
  await index.settled();
  const { segments } = index.status();
  expect(segments.reduce((sum, { deletedRows }) => sum + deletedRows, 0)).toBeLessThan(ROWS / 4);
  expect(segments.filter(({ rows, deletedRows }) => rows - deletedRows < SEGMENT_ROWS / 2).length).toBeLessThanOrEqual(
    3,
  );
  expect(index.liveCount).toBe(ROWS - 2_950);
  expect(await recallOf(index, queries)).toBeGreaterThanOrEqual(0.98);
  expect([...index.vectors(Uint32Array.of(4_000, 3_500))]).toEqual([
    ...some(vectors, 0, 1),
    ...some(vectors, 3_500, 3_501),
  ]);
  expect(
    (await index.search(some(vectors, 0, 1), { k: 1, effort: { type: 'calibrated' }, allowed: null })).slots[0],
  ).toBe(4_000);
  index.remove(slotsOf(0, ROWS));
  await index.settled();
  expect(index.status().segments).toEqual([{ kind: 'growing', rows: 0, deletedRows: 0, ef: 0 }]);
});

test('a slot that is put again while searches run is found by each of them, once', async () => {
  const { vectors } = dataOf('cosine');
  const index = await open();
  fill(index, vectors, 6_000);
  await index.settled();
  const query = some(vectors, 100, 101);
  for (let round = 0; round < 200; round++) {
    const searches = Array.from({ length: 4 }, () =>
      index.search(query, { k: 3, effort: { type: 'calibrated' }, allowed: null }),
    );
    // To another segment, and to its place there again.
    index.put(slotsOf(100, 101), query);
    for (const { slots } of await Promise.all(searches)) {
      expect(slots[0]).toBe(100);
      expect(new Set(slots).size).toBe(slots.length);
    }
  }
});

test('several segments are scored again as one: originals are read for the best of all, and not for the best of each', async () => {
  const { vectors, queries } = dataOf('cosine');
  const index = await open();
  // The last one is not sealed.
  fill(index, vectors, ROWS - 1_000);
  await index.settled();
  fill(index, vectors, ROWS);
  const mean = async (allowed: ChunkedSlotSet | null): Promise<number> => {
    let rescored = 0;
    for (let i = 0; i < 60; i++)
      rescored +=
        (await index.search(some(queries, i, i + 1), { k: K, effort: { type: 'calibrated' }, allowed, counted: true }))
          .rescored ?? 0;
    return rescored / 60;
  };
  expect(kindsOf(index).length).toBeGreaterThanOrEqual(5);
  // Each of them has K best ones.
  expect(await mean(null)).toBeLessThan(3 * K);
  const dice = seededRandom(5);
  expect(await mean(ChunkedSlotSet.fromArray([...slotsOf(0, ROWS)].filter(() => dice() < 0.3)))).toBeLessThan(3 * K);
});

/** Clusters of so few rows that each of many segments has only some of them. */
function scatteredData(): { vectors: Float32Array; queries: Float32Array } {
  const all = clusteredVectors(seededRandom(17), { rows: 10_000 + 150, dim: DIM, centres: 200 });
  return { vectors: some(all, 0, 10_000), queries: some(all, 10_000, 10_150) };
}

async function meanScored(index: DiskVectorIndex, queries: Float32Array): Promise<number> {
  let scored = 0;
  for (let i = 0; i < queries.length / DIM; i++)
    scored +=
      (
        await index.search(some(queries, i, i + 1), {
          k: K,
          effort: { type: 'calibrated' },
          allowed: null,
          counted: true,
        })
      ).scored ?? 0;
  return (scored * DIM) / queries.length;
}

describe('where each of several segments has few rows of the answer', () => {
  const segmentRows = 1_000;

  test('each is searched for its part, and the answer has the promised recall', async () => {
    const { vectors, queries } = scatteredData();
    const index = await open({ segmentRows });
    fill(index, vectors, 10_000);
    await index.settled();
    expect(kindsOf(index)).toHaveLength(10);
    expect(await recallOf(index, queries)).toBeGreaterThanOrEqual(0.98);
    // For its own ten nearest each would have to look beyond the cluster, where rows are as far as any others.
    expect(await meanScored(index, queries)).toBeLessThan(SCORED_OF_PARTS);
    // One segment has half of the answers, the others have the rest.
    const own = slotsOf(9_000, 10_000);
    const dice = seededRandom(5);
    const uneven = ChunkedSlotSet.fromArray([...slotsOf(0, 9_000)].filter(() => dice() < 0.15).concat([...own]));
    expect(await recallOf(index, queries, uneven)).toBeGreaterThanOrEqual(0.98);
  });

  test('where a cluster came at once, into one segment, the rest of an answer is found in the others, to which the query is strange', async () => {
    const [clusters, size, k] = [200, 50, 100];
    const data = Array.from({ length: clusters }, (_, i) =>
      clusteredVectors(seededRandom(100 + i), { rows: size + 1, dim: DIM, centres: 1 }),
    );
    const index = await open({ segmentRows: 2_000 });
    fill(index, Float32Array.from(data.flatMap((vectors) => [...some(vectors, 0, size)])), clusters * size);
    await index.settled();
    const queries = Float32Array.from(data.flatMap((vectors) => [...some(vectors, size, size + 1)]));
    expect(await recallOf(index, queries)).toBeGreaterThanOrEqual(0.98);
    expect(await recallOf(index, queries, null, k)).toBeGreaterThanOrEqual(0.98);
  });

  test('segments that were saved before their parts were measured are opened, and searched for as many as one alone', async () => {
    const { vectors, queries } = scatteredData();
    const index = await open({ segmentRows });
    fill(index, vectors, 10_000);
    await index.settled();
    const scored = await meanScored(index, queries);
    const save = await index.save();
    await index.discardOtherSaves(save);
    await index.close();
    for (const name of readdirSync(folder).filter((each) => each.startsWith('segment-'))) {
      const file = readdirSync(join(folder, name)).find((each) => each.startsWith('save-'))!;
      writeFileSync(join(folder, name, file), asVersion4(readFileSync(join(folder, name, file))));
    }
    const again = await open({ segmentRows }, save);
    expect(kindsOf(again)).toEqual(Array.from({ length: 10 }, () => 'sealed'));
    expect(await recallOf(again, queries)).toBeGreaterThanOrEqual(0.98);
    expect(await meanScored(again, queries)).toBeGreaterThan(scored * 1.2);
    // A save of it says the same.
    again.remove(slotsOf(0, 1));
    const next = await again.save();
    await again.close();
    const last = await open({ segmentRows }, next);
    expect(await recallOf(last, queries)).toBeGreaterThanOrEqual(0.98);
  });
});

/**
 * What earlier programs wrote of a sealed segment: nothing of how far a search for a part goes
 * (node/engine/native/index_save.cc).
 */
function asVersion4(save: Buffer): Buffer {
  const [measuredAt, measuredBytes, checksumBytes] = [228, 176, 4];
  const head = Buffer.from(save.subarray(0, measuredAt));
  expect(head.readUInt16LE(6)).toBe(5);
  head.writeUInt16LE(4, 6);
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32LE(crc32c(head));
  return Buffer.concat([head, checksum, save.subarray(measuredAt + measuredBytes + checksumBytes)]);
}

function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

describe('saves', () => {
  test('write again only the segments that changed, and hold their cells', async () => {
    const { vectors, queries } = dataOf('cosine');
    const index = await open();
    fill(index, vectors);
    await index.settled();
    const first = await index.save();
    const segmentsOf = (save: string): { number: number; save: string }[] =>
      (JSON.parse(readFileSync(join(folder, save), 'utf8')) as { segments: { number: number; save: string }[] })
        .segments;
    const before = segmentsOf(first);
    index.remove(slotsOf(0, 1));
    const second = await index.save();
    const after = segmentsOf(second);
    expect(after.filter(({ save }, i) => save !== before[i].save)).toHaveLength(1);
    await index.discardOtherSaves(second);
    expect(existsSync(join(folder, first))).toBe(false);
    const names = readdirSync(join(folder, `segment-${after[0].number}`)).sort();
    expect(names).toHaveLength(2);
    await index.close();
    const again = await open({}, second);
    expect(kindsOf(again)).toEqual(['sealed', 'sealed', 'sealed', 'sealed', 'sealed']);
    expect(again.liveCount).toBe(ROWS - 1);
    expect(again.status().progress.state).toBe('ready');
    expect(await recallOf(again, queries)).toBeGreaterThanOrEqual(0.98);
  });

  test('a segment whose latest save was given up is saved again', async () => {
    const { vectors } = dataOf('cosine');
    const index = await open();
    fill(index, vectors, 2_500);
    await index.settled();
    const first = await index.save();
    index.remove(slotsOf(0, 1));
    await index.save();
    await index.discardOtherSaves(first);
    const third = await index.save();
    await index.discardOtherSaves(third);
    await index.close();
    const again = await open({}, third);
    expect(again.liveCount).toBe(2_499);
  });

  test('a torn file of a sealed segment is refused, wherever it is torn, and so is one of a later version or of another place', async () => {
    const { vectors } = dataOf('cosine');
    const index = await open();
    fill(index, vectors, 2_000);
    await index.settled();
    const save = await index.save();
    await index.discardOtherSaves(save);
    await index.close();
    const random = seededRandom(runSeed('torn segments'));
    const segment = join(
      folder,
      readdirSync(folder).find((name) => name.startsWith('segment-'))!,
    );
    const paths = [join(folder, save), ...readdirSync(segment).map((name) => join(segment, name))];
    for (const path of paths) {
      const whole = readFileSync(path);
      const length = path.endsWith('.f32') ? 2_000 * DIM * 4 : whole.length;
      for (let i = 0; i < 16; i++) {
        const at = Math.floor(random() * length);
        if (i % 2 === 0) {
          truncateSync(path, at);
        } else {
          const bytes = Buffer.from(whole);
          bytes[at] ^= 1 << Math.floor(random() * 8);
          writeFileSync(path, bytes);
        }
        await expect(DiskVectorIndex.open(optionsOf(), save)).rejects.toMatchObject({ kind: 'storage_failed' });
        writeFileSync(path, whole);
      }
    }
    writeFileSync(join(folder, 'save-9.json'), JSON.stringify({ format: 2, crc: 0, segments: [] }));
    await expect(DiskVectorIndex.open(optionsOf(), 'save-9.json')).rejects.toMatchObject({ kind: 'storage_failed' });
    await expect(NativeVectorIndex.open(optionsOf(), save)).rejects.toMatchObject({ kind: 'storage_failed' });
    expect((await open({}, save)).liveCount).toBe(2_000);
  });

  test('after a crash at any moment of its background work, the last save opens as it was, and what is left over goes', async () => {
    const { vectors, queries } = dataOf('cosine');
    const index = await open();
    fill(index, vectors, 5_000);
    const save = await index.save();
    const copies: string[] = [];
    // What a crash leaves behind: sealing goes on while the folder is copied.
    const settled = index.settled();
    for (let i = 0; i < 4; i++) {
      const copy = mkdtempSync(join(tmpdir(), 'disk-vector-crash-'));
      cpSync(folder, copy, { recursive: true });
      copies.push(copy);
      await new Promise((next) => setImmediate(next));
      index.put(slotsOf(5_000 + i * 100, 5_100 + i * 100), some(vectors, 5_000 + i * 100, 5_100 + i * 100));
    }
    await settled;
    for (const copy of copies) {
      writeFileSync(join(copy, 'segment-1', 'save-7.index.tmp'), 'half');
      const again = await open({ folder: copy }, save);
      expect(again.liveCount).toBe(5_000);
      expect(await recallOf(again, queries.slice(0, 10 * DIM))).toBeGreaterThanOrEqual(0.98);
      await again.settled();
      const next = await again.save();
      await again.discardOtherSaves(next);
      expect(existsSync(join(copy, 'segment-1', 'save-7.index.tmp'))).toBe(false);
      await again.close();
      rmSync(copy, { recursive: true, force: true });
    }
  });
});

test('where codes can not be written to the disk they stay in memory, and nothing is answered wrong', async () => {
  const rows = 140_000;
  const dim = 8;
  const vectors = clusteredVectors(seededRandom(3), { rows, dim, centres: 50 });
  const spilled = async (isLost: boolean): Promise<number> => {
    const own = mkdtempSync(join(tmpdir(), 'disk-vector-lost-'));
    const index = await open({ folder: own, dim, segmentRows: 2 * rows });
    index.put(slotsOf(0, 1), vectors.slice(0, dim));
    // Files that are open stay; a new one can't be made.
    if (isLost) rmSync(join(own, 'segment-1'), { recursive: true });
    for (let first = 1; first < rows; first += 10_000)
      index.put(
        slotsOf(first, Math.min(first + 10_000, rows)),
        vectors.slice(first * dim, Math.min(first + 10_000, rows) * dim),
      );
    const { diskBytes } = index.status();
    const answer = await index.search(vectors.slice(77 * dim, 78 * dim), {
      k: 1,
      effort: { type: 'calibrated' },
      allowed: null,
    });
    expect(answer.slots[0]).toBe(77);
    await index.close();
    rmSync(own, { recursive: true, force: true });
    return diskBytes - rows * dim * 4;
  };
  expect(await spilled(true)).toBe(0);
  // Two blocks of 65,536 rows: 64 bytes of code, 12 of numbers and a checksum of 4 each.
  expect(await spilled(false)).toBe(2 * 65_536 * 80);
});

test('a segment that can not be sealed stays as it is, is told of, and is searched', async () => {
  const { vectors, queries } = dataOf('cosine');
  const index = await open();
  fill(index, vectors, 1_500);
  rmSync(join(folder, 'segment-1'), { recursive: true });
  index.put(slotsOf(1_500, 2_100), some(vectors, 1_500, 2_100));
  await index.settled();
  expect(failures).toEqual([expect.objectContaining({ kind: 'storage_failed' })]);
  expect(kindsOf(index)).toEqual(['growing']);
  expect(await recallOf(index, queries)).toBe(1);
  // Half a minute later it is tried again; the disk is back.
  mkdirSync(join(folder, 'segment-1'));
  const later = performance.now() + 31_000;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => later);
  await index.settled();
  clock.mockRestore();
  expect(failures).toHaveLength(1);
  expect(kindsOf(index)).toEqual(['sealed']);
  expect(await recallOf(index, queries)).toBeGreaterThanOrEqual(0.98);
});

test('a file of originals that is cut under the index is told of, and nothing is answered from it', async () => {
  const { vectors, queries } = dataOf('cosine');
  const index = await open();
  fill(index, vectors, 2_000);
  await index.settled();
  const segment = join(folder, 'segment-1');
  for (const name of readdirSync(segment)) truncateSync(join(segment, name), 0);
  await expect(
    index.search(some(queries, 0, 1), { k: K, effort: { type: 'calibrated' }, allowed: null }),
  ).rejects.toMatchObject({ kind: 'storage_failed' });
  expect(failures).toEqual([expect.objectContaining({ kind: 'storage_failed' })]);
});

describe('a byte of the originals that the disk changed', () => {
  const damage = expect.objectContaining({ kind: 'storage_failed', message: expect.stringContaining('damaged') });

  /** In the file that a segment uses now. */
  function changeByte(segment: number, row: number): void {
    const own = join(folder, `segment-${segment}`);
    const name = readdirSync(own)
      .filter((each) => each.endsWith('.f32'))
      .sort()
      .at(-1)!;
    const file = openSync(join(own, name), 'r+');
    const at = row * DIM * Float32Array.BYTES_PER_ELEMENT;
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, at);
    byte[0] ^= 1;
    writeSync(file, byte, 0, 1, at);
    closeSync(file);
  }

  test('is not copied when two small segments become one: the index is told of, and no row is lost', async () => {
    const { vectors } = dataOf('cosine');
    const index = await open();
    fill(index, vectors, 8_000);
    await index.settled();
    // Three small segments may stay.
    for (let i = 0; i < 3; i++) index.remove(slotsOf(2_000 * i, 2_000 * i + 1_200 - i * 50));
    await index.settled();
    expect(failures).toEqual([]);
    expect(kindsOf(index)).toHaveLength(4);
    changeByte(1, 100);
    // The fourth makes the two smallest one.
    index.remove(slotsOf(6_000, 7_010));
    await index.settled();
    expect(failures).toContainEqual(damage);
    // With the one that rows before it have moved to.
    expect(kindsOf(index)).toHaveLength(5);
    expect(index.liveCount).toBe(8_000 - 1_200 - 1_150 - 1_100 - 1_010);
    expect(() => index.vectors(slotsOf(2_000 - 1, 2_000))).toThrow(damage);
  });

  test.each(['on the disk', 'in memory'])(
    'fails a purge of an index %s as storage_failed, and the index is told of',
    async (place) => {
      const { vectors } = dataOf('cosine');
      const own = place === 'in memory' ? join(folder, 'segment-1') : folder;
      const index =
        place === 'in memory' ? await NativeVectorIndex.open(optionsOf({ folder: own }), null) : await open();
      index.put(slotsOf(0, 1_000), some(vectors, 0, 1_000));
      index.remove(slotsOf(0, 1));
      changeByte(1, 100);
      await expect(index.purge()).rejects.toEqual(damage);
      expect(failures).toContainEqual(damage);
      await index.close();
    },
  );
});

test('a purge that fails says so as storage_failed, and the segment that it ended is sealed later, though nobody asks', async () => {
  // Clocks and timers of the index alone.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  try {
    const { vectors } = dataOf('cosine');
    const index = await open();
    // Too few rows to be sealed because puts have paused.
    fill(index, vectors, 200);
    index.remove(slotsOf(0, 1));
    jest.advanceTimersByTime(60_000);
    expect(jest.getTimerCount()).toBe(0);
    rmSync(join(folder, 'segment-1'), { recursive: true });
    await expect(index.purge()).rejects.toMatchObject({ kind: 'storage_failed' });
    expect(kindsOf(index)).toEqual(['growing']);
    mkdirSync(join(folder, 'segment-1'));
    jest.advanceTimersByTime(60_000);
    jest.useRealTimers();
    await eventually('the segment is sealed', () => kindsOf(index)[0] === 'sealed');
    expect(index.status().segments).toEqual([{ kind: 'sealed', rows: 199, deletedRows: 0, ef: 0 }]);
    expect(failures).toEqual([]);
  } finally {
    jest.useRealTimers();
  }
});
