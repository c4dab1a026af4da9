import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { nativeBinding } from '../../node/engine/vector/native-binding';
import { tellNativeStory } from '../support/stories/native-story';

/**
 * Files of the vector index that are not what they were. Each story runs in a process of its own: a crash fails the
 * story.
 */

const root = resolve(__dirname, '../..');
let folder: string;

beforeAll(() => {
  nativeBinding();
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'damaged-vectors-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** An index of ROWS rows in `path`, and what searches of it must answer. */
const SOUND = `
  const fs = require('node:fs');
  const ROWS = 20000;
  const ROW_BYTES = D * 4;
  const path = join(folder, 'originals');
  const open = () => new VectorIndex({ metric: 'l2', dim: D, originals: path });
  const rows = vectorsOf(ROWS);
  const vectorOf = (slot) => rows.subarray(slot * D, (slot + 1) * D);
  const alive = setInterval(() => {}, 1000);
  const exact = (index, slot) => index.search(vectorOf(slot), 1, 2, 0, 0, null, 0);
`;

const CRC32C = `
  const table = Uint32Array.from({ length: 256 }, (_, i) => { let c = i; for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1; return c >>> 0; });
  const crc32c = (bytes) => { let c = ~0; for (const byte of bytes) c = (c >>> 8) ^ table[(c ^ byte) & 255]; return ~c >>> 0; };
`;

describe('originals that are cut short under a loaded index', () => {
  test('wherever: every call is right or fails as storage_failed, and so does what would keep or use the rest', async () => {
    await tellNativeStory(
      `${SOUND}
      const GRAPH = 4000;
      const made = open();
      made.put(slotsOf(GRAPH), rows.subarray(0, GRAPH * D));
      await made.extend(GRAPH, 0, 2);
      await made.save(join(folder, 'before'));
      await made.close();
      const calls = {
        exact: async (index, slot) => (await exact(index, slot)).slots[0] === slot,
        // So little effort that the graph is walked: more, and so few rows are scanned.
        walk: async (index, slot) => (await index.search(vectorOf(slot), 10, 1, 10, 0, null, 0)).scores.length >= 10,
        score: async (index, slot) => (await index.score(vectorOf(slot), Uint32Array.of(slot)))[0] > 0.9999,
        vectors: async (index, slot) => Buffer.compare(Buffer.from(index.vectors(Uint32Array.of(slot)).buffer), Buffer.from(vectorOf(slot).slice().buffer)) === 0,
      };
      const outcome = (promise) => promise.then((isRight) => (isRight ? 'right' : 'WRONG'), (error) => error.code);
      // The start of the file, middles and ends of pages of 4 KiB, the last rows alone, a part of the last row.
      for (const bytes of [0, 1, 100, 4096, 4096 * 3 + 100, ROW_BYTES * 2000, ROW_BYTES * (GRAPH - 1), ROW_BYTES * GRAPH - 4, -1]) {
        for (const [name, call] of Object.entries(calls)) {
          const cut = join(folder, 'cut');
          fs.copyFileSync(path, cut);
          const index = new VectorIndex({ metric: 'l2', dim: D, originals: join(folder, 'scratch') });
          await index.load(join(folder, 'before'), cut, 2);
          const whole = fs.statSync(cut).size;
          fs.truncateSync(cut, bytes < 0 ? whole - 1 : bytes);
          const ends = await Promise.all([0, 5, 31, 32, 33, 1999, 2000, 2001, GRAPH - 2, GRAPH - 1].map((slot) => outcome(call(index, slot))));
          const expected = bytes < 0 ? 'right' : 'STORAGE_FAILED';
          assert(ends.every((one) => one === expected), bytes + ' ' + name + ': ' + ends.join());
          if (bytes >= 0) {
            assert.equal(index.status().damaged, 1);
            assert.equal(await codeOf(index.save(join(folder, 'after'))), 'STORAGE_FAILED');
            assert.equal(await codeOf(index.compact(join(folder, 'compacted'), GRAPH * 2, 2)), 'STORAGE_FAILED');
          }
          // The byte that is missing is beyond all rows, but the file is not as it was made.
          assert.throws(() => index.put(Uint32Array.of(ROWS), vectorsOf(1)), (error) => error.code === 'STORAGE_FAILED');
          await index.close();
          if (bytes < 0) continue;
          const again = new VectorIndex({ metric: 'l2', dim: D, originals: join(folder, 'scratch') });
          assert.equal(await codeOf(again.load(join(folder, 'before'), cut, 2)), 'STORAGE_FAILED');
          await again.close();
        }
      }
      clearInterval(alive);
      `,
      { folder },
    );
  });

  test('while searches, a build and a compaction read them', async () => {
    await tellNativeStory(
      `${SOUND}
      for (let round = 0; round < 5; round++) {
        const index = open();
        index.put(slotsOf(ROWS), rows);
        const slots = Array.from({ length: 200 }, (_, i) => (i * 7919 + round) % ROWS);
        const running = slots.map((slot) => exact(index, slot).then((answer) => (answer.slots[0] === slot ? 'right' : 'WRONG'), (error) => error.code));
        const compacted = codeOf(index.compact(join(folder, 'compacted'), ROWS * 2, 2));
        await running[20];
        fs.truncateSync(path, 1000 * round);
        const ends = await Promise.all(running);
        assert(ends.every((end) => end === 'right' || end === 'STORAGE_FAILED'), ends.join());
        assert(ends.includes('right'), 'nothing was answered before');
        assert(['fine', 'STORAGE_FAILED'].includes(await compacted));
        await index.close();
      }
      clearInterval(alive);
      `,
      { folder },
    );
  });

  test('and written to again: the hole is not taken for vectors', async () => {
    await tellNativeStory(
      `${SOUND}
      const index = open();
      index.put(slotsOf(ROWS), rows);
      fs.truncateSync(path, ROW_BYTES * 100);
      assert.throws(() => index.put(Uint32Array.of(ROWS), vectorsOf(1)), (error) => error.code === 'STORAGE_FAILED');
      assert.throws(() => index.vectors(Uint32Array.of(5000)), (error) => error.code === 'STORAGE_FAILED');
      await index.close();
      clearInterval(alive);
      `,
      { folder },
    );
  });

  test('an inline search answers null, and the next search of the owner says what is wrong', async () => {
    await tellNativeStory(
      `${SOUND}
      const index = open();
      index.put(slotsOf(ROWS), rows);
      const number = index.share();
      assert.equal(searchInline(number, vectorOf(15000), 1, 0, 0).slots[0], 15000);
      fs.truncateSync(path, ROW_BYTES * 100);
      assert.equal(searchInline(number, vectorOf(15000), 1, 0, 0), null);
      assert.equal(index.status().damaged, 1);
      await assert.rejects(search(index), (error) => error.code === 'STORAGE_FAILED');
      assert.equal(searchInline(number, vectorOf(5), 1, 0, 0), null);
      await index.close();
      clearInterval(alive);
      `,
      { folder },
    );
  });

  test('a signal about other memory goes to the handler that was there before, or ends the process', () => {
    const program = join(folder, 'bus-error-chain');
    const sources = [
      join(root, 'test/support/native/bus-error-chain.cc'),
      join(root, 'node/engine/native/files/mapped_files.cc'),
      join(root, 'node/engine/native/common/errors.cc'),
    ];
    execFileSync(process.env.CXX ?? 'g++', [
      '-std=c++17',
      '-O1',
      `-I${join(root, 'node/engine/native')}`,
      `-I${join(root, 'node/engine/native/common')}`,
      ...sources,
      '-o',
      program,
      '-ldl',
      '-pthread',
    ]);
    const run = (story: string) => {
      const { status, signal, stdout } = spawnSync(program, [folder, story], { encoding: 'utf8' });
      return { status, signal, stdout };
    };
    expect(run('ours')).toEqual({ status: 0, signal: null, stdout: 'zeros, damaged\n' });
    expect(run('chained')).toMatchObject({ status: 42 });
    expect(run('default')).toMatchObject({ status: null, signal: 'SIGBUS' });
  });

  test('a signal that another process sends ends the process as before', async () => {
    await expect(
      tellNativeStory(
        "make(10); process.kill(process.pid, 'SIGBUS'); await new Promise(() => setInterval(() => {}, 1000));",
        { folder },
      ),
    ).rejects.toThrow(/^exit SIGBUS/);
  });
});

describe('originals in which a byte is another one, with their length as it was', () => {
  const RUN = 4_096;
  // What of the file is damaged, and which changes come before that.
  const stories = {
    'a byte of a row': 'flip(100 * ROW_BYTES);',
    'a byte of the last row, in a run that is not full': 'flip(SOME * ROW_BYTES - 1);',
  };
  const prologue = `
    ${SOUND}
    const SOME = 5000;
    const flip = (at) => {
      const file = fs.openSync(path, 'r+');
      const byte = Buffer.alloc(1);
      fs.readSync(file, byte, 0, 1, at);
      byte[0] ^= 4;
      fs.writeSync(file, byte, 0, 1, at);
      fs.closeSync(file);
    };
    const made = (onDisk) => {
      const index = new VectorIndex({ metric: 'l2', dim: D, originals: path, onDisk });
      index.put(slotsOf(SOME), rows.subarray(0, SOME * D));
      return index;
    };
    const ways = {
      compact: [false, (index) => index.compact(join(folder, 'copied'), SOME * 2, 2)],
      seal: [true, (index) => index.seal(join(folder, 'copied'), 0.9, 2)],
      vectors: [false, async (index) => index.vectors(slotsOf(SOME))],
      'vectors on disk': [true, async (index) => index.vectors(slotsOf(SOME))],
    };
  `;

  test.each(
    Object.entries(stories).flatMap(([what, change]) =>
      ['compact', 'seal', 'vectors', 'vectors on disk'].map((way) => [what, way, change]),
    ),
  )('%s: %s does not pass it, and the index says that it is damaged', async (_, way, change) => {
    await tellNativeStory(
      `${prologue}
      const [onDisk, copy] = ways['${way}'];
      const index = made(onDisk);
      ${change}
      assert.equal(index.status().damaged, 0);
      assert.equal(await codeOf(copy(index)), 'STORAGE_FAILED');
      assert.equal(index.status().damaged, 1);
      assert.equal(index.status().originals, path);
      assert.equal(await codeOf(index.save(join(folder, 'saved'))), 'STORAGE_FAILED');
      await index.close();
      clearInterval(alive);
      `,
      { folder },
    );
  });

  // The bit turns the upper bit of a number's exponent: the vector is far away then.
  const turnedAfter = (change: string): string => `
    ${prologue}
    const GRAPH = 4000;
    const far = (row, file = path) => {
      const descriptor = fs.openSync(file, 'r+');
      const byte = Buffer.alloc(1);
      fs.readSync(descriptor, byte, 0, 1, row * ROW_BYTES + 3);
      byte[0] ^= 64;
      fs.writeSync(descriptor, byte, 0, 1, row * ROW_BYTES + 3);
      fs.closeSync(descriptor);
    };
    const askAll = async (index, slot) => {
      const query = vectorOf(slot);
      const ends = {
        calibrated: await codeOf(index.search(query, 10, 0, 0, 0, null, 0)),
        given: await codeOf(index.search(query, 10, 1, 10, 0, null, 0)),
        filtered: await codeOf(index.search(query, 1, 0, 0, 1, Uint32Array.of(slot, slot + 1), 2)),
        score: await codeOf(index.score(query, Uint32Array.of(slot))),
      };
      for (const [name, call] of [['scoreNow', () => index.scoreNow(query, Uint32Array.of(slot))], ['vectors', () => index.vectors(Uint32Array.of(slot))]]) {
        try { call(); ends[name] = 'fine'; } catch (error) { ends[name] = error.code; }
      }
      return ends;
    };
    ${change}
  `;

  test.each([
    ['scanned', 'const index = made(false);'],
    ['in a graph', 'const index = made(false); await index.extend(GRAPH, 0, 2);'],
    [
      'loaded',
      "const saved = made(false); await saved.save(join(folder, 'saved')); await saved.close(); const index = new VectorIndex({ metric: 'l2', dim: D, originals: join(folder, 'scratch') }); await index.load(join(folder, 'saved'), path, 2);",
    ],
    [
      'copied',
      "const index = made(false); index.remove(Uint32Array.of(7)); await index.compact(join(folder, 'copied'), SOME * 2, 2);",
    ],
  ])('of rows that are %s: whatever answers with a vector or its score says so', async (_, index) => {
    await tellNativeStory(
      `${turnedAfter(index)}
      const file = index.status().originals;
      assert(Object.values(await askAll(index, 3000)).every((end) => end === 'fine'));
      // One was removed, so that the rows behind it are one earlier.
      far(file === path ? 3000 : 2999, file);
      assert.equal(index.status().damaged, 0);
      const ends = await askAll(index, 3000);
      assert(Object.values(ends).every((end) => end === 'STORAGE_FAILED'), JSON.stringify(ends));
      assert.equal(index.status().damaged, 1);
      await index.close();
      clearInterval(alive);
      `,
      { folder },
    );
  });

  test('each is the first to meet it: it says so, and leaves no wrong answer', async () => {
    await tellNativeStory(
      `${turnedAfter('')}
      const query = vectorOf(3000);
      const firsts = {
        calibrated: (index) => index.search(query, 10, 0, 0, 0, null, 0),
        given: (index) => index.search(query, 10, 1, 10, 0, null, 0),
        filtered: (index) => index.search(query, 1, 0, 0, 1, Uint32Array.of(3000, 3001), 2),
        score: (index) => index.score(query, Uint32Array.of(3000)),
        // What makes it near to the query is met by an exact search.
        exact: (index, turned) => index.search(turned, 1, 2, 0, 0, null, 0),
      };
      for (const [name, ask] of Object.entries(firsts)) {
        const index = made(false);
        far(3000);
        const turned = new Float32Array(new Uint8Array(fs.readFileSync(path).subarray(3000 * ROW_BYTES, 3001 * ROW_BYTES)).buffer);
        assert.notEqual(turned[0], query[0]);
        assert.equal(index.status().damaged, 0);
        assert.equal(await codeOf(ask(index, turned)), 'STORAGE_FAILED', name);
        assert.equal(index.status().damaged, 1, name);
        await index.close();
      }
      const shared = made(false);
      const number = shared.share();
      assert.equal(searchInline(number, query, 1, 0, 0).slots[0], 3000);
      far(3000);
      assert.equal(searchInline(number, query, 1, 0, 0), null);
      assert.equal(shared.status().damaged, 1);
      await shared.close();
      const { searchTogether } = require(${JSON.stringify(join(root, 'node/engine/native/build/vectors.node'))});
      const onDisk = made(true);
      const together = async () => (await Promise.all(searchTogether([onDisk], query, 1, 0, 0, 0, null, 0))).find(({ slots }) => slots.length > 0);
      assert.equal((await together()).slots[0], 3000);
      far(3000);
      assert.equal(await codeOf(together()), 'STORAGE_FAILED');
      assert.equal(onDisk.status().damaged, 1);
      await onDisk.close();
      clearInterval(alive);
      `,
      { folder },
    );
  });

  test('the checksums of a save are those of runs of 4,096 rows, whatever the length of a row', async () => {
    await tellNativeStory(
      `${CRC32C}
      const fs = require('node:fs');
      const alive = setInterval(() => {}, 1000);
      for (const dim of [1, 2, 3, 5, 6, 7, 8, 13, 24, 31, 48, 100, 257]) {
        const path = join(folder, 'originals-' + dim);
        const index = new VectorIndex({ metric: 'l2', dim, originals: path });
        const rows = 5000;
        // In parts that end within runs.
        for (const [first, end] of [[0, 1], [1, 3000], [3000, 4097], [4097, rows]]) {
          const vectors = Float32Array.from({ length: (end - first) * dim }, () => random() - 0.5);
          index.put(slotsOf(end - first).map((i) => first + i), vectors);
        }
        await index.save(join(folder, 'save-' + dim));
        await index.close();
        const saved = fs.readFileSync(join(folder, 'save-' + dim));
        const originals = fs.readFileSync(path);
        const sums = [0, 1].map((run) => saved.readUInt32LE(saved.length - 12 + 4 * run));
        const expected = [originals.subarray(0, 4096 * dim * 4), originals.subarray(4096 * dim * 4, rows * dim * 4)].map(crc32c);
        assert.deepEqual(sums, expected, 'dim ' + dim);
      }
      clearInterval(alive);
      `,
      { folder },
    );
  });

  test('what is sound passes: with a run that is not full, after a load and with puts and removals meanwhile', async () => {
    await tellNativeStory(
      `${prologue}
      for (const name of ['compact', 'seal']) {
        const [onDisk, copy] = ways[name];
        const before = made(onDisk);
        await before.save(join(folder, 'saved'));
        await before.close();
        const index = new VectorIndex({ metric: 'l2', dim: D, originals: join(folder, 'scratch'), onDisk });
        await index.load(join(folder, 'saved'), path, 2);
        // All of the first run is dead, and so is not read.
        index.remove(slotsOf(${RUN}));
        flip(100 * ROW_BYTES);
        const copied = copy(index);
        const puts = name === 'compact' ? 5000 : 0;
        for (let slot = SOME; slot < SOME + puts; slot += 100) index.put(slotsOf(100).map((i) => slot + i), rows.subarray(slot * D, (slot + 100) * D));
        index.remove(Uint32Array.of(4500));
        await copied;
        const { damaged, live } = index.status();
        assert.deepEqual({ damaged, live }, { damaged: 0, live: SOME - ${RUN} - 1 + puts }, name);
        await index.close();
      }
      clearInterval(alive);
      `,
      { folder },
    );
  });
});

test('a save of version 1, which measured another kind of effort, keeps its rows and its graph, and is measured again', async () => {
  await tellNativeStory(
    `${SOUND}
    ${CRC32C}
    const made = open();
    made.put(slotsOf(2000), rows.subarray(0, 2000 * D));
    await made.extend(2000, 1, 2);
    await made.calibrate(0.9, 2);
    await made.save(join(folder, 'now'));
    await made.close();
    const now = fs.readFileSync(join(folder, 'now'));
    assert.equal(now[6], 2);
    const header = Buffer.concat([now.subarray(0, 72), Buffer.alloc(24)]);
    header[6] = 1;
    header.writeFloatLE(99, 72);
    header.writeFloatLE(219, 76);
    header.writeFloatLE(23, 80);
    header.writeBigUInt64LE(2000n, 88);
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc32c(header));
    fs.writeFileSync(join(folder, 'before'), Buffer.concat([header, sum, now.subarray(156)]));
    const index = new VectorIndex({ metric: 'l2', dim: D, originals: join(folder, 'scratch') });
    await index.load(join(folder, 'before'), path, 1);
    const { live, graphRows, effortRows } = index.status();
    assert.deepEqual({ live, graphRows, effortRows }, { live: 2000, graphRows: 2000, effortRows: 0 });
    for (let slot = 0; slot < 2000; slot += 100) assert.equal((await index.search(vectorOf(slot), 1, 0, 0, 0, null, 0)).slots[0], slot);
    await index.calibrate(0.9, 2);
    assert.equal(index.status().effortRows, 2000);
    await index.close();
    clearInterval(alive);
    `,
    { folder },
  );
});

test('a save whose fields are anything, with checksums that fit, is refused or works: no crash in 500 of them', async () => {
  await tellNativeStory(
    `${SOUND}
    let state = 1;
    const random = (below) => Math.floor(((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below);
    const SMALL = 2000;
    ${CRC32C}
    const HEADER = 152;
    const made = open();
    made.put(slotsOf(SMALL), rows.subarray(0, SMALL * D));
    await made.extend(SMALL, 0, 1);
    await made.calibrate(0.9, 2);
    made.remove(Uint32Array.of(1, 2, 3));
    await made.save(join(folder, 'sound'));
    await made.close();
    const sound = fs.readFileSync(join(folder, 'sound'));
    const originals = fs.readFileSync(path);
    assert.equal(crc32c(sound.subarray(0, HEADER)), sound.readUInt32LE(HEADER));
    const upperNodes = Number(sound.readBigUInt64LE(40));
    const upperStart = HEADER + 4 + SMALL * sound.readUInt32LE(32) * 4;
    const seal = (file) => {
      file.writeUInt32LE(crc32c(file.subarray(0, HEADER)), HEADER);
      file.writeUInt32LE(crc32c(file.subarray(HEADER + 4, file.length - 4)), file.length - 4);
      fs.writeFileSync(join(folder, 'mutated'), file);
      fs.writeFileSync(path, originals);
    };
    const slotsStart = sound.length - 4 - 4 - 8 * Math.ceil(SMALL / 64) - 4 * SMALL;
    // Where it is, what it becomes, and what that is.
    const contradictions = [
      [16, 0x40000000, 'rows beyond all'], [24, 0, 'a graph of no rows'], [32, 0, 'lists of no links'], [32, 65, 'lists longer than the walk has room for'],
      [36, 0, 'upper nodes without lists'], [44, 0x10000000, 'more upper nodes than memory'], [56, 0xffffffff, 'no entry, yet a top level'], [60, 7, 'an entry at another row'],
      [64, 0x7fffffff, 'a top level beyond all'], [64, 12, 'a top level above the entry'], [64, 0xffffffff, 'a top level below the bottom'], [68, 2, 'neither a graph nor none'],
      [72, 0x7fc00000, 'an effort that is no number'], [76, 0x7f800000, 'an infinite pool'], [84, 0xbf800000, 'a negative cost'], [100, 0, 'a walk that costs nothing'], [148, 1, 'efforts of more rows than there are'],
      [upperStart + 8, 5000, 'a node on 5,000 levels'], [upperStart + 12, sound.readUInt32LE(upperStart), 'two upper nodes at one row'], [upperStart + 4, 0xfffffff0, 'lists beyond the links'],
      [upperStart + 12 * upperNodes, 0xfffffffe, 'a link to nowhere'], [HEADER + 4, SMALL, 'a link beyond the rows'],
      [slotsStart + 400, sound.readUInt32LE(slotsStart + 800), 'two rows for a slot'], [slotsStart + 400, 0x40000000, 'a slot beyond all'], [sound.length - 12, 0x80000000, 'dead rows that are yet to come'],
    ];
    for (const [at, value, what] of contradictions) {
      const file = Buffer.from(sound);
      assert.notEqual(file.readUInt32LE(at), value, what);
      file.writeUInt32LE(value, at);
      seal(file);
      const index = new VectorIndex({ metric: 'l2', dim: D, originals: join(folder, 'scratch') });
      const end = await codeOf(index.load(join(folder, 'mutated'), path, 1));
      // Where it is believed, a search shows what that does.
      if (end === 'fine') for (let k = 0; k < 20; k++) await index.search(vectorOf(k), 1, 1, 4, 0, null, 0);
      assert.equal(end, 'STORAGE_FAILED', what);
      await index.close();
    }
    const interesting = [0, 1, 2, 47, 48, 49, 63, 64, 65, 127, 255, 0x7fff, 0xffff, 0x10000, 0x3fffffff, 0x40000000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, SMALL - 1, SMALL, SMALL + 1];
    const counts = { refused: 0, loaded: 0 };
    for (let i = 0; i < 500; i++) {
      let file = Buffer.from(sound);
      for (let changes = 1 + random(3); changes > 0; changes--) {
        // Header fields, what stands about upper levels, and anything.
        const at = [() => 8 + 4 * random(36), () => upperStart + 4 * random(upperNodes * 3 + 100), () => HEADER + 4 + 4 * random((file.length - HEADER - 8) / 4)][random(3)]();
        if (random(2) === 0) file.writeUInt32LE(interesting[random(interesting.length)], at);
        else file[at + random(4)] = random(256);
      }
      if (random(10) === 0) file = file.subarray(0, HEADER + 8 + random(file.length - HEADER - 8));
      seal(file);
      const index = new VectorIndex({ metric: 'l2', dim: D, originals: join(folder, 'scratch') });
      const end = await codeOf(index.load(join(folder, 'mutated'), path, 1));
      if (end === 'fine') {
        counts.loaded++;
        for (let k = 1; k < 4; k++) {
          await index.search(vectorOf(k * 100), 10 * k, 0, 0, 0, null, 0);
          // So little effort that the graph is walked.
          await index.search(vectorOf(k * 100), 1, 1, k, 0, null, 0);
        }
        index.put(Uint32Array.of(5, SMALL + 1), vectorsOf(2));
        // Whatever the graph is like, it can be built on.
        if (i % 20 === 0) { await index.extend(10, 0, 1); await index.calibrate(0.9, 1); await search(index); }
      } else {
        assert.equal(end, 'STORAGE_FAILED');
        counts.refused++;
      }
      await index.close();
    }
    assert(counts.refused > 100 && counts.loaded > 30, JSON.stringify(counts));
    clearInterval(alive);
    `,
    { folder },
  );
});
