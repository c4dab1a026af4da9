import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tellStory } from '../support/stories/hazard-story';
import { runSeed } from '../support/values/random';

/**
 * What the storage addon may not take the process down by. Each story runs in a process of its own: a crash fails it
 * alone.
 */

const ADDON = join(__dirname, '../../node/engine/kv/native/build/store.node');

/** What every story starts with: the addon, and databases that are opened by name. */
const PROLOGUE = `
  const store = require(${JSON.stringify(ADDON)});
  const { join } = require('node:path');
  const assert = require('node:assert');
  const budget = store.newBudget(1 << 20, 16 << 20);
  const open = (name) => store.open(budget, join(process.env.FOLDER, name), false, false);
  const key = (i) => Buffer.from('key' + String(i).padStart(8, '0'));
  const fill = (database, count) => store.write(database, Array.from({ length: count }, (_, i) => [key(i), Buffer.alloc(500, i)]).flat(), true);
  const codeOf = (promise) => promise.then(() => 'fine', (error) => error.code);
  const cursorOver = (database) => store.newCursor(database, Buffer.from('k'), Buffer.from('l'), false, true);
`;

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'store-hazards-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tell = (story: string, flags: string[] = []): Promise<void> =>
  tellStory(`${PROLOGUE}\n(async () => {${story}})()`, { folder, flags });

test('close while reads, writes and cursors run: each is answered or fails as closed', async () => {
  await tell(`
    const database = await open('a');
    await fill(database, 20000);
    const cursors = Array.from({ length: 20 }, () => cursorOver(database));
    const snapshots = Array.from({ length: 20 }, () => store.newSnapshot(database));
    const running = [
      ...Array.from({ length: 100 }, (_, i) => store.read(database, [key(i), key(i * 7)])),
      ...snapshots.map((snapshot, i) => store.read(database, [key(i)], snapshot)),
      ...Array.from({ length: 50 }, (_, i) => store.write(database, [key(i), Buffer.from('x')], i % 2 === 0)),
      ...cursors.map((cursor) => store.next(cursor, 5000, 1 << 20)),
      store.removeRange(database, key(0), key(10)), store.sizeBytes(database), store.tables(database),
    ].map(codeOf);
    for (const snapshot of snapshots.slice(10)) store.freeSnapshot(snapshot);
    await store.close(database, false);
    await store.close(database, false);
    const ends = await Promise.all(running);
    assert(ends.every((end) => end === 'fine' || end === 'CLOSED'), ends.join());
    for (const cursor of cursors) { assert.equal(await codeOf(store.next(cursor, 1, 1)), 'CLOSED'); await store.free(cursor); await store.free(cursor); }
    const again = await open('a');
    assert.equal((await store.read(again, [key(19999)])).lengths[0], 500);
    // One of the database that was closed shows nothing of this one.
    assert.equal(await codeOf(store.read(again, [key(1)], snapshots[0])), 'CLOSED');
    assert.throws(() => store.readCached(again, [key(1)], snapshots[19]), (error) => error.code === 'INVALID_ARGUMENT');
    for (const snapshot of snapshots) { store.freeSnapshot(snapshot); store.freeSnapshot(snapshot); }
  `);
});

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux(
  'a snapshot that ends while its database is opened for changes ends in the one that takes changes',
  async () => {
    const library = join(folder, 'slow-switch.so');
    const { status, stderr } = spawnSync(
      process.env.CC ?? 'cc',
      ['-shared', '-fPIC', '-O1', join(__dirname, '../support/native/slow-switch.c'), '-o', library, '-ldl'],
      { encoding: 'utf8' },
    );
    expect([status, stderr]).toEqual([0, '']);
    await tellStory(
      `${PROLOGUE}
    (async () => {
      const made = await open('a');
      await fill(made, 10);
      await store.close(made, false);
      const database = await store.open(budget, join(process.env.FOLDER, 'a'), true, true);
      const snapshots = Array.from({ length: 5000 }, () => store.newSnapshot(database));
      let isTaken = false;
      const taking = store.takeChanges(database).finally(() => (isTaken = true));
      const rest = new Int32Array(new SharedArrayBuffer(4));
      while (!isTaken) {
        store.freeSnapshot(snapshots.pop());
        Atomics.wait(rest, 0, 0, 1);
        await new Promise((next) => setImmediate(next));
      }
      await taking;
      // Some were there at the switch, and one ended beside it.
      assert(snapshots.length > 100, String(snapshots.length));
      for (const snapshot of snapshots) store.freeSnapshot(snapshot);
      assert.equal(store.property(database, 'rocksdb.num-snapshots'), 0);
      await store.close(database, false);
    })()`,
      { folder, before: `export LD_PRELOAD='${library}'; ` },
    );
  },
);

test('use after close fails as closed, whatever is called', async () => {
  await tell(`
    const database = await open('a');
    await store.close(database, false);
    const calls = [
      () => store.write(database, [key(1), key(1)], true), () => store.read(database, [key(1)]), () => store.removeRange(database, key(1), key(2)),
      () => store.sizeBytes(database), () => store.tables(database), () => store.verifyTable(database, '/1.sst'),
    ];
    for (const call of calls) assert.equal(await codeOf(call()), 'CLOSED', String(call));
    store.endRewrites(database);
    for (const call of [() => store.property(database, 'x'), () => cursorOver(database), () => store.readCached(database, [key(1)])]) {
      assert.throws(call, (error) => error.code === 'CLOSED', String(call));
    }
  `);
});

