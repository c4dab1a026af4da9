import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RocksKeyValueStore } from '../../../../../node/engine/kv/rocks-key-value-store';
import { StoreNotes } from '../../../../../node/engine/kv/store-notes';
import { readStoreStamp } from '../../../../../node/engine/kv/store-stamp';
import { silentLogger } from '../../../../../shared/base/logs/logger';

/** What is noted of a store on the disk, and which copies of it are told by that. */

const NAME = 'c.0';
const EARLIER = { kind: 'storage_damaged', message: 'its data are an earlier copy, and lack what was stored since' };

let folder: string;
let store: string;
let notes: StoreNotes;

const load = (options = {}): Promise<StoreNotes> => StoreNotes.load(join(folder, 'notes'), silentLogger, options);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-notes-'));
  store = join(folder, 'store');
  notes = await load();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Opens the store, whose last change is `operation`, changes it up to `changesTo`, and closes it. `isKilled`: nothing
 * is noted of the end.
 */
async function run(operation: number, { changesTo = operation, isKilled = false, noted = notes } = {}): Promise<void> {
  await noted.mustNotBeEarlier(NAME, store);
  const opened = await RocksKeyValueStore.open(store);
  try {
    await noted.opened(NAME, store, operation);
    if (changesTo > operation) await noted.written(NAME, store);
  } finally {
    await opened.close();
  }
  if (!isKilled) await noted.closed(NAME, store, changesTo);
}

function putBack(from: string): void {
  rmSync(store, { recursive: true });
  cpSync(from, store, { recursive: true });
}

test('each opening has a higher number, and a store keeps its name', async () => {
  expect(await readStoreStamp(store)).toBeNull();
  await run(0);
  const first = (await readStoreStamp(store))!;
  await run(0);
  const second = (await readStoreStamp(store))!;
  expect(second.store).toBe(first.store);
  expect(second.opening).toBeGreaterThan(first.opening);
});

test.each([
  ['lacks changes', 5, false, true],
  ['may lack changes, because a kill kept it from being noted how many came', 5, true, true],
  ['lacks none', 3, false, false],
  ['lacks none, whatever ended the process', 3, true, false],
])('an earlier copy that %s', async (_what, changesTo, isKilled, isTold) => {
  await run(0, { changesTo: 3 });
  cpSync(store, join(folder, 'copy'), { recursive: true });
  await run(3, { changesTo, isKilled });
  putBack(join(folder, 'copy'));
  for (let attempt = 0; attempt < 2; attempt += 1) {
    // As after a start.
    const again = run(3, { noted: await load() });
    if (isTold) await expect(again).rejects.toMatchObject(EARLIER);
    else await again;
  }
});

test('a store that is only read is noted once', async () => {
  await run(0, { changesTo: 3 });
  const file = join(folder, 'notes', NAME);
  const { mtimeNs } = statSync(file, { bigint: true });
  await run(3, { noted: await load() });
  expect(statSync(file, { bigint: true }).mtimeNs).toBe(mtimeNs);
  await run(3, { changesTo: 4, noted: await load() });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ operation: 4 });
});

test('a copy of the store as it is now may be put back, also after a kill', async () => {
  await run(0, { changesTo: 3, isKilled: true });
  cpSync(store, join(folder, 'copy'), { recursive: true });
  putBack(join(folder, 'copy'));
  await run(3);
});

test('another store is told, unless it may have come by itself', async () => {
  await run(0);
  rmSync(store, { recursive: true });
  await (await RocksKeyValueStore.open(store)).close();
  await expect(run(0)).rejects.toMatchObject({
    kind: 'storage_damaged',
    message: 'its data are those of another store',
  });
  await run(0, { noted: await load({ mayBeReplaced: true }) });
  await run(0, { noted: await load() });
});

test('what something else that was put in the place of an open store has is not noted', async () => {
  await run(0, { changesTo: 3 });
  cpSync(store, join(folder, 'copy'), { recursive: true });
  await run(3, { changesTo: 5, isKilled: true });
  putBack(join(folder, 'copy'));
  await notes.closed(NAME, store, 3);
  await expect(run(3)).rejects.toMatchObject(EARLIER);
});

test('a note without content still says that the store exists, and an accepted loss is taken once', async () => {
  await run(0, { changesTo: 3 });
  writeFileSync(join(folder, 'notes', NAME), '');
  notes = await load();
  expect(notes.isKnown(NAME)).toBe(true);
  await run(0);
  expect(await notes.isLossAccepted(NAME)).toBe(false);
  await notes.acceptLoss(NAME);
  notes = await load();
  expect([notes.isKnown(NAME), await notes.isLossAccepted(NAME)]).toEqual([true, true]);
  await run(0);
  expect(await notes.isLossAccepted(NAME)).toBe(false);
  await notes.forget(NAME);
  expect([notes.names(), (await load()).names()]).toEqual([[], []]);
});

test('what can not be noted stops nothing, and is told', async () => {
  writeFileSync(join(folder, 'notes'), '');
  const lines: string[] = [];
  notes = await StoreNotes.load(join(folder, 'elsewhere', 'notes'), {
    warn: (_fields, message) => void lines.push(message),
  });
  writeFileSync(join(folder, 'elsewhere'), 'no folder');
  await run(0, { changesTo: 1 });
  expect(lines).toEqual(Array.from({ length: 2 }, () => expect.stringContaining('could not be noted')));
  expect(notes.names()).toEqual([]);
  await expect(load()).rejects.toMatchObject({ kind: 'storage_failed' });
});

test('a note in which a bit turned refuses no store: it is as it was, or is known to be damaged and written anew', async () => {
  await run(0, { changesTo: 3 });
  const file = join(folder, 'notes', NAME);
  const sound = readFileSync(file);
  for (let at = 0; at < sound.length; at++) {
    for (const bit of [1, 4, 32]) {
      const turned = Buffer.from(sound);
      turned[at] ^= bit;
      writeFileSync(file, turned);
      await (await load()).mustNotBeEarlier(NAME, store);
    }
  }
  await run(3, { noted: await load() });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ operation: 3 });
});

test('a note of a version that wrote no checksum counts', async () => {
  await run(0, { changesTo: 3 });
  cpSync(store, join(folder, 'copy'), { recursive: true });
  await run(3, { changesTo: 5 });
  const file = join(folder, 'notes', NAME);
  const { crc, ...note } = JSON.parse(readFileSync(file, 'utf8'));
  expect(crc).toEqual(expect.any(Number));
  writeFileSync(file, JSON.stringify(note));
  putBack(join(folder, 'copy'));
  await expect(run(3, { noted: await load() })).rejects.toMatchObject(EARLIER);
});
