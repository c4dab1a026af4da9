import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nativeBinding } from '../../node/engine/vector/native-binding';
import { NATIVE_PROLOGUE, tellNativeStory } from '../support/stories/native-story';
import { runSeed } from '../support/values/random';

/** What may not take the process down. Each story runs in a process of its own: a crash fails the story alone. */

let folder: string;

beforeAll(() => {
  nativeBinding();
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'native-hazards-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tell = (story: string, flags: string[] = [], before = ''): Promise<void> =>
  tellNativeStory(story, { folder, flags, before });

test('close while searches run: each is answered or fails as closed', async () => {
  await tell(`
    const index = make(50000);
    const running = Array.from({ length: 200 }, (_, i) => codeOf(search(index, 10, i % 2 === 0 ? 0 : 2)));
    await index.close();
    const ends = await Promise.all(running);
    assert(ends.every((end) => end === 'fine' || end === 'CLOSED'), ends.join());
  `);
});

test('close while a graph is built, refined, calibrated, divided into cells, compacted and saved: soon over, and failed as closed', async () => {
  await tell(`
    const stories = {
      extend: (index) => index.extend(60000, 1, 2),
      compact: (index) => index.compact(join(folder, 'compacted'), 1, 2),
      calibrate: (index) => index.calibrate(0.999, 2),
      refine: (index) => index.refine(6000, 2),
      makeCells: (index) => index.makeCells(0.999, 2),
    };
    const ofGraphs = ['calibrate', 'refine', 'makeCells'];
    for (const [name, start] of Object.entries(stories)) {
      const index = make(ofGraphs.includes(name) ? 6000 : 60000);
      if (ofGraphs.includes(name)) { const alive = setInterval(() => {}, 1000); await index.extend(6000, 0, 2); clearInterval(alive); }
      const running = codeOf(start(index));
      const saving = codeOf(index.save(join(folder, name + '.save')));
      await isUnderWay();
      const since = process.cpuUsage();
      await index.close();
      // A build takes many seconds of a processor.
      assert(processorMs(since) < 1500, name + ' took ' + processorMs(since));
      assert((ofGraphs.includes(name) ? ['fine', 'CLOSED'] : ['CLOSED']).includes(await running), name);
      assert(['fine', 'CLOSED'].includes(await saving), name);
    }
  `);
});

test('use after close throws, whatever is called', async () => {
  await tell(`
    const index = make(10);
    await index.close();
    await index.close();
    const calls = [
      () => index.put(slotsOf(1), vectorsOf(1)), () => index.remove(slotsOf(1)), () => search(index),
      () => index.prefersScan(10, 0, 0, 5), () => index.score(vectorsOf(1), slotsOf(1)), () => index.vectors(slotsOf(1)),
      () => index.liveCount(), () => index.status(), () => index.share(), () => index.extend(1, 0, 1), () => index.refine(1, 1), () => index.calibrate(0.9, 1), () => index.makeCells(0.9, 1),
      () => index.compact('x', 1, 1), () => index.save('x'), () => index.load('x', 'y', 1),
    ];
    for (const call of calls) assert.throws(call, (error) => error.code === 'CLOSED', String(call));
  `);
});

test('indexes that are dropped are collected, with work in flight too', async () => {
  await tell(
    `
    const alive = setInterval(() => {}, 1000);
    const ends = [];
    for (let round = 0; round < 30; round++) {
      let index = make(1500);
      ends.push(codeOf(search(index)), codeOf(search(index, 10, 2)));
      if (round % 3 === 0) ends.push(codeOf(index.extend(1500, 0, 1)));
      index = null;
      global.gc();
      await new Promise((wake) => setImmediate(wake));
    }
    assert((await Promise.all(ends)).every((end) => end === 'fine'));
    clearInterval(alive);
    global.gc();
  `,
    ['--expose-gc'],
  );
});

test('the process ends by itself without close, with searches and builds under way', async () => {
  await tell(`
    const index = make(60000);
    index.extend(60000, 0, 2);
    for (let i = 0; i < 20; i++) search(index);
  `);
});

test('whoever waits for the close of an index sees its end, with a build under way and nothing else that keeps the process alive', async () => {
  await tell(`
    require(${JSON.stringify(join(__dirname, '../support/swc-register.js'))});
    const { NativeVectorIndex } = require(${JSON.stringify(join(__dirname, '../../node/engine/vector/native-vector-index.ts'))});
    process.exitCode = 4;
    const options = { folder, dim: D, metric: 'cosine', recallTarget: 0.99, buildThreads: 2, onBackgroundError: () => {}, onDamaged: () => {} };
    const index = await NativeVectorIndex.open(options, null);
    index.put(slotsOf(60000), vectorsOf(60000));
    await index.close();
    process.exitCode = 0;
  `);
});

test('process.exit while a build and searches run', async () => {
  await tell(`
    const index = make(60000);
    index.extend(60000, 0, 2);
    for (let i = 0; i < 50; i++) search(index, 10, 2);
    await isUnderWay(50);
    process.exit(0);
  `);
});

test('wrong arguments are refused as such', async () => {
  await tell(`
    state = ${runSeed('wrong arguments')};
    const index = make(100);
    const junk = [undefined, null, 0, -1, 1.5, NaN, Infinity, 2 ** 60, 10n, '', 'x\\0y', 'cosine', Symbol('s'), {}, [], () => {}, new Uint8Array(3),
      new Float64Array(32), new Float32Array(31), new Float32Array(0), new Uint32Array(0), Uint32Array.of(2 ** 32 - 1), new ArrayBuffer(8), new Proxy({}, {}),
      { metric: 'ip' }, { metric: 'ip', dim: 1e9, originals: 'x' }, { metric: 'none', dim: 3, originals: join(folder, 'a') },
      { metric: 'ip', dim: 3, originals: join(folder, 'no', 'such', 'folder') }, { metric: 'ip', dim: 3, originals: join(folder, 'b'), kernels: 'abacus' }];
    const good = { query: vectorsOf(1), slots: Uint32Array.of(1), vectors: vectorsOf(1) };
    const pick = () => (random() < 0.5 ? junk[Math.floor(random() * junk.length)] : Object.values(good)[Math.floor(random() * 3)]);
    const names = ['put', 'remove', 'search', 'prefersScan', 'score', 'vectors', 'status', 'liveCount', 'extend', 'calibrate', 'makeCells', 'load'];
    const pending = [];
    let refused = 0;
    for (let i = 0; i < 20000; i++) {
      const name = names[i % names.length];
      const args = Array.from({ length: Math.floor(random() * 9) }, pick);
      const self = i % 50 === 0 ? pick() : index;
      try {
        const result = VectorIndex.prototype[name].apply(self, args);
        if (result instanceof Promise) pending.push(result.catch(() => refused++));
      } catch (error) {
        refused++;
        assert(typeof error.code === 'string' || error instanceof TypeError, error);
      }
    }
    for (const thing of junk) {
      try { new VectorIndex(thing); } catch { refused++; }
      try { VectorIndex(thing); } catch { refused++; }
    }
    assert.throws(() => VectorIndex.prototype.put.call(new Proxy(index, {}), good.slots, good.vectors));
    assert.throws(() => VectorIndex.prototype.put.call(Object.create(index), good.slots, good.vectors));
    await Promise.all(pending);
    assert(refused > 10000, String(refused));
    index.remove(slotsOf(100));
    index.put(Uint32Array.of(7), good.vectors);
    const answer = await index.search(good.vectors, 1, 0, 0, 0, null, 0);
    assert.equal(answer.slots[0], 7);
    await index.close();
  `);
});

test('arrays that are detached or changed after the call do no harm', async () => {
  await tell(`
    const index = make(5000);
    const query = vectorsOf(1);
    const bitmap = new Uint32Array(157).fill(0xffffffff);
    const first = index.search(query, 10, 0, 0, 2, bitmap, 5000);
    structuredClone(query.buffer, { transfer: [query.buffer] });
    structuredClone(bitmap.buffer, { transfer: [bitmap.buffer] });
    assert.equal((await first).slots.length, 10);
    assert.throws(() => index.search(query, 10, 0, 0, 0, null, 0), (error) => error.code === 'INVALID_ARGUMENT');
    assert.throws(() => index.put(Uint32Array.of(1), query), (error) => error.code === 'INVALID_ARGUMENT');
  `);
});

test('only one change of the graph at a time', async () => {
  await tell(`
    const index = make(2000);
    const alive = setInterval(() => {}, 1000);
    const first = index.extend(2000, 0, 1);
    assert.throws(() => index.extend(1, 0, 1));
    assert.throws(() => index.compact(join(folder, 'c'), 1, 1));
    await first;
    await index.calibrate(0.9, 1);
    clearInterval(alive);
  `);
});

test('many indexes in worker threads that are terminated at any moment', async () => {
  await tell(`
    const { Worker } = require('node:worker_threads');
    const source = ${JSON.stringify(NATIVE_PROLOGUE)} + \`
      const held = [];
      for (let i = 0; i < 4; i++) {
        // Enough for a build to last longer than its thread.
        const index = make(6000);
        held.push(index);
        index.extend(6000, 0, 1).catch(() => {});
        for (let j = 0; j < 20; j++) search(index, 10, j % 3 === 0 ? 2 : 0).catch(() => {});
      }
      setInterval(() => held.forEach((index) => { try { search(index).catch(() => {}); } catch {} }), 1);
      require('node:worker_threads').parentPort.postMessage('up');
    \`;
    for (let round = 0; round < 4; round++) {
      const workers = await Promise.all([0, 1, 2].map(() => new Promise((resolve, reject) => {
        const worker = new Worker(source, { eval: true });
        worker.once('message', () => resolve(worker));
        worker.once('error', reject);
      })));
      await isUnderWay(round * 60);
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
    const index = make(100);
    assert.equal((await search(index)).slots.length, 10);
  `);
});

test('an inline search answers what a search answers, or null for what is closed, unknown, unfit or long', async () => {
  await tell(`
    const index = make(3000);
    const number = index.share();
    assert.equal(index.share(), number);
    const other = make(10);
    assert.notEqual(other.share(), number);
    const compare = async (k, effort, ef) => {
      const query = vectorsOf(1);
      const found = await index.search(query, k, effort, ef, 0, null, 0);
      assert.deepEqual(searchInline(number, query, k, effort, ef), found);
      // With room for them, hits are written there, and are fewer than the room.
      const room = new Float64Array(2 * k + 2).fill(-1);
      assert.equal(searchInline(number, query, k, effort, ef, null, null, undefined, room), found.slots.length);
      for (const [values, from] of [[found.slots, 0], [found.scores, k + 1]]) assert.deepEqual([...room.subarray(from, from + k + 1)], [...values, ...new Array(k + 1 - values.length).fill(-1)]);
      const narrow = new Float64Array(2 * found.slots.length - 1).fill(-1);
      assert.deepEqual(searchInline(number, query, k, effort, ef, null, null, undefined, narrow), found);
      assert.ok(narrow.every((value) => value === -1));
    };
    const alive = setInterval(() => {}, 1000);
    for (let step = 0; step < 5; step++) {
      for (const k of [1, 10, 200]) for (const ef of [0, 10, 60]) await compare(k, ef === 0 ? 0 : 1, ef);
      if (step === 0) index.remove(slotsOf(500));
      if (step === 1) await index.extend(2000, 0, 1);
      if (step === 2) await index.calibrate(0.9, 1);
      if (step === 3) await index.compact(join(folder, 'compacted'), 1000, 1);
    }
    clearInterval(alive);
    const query = vectorsOf(1);
    for (const unfit of [new Float32Array(0), new Float32Array(D + 1)]) assert.equal(searchInline(number, unfit, 10, 0, 0), null);
    assert.equal(searchInline(number, query, 10, 2, 0), null);
    assert.equal(searchInline(2 ** 40, query, 10, 0, 0), null);
    // A magnitude that codes cannot rank: every row would be scored in double precision.
    assert.equal(searchInline(number, query.map((x) => x * 1e30), 10, 0, 0), null);
    const large = make(150000);
    assert.equal(searchInline(large.share(), query, 10, 0, 0), null);
    for (const wrong of [undefined, null, -1, 0, 1.5, NaN, {}, '1', 2 ** 60]) assert.throws(() => searchInline(wrong, query, 10, 0, 0), (error) => error.code === 'INVALID_ARGUMENT');
    for (const wrong of [undefined, null, [], new Float64Array(D)]) assert.throws(() => searchInline(number, wrong, 10, 0, 0), (error) => error.code === 'INVALID_ARGUMENT');
    for (const wrong of [[], 1, new Float32Array(40)]) assert.throws(() => searchInline(number, query, 10, 0, 0, null, null, undefined, wrong), (error) => error.code === 'INVALID_ARGUMENT');
    await index.close();
    assert.equal(searchInline(number, query, 10, 0, 0), null);
    assert.throws(() => index.share(), (error) => error.code === 'CLOSED');
    assert.equal(searchInline(other.share(), query, 10, 0, 0).slots.length, 10);
  `);
});

test('an index that was collected is not found by its number', async () => {
  await tell(
    `
    let index = make(100);
    const number = index.share();
    const isFound = () => searchInline(number, vectorsOf(1), 10, 0, 0) !== null;
    assert(isFound());
    global.gc();
    assert(isFound());
    index = null;
    while (isFound()) {
      global.gc();
      await new Promise((wake) => setImmediate(wake));
    }
  `,
    ['--expose-gc'],
  );
});

test('threads that search an index of another thread inline, and are terminated at any moment, leave it as it is', async () => {
  await tell(`
    const { Worker } = require('node:worker_threads');
    const source = ${JSON.stringify(NATIVE_PROLOGUE)} + \`
      const { workerData, parentPort } = require('node:worker_threads');
      const found = new Int32Array(workerData.found);
      parentPort.postMessage('up');
      const pause = new Int32Array(new SharedArrayBuffer(4));
      for (;;) {
        for (let i = 0; i < 10; i++) if (searchInline(workerData.number, vectorsOf(1), 10, 0, 0) !== null) Atomics.add(found, 0, 1);
        // Graphs are built at the lowest priority, which gets nothing beside threads that never rest.
        Atomics.wait(pause, 0, 0, 2);
      }
    \`;
    const started = (number, found) => new Promise((resolve, reject) => {
      const worker = new Worker(source, { eval: true, workerData: { number, found: found.buffer } });
      worker.once('message', () => resolve(worker));
      worker.once('error', reject);
    });
    const more = async (found, count = 100) => {
      for (const from = Atomics.load(found, 0); Atomics.load(found, 0) < from + count;) await new Promise((wake) => setImmediate(wake));
    };
    const alive = setInterval(() => {}, 1000);
    for (let round = 0; round < 2; round++) {
      const index = make(1500);
      const found = new Int32Array(new SharedArrayBuffer(4));
      const number = index.share();
      const workers = await Promise.all([0, 1].map(() => started(number, found)));
      await more(found);
      const building = index.extend(1500, 0, 1);
      index.put(Uint32Array.from({ length: 100 }, (_, i) => i), vectorsOf(100));
      await building;
      await more(found);
      await workers[0].terminate();
      // The index was not stopped by the end of a thread that searched it.
      await index.calibrate(0.9, 1);
      index.remove(slotsOf(500));
      await index.compact(join(folder, 'compacted-' + round), 500, 1);
      await more(found);
      if (round === 0) await workers[1].terminate();
      assert.equal((await search(index)).slots.length, 10);
      await index.close();
      assert.equal(searchInline(number, vectorsOf(1), 10, 0, 0), null);
      await workers[1].terminate();
    }
    clearInterval(alive);
  `);
});

test('a disk that takes no more is an error of that put alone', async () => {
  // A limit on the size of files stands in for a full disk: both fail the same call.
  await tell(
    `
    const index = make(0, 'ip');
    let stored = 0;
    assert.throws(() => {
      for (;;) {
        index.put(Uint32Array.from({ length: 1000 }, (_, i) => stored + i), vectorsOf(1000));
        stored += 1000;
      }
    }, (error) => error.code === 'STORAGE_FAILED');
    assert(stored > 0);
    assert.equal(index.liveCount(), stored);
    assert.equal((await search(index, 10, 2)).slots.length, 10);
    index.put(Uint32Array.of(3), vectorsOf(1));
    assert.equal(index.liveCount(), stored);
    await index.close();
  `,
    [],
    'ulimit -f 20000; ',
  );
});