test('tables that are made wrong are refused, and hurt no database', async () => {
  await tell(`
    const database = await open('a');
    const at = (name) => join(process.env.FOLDER, name);
    const entry = (key) => Buffer.concat([Buffer.from(Uint32Array.of(key.length, 1).buffer), Buffer.from(key), Buffer.from('v')]);
    const table = await store.newTable(at('one'));
    assert.equal(await codeOf(store.addToTable(table, entry('a').subarray(0, 9))), 'INVALID_ARGUMENT');
    assert.equal(await codeOf(store.addToTable(table, Buffer.from([255, 255, 255, 255, 255, 255, 255, 255]))), 'INVALID_ARGUMENT');
    await Promise.all(['b', 'c', 'd'].map((key) => codeOf(store.addToTable(table, entry(key)))));
    assert.equal(await codeOf(store.addToTable(table, entry('a'))), 'STORAGE_FAILED');
    assert.equal(await codeOf(store.ingest(database, [Buffer.from(at('none'))])), 'STORAGE_FAILED');
    assert.equal(await codeOf(store.finishTable(await store.newTable(at('empty')))), 'STORAGE_FAILED');
    assert.equal(await codeOf(store.newTable(at('none/at/all'))), 'STORAGE_FAILED');
    assert.throws(() => store.addToTable(database, entry('a')));
    assert.throws(() => store.ingest(table, []));
    await store.finishTable(table).catch(() => undefined);
    for (const again of [store.finishTable(table), store.addToTable(table, entry('z'))]) assert.equal(await codeOf(again), 'STORAGE_FAILED');
    const fresh = await store.newTable(at('two'));
    await store.addToTable(fresh, entry('x'));
    await store.finishTable(fresh);
    await store.ingest(database, [Buffer.from(at('two'))]);
    assert.equal((await store.read(database, [Buffer.from('x')])).lengths[0], 1);
    await store.close(database, false);
    assert.equal(await codeOf(store.ingest(database, [Buffer.from(at('two'))])), 'CLOSED');
  `);
});

test('databases and cursors that are dropped are collected and closed, with work in flight too', async () => {
  await tell(
    `
    const ends = [];
    for (let round = 0; round < 20; round++) {
      let database = await open('d' + round);
      ends.push(codeOf(fill(database, 500)));
      let cursor = cursorOver(database);
      ends.push(codeOf(store.next(cursor, 10, 1000)), codeOf(store.read(database, [key(1)], store.newSnapshot(database))));
      cursor = null;
      database = null;
      global.gc();
      await new Promise((wake) => setImmediate(wake));
    }
    assert((await Promise.all(ends)).every((end) => end === 'fine'));
    global.gc();
    await new Promise((wake) => setImmediate(wake));
    const again = await open('d0');
    assert.equal((await store.read(again, [key(499)])).lengths[0], 500);
  `,
    ['--expose-gc'],
  );
});

test('the process ends by itself, and by process.exit, with databases open and work under way', async () => {
  for (const end of ['', 'process.exit(0);']) {
    await tell(`
      const database = await open('e');
      await fill(database, 1000);
      for (let i = 0; i < 50; i++) { store.write(database, [key(i), key(i)], true); store.read(database, [key(i)]); }
      store.next(cursorOver(database), 1000, 1 << 20);
      store.read(database, [key(1)], store.newSnapshot(database));
      ${end}
    `);
  }
});

test('worker threads use databases of their own, and end with them open', async () => {
  await tell(`
    const { Worker } = require('node:worker_threads');
    const program = ${JSON.stringify(PROLOGUE)} + \`
      const { workerData } = require('node:worker_threads');
      open(workerData).then(async (database) => { await fill(database, 500); store.read(database, [key(1)], store.newSnapshot(database)); if (workerData === 'w1') process.exit(0); });
    \`;
    await Promise.all(['w0', 'w1', 'w2'].map((name) => new Promise((done, fail) => new Worker(program, { eval: true, workerData: name }).on('error', fail).on('exit', done))));
    const database = await open('w1');
    assert.equal((await store.read(database, [key(499)])).lengths[0], 500);
  `);
});

test('wrong arguments are refused, in any position', async () => {
  await tell(`
    let state = ${runSeed('wrong arguments of the store')};
    const random = (n) => { state = (Math.imul(state, 1103515245) + 12345) >>> 0; return (state >>> 8) % n; };
    const database = await open('a');
    const cursor = cursorOver(database);
    const odd = [undefined, null, 0, -1, NaN, Infinity, 1e300, '', 'a\\0b', {}, [], [null], [key(1)], [key(1), 5], Symbol('s'), () => 1, true, new Float32Array(3), Buffer.alloc(0), 5n, budget, database, cursor, store.newSnapshot(database)];
    const names = Object.keys(store).filter((name) => name !== 'close');
    for (let i = 0; i < 20000; i++) {
      const name = names[random(names.length)];
      const args = Array.from({ length: random(6) }, () => odd[random(odd.length)]);
      try {
        const answer = store[name](...args);
        if (answer instanceof Promise) await answer.catch((error) => assert(error instanceof Error));
      } catch (error) {
        assert(error instanceof Error);
      }
    }
    await fill(database, 10);
    assert.equal((await store.read(database, [key(3)])).lengths[0], 500);
  `);
});
