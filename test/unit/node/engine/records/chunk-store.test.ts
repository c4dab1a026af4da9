import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ByteArena } from '../../../../../node/engine/records/byte-arena';
import { CHUNK_FRAME_BYTES, FRAME_CONTENT_BYTES } from '../../../../../node/engine/records/chunk-file';
import { ChunkStore } from '../../../../../node/engine/records/chunk-store';

const CHUNK = 1 << 20;
/** What one takes in its file, with the checksums of its frames. */
const STORED = Math.ceil(CHUNK / FRAME_CONTENT_BYTES) * CHUNK_FRAME_BYTES;

let folder: string;
let damages: Error[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-chunk-store-'));
  damages = [];
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const openStore = (): Promise<ChunkStore> => ChunkStore.open(folder, (error) => damages.push(error));
const chunkOf = (number: number): Buffer => Buffer.alloc(CHUNK, `${number}.`);

test('begins empty, and leaves nothing behind', async () => {
  writeFileSync(join(folder, 'of before'), 'x');
  const store = await openStore();
  expect(readdirSync(folder)).toEqual([]);
  const chunk = store.add(0, chunkOf(0));
  expect(store.text('latin1', chunk, 4, 6)).toBe('0.0.0.');
  store.close();
  store.close();
  expect(() => readdirSync(folder)).toThrow('ENOENT');
  expect(() => store.text('latin1', chunk, 4, 6)).toThrow(expect.objectContaining({ kind: 'unavailable' }));
  expect(damages).toEqual([]);
});

test('a file goes with its last chunk, and the chunks of one with little left are to be moved', async () => {
  const store = await openStore();
  const chunks = Array.from({ length: 40 }, (_, number) => store.add(number, chunkOf(number)));
  expect(readdirSync(folder)).toHaveLength(2);
  for (const chunk of chunks.slice(0, 24)) expect([...store.free(chunk)]).toEqual([]);
  expect([...store.free(chunks[24])].sort((a, b) => a - b)).toEqual([25, 26, 27, 28, 29, 30, 31]);
  for (const chunk of chunks.slice(25, 32)) store.free(chunk);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(store.diskBytes).toBe(8 * STORED);
  expect(store.text('latin1', chunks[39], 3, 3)).toBe('39.');
  store.close();
});

test('a save reads what there was when it began, until it ends or the next one begins', async () => {
  const store = await openStore();
  const chunk = store.add(0, chunkOf(0));
  const end = store.keepForSave();
  store.endFile();
  store.free(chunk);
  expect(readdirSync(folder)).toEqual([]);
  expect(store.whole(chunk).equals(chunkOf(0))).toBe(true);
  const later = store.add(1, chunkOf(1));
  const endLater = store.keepForSave();
  // That of one that was given up.
  end();
  store.endFile();
  store.free(later);
  expect(store.whole(later).equals(chunkOf(1))).toBe(true);
  endLater();
  store.close();
  expect(damages).toEqual([]);
});

test.each(['cut', 'altered'])('what was %s on the disk is reported, and not saved', async (how) => {
  const store = await openStore();
  const chunk = store.add(0, chunkOf(0));
  const path = join(folder, readdirSync(folder)[0]);
  if (how === 'cut') truncateSync(path, 1000);
  else writeFileSync(path, 'x', { flag: 'r+' });
  for (const read of [
    () => store.whole(chunk),
    () => store.text('latin1', chunk, 500, 600),
    () => store.read(chunk, 500, 600),
  ]) {
    expect(read).toThrow(expect.objectContaining({ kind: 'storage_failed' }));
  }
  expect(damages).toHaveLength(3);
  store.close();
});

test('an arena keeps in memory only what is being filled', async () => {
  const store = await openStore();
  const arena = new ByteArena(store);
  const places = Array.from({ length: 50_000 }, (_, i) => {
    const text = `${i}`.padEnd(100 + (i % 50), '.');
    const { chunk, offset, buffer } = arena.allocate(text.length);
    buffer.write(text, offset, 'latin1');
    return { chunk, offset, text };
  });
  expect(arena.memoryBytes).toBeLessThanOrEqual(CHUNK);
  expect(store.diskBytes).toBeGreaterThan(4 * CHUNK);
  expect(
    places.filter(({ chunk, offset, text }) => arena.bytes(chunk, offset, text.length).toString('latin1') !== text),
  ).toEqual([]);
  store.close();
});

test('what is moved for good is in no file any more', async () => {
  const store = await openStore();
  const arena = new ByteArena(store);
  const secret = arena.allocate(200_000);
  secret.buffer.fill('secret');
  arena.allocate(10).buffer.fill('x', 0, 10);
  arena.free(secret.chunk, 200_000);
  const unstored = arena.allocate(200_000);
  unstored.buffer.fill('secret');
  arena.retire();
  arena.free(unstored.chunk, 200_000);
  for (let i = 0; i < 3; i++) arena.allocate(200_000).buffer.fill('y');
  for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name)).includes('secret')).toBe(false);
  store.close();
});

test('on a disk that takes nothing, chunks stay in memory until it does', async () => {
  const store = await openStore();
  const arena = new ByteArena(store);
  const put = (text: string) => {
    const { chunk, offset, buffer } = arena.allocate(text.length);
    buffer.write(text, offset, 'latin1');
    return { chunk, offset, text };
  };
  // There is no place for a file.
  rmSync(folder, { recursive: true });
  const places = Array.from({ length: 4_000 }, (_, i) => put(`${i}`.padEnd(1000, '.')));
  expect(arena.memoryBytes).toBeGreaterThan(3 * CHUNK);
  mkdirSync(folder);
  for (let i = 0; i < 3_000; i++) places.push(put(`later ${i}`.padEnd(1000, '.')));
  expect(arena.memoryBytes).toBeLessThanOrEqual(CHUNK);
  expect(
    places.filter(({ chunk, offset, text }) => arena.bytes(chunk, offset, text.length).toString('latin1') !== text),
  ).toEqual([]);
  expect(damages).toEqual([]);
  store.close();
});
